import math
from fractions import Fraction

import pytest

from spacelang.ir.expr import (
    INACTIVE,
    And,
    Arithmetic,
    BranchTest,
    Call,
    Compare,
    Constant,
    Expr,
    ExpressionValue,
    In,
    Not,
    Or,
    Reference,
    decisions_in_tests,
    evaluate,
    is_true,
    nodes,
    references,
)
from spacelang.ir.value import Value

WORTHS: dict[str, ExpressionValue] = {
    "s": "A",
    "unreached": INACTIVE,
    "off": INACTIVE,
    "one": 1,
    "zero": 0,
    "half": 0.5,
    "yes": True,
    "nothing": None,
    "word": "red",
    "pair": (1, 2),
}
OFF, ONE, ZERO, HALF, YES = (Reference(name) for name in ("off", "one", "zero", "half", "yes"))
NOTHING, WORD, PAIR = (Reference(name) for name in ("nothing", "word", "pair"))


def true(expression: Expr) -> bool:
    return is_true(expression, WORTHS.__getitem__)


@pytest.mark.parametrize("relation", ["==", "!=", "<", "<=", ">", ">="])
def test_an_atom_over_an_inactive_hyperparameter_is_false(relation: str) -> None:
    for other in (OFF, ONE, Constant(None)):
        assert not true(Compare(relation, OFF, other))  # type: ignore[arg-type]
        assert not true(Compare(relation, other, OFF))  # type: ignore[arg-type]
    assert not true(Compare(relation, Arithmetic("+", OFF, ONE), ONE))  # type: ignore[arg-type]
    assert not true(In(OFF, (None, 1)))
    assert not true(OFF)
    assert true(Not(Compare(relation, OFF, ONE)))  # type: ignore[arg-type]


def test_a_decision_that_is_not_reached_takes_no_branch() -> None:
    assert true(BranchTest("s", ("B", "A")))
    assert not true(BranchTest("s", ("B",)))
    assert not true(BranchTest("unreached", ("A",)))


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [(1, 1.0, True), (1, True, False), (0, False, False), (None, None, True), (None, 0, False), ("1", 1, False),
     ((1, 2), (1.0, 2), True), ((1,), (True,), False), ((1, 2), (1,), False)],
)  # fmt: skip
def test_equality_is_that_of_values(left: Value, right: Value, equal: bool) -> None:
    assert true(Compare("==", Constant(left), Constant(right))) is equal
    assert true(Compare("!=", Constant(left), Constant(right))) is not equal
    assert true(In(Constant(left), (right,))) is equal
    assert (Constant(left) == Constant(right)) is equal
    assert (In(ONE, (left,)) == In(ONE, (right,))) is equal


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("other", [NOTHING, WORD, YES, PAIR])
def test_only_numbers_have_an_order(relation: str, other: Expr) -> None:
    assert not true(Compare(relation, ONE, other))  # type: ignore[arg-type]
    assert not true(Compare(relation, other, other))  # type: ignore[arg-type]


def test_arithmetic_that_is_not_defined_makes_its_atom_false() -> None:
    for undefined in (
        Arithmetic("/", ONE, ZERO),
        Arithmetic("/", ONE, Arithmetic("-", Call("sqrt", (Constant(2),)), Call("sqrt", (Constant(2),)))),
        Call("sqrt", (Constant(Fraction(10**800 + 1, 3)),)),  # type: ignore[arg-type]
        Arithmetic("+", NOTHING, ONE),
        Arithmetic("+", YES, ONE),
        Call("sqrt", (Constant(-1),)),
        Call("log2", (ZERO,)),
        Call("floor", (Constant(math.inf),)),
        Call("min", (ONE, OFF)),
    ):
        assert evaluate(undefined, WORTHS.__getitem__) is INACTIVE
        assert not true(Compare("==", undefined, undefined))
        assert not true(Compare("!=", undefined, ONE))


def test_arithmetic_is_that_of_decimals_of_any_size() -> None:
    tenth, fifth = Constant(0.1), Constant(0.2)
    assert evaluate(Arithmetic("+", tenth, fifth), WORTHS.__getitem__) == Fraction(3, 10)
    assert true(Compare("==", Arithmetic("+", tenth, fifth), Constant(0.3)))
    assert true(In(Arithmetic("+", tenth, fifth), (0.3,)))
    assert true(Compare("==", Constant(1e23), Constant(10**23)))
    assert true(Compare("<", Constant(2**60), Constant(float(2**60))))  # which prints as 1.152921504606847e+18
    huge = Constant(1e308)
    assert true(Compare("==", Arithmetic("/", Arithmetic("*", huge, huge), huge), huge))
    assert true(Compare("<", Arithmetic("*", Constant(10**400), HALF), Constant(10**400)))


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (Call("sqrt", (Constant(0.09),)), Constant(0.3), 0),
        (Call("sqrt", (Constant(1e-300),)), Constant(1e-150), 0),
        (Call("log2", (Constant(0.125),)), Constant(-3), 0),
        (Call("sqrt", (Constant(2),)), Constant(1.41421356), 1),
        (Call("log2", (Constant(3),)), Constant(1.58496251), -1),
        (Call("log2", (Constant(1.000000001),)), Constant(1.44269e-09), 1),
        (Arithmetic("*", Call("sqrt", (Constant(2),)), Call("sqrt", (Constant(2),))), Constant(2), 0),
        (Call("ceil", (Call("sqrt", (Constant(2),)),)), Constant(2), 0),
        (Call("max", (Call("sqrt", (Constant(2),)), Constant(1.5))), Constant(1.5), 0),
    ],
)
def test_what_roots_and_logarithms_leave_undecided_counts_as_equal(left: Expr, right: Expr, order: int) -> None:
    held = [true(Compare(relation, left, right)) for relation in ("<", "<=", "==", "!=", ">=", ">")]  # type: ignore[arg-type]
    assert held == [order < 0, order <= 0, order == 0, order != 0, order >= 0, order > 0]


def test_functions_and_operations() -> None:
    assert true(Compare("==", Call("min", (ONE, HALF)), Constant(0.5)))
    assert true(Compare("==", Call("max", (ONE, HALF)), ONE))
    assert true(Compare("==", Call("ceil", (HALF,)), ONE))
    assert true(Compare("==", Call("floor", (HALF,)), ZERO))
    assert true(Compare("==", Call("sqrt", (Constant(4),)), Constant(2)))
    assert true(Compare("==", Call("log2", (Constant(8),)), Constant(3)))
    assert true(Compare("==", Arithmetic("-", ONE, HALF), HALF))
    assert true(Compare("==", Arithmetic("/", ONE, Constant(2)), HALF))


def test_connectives() -> None:
    true_, false = BranchTest("s", ("A",)), BranchTest("s", ("B",))
    assert true(And(()))
    assert not true(Or(()))
    assert true(And((true_, Not(false))))
    assert not true(And((true_, false)))
    assert true(Or((false, true_)))
    assert true(YES)
    assert not true(ONE)
    assert true(Constant(True))
    assert true(Compare("==", true_, Constant(True)))


def test_names_are_listed_once_in_the_order_of_mention() -> None:
    expression = And(
        (
            Compare("<", ONE, Arithmetic("+", HALF, ONE)),
            BranchTest("s", ("A",)),
            Not(In(ZERO, (1,))),
            BranchTest("s", ("B",)),
        )
    )
    assert references(expression) == ("one", "half", "zero")
    assert decisions_in_tests(expression) == ("s",)
    assert next(nodes(expression)) is expression
