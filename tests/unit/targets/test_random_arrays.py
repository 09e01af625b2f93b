"""Random arrays: what the columns of a small space hold, integers that floats do not hold, and options."""

import json
from typing import Any

import numpy as np
import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.expr import Compare, Reference
from spacelang.ir.space import Constraint, Space
from spacelang.plugins import OptionError, PluginRegistry
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS
from spacelang.targets._lowering import LoweringResult, Preservation, RefusedError
from spacelang.targets.random import Random
from spacelang.testing.small_spaces import (
    branch,
    choice,
    conditional_space,
    hyperparameter,
    make_space,
    require,
    span_of,
)

NAN = float("nan")


def lowered(space: Space, n: int = 50) -> LoweringResult[Any, Any]:
    return Random(n=n).lower(Structures(space))


def test_the_columns_of_a_small_space() -> None:
    form = lowered(conditional_space())
    arrays = form.form
    assert arrays.names == ("s", "e", "e.f.low", "e.f.high", "e.g.kernel", "e.g.degree")
    assert arrays.kinds == ("decision", "decision", "int", "int", "categorical", "int")
    assert arrays.bounds.tolist() == [[0, 1], [0, 1], [0, 3], [1, 4], [0, 2], [2, 3]]
    assert arrays.categories[:2] == (("none", "scale"), ("f", "g"))
    assert arrays.categories[4] == ("rbf", "poly", None)
    assert not arrays.log.any()
    row = form.encode(Configuration({"s": "none", "e": "g", "e.g.kernel": "poly", "e.g.degree": 3}))
    assert np.array_equal(row, [0, 1, NAN, NAN, 1, 3], equal_nan=True)
    assert form.decode(np.array([0, 1, NAN, NAN, 2, NAN])) == Configuration({"s": "none", "e": "g", "e.g.kernel": None})
    assert np.array_equal(arrays.default, [0, 0, 1, 2, NAN, NAN], equal_nan=True) or form.accepts(arrays.default)
    assert not form.accepts(np.array([0, 1, 2, NAN, 2, NAN]))
    assert not form.accepts(np.array([0, 0, 3, 1, NAN, NAN]))
    assert not form.accepts(np.array([0, 1]))
    assert not form.accepts(np.array([0, 7, NAN, NAN, NAN, NAN]))


def test_the_rows_are_those_of_the_seed() -> None:
    first, again = (lowered(conditional_space()).form.values for _ in range(2))
    assert np.array_equal(first, again, equal_nan=True)
    other = Random(n=50, seed=1).lower(Structures(conditional_space())).form.values
    assert not np.array_equal(first, other, equal_nan=True)


def test_unions_and_large_integers_are_exact() -> None:
    union = Union((Categorical((None, "auto")), Grid(1, 2**53 - 1), Real(0.5, 1.0)))
    form = lowered(
        make_space(
            "large", hyperparameter("x", union, None), hyperparameter("y", Grid(2**52, 2**52 + 9, log=True), 2**52)
        )
    )
    assert form.form.names == ("x:part", "x", "y")
    for x in ("auto", 2, 2**53 - 1, 0.75):
        ours = Configuration({"x": x, "y": 2**52 + 7})
        assert form.decode(form.encode(ours)) == ours
        assert form.accepts(form.encode(ours))
    assert np.array_equal(form.encode(Configuration({"x": 2, "y": 2**52 + 1})), [1, 2, 2**52 + 1])
    names: dict[str, Any] = {}
    exec(form.form.to_python(), names)
    for row, ours in zip(form.form.values, form.form.decode_all(form.form.values), strict=True):
        assert Configuration(names["decode"](row)) == ours


def test_what_is_printed() -> None:
    form = lowered(
        make_space("text", choice("e", branch("f", hyperparameter("e.f.x", Real(1e-3, 1.0, log=True), 0.1)), "g"))
    ).form
    assert form.to_text().splitlines()[0] == "text: 50 rows, 2 columns, seed 0"
    assert form.to_text().splitlines()[2].endswith("float        [0.001, 1] log")
    assert '"e" -> "e.f.x" [label="f"];' in form.to_dot()
    written = json.loads(json.dumps(form.to_json()))
    assert len(written["rows"]) == 50
    assert written["columns"][1] == {
        "name": "e.f.x", "key": "e.f.x", "kind": "float", "lower": 0.001, "upper": 1.0, "log": True
    }  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("n", "0"), ("seed", "-1"), ("n", "many")])
def test_options_out_of_their_bounds(name: str, text: str) -> None:
    with pytest.raises(OptionError, match=f"`{name}`"):
        PluginRegistry.configure(TARGETS.load("random"), {name: text})


def test_constraints_that_no_draw_satisfies_are_refused_on_their_line() -> None:
    sides = hyperparameter("x", Real(0.0, 1e9), 1.0), hyperparameter("y", Real(0.0, 1e-9), 0.0)
    rule = require(Compare("==", Reference("x"), Reference("y")))
    told = Constraint(rule.expression, rule.forbidden, span_of("space s\nrequire x == y", "require x == y"))
    with pytest.raises(RefusedError) as caught:
        lowered(make_space("unlikely", *sides, constraints=(told,)))
    assert [entry.line for entry in caught.value.report if entry.status is Preservation.REFUSED] == [2]
