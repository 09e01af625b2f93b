"""The optional library RBFOpt, the solver of the ADMM paper, which has its own radial basis functions.

RBFOpt calls the function that it minimises, and such a call cannot wait for a trial. Its steps take too long to be
replayed for every proposal. It therefore runs in a thread, which waits for each number. It uses a random seed of its
own, so it requests the same points whenever the numbers are the same.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from queue import SimpleQueue
from shutil import which
from threading import Thread
from typing import Any, ClassVar, Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.minimizers import Box, MinimizationProblem, Observations, Point, minimize_with_proposals
from spacelang.plugins import OptionError
from spacelang.surrogates import random_point

REQUIRED_SOLVERS: Final = ("bonmin", "ipopt")


@dataclass(frozen=True, slots=True)
class Rbfopt:
    """RBFOpt of COIN-OR with its default settings; must be installed. `rbf` is similar and needs no installation."""

    paper: ClassVar[str] = "Costa and Nannicini, RBFOpt, Mathematical Programming Computation 2018"

    def __post_init__(self) -> None:
        if find_spec("rbfopt") is None:
            raise OptionError("`rbfopt` is not installed", "run `pip install rbfopt`, or use `rbf`, which is built in")
        lacking = [name for name in REQUIRED_SOLVERS if which(name) is None]
        if lacking:
            listed = " and ".join(f"`{name}`" for name in lacking)
            raise OptionError(f"RBFOpt needs {listed} on the PATH", "install the solvers of COIN-OR, or use `rbf`")

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Evaluate the start, then one point at a time; random points if RBFOpt ends before the calls are used up."""
        with closing(_RbfoptThread(len(box), calls)) as search:

            def propose(seen: Observations, rng: Generator) -> Point:
                numbers = dict(zip(map(tuple, seen.points.tolist()), seen.numbers.tolist(), strict=True))
                return search.first_unknown_point(numbers) or tuple(random_point(box, rng).tolist())

            return (yield from minimize_with_proposals(propose, value, box, calls, start, seconds, at_once=1))


class _StoppedError(BaseException):
    """An exception raised in the thread to end it; RBFOpt would catch an Exception as an error of the function."""


class _RbfoptThread:
    """RBFOpt in a thread, started with the first point needed, which waits at a point whose number is unknown."""

    def __init__(self, dimensions: int, calls: int) -> None:
        self._dimensions, self._calls = dimensions, calls
        self._points: SimpleQueue[Point | BaseException | None] = SimpleQueue()
        self._numbers: SimpleQueue[float | None] = SimpleQueue()
        self._thread = Thread(target=self._run, daemon=True)
        self._current: Point | None = None
        self._generator_state: Any = None

    def first_unknown_point(self, numbers: Mapping[Point, float]) -> Point | None:
        """Return the next point with an unknown number, or None if RBFOpt has ended; raises its exceptions."""
        with self._own_generator_state():
            if self._thread.ident is None:
                self._thread.start()
                self._current = self._next_point()
            while self._current is not None and self._current in numbers:
                self._numbers.put(numbers[self._current])
                self._current = self._next_point()
        return self._current

    @contextmanager
    def _own_generator_state(self) -> Iterator[None]:
        """Switch NumPy's global random generator to the state of RBFOpt, and back afterwards."""
        others = np.random.get_state()
        if self._generator_state is not None:
            np.random.set_state(self._generator_state)
        try:
            yield
        finally:
            self._generator_state = np.random.get_state()
            np.random.set_state(others)

    def close(self) -> None:
        if self._thread.ident is not None:
            self._numbers.put(None)
            self._thread.join()

    def _next_point(self) -> Point | None:
        found = self._points.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def _run(self) -> None:
        try:
            _run_rbfopt(self._wait_for_number, self._dimensions, self._calls)
        except _StoppedError:
            return
        except BaseException as error:  # noqa: BLE001 - re-raised by `_next_point`
            self._points.put(error)
        else:
            self._points.put(None)

    def _wait_for_number(self, coordinates: Any) -> float:
        self._points.put(tuple(map(float, coordinates)))
        number = self._numbers.get()
        if number is None:
            raise _StoppedError
        return number


def _run_rbfopt(number_of: Any, dimensions: int, calls: int) -> None:
    import rbfopt

    lower, upper, kinds = np.zeros(dimensions), np.ones(dimensions), np.array(["R"] * dimensions)
    box = rbfopt.RbfoptUserBlackBox(dimensions, lower, upper, kinds, number_of)
    algorithm = rbfopt.RbfoptAlgorithm(rbfopt.RbfoptSettings(max_evaluations=calls), box)
    algorithm.set_output_stream(StringIO())  # nobody reads what it prints
    algorithm.optimize()
