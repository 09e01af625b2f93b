"""Laws of computed values: texts with `var`, `let`, `:=`, `sum`, `count`, `implies` and `**` against brute force."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.analysis import check
from spacelang.analysis.value_intervals import interval_of
from spacelang.ir import standalone_arithmetic
from spacelang.ir.computed_parameters import computed_value
from spacelang.ir.domain import Grid, Real, contains
from spacelang.ir.expr import INACTIVE, Arithmetic, Call, Constant, Expr, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Hyperparameter, Space, Variable
from spacelang.ir.walk import Assignment, computed_parameters
from spacelang.reductions.space_restriction import restrict_space
from spacelang.report.computed_parameter_code import ComputedParameterCodeWriter
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.counting import Structures
from spacelang.syntax.printer import format_text
from spacelang.testing.small_spaces import draw_integer, draw_one
from spacelang.text import Source

from .restrictions import restrictions

NAMES = ("a", "b", "c")
"""The hyperparameters of the drawn spaces: `a` of the whole space, `b` and `c` of the operator `made`."""
TARGETS = ("random", "mosaic", "configspace")


@dataclass(frozen=True)
class Written:
    """An expression in the language, and the same in Python over `Fraction`s and truth values.

    `has_quotient` is true if there is a division outside of `count`, so that a number is a float.
    """

    text: str
    python: str
    has_quotient: bool = False


def _number(draw: st.DrawFn, depth: int) -> Written:
    kind = draw_integer(draw, 0, 7) if depth else draw_integer(draw, 0, 1)
    if kind == 0:
        value = draw_integer(draw, 0, 3)
        return Written(f"{value}", f"Fraction({value})")
    if kind == 1:
        name = draw_one(draw, NAMES)
        return Written(name, name)
    if kind == 2:
        terms = [_truth(draw, depth - 1) for _ in range(draw_integer(draw, 1, 3))]
        python = f"Fraction(sum([{', '.join(term.python for term in terms)}]))"
        return Written(f"count({', '.join(term.text for term in terms)})", python)
    one, other = _number(draw, depth - 1), _number(draw, depth - 1)
    has_quotient = one.has_quotient or other.has_quotient
    if kind == 3:
        return Written(f"sum({one.text}, {other.text})", f"({one.python} + {other.python})", has_quotient)
    if kind == 4:
        exponent = draw_integer(draw, -1, 2)
        return Written(f"({one.text}) ** {exponent}", f"Fraction({one.python} ** {exponent})", one.has_quotient)
    sign = draw_one(draw, ("+", "-", "*", "/"))
    python = f"({one.python} {sign} {other.python})"
    return Written(f"(({one.text}) {sign} ({other.text}))", python, has_quotient or sign == "/")


def _truth(draw: st.DrawFn, depth: int) -> Written:
    kind = draw_integer(draw, 0, 4) if depth else 0
    if kind == 0:
        left, right = _number(draw, depth - 1 if depth else 0), _number(draw, 0)
        sign = draw_one(draw, ("==", "!=", "<", "<=", ">", ">="))
        python = f"holds(lambda: {left.python} {sign} {right.python})"
        return Written(f"{left.text} {sign} {right.text}", python)
    if kind == 1:
        return Written("e is other", "(e == 'other')")
    one, other = _truth(draw, depth - 1), _truth(draw, depth - 1)
    if kind == 2:
        return Written(f"(({one.text}) implies ({other.text}))", f"((not {one.python}) or {other.python})")
    word = draw_one(draw, ("and", "or"))
    return Written(f"(({one.text}) {word} ({other.text}))", f"({one.python} {word} {other.python})")


@dataclass(frozen=True)
class Drawn:
    """A text, and the Python of its constraint (over the whole space), its `let` and its computed value."""

    text: str
    domains: dict[str, list[int]]
    constraint: Written
    value: Written


@st.composite
def drawn_texts(draw: st.DrawFn) -> Drawn:
    """A space with three hyperparameters, a constraint and a computed value, which may use a `let`."""
    domains = {}
    for name in NAMES:
        lower = draw_integer(draw, -1, 2)
        domains[name] = [*range(lower, lower + draw_integer(draw, 1, 4))]
    named, inner = _number(draw, 2), _number(draw, 1)
    has_quotient = named.has_quotient or inner.has_quotient
    value = Written(f"named + ({inner.text})", f"({named.python} + {inner.python})", has_quotient)
    default = {name: values[0] for name, values in domains.items()}
    drawn = _truth(draw, 3)
    # The default satisfies the constraint, so that no text is refused because of it.
    constraint = Written(
        f"({drawn.text}) or ({' and '.join(f'{name} == {value}' for name, value in default.items())})",
        f"({drawn.python} or {' and '.join(f'{name} == {value}' for name, value in default.items())})",
    )
    ends = {name: f"int[{values[0]}, {values[-1]}] = {values[0]}" for name, values in domains.items()}
    text = f"""space drawn
var a : {ends["a"]}
abstract made
abstract other
stage e = made {{
  var b : {ends["b"]}
  c     : {ends["c"]}
  let named := {named.text}
  value := {value.text}
  require {constraint.text}
}} | other
"""
    return Drawn(text, domains, constraint, value)


def holds(test: Any) -> bool:
    try:
        return bool(test())
    except (ZeroDivisionError, ArithmeticError):
        return False


def environments(drawn: Drawn) -> Iterator[dict[str, Any]]:
    for values in product(*drawn.domains.values()):
        numbers = {name: Fraction(value) for name, value in zip(NAMES, values, strict=True)}
        yield {**numbers, "e": "made", "Fraction": Fraction, "holds": holds}


def evaluated(written: Written, environment: dict[str, Any]) -> Any:
    try:
        return eval(written.python, environment)
    except ZeroDivisionError:
        return None


def checked(drawn: Drawn) -> sl.Space | None:
    found = check(Source("drawn.space", drawn.text))
    if found.space is not None:
        return sl.parse(drawn.text)
    # The value is never defined.
    assert {each.code for each in found.diagnostics if each.severity == "error"} == {"SL511"}
    return None


def with_value(space: Space) -> Any:
    return next(iter(computed_parameters(space.root)), (None, ()))[0]


@given(drawn_texts())
def test_counts_and_values_are_those_of_brute_force(drawn: Drawn) -> None:
    space = checked(drawn)
    if space is None:
        return
    members = {}
    for environment in environments(drawn):
        if evaluated(drawn.constraint, environment):
            key = tuple(int(environment[name]) for name in NAMES)
            members[key] = evaluated(drawn.value, environment)
    assert space.counted.configuration_count == len(members) + len(drawn.domains["a"])
    computed = with_value(space.checked)
    found = {}
    for configuration in space.sample(60, seed=0):
        assert "e.value" not in configuration
        lookup = Assignment.from_configuration(space.checked, configuration)
        value = computed_value(computed.expression, lookup, space.checked.variables)
        if configuration["e"] == "made":
            found[configuration["a"], configuration["e.b"], configuration["e.c"]] = value
    for key, value in found.items():
        exact = members[key]
        assert (value is INACTIVE) == (exact is None)
        assert exact is None or value == (int(exact) if exact.denominator == 1 else float(exact))
        assert exact is None or isinstance(value, float) == (drawn.value.has_quotient or exact.denominator > 1)


@given(drawn_texts())
def test_texts_documents_and_code_keep_computed_values(drawn: Drawn) -> None:
    space = checked(drawn)
    if space is None:
        return
    assert space_from_json(space_to_json(space.checked)) == space.checked
    assert format_text(format_text(drawn.text)) == format_text(drawn.text)
    again = sl.parse(space_to_text(space.checked))
    before, after = with_value(space.checked), with_value(again.checked)
    assert again.counted.configuration_count == space.counted.configuration_count
    code = ComputedParameterCodeWriter.writers_by_address(space.checked)[before.address].value_code(before.expression)
    names = {name: getattr(standalone_arithmetic, name) for name in dir(standalone_arithmetic)}
    for configuration in space.sample(20, seed=1):
        values = [
            computed_value(each.expression, Assignment.from_configuration(there, configuration), there.variables)
            for each, there in ((before, space.checked), (after, again.checked))
        ]
        given_values = {**names, "given": dict(configuration)}
        written = standalone_arithmetic.defined_arguments(lambda: {"value": eval(code, given_values)})  # noqa: B023
        assert values[0] == values[1]
        if configuration["e"] == "made":
            assert written.get("value", INACTIVE) == values[0]


@given(drawn_texts(), st.data())
def test_a_restricted_space_has_the_same_members_and_computed_values(drawn: Drawn, data: st.DataObject) -> None:
    space = checked(drawn)
    if space is None:
        return
    restriction = data.draw(restrictions(space.checked))
    part = restrict_space(space.checked, restriction.branches, restriction.domains)
    by_key = {space.checked.variables[address].key: domain for address, domain in restriction.domains.items()}
    members = [
        each
        for each in map(space.configuration, range(space.configurations or 0))
        if each["e"] in restriction.branches.get("e", {each["e"]})
        and all(contains(domain, each[key]) for key, domain in by_key.items() if key in each)
    ]
    assert len(members) == (0 if part is None else Structures(part).configuration_count)
    for configuration in members:
        assert part is not None
        assert first_exclusion(part, configuration) is None
        if configuration["e"] == "made":
            assert value_in(part, configuration) == value_in(space.checked, configuration)


def value_in(space: Space, configuration: sl.Configuration) -> Any:
    """Return the computed value of a configuration; it is inactive if the space has none that is defined."""
    computed = with_value(space)
    if computed is None:
        return INACTIVE
    return computed_value(computed.expression, Assignment.from_configuration(space, configuration), space.variables)


@pytest.mark.parametrize("target", TARGETS)
@given(drawn=drawn_texts())
def test_decoding_an_encoded_configuration_returns_it(target: str, drawn: Drawn) -> None:
    space = checked(drawn)
    if space is None:
        return
    form = space.compile(target)
    for configuration in space.sample(10, seed=2):
        assert form.decode(form.encode(configuration)) == configuration
    for encoded in form.sample(10, np.random.default_rng(0)):
        assert form.decode(encoded) in space


RANGES = (Real(0.5, 2.0), Real(-1.0, 1.0), Real(0.0, 1.0, lower_open=True), Grid(1, 40), Grid(-3, 3))


def _arithmetic(draw: st.DrawFn, depth: int) -> Expr:
    if not depth:
        return Reference(draw_one(draw, ("x", "y"))) if draw(st.booleans()) else Constant(draw_one(draw, (2, 0.5, -1)))
    kind = draw_integer(draw, 0, 3)
    if kind == 0:
        function = draw_one(draw, ("ceil", "floor", "sqrt", "log2"))
        return Call(function, (_arithmetic(draw, depth - 1),))
    if kind == 1:
        return Call(draw_one(draw, ("min", "max")), (_arithmetic(draw, depth - 1), _arithmetic(draw, depth - 1)))
    if kind == 2:
        return Arithmetic("**", _arithmetic(draw, depth - 1), Constant(draw_one(draw, (0, 1, 2, 3, -1, 0.5))))
    sides = _arithmetic(draw, depth - 1), _arithmetic(draw, depth - 1)
    return Arithmetic(draw_one(draw, ("+", "-", "*", "/", "**")), *sides)


@given(st.data())
def test_an_interval_contains_all_values(data: st.DataObject) -> None:
    domains = [data.draw(st.sampled_from(RANGES)) for _ in "xy"]
    nodes = [
        Hyperparameter(name, name, name, domain, domain.representative)
        for name, domain in zip("xy", domains, strict=True)
    ]
    variables = {node.address: Variable(node, ()) for node in nodes}
    expression = data.draw(st.composite(_arithmetic)(2))
    interval = interval_of(expression, variables)
    if interval is None:
        return
    for _ in range(10):
        points = {node.address: data.draw(st.floats(0, 1)) for node in nodes}
        values = {n.address: _member_at(n.domain, points[n.address]) for n in nodes}
        value = computed_value(expression, values.__getitem__, variables)
        if value is not INACTIVE:
            number = standalone_arithmetic.to_exact_decimal(value)
            slack = abs(number) / 2**40  # irrational steps are rounded to floats
            assert interval.lower.number - slack <= number <= interval.upper.number + slack
            assert not interval.is_integral or number.denominator == 1


def _member_at(domain: Any, share: float) -> int | float:
    if isinstance(domain, Grid):
        return round(domain.lower + share * (domain.upper - domain.lower))
    number = domain.lower + share * (domain.upper - domain.lower)
    return min(max(number, domain.least), domain.greatest)
