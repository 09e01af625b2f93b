"""Structures: what decisions a pipeline has, what they are called, and how many pipelines that makes."""

import pytest
from spelled import checked, constraints, decision, found, one, space

from spacelang.diagnostics.structure import LastStepNotAPredictor
from spacelang.ir.space import Choice, ColumnSelector, Operator, Product, ProductKind

STAGES = "stage scaler = StandardScaler | MinMaxScaler\nstage estimator = SVC | GaussianNB\n"


def count(text: str) -> int:
    result = checked(text)
    assert result.structures is not None, result.diagnostics
    return result.structures.count


def names(text: str) -> list[str]:
    return [variable.key for variable in space(text).variables.values()]


@pytest.mark.parametrize(
    ("pipeline", "decisions", "structures"),
    [
        ("scaler -> estimator", ["scaler", "estimator"], 4),
        ("scaler? -> estimator", ["choice_1", "scaler", "estimator"], 6),
        ("(scaler & PCA) -> estimator", ["scaler", "estimator"], 4),
        ("(scaler & PCA)? -> estimator", ["choice_1", "scaler", "estimator"], 6),
        ("(PCA | FastICA) -> estimator", ["choice_1", "estimator"], 4),
        ("(PCA | FastICA)? -> estimator", ["choice_1", "estimator"], 6),
        ("((PCA | FastICA) | NMF)? -> estimator", ["choice_1", "estimator"], 8),
        ("(PCA? | FastICA?) -> estimator", ["choice_1", "estimator"], 6),
        ("(PCA | FastICA) as reducer -> estimator", ["reducer", "estimator"], 4),
        ("(PCA?) as reducer -> estimator", ["reducer", "estimator"], 4),
        ("(PCA | FastICA) -> (PCA | FastICA) -> estimator", ["choice_1", "choice_2", "estimator"], 8),
        ("scaler -> PCA -> scaler -> estimator", ["scaler", "scaler_2", "estimator"], 8),
        ("scaler as before -> PCA -> scaler as after -> estimator", ["before", "after", "estimator"], 8),
        ("(scaler & scaler) -> estimator", ["scaler", "scaler_2", "estimator"], 8),
        ("permute(scaler, PCA, NMF) -> estimator", ["order", "scaler", "estimator"], 24),
        ("permute(PCA, NMF) -> permute(FastICA, PCA) -> estimator", ["order", "order_2", "estimator"], 8),
        ("(permute(PCA, NMF)) as steps -> estimator", ["steps", "estimator"], 4),
        ("columns(numeric: scaler, rest: OneHotEncoder) -> estimator", ["scaler", "estimator"], 4),
        ("columns(numeric: scaler?, categorical: none) -> estimator", ["choice_1", "scaler", "estimator"], 6),
        ('columns("^x": scaler, "y": scaler) -> estimator', ["scaler", "scaler_2", "estimator"], 8),
        ("scaler -> none -> estimator", ["scaler", "estimator"], 4),
    ],
)
def test_pipelines(pipeline: str, decisions: list[str], structures: int) -> None:
    text = STAGES + f"pipeline = {pipeline}" + ("" if "scaler" in pipeline else " ")
    found = checked(text)
    assert [d.code for d in found.diagnostics] == ([] if "scaler" in pipeline else ["SL221"])
    assert found.space is not None
    assert found.structures is not None
    assert [choice.key for choice in found.space.decisions] == decisions
    assert found.structures.count == structures


def test_alternatives_may_be_structures() -> None:
    text = "stage e = SVC | (PCA { n_components : int[1, 9] } -> SVC { C : float[1, 2] }) as reduced | (PCA -> SVC)"
    stage = decision(text, "e")
    assert [branch.name for branch in stage.branches] == ["SVC", "reduced", "PCA -> SVC"]
    assert names(text) == ["e", "e.PCA.n_components", "e.SVC.C"]
    reduced = stage.branches[1].node
    assert isinstance(reduced, Product)
    assert [child.name for child in reduced.children if isinstance(child, Operator)] == ["PCA", "SVC"]


def test_a_choice_inside_of_an_alternative_is_a_decision_of_its_own() -> None:
    text = "stage e = ((PCA | NMF) -> SVC) as reduced | SVC { C : float[1, 2] }"
    assert names(text) == ["e", "e.choice_1", "e.C"]
    assert count(text) == 3


def test_alternatives_may_be_stages() -> None:
    text = "stage linear = SVC | LogisticRegression\nstage trees = DecisionTreeClassifier\nstage e = linear | trees"
    assert names(text) == ["e", "linear", "trees"]
    assert count(text) == 3
    assert [stage.name for stage in space(text).stages] == ["e"], "a stage inside of another one is no step by itself"


def test_a_stage_that_is_declared_after_its_use() -> None:
    text = "stage e = inner -> SVC\nstage inner = PCA | NMF"
    assert names(text) == ["e", "inner"]
    assert [branch.name for branch in decision(text, "e").branches] == ["inner -> SVC"]


def test_structures_as_values() -> None:
    text = "stage e = BaggingClassifier { estimator : (StandardScaler -> SVC { C : float[1, 2] }) | GaussianNB }"
    assert names(text) == ["e", "e.estimator", "e.estimator.SVC.C"]
    assert count(text) == 2


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ("(StandardScaler -> PCA)", ["SL307 PCA"]),
        ("(SVC -> GaussianNB)", ["SL602 SVC"]),
        ("(PCA? -> SVC)", []),
        ("(PCA -> (SVC | NMF))", ["SL307 NMF"]),
        ("(permute(PCA, SVC))", ["SL307 PCA"]),
        ("(permute(PCA, NMF) -> SVC)", []),
        ("(GaussianNB & SVC)", ["SL307 GaussianNB & SVC"]),
        ("(columns(numeric: PCA) -> SVC)", []),
    ],
)
def test_a_structure_as_a_value_is_judged_by_its_steps(structure: str, expected: list[str]) -> None:
    assert found(f"stage e = BaggingClassifier {{ estimator : {structure} }}") == expected


def test_where_transformers_are_taken_features_may_stand_side_by_side() -> None:
    text = "stage e = TransformedTargetRegressor {{ regressor = Ridge, transformer : {} }}"
    assert found(text.format("(StandardScaler & PCA)")) == []


@pytest.mark.parametrize(
    ("estimators", "expected"),
    [
        ("(GaussianNB & SVC)", []),
        ("(GaussianNB & (PCA -> SVC)) as two | (GaussianNB & SVC & LogisticRegression) as three", []),
        ("GaussianNB | SVC", ["SL621 GaussianNB"]),
        ("(GaussianNB & SVC) | SVC", ["SL621 SVC"]),
        ("(GaussianNB & PCA)", ["SL307 PCA"]),
        ("(GaussianNB & (SVC -> PCA))", ["SL602 SVC", "SL307 PCA"]),
    ],
)
def test_ensembles_of_several_estimators(estimators: str, expected: list[str]) -> None:
    assert found(f"stage e = VotingClassifier {{ estimators : {estimators} }}") == expected


@pytest.mark.parametrize(
    ("pipeline", "late"),
    [
        ("columns(numeric: PCA) -> e", []),
        ("none -> columns(numeric: PCA) -> e", []),
        ("s -> columns(numeric: PCA) -> e", ["columns(numeric: PCA)"]),
        ("(s & PCA) -> columns(numeric: PCA) -> e", ["columns(numeric: PCA)"]),
        ("columns(numeric: PCA) -> columns(all: NMF) -> e", ["columns(all: NMF)"]),
        ("columns(numeric: PCA -> columns(all: NMF)) -> e", ["columns(all: NMF)"]),
        ("columns(numeric: columns(all: NMF)) -> e", []),
        ("(columns(numeric: PCA) & columns(all: NMF)) -> e", []),
        ("(columns(numeric: PCA) | columns(all: NMF)) -> e", []),
        ("permute(columns(numeric: PCA), NMF) -> e", ["columns(numeric: PCA)"]),
        ("permute(columns(numeric: PCA), none) -> e", []),
    ],
)
def test_columns_have_names_only_where_nothing_has_changed_the_data(pipeline: str, late: list[str]) -> None:
    text = f"stage s = none | StandardScaler\nstage e = SVC\npipeline = {pipeline}"
    assert [problem for problem in found(text) if "SL221" not in problem] == [f"SL620 {span}" for span in late]


def test_a_circle_of_stages_is_one_mistake() -> None:
    text = "stage a = b | PCA\nstage b = c | PCA\nstage c = a | PCA\nstage e = SVC\npipeline = a -> b -> c -> e"
    assert found(text) == ["SL604 a"]


def test_in_its_own_body_the_name_of_a_stage_is_the_use_that_the_body_belongs_to() -> None:
    text = (
        "stage s = PCA { n_components : int[1, 9], whiten : bool when s.PCA.n_components > 3 } | NMF\n"
        "stage e = SVC\npipeline = s -> s -> e"
    )
    conditions = {
        address: variable.node.condition
        for address, variable in space(text).variables.items()
        if not isinstance(variable.node, Choice) and variable.node.condition is not None
    }
    assert {address: condition.left.address for address, condition in conditions.items()} == {  # type: ignore[union-attr]
        "s.PCA.whiten": "s.PCA.n_components",
        "s_2.PCA.whiten": "s_2.PCA.n_components",
    }


def test_the_uses_of_a_stage_are_named_apart_in_constraints() -> None:
    text = STAGES + "pipeline = scaler -> PCA -> scaler -> estimator\n"
    rule = "forbid scaler_2 is MinMaxScaler and estimator is SVC"
    assert constraints(text + rule) == [rule]
    assert count(text + rule) == 6
    assert one(text + rule.replace("scaler_2", "scaler")).code == "SL610"


def test_columns_and_permutations_in_the_tree() -> None:
    root = space(STAGES + 'pipeline = columns(numeric: scaler, "^x": none) -> permute(PCA, NMF) -> estimator').root
    assert isinstance(root, Product)
    columns, orders, _ = root.children
    assert isinstance(columns, Product)
    assert columns.kind is ProductKind.COLUMNS
    assert columns.selectors == (ColumnSelector("numeric"), ColumnSelector("pattern", "^x"))
    assert isinstance(orders, Product)
    assert orders.kind is ProductKind.PERMUTATION
    assert [child.name for child in orders.steps_in_order("NMF, PCA") if isinstance(child, Operator)] == ["NMF", "PCA"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stage a = b | PCA\nstage b = a | NMF\nstage e = SVC\npipeline = a -> e", ["SL604 a"]),
        ("stage a = a | SVC", ["SL604 a"]),
        (STAGES + "pipeline = scaler { clip = true } -> estimator", ["SL605 { clip = true }"]),
        (STAGES + "pipeline = estimator -> scaler", ["SL601 scaler"]),
        (STAGES + "pipeline = scaler -> (estimator & PCA)", ["SL601 estimator & PCA"]),
        (STAGES + "pipeline = (scaler & SVC) -> estimator", ["SL602 SVC"]),
        (STAGES + "pipeline = scaler -> estimator?", ["SL601 ?"]),
        (STAGES + "pipeline = columns(numeric: SVC) -> scaler -> estimator", ["SL602 SVC"]),
        (STAGES + "pipeline = scaler -> (scaler -> SVC | PCA -> Ridge)", ["SL603 Ridge", "SL221 estimator"]),
        (STAGES + "pipeline = scaler -> estimator as scaler", ["SL211 scaler"]),
        (STAGES + "pipeline = (PCA | PCA) -> scaler -> estimator", ["SL211 PCA"]),
        ("stage e = (PCA -> SVC) | (PCA -> SVC)", ["SL211 PCA -> SVC"]),
    ],
)
def test_mistakes(text: str, expected: list[str]) -> None:
    assert sorted(found(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("operator", "role"),
    [
        ("IsolationForest", "it predicts, but it is neither a classifier nor a regressor"),
        ("LabelEncoder", "it transforms labels, not features"),
        ("TSNE", "it cannot transform new rows"),
        ("KernelDensity", "it neither transforms nor predicts"),
        ("KMeans", "it is a transformer and a clusterer"),
    ],
)
def test_a_wrong_last_step_is_described_truly(operator: str, role: str) -> None:
    (error,) = checked(f"pipeline = {operator}").diagnostics
    assert isinstance(error, LastStepNotAPredictor)
    assert error.role == role
