"""Conformance suite for minimizers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import Any, ClassVar, Final

import numpy as np
from hypothesis import strategies as st

from spacelang.bench.simulated import Simulated
from spacelang.ir.asking import Asking, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Memo, Request, Trial
from spacelang.minimizers import Box, Point
from spacelang.plugins import Plugins
from spacelang.runtime.history import Record
from spacelang.surrogates.dimensions import Dimension, rounded
from spacelang.testing.driving import Driven, answered, arbitrary, drive
from spacelang.testing.journals import Heard, MemoryJournal
from spacelang.testing.searching import WORKERS, ran
from spacelang.testing.suite import Suite

RANGE: Final = Dimension()
BOXES: Final[Mapping[str, Box]] = {
    "one": (RANGE,),
    "three": (RANGE, RANGE, RANGE),
    "mixed": (RANGE, Dimension((0.0, 0.3, 1.0)), Dimension((0.0, 0.5, 1.0), is_ordered=False)),
    "two members": (Dimension((0.0, 1.0)),),
}
CALLS: Final = 14
SEEDS: Final = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Bowl:
    """A point objective for tests: the squared distance from 0.3, with coordinates rounded to their members.

    If `is_moody`, a fifth of all points have no request, and the trials of another fifth fail, but never the start.
    """

    box: Box
    seed: int = 0
    is_moody: bool = False
    known: Sequence[tuple[Point, float]] = ()
    room: int = 1

    @cached_property
    def rng(self) -> np.random.Generator:
        """The random generator."""
        return np.random.default_rng(self.seed)

    @cached_property
    def start(self) -> Point:
        """The start of the minimization, a corner of the cube."""
        return (1.0,) * len(self.box)

    def request(self, point: Point) -> Request | None:
        """Return the request of a point, with a memo, or None if it has no configuration."""
        assert len(point) == len(self.box)
        assert all(0 <= coordinate <= 1 for coordinate in point)
        request = self._request(point)
        return None if 0 <= self._mood(request) < 0.2 else request

    def number(self, point: Point, trial: Trial | None, seen: Sequence[float]) -> float:  # noqa: ARG002
        """Return the loss of the trial; without one, 1 more than the largest value in `seen`."""
        return max(seen, default=0.0) + 1.0 if trial is None or trial.loss is None else trial.loss

    def loss(self, request: Request) -> float | None:
        """Return the loss of a request, or None if its trial fails."""
        if 0.2 <= self._mood(request) < 0.4:
            return None
        return float(sum((float(str(number)) - 0.3) ** 2 for number in request.configuration.values()))

    def evaluate(self, request: Request) -> Trial:
        """Return the trial of a request; costs vary."""
        trial = answered(request, self.loss(request))
        return Trial(request, trial.loss, 1.0 + arbitrary(request), trial.status)

    def _request(self, point: Point) -> Request:
        members = rounded(self.box, np.array(point).reshape(1, -1))[0].tolist()
        return Request(Configuration({f"x{place}": number for place, number in enumerate(members)}), memo=("bowl",))

    def _mood(self, request: Request) -> float:
        return arbitrary(request) if self.is_moody and request != self._request(self.start) else inf


class MinimizerConformance(Suite):
    """Conformance suite for minimizers: set `minimizer` to the class, and `options` to options for the tests.

    A minimizer respects its limit on calls and seconds and the box, and returns the best point seen. It depends only on
    its arguments and the events it receives, and resumes after a kill with bit-identical proposals.
    """

    minimizer: ClassVar[Any]
    options: ClassVar[Mapping[str, object]] = {}

    def test_is_a_frozen_dataclass_with_documented_options(self) -> None:
        minimizer = self.minimizer
        assert is_dataclass(minimizer)
        assert self.minimizer.__dataclass_params__.frozen
        assert self.minimizer.__doc__
        assert self.minimizer.paper
        assert all(option.doc for option in Plugins.options(self.minimizer))

    @WORKERS
    def test_it_keeps_to_its_calls_and_returns_the_best_point(self, workers: int) -> None:
        def law(box: Box, seed: int, calls: int, is_moody: bool, known: list[float]) -> None:
            bowl = Bowl(box, seed, is_moody, tuple(((each,) * len(box), 5.0 + each) for each in known), workers)
            best, driven = self.driven(bowl, calls, workers)
            assert sum(len(points_of(each, len(box))) for each in driven.trials) <= calls
            is_known = bowl.start in [point for point, _ in bowl.known]
            assert is_known or points_of(driven.trials[0], len(box)) == [bowl.start]
            numbers = [*bowl.known]
            for trial in driven.trials:
                if trial.loss is not None:
                    numbers.append((points_of(trial, len(box))[-1], trial.loss))
            assert best == min(numbers, key=lambda each: each[1])[0]

        known = st.lists(st.floats(0, 1), max_size=3, unique=True)
        boxes = st.sampled_from([*BOXES.values()])
        calls = st.integers(1, CALLS)
        self.holds(law, box=boxes, seed=SEEDS, calls=calls, is_moody=st.booleans(), known=known)

    @WORKERS
    def test_all_its_calls_are_made_where_every_point_can_be_evaluated(self, workers: int) -> None:
        _, driven = self.driven(Bowl(BOXES["three"], room=workers), CALLS, workers)
        assert len(driven.trials) == CALLS
        for memo in memos(driven.trials):
            assert (len(memo), memo[0]) == (1 + 3 + 1, "bowl"), "the memo of the objective comes first"

    @WORKERS
    def test_the_same_arguments_and_answers_give_the_same_points(self, workers: int) -> None:
        for box in BOXES.values():
            (one, first), (other, second) = (self.driven(Bowl(box, 3, True), CALLS, workers) for _ in range(2))
            assert one == other
            assert memos(first.trials) == memos(second.trials)

    def test_with_one_worker_one_trial_is_under_way_at_a_time(self) -> None:
        out: list[int] = []
        drive(observed(self.minimise(Bowl(BOXES["three"]), CALLS), out), lambda _: 1.0, CALLS)
        assert set(out) == {1}

    def test_without_dimensions_the_start_alone_is_evaluated_where_it_is_not_known(self) -> None:
        best, driven = self.driven(Bowl(()), CALLS)
        assert (best, len(driven.trials)) == ((), 1)
        best, driven = self.driven(Bowl((), known=(((), 2.0),)), CALLS)
        assert (best, len(driven.trials)) == ((), 0)

    def test_a_start_that_is_known_is_not_evaluated_again(self) -> None:
        bowl = Bowl(BOXES["three"])
        _, driven = self.driven(Bowl(bowl.box, known=((bowl.start, 7.0),)), CALLS)
        assert bowl.start not in [points_of(trial, 3)[-1] for trial in driven.trials]

    def test_seconds_end_it_after_the_trial_that_uses_them_up(self) -> None:
        """Check that it stops after the trial that exceeds its seconds; each trial costs one second."""
        _, driven = self.driven(Bowl(BOXES["three"]), CALLS, seconds=4.5)
        assert len(driven.trials) == 5
        _, driven = self.driven(Bowl(BOXES["three"], known=(((0.5,) * 3, 1.0),)), CALLS, seconds=0.0)
        assert not driven.trials

    def test_where_nothing_has_a_configuration_but_the_start_it_ends_all_the_same(self) -> None:
        class Lonely(Bowl):
            def request(self, point: Point) -> Request | None:
                return super().request(point) if point == self.start else None

        bowl = Lonely(BOXES["one"])
        best, driven = self.driven(bowl, CALLS)
        assert best == bowl.start
        assert len(set(driven.requests)) == 1

    @WORKERS
    def test_killed_after_any_trial_and_resumed_it_asks_for_the_same_to_the_last_bit(self, workers: int) -> None:
        """Check that a run that is killed and resumed proposes bit-identical points.

        With several workers, only proposals that had been started before the kill are compared. Later ones depend on
        which trials were running.
        """
        bowl = Bowl(BOXES["mixed"], 5, True, room=workers)
        journal, heard = MemoryJournal(), Heard()
        ran(self.search(bowl), Simulated(bowl.evaluate, workers=workers), journal=journal, heard=heard)
        whole = proposals(journal.appended)
        for stop in range(0, len(whole), 3):
            later, again = journal.cut(stop), Bowl(bowl.box, 5, True, room=workers)
            ran(self.search(again), Simulated(again.evaluate, workers=workers), journal=later)
            begun = len(whole) if workers == 1 else begun_until(heard, stop)
            resumed = proposals([*later.earlier, *later.appended])
            both = {each for each in whole.keys() & resumed.keys() if each <= begun}
            assert {each: resumed[each] for each in both} == {each: whole[each] for each in both}
            assert workers > 1 or resumed.keys() == whole.keys()

    def minimise(self, value: Bowl, calls: int, seconds: float | None = None) -> Asking[Point]:
        """Return the started minimizer, a coroutine that asks for trials."""
        texts = {name: str(option) for name, option in self.options.items()}
        minimizer = Plugins.configure(self.minimizer, texts)
        found: Asking[Point] = minimizer.minimise(value, value.box, calls, value.start, seconds)
        return found

    def driven(self, value: Bowl, calls: int, workers: int = 1, seconds: float | None = None) -> tuple[Point, Driven]:
        """Run the minimizer and return its result and the log of its trials."""
        found: list[Point] = []
        driven = drive(kept(self.minimise(value, calls, seconds), found), value.loss, 10 * calls, workers=workers)
        assert driven.ended
        return found[0], driven

    def search(self, value: Bowl) -> Search:
        """Return a search that runs the minimizer."""
        yield from kept(self.minimise(value, CALLS), [])


def kept(asking: Asking[Point], found: list[Point]) -> Search:
    """Return a search that appends its result to `found`."""
    found.append((yield from asking))


def observed(asking: Asking[Point], out: list[int]) -> Search:
    """Return the same search, but append the number of running trials to `out` at each ask."""
    under_way, ask = 0, next(asking)
    while True:
        under_way += len(ask.begin)
        out.append(under_way)
        told = yield ask
        under_way -= told.ended is not None
        try:
            ask = asking.send(told)
        except StopIteration:
            return


def points_of(trial: Trial, width: int) -> list[Point]:
    """Return the points at the end of the memo of a trial."""
    memo = trial.request.memo
    count = memo[-1]
    assert isinstance(count, int)
    points = np.array(memo[len(memo) - 1 - count * width : -1], float).reshape(count, width).tolist()
    return [tuple(point) for point in points]


def begun_until(heard: Heard, count: int) -> int:
    """Return how many proposals had been started when `count` trials were reported and the search had answered."""
    told = list(accumulate(int(each.ended is not None) for each in heard.tolds))
    asks = heard.asks[: told.index(count) + 2] if count else heard.asks[:1]
    return sum(len(ask.begin) for ask in asks)


def proposals(records: Iterable[Record]) -> dict[int, Memo]:
    """Return the memos of the proposals' requests, by the number of the proposal."""
    return {each.proposal: each.trial.request.memo for each in records if each.proposal is not None}


def memos(trials: Iterable[Trial]) -> list[Memo]:
    """Return the memos of trials, in order."""
    return [trial.request.memo for trial in trials]
