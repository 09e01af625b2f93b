"""Verification that a target preserves the meaning of a given space, by checks on its configurations."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.sampling.sampler import Sampler
from spacelang.solver.defaults import default_configuration
from spacelang.solver.numbering import ConfigurationNumbers

if TYPE_CHECKING:
    from spacelang.solver.counting import Structures
    from spacelang.targets._lowering import LoweringResult

DEFAULT_COUNT: Final = 200
"""The default number of configurations to try each law on."""


@dataclass(frozen=True, slots=True)
class LawCheck:
    """A law, the number of cases that were tried, and the first case that breaks it (or an empty string)."""

    name: str
    tried: int
    broken_by: str = ""

    @property
    def holds(self) -> bool:
        """True if no case broke the law."""
        return not self.broken_by


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking all laws.

    `is_all` is True if every configuration of the space was tried. `structures` holds how many structures the form
    drew, in as many draws, and how many there are. `preserved` maps `exact`, `rewritten` and `approximated` to the
    constructs of the space that were preserved in that way.
    """

    laws: tuple[LawCheck, ...]
    is_all: bool
    structures: tuple[int, int]
    preserved: Mapping[str, tuple[str, ...]]

    @property
    def holds(self) -> bool:
        """True if all laws hold."""
        return all(law.holds for law in self.laws)


def verify(
    form: "LoweringResult[Any, Any]", structures: "Structures", *, count: int = DEFAULT_COUNT, seed: int = 0
) -> Verification:
    """Check the laws of compilation on a compiled space.

    All configurations are tried if there are at most `count`, otherwise the default one and `count` - 1 random ones.
    Each configuration must equal the decoding of its encoding, and the form must accept the encoding. Each of `count`
    encodings that the form draws must decode to a member, and the form must accept it. Raises ValueError for a count
    below 1, and SamplingFailedError as a sampler does.
    """
    if count < 1:
        raise ValueError(f"cannot verify on {count} configurations: give at least 1")
    space, rng = structures.space, np.random.default_rng(seed)
    number = structures.configuration_count
    is_all = number is not None and number <= count
    members = (
        _all_configurations(structures)
        if is_all
        else [default_configuration(space), *Sampler(structures).configurations(count - 1, rng)]
    )
    drawn = form.sample(count, rng)
    laws = (
        _check_law(
            "encoding and decoding a configuration returns the same configuration",
            members,
            lambda each: _roundtrip_breach(form, each),
        ),
        _check_law(
            "the compiled space accepts the encoding of each configuration",
            members,
            lambda each: _acceptance_breach(form, each),
        ),
        _check_law(
            "each configuration that the compiled space draws is a member of the space",
            drawn,
            lambda each: _membership_breach(form, structures, each),
        ),
        _check_law(
            "the compiled space accepts each encoding that it draws",
            drawn,
            lambda each: "" if form.accepts(each) else _case_text(each),
        ),
    )
    decisions = {decision.key for decision in space.stages}
    kept: dict[str, tuple[str, ...]] = {}
    for entry in form.report:
        kept[entry.status.value] = (*kept.get(entry.status.value, ()), f"{entry.construct}{entry.lines_text}")
    return Verification(laws, is_all, (_count_structures(form, drawn, decisions), structures.count), kept)


def _all_configurations(structures: "Structures") -> list[Configuration]:
    assert structures.configuration_count is not None
    numbers = ConfigurationNumbers(structures)
    return [numbers.configuration_at(number) for number in range(structures.configuration_count)]


def _check_law(name: str, cases: Sequence[Any], broken_by: Callable[[Any], str]) -> LawCheck:
    """Return a law checked on cases; a case that raises an error breaks it."""
    for tried, case in enumerate(cases, start=1):
        if found := _breach(broken_by, case):
            return LawCheck(name, tried, found)
    return LawCheck(name, len(cases))


def _breach(broken_by: Callable[[Any], str], case: Any) -> str:
    try:
        return broken_by(case)
    except Exception as error:  # noqa: BLE001 - a target of another package may raise anything
        return f"{_case_text(case)}: {type(error).__name__}: {error}"


def _roundtrip_breach(form: "LoweringResult[Any, Any]", member: Configuration) -> str:
    found = form.decode(form.encode(member))
    return "" if found == member else f"{_case_text(member)} is decoded as {_case_text(found)}"


def _acceptance_breach(form: "LoweringResult[Any, Any]", member: Configuration) -> str:
    return "" if form.accepts(form.encode(member)) else _case_text(member)


def _membership_breach(form: "LoweringResult[Any, Any]", structures: "Structures", encoding: Any) -> str:
    found = form.decode(encoding)
    why = first_exclusion(structures.space, found)
    return "" if why is None else f"{_case_text(found)}: {why.reason}"


def _count_structures(form: "LoweringResult[Any, Any]", drawn: Iterable[Any], decisions: set[str]) -> int:
    """Return the number of structures among the drawn encodings; those that cannot be decoded are not counted."""
    found = set()
    for encoding in drawn:
        try:
            configuration = form.decode(encoding)
        except Exception:  # noqa: BLE001 - the first two laws report it
            continue
        found.add(tuple(sorted((key, configuration[key]) for key in decisions & configuration.keys())))
    return len(found)


def _case_text(case: Any) -> str:
    if isinstance(case, Configuration):
        return case.identity
    return json.dumps(case, default=str) if isinstance(case, Mapping | Sequence) else str(case)
