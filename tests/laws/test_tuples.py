"""Laws of tuples of variable length: texts with a tuple parameter against brute force over its values."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import sqrt
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.expr import INACTIVE
from spacelang.ir.space import Operator, Space, operators
from spacelang.ir.tuple_parameters import tuple_value
from spacelang.ir.value import are_same_value
from spacelang.ir.walk import Assignment
from spacelang.report.code_writer import TUPLE_OF
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.space_text import space_to_text
from spacelang.syntax.printer import format_text
from spacelang.testing.small_spaces import BOOLEAN_STRATEGY, draw_integer, draw_one

ELEMENTS: dict[str, tuple[Any, ...]] = {
    "int[1, 3]": (1, 2, 3),
    "float[0, 1] step 0.5": (0.0, 0.5, 1.0),
    "bool": (True, False),
    "{a, none}": ("a", None),
}
"""Domains of elements with their values."""


@dataclass(frozen=True)
class Drawn:
    """A text whose operator `Net` has the parameter `units`, and all values of it; None where it is not active."""

    text: str
    values: Counter[Any]


@st.composite
def drawn_tuples(draw: st.DrawFn) -> Drawn:
    """Draw a tuple, perhaps with other values, a condition, and a constraint on its length and elements."""
    least = draw_integer(draw, 0, 2)
    greatest = draw_integer(draw, max(least, 1), 3)
    element = draw_one(draw, sorted(ELEMENTS))
    domain, others = f"tuple[{least}, {greatest}] of {element}", ()
    if draw(BOOLEAN_STRATEGY):
        domain, others = draw_one(draw, (f"{{x, none}} | {domain}", f"{domain} | {{x, none}}")), ("x", None)
    is_conditional, kind = draw(BOOLEAN_STRATEGY), draw_integer(draw, 0, 3)
    tuples = [each for k in range(least, greatest + 1) for each in product(ELEMENTS[element], repeat=k)]
    rule = ""
    if kind == 1 and greatest > least:
        rule, tuples = f"forbid length(units) == {greatest}", [each for each in tuples if len(each) < greatest]
    if kind == 2 and greatest > 1:
        # The constraint applies only where the second element is active.
        rule = "forbid units[1] == units[2]"
        tuples = [each for each in tuples if len(each) < 2 or each[0] != each[1] or type(each[0]) is not type(each[1])]
    if kind == 3 and others:
        rule, others = "require units != none", ("x",)
    default = draw_one(draw, (*tuples, *others)) if (*tuples, *others) else None
    text = f"""space drawn
abstract Net
stage estimator = Net {{
  wide  : bool = true
  units : {domain} = {spelled(default)}{" when wide" if is_conditional else ""}
  {rule}
}}
"""
    values = Counter[Any]([*tuples, *others] * (1 if is_conditional else 2))
    return Drawn(text, values + Counter([INACTIVE] if is_conditional else []))


def draws_of_tuples() -> st.SearchStrategy[tuple[Any, ...]]:
    """Return a strategy for tuples of up to four values, of which few are members."""
    return st.lists(st.sampled_from((1, 2, 0.5, True, "a", None, 7)), max_size=4).map(tuple)


def spelled(value: Any) -> str:
    """Return a value as a text writes it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(spelled, value))}{',' * (len(value) == 1)})"
    return (
        {True: "true", False: "false", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def value_of(space: Space, configuration: sl.Configuration) -> Any:
    """Return the value that the operator gets."""
    (net,) = (each for each in operators(space.root) if isinstance(each, Operator))
    return tuple_value(net.tuples[0], Assignment.from_configuration(space, configuration))


def exported_value(configuration: sl.Configuration) -> Any:
    """Return the value that the code of a compiled space makes of a configuration."""
    names: dict[str, Any] = {}
    exec(f"from collections.abc import Mapping\nfrom typing import Any\n{TUPLE_OF}", names)
    given = dict(configuration)
    if "estimator.units" in given and given["estimator.units"] != "tuple":
        return given["estimator.units"]
    return names["tuple_of"](given, "estimator.units") if "estimator.units.length" in given else INACTIVE


@given(drawn_tuples())
def test_the_members_are_the_tuples(drawn: Drawn) -> None:
    space = sl.parse(drawn.text)
    assert space.configurations == sum(drawn.values.values())
    configurations = [space.configuration(number) for number in range(space.configurations)]
    assert Counter(value_of(space.checked, each) for each in configurations) == drawn.values
    assert all(exported_value(each) == value_of(space.checked, each) for each in configurations)


@given(drawn_tuples(), draws_of_tuples())
def test_a_configuration_may_have_the_tuple_as_a_whole(drawn: Drawn, other: tuple[Any, ...]) -> None:
    space = sl.parse(drawn.text)
    for configuration in map(space.configuration, range(space.configurations)):
        value = value_of(space.checked, configuration)
        rest = {key: each for key, each in configuration.items() if not key.startswith("estimator.units")}
        whole = rest if value is INACTIVE else rest | {"estimator.units": value}
        assert space.nearest(whole).member == configuration
        assert space.exclusion(whole) is None
        is_member = value is not INACTIVE and any(map(partial(are_same_value, other), drawn.values))
        assert ((rest | {"estimator.units": [*other]}) in space) == is_member


@given(drawn_tuples())
def test_text_and_json_come_back(drawn: Drawn) -> None:
    space = sl.parse(drawn.text).checked
    assert space_from_json(space_to_json(space)) == space
    again = sl.parse(space_to_text(space)).checked
    assert (again.root, again.constraints) == (space.root, space.constraints)
    assert sl.parse(format_text(drawn.text)).checked == space


@given(drawn_tuples(), st.integers(0, 1000))
def test_lengths_are_drawn_evenly_given_the_constraints(drawn: Drawn, seed: int) -> None:
    space, draws = sl.parse(drawn.text), 400
    key = "estimator.units.length"
    found = Counter(each[key] for each in space.sample(draws, seed=seed) if key in each)
    lengths = Counter(len(each) for each in drawn.values if isinstance(each, tuple))
    assert found.keys() <= lengths.keys()
    if "forbid" not in drawn.text:
        total = sum(found.values())
        expected = total / len(lengths)
        assert all(abs(found[each] - expected) <= 6 * sqrt(expected) + 1 for each in lengths)
