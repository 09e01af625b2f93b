"""What becomes of ConfigSpace's JSON, the present form and older ones."""

import json
from typing import Any

import pytest

from spacelang import parse
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.importers._import_steps import ImportResult, import_space
from spacelang.text import Source


def read(**document: Any) -> tuple[ImportResult | None, tuple[Diagnostic, ...]]:
    whole = {"name": "drawn", "hyperparameters": [], "conditions": [], "forbiddens": [], **document}
    return import_space(Source("drawn.json", json.dumps(whole, indent=1)))


def text_of(**document: Any) -> str:
    found, diagnostics = read(**document)
    assert found is not None, diagnostics
    return " ".join(found.text.split())


def real(**more: Any) -> dict[str, Any]:
    return {"name": "x", "type": "uniform_float", "lower": 0.1, "upper": 10, "log": False, "default_value": 1, **more}


def integer(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "uniform_int", "lower": 1, "upper": 9, "log": False, "default_value": 5, **more}


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (real(log=True), "x : float[0.1, 10] log = 1"),
        (real(type="normal_float", mu=2, sigma=0.5), "x : float[0.1, 10] = 1 @prior(normal, 2, 0.5)"),
        (integer("x", lower=0, upper=10, q=5), "x : int[0, 10] step 5 = 5"),
        (real(lower=0, upper=2, q=0.5), "x : float[0, 2] step 0.5 = 1"),
        ({"name": "x", "type": "categorical", "choices": [True, False], "default": False}, "x : bool = false"),
        ({"name": "x", "type": "categorical", "choices": ["1", 1, None]}, 'x : {"1", 1, none} = "1"'),
        ({"name": "x", "type": "categorical", "choices": ["a b", [1, 2]]}, 'x : {"a b", (1, 2)} = "a b"'),
        ({"name": "x", "type": "ordinal", "sequence": ["s", "m"], "default": "m"}, "x : ordered {s, m} = m"),
        ({"name": "x", "type": "unparametrized", "value": "a"}, "x = a"),
    ],
)
def test_each_type(parameter: dict[str, Any], expected: str) -> None:
    assert expected in text_of(hyperparameters=[parameter])


def test_weights_of_alternatives_are_kept() -> None:
    choice = {"name": "m:__choice__", "type": "categorical", "choices": ["a", "b"], "weights": [0.25, 0.75]}
    found, diagnostics = read(hyperparameters=[choice])
    assert found is not None
    assert not diagnostics
    space = parse(found.text)
    assert [branch.weight for branch in space.checked.decisions[0].branches] == [0.25, 0.75]


def test_relations_and_alternatives_of_clauses() -> None:
    text = text_of(
        hyperparameters=[integer("a"), integer("b")],
        forbiddens=[
            {"type": "RELATION", "left": "a", "right": "b", "lambda": "LT"},
            {
                "type": "OR",
                "clauses": [
                    {"type": "CLAUSE_GE", "name": "a", "value": 9},
                    {"type": "AND", "clauses": [{"type": "EQUALS", "name": "b", "value": v} for v in (2, 2)]},
                ],
            },
        ],
    )
    for rule in ("forbid a < b", "forbid a >= 9", "forbid b == 2"):
        assert rule in text


def test_conditions_are_joined() -> None:
    terms = [
        {"type": "GT", "child": "c", "parent": "a", "value": 3},
        {"type": "IN", "child": "c", "parent": "b", "values": [1, 2]},
        {"type": "NEQ", "child": "c", "parent": "b", "value": 4},
    ]
    nested = [terms[0], {"type": "AND", "child": "c", "conditions": terms[1:]}]
    text = text_of(
        hyperparameters=[integer("a"), integer("b"), integer("c")],
        conditions=[{"type": "OR", "child": "c", "conditions": nested}],
    )
    assert "c : int[1, 9] = 5 when a > 3 or b in {1, 2} and b != 4" in text


def test_a_problem_has_the_line_of_its_value() -> None:
    found, (problem,) = read(hyperparameters=[integer("a"), real(lower=None)])
    assert found is None
    assert problem.code == "SL015"
    assert problem.primary.text.startswith("{")
    assert '"name": "x"' in problem.primary.text


def test_more_combinations_than_can_be_written() -> None:
    one_of = {"type": "OR", "clauses": [{"type": "EQUALS", "name": "a", "value": v} for v in (1, 2)]}
    found, (problem,) = read(hyperparameters=[integer("a")], forbiddens=[{"type": "AND", "clauses": [one_of] * 20}])
    assert found is None
    assert problem.code == "SL015"


def test_a_hyperparameter_stands_in_no_two_bodies_that_are_reached_together() -> None:
    """Below a value of one decision, or of another that may be taken beside it: it would be active twice."""
    decisions = [
        {"name": f"{name}:__choice__", "type": "categorical", "choices": ["a", "b"], "default_value": "a"}
        for name in ("first", "second")
    ]
    one_of = [
        {"type": "EQ", "child": "x", "parent": f"{name}:__choice__", "value": "a"} for name in ("first", "second")
    ]
    found, _ = read(
        hyperparameters=[*decisions, integer("x", upper=2, default_value=1)],
        conditions=[{"type": "OR", "child": "x", "conditions": one_of}],
    )
    assert found is not None
    assert parse(found.text).statistics.configurations == 2 * 3 + 1
    ours = found.decode({"first:__choice__": "a", "second:__choice__": "a", "x": 2})
    assert len(ours) == 3
