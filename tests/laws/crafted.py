"""Spaces made by hand, for what random ones seldom show."""

from collections.abc import Sequence

from spacelang.ir.domain import Domain, Grid
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Expr, Reference
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    Choice,
    Constraint,
    Hyperparameter,
    Operator,
    Product,
    ProductKind,
    Space,
)


def stage(name: str, *operators: Operator, with_none: bool = False) -> Choice:
    branches = tuple(Branch(operator.name, operator) for operator in operators)
    return Choice(name, name, name, ((Branch("none", SKIPPED_STEP),) if with_none else ()) + branches)


def parameter(stage: str, operator: str, name: str, domain: Domain, condition: Expr | None = None) -> Hyperparameter:
    return Hyperparameter(
        name, f"{stage}.{operator}.{name}", f"{stage}.{name}", domain, domain.representative, condition
    )


def space_of(*stages: Choice, constraints: Sequence[Constraint] = ()) -> Space:
    return Space("crafted", Product(ProductKind.SEQUENCE, stages), tuple(constraints))


def one(*domains: Domain, constraints: Sequence[Constraint] = ()) -> Space:
    """A space of one operator with the hyperparameters x0, x1, ..."""
    parameters = tuple(parameter("s", "A", f"x{place}", domain) for place, domain in enumerate(domains))
    return space_of(stage("s", Operator("A", "made", parameters)), constraints=constraints)


def x(number: int) -> Reference:
    return Reference(f"s.A.x{number}")


def forbid(expression: Expr) -> Constraint:
    return Constraint(expression, forbidden=True)


def require(expression: Expr) -> Constraint:
    return Constraint(expression, forbidden=False)


def plain(stage_name: str, *names: str) -> Choice:
    return stage(stage_name, *(Operator(name, "made") for name in names))


NESTED = Choice(
    "inner", "e.Boost.inner", "e.inner", tuple(Branch(n, Operator(n, "made")) for n in ("Tree", "Line", "Ridge"))
)
CRAFTED = {
    "free": space_of(plain("a", "A", "B", "C"), plain("b", "D", "E"), plain("c", "F", "G", "H")),
    "pairs": space_of(
        plain("a", "A", "B", "C"),
        plain("b", "D", "E"),
        plain("c", "F", "G", "H"),
        constraints=[
            forbid(And((BranchTest("a", ("A",)), BranchTest("b", ("D",))))),
            forbid(And((BranchTest("b", ("E",)), BranchTest("c", ("F", "G"))))),
        ],
    ),
    "nested": space_of(
        plain("a", "A", "B"),
        stage("e", Operator("Boost", "made", (NESTED,)), Operator("Tree", "made"), with_none=True),
        constraints=[forbid(And((BranchTest("a", ("A",)), BranchTest("e.Boost.inner", ("Line", "Ridge")))))],
    ),
    "values": space_of(
        stage(
            "a",
            Operator("A", "made", (parameter("a", "A", "n", Grid(1, 50)),)),
            Operator("B", "made"),
        ),
        plain("b", "C", "D"),
        # Only one of A's fifty values goes with C: the structure (A, C) still counts once.
        constraints=[forbid(And((Compare(">", Reference("a.A.n"), Constant(1)), BranchTest("b", ("C",)))))],
    ),
}
