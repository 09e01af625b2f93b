from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trying import few

from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, contains
from spacelang.ir.expr import Arithmetic, Call, Compare, Constant, Expr, Reference
from spacelang.solver.fourier_motzkin import Inequality, SearchTooLongError, solve_inequalities
from spacelang.solver.linear_inequalities import (
    find_feasible_values,
    inequalities_for,
    is_feasible_system,
    linear_difference,
    linear_form,
)

A, B, C = (Reference(name) for name in "abc")
UNIT = Real(0.0, 1.0)


def can(cells: dict[str, SimpleDomain], *atoms: Compare) -> bool:
    forms = [(atom, linear_difference(atom)) for atom in atoms]
    return is_feasible_system(
        cells, [inequalities_for(atom.relation, form, True) for atom, form in forms if form is not None]
    )


def test_linear_forms() -> None:
    form = linear_form(
        Arithmetic("-", Arithmetic("*", Constant(2), A), Arithmetic("/", Arithmetic("+", B, Constant(1)), Constant(4)))
    )
    assert form is not None
    assert form.factors == {"a": 2, "b": Fraction(-1, 4)}
    assert form.constant == Fraction(-1, 4)
    same = linear_difference(Compare("<", A, A))
    assert same is not None
    assert (same.factors, same.roots) == ({}, ())
    decimal = linear_difference(Compare("<", Arithmetic("*", A, Constant(3)), Constant(0.9)))
    assert decimal is not None
    assert decimal.roots == (Fraction(3, 10),)
    one = linear_form(Call("min", (A,)))
    assert one is not None
    assert one.factors == {"a": 1}


@pytest.mark.parametrize(
    "expression",
    [Arithmetic("*", A, B), Arithmetic("/", Constant(1), A), Arithmetic("/", A, Constant(0)), Call("sqrt", (A,)),
     Call("min", (A, B)), Constant(None), Constant("x"), Constant(True), Constant(float("inf"))],
)  # fmt: skip
def test_what_is_not_linear(expression: Expr) -> None:
    assert linear_form(expression) is None


def test_contradictions_are_infeasible() -> None:
    cells: dict[str, SimpleDomain] = {"a": UNIT, "b": UNIT}
    assert can(cells, Compare("<", A, B))
    assert not can(cells, Compare("<", A, B), Compare("<", B, A))
    assert not can(cells, Compare("<", A, B), Compare("<=", B, A))
    assert can(cells, Compare("<=", A, B), Compare("<=", B, A))
    assert not can(cells, Compare("<=", A, B), Compare("<=", B, A), Compare("!=", A, B))
    assert not can(cells, Compare("==", A, B), Compare("!=", A, B))


def test_strictness_at_the_ends() -> None:
    low, high = Real(0.0, 0.5), Real(0.5, 1.0)
    assert not can({"a": low, "b": high}, Compare(">", A, B))
    assert can({"a": low, "b": high}, Compare(">=", A, B))
    assert not can({"a": Real(0.0, 0.5, upper_open=True), "b": high}, Compare(">=", A, B))
    assert not can({"a": low, "b": Real(0.5, 1.0, lower_open=True)}, Compare(">=", A, B))


def test_scales_far_apart_stay_exact() -> None:
    tiny, great = Real(0.0, 1e-12), Real(-1e12, 1e12)
    assert can({"a": tiny, "b": tiny, "c": great}, Compare("<", A, B), Compare("<", B, C))
    assert not can({"a": Real(1e-12, 2e-12), "b": tiny, "c": great}, Compare("<", A, B))


def test_integers_are_integers() -> None:
    wide = Grid(1, 10**9)
    assert not can({"a": wide, "b": wide}, Compare("<", A, B), Compare("<", B, Arithmetic("+", A, Constant(1))))
    assert not can(
        {"a": wide, "b": wide},
        Compare("==", Arithmetic("*", Constant(2), A), Arithmetic("+", Arithmetic("*", Constant(2), B), Constant(1))),
    )
    assert can({"a": wide, "b": UNIT}, Compare("<", A, Arithmetic("+", B, Constant(1.5))))
    even, odd = Grid(0, 10**6, step=2), Grid(1, 10**6 + 1, step=2)
    assert not can({"a": even, "b": odd}, Compare("==", A, B))
    grid = Grid(0.0, 0.3, step=0.1)
    assert can({"a": grid, "b": Categorical((0.3,))}, Compare("==", A, B))
    assert not can({"a": grid, "b": Categorical((0.25,))}, Compare("==", A, B))


def test_a_witness_lies_in_its_cells_and_away_from_their_ends() -> None:
    found = find_feasible_values({"a": UNIT, "b": Grid(0, 9), "c": Categorical((2,))}, [])
    assert found == {"a": 0.5, "b": 4, "c": 2}


NUMBERS = st.integers(-3, 3)


@settings(max_examples=few(300), deadline=None)
@given(
    st.lists(
        st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(("<", "<=", "==", "!=", ">", ">="))), max_size=4
    )
)
def test_integer_systems_equal_brute_force(atoms: list[tuple[int, int, int, int, str]]) -> None:
    cells: dict[str, SimpleDomain] = {"a": Grid(-2, 2), "b": Grid(0, 6, step=2), "c": Grid(1, 3)}

    def side(p: int, q: int, r: int) -> Expr:
        terms = [Arithmetic("*", Constant(f), name) for f, name in ((p, A), (q, B), (r, C))]
        return Arithmetic("+", Arithmetic("+", terms[0], terms[1]), terms[2])

    compares = [Compare(relation, side(p, q, r), Constant(c)) for p, q, r, c, relation in atoms]  # type: ignore[arg-type]
    tests = {"<": int.__lt__, "<=": int.__le__, "==": int.__eq__, "!=": int.__ne__, ">": int.__gt__, ">=": int.__ge__}
    points = product(range(-2, 3), (0, 2, 4, 6), range(1, 4))
    expected = any(all(tests[o](p * a + q * b + r * c, k) for p, q, r, k, o in atoms) for a, b, c in points)
    assert can(cells, *compares) is expected


@settings(max_examples=few(200), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.booleans(), NUMBERS), max_size=5))
def test_witnesses_satisfy_their_system(chosen: list[tuple[str, str, bool, int]]) -> None:
    cells: dict[str, SimpleDomain] = {"a": Real(0.0, 1.0, lower_open=True), "b": Real(-1.0, 2.0), "c": Grid(0, 3)}
    atoms = [
        Compare("<" if strict else "<=", Reference(p), Arithmetic("+", Reference(q), Constant(shift / 4)))
        for p, q, strict, shift in chosen
    ]
    found = find_feasible_values(
        cells, [inequalities_for(atom.relation, form, True) for atom in atoms if (form := linear_difference(atom))]
    )
    if found is None:
        # Infeasible by a cycle of differences, which a fine grid would have shown otherwise.
        grid = product([i / 16 for i in range(1, 17)], [i / 16 for i in range(-16, 33)], range(4))
        assert not any(
            all(v[p] < v[q] + s / 4 if t else v[p] <= v[q] + s / 4 for p, q, t, s in chosen)
            for a, b, c in grid
            for v in [{"a": a, "b": b, "c": c}]
        )
        return
    assert all(contains(cells[name], value) for name, value in found.items())
    for p, q, strict, shift in chosen:
        left, right = Fraction(found[p]), Fraction(found[q]) + Fraction(shift, 4)  # type: ignore[arg-type]
        assert left < right if strict else left <= right


def test_a_search_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.solver.fourier_motzkin.MAX_BRANCHINGS", 1)
    one = Fraction(1)
    # 3x + w = 2y with w between 0.5 and 1: the middle that is looked at first is not whole.
    bounds = [row for n in "xy" for row in (Inequality({n: -one}, Fraction(-1)), Inequality({n: one}, Fraction(-9)))]
    bounds += [Inequality({"w": -one}, Fraction(1, 2)), Inequality({"w": one}, -one)]
    sides = {"x": Fraction(3), "y": Fraction(-2), "w": one}
    equal = [Inequality(sides, Fraction(0)), Inequality({n: -f for n, f in sides.items()}, Fraction(0))]
    with pytest.raises(SearchTooLongError):
        solve_inequalities([*bounds, *equal, Inequality({"x": one, "y": -one}, Fraction(7, 2))], frozenset("xy"))
