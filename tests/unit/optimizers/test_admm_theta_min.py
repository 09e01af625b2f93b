"""theta-min of ADMM: the augmented value of a place, what failures are worth, and the state after it."""

from dataclasses import replace

import numpy as np
import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Reference
from spacelang.ir.search_protocol import Search
from spacelang.ir.space import Space
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement, Request, Trial
from spacelang.minimizers import MINIMIZERS, Minimizer
from spacelang.optimizers._admm import AdmmState, AdmmUpdateSteps, ConstraintResiduals
from spacelang.optimizers._admm.subproblems import ThetaSubproblem
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm, AdmmForm
from spacelang.testing.driving import drive_search
from spacelang.testing.small_spaces import branch, choice, forbid, hyperparameter, make_space

BOUND = FunctionBound("g", 0.1)


def form_of(space: Space) -> AdmmForm:
    return Admm().lower(Structures(space)).form


def toy(*rules: object) -> AdmmForm:
    trees = hyperparameter("e.f.trees", Grid(0, 10), 3)
    rate = hyperparameter("e.f.rate", Real(1e-3, 1e-1, log=True), 1e-2)
    kernel = hyperparameter("e.g.kernel", Categorical(("rbf", "poly")), "rbf")
    degree = hyperparameter("e.g.degree", Grid(1, 9), 3, when=Compare("==", Reference("e.g.kernel"), Constant("poly")))
    stages = choice("s", "none", "scale"), choice("e", branch("f", trees, rate), branch("g", kernel, degree), "h")
    return form_of(make_space("toy", *stages, constraints=rules))  # type: ignore[arg-type]


def begun(
    form: AdmmForm, rho: float = 1.0, *bounds: FunctionBound, taken: dict[str, object] | None = None
) -> AdmmState:
    point = form.default if taken is None else form.encode(Configuration(taken))  # type: ignore[arg-type]
    state = AdmmUpdateSteps.from_box(form.theta_d, rho).initial_state(point)
    return replace(state, slack=np.zeros(len(bounds)), mu=np.zeros(len(bounds)))


def theta_min(
    form: AdmmForm, state: AdmmState, *bounds: FunctionBound, rho: float = 1.0, **options: object
) -> ThetaSubproblem:
    splitting, residuals = AdmmUpdateSteps.from_box(form.theta_d, rho), ConstraintResiduals.from_bounds(bounds, rho)
    return ThetaSubproblem(form, splitting, residuals, state, np.random.default_rng(0), **options)  # type: ignore[arg-type]


def ended(minimised: ThetaSubproblem, place: tuple[float, ...], loss: float | None, *values: float) -> Trial:
    request = minimised.request(place)
    assert request is not None
    found = () if loss is None else tuple(Measurement(BOUND, value) for value in values)
    return Trial(request, loss, constraints=found)


def test_the_start_is_the_present_theta_and_costs_nothing() -> None:
    form = toy()
    minimised = theta_min(form, begun(form))
    assert minimised.start_point == pytest.approx((0.5, 0.3))
    assert minimised.request(minimised.start_point) == Request(form.decode(form.default))
    trial = ended(minimised, minimised.start_point, 0.25)
    assert minimised.value(minimised.start_point, trial, ()) == pytest.approx(0.25)


def test_between_integers_the_nearest_is_evaluated_and_the_distance_costs() -> None:
    form = toy()
    minimised = theta_min(form, begun(form))
    trial = ended(minimised, (1.0, 0.37), 0.25)
    assert trial.request.configuration["e.f.trees"] == 4
    assert trial.request.configuration["e.f.rate"] == pytest.approx(0.1)
    assert minimised.value((1.0, 0.37), trial, ()) == pytest.approx(0.25 + 0.07**2 / 2)
    after = minimised.updated_state((1.0, 0.37))
    assert after.relaxed_integers[form.theta_d.names.index("e.f.trees")] == pytest.approx(3.7)
    assert after.point.theta_c.tolist() == pytest.approx([0.1])


def test_what_a_condition_switches_off_costs_too() -> None:
    form = toy()
    state = begun(form, taken={"s": "none", "e": "g", "e.g.kernel": "rbf"})
    minimised = theta_min(form, state)
    assert minimised.start_point == (0.0, 0.25)
    trial = ended(minimised, (0.2, 0.75), 0.25)
    assert trial.request == ended(minimised, minimised.start_point, 0.25).request
    assert minimised.value((0.2, 0.75), trial, ()) == pytest.approx(0.25 + (0.2**2 + 0.5**2) / 2)


def test_a_pipeline_without_hyperparameters_has_nothing_to_move() -> None:
    form = toy()
    state = begun(form, taken={"s": "none", "e": "h"})
    minimised = theta_min(form, state)
    assert (minimised.cube.variable_count, minimised.start_point) == (0, ())
    minimised.value((), ended(minimised, (), 0.5), ())
    after = minimised.updated_state(())
    assert (after.relaxed_integers == state.relaxed_integers).all()
    assert (after.point.theta_c == state.point.theta_c).all()


def test_a_failure_is_behind_every_success() -> None:
    form = toy()
    minimised = theta_min(form, begun(form, rho=100.0), rho=100.0)
    failed = ended(minimised, (0.5, 0.3), None)
    assert minimised.value((0.5, 0.3), failed, ()) == 1
    far = minimised.value((0.5, 0.8), ended(minimised, (0.5, 0.8), 0.1), (1.0,))
    assert far == pytest.approx(0.1 + 12.5)
    assert minimised.value((0.5, 0.3), failed, (1.0, far)) == pytest.approx(13.5)
    assert minimised.value((0.5, 0.3), failed, (1.0, far, 20.0)) == 20


def test_a_place_whose_z_no_member_has_has_no_request() -> None:
    form = toy(forbid(And((BranchTest("s", ("none",)), BranchTest("e", ("f",))))))
    z = np.array([1, 0, 1, 0, 0], np.int8)
    state = begun(form)
    minimised = theta_min(form, replace(state, point=replace(state.point, z=z)))
    assert minimised.request(minimised.start_point) is None
    assert minimised.value(minimised.start_point, None, ()) == 1


def test_constraints_cost_by_their_best_slack_and_leave_it() -> None:
    form = toy()
    state = replace(begun(form, 1.0, BOUND), mu=np.array([0.9]))
    minimised = theta_min(form, state, BOUND)
    start = minimised.start_point
    near = minimised.value(start, ended(minimised, start, 0.25, 0.04), ())
    assert near == pytest.approx(0.25 + (-0.6 + 0.9) ** 2 / 2)
    assert minimised.updated_state(start).slack.tolist() == [0]
    free = theta_min(form, begun(form, 1.0, BOUND), BOUND)
    assert free.value(start, ended(free, start, 0.25, 0.04), ()) == pytest.approx(0.25)
    assert free.updated_state(start).slack == pytest.approx([0.6])
    # What failed leaves the slack of before.
    kept = replace(begun(form, 1.0, BOUND), slack=np.array([0.125]))
    other = theta_min(form, kept, BOUND)
    other.value(start, ended(other, start, None), ())
    assert other.updated_state(start).slack.tolist() == [0.125]


def test_earlier_points_are_judged_anew() -> None:
    form = toy()
    first = theta_min(form, begun(form))
    place = (0.5, 0.37)
    trial = ended(first, place, 0.25)
    point = form.encode(trial.request.configuration)
    moved = replace(point, theta_d=np.where(form.theta_d.lower == 0, 3.7, point.theta_d))
    failed = ended(first, (0.5, 0.9), None)
    later = theta_min(
        form,
        begun(form, taken={**trial.request.configuration}),
        earlier=[(first.cube.theta_of(each), came) for each, came in ((moved, trial), (point, failed))],
    )
    (known, value), (_, worst) = later.known
    assert known == pytest.approx(place)
    assert value == pytest.approx(0.25 + 0.03**2 / 2)  # delta is 4 now
    assert worst == pytest.approx(1 + 0.03**2 / 2)


@pytest.mark.parametrize("name", ["random", "rbf", "tpe", "direct"])
def test_minimizers_take_it(name: str) -> None:
    """From 3 trees the penalty leads towards 7, and what is found is no worse than the start."""
    form = toy()
    state = begun(form, rho=0.1)
    minimised = theta_min(form, state, rho=0.1)
    minimizer: Minimizer = MINIMIZERS.load(name)()
    found: list[tuple[float, ...]] = []

    def search() -> Search:
        found.append((yield from minimizer.minimise(minimised, minimised.unit_dimensions, 12, minimised.start_point)))

    def loss(request: Request) -> float:
        trees = request.configuration["e.f.trees"]
        assert isinstance(trees, int)
        return abs(trees - 7) / 10

    driven = drive_search(search(), loss, 12)
    assert len(driven.trials) == 12
    after = minimised.updated_state(found[0])
    value = minimised.value(found[0], ended(minimised, found[0], loss(minimised.request(found[0]))), ())  # type: ignore[arg-type]
    assert value <= loss(driven.trials[0].request)
    assert form.theta_d.contains(form.theta_d.nearest(after.relaxed_integers))
