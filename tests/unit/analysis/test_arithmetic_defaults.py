"""Steps and defaults that are arithmetic: worked out exactly, and drawn in where the data keeps them out."""

import pytest

from spacelang import api
from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.ir.value import Value
from spacelang.syntax.printer import format_text
from spacelang.text import Source

SMALL = {"n_features": 30, "n_samples": 100}


def checked(domain: str, bound: dict[str, int] | None = None) -> CheckResult:
    text = f"abstract net {{ x : {domain} }}\nstage e = net"
    return check(Source("a.space", text), CheckSettings(bound or {}))


def default(domain: str, bound: dict[str, int] | None = None) -> Value:
    found = checked(domain, bound)
    assert found.space is not None, found.diagnostics
    assert not found.diagnostics
    (node,) = found.space.hyperparameters
    return node.default


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        ("int[1, 20] = 2 * 3 + 4", 10),
        ("int[1, 20] = (4)", 4),
        ("int[1, 20] = -(-3)", 3),
        ("int[1, 20] = ceil(sqrt(10))", 4),
        ("float[0, 1] = 1 / 3", 1 / 3),
        ("float[0, 1] step 0.1 = 0.1 + 0.2", 0.3),
        ("{0.3, 0.5} = 3 * 0.1", 0.3),
        ("{n_features, b} = n_features", "n_features"),
        ("{rbf, poly} = `poly`", "poly"),
        ("int[0, 64] step 2 * 4 = 2 * 8", 16),
        ("float[0, 1] step 1 / 8 = 3 / 8", 0.375),
    ],
)
def test_arithmetic_is_worked_out_exactly(domain: str, value: Value) -> None:
    assert default(domain) == value


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        ("int[1, 100] = 2 * n_features / 4", 15),
        ("int[1, 20] = ceil(sqrt(n_features))", 6),
        ("int[1, 20] = n_features", 20),
        ("int[50, 90] = n_features", 50),
        ("int[1, 100] = n_features / 4", 7),
        ("{auto} | int[1, n_features - 1] = n_features", 29),
        ("float[0, 1] = n_features / n_samples", 0.3),
    ],
)
def test_what_the_data_says_is_drawn_in(domain: str, value: Value) -> None:
    assert default(domain, SMALL) == value


def test_unbound_data_is_arbitrarily_large() -> None:
    assert default("int[1, 20] = n_features / 4") == 20
    assert default("float[0, 1] = 1 / n_features") == 0


def test_what_needs_the_data_waits_for_it() -> None:
    found = checked("int[1, 20] = n_samples / n_features")
    assert [each.code for each in found.diagnostics] == ["SL406"]
    assert found.provisional is not None
    assert default("int[1, 20] = n_samples / n_features", SMALL) == 3


def test_a_default_that_the_data_moves_into_a_clause_moves_on() -> None:
    text = "abstract net {{ x : int[1, 20] = {}, forbid x > 12 }}\nstage e = net"
    source = Source("a.space", text.format("n_features"))
    moved = check(source, CheckSettings({"n_features": 15}))
    assert not moved.diagnostics
    assert moved.space is not None
    assert moved.space.hyperparameters[0].default <= 12  # type: ignore[operator]
    fixed = check(Source("a.space", text.format("5 * 3")), CheckSettings({}))
    assert [each.code for each in fixed.diagnostics] == ["SL507"]


def test_the_layout_of_arithmetic() -> None:
    text = "abstract net { x:{((1,2),3)}=((1,2),3), y : int[0,64]step 2*4=- 3+(2), z:{(1,)} = ((1,)) }"
    assert format_text(text) == (
        "abstract net {\n  x : {((1, 2), 3)} = ((1, 2), 3)\n  y : int[0, 64] step 2 * 4 = -3 + (2)\n"
        "  z : {(1,)} = ((1,))\n}\n"
    )


def test_a_compiled_space_has_the_numbers() -> None:
    space = api.parse(
        "abstract net { x : int[0, 64] step 2 * 4 = 2 * n_features }\nstage e = net", bind={"n_features": 4}
    )
    (node,) = space.checked.hyperparameters
    assert (node.default, len(list(space.sample(3, seed=1)))) == (8, 3)
