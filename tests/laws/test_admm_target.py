"""The variables of ADMM against brute force: what `accepts` accepts and where `project` lands are the members."""

import json
from dataclasses import replace
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import And, BranchTest, Expr
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Constraint, Product, ProductKind, Space, name_of_step_order
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import TooManyConnectedVariablesError, UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets._lowering import compiled_document
from spacelang.targets.admm import Admm, AdmmForm, AdmmPoint, AdmmPoints

from . import brute
from .settings import EXAMPLES
from .settings import LAW as WHOLE
from .spaces import finite_spaces, general_spaces
from .test_consistency import unfolded
from .test_whole import checked
from .whole import drawings

LAW = settings(WHOLE, max_examples=EXAMPLES // 2)
"""Every space is listed point by point, in both modes."""
MOST = 20_000
"""The most points of theta that are listed for the alternatives of one z."""
MODES = pytest.mark.parametrize("mode", ["mask", "flatten"])


def forms(space: Space) -> list[AdmmForm]:
    """The space in both modes; see `compiled`."""
    structures = compiled(space)
    return [Admm(mode).lower(structures).form for mode in ("mask", "flatten")]


def compiled(space: Space) -> Structures:
    """What targets are given; spaces without members are left out, and those that cannot be decided."""
    try:
        structures = Structures(space)
        assume(structures.count > 0)
    except (TooManyConnectedVariablesError, UndecidableError):
        assume(False)
    return structures


@st.composite
def permuted(draw: st.DrawFn) -> Space:
    """A finite space whose stages stand in any order, or in some of the orders."""
    space = draw(finite_spaces())
    labels = tuple(stage.key for stage in space.stages)
    names = [name_of_step_order(order) for order in permutations(labels)]
    kept = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    order = Choice("order", "order", "order", tuple(Branch(name, SKIPPED_STEP) for name in kept), len(kept) - 1)
    root = Product(ProductKind.PERMUTATION, (order, *space.stages), labels=labels)
    stage = draw(st.sampled_from(space.stages))
    tests: tuple[Expr, ...] = (
        BranchTest("order", (draw(st.sampled_from(kept)),)),
        BranchTest(stage.address, (draw(st.sampled_from(stage.branches)).name,)),
    )
    rules = (Constraint(And(tests), True),) if draw(st.booleans()) else ()
    return replace(space, root=root, constraints=(*space.constraints, *rules))


def points_of(form: AdmmForm) -> list[AdmmPoint]:
    """Every one-hot z and permutation with every theta of the alternatives that it takes; others at their defaults."""
    found = []
    blank = form.default
    matrices = [[order.matrices[place] for place in range(len(order.branches))] for order in form.orders]
    for taken in product(*(range(len(block.alternatives)) for block in form.blocks)):
        z = np.zeros(form.layout.width, np.int8)
        slots = [*form.layout.always]
        for block, number in zip(form.blocks, taken, strict=True):
            z[block.start + number] = 1
            slots += block.alternatives[number].columns
        columns = [slot.integer_column for slot in slots]
        assert not any(slot.number_columns for slot in slots)
        ranges = [range(int(form.theta_d.lower[c]), int(form.theta_d.upper[c]) + 1) for c in columns]
        assume(prod(map(len, ranges)) * prod(map(len, matrices)) <= MOST)
        for codes in product(*ranges):
            theta = form.theta_d.default.copy()
            theta[columns] = codes
            found += [AdmmPoint(z, blank.theta_c, theta, orders) for orders in product(*matrices)]
    return found


def texts(configurations: list[Configuration]) -> list[str]:
    return [brute.text(configuration.to_dict()) for configuration in configurations]


def check_reach(space: Space, members: set[str]) -> None:
    for form in forms(space):
        points = points_of(form)
        accepted = form.accepts_all(points)
        reached = [point for point, is_reached in zip(points, accepted, strict=True) if is_reached]
        assert set(texts(form.decode_all(reached))) == members
        # With what does not count at its default every member is one point.
        active = form.active_masks(reached)
        usual = (active.theta_d | (AdmmPoints.stack(reached).theta_d == form.theta_d.default)).all(axis=1)
        for order, counts in zip(form.orders, active.orders, strict=True):
            place = form.orders.index(order)
            at_default = [(point.orders[place] == order.matrices[order.default]).all() for point in reached]
            usual &= counts | np.array(at_default)
        assert int(usual.sum()) == len(members)
        assert all(form.encode(form.decode(point)) == point for point in np.array(reached, object)[usual][:20])


@LAW
@given(finite_spaces())
def test_the_points_that_it_accepts_are_the_members(space: Space) -> None:
    check_reach(space, brute.configurations(space))


@settings(LAW, max_examples=EXAMPLES // 3)
@given(permuted())
def test_orders_are_matrices(space: Space) -> None:
    check_reach(space, brute.configurations(space))


def is_inside(form: AdmmForm, points: list[AdmmPoint]) -> Any:
    coefficients, most = form.inequalities
    rows = [np.concatenate([point.z, *(order.ravel() for order in point.orders)]) for point in points]
    return (np.array(rows, int) @ coefficients.T <= most).all(axis=1)


@LAW
@given(st.one_of(finite_spaces(), permuted()))
def test_the_linear_constraints_leave_exactly_what_members_take(space: Space) -> None:
    members = [Configuration(json.loads(text, object_hook=_tuples)) for text in brute.configurations(space)]
    for form in forms(space):
        assume(form.layout.width < 60)
        encoded = form.encode_all(members)
        nested = {order.address for order in form.orders if order.owner is not None}
        matrices = [order.matrices[:1] if order.address in nested else order.matrices for order in form.orders]
        points = []
        for taken in product(*(range(len(block.alternatives)) for block in form.blocks)):
            z = np.zeros(form.layout.width, np.int8)
            z[[block.start + number for block, number in zip(form.blocks, taken, strict=True)]] = 1
            points += [
                AdmmPoint(z, form.default.theta_c, form.default.theta_d, orders) for orders in product(*matrices)
            ]
        known = {key(form, point) for point in encoded}
        for point, inside in zip(points, is_inside(form, points), strict=True):
            assert inside == (key(form, point) in known), key(form, point)


def key(form: AdmmForm, point: AdmmPoint) -> tuple[bytes, ...]:
    outer = [matrix for order, matrix in zip(form.orders, point.orders, strict=True) if order.owner is None]
    return (point.z.astype(np.int8).tobytes(), *(matrix.astype(np.int8).tobytes() for matrix in outer))


def _tuples(document: dict[str, Any]) -> dict[str, Any]:
    return {key: _tuple(value) for key, value in document.items()}


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def wild(form: AdmmForm, count: int, rng: np.random.Generator) -> AdmmPoints:
    """Points that need not lie anywhere: fractions, far outside of their boxes, several alternatives of a block."""
    points = []
    for _ in range(count):
        kind = rng.integers(3)
        spread = (0.7, 3.0, 1e6)[kind]
        theta_d = np.array([float(each) for each in form.theta_d.default]) + rng.normal(0, spread, len(form.theta_d))
        theta_c = form.theta_c.from_unit(rng.random(len(form.theta_c))) + rng.normal(0, spread, len(form.theta_c)) * (
            rng.random(len(form.theta_c)) < 0.3
        )
        z = rng.random(form.layout.width) if kind else rng.integers(0, 2, form.layout.width)
        points.append(
            AdmmPoint(z, theta_c, theta_d, tuple(rng.random((order.size, order.size)) for order in form.orders))
        )
    return AdmmPoints.stack(points)


@LAW
@given(space=finite_spaces(), seed=st.integers(0, 2**32))
def test_less_than_half_a_step_changes_nothing(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for form in forms(space):
        points = form.sample_all(8, rng)
        assert points.theta_d.dtype == np.float64
        moved = AdmmPoints(
            points.z, points.theta_c, points.theta_d + rng.uniform(-0.49, 0.49, points.theta_d.shape), points.orders
        )
        assert form.decode_all(moved) == form.decode_all(points)
        assert np.array_equal(form.active_masks(moved).theta_d, form.active_masks(points).theta_d)


def check_projection(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Existence is decided over all numbers, of which floats may miss some: such a space may have no member after all.
    assume(first_exclusion(space, member_nearest_to_default(compiled(space))[1]) is None)
    for form in forms(space):
        points = wild(form, 30, rng)
        landed = form.project_all(points)
        assert form.accepts_all(landed).all()
        for configuration in form.decode_all(landed):
            assert first_exclusion(space, configuration) is None
        again = form.project_all(landed)
        assert all(map(AdmmPoint.__eq__, again, landed))
        # What is not active is P_D of what it was.
        active = form.active_masks(landed)
        assert ((landed.theta_d == form.theta_d.nearest(points.theta_d)) | active.theta_d).all()
        assert ((landed.theta_c == form.theta_c.clip(points.theta_c)) | active.theta_c).all()


@LAW
@given(st.one_of(finite_spaces(), permuted()), st.integers(0, 2**32 - 1))
def test_projection_lands_on_members(space: Space, seed: int) -> None:
    check_projection(space, seed)


@LAW
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_projection_lands_on_members_of_spaces_with_ranges(space: Space, seed: int) -> None:
    check_projection(space, seed)


@LAW
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_members_come_back_one_by_one_and_together(space: Space, seed: int) -> None:
    for form in forms(space):
        try:
            columns = Sampler(form.structures).batch(30, np.random.default_rng(seed))
        except SamplingFailedError:
            assume(False)
        members = columns.configurations()
        points = form.encode_all(members)
        assert all(map(AdmmPoint.__eq__, points, form.encode_all(columns)))
        assert form.accepts_all(points).all()
        assert form.decode_all(points) == members
        assert all(map(AdmmPoint.__eq__, form.project_all(points), points))
        for point, member in zip(points, members[:5], strict=False):
            assert form.encode(member) == point
            assert form.decode(point) == member
            assert form.accepts(point)


@LAW
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_what_it_draws_are_members(space: Space, seed: int) -> None:
    assume(first_exclusion(space, member_nearest_to_default(compiled(space))[1]) is None)
    for form in forms(space):
        drawn = form.sample(10, np.random.default_rng(seed))
        assert all(map(form.accepts, drawn))
        assert all(first_exclusion(space, form.decode(point)) is None for point in drawn)
        assert all(map(AdmmPoint.__eq__, drawn, form.sample(10, np.random.default_rng(seed))))


@settings(LAW, max_examples=EXAMPLES // 3)
@given(drawings())
def test_texts_of_every_construct_have_the_same_members_in_both_modes(drawn: Any) -> None:
    space = checked(drawn).space
    assume(space is not None)
    # Brute force knows no operators as fixed values.
    check_reach(space, brute.configurations(replace(space, root=unfolded(space.root))))


@MODES
@LAW
@given(space=st.one_of(finite_spaces(), permuted(), general_spaces()))
def test_a_space_lowered_twice_is_the_same(mode: Any, space: Space) -> None:
    structures = compiled(space)
    first, second = (
        json.dumps(compiled_document("admm", space, Admm(mode).lower(found)))
        for found in (structures, Structures(space))
    )
    assert first == second
