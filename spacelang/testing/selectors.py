"""Conformance suite for selectors, which choose a pipeline in each of several calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from numpy.random import default_rng

from spacelang.bench.simulated import Simulated
from spacelang.ir.asking import Ask, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import Is
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._selection import Selection, Selector, unpenalised
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import LossFunction, answered, arbitrary, drive, failing, moody
from spacelang.testing.journals import Heard, MemoryJournal
from spacelang.testing.searching import PLENTY, SIZE, WORKERS, ran, timed
from spacelang.testing.small_spaces import forbid, made, plain, spaces
from spacelang.testing.suite import Suite

Theta = Callable[[Pipeline], int]
"""A function from a pipeline to (an index of) its hyperparameters."""


def first(_: Pipeline) -> int:
    """Return the hyperparameters of the first call, the same for every pipeline."""
    return 0


def second(_: Pipeline) -> int:
    """Return other hyperparameters."""
    return 1


@dataclass(frozen=True)
class SelectorCall:
    """The arguments of one call of a selector: hyperparameters, penalty and limits."""

    theta: Theta = first
    iterations: int | None = 2
    start: Pipeline | None = None
    seconds: float | None = None
    penalty: Callable[[Trial], float] = unpenalised
    forgotten: tuple[Pipeline, ...] = ()
    """Pipelines that the selector must forget before the call."""


@dataclass
class Calls:
    """Consecutive calls of one selector in one search, with the result and the trials of each."""

    space: Space
    seed: int = 0
    found: list[Pipeline] = field(default_factory=list)
    trials: list[list[Trial]] = field(default_factory=list)
    tree: DiscrepancyTree = field(init=False)

    def __post_init__(self) -> None:
        self.tree = DiscrepancyTree(Structures(self.space))

    def configuration(self, pipeline: Pipeline, theta: Theta = first) -> Configuration:
        """Return the configuration of a pipeline with its hyperparameters."""
        return Configuration({**self.tree.complete(pipeline), "theta": theta(pipeline)})

    def search(self, selector: Selector, calls: Sequence[SelectorCall]) -> Search:
        """Return a search that consists of the calls."""
        room = (yield Ask()).room
        for number, call in enumerate(calls):
            for pipeline in call.forgotten:
                selector.forget(pipeline)
            selection = Selection(
                self.tree,
                partial(self.configuration, theta=call.theta),
                SIZE,
                default_rng([self.seed, number]),
                call.penalty,
                room,
            )
            asking = selector.select(selection, call.iterations, call.start, call.seconds)
            self.trials.append([])
            out = 0
            try:
                ask = next(asking)
                while True:
                    out += len(ask.begin)
                    told = yield ask
                    room = told.room
                    if told.ended is not None:
                        out -= 1
                        self.trials[-1].append(told.ended)
                    ask = asking.send(told)
            except StopIteration as end:
                assert not out, "no trial is running when the selector returns"
                self.found.append(end.value)

    def requests(self, number: int) -> list[Request]:
        """Return the requests of one call."""
        return [trial.request for trial in self.trials[number]]

    def full(self, number: int) -> dict[Pipeline, Trial]:
        """Return the trials of one call on all rows, by pipeline."""
        return {self.pipeline(trial.request): trial for trial in self.trials[number] if trial.request.fidelity is None}

    def pipeline(self, request: Request) -> Pipeline:
        """Return the pipeline of a request."""
        values = {key: value for key, value in request.configuration.items() if key != "theta"}
        return self.tree.encode(Configuration(values)).pipeline


def in_steps(request: Request) -> float:
    """Return a loss from 0 to 1/2 whose sum with another such number is exact in floating point."""
    return int(arbitrary(request) * 512) / 1024


def burden(trial: Trial) -> float:
    """Return a penalty of the same kind, from a different hash."""
    return in_steps(Request(Configuration({**trial.request.configuration, "other": True}), trial.request.fidelity))


class SelectorConformance(Suite):
    """Conformance suite for selectors: the method `selector` creates a new one.

    A selector returns the best pipeline it has seen, uses only trials at the present hyperparameters, and has no
    running trial when it returns. Set `one_by_one` if it does the same with any number of workers.
    """

    one_by_one: ClassVar[bool] = False

    def selector(self) -> Selector:
        """Create the selector under test."""
        raise NotImplementedError

    def call(
        self,
        space: Space,
        *calls: SelectorCall,
        seed: int = 0,
        objective: LossFunction = arbitrary,
        workers: int = 1,
        selector: Selector | None = None,
    ) -> Calls:
        """Run calls of a selector, by default a new one, and return their results."""
        made_of = Calls(space, seed)
        search = made_of.search(self.selector() if selector is None else selector, calls)
        assert drive(search, objective, 4 * PLENTY, workers=workers).ended, "not every call returned"
        return made_of

    @pytest.mark.parametrize("objective", [arbitrary, moody, failing], ids=["arbitrary", "moody", "failing"])
    def test_returns_the_best_that_was_evaluated_on_all_rows(self, objective: LossFunction) -> None:
        def law(space: Space, seed: int, iterations: int, workers: int) -> None:
            assume(has_leaves(space))
            made_of = self.call(
                space, SelectorCall(iterations=iterations), seed=seed, objective=objective, workers=workers
            )
            (found,), full = made_of.found, made_of.full(0)
            assert made_of.tree.is_leaf(found)
            assert made_of.trials[0]
            successes = [trial.loss for trial in full.values() if trial.loss is not None]
            if successes:
                assert full[found].loss == min(successes)

        self.holds(
            law, space=spaces(), seed=st.integers(0, 9), iterations=st.integers(1, 4), workers=st.sampled_from([1, 3])
        )

    @WORKERS
    def test_the_same_seed_and_objective_give_the_same_requests(self, workers: int) -> None:
        space, calls = plain(3, 2, 3), (SelectorCall(), SelectorCall(iterations=3), SelectorCall(second))
        once, again = (self.call(space, *calls, workers=workers, objective=moody) for _ in range(2))
        assert (once.found, once.trials) == (again.found, again.trials)

    def test_workers_make_no_difference_where_one_trial_is_wanted_after_the_other(self) -> None:
        def law(space: Space, seed: int, workers: int, changed: int) -> None:
            assume(has_leaves(space))
            calls = (SelectorCall(), SelectorCall(theta_of(changed), iterations=3), SelectorCall(iterations=1))
            alone, crowd = (self.call(space, *calls, seed=seed, objective=moody, workers=each) for each in (1, workers))
            assert (crowd.found, crowd.trials) == (alone.found, alone.trials)

        if not self.one_by_one:
            pytest.skip("the selector requests several trials at once")
        self.holds(law, space=spaces(), seed=st.integers(0, 9), workers=st.integers(2, 8), changed=st.integers(0, 3))

    def test_what_is_known_is_not_asked_for_again_whatever_has_changed_beside_it(self) -> None:
        def law(space: Space, seed: int, changed: int, workers: int) -> None:
            assume(has_leaves(space))
            theta = theta_of(changed)
            calls = (
                SelectorCall(iterations=3),
                SelectorCall(theta, iterations=3),
                SelectorCall(iterations=3),
                SelectorCall(theta, iterations=3),
            )
            made_of = self.call(space, *calls, seed=seed, objective=moody, workers=workers)
            requests = [request for number in range(4) for request in made_of.requests(number)]
            assert len(set(requests)) == len(requests)
            for number, call in enumerate(calls):
                present = {made_of.configuration(leaf, call.theta) for leaf in made_of.tree.leaves_in_order()}
                assert {request.configuration for request in made_of.requests(number)} <= present

        self.holds(
            law,
            space=spaces(),
            seed=st.integers(0, 9),
            changed=st.integers(0, 3),
            workers=st.sampled_from([1, 3]),
        )

    def test_what_came_of_other_hyperparameters_is_not_known_of_these(self) -> None:
        def law(space: Space, seed: int, before: int, theta: int) -> None:
            assume(has_leaves(space))
            selector = self.selector()
            self.call(space, SelectorCall(second, iterations=before), objective=moody, selector=selector)
            asked = [
                self.call(
                    space, SelectorCall(theta_of(theta, first, lambda _: 2)), seed=seed, objective=moody, selector=each
                )
                for each in (selector, self.selector())
            ]
            assert [asked[0].found, asked[0].trials] == [asked[1].found, asked[1].trials]

        self.holds(law, space=spaces(), seed=st.integers(0, 9), before=st.integers(1, 3), theta=st.integers(0, 3))

    def test_forgets_what_it_is_told_to_and_nothing_else(self) -> None:
        def law(space: Space, seed: int, place: int) -> None:
            assume(has_leaves(space))
            tree = DiscrepancyTree(Structures(space))
            leaves = [*tree.leaves_in_order()]
            leaf = leaves[place % len(leaves)]
            one = self.call(
                space, SelectorCall(iterations=None), SelectorCall(iterations=None, forgotten=(leaf,)), seed=seed
            )
            assert one.full(1).keys() == {leaf}
            assert {one.pipeline(request) for request in {*one.requests(0)} & {*one.requests(1)}} == {leaf}
            selector = self.selector()
            self.call(space, SelectorCall(), selector=selector)
            fresh, emptied = (
                self.call(space, SelectorCall(forgotten=(*leaves,)), seed=seed, selector=each)
                for each in (self.selector(), selector)
            )
            assert [emptied.found, emptied.trials] == [fresh.found, fresh.trials]

        self.holds(law, space=spaces(), seed=st.integers(0, 9), place=st.integers(0, 99))

    def test_a_call_without_end_evaluates_every_pipeline_and_the_next_one_none(self) -> None:
        def law(space: Space, seed: int, workers: int) -> None:
            assume(has_leaves(space))
            calls = (
                SelectorCall(),
                SelectorCall(iterations=None),
                SelectorCall(iterations=None),
                SelectorCall(iterations=1),
            )
            made_of = self.call(space, *calls, seed=seed, objective=moody, workers=workers)
            assert len(made_of.full(0)) + len(made_of.full(1)) == made_of.tree.leaves
            assert made_of.full(2) == made_of.full(3) == {}

        self.holds(law, space=spaces(), seed=st.integers(0, 9), workers=st.sampled_from([1, 3]))

    def test_a_penalty_is_as_good_as_a_loss_that_is_larger_by_it(self) -> None:
        def augmented(request: Request) -> float:
            return in_steps(request) + burden(answered(request, 0.0))

        def law(space: Space, seed: int, workers: int) -> None:
            assume(has_leaves(space))
            bearing = self.call(
                space,
                SelectorCall(penalty=burden),
                SelectorCall(iterations=3, penalty=burden),
                seed=seed,
                objective=in_steps,
                workers=workers,
            )
            larger = self.call(
                space, SelectorCall(), SelectorCall(iterations=3), seed=seed, objective=augmented, workers=workers
            )
            assert bearing.found == larger.found
            assert [bearing.requests(number) for number in (0, 1)] == [larger.requests(number) for number in (0, 1)]

        self.holds(law, space=spaces(), seed=st.integers(0, 9), workers=st.sampled_from([1, 3]))

    def test_another_penalty_makes_another_one_the_best_without_a_trial(self) -> None:
        def law(space: Space, seed: int) -> None:
            assume(has_leaves(space))
            call = SelectorCall(iterations=None)
            made_of = self.call(space, call, replace(call, penalty=burden), objective=in_steps, seed=seed)
            assert not made_of.full(1)
            numbers = {
                leaf: trial.loss + burden(trial) for leaf, trial in made_of.full(0).items() if trial.loss is not None
            }
            assert numbers[made_of.found[1]] == min(numbers.values())

        self.holds(law, space=spaces(), seed=st.integers(0, 9))

    def test_a_start_that_is_known_is_never_better_than_what_it_returns(self) -> None:
        def law(space: Space, seed: int) -> None:
            assume(has_leaves(space))
            calls = Calls(space)
            best, *_ = sorted(
                calls.tree.leaves_in_order(), key=lambda leaf: arbitrary(Request(calls.configuration(leaf)))
            )
            made_of = self.call(space, SelectorCall(iterations=None), SelectorCall(iterations=1, start=best), seed=seed)
            assert made_of.found == [best, best]

        self.holds(law, space=spaces(), seed=st.integers(0, 9))

    @WORKERS
    def test_what_it_was_told_before_it_was_killed_it_is_told_again(self, workers: int) -> None:
        space, calls = plain(3, 2, 3), (SelectorCall(), SelectorCall(second, iterations=3), SelectorCall(iterations=3))

        def session(journal: MemoryJournal, heard: Heard) -> Calls:
            made_of = Calls(space)
            search = made_of.search(self.selector(), calls)
            ran(search, Simulated(timed, workers=workers), PLENTY, journal=journal, heard=heard)
            return made_of

        first, told = MemoryJournal(), Heard()
        whole = session(first, told)
        for stop in range(1, len(first.appended), 7):
            again = Heard()
            resumed = session(first.cut(stop), again)
            before = told.until(stop)
            assert again.tolds[: len(before)] == before
            assert workers > 1 or resumed.found == whole.found

    @WORKERS
    def test_stops_after_so_many_seconds(self, workers: int) -> None:
        for seconds in (0.5, 1.0, 7.0, 20.0):
            made_of = self.call(plain(4, 4, 4), SelectorCall(iterations=None, seconds=seconds), workers=workers)
            told = len(made_of.trials[0])
            assert seconds <= told <= seconds + max(workers, 3), "trials take one second, and started ones finish"

    @pytest.mark.parametrize(
        "call",
        [
            SelectorCall(iterations=0),
            SelectorCall(iterations=-1),
            SelectorCall(seconds=0.0),
            SelectorCall(seconds=float("nan")),
        ],
        ids=["zero iterations", "negative iterations", "zero seconds", "nan seconds"],
    )
    def test_a_call_that_can_do_nothing_is_refused(self, call: SelectorCall) -> None:
        with pytest.raises(ValueError, match=r"`(iterations|seconds)` is"):
            self.call(plain(2, 2), call)

    def test_an_empty_space_and_a_start_beyond_it_are_refused(self) -> None:
        space = plain(2)
        empty = made("empty", *space.stages, constraints=(forbid(Is("s0", ("a0", "a1"))),))
        with pytest.raises(ValueError, match="empty"):
            self.call(empty, SelectorCall())
        with pytest.raises(ValueError, match="`start` is"):
            self.call(space, SelectorCall(start=(7,)))


def has_leaves(space: Space) -> bool:
    """Return True if the space has a pipeline."""
    return DiscrepancyTree(Structures(space)).leaves > 0


def theta_of(changed: int, usual: Theta = first, other: Theta = second) -> Theta:
    """Return hyperparameters that differ for a part of the pipelines.

    A pipeline gets the `other` ones if the sum of its indices modulo 3 is less than `changed`.
    """
    return lambda pipeline: (other if sum(pipeline) % 3 < changed else usual)(pipeline)
