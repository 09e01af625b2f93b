"""Two targets as another package writes them: dials, each of which turns through some integers or a closed range.

They know no union, set, step, excluded end, log scale, condition or constraint: the chain of reductions replaces them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from spacelang.contracts import (
    Grid,
    LoweringResult,
    PreservationTable,
    Real,
    Sampler,
    SimpleDomain,
    Structures,
    build_questions,
    build_report,
    preserved_by_reductions,
)

Positions = dict[str, Any]


def clicks(part: SimpleDomain) -> bool:
    """Whether one dial clicks through all of a range: consecutive integers that are as likely."""
    return isinstance(part, Grid) and part.is_consecutive and not part.log


def turns(part: SimpleDomain) -> bool:
    """Whether one dial turns through all of a range: a closed one without a log scale, or clicks."""
    return clicks(part) or (isinstance(part, Real) and not part.is_open and not part.log)


@dataclass(frozen=True, slots=True)
class Panel:
    """The dials of a space by their names; those that do not matter for a configuration are left alone."""

    dials: dict[str, SimpleDomain]

    def to_json(self) -> dict[str, object]:
        return {"dials": list(self.dials)}

    def to_text(self) -> str:
        return "\n".join(["dials", *self.dials])

    def to_dot(self) -> str:
        return f"digraph dials {{ dials [label={len(self.dials)}] }}"


@dataclass(frozen=True, slots=True)
class Dials:
    """A panel of dials, which draws logarithms where a range has a log scale."""

    takes: ClassVar[Callable[[SimpleDomain], bool]] = staticmethod(turns)
    preserves: ClassVar[PreservationTable] = preserved_by_reductions(turns)

    def lower(self, structures: Structures) -> LoweringResult[Panel, Positions]:
        chain = build_questions(structures, self.takes, self.preserves)

        def reaches(positions: Positions) -> bool:
            inside = (chain.domains[name].find(at) == at for name, at in positions.items() if name in chain.domains)
            return all(inside) and chain.are_answered(positions)

        def draw(count: int, rng: Generator) -> Sequence[Positions]:
            return [chain.encode(each) for each in Sampler(structures).configurations(count, rng)]

        report = build_report(chain, self.preserves)
        return LoweringResult(Panel(dict(chain.domains)), chain.encode, chain.decode, reaches, draw, report)


@dataclass(frozen=True, slots=True)
class Switches(Dials):
    """A panel of dials that click through integers, so that continuous ranges are cut to grids."""

    takes: ClassVar[Callable[[SimpleDomain], bool]] = staticmethod(clicks)
    preserves: ClassVar[PreservationTable] = preserved_by_reductions(clicks)
