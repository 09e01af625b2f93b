"""Verification that a target preserves the meaning of a given space, by checks on its configurations."""

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
"""The default number of configurations to try each law on."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law, the number of cases that were tried, and the first case that breaks it (or an empty string)."""

    name: str
    tried: int
    broken_by: str = ""

    @property
    def holds(self) -> bool:
        """True if no case broke the law."""
        return not self.broken_by


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of checking all laws.

    `is_all` is True if every configuration of the space was tried. `structures` holds how many structures the form
    drew, in as many draws, and how many there are. `kept` maps `exact`, `rewritten` and `approximated` to the
    constructs of the space that were preserved in that way.
    """

    laws: tuple[Law, ...]
    is_all: bool
    structures: tuple[int, int]
    kept: Mapping[str, tuple[str, ...]]

    @property
    def holds(self) -> bool:
        """True if all laws hold."""
        return all(law.holds for law in self.laws)


def verify(form: "Lowered[Any, Any]", structures: "Structures", *, count: int = COUNT, seed: int = 0) -> Verified:
    """Check the laws of compilation on a compiled space.

    All configurations are tried if there are at most `count`, otherwise the default one and `count` - 1 random ones.
    Each configuration must equal the decoding of its encoding, and the form must accept the encoding. Each of `count`
    encodings that the form draws must decode to a member, and the form must accept it. Raises ValueError for a count
    below 1, and UnlikelyError as a sampler does.
    """
    if count < 1:
        raise ValueError(f"cannot verify on {count} configurations: give at least 1")
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
    """Return a law checked on cases; a case that raises an error breaks it."""
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
    return "" if found == member else f"{_shown(member)} is decoded as {_shown(found)}"


def _is_reached(form: "Lowered[Any, Any]", member: Configuration) -> str:
    return "" if form.reaches(form.encode(member)) else _shown(member)


def _is_member(form: "Lowered[Any, Any]", structures: "Structures", encoding: Any) -> str:
    found = form.decode(encoding)
    why = exclusion(structures.space, found)
    return "" if why is None else f"{_shown(found)}: {why.reason}"


def _distinct(form: "Lowered[Any, Any]", drawn: Iterable[Any], decisions: set[str]) -> int:
    """Return the number of structures among the drawn encodings; those that cannot be decoded are not counted."""
    found = set()
    for encoding in drawn:
        try:
            configuration = form.decode(encoding)
        except Exception:  # noqa: BLE001 - the first two laws report it
            continue
        found.add(tuple(sorted((key, configuration[key]) for key in decisions & configuration.keys())))
    return len(found)


def _shown(case: Any) -> str:
    if isinstance(case, Configuration):
        return case.identity
    return json.dumps(case, default=str) if isinstance(case, Mapping | Sequence) else str(case)
