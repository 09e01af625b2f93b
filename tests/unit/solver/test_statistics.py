"""What is in a space, counted by algorithm and in all."""

import pytest

from spacelang.analysis import check
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.expr import Compare, Constant, Reference
from spacelang.ir.space import SKIPPED_STEP, Branch, Operator, Space
from spacelang.solver.counting import Structures
from spacelang.solver.statistics import HyperparameterCounts, Statistics, statistics
from spacelang.testing.small_spaces import (
    FINITE,
    SMALL,
    all_structures,
    branch,
    choice,
    continuous_space,
    hyperparameter,
    make_space,
)
from spacelang.text import Source

NESTED = """\
space nest
stage s = none | StandardScaler
stage e =
  | SVC as linear { kernel = linear, C : float[0.03, 32768] log = 1 }
  | SVC as rbf    { kernel = rbf, C : float[0.03, 100] log = 1, shrinking : bool = true }
  | AdaBoostClassifier {
      estimator : DecisionTreeClassifier { max_depth : int[1, 10] = 1 } | LogisticRegression
      n_estimators : int[10, 20] = 15
    }
  | BaggingClassifier { estimator = ExtraTreeClassifier { max_depth : int[1, 3] = 1 } }
  | BaggingClassifier as plain { estimator = GaussianNB }
forbid s is none and e is plain
"""


def of(space: Space) -> Statistics:
    return statistics(Structures(space))


def of_text(text: str) -> Statistics:
    checked = check(Source("made.space", text))
    assert checked.structures is not None, checked.diagnostics
    return statistics(checked.structures)


def test_hyperparameters_are_counted_by_algorithm() -> None:
    found = of(continuous_space())
    assert found.by_algorithm == {
        "none": HyperparameterCounts(),
        "scale": HyperparameterCounts(),
        "f": HyperparameterCounts(1, 0),
        "g": HyperparameterCounts(),
    }
    assert (found.hyperparameters, found.configurations) == (HyperparameterCounts(1, 0), None)


def test_none_is_no_algorithm() -> None:
    found = of(make_space("m", choice("s", Branch("none", SKIPPED_STEP), "scale")))
    assert list(found.by_algorithm) == ["scale"]
    assert found.stages == (("s", 2),)


@pytest.mark.parametrize("space", SMALL, ids=lambda space: space.name)
def test_totals_are_the_sums(space: Space) -> None:
    found = of(space)
    tallies = found.by_algorithm.values()
    free = sum(not owners for owners in (space.variables[node.address].owners for node in space.hyperparameters))
    assert found.hyperparameters.continuous + found.hyperparameters.discrete <= len(space.hyperparameters)
    if not free:
        assert found.hyperparameters.continuous == sum(tally.continuous for tally in tallies)
        assert found.hyperparameters.discrete == sum(tally.discrete for tally in tallies)
        total = found.hyperparameters.continuous + found.hyperparameters.discrete
        assert total == len(space.hyperparameters)


@pytest.mark.parametrize("space", [space for space in FINITE if not space.constraints], ids=lambda space: space.name)
def test_structures_are_those_of_brute_force(space: Space) -> None:
    assert of(space).structures == len(all_structures(space))


def test_a_union_with_a_range_is_continuous() -> None:
    parts = Union((Categorical((None,)), Real(0.0, 1.0)))
    finite = Union((Categorical((None,)), Grid(1, 3)))
    node = branch("a", hyperparameter("e.a.x", parts, None), hyperparameter("e.a.y", finite, None))
    assert of(make_space("u", choice("e", node))).by_algorithm == {"a": HyperparameterCounts(1, 1)}


def test_conditions_and_constraints_are_counted() -> None:
    kernel = hyperparameter("e.a.k", Categorical(("x", "y")), "x")
    degree = hyperparameter("e.a.d", Grid(1, 2), 1, when=Compare("==", Reference("e.a.k"), Constant("y")))
    found = of(make_space("c", choice("e", branch("a", kernel, degree))))
    assert (found.conditions, found.constraints, found.configurations) == (1, 0, 3)


def test_nested_operators_and_two_uses_of_one_class() -> None:
    found = of_text(NESTED)
    assert found.by_algorithm == {
        "StandardScaler": HyperparameterCounts(),
        "SVC": HyperparameterCounts(2, 1),
        "AdaBoostClassifier": HyperparameterCounts(0, 1),
        "DecisionTreeClassifier": HyperparameterCounts(0, 1),
        "LogisticRegression": HyperparameterCounts(),
        "BaggingClassifier": HyperparameterCounts(0, 1),
    }
    assert found.hyperparameters == HyperparameterCounts(2, 4)
    assert found.stages == (("s", 2), ("e", 5))
    # Six ways to choose an estimator and its own, times two scalers, less the one that is forbidden.
    assert (found.structures, found.constraints) == (11, 1)


def test_what_is_searched_in_a_fixed_operator_is_of_the_algorithm_that_has_it() -> None:
    found = of_text(
        "stage e = BaggingClassifier { n_estimators : int[2, 9], estimator = AdaBoostClassifier {\n"
        "  learning_rate : float[0.1, 1]\n"
        "  estimator : DecisionTreeClassifier { max_depth : int[1, 3] } | GaussianNB } }\n"
    )
    assert found.by_algorithm == {
        "BaggingClassifier": HyperparameterCounts(1, 1),
        "DecisionTreeClassifier": HyperparameterCounts(0, 1),
        "GaussianNB": HyperparameterCounts(),
    }
    assert found.hyperparameters == HyperparameterCounts(1, 2)


def test_an_operator_in_two_stages_is_one_algorithm() -> None:
    found = of_text("stage a = none | PCA { n_components : int[1, 3] }\nstage b = none | PCA\nstage e = GaussianNB\n")
    assert found.by_algorithm == {"PCA": HyperparameterCounts(0, 1), "GaussianNB": HyperparameterCounts()}
    assert found.to_json()["algorithms"] == 2


def test_hyperparameters_of_operators_alone() -> None:
    lone = Operator("a", "toy.a", (hyperparameter("x", Grid(1, 4), 1),))
    found = of(Space("lone", lone))
    assert (found.structures, found.configurations, found.by_algorithm) == (1, 4, {"a": HyperparameterCounts(0, 1)})
    assert found.stages == ()


def test_the_keys_of_the_json_are_fixed() -> None:
    document = of_text(NESTED).to_json()
    assert list(document) == [
        "space",
        "stages",
        "structures",
        "algorithms",
        "hyperparameters",
        "by_algorithm",
        "conditions",
        "constraints",
        "configurations",
    ]
    assert document["hyperparameters"] == {"total": 6, "continuous": 2, "discrete": 4}
    assert document["algorithms"] == 6
