"""Conformance suite for minimizers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import Any, ClassVar, Final

import numpy as np
from hypothesis import strategies as st

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Search, SearchCoroutine
from spacelang.ir.trial import Memo, Request, Trial
from spacelang.minimizers import Box, Point
from spacelang.plugins import PluginRegistry
from spacelang.runtime.history import TrialRecord
from spacelang.surrogates import Dimension, round_to_members
from spacelang.testing.driving import SearchLog, drive_search, hash_loss, make_trial
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import WORKERS, ConformanceSuite, check_plugin_class, run_search

RANGE: Final = Dimension()
BOXES: Final[Mapping[str, Box]] = {
    "one": (RANGE,),
    "three": (RANGE, RANGE, RANGE),
    "mixed": (RANGE, Dimension((0.0, 0.3, 1.0)), Dimension((0.0, 0.5, 1.0), is_ordered=False)),
    "two members": (Dimension((0.0, 1.0)),),
}
CALLS: Final = 14
SEED_STRATEGY: Final = st.integers(0, 2**32 - 1)


@renamed_attributes(number="value", room="idle_workers")
@dataclass(frozen=True)
class QuadraticBowl:
    """A point objective for tests: the squared distance from 0.3, with coordinates rounded to their members.

    If `is_flaky`, a fifth of all points have no request, and the trials of another fifth fail. The start point always
    has a successful trial.
    """

    box: Box
    seed: int = 0
    is_flaky: bool = False
    known: Sequence[tuple[Point, float]] = ()
    idle_workers: int = 1

    @cached_property
    def rng(self) -> np.random.Generator:
        """The random generator."""
        return np.random.default_rng(self.seed)

    @cached_property
    def start(self) -> Point:
        """The start of the minimization, a corner of the cube."""
        return (1.0,) * len(self.box)

    def request(self, point: Point) -> Request | None:
        """Return the request of a point, with a memo, or None if the point is one of those without a request."""
        assert len(point) == len(self.box)
        assert all(0 <= coordinate <= 1 for coordinate in point)
        request = self._make_request(point)
        return None if 0 <= self._flakiness(request) < 0.2 else request

    def value(self, point: Point, trial: Trial | None, seen: Sequence[float]) -> float:  # noqa: ARG002
        """Return the loss of the trial; without a trial or after a failure, 1 more than the largest value in `seen`."""
        return max(seen, default=0.0) + 1.0 if trial is None or trial.loss is None else trial.loss

    def loss(self, request: Request) -> float | None:
        """Return the loss of a request, or None if its trial fails."""
        if 0.2 <= self._flakiness(request) < 0.4:
            return None
        return float(sum((float(str(number)) - 0.3) ** 2 for number in request.configuration.values()))

    def evaluate(self, request: Request) -> Trial:
        """Return the trial of a request; costs vary."""
        trial = make_trial(request, self.loss(request))
        return Trial(request, trial.loss, 1.0 + hash_loss(request), trial.status)

    def _make_request(self, point: Point) -> Request:
        members = round_to_members(self.box, np.array(point).reshape(1, -1))[0].tolist()
        return Request(Configuration({f"x{place}": number for place, number in enumerate(members)}), memo=("bowl",))

    def _flakiness(self, request: Request) -> float:
        return hash_loss(request) if self.is_flaky and request != self._make_request(self.start) else inf


class MinimizerConformance(ConformanceSuite):
    """Conformance suite for minimizers: set `minimizer` to the class, and `options` to options for the tests.

    A minimizer respects its limit on calls and seconds and the box, and returns the best point seen. It depends only on
    its arguments and the events it receives, and resumes after a kill with bit-identical proposals.
    """

    minimizer: ClassVar[Any]
    options: ClassVar[Mapping[str, object]] = {}

    def test_is_a_frozen_dataclass_with_documented_options(self) -> None:
        check_plugin_class(self.minimizer)
        assert self.minimizer.__dataclass_params__.frozen
        assert self.minimizer.paper

    @WORKERS
    def test_it_respects_its_call_limit_and_returns_the_best_point(self, workers: int) -> None:
        def check_case(box: Box, seed: int, calls: int, is_flaky: bool, known: list[float]) -> None:
            points = tuple(((each,) * len(box), 5.0 + each) for each in known)
            bowl = QuadraticBowl(box, seed, is_flaky, points, workers)
            best, driven = self.drive_minimizer(bowl, calls, workers)
            assert sum(len(points_from_memo(each, len(box))) for each in driven.trials) <= calls
            is_known = bowl.start in [point for point, _ in bowl.known]
            assert is_known or points_from_memo(driven.trials[0], len(box)) == [bowl.start]
            scored = [
                (points_from_memo(each, len(box))[-1], each.loss) for each in driven.trials if each.loss is not None
            ]
            assert best == min((*bowl.known, *scored), key=lambda each: each[1])[0]

        known = st.lists(st.floats(0, 1), max_size=3, unique=True)
        boxes = st.sampled_from([*BOXES.values()])
        calls = st.integers(1, CALLS)
        self.check_property(check_case, box=boxes, seed=SEED_STRATEGY, calls=calls, is_flaky=st.booleans(), known=known)

    @WORKERS
    def test_it_uses_all_calls_if_every_point_can_be_evaluated(self, workers: int) -> None:
        _, driven = self.drive_minimizer(QuadraticBowl(BOXES["three"], idle_workers=workers), CALLS, workers)
        assert len(driven.trials) == CALLS
        for memo in memos(driven.trials):
            assert (len(memo), memo[0]) == (1 + 3 + 1, "bowl"), "each memo begins with the memo of the objective"

    @WORKERS
    def test_the_same_arguments_and_answers_give_the_same_points(self, workers: int) -> None:
        for box in BOXES.values():
            bowls = QuadraticBowl(box, 3, True), QuadraticBowl(box, 3, True)
            (one, first), (other, second) = (self.drive_minimizer(bowl, CALLS, workers) for bowl in bowls)
            assert one == other
            assert memos(first.trials) == memos(second.trials)

    def test_with_one_worker_it_runs_one_trial_at_a_time(self) -> None:
        out: list[int] = []
        drive_search(
            log_running_trials(self.start_minimizer(QuadraticBowl(BOXES["three"]), CALLS), out), lambda _: 1.0, CALLS
        )
        assert set(out) == {1}

    def test_without_dimensions_it_evaluates_only_an_unknown_start(self) -> None:
        best, driven = self.drive_minimizer(QuadraticBowl(()), CALLS)
        assert (best, len(driven.trials)) == ((), 1)
        best, driven = self.drive_minimizer(QuadraticBowl((), known=(((), 2.0),)), CALLS)
        assert (best, len(driven.trials)) == ((), 0)

    def test_a_known_start_is_not_evaluated_again(self) -> None:
        bowl = QuadraticBowl(BOXES["three"])
        _, driven = self.drive_minimizer(QuadraticBowl(bowl.box, known=((bowl.start, 7.0),)), CALLS)
        assert bowl.start not in [points_from_memo(trial, 3)[-1] for trial in driven.trials]

    def test_it_stops_after_the_trial_that_uses_up_its_seconds(self) -> None:
        """Check that it stops after the trial that exceeds its seconds; each trial costs one second."""
        _, driven = self.drive_minimizer(QuadraticBowl(BOXES["three"]), CALLS, seconds=4.5)
        assert len(driven.trials) == 5
        _, driven = self.drive_minimizer(QuadraticBowl(BOXES["three"], known=(((0.5,) * 3, 1.0),)), CALLS, seconds=0.0)
        assert not driven.trials

    def test_it_ends_if_only_the_start_has_a_configuration(self) -> None:
        class Lonely(QuadraticBowl):
            def request(self, point: Point) -> Request | None:
                return super().request(point) if point == self.start else None

        bowl = Lonely(BOXES["one"])
        best, driven = self.drive_minimizer(bowl, CALLS)
        assert best == bowl.start
        assert len(set(driven.requests)) == 1

    @WORKERS
    def test_a_killed_and_resumed_run_makes_bit_identical_proposals(self, workers: int) -> None:
        """Check that a resumed run proposes bit-identical points, as far as they had been started before the kill."""
        bowl = QuadraticBowl(BOXES["mixed"], 5, True, idle_workers=workers)
        journal, log = MemoryTrialStorage(), EventLog()
        run_search(self.search(bowl), SimulatedExecutor(bowl.evaluate, workers=workers), journal=journal, heard=log)
        whole = memos_by_proposal(journal.appended)
        for stop in range(0, len(whole), 3):
            later, again = journal.killed_after(stop), QuadraticBowl(bowl.box, 5, True, idle_workers=workers)
            run_search(self.search(again), SimulatedExecutor(again.evaluate, workers=workers), journal=later)
            begun = len(whole) if workers == 1 else count_proposals_started(log, stop)
            resumed = memos_by_proposal([*later.earlier, *later.appended])
            both = {each for each in whole.keys() & resumed.keys() if each <= begun}
            assert {each: resumed[each] for each in both} == {each: whole[each] for each in both}
            assert workers > 1 or resumed.keys() == whole.keys()

    def start_minimizer(self, value: QuadraticBowl, calls: int, seconds: float | None = None) -> SearchCoroutine[Point]:
        """Return the started minimizer, a coroutine that asks for trials."""
        options = {name: str(option) for name, option in self.options.items()}
        minimizer = PluginRegistry.configure(self.minimizer, options)
        found: SearchCoroutine[Point] = minimizer.minimise(value, value.box, calls, value.start, seconds)
        return found

    def drive_minimizer(
        self, value: QuadraticBowl, calls: int, workers: int = 1, seconds: float | None = None
    ) -> tuple[Point, SearchLog]:
        """Run the minimizer and return its result and the log of its trials."""
        found: list[Point] = []
        search = search_appending_result(self.start_minimizer(value, calls, seconds), found)
        driven = drive_search(search, value.loss, 10 * calls, workers=workers)
        assert driven.returned
        return found[0], driven

    def search(self, value: QuadraticBowl) -> Search:
        """Return a search that runs the minimizer."""
        yield from search_appending_result(self.start_minimizer(value, CALLS), [])


def search_appending_result(asking: SearchCoroutine[Point], found: list[Point]) -> Search:
    """Return a search that runs the minimizer `asking` and appends its best point to `found`."""
    found.append((yield from asking))


def log_running_trials(asking: SearchCoroutine[Point], out: list[int]) -> Search:
    """Return a search that behaves like `asking` and appends the number of running trials to `out` at each ask."""
    under_way, ask = 0, next(asking)
    while True:
        under_way += len(ask.requests)
        out.append(under_way)
        event = yield ask
        under_way -= event.finished is not None
        try:
            ask = asking.send(event)
        except StopIteration:
            return


def points_from_memo(trial: Trial, width: int) -> list[Point]:
    """Return the points at the end of the memo of a trial."""
    memo = trial.request.memo
    count = memo[-1]
    assert isinstance(count, int)
    points = np.array(memo[len(memo) - 1 - count * width : -1], float).reshape(count, width).tolist()
    return [tuple(point) for point in points]


def count_proposals_started(heard: EventLog, count: int) -> int:
    """Return how many proposals had been started once the search had reacted to `count` reported trials."""
    finished_counts = list(accumulate(int(each.finished is not None) for each in heard.events))
    asks = heard.asks[: finished_counts.index(count) + 2] if count else heard.asks[:1]
    return sum(len(ask.requests) for ask in asks)


def memos_by_proposal(records: Iterable[TrialRecord]) -> dict[int, Memo]:
    """Return the memos of the proposals' requests, by the number of the proposal."""
    return {each.proposal: each.trial.request.memo for each in records if each.proposal is not None}


def memos(trials: Iterable[Trial]) -> list[Memo]:
    """Return the memos of trials, in order."""
    return [trial.request.memo for trial in trials]
