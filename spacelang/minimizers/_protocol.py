"""The protocols of minimizers and of their objective (spacelang/optimizers/README.md, section "Minimizers")."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.ir.trial import Request, Trial
from spacelang.surrogates.dimensions import Dimension

if TYPE_CHECKING:
    from numpy.random import Generator

Point: TypeAlias = tuple[float, ...]
"""A point of the unit cube."""

Box: TypeAlias = tuple[Dimension, ...]
"""The dimension of each coordinate of a point: any number in [0, 1], or one of some members.

Points that round to the same members are the same to the objective. If the objective changes between two members, as
a penalty does, the coordinate must be declared without members.
"""


class PointObjective(Protocol):
    """The function to minimise: it maps points to requests, and trials to numbers."""

    @property
    def known(self) -> Sequence[tuple[Point, float]]:
        """The points whose numbers are known without new trials, such as earlier trials under a new penalty.

        Each entry is a pair of a point and its number.
        """

    @property
    def idle_workers(self) -> int:
        """The number of idle workers, according to the latest event that the caller received."""

    @property
    def rng(self) -> "Generator":
        """The random generator for all draws except those of proposals, which have generators of their own."""

    def request(self, point: Point) -> Request | None:
        """Return the request that evaluates a point; None if the point stands for no valid configuration."""

    def value(self, point: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """Return the finite number of a point, given its trial, which may have failed, or None if it has no request.

        `seen` has all numbers so far, starting with the known ones. A failure may be given, for example, the worst of
        them. The result depends on nothing but the arguments.
        """


class Minimizer(Protocol):
    """A minimizer: a frozen dataclass whose fields are its options.

    It may declare `most_modelled: ClassVar[int]`, the number of points beyond which its model uses only some of them.
    Its caller then says so in the summary of the run.
    """

    paper: ClassVar[str]

    def minimise(
        self, value: PointObjective, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Return the point with the smallest number, the first of equal ones, after some calls or seconds.

        Every proposed point counts as a call, whether it was evaluated, answered from memory or had no request. The
        first point is `start`, unless its number is already known; `start` must have a request. Without dimensions, it
        is the only point. The result is never worse than `start` or than any known point. No trial is pending when the
        method returns.

        The requested points depend only on the arguments, on the received events and on the generators of proposals.
        The `memo` of a request ends with the coordinates of the points that were proposed for it, and their number.

        Parameters
        ----------
        value
            The function to minimise.
        box
            One dimension for each coordinate of a point.
        calls
            The maximum number of points.
        start
            The first point.
        seconds
            The maximum total cost of the trials, in seconds. Once it is used up, no further trial starts.
        """
