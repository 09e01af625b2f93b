"""Black-box constraints of ADMM: their numbers, and the same counted in bounds.

See spacelang/optimizers/README.md, section "ADMM: constraints".
"""

from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound, Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.optimizers._admm import ConstraintResiduals, ResidualUnits, constraint_values

BOTH = pytest.mark.parametrize("counted", ["raw", "scaled"])
RHO = st.floats(1e-3, 10)
MU = st.floats(-5, 5)
EPSILON = st.floats(1e-3, 50)
VALUE = st.floats(-1, 100)


def one(epsilon: float, counted: Any, rho: float = 1.0) -> ConstraintResiduals:
    return ConstraintResiduals.from_bounds([FunctionBound("g", epsilon)], rho, counted)


def step(residuals: ConstraintResiduals, g: float, mu: float) -> tuple[float, float, float]:
    """The slack, the penalty and the next multiplier."""
    excess, before = residuals.excess(np.array([g])), np.array([mu])
    slack = residuals.best_slack(excess, before)
    found = excess + slack
    return slack.item(), residuals.penalty(found, before).item(), residuals.updated_multipliers(before, found).item()


@pytest.mark.parametrize(
    ("g", "mu", "raw"),
    [
        (0.04, 0.0, (0.06, 0.0, 0.0)),
        (0.25, 0.0, (0.0, 0.01125, 0.15)),
        (0.25, 0.15, (0.0, 0.045, 0.30)),
        (0.04, 0.15, (0.0, 0.00405, 0.09)),
    ],
)
def test_the_worked_numbers(g: float, mu: float, raw: tuple[float, float, float]) -> None:
    slack, penalty, after = raw
    assert step(one(0.1, "raw"), g, mu) == pytest.approx(raw, abs=1e-12)
    assert step(one(0.1, "scaled"), g, mu / 0.1) == pytest.approx((slack / 0.1, penalty / 0.01, after / 0.1), abs=1e-12)


def test_counted_in_bounds_they_are() -> None:
    """The same numbers as they are read: a tenth of a second, of which so many are taken."""
    scaled = one(0.1, "scaled")
    assert step(scaled, 0.04, 0.0) == pytest.approx((0.6, 0.0, 0.0), abs=1e-12)
    assert step(scaled, 0.25, 0.0) == pytest.approx((0.0, 1.125, 1.5))
    assert step(scaled, 0.25, 1.5) == pytest.approx((0.0, 4.5, 3.0))
    assert step(scaled, 0.04, 1.5) == pytest.approx((0.0, 0.405, 0.9))


@BOTH
@given(EPSILON, VALUE, MU, RHO)
def test_the_slack_has_the_smallest_penalty(
    counted: ResidualUnits, epsilon: float, g: float, mu: float, rho: float
) -> None:
    residuals = one(epsilon, counted, rho)
    excess, multiplier = residuals.excess(np.array([g])), np.array([mu])

    def penalty(slack: float) -> float:
        return residuals.penalty(excess + slack, multiplier).item()

    slack, most = residuals.best_slack(excess, multiplier).item(), residuals.max_slack.item()
    assert 0 <= slack <= most
    others = [*np.linspace(0, most, 101), minimize_scalar(penalty, bounds=(0, most), method="bounded").x]
    assert penalty(slack) <= min(map(penalty, others)) * (1 + 1e-12)


@given(VALUE, MU, RHO)
def test_under_a_bound_of_1_they_are_the_same(g: float, mu: float, rho: float) -> None:
    assert step(one(1.0, "raw", rho), g, mu) == step(one(1.0, "scaled", rho), g, mu)


@given(EPSILON, VALUE, MU, RHO, st.sampled_from((1e-9, 1e-3, 1e3, 2.0**20)))
def test_counted_in_bounds_they_do_not_depend_on_the_unit(
    epsilon: float, g: float, mu: float, rho: float, unit: float
) -> None:
    there = step(one(epsilon * unit, "scaled", rho), g * unit, mu)
    assert there == pytest.approx(step(one(epsilon, "scaled", rho), g, mu), rel=1e-9, abs=1e-9)


@BOTH
@given(EPSILON, st.lists(st.floats(1.001, 100), min_size=1, max_size=20), RHO, MU)
def test_multipliers_grow_while_the_bound_is_broken(
    counted: ResidualUnits, epsilon: float, over: list[float], rho: float, mu: float
) -> None:
    residuals, told = one(epsilon, counted, rho), [mu]
    for times in over:
        told.append(step(residuals, epsilon * times, told[-1])[2])
    assert all(after > before for before, after in pairwise(told))


@BOTH
@given(EPSILON, st.floats(0, 1), RHO)
def test_what_keeps_to_the_bound_costs_nothing_at_first(
    counted: ResidualUnits, epsilon: float, share: float, rho: float
) -> None:
    slack, penalty, after = step(one(epsilon, counted, rho), epsilon * share, 0.0)
    assert penalty == pytest.approx(0, abs=1e-12)
    assert after == pytest.approx(0, abs=1e-12)
    assert slack >= 0


@BOTH
@given(VALUE, MU, RHO)
def test_a_bound_of_0_leaves_no_slack(counted: ResidualUnits, g: float, mu: float, rho: float) -> None:
    residuals = one(0.0, counted, rho)
    slack, _, after = step(residuals, g, mu)
    assert slack == 0
    assert residuals.excess(np.array([g])).item() == max(g, 0)
    assert after == mu + rho * max(g, 0)


@BOTH
@pytest.mark.parametrize("unknown", [nan, inf])
def test_what_is_unknown_is_beyond_the_bound_by_as_much_as_that_is(counted: ResidualUnits, unknown: float) -> None:
    known = one(0.1, counted).excess(np.array([0.2]))
    assert one(0.1, counted).excess(np.array([unknown])) == pytest.approx(known)
    assert one(0.0, counted).excess(np.array([unknown])).item() == 1
    assert one(5e-324, "scaled").excess(np.array([1e300])).item() == 1


@BOTH
def test_below_0_is_0(counted: ResidualUnits) -> None:
    assert step(one(0.1, counted), -3.0, 0.02) == step(one(0.1, counted), 0.0, 0.02)
    assert step(one(0.1, counted), -inf, 0.02) == step(one(0.1, counted), 0.0, 0.02)


@BOTH
@given(st.lists(st.tuples(EPSILON | st.just(0.0), VALUE, MU), max_size=5), RHO, st.integers(1, 3))
def test_many_constraints_and_points_at_once(
    counted: ResidualUnits, drawn: list[tuple[float, float, float]], rho: float, count: int
) -> None:
    bounds = [FunctionBound("g", epsilon) for epsilon, _, _ in drawn]
    residuals = ConstraintResiduals.from_bounds(bounds, rho, counted)
    values = np.tile([g for _, g, _ in drawn], (count, 1)).reshape(count, len(drawn))
    mu = np.array([mu for _, _, mu in drawn])
    excess = residuals.excess(values)
    slack = residuals.best_slack(excess, mu)
    alone = [step(one(epsilon, counted, rho), g, mu) for epsilon, g, mu in drawn]
    assert slack.shape == (count, len(drawn)) == residuals.updated_multipliers(mu, excess + slack).shape
    assert (slack == [[each[0] for each in alone]] * count).all()
    assert (residuals.updated_multipliers(mu, excess + slack) == [[each[2] for each in alone]] * count).all()
    assert residuals.penalty(excess + slack, mu) == pytest.approx([sum(each[1] for each in alone)] * count)


def test_a_bound_below_0_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`predict_latency` is below 0: -1\.0"):
        ConstraintResiduals.from_bounds([FunctionBound("leaves", 3.0), Bound(BoundedMeasure.LATENCY, -1.0)], 1.0)


def test_measurements_are_those_of_trials() -> None:
    """Of users' functions too; the latency in seconds and the leaves count alike."""
    bounds: tuple[AnyBound, ...] = (Bound(BoundedMeasure.LATENCY, 1e-5), FunctionBound("leaves", 100.0))
    request = Request(Configuration({}))
    values = (2e-5, nan)
    found = tuple(Measurement(bound, value) for bound, value in zip(bounds, values, strict=True))
    trial = Trial(request, 0.25, constraints=found)
    residuals = ConstraintResiduals.from_bounds([measurement.bound for measurement in trial.constraints], rho=1.0)
    assert constraint_values(trial) == pytest.approx(values, nan_ok=True)
    assert residuals.trial_residuals(trial, np.zeros(2)) == pytest.approx([1, 1])
    assert residuals.trial_penalty(trial, np.zeros(2), np.zeros(2)) == pytest.approx(1)
    failed = Trial(request, None, status=Status.CRASH)
    mu = np.array([0.5, 2.0])
    assert (residuals.updated_multipliers(mu, residuals.trial_residuals(failed, np.ones(2))) == mu).all()
    assert (residuals.initial_multipliers == 0).all()


def test_without_constraints_there_is_no_penalty() -> None:
    residuals = ConstraintResiduals.from_bounds((), rho=1.0)
    trial = Trial(Request(Configuration({})), 0.25)
    assert len(residuals) == 0
    assert (
        residuals.penalty(
            residuals.trial_residuals(trial, residuals.initial_multipliers), residuals.initial_multipliers
        )
        == 0
    )
