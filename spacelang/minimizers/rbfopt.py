"""RBFOpt, where it is installed: the solver of the ADMM paper, with its own radial basis functions.

RBFOpt calls the function that it minimises, and nobody can be asked in the midst of a call. Each step of it takes too
long to be done again for every proposal: so it goes on in a thread of its own, which waits there for each number. It
draws what it draws from a seed of its own, so that it asks for the same points wherever the numbers are the same.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from queue import SimpleQueue
from shutil import which
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final

from spacelang.ir.asking import Asking
from spacelang.minimizers import Box, Point, Seen, Value, minimised
from spacelang.plugins import OptionError

if TYPE_CHECKING:
    from numpy.random import Generator

SOLVERS: Final = ("bonmin", "ipopt")
"""The programs that RBFOpt calls."""


@dataclass(frozen=True, slots=True)
class Rbfopt:
    """RBFOpt of COIN-OR, with its own settings; it has to be installed. `rbf` is the same idea, and needs nothing."""

    paper: ClassVar[str] = "Costa and Nannicini, RBFOpt, Mathematical Programming Computation 2018"

    def __post_init__(self) -> None:
        """Raises OptionError where RBFOpt or a program that it calls is not installed."""
        if find_spec("rbfopt") is None:
            raise OptionError("`rbfopt` is not installed", "`pip install rbfopt`, or take `rbf`, which needs nothing")
        lacking = [name for name in SOLVERS if which(name) is None]
        if lacking:
            listed = " and ".join(f"`{name}`" for name in lacking)
            raise OptionError(f"RBFOpt finds no {listed}", "put the solvers of COIN-OR on the PATH, or take `rbf`")

    def minimise(self, value: Value, box: Box, calls: int, start: Point, seconds: float | None = None) -> Asking[Point]:
        """The start, and then one point after the other; random ones where RBFOpt has ended before the calls have."""
        with _going(len(box), calls) as search:

            def propose(seen: Seen, rng: "Generator") -> Point:
                numbers = dict(zip(map(tuple, seen.points.tolist()), seen.numbers.tolist(), strict=True))
                return search.first_unknown(numbers) or tuple(rng.random(len(box)).tolist())

            return (yield from minimised(propose, value, box, calls, start, seconds, at_once=1))


class _StoppedError(BaseException):
    """No number will come: not to be taken for a mistake of the function by whoever calls it."""


class _Search:
    """RBFOpt in a thread that begins when a point is wanted; it stands at a point whose number is not known."""

    def __init__(self, dimensions: int, calls: int) -> None:
        self._dimensions, self._calls = dimensions, calls
        self._wanted: SimpleQueue[Point | BaseException | None] = SimpleQueue()
        self._numbers: SimpleQueue[float | None] = SimpleQueue()
        self._thread = Thread(target=self._run, daemon=True)
        self._at: Point | None = None
        self._state: Any = None
        """That of NumPy's global generator, which RBFOpt draws from."""

    def first_unknown(self, numbers: Mapping[Point, float]) -> Point | None:
        """The first point that is asked for and has no number; None where RBFOpt has ended. Raises what it raises."""
        with self._drawing():
            if self._thread.ident is None:
                self._thread.start()
                self._at = self._next()
            while self._at is not None and self._at in numbers:
                self._numbers.put(numbers[self._at])
                self._at = self._next()
        return self._at

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Have the global generator be as RBFOpt has left it, and give it back as it was."""
        import numpy as np

        others = np.random.get_state()
        if self._state is not None:
            np.random.set_state(self._state)
        try:
            yield
        finally:
            self._state = np.random.get_state()
            np.random.set_state(others)

    def stop(self) -> None:
        """End the thread."""
        if self._thread.ident is not None:
            self._numbers.put(None)
            self._thread.join()

    def _next(self) -> Point | None:
        found = self._wanted.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def _run(self) -> None:
        try:
            _optimise(self._number_of, self._dimensions, self._calls)
        except _StoppedError:
            return
        except BaseException as error:  # noqa: BLE001 - it is raised where the point is wanted
            self._wanted.put(error)
        else:
            self._wanted.put(None)

    def _number_of(self, coordinates: Any) -> float:
        self._wanted.put(tuple(map(float, coordinates)))
        number = self._numbers.get()
        if number is None:
            raise _StoppedError
        return number


@contextmanager
def _going(dimensions: int, calls: int) -> Iterator[_Search]:
    search = _Search(dimensions, calls)
    try:
        yield search
    finally:
        search.stop()


def _optimise(number_of: Any, dimensions: int, calls: int) -> None:
    """Nothing is set but the bounds and how many evaluations there are."""
    import numpy as np
    import rbfopt

    lower, upper, kinds = np.zeros(dimensions), np.ones(dimensions), np.array(["R"] * dimensions)
    box = rbfopt.RbfoptUserBlackBox(dimensions, lower, upper, kinds, number_of)
    algorithm = rbfopt.RbfoptAlgorithm(rbfopt.RbfoptSettings(max_evaluations=calls), box)
    algorithm.set_output_stream(_Nowhere())
    algorithm.optimize()


class _Nowhere:
    """A stream that nobody reads."""

    def write(self, text: str) -> None:
        """Forget it."""

    def flush(self) -> None:
        """There is nothing."""
