"""The printed form of the IR: every kind of thing that a space may hold, and brackets only where they are needed."""

import pytest
from hypothesis import given
from printed import show

from spacelang.analysis import check
from spacelang.ir.domain import Categorical, Grid
from spacelang.ir.expr import (
    ActivityTest,
    And,
    Arithmetic,
    BranchTest,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
)
from spacelang.ir.space import Branch, Choice, Operator, Product, ProductKind, Space
from spacelang.serialization.syntax_nodes import format_expression
from spacelang.testing.small_spaces import SMALL, hyperparameter, make_space, spaces
from spacelang.text import Source

TEXT = """
space shown "with a \\"title\\""
stage scaler = none | StandardScaler @weight(2) | SelectKBest { score_func : {f_classif, chi2}, k = 5 }
stage estimator @first =
  | SVC as curved {
      kernel : {rbf, poly} = poly
      C      : float[0.1, 10] log = 1 @split(3) @prior(normal, 0, 1)
      degree : int[2, 4] = 3 when kernel == poly and not scaler is none
    }
  | BaggingClassifier { estimator : DecisionTreeClassifier { max_depth : {none, 3} } | GaussianNB @default }
  | AdaBoostClassifier { estimator = DecisionTreeClassifier { max_depth = 3 } }
pipeline = scaler -> SelectPercentile { score_func = f_classif, percentile : int[1, 99] } -> estimator
forbid  scaler is StandardScaler and (estimator is curved or SelectPercentile.percentile > 50)
require estimator.curved.C - (3 - SelectPercentile.percentile) < 60 / (2 + 1)
task classification {
  minimize 1 - roc_auc
  subject to predict_latency <= 0.01ms
  limit trial 300s 4GB
}
"""

SHOWN = """\
space shown "with a \\"title\\""
sequence
  decision scaler
    * none
    - StandardScaler @weight(2) = sklearn.StandardScaler
    - SelectKBest = sklearn.SelectKBest
        score_func [scaler.score_func]: {f_classif, chi2} = f_classif named {f_classif, chi2}
        k := 5
  sklearn.SelectPercentile
      percentile [SelectPercentile.percentile]: int[1, 99] = 10
      score_func := named f_classif
  decision estimator @first
    * curved = sklearn.SVC
        kernel [estimator.kernel]: {rbf, poly} = poly
        C [estimator.C]: float[0.1, 10.0] log = 1.0 @prior(normal, 0, 1) @split(3)
        degree [estimator.degree]: int[2, 4] = 3 when estimator.curved.kernel == poly and not scaler is none
    - BaggingClassifier = sklearn.BaggingClassifier
        decision estimator [estimator.estimator]
          - DecisionTreeClassifier = sklearn.DecisionTreeClassifier
              max_depth [estimator.estimator.max_depth]: {none, 3} = none
          * GaussianNB = sklearn.GaussianNB
    - AdaBoostClassifier = sklearn.AdaBoostClassifier
        estimator := sklearn.DecisionTreeClassifier
            max_depth := 3
forbid scaler is StandardScaler and (estimator is curved or SelectPercentile.percentile > 50)
require estimator.curved.C - (3 - SelectPercentile.percentile) < 60 / (2 + 1)
task classification
  minimize 1 - roc_auc
  subject to predict_latency <= 10us
  limit trial 300s 4GB
"""

A, B, ONE = Reference("a"), Reference("b"), Constant(1)


def test_shows_everything_that_a_space_holds() -> None:
    checked = check(Source("shown.space", TEXT))
    assert checked.space is not None
    assert show(checked.space) == SHOWN


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Not(Or((A, B))), "not (a or b)"),
        (Not(Not(A)), "not not a"),
        (Or((And((A, B)), Not(A))), "a and b or not a"),
        (And((Or((A, B)), Compare("<=", A, ONE))), "(a or b) and a <= 1"),
        (And((And((A, B)), A)), "(a and b) and a"),
        (Compare("==", Compare("<", A, B), Constant(True)), "(a < b) == true"),
        (In(Arithmetic("+", A, ONE), ("x", None, "not")), 'a + 1 in {x, none, "not"}'),
        (BranchTest("s", ("x", "y")), "s in {x, y}"),
        (ActivityTest("a"), "active(a)"),
        (Call("max", (Arithmetic("-", A, ONE), B)), "max(a - 1, b)"),
        (Arithmetic("/", A, Arithmetic("*", B, ONE)), "a / (b * 1)"),
        (Arithmetic("-", Arithmetic("-", A, B), ONE), "a - b - 1"),
        (Arithmetic("-", A, Arithmetic("-", B, ONE)), "a - (b - 1)"),
    ],
)
def test_brackets_stand_where_they_are_needed(expression: Expr, text: str) -> None:
    assert format_expression(expression) == text


def test_shows_structures_that_analysis_does_not_make_yet() -> None:
    inner = Product(ProductKind.PARALLEL, (Operator("A", "toy"), Product(ProductKind.SEQUENCE)))
    space = make_space(
        "deep", Choice("s", "s", "s", (Branch("both", inner), Branch("value", hyperparameter("v", Grid(1, 2), 1))))
    )
    assert show(space) == (
        "space deep\nsequence\n  decision s\n    * both =\n        parallel\n          toy.A\n"
        "          sequence, empty\n    - value =\n        v: int[1, 2] = 1\n"
    )


def test_says_the_address_that_the_indentation_does_not() -> None:
    space = make_space("odd", hyperparameter("x.y.z", Categorical((1, 2)), 1, key="x.z"))
    assert show(space) == "space odd\nsequence\n  z [x.z] at x.y.z: {1, 2} = 1\n"


@given(spaces(), spaces())
def test_equal_spaces_print_alike_and_different_ones_apart(left: Space, right: Space) -> None:
    assert (show(left) == show(right)) == (left == right)


def test_every_small_space_can_be_shown() -> None:
    assert len({show(space) for space in SMALL}) == len(SMALL)
