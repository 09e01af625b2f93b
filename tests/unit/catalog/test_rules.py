"""What rules take: single values, whole ranges, and the words for it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.catalog.catalogue import Parameter
from spacelang.catalog.snapshot import load_catalogue
from spacelang.catalog.value_rules import (
    AllowedValues,
    Closed,
    HasMethods,
    InstanceOf,
    Interval,
    NumberKind,
    Rule,
    accepts_floats,
)

INF = math.inf
COUNT = Interval(NumberKind.INTEGER, 1, INF, "left")
SHARE = Interval(NumberKind.FLOAT, 0, 1, "right")
POSITIVE = Interval(NumberKind.REAL, 0, INF, "neither")


def ints(lower: int, upper: int, closed: Closed) -> Interval:
    return Interval(NumberKind.INTEGER, lower, upper, closed)


def parameter(*rules: Rule, named: tuple[str, ...] = ()) -> Parameter:
    return Parameter("p", None, rules, named)


@pytest.mark.parametrize(
    ("rule", "taken", "not_taken"),
    [
        (COUNT, [1, 2, 10**30], [0, 1.0, True, "1", None, INF]),
        (SHARE, [1.0, 0.5], [0.0, 1, 1.1, False, math.nan]),
        (POSITIVE, [1, 0.1], [0, 0.0, -1, INF, math.nan, True]),
        (Interval(NumberKind.REAL, 0, INF, "right"), [INF, 1], [0]),
        (AllowedValues(("a", True, None)), ["a", True, None], [1, "b", False]),
        (AllowedValues((INF,)), [INF], [-INF, "inf"]),
        (InstanceOf(("str",)), ["anything"], [1, None]),
        (InstanceOf(("int",)), [-3], [True, 1.0]),
        (InstanceOf(("float",)), [1.0], [1]),
        (InstanceOf(("number",)), [1, 1.5], [True, "1"]),
        (InstanceOf(("nan",)), [math.nan], [1.0, "nan"]),
        (InstanceOf(("list",)), [(1, 2)], [1, "ab"]),
        (InstanceOf(("array-like",)), [()], [None]),
        (InstanceOf(("dict", "callable", "ndarray")), [], [(), 1, "a", None]),
        (HasMethods(("fit",)), [], ["fit", None]),
    ],
)
def test_takes(rule: Rule, taken: list, not_taken: list) -> None:
    assert all(rule.accepts(value) for value in taken)
    assert not any(rule.accepts(value) for value in not_taken)


@pytest.mark.parametrize(
    ("rules", "lower", "upper", "options", "legal"),
    [
        ((COUNT,), 1, 10, {"integer": True}, True),
        ((COUNT,), 0, 10, {"integer": True}, False),
        ((COUNT,), 0, 10, {"integer": True, "lower_open": True}, True),
        ((COUNT,), 1.0, 10.0, {"integer": False}, False),
        ((POSITIVE,), 1, 10, {"integer": True}, True),
        ((POSITIVE,), 0.0, 1.0, {"integer": False}, False),
        ((POSITIVE,), 0.0, 1.0, {"integer": False, "lower_open": True}, True),
        ((SHARE,), 0.1, 1.0, {"integer": False}, True),
        ((SHARE,), 1, 1, {"integer": True}, False),
        ((COUNT, SHARE), 0.5, 2.0, {"integer": False}, False),
        ((COUNT, SHARE), 1, 5, {"integer": True}, True),
        ((Interval(NumberKind.REAL, 0, 1, "both"), Interval(NumberKind.REAL, 1, 2, "right")), 0, 2, {}, True),
        ((Interval(NumberKind.REAL, 0, 1, "left"), Interval(NumberKind.REAL, 1, 2, "right")), 0, 2, {}, False),
        ((Interval(NumberKind.REAL, 0, 1, "left"), Interval(NumberKind.REAL, 1, 2, "neither")), 0, 1, {}, False),
        ((ints(0, 3, "both"), ints(4, 9, "both")), 2, 6, {"integer": True}, True),
        ((ints(0, 3, "left"), ints(4, 9, "both")), 2, 6, {"integer": True}, False),
        ((ints(0, 3, "left"), AllowedValues((3,)), ints(4, 9, "both")), 2, 6, {"integer": True}, True),
        ((InstanceOf(("number",)),), -1e9, 1e9, {}, True),
        ((InstanceOf(("int",)),), -1, 1, {}, False),
        ((AllowedValues(("a", None)),), 0, 1, {}, False),
        ((HasMethods(("fit",)),), 0, 1, {}, False),
    ],
)  # fmt: skip
def test_rejects_range(rules: tuple, lower: float, upper: float, options: dict, legal: bool) -> None:
    rejected = parameter(*rules).check_range(lower, upper, **{"integer": False} | options)
    assert (rejected is None) == legal


BOUNDS = st.integers(-4, 4)
RULES = st.one_of(
    st.builds(
        Interval,
        st.sampled_from(NumberKind),
        BOUNDS,
        BOUNDS,
        st.sampled_from(["left", "right", "both", "neither"]),
    ),
    st.builds(AllowedValues, st.tuples(BOUNDS)),
)


@given(st.lists(RULES, max_size=4), BOUNDS, BOUNDS, st.booleans(), st.booleans(), st.booleans())
def test_a_range_is_legal_exactly_when_each_of_its_values_is(
    rules: list[Rule], lower: int, upper: int, integer: bool, lower_open: bool, upper_open: bool
) -> None:
    subject = parameter(*rules)
    # All bounds are integers, so the halves between them stand for everything else.
    grid = [half / 2 for half in range(-10, 11)]
    candidates = [int(x) for x in grid if x.is_integer()] if integer else grid
    above = [x for x in candidates if x > lower or (x == lower and not lower_open)]
    inside = [x for x in above if x < upper or (x == upper and not upper_open)]
    expected = all(subject.check_value(x) is None for x in inside)
    rejected = subject.check_range(lower, upper, integer=integer, lower_open=lower_open, upper_open=upper_open)
    if inside:
        assert (rejected is None) == expected


@pytest.mark.parametrize(
    ("rules", "named", "text"),
    [
        ((COUNT, AllowedValues((None,))), (), "an integer from 1 or `none`"),
        ((AllowedValues(("entropy", "gini", "log_loss")),), (), "one of `entropy`, `gini`, `log_loss`"),
        ((COUNT, SHARE, AllowedValues(("sqrt", None))), (), "an integer from 1, a float in (0, 1], `sqrt` or `none`"),
        ((AllowedValues((True, False)),), (), "`true` or `false`"),
        (
            (HasMethods(("fit", "predict")), AllowedValues((None,))),
            (),
            "an operator with `fit` and `predict` or `none`",
        ),
        ((InstanceOf(("callable",)),), ("chi2", "f_classif"), "`chi2` or `f_classif`"),
        ((InstanceOf(("Kernel",)), AllowedValues((None,))), (), "a kernel or `none`"),
        ((InstanceOf(("list", "str", "tuple")),), (), "a string or a tuple"),
        ((Interval(NumberKind.REAL, -INF, INF, "neither"),), (), "a number"),
        ((Interval(NumberKind.REAL, 0.5, 1.0, "both"),), (), "a number in [0.5, 1]"),
        ((AllowedValues((INF,)),), (), "`inf`"),
        ((InstanceOf(("dict",)),), (), "no value that a space can express"),
    ],
)  # fmt: skip
def test_expectations(rules: tuple, named: tuple, text: str) -> None:
    assert parameter(*rules, named=named).accepted_values_description == text


def test_a_long_list_is_cut() -> None:
    text = parameter(AllowedValues(tuple("abcdefghijklmno"))).accepted_values_description
    assert text.startswith("one of `a`, `b`, ")
    assert text.endswith(", `l` and 3 more")


def test_without_rules_every_literal_is_taken() -> None:
    undeclared = Parameter("p", None)
    assert undeclared.check_value("anything") is None
    assert undeclared.check_range(-1, 1, integer=False) is None
    assert undeclared.to_python((1, 2)) == (1, 2)


def test_a_refused_parameter_takes_nothing() -> None:
    refused = Parameter("p", None, refused="it takes code")
    for value in (None, 1, "a"):
        assert refused.check_value(value) == "no value, because it takes code"
        assert refused.refusal_reason(value) == "it takes code"
    assert refused.check_range(0, 1, integer=True) == "no value, because it takes code"


@pytest.mark.parametrize(
    ("types", "argument"), [(("list",), [1, 2]), (("list", "tuple"), (1, 2)), (("array-like",), (1, 2))]
)
def test_a_tuple_becomes_a_list_where_only_lists_are_taken(types: tuple, argument: object) -> None:
    assert parameter(InstanceOf(types)).to_python((1, 2)) == argument


def test_parameters_that_take_only_integers_accept_no_float_besides_whole_members_of_sets() -> None:
    entries = load_catalogue("sklearn").operators.values()
    parameters = [known for entry in entries for known in entry.parameters.values() if known.refused is None]
    for known in parameters:
        numbers = [0.5, 1.5, -1.5, 1e-9, 1.0, 2.0, 0.0, 1e6]
        members = {value for value in known.accepted_values if type(value) is int}
        accepted = [number for number in numbers if number not in members and known.check_value(number) is None]
        if known.takes_only_integers:
            assert not accepted, known.name
            assert any(known.check_value(number) is None for number in (*members, 0, 2, 1_000)), known.name
        elif accepted and known.accepts is not None:
            assert any(map(accepts_floats, known.accepts)), known.name
    assert 100 < sum(known.takes_only_integers for known in parameters) < len(parameters) / 2
