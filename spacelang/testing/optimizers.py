"""Conformance suite for optimizers."""

import tracemalloc
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields
from typing import ClassVar

import pytest
from hypothesis import strategies as st

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.deprecation import make_module_getattr
from spacelang.ir.domain import Real
from spacelang.ir.expr import BranchTest
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.ir.trial import UNIT_SCALE, LossScale, Request
from spacelang.optimizers import HyperparameterMode, hyperparameter_mode
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import EndReason, TrialRecord
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree
from spacelang.testing.driving import LossFunction, drive_search, failing_loss, flaky_loss, hash_loss
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import (
    EXHAUSTIVE_TRIALS,
    LIMIT,
    SIZE,
    TRIALS,
    WORKERS,
    OptimizerTests,
    check_plugin_class,
    configuration_prefix,
    evaluate,
    evaluate_unscaled,
    evaluate_with_varied_cost,
    sample_members,
)
from spacelang.testing.simulated_workers import RestartingWorkers, ShuffledWorkers
from spacelang.testing.small_spaces import (
    FINITE,
    SMALL,
    branch,
    choice,
    conditional_space,
    constrained_space,
    continuous_space,
    forbid,
    hyperparameter,
    make_space,
    nested_space,
    plain_space,
    space_name,
    spaces,
)

WORKER_COUNTS = st.sampled_from((1, 2, 8))


class ResumeTests(OptimizerTests):
    """Tests of resuming an optimizer."""

    one_by_one: ClassVar[bool] = False
    """True if the optimizer commits to one trial at a time, so that the number of workers changes nothing."""
    stops: ClassVar[int] = 1
    """The number of trials between the points at which a run is stopped; set a larger one for a slow optimizer."""

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_stopping_after_any_trial_and_replaying_equals_the_uninterrupted_run(self, space: Space) -> None:
        whole = drive_search(self.start(space), flaky_loss, 40)
        # The optimizer receives the same events wherever the run was stopped. So one stop per space, after different
        # numbers of trials, is as good as a stop after every trial; another one comes after the last trial.
        for stop in {7 * SMALL.index(space) % len(whole.trials), len(whole.trials)}:
            assert drive_search(self.start(space), flaky_loss, 40, known=whole.trials[:stop]) == whole

    @WORKERS
    def test_a_resumed_run_replays_the_same_events(self, workers: int) -> None:
        def check_case(space: Space, order: int, kills: list[tuple[int, int]]) -> None:
            journal, log, initial = MemoryTrialStorage(), EventLog(), sample_members(space, order % 4)
            prefix_key = configuration_prefix
            crew = ShuffledWorkers(evaluate, workers, order)
            whole = self.run(space, crew, initial=initial, journal=journal, heard=log, prefix_key=prefix_key)
            for place, (stop, others) in enumerate(kills):
                count = len(journal.earlier)
                journal = journal.killed_after(min(max(stop, count), count + len(journal.appended)))
                again, crew = EventLog(), ShuffledWorkers(evaluate, others, order + place)
                outcome = self.run(space, crew, initial=initial, journal=journal, heard=again, prefix_key=prefix_key)
                before = log.events_of_first_trials(len(journal.earlier))
                assert again.events[: len(before)] == before
                assert again.allowed_seconds_and_memos[: len(before)] == log.allowed_seconds_and_memos[: len(before)]
                assert outcome.records[: len(journal.earlier)] == tuple(journal.earlier)
                assert is_numbered_without_duplicates(outcome.records)
                assert {Request(each) for each in initial} <= {each.trial.request for each in outcome.records}
                if self.one_by_one:
                    assert outcome.ended == whole.ended
                    needed = (len(each.records) - each.wasted_speculative for each in (outcome, whole))
                    assert len({*needed}) == 1
                log = again

        kills = st.lists(st.tuples(st.integers(0, TRIALS), WORKER_COUNTS), min_size=1, max_size=3)
        self.check_property(check_case, 1 / 4, space=spaces(), order=st.integers(0, 99), kills=kills)

    @WORKERS
    @pytest.mark.parametrize("space", [nested_space(), continuous_space()], ids=space_name)
    def test_a_resumed_run_equals_one_whose_trials_were_restarted(self, space: Space, workers: int) -> None:
        first, log = MemoryTrialStorage(), EventLog()
        self.run(space, SimulatedExecutor(evaluate_with_varied_cost, workers=workers), journal=first, heard=log)
        if any(ask.speculative for ask in log.asks):
            pytest.skip("the optimizer makes speculative requests, which need not be repeated after a resumption")
        for stop in range(1, len(first.appended), 2 + self.stops):
            anew, resumed = EventLog(), EventLog()
            self.run(space, RestartingWorkers(evaluate_with_varied_cost, workers, stop), heard=anew)
            crew = SimulatedExecutor(evaluate_with_varied_cost, workers=workers)
            self.run(space, crew, journal=first.killed_after(stop), heard=resumed)
            assert (resumed.events, resumed.allowed_seconds_and_memos) == (anew.events, anew.allowed_seconds_and_memos)

    @WORKERS
    def test_every_started_request_is_reported_once(self, workers: int) -> None:
        log = EventLog()
        crew = SimulatedExecutor(evaluate_with_varied_cost, workers=workers)
        outcome = self.run(plain_space(2, 3, 2), crew, EXHAUSTIVE_TRIALS, heard=log)
        assert Counter(event.request for event in log.events if event.finished) == Counter(log.committed_requests)
        assert outcome.ended is EndReason.EXHAUSTED
        assert is_numbered_without_duplicates(outcome.records)

    @WORKERS
    @pytest.mark.parametrize("trials", [12, TRIALS])
    def test_a_finished_run_stays_finished(self, workers: int, trials: int) -> None:
        """Check that a finished run does nothing when it is resumed, with any number of workers or a smaller budget."""
        first = MemoryTrialStorage()
        whole = self.run(
            plain_space(4, 4, 3), ShuffledWorkers(evaluate, 3), journal=first, prefix_key=configuration_prefix
        )
        second, crew = first.next_session(), ShuffledWorkers(evaluate, workers)
        again = self.run(plain_space(4, 4, 3), crew, trials, journal=second, prefix_key=configuration_prefix)
        assert not second.appended
        assert (again.records, again.ended, again.best) == (whole.records, whole.ended, whole.best)

    def test_the_loss_scale_does_not_depend_on_where_a_run_was_stopped(self) -> None:
        first, space = MemoryTrialStorage(), plain_space(3, 3, 2)
        crew = ShuffledWorkers(evaluate_unscaled, 3, seed=3)
        crowd = self.run(space, crew, journal=first, scale=None, prefix_key=configuration_prefix)
        assert crowd.scale not in (None, UNIT_SCALE)
        for stop in range(1, len(first.appended), 4):
            later = first.killed_after(stop)
            resumed = self.run(
                space, InProcess(evaluate_unscaled), journal=later, scale=None, prefix_key=configuration_prefix
            )
            if any(each.trial.loss is not None and not each.is_speculative for each in later.earlier):
                assert resumed.scale == crowd.scale


def is_numbered_without_duplicates(records: Sequence[TrialRecord]) -> bool:
    """Return True if trials are numbered from 1, and none is repeated with the same request and seconds."""
    requests = [(each.trial.request, each.trial.request.seconds) for each in records]
    return len(set(requests)) == len(requests) and [each.index for each in records] == [*range(1, len(records) + 1)]


class OptimizerConformance(ResumeTests):
    """Conformance suite for optimizers: set `optimizer` to the class, and `options` to options for the tests.

    An optimizer requests only valid configurations and fidelities. It depends only on its seed and the events it
    receives, ends when a finite space is exhausted, accepts losses in any unit, and resumes after a kill. If it has an
    option `hyperparameters`, the option behaves as `HyperparameterMode` says.
    """

    def test_is_a_frozen_dataclass_with_documented_options(self) -> None:
        check_plugin_class(self.optimizer)
        assert self.optimizer.paper
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(self.configure(), next((each.name for each in fields(self.optimizer)), "field"), 1)

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    @pytest.mark.parametrize("objective", [hash_loss, flaky_loss], ids=["arbitrary", "moody"])
    def test_requests_are_members_with_valid_fidelities(self, space: Space, objective: LossFunction) -> None:
        driven = drive_search(self.start(space), objective, LIMIT)
        assert driven.trials
        for request in driven.requests:
            assert first_exclusion(space, request.configuration) is None
            assert request.fidelity is None or 1 <= request.fidelity < SIZE

    @WORKERS
    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_the_same_seed_and_objective_give_the_same_requests(self, space: Space, workers: int) -> None:
        first, second = (drive_search(self.start(space, seed=3), hash_loss, LIMIT, workers=workers) for _ in range(2))
        assert first == second

    @pytest.mark.parametrize("workers", [1, 8])
    @pytest.mark.parametrize("space", [constrained_space(), conditional_space(), continuous_space()], ids=space_name)
    def test_initial_configurations_are_evaluated_first(self, space: Space, workers: int) -> None:
        initial = sample_members(space, 4)
        driven = drive_search(self.start(space, initial=initial), flaky_loss, 60, workers=workers)
        assert {*driven.requests} >= {*map(Request, initial)}
        assert self.repeats or len(set(driven.requests)) == len(driven.requests)
        if workers == 1:
            assert driven.requests[: len(initial)] == tuple(map(Request, initial))

    def test_another_seed_gives_other_requests(self) -> None:
        if not self.draws:
            pytest.skip("the optimizer draws no random numbers")
        space = plain_space(5, 5, 5)
        runs = {drive_search(self.start(space, seed), hash_loss, 20, seed=seed).requests for seed in range(5)}
        assert len(runs) > 1

    @WORKERS
    @pytest.mark.parametrize("space", FINITE, ids=space_name)
    @pytest.mark.parametrize("objective", [hash_loss, flaky_loss, failing_loss], ids=["arbitrary", "moody", "failing"])
    def test_ends_when_a_finite_space_is_exhausted(self, space: Space, objective: LossFunction, workers: int) -> None:
        assert drive_search(self.start(space), objective, EXHAUSTIVE_TRIALS, workers=workers).returned

    @WORKERS
    @pytest.mark.parametrize("space", FINITE, ids=space_name)
    @pytest.mark.parametrize("size", [1, 7, 101])
    def test_runs_on_few_rows(self, space: Space, size: int, workers: int) -> None:
        assert drive_search(self.start(space, size=size), flaky_loss, EXHAUSTIVE_TRIALS, workers=workers).returned

    def test_a_giant_space_needs_little_memory(self) -> None:
        space = plain_space(*[10] * 20)
        drive_search(self.start(space, seed=1), hash_loss, 1)  # warm up: load modules and fill caches
        tracemalloc.start()
        driven = drive_search(self.start(space), hash_loss, self.giant)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(driven.trials) == self.giant
        assert peak < 16 * 2**20

    def test_a_failing_objective_never_stops_a_run(self) -> None:
        driven = drive_search(self.start(continuous_space()), failing_loss, 10)
        space = plain_space(5, 5, 5)
        assert driven.trials
        assert len(drive_search(self.start(space), failing_loss, 100).trials) == 100

    def test_an_empty_space_is_exhausted_at_once(self) -> None:
        empty = make_space("empty", *plain_space(2).stages, constraints=(forbid(BranchTest("s0", ("a0", "a1"))),))
        driven = drive_search(self.start(empty), hash_loss, 10)
        assert driven.returned
        assert not driven.trials

    @WORKERS
    @pytest.mark.parametrize("space", FINITE, ids=space_name)
    @pytest.mark.parametrize("objective", [hash_loss, failing_loss], ids=["arbitrary", "failing"])
    def test_a_finished_search_has_evaluated_every_pipeline_once_on_all_rows(
        self, space: Space, objective: LossFunction, workers: int
    ) -> None:
        self.skip_unless_option("hyperparameters")
        tree = DiscrepancyTree(Structures(space))
        search = self.start(space, hyperparameters="default")
        requests = drive_search(search, objective, EXHAUSTIVE_TRIALS, workers=workers).requests
        assert len(set(requests)) == len(requests)
        whole = [request.configuration for request in requests if request.fidelity is None]
        assert sorted(map(str, whole)) == sorted(str(tree.complete(leaf)) for leaf in tree.iter_leaves())

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_sampled_hyperparameters_give_members(self, space: Space) -> None:
        self.skip_unless_option("hyperparameters")
        driven = drive_search(self.start(space, hyperparameters="sample"), hash_loss, LIMIT)
        assert driven.trials
        assert driven == drive_search(self.start(space, hyperparameters="sample"), hash_loss, LIMIT)
        for request in driven.requests:
            assert first_exclusion(space, request.configuration) is None

    @pytest.mark.parametrize("rule", ["sample", "default"])
    def test_hyperparameters_follow_the_declared_rule(self, rule: str) -> None:
        self.skip_unless_option("hyperparameters")
        rates = [hyperparameter(f"e.{each}.rate", Real(0.0, 1.0), 0.5, key="e.rate") for each in "fgh"]
        space = make_space("rates", choice("s", "a", "b"), choice("e", *map(branch, "fgh", rates)))
        optimizer = self.configure(hyperparameters=rule)
        seen: dict[object, set[object]] = {}
        for request in drive_search(self.start(space, hyperparameters=rule), hash_loss, LIMIT).requests:
            configuration = request.configuration
            seen.setdefault((configuration["s"], configuration["e"]), set()).add(configuration["e.rate"])
        match hyperparameter_mode(space, optimizer):
            case HyperparameterMode.DEFAULT:
                assert set().union(*seen.values()) == {0.5}
            case HyperparameterMode.ONCE:
                assert all(len(values) == 1 for values in seen.values())
                assert len(set().union(*seen.values())) == len(seen) == 6
            case HyperparameterMode.SEARCHED:
                assert all(len(values) > 10 for values in seen.values())
        assert hyperparameter_mode(plain_space(2, 2), optimizer) is HyperparameterMode.SEARCHED, "no hyperparameters"

    @pytest.mark.parametrize("times", [1000, 1_000_000, 3])
    def test_the_unit_of_losses_changes_no_request(self, times: int) -> None:
        def check_case(space: Space, seed: int) -> None:
            ones = drive_search(self.start(space, seed), stepped_loss_with_failures(1), LIMIT)
            many = drive_search(
                self.start(space, seed), stepped_loss_with_failures(times), LIMIT, scale=LossScale(0.0, times)
            )
            assert ones.requests == many.requests

        self.check_property(check_case, 1 / 3, space=spaces(), seed=st.integers(0, 9))

    def test_the_unit_changes_no_request_if_the_first_success_sets_the_scale(self) -> None:
        def check_case(space: Space, seed: int, first: float) -> None:
            steps = int(first * 1024) + 1
            ones, many = (LossScale.centered_on(steps / 1024 * times) for times in (1, 1000))
            for offset in (0, -1024):  # losses that can be negative, too
                one = drive_search(self.start(space, seed), stepped_loss_with_failures(1, offset), LIMIT, scale=ones)
                other = drive_search(
                    self.start(space, seed), stepped_loss_with_failures(1000, offset), LIMIT, scale=many
                )
                assert one.requests == other.requests

        self.check_property(check_case, 1 / 2, space=spaces(), seed=st.integers(0, 9), first=st.floats(0.001, 1000))

    @pytest.mark.parametrize(
        "scale", [LossScale(0.0, 80.0), LossScale(0.0, 43.0), LossScale.centered_on(42.0), UNIT_SCALE], ids=str
    )
    def test_failures_are_trained_on_all_rows_no_more_often_than_at_random(self, scale: LossScale) -> None:
        """Check that pipelines that fail, three of eight, are not preferred on any scale; losses are around 40."""

        def error(request: Request) -> float | None:
            fails = int(hash_loss(Request(request.configuration)) * 8) < 3
            return None if fails else 40 + 6 * hash_loss(request)

        def failed(seed: int) -> int:
            """Return how many of ten trials on all rows fail, after the `opening` first ones."""
            full: list[bool] = []

            def answer(request: Request) -> float | None:
                if len(full) == self.opening + 10:
                    raise StopSearchError
                loss = error(request)
                if request.fidelity is None:
                    full.append(loss is None)
                return loss

            with suppress(StopSearchError):
                drive_search(self.start(plain_space(5, 5, 5), seed), answer, 500, scale=scale, seed=seed)
            return sum(full[self.opening :])

        assert sum(map(failed, range(5))) <= self.failures, "of 50"


class StopSearchError(Exception):
    """An exception that ends a search when a test has seen enough."""


def stepped_loss_with_failures(scale: int, offset: int = 0) -> LossFunction:
    """Return a loss function with exact steps of `scale` / 1024 from 0 to 2 `scale`, of which a third fail."""

    def loss(request: Request) -> float | None:
        number = int(hash_loss(request) * 3072)
        return None if number < 1024 else (number - 1024 + offset) / 1024 * scale

    return loss


__getattr__ = make_module_getattr(__name__, {"quantized_loss_function": "stepped_loss_with_failures"})
