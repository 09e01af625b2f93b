"""Whether statements can be true and false, on a space that can be overlooked."""

import pytest

from spacelang.ir.domain import BOOLEANS, Categorical, Grid, Real
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Expr, In, Not, Reference
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
    Variable,
)
from spacelang.solver import satisfiability
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.model import SolverModel
from spacelang.solver.satisfiability import ExpressionInContext, possible_truths, possible_truths_of_all

Variables = dict[str, Variable]


def hyperparameter(address: str, domain: object, condition: Expr | None = None) -> Hyperparameter:
    return Hyperparameter(address.rsplit(".", 1)[-1], address, address, domain, domain.representative, condition)  # type: ignore[attr-defined,arg-type]


DEGREE_CONDITION = Compare("==", Reference("e.SVC.kernel"), Constant("poly"))
SPACE = Space(
    "probed",
    Product(
        ProductKind.SEQUENCE,
        (
            Choice("s", "s", "s", (Branch("none", SKIPPED_STEP), Branch("PCA", Operator("PCA", "made")))),
            Choice(
                "e",
                "e",
                "e",
                (
                    Branch(
                        "SVC",
                        Operator(
                            "SVC",
                            "made",
                            (
                                hyperparameter("e.SVC.kernel", Categorical(("rbf", "poly"))),
                                hyperparameter("e.SVC.degree", Grid(2, 5), DEGREE_CONDITION),
                                hyperparameter("e.SVC.C", Real(0.01, 100.0, log=True)),
                                hyperparameter("e.SVC.gamma", Real(0.01, 100.0, log=True)),
                                hyperparameter("e.SVC.size", Grid(1, 10**9)),
                            ),
                        ),
                    ),
                    Branch("Tree", Operator("Tree", "made", (hyperparameter("e.Tree.pruned", BOOLEANS),))),
                    *(Branch(f"more{number}", Operator("More", "made")) for number in range(200)),
                ),
            ),
        ),
    ),
)
INSIDE = (("e", "SVC"),)


def compare(relation: str, address: str, value: object) -> Expr:
    return Compare(relation, Reference(address), Constant(value))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (ExpressionInContext(DEGREE_CONDITION, owners=INSIDE), (True, True)),
        (ExpressionInContext(In(Reference("e.SVC.kernel"), ("rbf", "poly")), owners=INSIDE), (True, False)),
        (ExpressionInContext(compare(">", "e.SVC.C", 1000.0), owners=INSIDE), (False, True)),
        (ExpressionInContext(compare(">=", "e.SVC.C", 0.01), owners=INSIDE), (True, False)),
        (ExpressionInContext(compare(">", "e.SVC.C", 50.0), owners=INSIDE), (True, True)),
        # The alternative is not always taken where another stage asks.
        (ExpressionInContext(compare(">=", "e.SVC.C", 0.01)), (True, True)),
        (ExpressionInContext(compare("==", "e.SVC.size", 77)), (True, True)),
        # A dead one, and one that only one value of another makes active.
        (ExpressionInContext(compare(">", "e.SVC.degree", 7), active=("e.SVC.degree",)), (False, True)),
        (
            ExpressionInContext(
                And((compare(">", "e.SVC.degree", 2), compare("==", "e.SVC.kernel", "rbf"))),
                active=("e.SVC.degree", "e.SVC.kernel"),
            ),
            (False, True),
        ),
        (
            ExpressionInContext(compare("==", "e.SVC.kernel", "poly"), active=("e.SVC.degree", "e.SVC.kernel")),
            (True, False),
        ),
        # Never together.
        (
            ExpressionInContext(
                And((compare(">", "e.SVC.C", 1), Reference("e.Tree.pruned"))), active=("e.SVC.C", "e.Tree.pruned")
            ),
            (False, False),
        ),
        (ExpressionInContext(BranchTest("s", ("none",))), (True, True)),
        (ExpressionInContext(BranchTest("s", ("none", "PCA"))), (True, False)),
        (ExpressionInContext(BranchTest("e", ("SVC",)), owners=INSIDE), (True, False)),
        (ExpressionInContext(BranchTest("e", ("Tree", "more7")), owners=INSIDE), (False, True)),
        (
            ExpressionInContext(BranchTest("e", tuple(branch.name for branch in SPACE.decisions[1].branches))),
            (True, False),
        ),
        (ExpressionInContext(Not(BranchTest("e", ("more199",)))), (True, True)),
        (
            ExpressionInContext(Compare("<", Reference("e.SVC.C"), Reference("e.SVC.gamma")), owners=INSIDE),
            (True, True),
        ),
        (ExpressionInContext(Constant(True)), (True, False)),
        (ExpressionInContext(Constant(False)), (False, True)),
    ],
)
@pytest.mark.parametrize("by_trying", [True, False])
def test_truths(
    statement: ExpressionInContext, expected: tuple[bool, bool], by_trying: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_trying:
        monkeypatch.setattr(satisfiability, "_try_values", lambda *_: None)
    assert possible_truths(SPACE, statement) == expected


def test_only_what_matters_is_reasoned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Variables] = []
    monkeypatch.setattr(
        satisfiability, "SolverModel", lambda few, constraints: asked.append(few) or SolverModel(few, constraints)
    )
    assert possible_truths(SPACE, ExpressionInContext(compare(">", "e.SVC.degree", 3))) == (True, True)
    (few,) = asked
    choice = few["e"].node
    assert isinstance(choice, Choice)
    assert [branch.name for branch in choice.branches] == ["SVC", "Tree"]
    assert few.keys() == {"e", "e.SVC.kernel", "e.SVC.degree", "true 0", "false 0"}


def test_what_ties_too_much_together_is_reasoned_about_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(few: Variables, constraints: tuple[Constraint, ...]) -> SolverModel:
        if len([name for name in few if name.startswith("true")]) > 1:
            raise TooManyConnectedVariablesError(())
        return SolverModel(few, constraints)

    monkeypatch.setattr(satisfiability, "SolverModel", model)
    monkeypatch.setattr(satisfiability, "MIN_SHARED_VARIABLES", 1)
    asked = [ExpressionInContext(compare(relation, "e.SVC.degree", 3)) for relation in (">", "<")]
    assert possible_truths_of_all(SPACE, asked) == [(True, True), (True, True)]
