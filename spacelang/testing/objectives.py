"""Conformance suite for objectives."""

import math
import pickle
from itertools import pairwise
from typing import ClassVar

import cloudpickle
import numpy as np
import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import LossScale, Request, Status, Trial
from spacelang.optimizers.random import Random
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import InputError
from spacelang.runtime.objective import (
    FixedFidelitySetObjective,
    Objective,
    identifying_settings,
    prefix_key_function,
    recorded_columns,
)
from spacelang.runtime.search_loop import run
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.testing.search_tests import ConformanceSuite, TickingClock
from spacelang.testing.simulated_workers import ShuffledWorkers


class ObjectiveConformance(ConformanceSuite):
    """Conformance suite for objectives.

    The method `objective` creates a new one, and `space` is the space of its configurations. `evaluate` returns a trial
    for every configuration, also for a failing one. Apart from costs, the trial is the same every time and in every
    process. The suite evaluates `examples` configurations.
    """

    space: ClassVar[Space]
    fidelities: ClassVar[tuple[int, ...]] = ()  # Some available fidelities below the largest one
    failing: ClassVar[tuple[Configuration, ...]] = ()  # Configurations that fail; they need not belong to the space

    def objective(self) -> Objective:
        """Create a new objective."""
        raise NotImplementedError

    def requests(self) -> list[Request]:
        """Return the requests for the tests: sampled configurations, at each fidelity in turn."""
        drawn = Sampler(Structures(self.space)).configurations(self.examples, np.random.default_rng(0))
        sizes = (None, *self.fidelities)
        return [Request(each, sizes[place % len(sizes)]) for place, each in enumerate(drawn)]

    def test_evaluate_returns_a_consistent_trial_of_the_request(self) -> None:
        objective = self.objective()
        for request in self.requests():
            trial = objective.evaluate(request)
            assert trial.request == request
            assert is_consistent(trial)
            if trial.loss is not None:
                assert tuple(each.bound for each in trial.constraints) == tuple(objective.bounds)

    def test_a_failing_configuration_gives_a_failed_trial_with_a_reason(self) -> None:
        objective = self.objective()
        for configuration in self.failing:
            trial = objective.evaluate(Request(configuration))
            assert trial.loss is None
            assert is_consistent(trial)

    def test_results_depend_neither_on_the_order_nor_on_the_instance(self) -> None:
        requests = self.requests()
        first, second = self.objective(), self.objective()
        forward = {request: repeatable_result(first.evaluate(request)) for request in requests}
        again = {request: repeatable_result(first.evaluate(request)) for request in requests}
        backward = {request: repeatable_result(second.evaluate(request)) for request in reversed(requests)}
        assert again == forward
        assert backward == forward

    def test_evaluate_can_be_pickled(self) -> None:
        objective = self.objective()
        evaluate = pickle.loads(cloudpickle.dumps(objective.evaluate))
        for request in self.requests()[:5]:
            trial = objective.evaluate(request)
            assert repeatable_result(pickle.loads(pickle.dumps(evaluate(request)))) == repeatable_result(trial)

    def test_the_largest_fidelity_is_the_training_size(self) -> None:
        objective = self.objective()
        assert isinstance(objective.training_size, int)
        assert objective.training_size >= 1
        assert all(1 <= each < objective.training_size for each in self.fidelities)
        for request in self.requests()[:3]:
            whole, all_rows = Request(request.configuration), Request(request.configuration, objective.training_size)
            assert repeatable_result(objective.evaluate(all_rows)) == repeatable_result(objective.evaluate(whole))

    def test_its_scale_preserves_the_order_of_losses(self) -> None:
        objective = self.objective()
        scale = objective.scale
        assert scale == self.objective().scale
        losses = [trial.loss for trial in map(objective.evaluate, self.requests()) if trial.loss is not None]
        normalized = [
            (LossScale.centered_on(losses[0]) if scale is None else scale).normalize(loss) for loss in sorted(losses)
        ]
        assert all(0 <= each <= 1 for each in normalized)
        assert all(one <= other for one, other in pairwise(normalized))

    def test_its_description_is_the_same_for_every_instance(self) -> None:
        first, second = self.objective(), self.objective()
        assert first.facts == second.facts
        assert first.facts.name
        assert first.facts.fingerprint
        settings = identifying_settings(first)
        assert dict(settings) == dict(identifying_settings(second))
        assert (first.metric.name, first.metric.formula) == (second.metric.name, second.metric.formula)
        for each in (*settings, *settings.values(), first.metric.name, first.metric.formula, *recorded_columns(first)):
            assert isinstance(each, str)
            assert each
        assert first.bounds == second.bounds
        assert first.validation == second.validation
        assert isinstance(first.is_cheap, bool)

    def test_the_prefix_key_depends_only_on_the_request(self) -> None:
        prefix_key = prefix_key_function(self.objective())
        if prefix_key is not None:
            for request in self.requests():
                assert prefix_key(request) == prefix_key(request)

    def test_unavailable_fidelities_are_refused(self) -> None:
        objective = self.objective()
        if isinstance(objective, FixedFidelitySetObjective):
            objective.check_fidelities((*self.fidelities, objective.training_size))
            with pytest.raises(InputError) as caught:
                objective.check_fidelities((objective.training_size + 1,))
            assert caught.value.help

    def test_a_search_returns_the_best_evaluated_trial(self) -> None:
        objective = self.objective()
        search = Random().search(Problem(self.space, objective.training_size, np.random.default_rng(0)))
        outcome = run(
            search,
            ShuffledWorkers(objective.evaluate, 3),
            Budget(trials=self.examples),
            clock=TickingClock(),
            training_size=objective.training_size,
            prefix_key=prefix_key_function(objective),
            scale=objective.scale,
        )
        losses = [each.trial.loss for each in outcome.records if each.trial.loss is not None and each.trial.is_feasible]
        assert outcome.records
        if losses:
            assert outcome.best is not None
            assert outcome.best.trial.loss == min(losses)


def repeatable_result(trial: Trial) -> tuple[object, ...]:
    """Return the parts of a trial that must be equal in every evaluation: all but costs and measured bounds."""
    return trial.status, trial.loss, trial.training_loss, [bound.bound for bound in trial.constraints]


def is_consistent(trial: Trial) -> bool:
    """Return True if a trial is consistent: a success has a finite loss, a failure only a reason."""
    costs = [cost for cost in (trial.cost, trial.cost_alone) if cost is not None]
    if not all(cost >= 0 and math.isfinite(cost) for cost in costs):
        return False
    if trial.loss is None:
        return trial.status is not Status.SUCCESS and bool(trial.reason) and not trial.constraints
    training = trial.training_loss is None or math.isfinite(trial.training_loss)
    return trial.status is Status.SUCCESS and math.isfinite(trial.loss) and not trial.reason and training
