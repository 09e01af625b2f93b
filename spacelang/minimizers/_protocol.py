"""What a minimizer is, and what it minimises (spacelang/optimizers/README.md, section "Minimizers")."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

from spacelang.ir.asking import Asking
from spacelang.ir.trial import Request, Trial
from spacelang.surrogates.dimensions import Dimension

if TYPE_CHECKING:
    from numpy.random import Generator

Point: TypeAlias = tuple[float, ...]
"""A point of the unit cube."""

Box: TypeAlias = tuple[Dimension, ...]
"""What each coordinate of a point is: any number in [0, 1], or one of some members of it.

Members say that points which round to the same ones are the same to whoever evaluates them. Where a number is minimised
that changes between two members, as a penalty does, a coordinate is one without members.
"""


class Value(Protocol):
    """What is minimised: which trial tells the number of a point, and what that number is."""

    @property
    def known(self) -> Sequence[tuple[Point, float]]:
        """Points whose numbers cost nothing, such as those of earlier trials that are judged anew."""

    @property
    def room(self) -> int:
        """How many workers have nothing to do, as far as the caller was told."""

    @property
    def rng(self) -> "Generator":
        """All that is drawn is drawn from it, but for proposals, which have generators of their own."""

    def request(self, point: Point) -> Request | None:
        """The request that evaluates a point; None where the space has no such configuration."""

    def number(self, point: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """The number of a point by its trial, which may have failed, or by None where it has no request; finite.

        `seen` are all numbers so far, those that were known first: a failure may be as bad as the worst of them. It
        depends on nothing but its arguments.
        """


class Minimizer(Protocol):
    """A minimizer: a frozen dataclass whose fields are its options.

    It may declare `most_modelled: ClassVar[int]`: of more points its models leave some out, and whoever calls it says
    so in the summary of the run.
    """

    paper: ClassVar[str]

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """The point with the least number, the first of equal ones, after so many calls or seconds of cost.

        Every point that was tried is a call, whether it was evaluated, answered from memory or had no request. `start`,
        which has one, is the first unless its number is known; without dimensions it is the only one. The result is
        never worse than `start`, nor than what is known. Nothing is in flight when it returns. What is asked for
        depends on the arguments, on what is told and on the generators of proposals alone; the `memo` of a request ends
        with the points that were tried for it and how many these are.
        """
