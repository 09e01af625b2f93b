"""Fixed values that are arithmetic: worked out exactly, and what the data makes of them."""

import pytest

from spacelang import api
from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.ir.space import Operator
from spacelang.ir.value import Value
from spacelang.serialization.space_text import space_to_text
from spacelang.syntax.printer import format_text
from spacelang.text import Source

SMALL = {"n_features": 30, "n_samples": 100}


def checked(body: str, bound: dict[str, int] | None = None) -> CheckResult:
    return check(Source("a.space", f"abstract net {{ {body} }}\nstage e = net"), CheckSettings(bound or {}))


def codes(body: str, bound: dict[str, int] | None = None) -> list[str]:
    return [each.code for each in checked(body, bound).diagnostics]


def fixed(body: str, bound: dict[str, int] | None = None) -> Value:
    found = checked(body, bound)
    assert found.space is not None, found.diagnostics
    assert not found.diagnostics
    operator = found.space.stages[0].branches[0].node
    assert isinstance(operator, Operator)
    ((_, value),) = operator.fixed
    assert not isinstance(value, Operator)
    return value  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2 * 3 + 4", 10),
        ("(4)", 4),
        ("-(-3)", 3),
        ("6 / 2", 3.0),
        ("1 / 3", 1 / 3),
        ("0.1 + 0.2", 0.3),
        ("2 * 0.5", 1.0),
        ("floor(2 * 0.75)", 1),
        ("ceil(sqrt(10))", 4),
        ("ceil(sqrt(n_features))", 6),
        ("n_features / n_samples", 0.3),
        ("n_features", 30),
        ('"n_features"', "n_features"),
        ("rbf", "rbf"),
        ("(1, 2)", (1, 2)),
    ],
)
def test_what_is_fixed_is_worked_out_exactly(written: str, value: Value) -> None:
    found = fixed(f"x = {written}", SMALL)
    assert (found, type(found)) == (value, type(value))


def test_what_has_no_limit_waits_for_the_data() -> None:
    assert fixed("x = min(10, n_features)") == 10
    for body in ("x = 2 * n_features", "x = n_samples / n_features", "y : bool, x = n_features when y"):
        found = checked(body)
        assert [each.code for each in found.diagnostics] == ["SL406"]
        assert found.provisional is not None
        assert checked(body, SMALL).space is not None


def test_names_of_the_data_are_no_strings_in_texts_that_are_written() -> None:
    space = api.parse('abstract net { x = "n_samples" }\nstage e = net')
    assert 'x = "n_samples"' in space_to_text(space.checked)


def test_a_constraint_that_names_what_the_data_decides_is_one_about_the_data() -> None:
    body = "x : int[1, 20] = 3, most = {}, forbid x > most"
    assert codes(body.format("30")) == ["SL503"]
    assert codes(body.format("n_features"), SMALL) == []
    alternatives = "abstract net {{ x : int[5, 20], most = {}, forbid x > most }}\nstage e = net | GaussianNB"
    for written, code in (("4", "SL505"), ("n_features", "SL407")):
        found = check(Source("a.space", alternatives.format(written)), CheckSettings({"n_features": 4}))
        assert [each.code for each in found.diagnostics] == [code]


def test_what_is_fixed_under_a_condition_is_a_hyperparameter_with_that_value() -> None:
    found = checked("y : bool = true, x = n_features / 4 when y, z : int[8, 9], require z < x", SMALL)
    assert found.space is not None
    (_, x, _) = found.space.hyperparameters
    assert (x.domain.size, x.default) == (1, 7.5)
    # Other data could make it larger: an alternative that it excludes is no mistake.
    text = "abstract net { x = n_features / 4 when n_samples > 5, require x > 9 }\nstage e = net | GaussianNB"
    excluded = check(Source("a.space", text), CheckSettings(SMALL))
    assert [each.code for each in excluded.diagnostics] == ["SL407"]


def test_the_layout_of_arithmetic() -> None:
    text = "abstract net { x=2*3,y=-(2)when a==b,log=(1,2), z=((2)+1)/3\n log=4 }"
    assert format_text(text) == (
        "abstract net { x = 2 * 3, y = -(2) when a == b, log = (1, 2), z = ((2) + 1) / 3, log = 4 }\n"
    )


@pytest.mark.parametrize("values", ["{3}", '{"3"}', "{w}", '{"a b"}', "{none, 3, true}", "{(1, 2)}", "{3} | int[5, 9]"])
def test_plain_alternatives_in_conditions_are_written_as_values(values: str) -> None:
    body = f"x : int[1, 2] = 1, p : abstract_b | {values} when x > 1"
    space = api.parse(f"abstract net\nabstract abstract_b\nstage e = net {{ {body} }} | abstract_b")
    again = api.parse(space_to_text(space.checked))
    assert again.configurations == space.configurations
    assert all(each in again for each in space.sample(20, seed=0))
