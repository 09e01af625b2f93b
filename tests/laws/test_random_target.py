"""The law of meaning of the target `random`: rows stand for members, each for one, and every member has one."""

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult, RefusedError
from spacelang.targets.random import Random

from . import brute
from .settings import LAW
from .spaces import finite_spaces, general_spaces


def lowered(space: Space, n: int = 20, seed: int = 0) -> LoweringResult[Any, Any] | None:
    """None for a space that has no members, or none that can be drawn."""
    try:
        structures = Structures(space)
        return Random(n=n, seed=seed).lower(structures) if structures.count else None
    except (UndecidableError, RefusedError):
        return None


@settings(LAW)
@given(finite_spaces())
def test_every_member_has_one_row(space: Space) -> None:
    form = lowered(space)
    if form is None:
        return
    members = [Configuration.from_json(text) for text in sorted(brute.configurations(space))]
    rows = form.form.encode_all(members)
    assert len({row.tobytes() for row in rows}) == len(members)
    assert form.form.decode_all(rows) == members
    for row, configuration in zip(rows, members, strict=True):
        assert form.accepts(row)
        assert np.array_equal(form.encode(configuration), row, equal_nan=True)


@settings(LAW)
@given(finite_spaces(), st.data())
def test_changed_rows_are_reached_only_where_they_are_members(space: Space, data: st.DataObject) -> None:
    form = lowered(space)
    if form is None or not len(form.form.names):
        return
    row = data.draw(st.sampled_from(list(form.form.values))).copy()
    column = data.draw(st.integers(0, len(row) - 1))
    row[column] = data.draw(st.sampled_from((np.nan, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e300, np.inf)))
    if form.accepts(row):
        assert brute.text(form.decode(row).to_dict()) in brute.configurations(space)


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_rows_of_any_space_are_members_within_the_bounds(space: Space, seed: int) -> None:
    form = lowered(space, seed=seed)
    if form is None:
        return
    arrays = form.form
    rows, bounds = arrays.values, arrays.bounds
    assert rows.shape == (20, len(arrays.names)) == (20, len(arrays.kinds)) == (20, len(arrays.categories))
    assert ((rows >= bounds[:, 0]) | np.isnan(rows)).all()
    assert ((rows <= bounds[:, 1]) | np.isnan(rows)).all()
    assert arrays.decode_all(rows) == arrays.columns.configurations()
    for row, configuration in zip(rows, arrays.decode_all(rows), strict=True):
        assert first_exclusion(space, configuration) is None
        assert np.array_equal(form.encode(configuration), row, equal_nan=True)
        assert form.accepts(row)
    assert form.accepts(arrays.default)


@settings(LAW)
@given(general_spaces())
def test_the_module_reads_what_the_json_says(space: Space) -> None:
    form = lowered(space, n=5)
    if form is None:
        return
    written = json.loads(json.dumps(form.form.to_json()))
    names: dict[str, Any] = {}
    exec(form.form.to_python(), names)
    rows = np.array(written["rows"], float).reshape(5, -1)
    for row, configuration in zip(rows, form.form.decode_all(rows), strict=True):
        assert Configuration(names["decode"](row)) == configuration
