"""Conformance suite for selectors, which choose a pipeline in each of several calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from numpy.random import default_rng

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.deprecation import make_module_getattr
from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import BranchTest
from spacelang.ir.search_protocol import Ask, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._selection import SelectionProblem, Selector, zero_penalty
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import LossFunction, drive_search, failing_loss, flaky_loss, hash_loss, make_trial
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import (
    EXHAUSTIVE_TRIALS,
    SIZE,
    WORKERS,
    ConformanceSuite,
    evaluate_with_varied_cost,
    run_search,
)
from spacelang.testing.small_spaces import forbid, make_space, plain_space, spaces

Theta = Callable[[Pipeline], int]  # A function from a pipeline to (an index of) its hyperparameters


def theta_always_zero(_: Pipeline) -> int:
    """Return 0 as the hyperparameters of any pipeline; calls use these unless a test changes them."""
    return 0


def theta_always_one(_: Pipeline) -> int:
    """Return 1 as the hyperparameters of any pipeline, different from those of `theta_always_zero`."""
    return 1


@dataclass(frozen=True)
class SelectorCallArguments:
    """The arguments of one call of a selector, and the pipelines that it must forget before the call (`forgotten`)."""

    theta: Theta = theta_always_zero
    iterations: int | None = 2
    start: Pipeline | None = None
    seconds: float | None = None
    penalty: Callable[[Trial], float] = zero_penalty
    forgotten: tuple[Pipeline, ...] = ()  # Pipelines that the selector must forget before the call


ONE, THREE, EVERY = (SelectorCallArguments(iterations=iterations) for iterations in (1, 3, None))
SEEDS, FEW_WORKERS = st.integers(0, 9), st.sampled_from([1, 3])


@dataclass
class SelectorCalls:
    """Consecutive calls of one selector in one search, with the result and the trials of each."""

    space: Space
    seed: int = 0
    results: list[Pipeline] = field(default_factory=list)
    trials: list[list[Trial]] = field(default_factory=list)
    tree: DiscrepancyTree = field(init=False)

    def __post_init__(self) -> None:
        self.tree = DiscrepancyTree(Structures(self.space))

    def configuration(self, pipeline: Pipeline, theta: Theta = theta_always_zero) -> Configuration:
        """Return the configuration of a pipeline with its hyperparameters."""
        return Configuration({**self.tree.complete(pipeline), "theta": theta(pipeline)})

    def search(self, selector: Selector, calls: Sequence[SelectorCallArguments]) -> Search:
        """Return a search that makes the calls one after the other, and records their results and trials."""
        room = (yield Ask()).idle_workers
        for number, call in enumerate(calls):
            for pipeline in call.forgotten:
                selector.forget(pipeline)
            configuration, rng = partial(self.configuration, theta=call.theta), default_rng([self.seed, number])
            selection = SelectionProblem(self.tree, configuration, SIZE, rng, call.penalty, room)
            asking = selector.select(selection, call.iterations, call.start, call.seconds)
            self.trials.append([])
            out = 0
            try:
                ask = next(asking)
                while True:
                    out += len(ask.requests)
                    event = yield ask
                    room = event.idle_workers
                    if event.finished is not None:
                        out -= 1
                        self.trials[-1].append(event.finished)
                    ask = asking.send(event)
            except StopIteration as end:
                assert not out, "no trial is running when the selector returns"
                self.results.append(end.value)

    def requests(self, number: int) -> list[Request]:
        """Return the requests of a call, counted from 0."""
        return [trial.request for trial in self.trials[number]]

    def full_trials_of_call(self, number: int) -> dict[Pipeline, Trial]:
        """Return the trials on all rows of a call, counted from 0, by pipeline."""
        return {self.pipeline(trial.request): trial for trial in self.trials[number] if trial.request.fidelity is None}

    def pipeline(self, request: Request) -> Pipeline:
        """Return the pipeline of a request."""
        values = {key: value for key, value in request.configuration.items() if key != "theta"}
        return self.tree.encode(Configuration(values)).pipeline


def exactly_summable_loss(request: Request) -> float:
    """Return a loss from 0 to 1/2 whose sum with another such number is exact in floating point."""
    return int(hash_loss(request) * 512) / 1024


def exactly_summable_penalty(trial: Trial) -> float:
    """Return a penalty from 0 to 1/2 that is exactly summable with `exactly_summable_loss`, from another hash."""
    other = Configuration({**trial.request.configuration, "other": True})
    return exactly_summable_loss(Request(other, trial.request.fidelity))


class SelectorConformance(ConformanceSuite):
    """Conformance suite for selectors: the method `selector` creates a new one.

    A selector returns the best pipeline it has seen, uses only trials at the present hyperparameters, and has no
    running trial when it returns. Set `one_by_one` if it does the same with any number of workers.
    """

    one_by_one: ClassVar[bool] = False

    def selector(self) -> Selector:
        """Create the selector under test."""
        raise NotImplementedError

    def run_calls(
        self,
        space: Space,
        *calls: SelectorCallArguments,
        seed: int = 0,
        objective: LossFunction = hash_loss,
        workers: int = 1,
        selector: Selector | None = None,
    ) -> SelectorCalls:
        """Run calls of a selector, by default a new one, and return their results."""
        made_of = SelectorCalls(space, seed)
        search = made_of.search(self.selector() if selector is None else selector, calls)
        assert drive_search(search, objective, 4 * EXHAUSTIVE_TRIALS, workers=workers).returned, (
            "some calls of the selector did not return"
        )
        return made_of

    @pytest.mark.parametrize("objective", [hash_loss, flaky_loss, failing_loss], ids=["arbitrary", "moody", "failing"])
    def test_it_returns_the_best_pipeline_evaluated_on_all_rows(self, objective: LossFunction) -> None:
        def check_case(space: Space, seed: int, iterations: int, workers: int) -> None:
            assume(has_pipelines(space))
            call = SelectorCallArguments(iterations=iterations)
            made_of = self.run_calls(space, call, seed=seed, objective=objective, workers=workers)
            (found,), full = made_of.results, made_of.full_trials_of_call(0)
            assert made_of.tree.is_leaf(found)
            assert made_of.trials[0]
            successes = [trial.loss for trial in full.values() if trial.loss is not None]
            if successes:
                assert full[found].loss == min(successes)

        self.check_property(check_case, space=spaces(), seed=SEEDS, iterations=st.integers(1, 4), workers=FEW_WORKERS)

    @WORKERS
    def test_the_same_seed_and_objective_give_the_same_requests(self, workers: int) -> None:
        calls = (SelectorCallArguments(), THREE, SelectorCallArguments(theta_always_one))
        space = plain_space(3, 2, 3)
        once, again = (self.run_calls(space, *calls, workers=workers, objective=flaky_loss) for _ in range(2))
        assert (once.results, once.trials) == (again.results, again.trials)

    def test_a_sequential_selector_ignores_the_number_of_workers(self) -> None:
        def check_case(space: Space, seed: int, workers: int, changed: int) -> None:
            assume(has_pipelines(space))
            calls = (SelectorCallArguments(), replace(THREE, theta=theta_differing_for_some_pipelines(changed)), ONE)
            alone, crowd = (
                self.run_calls(space, *calls, seed=seed, objective=flaky_loss, workers=each) for each in (1, workers)
            )
            assert (crowd.results, crowd.trials) == (alone.results, alone.trials)

        if not self.one_by_one:
            pytest.skip("the selector requests several trials at once")
        self.check_property(
            check_case, space=spaces(), seed=SEEDS, workers=st.integers(2, 8), changed=st.integers(0, 3)
        )

    def test_known_trials_are_never_requested_again(self) -> None:
        def check_case(space: Space, seed: int, changed: int, workers: int) -> None:
            assume(has_pipelines(space))
            theta = theta_differing_for_some_pipelines(changed)
            calls = (THREE, replace(THREE, theta=theta), THREE, replace(THREE, theta=theta))
            made_of = self.run_calls(space, *calls, seed=seed, objective=flaky_loss, workers=workers)
            requests = [request for number in range(4) for request in made_of.requests(number)]
            assert len(set(requests)) == len(requests)
            for number, call in enumerate(calls):
                present = {made_of.configuration(leaf, call.theta) for leaf in made_of.tree.iter_leaves()}
                assert {request.configuration for request in made_of.requests(number)} <= present

        self.check_property(check_case, space=spaces(), seed=SEEDS, changed=st.integers(0, 3), workers=FEW_WORKERS)

    def test_trials_with_other_hyperparameters_have_no_influence(self) -> None:
        def check_case(space: Space, seed: int, before: int, theta: int) -> None:
            assume(has_pipelines(space))
            selector, earlier = self.selector(), SelectorCallArguments(theta_always_one, iterations=before)
            self.run_calls(space, earlier, objective=flaky_loss, selector=selector)
            call = SelectorCallArguments(theta_differing_for_some_pipelines(theta, theta_always_zero, lambda _: 2))
            asked = [
                self.run_calls(space, call, seed=seed, objective=flaky_loss, selector=each)
                for each in (selector, self.selector())
            ]
            assert [asked[0].results, asked[0].trials] == [asked[1].results, asked[1].trials]

        self.check_property(check_case, space=spaces(), seed=SEEDS, before=st.integers(1, 3), theta=st.integers(0, 3))

    def test_forget_removes_only_the_given_pipelines(self) -> None:
        def check_case(space: Space, seed: int, place: int) -> None:
            assume(has_pipelines(space))
            leaves = [*DiscrepancyTree(Structures(space)).iter_leaves()]
            leaf = leaves[place % len(leaves)]
            one = self.run_calls(space, EVERY, replace(EVERY, forgotten=(leaf,)), seed=seed)
            assert one.full_trials_of_call(1).keys() == {leaf}
            assert {one.pipeline(request) for request in {*one.requests(0)} & {*one.requests(1)}} == {leaf}
            selector = self.selector()
            self.run_calls(space, SelectorCallArguments(), selector=selector)
            fresh, emptied = (
                self.run_calls(space, SelectorCallArguments(forgotten=(*leaves,)), seed=seed, selector=each)
                for each in (self.selector(), selector)
            )
            assert [emptied.results, emptied.trials] == [fresh.results, fresh.trials]

        self.check_property(check_case, space=spaces(), seed=SEEDS, place=st.integers(0, 99))

    def test_unlimited_calls_evaluate_every_pipeline_once(self) -> None:
        def check_case(space: Space, seed: int, workers: int) -> None:
            assume(has_pipelines(space))
            calls = (SelectorCallArguments(), EVERY, EVERY, ONE)
            made_of = self.run_calls(space, *calls, seed=seed, objective=flaky_loss, workers=workers)
            assert len(made_of.full_trials_of_call(0)) + len(made_of.full_trials_of_call(1)) == made_of.tree.leaf_count
            assert made_of.full_trials_of_call(2) == made_of.full_trials_of_call(3) == {}

        self.check_property(check_case, space=spaces(), seed=SEEDS, workers=FEW_WORKERS)

    def test_a_penalty_has_the_effect_of_an_equally_larger_loss(self) -> None:
        def augmented(request: Request) -> float:
            return exactly_summable_loss(request) + exactly_summable_penalty(make_trial(request, 0.0))

        def check_case(space: Space, seed: int, workers: int) -> None:
            assume(has_pipelines(space))
            calls = SelectorCallArguments(), THREE
            penalized = [replace(call, penalty=exactly_summable_penalty) for call in calls]
            same = exactly_summable_loss
            bearing = self.run_calls(space, *penalized, seed=seed, objective=same, workers=workers)
            larger = self.run_calls(space, *calls, seed=seed, objective=augmented, workers=workers)
            assert bearing.results == larger.results
            assert [bearing.requests(number) for number in (0, 1)] == [larger.requests(number) for number in (0, 1)]

        self.check_property(check_case, space=spaces(), seed=SEEDS, workers=FEW_WORKERS)

    def test_a_new_penalty_changes_the_best_without_new_trials(self) -> None:
        def check_case(space: Space, seed: int) -> None:
            assume(has_pipelines(space))
            calls = EVERY, replace(EVERY, penalty=exactly_summable_penalty)
            made_of = self.run_calls(space, *calls, objective=exactly_summable_loss, seed=seed)
            assert not made_of.full_trials_of_call(1)
            numbers = {
                leaf: trial.loss + exactly_summable_penalty(trial)
                for leaf, trial in made_of.full_trials_of_call(0).items()
                if trial.loss is not None
            }
            assert numbers[made_of.results[1]] == min(numbers.values())

        self.check_property(check_case, space=spaces(), seed=SEEDS)

    def test_the_result_is_never_worse_than_a_known_start(self) -> None:
        def check_case(space: Space, seed: int) -> None:
            assume(has_pipelines(space))
            calls = SelectorCalls(space)
            best, *_ = sorted(calls.tree.iter_leaves(), key=lambda leaf: hash_loss(Request(calls.configuration(leaf))))
            made_of = self.run_calls(space, EVERY, replace(ONE, start=best), seed=seed)
            assert made_of.results == [best, best]

        self.check_property(check_case, space=spaces(), seed=SEEDS)

    @WORKERS
    def test_a_resumed_run_replays_the_same_events(self, workers: int) -> None:
        calls = (SelectorCallArguments(), replace(THREE, theta=theta_always_one), THREE)

        def session(journal: MemoryTrialStorage, heard: EventLog) -> SelectorCalls:
            made_of = SelectorCalls(plain_space(3, 2, 3))
            search = made_of.search(self.selector(), calls)
            crew = SimulatedExecutor(evaluate_with_varied_cost, workers=workers)
            run_search(search, crew, EXHAUSTIVE_TRIALS, journal=journal, heard=heard)
            return made_of

        first, log = MemoryTrialStorage(), EventLog()
        whole = session(first, log)
        for stop in range(1, len(first.appended), 7):
            again = EventLog()
            resumed = session(first.killed_after(stop), again)
            before = log.events_of_first_trials(stop)
            assert again.events[: len(before)] == before
            assert workers > 1 or resumed.results == whole.results

    @WORKERS
    def test_it_stops_after_its_seconds(self, workers: int) -> None:
        for seconds in (0.5, 1.0, 7.0, 20.0):
            made_of = self.run_calls(plain_space(4, 4, 4), replace(EVERY, seconds=seconds), workers=workers)
            finished_count = len(made_of.trials[0])
            assert seconds <= finished_count <= seconds + max(workers, 3), (
                "trials take one second, and started ones finish"
            )

    @pytest.mark.parametrize(
        "call",
        [
            SelectorCallArguments(iterations=0),
            SelectorCallArguments(iterations=-1),
            SelectorCallArguments(seconds=0.0),
            SelectorCallArguments(seconds=float("nan")),
        ],
        ids=["zero iterations", "negative iterations", "zero seconds", "nan seconds"],
    )
    def test_a_call_with_an_invalid_limit_is_refused(self, call: SelectorCallArguments) -> None:
        with pytest.raises(ValueError, match=r"`(iterations|seconds)` is"):
            self.run_calls(plain_space(2, 2), call)

    def test_an_empty_space_and_an_invalid_start_are_refused(self) -> None:
        space = plain_space(2)
        empty = make_space("empty", *space.stages, constraints=(forbid(BranchTest("s0", ("a0", "a1"))),))
        with pytest.raises(ValueError, match="empty"):
            self.run_calls(empty, SelectorCallArguments())
        with pytest.raises(ValueError, match="`start` is"):
            self.run_calls(space, SelectorCallArguments(start=(7,)))


def has_pipelines(space: Space) -> bool:
    """Return True if the space has a pipeline."""
    return DiscrepancyTree(Structures(space)).leaf_count > 0


def theta_differing_for_some_pipelines(
    changed: int, usual: Theta = theta_always_zero, other: Theta = theta_always_one
) -> Theta:
    """Return a function that gives `other` hyperparameters to some pipelines and `usual` ones to the rest.

    A pipeline gets `other` ones if the sum of its indices modulo 3 is less than `changed`.
    """
    return lambda pipeline: (other if sum(pipeline) % 3 < changed else usual)(pipeline)


__getattr__ = make_module_getattr(__name__, {"CallArguments": "SelectorCallArguments", "has_leaves": "has_pipelines"})
