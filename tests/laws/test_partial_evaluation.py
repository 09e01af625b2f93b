"""What is left of an expression once some of it is known says the same as before."""

from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import (
    Arithmetic,
    BranchTest,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
    is_true,
    mentioned_addresses,
)
from spacelang.ir.partial_evaluation import UNKNOWN, KnownValues, assume_inactive, partially_evaluate
from spacelang.ir.space import Space
from spacelang.ir.walk import Assignment

from . import brute
from .settings import LAW
from .spaces import finite_spaces

FEW = 4
"""How many members of one space are looked at."""

N, M = Reference("n"), Reference("m")
HALF = Arithmetic("/", N, Constant(2))


@settings(LAW)
@drawn(finite_spaces(), st.data())
def test_whatever_is_known_an_expression_holds_where_it_held(space: Space, data: st.DataObject) -> None:
    conditions = (node.condition for node in space.hyperparameters if node.condition is not None)
    said = [*conditions, *(constraint.expression for constraint in space.constraints)]
    for document in sorted(brute.configurations(space))[:FEW]:
        member = Assignment.from_configuration(space, Configuration.from_json(document))
        known = data.draw(st.sets(st.sampled_from([*space.variables] or [""])))
        for expression in said:
            rest = partially_evaluate(expression, partly(member, known))
            assert is_true(rest, member) == is_true(expression, member)
            assert known.isdisjoint(mentioned_addresses(rest))
            assert partially_evaluate(expression, member) == Constant(is_true(expression, member))


def partly(member: Assignment, known: set[str]) -> KnownValues:
    return lambda address: member(address) if address in known else UNKNOWN


def left(expression: Expr, **known: int | str) -> Expr:
    return partially_evaluate(expression, lambda each: known.get(each, UNKNOWN))


def test_tests_of_what_is_known_are_worked_out() -> None:
    small = Compare("<", HALF, M)
    assert left(Or((BranchTest("s", ("A",)), small)), s="B") == small
    assert left(Or((BranchTest("s", ("A",)), small)), s="A") == Constant(True)
    assert left(small, n=4) == Compare("<", Arithmetic("/", Constant(4), Constant(2)), M)
    assert left(small, n=3, m=2) == Constant(True)
    assert left(small, n="auto") == Constant(False)
    assert assume_inactive(Not(small), {"m"}) == Constant(True)
    assert assume_inactive(Compare("==", In(N, (1,)), In(M, (1,))), {"n"}) == Compare(
        "==", Constant(False), In(M, (1,))
    )
