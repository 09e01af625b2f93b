"""ADMM's algebra without a search, its schedules, and what is active.

See spacelang/optimizers/README.md, sections "ADMM: iteration" and "ADMM: schedule".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trying import IS_FULL

from spacelang.ir.domain import Grid
from spacelang.ir.expr import Compare, Constant, Reference
from spacelang.ir.space import Space
from spacelang.ir.task import FunctionBound
from spacelang.optimizers._admm import AdmmState, AdmmUpdateSteps, ConstraintResiduals, ThetaCube, nearest_members
from spacelang.optimizers._admm.iterations import CallSchedule
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm, AdmmForm, AdmmPoint, ThetaCoordinates, VariableMask
from spacelang.testing.small_spaces import branch, choice, hyperparameter, make_space

PLACES = 1001 if IS_FULL else 201
"""So many of theta are looked at."""
WEIGHED = pytest.mark.parametrize("weighed", ["raw", "unit"])


def form_of(space: Space, conditions: Any = "mask") -> AdmmForm:
    return Admm(conditions).lower(Structures(space)).form


def box_of(*domains: Grid) -> ThetaCoordinates:
    nodes = [hyperparameter(f"x{place}", domain, domain.lower) for place, domain in enumerate(domains)]
    return form_of(make_space("box", *nodes)).theta_d


TEN = box_of(Grid(0, 10))


def state(delta: float, multiplier: float, relaxed: float = 0.0) -> AdmmState:
    point = AdmmPoint(np.zeros(0, np.int8), np.zeros(0), np.array([float(relaxed)]))
    blank = AdmmUpdateSteps.from_box(TEN, 1.0).initial_state(point)
    return replace(blank, delta=np.array([float(delta)]), multipliers=np.array([float(multiplier)]))


def iterated(splitting: AdmmUpdateSteps, before: AdmmState, found: float | None) -> AdmmState:
    """The algebra of an iteration in which theta-min finds a number, or does not own the variable."""
    owned = VariableMask(np.zeros(0, bool), np.array([found is not None]))
    given = replace(before.point, theta_d=np.array([np.nan if found is None else found]))
    return splitting.with_multipliers(splitting.with_delta(splitting.with_theta(before, given, owned)))


def numbers(found: AdmmState) -> tuple[float, float, float]:
    return found.relaxed_integers.item(), found.delta.item(), found.multipliers.item()


# ---- the worked numbers


def test_the_algebra_of_two_iterations() -> None:
    splitting, first = AdmmUpdateSteps.from_box(TEN, 1.0, "raw"), state(3, 0)
    assert splitting.theta_with_least_penalty(first).item() == 3
    second = iterated(splitting, first, 3.4)
    assert numbers(second) == pytest.approx((3.4, 3, 0.4))
    assert splitting.theta_with_least_penalty(second).item() == pytest.approx(2.6)
    third = iterated(splitting, second, 2.6)
    assert numbers(third) == pytest.approx((2.6, 3, 0), abs=1e-12)
    assert splitting.theta_with_least_penalty(third).item() == pytest.approx(3)


@pytest.mark.parametrize(("a", "delta"), [(11.7, 10), (-3, 0), (2.5, 3), (2.49, 2)])
def test_delta_is_clipped_then_rounded(a: float, delta: float) -> None:
    within = min(max(a, 0), 10)
    found = AdmmUpdateSteps.from_box(TEN, 1.0, "raw").with_delta(state(0, a - within, relaxed=within))
    assert found.delta.tolist() == [delta]


@WEIGHED
@given(st.lists(st.integers(0, 20), min_size=2, max_size=8, unique=True), st.floats(-30, 30), st.floats(0.01, 10))
def test_delta_is_the_nearest_member_of_a_set_with_holes(weighed: Any, kept: list[int], a: float, rho: float) -> None:
    members = sorted(kept)
    gaps = {code for code in range(members[0], members[-1]) if code not in kept}
    (coordinate,) = box_of(Grid(members[0], members[-1])).coordinates
    box = ThetaCoordinates((replace(coordinate, excluded=frozenset(gaps)),), integral=True)
    splitting, start = AdmmUpdateSteps.from_box(box, rho, weighed), state(0, 0)
    width = splitting.widths.item()
    multiplier = np.array([(a - start.relaxed_integers.item()) * rho / width])
    delta = splitting.with_delta(replace(start, multipliers=multiplier)).delta.item()
    assert (delta - a) ** 2 <= min((each - a) ** 2 for each in members) + 1e-9
    assert delta in members


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((3, 0.4), (2.6, 3, 0)),
        ((3, -0.7), (3.7, 3, 0)),
        ((0, 0.4), (0, 0, 0.4)),
        ((10, -0.3), (10, 10, -0.3)),
    ],
)
def test_what_is_not_active(before: tuple[float, float], after: tuple[float, float, float]) -> None:
    assert numbers(iterated(AdmmUpdateSteps.from_box(TEN, 1.0, "raw"), state(*before), None)) == pytest.approx(
        after, abs=1e-12
    )


@WEIGHED
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 400)), min_size=1, max_size=4),
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.floats(0.001, 10),
)
def test_the_dual_identity_holds(
    weighed: Any, drawn: list[tuple[int, int]], found: list[list[float]], owned: list[bool], rho: float
) -> None:
    box = box_of(*(Grid(lower, lower + more) for lower, more in drawn))
    splitting, count = AdmmUpdateSteps.from_box(box, rho, weighed), len(box)
    before = splitting.initial_state(AdmmPoint(np.zeros(0, np.int8), np.zeros(0), box.default))
    counts = VariableMask(np.zeros(0, bool), np.array(owned[:count]))
    for shares in found:
        b = splitting.theta_with_least_penalty(before)
        theta = box.from_unit(np.array(shares[:count]))
        moved = splitting.with_theta(before, replace(before.point, theta_d=theta), counts)
        after = splitting.with_multipliers(splitting.with_delta(moved))
        assert (after.relaxed_integers == np.where(counts.theta_d, theta, box.clip(b))).all()
        assert ((after.relaxed_integers >= box.lower) & (after.relaxed_integers <= box.upper)).all()
        assert box.contains(after.delta)
        step = rho * (after.relaxed_integers - after.delta) / splitting.widths
        assert after.multipliers == pytest.approx(before.multipliers + step)
        same = after.relaxed_integers == after.delta
        assert (after.multipliers[same] == before.multipliers[same]).all()
        before = after


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1), st.floats(0.001, 10))
def test_unit_is_raw_on_the_grid_in_0_to_1(
    length: int, share: float, place: float, multiplier: float, rho: float
) -> None:
    """The same numbers as if the variable took 0, 1 / (u - l), ..., 1 and nothing were divided."""
    box, code = box_of(Grid(7, 7 + length)), round(share * length)
    splitting = AdmmUpdateSteps.from_box(box, rho)
    before = replace(
        splitting.initial_state(AdmmPoint(np.zeros(0, np.int8), np.zeros(0), np.array([7.0 + code]))),
        multipliers=np.array([multiplier]),
    )
    b = splitting.theta_with_least_penalty(before)
    assert (b - 7) / length == pytest.approx(code / length - multiplier / rho)
    theta = 7 + place * length
    penalty = splitting.penalty(np.array([theta]), b, np.ones(1, bool))
    assert penalty == pytest.approx(rho / 2 * (place - (code / length - multiplier / rho)) ** 2)


def test_the_penalty_is_that_of_what_is_owned() -> None:
    box = box_of(Grid(0, 10), Grid(0, 100), Grid(5, 5))
    b = np.array([3.0, 40.0, 5.0])
    theta = np.array([[3.5, 60.0, 5.0], [3.0, 40.0, 5.0]])
    owned = np.array([True, True, True])
    assert AdmmUpdateSteps.from_box(box, 2.0, "raw").penalty(theta, b, owned) == pytest.approx([400.25, 0])
    assert AdmmUpdateSteps.from_box(box, 2.0, "unit").penalty(theta, b, owned) == pytest.approx([0.0425, 0])
    assert AdmmUpdateSteps.from_box(box, 2.0, "unit").penalty(theta, b, ~owned).tolist() == [0, 0]
    assert AdmmUpdateSteps.from_box(box, 2.0, "unit").penalty(
        theta[0], b, np.array([True, False, False])
    ) == pytest.approx(0.0025)


# ---- schedules


def test_schedules_grow_to_their_end() -> None:
    f16, f8 = (CallSchedule(growth=growth) for growth in (16, 8))
    assert [f16.calls(t) for t in range(9)] == [16, 32, 48, 64, 80, 96, 112, 128, 128]
    assert [f8.calls(t) for t in (0, 1, 13, 14, 15)] == [16, 24, 120, 128, 128]
    assert list(accumulate(map(f16.calls, range(8))))[-1] == 576
    assert list(accumulate(map(f8.calls, range(15))))[-1] == 1080
    assert {CallSchedule.fixed(256).calls(t) for t in range(50)} == {256}


@pytest.mark.parametrize("numbers", [(0, 8, 128), (32, 8, 16), (16, -1, 128)])
def test_schedules_without_calls_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="a schedule"):
        CallSchedule(*numbers)


# ---- what is owned, and what is evaluated


def conditioned() -> AdmmForm:
    depth = hyperparameter("e.f.depth", Grid(1, 9), 3)
    leaves = hyperparameter("e.f.leaves", Grid(2, 9), 3, when=Compare(">", Reference("e.f.depth"), Constant(5)))
    inner = choice("e.g.in", branch("x", hyperparameter("e.g.in.x.n", Grid(1, 3), 2, key="e.in.n")), "y", key="e.in")
    return form_of(
        make_space("owned", choice("s", "none", "scale"), choice("e", branch("f", depth, leaves), branch("g", inner)),
             hyperparameter("seed", Grid(0, 4), 0))
    )  # fmt: skip


def names(box: ThetaCoordinates, mask: Any) -> set[str]:
    return {box.names[column] for column in np.flatnonzero(mask)}


def test_owned_is_what_conditions_switch_off_too() -> None:
    form = conditioned()
    point = form.default
    assert names(form.theta_d, form.active_mask(point).theta_d) == {"e.f.depth", "seed"}
    assert names(form.theta_d, form.variables_of_selected_alternatives(point).theta_d) == {
        "e.f.depth",
        "e.f.leaves",
        "seed",
    }
    other = replace(point, z=np.array([1, 0, 0, 1], np.int8))
    assert names(form.theta_d, form.active_mask(other).theta_d) == {"e.in", "e.in.n", "seed"}
    assert names(form.theta_d, form.variables_of_selected_alternatives(other).theta_d) == {"e.in", "e.in.n", "seed"}


def test_what_a_condition_switches_off_is_moved_and_costs() -> None:
    form = conditioned()
    owned, splitting = (
        form.variables_of_selected_alternatives(form.default),
        AdmmUpdateSteps.from_box(form.theta_d, 1.0),
    )
    before = splitting.initial_state(form.default)
    theta = form.theta_d.default.copy()
    theta[form.theta_d.names.index("e.f.leaves")] = 6.5
    found = replace(form.default, theta_d=theta)
    assert splitting.penalty(theta, splitting.theta_with_least_penalty(before), owned.theta_d) == pytest.approx(0.125)
    assert (splitting.with_theta(before, found, owned).relaxed_integers == theta).all()
    first, second = nearest_members(form, [found, form.default])
    assert first == second


# ---- a toy whose sub-problems are solved by looking at everything


Loss = Callable[[tuple[int, ...], dict[str, float]], tuple[float, ...]]
"""The loss of alternatives and values, and what is measured for each constraint."""


@dataclass(frozen=True)
class Toy:
    """ADMM whose sub-problems are solved by looking at places of theta and at every z."""

    form: AdmmForm
    loss: Loss
    splitting: AdmmUpdateSteps
    residuals: ConstraintResiduals

    def run(self, iterations: int) -> list[tuple[float, ...]]:
        """The loss and the measurements after each iteration from the default."""
        state, found = self.splitting.initial_state(self.form.default), []
        state = replace(state, slack=self.residuals.initial_multipliers, mu=self.residuals.initial_multipliers)
        rows = [list(np.eye(len(block.alternatives), dtype=np.int8)) for block in self.form.blocks]
        every = [np.concatenate(taken) for taken in product(*rows)]
        for _ in range(iterations):
            state = self.theta_min(state)
            ways = [replace(state.point, z=z) for z in (state.point.z, *every)]
            told = self.told(ways)
            residuals = self.residuals.excess(told[:, 1:]) + state.slack
            best = (told[:, 0] + self.residuals.penalty(residuals, state.mu)).argmin()
            moved = replace(state, point=replace(state.point, z=ways[best].z, orders=ways[best].orders))
            state = self.splitting.with_multipliers(self.splitting.with_delta(moved))
            state = replace(state, mu=self.residuals.updated_multipliers(state.mu, residuals[best]))
            found.append(tuple(told[best].tolist()))
        return found

    def theta_min(self, state: AdmmState) -> AdmmState:
        owned, b = (
            self.form.variables_of_selected_alternatives(state.point),
            self.splitting.theta_with_least_penalty(state),
        )
        cube = ThetaCube.from_mask(self.form, owned)
        assert cube.variable_count == 1
        points = [state.point, *(cube.decode(np.array([place]), state.point) for place in np.linspace(0, 1, PLACES))]
        told, theta = self.told(points), np.array([point.theta_d for point in points])
        excess = self.residuals.excess(told[:, 1:])
        slack = self.residuals.best_slack(excess, state.mu)
        penalty = self.splitting.penalty(theta, b, owned.theta_d) + self.residuals.penalty(excess + slack, state.mu)
        best = (told[:, 0] + penalty).argmin()
        return replace(self.splitting.with_theta(state, points[best], owned), slack=slack[best])

    def told(self, points: list[AdmmPoint]) -> Any:
        """The rows (loss, measurements) of points."""
        taken = [tuple(int(point.z[block.columns].argmax()) for block in self.form.blocks) for point in points]
        known = nearest_members(self.form, points)
        return np.array([self.loss(z, dict(each or {})) for z, each in zip(taken, known, strict=True)])  # type: ignore[arg-type]


def losses(form: AdmmForm, loss: Loss, rho: float, weighed: Any, iterations: int) -> list[float]:
    toy = Toy(
        form, loss, AdmmUpdateSteps.from_box(form.theta_d, rho, weighed), ConstraintResiduals.from_bounds((), rho)
    )
    return [found[0] for found in toy.run(iterations)]


def separable(conditions: Any = "mask") -> AdmmForm:
    x = hyperparameter("m.only.x", Grid(0, 5), 0, key="x")
    return form_of(make_space("separable", choice("m", branch("only", x)), choice("c", "a", "b", "c")), conditions)


def separable_loss(taken: tuple[int, ...], values: dict[str, float]) -> tuple[float]:
    return ((0.2, 0.1, 0.4)[taken[1]] + (values["x"] - 2.3) ** 2 / 10,)


@WEIGHED
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
@pytest.mark.parametrize("rho", [0.001, 0.01, 0.1, 1])
def test_a_separable_loss_is_minimised(weighed: Any, conditions: Any, rho: float) -> None:
    assert losses(separable(conditions), separable_loss, rho, weighed, 2)[-1] == pytest.approx(0.109)


def test_a_penalty_in_codes_may_stall() -> None:
    assert losses(separable(), separable_loss, 10, "raw", 6) == pytest.approx([0.629] * 6)
    assert losses(separable(), separable_loss, 10, "unit", 2)[-1] == pytest.approx(0.109)


def test_an_alternative_is_judged_with_its_default() -> None:
    """A known limit of going in turns: the best alternative has a poor default, and is never tuned."""
    ways = [
        branch(f"a{k}", hyperparameter(f"m.a{k}.x", Grid(0, 5), default, key=f"x{k}"))
        for k, default in enumerate((0, 5, 1))
    ]
    form = form_of(make_space("stuck", choice("m", *ways), choice("c", "a", "b")))

    def loss(taken: tuple[int, ...], values: dict[str, float]) -> tuple[float]:
        return ((0.3, 0.1, 0.5)[taken[0]] + (0.2, 0.0)[taken[1]] + (values[f"x{taken[0]}"] - 2.3) ** 2 / 10,)

    assert losses(form, loss, 1.0, "raw", 5)[-1] == pytest.approx(0.309)


# ---- the same toy under a constraint that its optimum breaks


def limited(unit: float) -> Loss:
    """The loss of `separable`, and x in some unit."""
    return lambda taken, values: (*separable_loss(taken, values), values["x"] * unit)


def constrained(counted: Any, unit: float, epsilon: float, iterations: int) -> list[tuple[float, ...]]:
    form = separable()
    residuals = ConstraintResiduals.from_bounds([FunctionBound("g", epsilon * unit)], 0.1, counted)
    return Toy(form, limited(unit), AdmmUpdateSteps.from_box(form.theta_d, 0.1), residuals).run(iterations)


def test_multipliers_lead_to_the_best_that_keeps_to_the_bound() -> None:
    """At first the penalty of a broken bound is too small; after some iterations it is kept to."""
    found = constrained("scaled", 1e-5, 1, 5)
    assert found[0] == pytest.approx((0.109, 2e-5))
    assert found[-1] == pytest.approx((0.269, 1e-5))
    assert found[2] == found[-1]


@pytest.mark.parametrize("unit", [1e-5, 1e6])
def test_the_unit_of_a_measure_decides_only_what_is_counted_in_it(unit: float) -> None:
    """In seconds nothing is kept to, in bytes at once, whatever the loss says."""
    plain = constrained("scaled", 1.0, 1, 5)
    assert np.array(constrained("scaled", unit, 1, 5)) / [1, unit] == pytest.approx(np.array(plain))
    raw = [measured / unit for _, measured in constrained("raw", unit, 1, 5)]
    assert raw == pytest.approx([2] * 5 if unit < 1 else [1] * 5)


def test_a_bound_that_nothing_comes_near_changes_nothing() -> None:
    found = constrained("scaled", 1.0, 1000, 4)
    assert [loss for loss, _ in found] == losses(separable(), separable_loss, 0.1, "unit", 4)
