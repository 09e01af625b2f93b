"""A target as another package writes it: dials, each of which turns through some integers or a closed range.

It knows no union, set, step, excluded end, condition or constraint: the chain of reductions sees to all of them.
"""

from collections.abc import Sequence
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


def accepts(part: SimpleDomain) -> bool:
    """Whether one dial turns through all of a range: a closed one, or consecutive integers that are as likely."""
    if isinstance(part, Real):
        return not part.is_open
    return isinstance(part, Grid) and part.is_consecutive and not part.log


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
    """A panel of dials."""

    preserves: ClassVar[PreservationTable] = preserved_by_reductions(accepts)

    def lower(self, structures: Structures) -> LoweringResult[Panel, Positions]:
        chain = build_questions(structures, accepts, self.preserves)

        def reaches(positions: Positions) -> bool:
            inside = (chain.domains[name].find(at) == at for name, at in positions.items() if name in chain.domains)
            return all(inside) and chain.are_answered(positions)

        def draw(count: int, rng: Generator) -> Sequence[Positions]:
            return [chain.encode(each) for each in Sampler(structures).configurations(count, rng)]

        report = build_report(chain, self.preserves)
        return LoweringResult(Panel(dict(chain.domains)), chain.encode, chain.decode, reaches, draw, report)
