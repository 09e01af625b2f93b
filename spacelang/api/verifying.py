"""Whether the form of a target means what a space of one's own means: the laws of meaning, tried on that space."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spacelang.draws.sampling import Sampler
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import exclusion
from spacelang.solver.defaults import default
from spacelang.solver.numbering import ConfigurationNumbers

if TYPE_CHECKING:
    from spacelang.solver.counting import Structures
    from spacelang.targets._lowered import Lowered

COUNT: Final = 200
"""So many configurations each law is tried on, unless it is said otherwise."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law, on how many cases it was tried, and the first case that breaks it; empty where none does."""

    name: str
    tried: int
    broken_by: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing broke it."""
        return not self.broken_by


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of the laws. `is_all` says that they were tried on every configuration of the space.

    `structures` is how many combinations of decisions the form drew in as many draws, and of how many there are. `kept`
    has the constructs of the space by what became of them: `exact`, `rewritten` or `approximated`.
    """

    laws: tuple[Law, ...]
    is_all: bool
    structures: tuple[int, int]
    kept: Mapping[str, tuple[str, ...]]

    @property
    def holds(self) -> bool:
        """Whether all laws hold."""
        return all(law.holds for law in self.laws)


def verify(form: "Lowered[Any, Any]", structures: "Structures", *, count: int = COUNT, seed: int = 0) -> Verified:
    """The laws of meaning on a form: of every configuration where there are no more than `count`, else of drawn ones.

    Each comes back from the form as it was, and the form reaches it by its own rules; what the form draws by its own
    means is a member, which it reaches. Raises ValueError for a count below 1, and UnlikelyError as a sampler does.
    """
    if count < 1:
        raise ValueError(f"{count} configurations show nothing")
    space, rng = structures.space, np.random.default_rng(seed)
    number = structures.configurations
    is_all = number is not None and number <= count
    members = _all(structures) if is_all else [default(space), *Sampler(structures).configurations(count - 1, rng)]
    drawn = form.sample(count, rng)
    laws = (
        _tried("configurations come back from the form as they were", members, lambda each: _comes_back(form, each)),
        _tried("the form reaches them", members, lambda each: _is_reached(form, each)),
        _tried("what the form draws is in the space", drawn, lambda each: _is_member(form, structures, each)),
        _tried("the form reaches what it draws", drawn, lambda each: "" if form.reaches(each) else _shown(each)),
    )
    decisions = {decision.key for decision in space.stages}
    kept: dict[str, tuple[str, ...]] = {}
    for entry in form.report:
        kept[entry.status.value] = (*kept.get(entry.status.value, ()), f"{entry.construct}{entry.place}")
    return Verified(laws, is_all, (_distinct(form, drawn, decisions), structures.count), kept)


def _all(structures: "Structures") -> list[Configuration]:
    assert structures.configurations is not None
    numbers = ConfigurationNumbers(structures)
    return [numbers.at(number) for number in range(structures.configurations)]


def _tried(name: str, cases: Sequence[Any], broken_by: Callable[[Any], str]) -> Law:
    """A law on cases; what raises breaks it, too."""
    for tried, case in enumerate(cases, start=1):
        if found := _found(broken_by, case):
            return Law(name, tried, found)
    return Law(name, len(cases))


def _found(broken_by: Callable[[Any], str], case: Any) -> str:
    try:
        return broken_by(case)
    except Exception as error:  # noqa: BLE001 - a target of another package may raise anything
        return f"{_shown(case)}: {type(error).__name__}: {error}"


def _comes_back(form: "Lowered[Any, Any]", member: Configuration) -> str:
    found = form.decode(form.encode(member))
    return "" if found == member else f"{_shown(member)} comes back as {_shown(found)}"


def _is_reached(form: "Lowered[Any, Any]", member: Configuration) -> str:
    return "" if form.reaches(form.encode(member)) else _shown(member)


def _is_member(form: "Lowered[Any, Any]", structures: "Structures", encoding: Any) -> str:
    found = form.decode(encoding)
    why = exclusion(structures.space, found)
    return "" if why is None else f"{_shown(found)}: {why.reason}"


def _distinct(form: "Lowered[Any, Any]", drawn: Iterable[Any], decisions: set[str]) -> int:
    """How many combinations of decisions were drawn; what does not come back counts as none."""
    found = set()
    for encoding in drawn:
        try:
            configuration = form.decode(encoding)
        except Exception:  # noqa: BLE001 - a law above says so
            continue
        found.add(tuple(sorted((key, configuration[key]) for key in decisions & configuration.keys())))
    return len(found)


def _shown(case: Any) -> str:
    if isinstance(case, Configuration):
        return case.identity
    return json.dumps(case, default=str) if isinstance(case, Mapping | Sequence) else str(case)
