"""What ADMM evaluates for a point, and what it moves, against brute force over the members."""

import json
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.optimizers._admm import ThetaCube, nearest_members
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets.admm import AdmmForm, AdmmPoints

from . import brute
from .settings import EXAMPLES
from .settings import LAW as WHOLE
from .spaces import finite_spaces, general_spaces
from .test_admm_target import _tuples, compiled, forms, key, permuted

LAW = settings(WHOLE, max_examples=EXAMPLES // 3)
SEED = st.integers(0, 2**32 - 1)


def moved(form: AdmmForm, count: int, rng: Any) -> AdmmPoints:
    """Points as searches have them: an alternative of each block and an order, and theta anywhere in its box."""
    points = form.points_with_default_theta(count)
    for block in form.blocks:
        points.z[np.arange(count), block.start + rng.integers(len(block.alternatives), size=count)] = 1
    for order, matrices in zip(form.orders, points.orders, strict=True):
        matrices[...] = order.matrices[rng.integers(len(order.branches), size=count)]
    points.theta_c[...] = form.theta_c.from_unit(rng.random(points.theta_c.shape))
    points.theta_d[...] = form.theta_d.from_unit(rng.random(points.theta_d.shape))
    return points


@LAW
@given(finite_spaces(), SEED)
def test_what_is_evaluated_is_a_member_of_the_same_z_where_there_is_one(space: Space, seed: int) -> None:
    masked, flat = forms(space)
    for form in (masked, flat):
        points = moved(form, 20, np.random.default_rng(seed))
        found = nearest_members(form, points)
        known = [Configuration(json.loads(text, object_hook=_tuples)) for text in brute.configurations(space)]
        taken = {key(form, point) for point in form.encode_all(known)}
        for point, configuration in zip(points, found, strict=True):
            if configuration is not None:
                assert first_exclusion(space, configuration) is None
                assert key(form, form.encode(configuration)) == key(form, point)
            elif form is masked:
                assert key(form, point) not in taken


@LAW
@given(st.one_of(general_spaces(), permuted()), SEED)
def test_what_is_moved_is_all_that_z_chooses_and_nothing_else(space: Space, seed: int) -> None:
    assume(first_exclusion(space, member_nearest_to_default(compiled(space))[1]) is None)
    rng = np.random.default_rng(seed)
    for form in forms(space):
        for point in moved(form, 3, rng):
            owned, active, other = form.variables_of_selected_alternatives(point), form.active_mask(point), form.default
            assert (owned.theta_c >= active.theta_c).all()
            assert (owned.theta_d >= active.theta_d).all()
            assert all(mine >= counts for mine, counts in zip(owned.orders, active.orders, strict=True))
            chosen = {None, *((b.stage, b.alternatives[int(point.z[b.columns].argmax())].name) for b in form.blocks)}
            assert owned.theta_c.tolist() == [owner in chosen for owner in form.theta_c.owners]
            assert owned.theta_d.tolist() == [owner in chosen for owner in form.theta_d.owners]
            cube = ThetaCube.from_mask(form, owned)
            place = cube.encode(cube.theta_of(point))
            assert place.shape == (cube.variable_count,)
            assert ((place >= 0) & (place <= 1)).all()
            assert cube.decode(place, point) == point
            found = cube.decode(place, other)
            assert np.allclose(found.theta_c[owned.theta_c], point.theta_c[owned.theta_c], rtol=1e-9, atol=1e-12)
            assert np.allclose(found.theta_d[owned.theta_d], point.theta_d[owned.theta_d], rtol=1e-9, atol=1e-9)
            assert (found.theta_c[~owned.theta_c] == other.theta_c[~owned.theta_c]).all()
            assert (found.theta_d[~owned.theta_d] == other.theta_d[~owned.theta_d]).all()
            assert (found.z == other.z).all()
