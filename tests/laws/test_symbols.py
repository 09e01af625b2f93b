"""Bounds and conditions that depend on the data: bound they are what Python makes of them, unbound they are limits."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import Grid
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Hyperparameter
from spacelang.solver.defaults import default_configuration
from spacelang.text import Source

from .settings import LAW

HUGE = dict.fromkeys(DATA_SIZE_NAMES, 10**9)


@dataclass(frozen=True)
class Arithmetic:
    """An expression as text, and what Python says that it is."""

    text: str
    value: Callable[[Mapping[str, int]], Fraction]

    @property
    def mentions(self) -> bool:
        return any(symbol in self.text for symbol in DATA_SIZE_NAMES)


def number(value: Fraction | float) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def unary(name: str, function: Callable[[Fraction], float], inner: Arithmetic) -> Arithmetic:
    return Arithmetic(f"{name}({inner.text})", lambda bound: number(function(inner.value(bound))))


def binary(sign: str, left: Arithmetic, right: Arithmetic) -> Arithmetic:
    def value(bound: Mapping[str, int]) -> Fraction:
        one, other = left.value(bound), right.value(bound)
        return {
            "+": lambda: one + other,
            "-": lambda: one - other,
            "*": lambda: one * other,
            "/": lambda: one / other,
            "min": lambda: min(one, other),
            "max": lambda: max(one, other),
        }[sign]()

    text = f"{sign}({left.text}, {right.text})" if sign in ("min", "max") else f"({left.text} {sign} {right.text})"
    return Arithmetic(text, value)


def constants() -> st.SearchStrategy[Arithmetic]:
    return st.sampled_from(["0", "1", "2", "3", "7", "10", "0.1", "0.5", "2.5", "100"]).map(
        lambda text: Arithmetic(text, lambda _: Fraction(text))
    )


def symbols() -> st.SearchStrategy[Arithmetic]:
    return st.sampled_from(DATA_SIZE_NAMES).map(lambda name: Arithmetic(name, lambda bound: Fraction(bound[name])))


def arithmetic() -> st.SearchStrategy[Arithmetic]:
    functions = {"ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "log2": math.log2}
    return st.recursive(
        constants() | symbols(),
        lambda inner: (
            st.builds(binary, st.sampled_from(["+", "-", "*", "/", "min", "max"]), inner, inner)
            | st.builds(lambda name, term: unary(name, functions[name], term), st.sampled_from([*functions]), inner)
        ),
        max_leaves=5,
    )


def growing() -> st.SearchStrategy[Arithmetic]:
    """Expressions over symbols that grow with each of them, beyond everything."""
    return st.recursive(
        symbols(),
        lambda inner: (
            st.builds(partial(binary, "*"), inner, constants().filter(lambda c: c.text != "0"))
            | st.builds(binary, st.sampled_from(["+", "-", "max"]), inner, constants())
            | st.builds(partial(binary, "min"), inner, inner)
            | st.builds(partial(unary, "sqrt", math.sqrt), symbols())
        ),
        max_leaves=4,
    )


def bindings() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({name: st.integers(1, 50) for name in DATA_SIZE_NAMES})


def checked(text: str, bound: Mapping[str, int]) -> CheckResult:
    return check(Source("law.space", text), CheckSettings(bound))


def codes(found: CheckResult) -> list[str]:
    return [diagnostic.code for diagnostic in found.diagnostics]


def only(found: CheckResult) -> Hyperparameter:
    assert found.space is not None, found.diagnostics
    (node,) = found.space.hyperparameters
    return node


@settings(LAW)
@given(arithmetic(), arithmetic(), bindings())
def test_a_bound_range_is_what_python_makes_of_its_bounds(
    lower: Arithmetic, upper: Arithmetic, bound: dict[str, int]
) -> None:
    found = checked(f"stage e = SVC {{ coef0 : int[{lower.text}, {upper.text}] }}", bound)
    try:
        ends = lower.value(bound), upper.value(bound)
    except (ZeroDivisionError, ValueError):
        assert "SL405" in codes(found)
        return
    if any(end.denominator != 1 and not side.mentions for side, end in zip((lower, upper), ends, strict=True)):
        assert "SL405" in codes(found)
        return
    start, end = math.ceil(ends[0]), math.floor(ends[1])
    if start > end:
        assert codes(found) == ["SL403"]
        (problem,) = found.diagnostics
        mentioned = next((side for side in (upper, lower) if side.mentions), None)
        if mentioned is not None:
            assert problem.primary.text.strip("()") in mentioned.text
        return
    domain = only(found).domain
    assert isinstance(domain, Grid)
    assert (domain.lower, domain.upper) == (start, end)


@settings(LAW)
@given(st.integers(0, 50), st.integers(1, 100), growing())
def test_unbound_is_the_limit(start: int, most: int, grows: Arithmetic) -> None:
    limited = f"stage e = SVC {{ coef0 : int[{start}, min({start + most}, {grows.text})] = {start} }}"
    unbound = checked(limited, {})
    assert unbound.space is not None, unbound.diagnostics
    assert unbound.space.root == checked(limited, HUGE).space.root  # type: ignore[union-attr]
    assert all(value is None for value in unbound.symbols.values())
    without = f"stage e = SVC {{ coef0 : int[{start}, {grows.text}] = {start} }}"
    assert set(codes(checked(without, {}))) == {"SL406"}


@settings(LAW)
@given(st.integers(-5, 5), st.integers(0, 40), st.integers(1, 7), st.integers(0, 40), st.integers(1, 50))
def test_a_default_that_the_data_keeps_out_is_drawn_in(
    low: int, width: int, step: int, default: int, rows: int
) -> None:
    assume(low <= rows)
    text = f"stage e = SVC {{ coef0 : int[{low}, min({low + width}, n_samples)] step {step} = {low + default} }}"
    found, wide = checked(text, {"n_samples": rows}), range(low, low + width + 1, step)
    if low + default not in wide:
        assert codes(found) == ["SL401"]
        return
    members = range(low, min(low + width, rows) + 1, step)
    chosen = only(found).default
    assert chosen in members
    assert abs(chosen - low - default) == min(abs(member - low - default) for member in members)  # type: ignore[operator]


@settings(LAW)
@given(constants() | growing(), constants() | growing(), st.integers(0, 60), bindings())
def test_a_default_that_some_data_lets_in_is_drawn_in_whichever_bound_keeps_it_out(
    lower: Arithmetic, upper: Arithmetic, default: int, bound: dict[str, int]
) -> None:
    start, end = math.ceil(lower.value(bound)), math.floor(upper.value(bound))
    least, most = lower.value(dict.fromkeys(DATA_SIZE_NAMES, 1)), upper.value(HUGE)
    assume(start <= end and least <= most)
    assume(all(side.mentions or side.value(bound).denominator == 1 for side in (lower, upper)))
    found = checked(f"stage e = SVC {{ coef0 : int[{lower.text}, {upper.text}] = {default} }}", bound)
    if least <= default <= most:
        assert only(found).default == max(start, min(default, end))
    else:
        assert codes(found) == ["SL401"]


@settings(LAW)
@given(arithmetic(), arithmetic(), arithmetic(), bindings())
def test_what_is_sound_for_some_data_is_not_refused_before_the_data_is_known(
    lower: Arithmetic, upper: Arithmetic, limit: Arithmetic, bound: dict[str, int]
) -> None:
    text = f"stage e = SVC {{ coef0 : int[{lower.text}, {upper.text}] }}\nrequire e.SVC.coef0 < {limit.text}"
    assume(not any(error.startswith("SL4") or error == "SL506" for error in codes(checked(text, bound))))
    unbound = checked(text, {})
    assert unbound.space is not None or unbound.provisional is not None, unbound.diagnostics


@settings(LAW)
@given(arithmetic(), st.sampled_from(["<", "<=", "==", "!="]), bindings())
def test_what_is_fixed_stands_for_what_it_is_made_of(value: Arithmetic, relation: str, bound: dict[str, int]) -> None:
    body = "abstract net {{ k : int[1, 20], x = {}, require k {} {} }}\nstage e = net | GaussianNB"
    found = checked(body.format(value.text, relation, "x"), bound)
    try:
        value.value(bound)
    except (ZeroDivisionError, ValueError):
        assert codes(found) == ["SL101"]
        return
    same = checked(body.format(0, relation, value.text), bound)
    assert codes(found) == codes(same)
    if found.structures is not None and same.structures is not None:
        assert found.structures.configuration_count == same.structures.configuration_count


@settings(LAW)
@given(
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    arithmetic().filter(lambda side: side.mentions),
    st.integers(1, 3),
    st.integers(-5, 5),
    bindings(),
)
def test_a_bound_constraint_holds_where_python_says_so(
    relation: str, right: Arithmetic, factor: int, shift: int, bound: dict[str, int]
) -> None:
    compare = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__", "==": "__eq__", "!=": "__ne__"}[relation]
    rule = f"require e.SVC.coef0 * {factor} + {shift} {relation} {right.text}"
    found = checked(f"stage e = SVC {{ coef0 : int[1, 20] }} | GaussianNB\n{rule}", bound)
    try:
        value = right.value(bound)
        assume(value.denominator == 1)  # Others are as exact as floats are.
        holds = [k for k in range(1, 21) if getattr(Fraction(k * factor + shift), compare)(value)]
    except (ZeroDivisionError, ValueError):
        holds = []
    assert codes(found) == ([] if holds else ["SL407"])
    assert found.space is not None
    assert found.structures is not None
    assert found.structures.configuration_count == len(holds) + 1
    # The default moves as far as it must: to another value, or to another alternative where none is left.
    usual = default_configuration(found.space)
    assert first_exclusion(found.space, usual) is None
    assert usual["e"] == ("SVC" if holds else "GaussianNB")
    if 10 in holds:
        assert usual["e.coef0"] == 10


@settings(LAW)
@given(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), growing(), st.integers(1, 3))
def test_an_unbound_constraint_is_the_limit(relation: str, right: Arithmetic, factor: int) -> None:
    text = (
        f"stage e = GaussianNB | SVC {{ coef0 : int[1, 20] }}\nrequire e.SVC.coef0 * {factor} {relation} {right.text}"
    )
    unbound, bound = checked(text, {}), checked(text, HUGE)
    assert codes(unbound) == []
    assert unbound.structures is not None
    assert bound.structures is not None
    assert unbound.structures.configuration_count == bound.structures.configuration_count
