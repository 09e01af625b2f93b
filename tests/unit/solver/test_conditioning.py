"""What conditions and constraints say once decisions are taken."""

from spacelang.ir.domain import Categorical, Grid
from spacelang.ir.expr import ActivityTest, And, BranchTest, Compare, Constant, Expr, Not, Or, Reference
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
from spacelang.solver.conditioning_on_decisions import ComponentConditioner, condition_on_decisions

KIND = Hyperparameter("kind", "e.A.kind", "e.kind", Categorical(("x", "y")), "x")


def space_of(*constraints: Constraint, condition: Expr | None = None) -> Space:
    scaler = Choice(
        "s", "s", "s", (Branch("none", SKIPPED_STEP), Branch("S", Operator("S", "made")), Branch("T", SKIPPED_STEP))
    )
    n = Hyperparameter("n", "e.A.n", "e.n", Grid(1, 9), 1, condition)
    estimator = Choice("e", "e", "e", (Branch("A", Operator("A", "made", (KIND, n))), Branch("B", SKIPPED_STEP)))
    return Space("made", Product(ProductKind.SEQUENCE, (scaler, estimator)), constraints)


def left(space: Space, **taken: str) -> Space:
    members = [variable for variable in space.variables.values() if isinstance(variable.node, Hyperparameter)]
    return condition_on_decisions(members, space.constraints, taken)


N_IS_LARGE = Compare(">", Reference("e.A.n"), Constant(3))
IS_X = Compare("==", Reference("e.A.kind"), Constant("x"))


def test_decisions_become_true_or_false() -> None:
    space = space_of(Constraint(And((BranchTest("s", ("none",)), N_IS_LARGE)), forbidden=True))
    assert left(space, s="none", e="A").constraints == (Constraint(N_IS_LARGE, forbidden=True),)
    assert left(space, s="S", e="A").constraints == ()
    nothing = left(space, s="none", e="B")
    assert nothing.constraints == ()
    assert nothing.hyperparameters == ()


def test_a_condition_on_a_decision_goes_or_takes_its_hyperparameter_along() -> None:
    space = space_of(condition=And((Not(BranchTest("s", ("S", "T"))), IS_X)))
    assert [node.condition for node in left(space, s="none", e="A").hyperparameters] == [None, IS_X]
    assert [node.key for node in left(space, s="T", e="A").hyperparameters] == ["e.kind"]


def test_a_constraint_still_applies_only_where_what_it_named_is_active() -> None:
    said = Or((BranchTest("s", ("S",)), N_IS_LARGE))
    space = space_of(Constraint(said, forbidden=True), condition=IS_X)
    # With S it is forbidden wherever n is active, although nothing of it says so any more.
    kept = Or((Not(And((ActivityTest("e.A.n"),))), Not(Constant(True))))
    assert left(space, s="S", e="A").constraints == (Constraint(kept, forbidden=False),)


def test_branches_that_a_component_cannot_tell_apart_are_one_situation() -> None:
    space = space_of(Constraint(And((BranchTest("s", ("S",)), N_IS_LARGE)), forbidden=True), condition=IS_X)
    conditioning = ComponentConditioner(space)
    (component,) = conditioning.by_context[("e", "A"),]
    assert conditioning.relevant_branch_classes(component, {"s": "none"}) == conditioning.relevant_branch_classes(
        component, {"s": "T"}
    )
    assert conditioning.relevant_branch_classes(component, {"s": "none"}) != conditioning.relevant_branch_classes(
        component, {"s": "S"}
    )
    (concern,) = conditioning.dependencies_on("e")
    assert (concern.component, concern.below, concern.others) == (component, "A", ())
