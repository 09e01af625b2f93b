"""What names stand for: siblings, words, stages, addresses."""

import pytest
from spelled import checked, condition, constraints, found, one, space

SVC = """stage estimator = SVC {{ kernel : {{linear, rbf, poly}} = rbf, degree : int[2, 5] = 3, C : float[0.1, 10] = 1
  {} }}
"""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        # A word beside a hyperparameter is one of its values.
        ("forbid kernel == poly", "forbid estimator.SVC.kernel == poly"),
        ("forbid poly == kernel", "forbid poly == estimator.SVC.kernel"),
        ('forbid kernel == "poly"', "forbid estimator.SVC.kernel == poly"),
        ("forbid kernel in {poly, linear}", "forbid estimator.SVC.kernel in {poly, linear}"),
        # ... else a sibling.
        ("forbid degree < C", "forbid estimator.SVC.degree < estimator.SVC.C"),
        ("forbid degree == C", "forbid estimator.SVC.degree == estimator.SVC.C"),
        ("forbid degree + 1 < 2 * C", "forbid estimator.SVC.degree + 1 < 2 * estimator.SVC.C"),
        ("forbid not degree <= 4", "forbid not estimator.SVC.degree <= 4"),
        ("forbid min(degree, 9) > 4", "forbid min(estimator.SVC.degree, 9) > 4"),
        ("require estimator.SVC.C < 9", "require estimator.SVC.C < 9"),
    ],
)
def test_words_and_siblings(written: str, meant: str) -> None:
    assert constraints(SVC.format(written)) == [meant]


def test_a_value_goes_before_a_sibling_of_the_same_name() -> None:
    text = "stage estimator = SGDClassifier { loss : {hinge, penalty_} = hinge, penalty : {l1, l2} = l2 when {} }"
    text = text.replace("penalty_", "log_loss")
    assert condition(text.replace("{}", "loss == log_loss"), "estimator.SGDClassifier.penalty") == (
        "estimator.SGDClassifier.loss == log_loss"
    )
    both = "stage estimator = SVC { gamma : {scale, auto} = scale, kernel : {rbf, poly} = rbf when gamma == auto }"
    assert condition(both, "estimator.SVC.kernel") == "estimator.SVC.gamma == auto"


def test_what_a_sibling_is_fixed_to_stands_for_it() -> None:
    text = "stage estimator = SVC { kernel = rbf, C : float[0.1, 10] = 1, degree = 3, forbid C > degree }"
    assert constraints(text) == ["forbid estimator.SVC.C > 3"]


def test_a_parameter_hides_the_stage_of_its_name() -> None:
    text = """stage estimator = LogisticRegression | AdaBoostClassifier {
      estimator : DecisionTreeClassifier | GaussianNB
      learning_rate : float[0.1, 1] = 1 when estimator is GaussianNB }"""
    assert condition(text, "estimator.AdaBoostClassifier.learning_rate") == (
        "estimator.AdaBoostClassifier.estimator is GaussianNB"
    )


@pytest.mark.parametrize(
    ("test", "code"), [("estimator is DecisionTreeClassifier", "SL502"), ("not estimator is GaussianNB", "SL502")]
)
def test_a_fixed_operator_is_what_it_is(test: str, code: str) -> None:
    body = f"estimator = DecisionTreeClassifier, learning_rate : float[0.1, 1] when {test}"
    text = f"stage estimator = AdaBoostClassifier {{ {body} }}"
    assert one(text).code == code


def test_a_fixed_operator_is_compared_with_nothing() -> None:
    text = (
        "stage estimator = AdaBoostClassifier { estimator = GaussianNB, n_estimators : int[1, 9] when estimator == 3 }"
    )
    assert found(text) == ["SL508 estimator"]


@pytest.mark.parametrize(
    ("condition_text", "underlined"),
    [
        ("kernal == poly", "SL203 kernal"),
        ("kernel == polly", "SL207 polly"),
        ("kernel in {poly, linar}", "SL207 linar"),
        ("C == poly", "SL207 poly"),
        ("unknown == other", "SL203 unknown"),
        ("unknown > 3", "SL203 unknown"),
        ("3 < unknown", "SL203 unknown"),
        ("n_samples > n_features", "SL406 n_samples"),
        ("estimator is SVX", "SL204 SVX"),
        ("estimator is none", "SL204 none"),
        ("scaler is none", "SL203 scaler"),
        ("minn(C, 3) > 2", "SL206 minn"),
    ],
)
def test_unknown_names(condition_text: str, underlined: str) -> None:
    assert found(SVC.format(f"gamma : {{scale}} when {condition_text}")) == [underlined]


@pytest.mark.parametrize(
    ("name", "help_text"),
    [
        ("estimator.SVX.C", "did you mean `estimator.SVC.C`?"),
        ("estmator.SVC.degre", "did you mean `estimator.SVC.degree`?"),
        ("degree", "did you mean `estimator.SVC.degree`?"),
        ("estimater", "did you mean `estimator`?"),
        ("other", "the only stage is `estimator`"),
        ("estimator.Other.x", None),
    ],
)
def test_suggestions(name: str, help_text: str | None) -> None:
    assert one(SVC.format("") + f"forbid {name} > 3").help == help_text


def test_a_class_stands_for_all_of_its_uses_unless_one_is_called_like_it() -> None:
    uses = (
        "stage estimator = SVC as linear { kernel = linear } | SVC as rbf | GaussianNB | GaussianNB as SGDClassifier\n"
    )
    scaler = "stage scaler = none | StandardScaler\n"
    for name, branches in (("SVC", "linear, rbf"), ("linear", "linear"), ("GaussianNB", "GaussianNB")):
        text = scaler + uses + f"forbid scaler is StandardScaler and estimator is {name}"
        (constraint,) = space(text).constraints
        test = constraint.expression.terms[1]  # type: ignore[union-attr]
        assert ", ".join(test.branches) == branches  # type: ignore[union-attr]


def test_tests_of_a_nested_decision() -> None:
    text = """stage estimator = GaussianNB | AdaBoostClassifier {
      estimator : DecisionTreeClassifier as tree { max_depth : int[1, 9] } | DecisionTreeClassifier as stump
      forbid estimator is stump and n_estimators > 50
      n_estimators : int[10, 99] = 20 }
    forbid estimator.AdaBoostClassifier.estimator.tree.max_depth > 3
       and estimator.AdaBoostClassifier.n_estimators > 90"""
    start = "estimator.AdaBoostClassifier"
    assert constraints(text) == [
        f"forbid {start}.estimator is stump and {start}.n_estimators > 50",
        f"forbid {start}.estimator.tree.max_depth > 3 and {start}.n_estimators > 90",
    ]


# ---- one error per cause


@pytest.mark.parametrize(
    "text",
    [
        # A name that is declared but damaged is known, and what is said of it is not judged.
        "stage estimator = SVC { C : float[5, 1], gamma : {scale} when C > 2 }",
        "stage estimator = SVC { C : float[5, 1] }\nforbid estimator.SVC.C > 3",
        "stage scaler = StandardScaler |\nstage estimator = SVC\nforbid scaler is PCA",
        "stage scaler = StandardScaler |\nstage estimator = SVC\npipeline = scaler -> estimator",
        "stage estimator = SVC { C = -1, gamma : {scale} when C > 2 }",
        "stage e = BaggingClassifier { estimator = PCAA { n : int[1, 2] }, bootstrap : bool when estimator is PCA }",
        "stage scaler = StandardScaler\nstage estimator = LogisticRegresion\npipeline = scaler -> estimator",
        "stage scaler = StandardScaler\nstage estimator = SVC\npipeline = scaler -> estimatr",
        "stage a = StandardScaler\nstage b = SVC\nstage b = PCA",
        "use xgboost\nstage estimator = xgboost.XGBClassifier { max_depth : int[1, 2] }",
        "garbage",
        "stage = SVC",
        "stage estimator = RandomForestClassifier { bootstrap : boool = true }",
        "stage estimator = RandomForestClassifier { max_features : float[0.1, 2] = 3 }",
        "stage estimator = SVC { kernel : {rbf, poly}, kernel : {rbf} when unknown == 3 }",
        'import "other.space" as other',
    ],
)
def test_one_error(text: str) -> None:
    assert len(checked(text).diagnostics) == 1, [diagnostic.message for diagnostic in checked(text).diagnostics]


def test_every_independent_mistake() -> None:
    text = """stage estimator = SVC {
      C : float[5, 1] when kernal == rbf
      kernel : {rbf, polly}
      gamma : {scale} = auto when C > 2
    }"""
    assert found(text) == ["SL403 float[5, 1]", "SL203 kernal", "SL302 polly", "SL401 auto"]


# ---- stages that the pipeline does not have


def test_a_stage_that_is_left_out_is_read_with_its_own_names() -> None:
    text = """stage spare = SVC { kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly
      forbid degree > 4 }
    stage estimator = GaussianNB
    pipeline = estimator"""
    assert found(text) == ["SL221 spare"]
    assert checked(text).space is not None
    assert constraints(text) == []
    assert found(text.replace("kernel == poly", "kernal == poly")) == ["SL221 spare", "SL203 kernal"]


def test_nothing_else_may_speak_of_a_stage_that_is_left_out() -> None:
    text = "stage spare = PCA\nstage estimator = GaussianNB\npipeline = estimator\nforbid spare is PCA"
    assert found(text) == ["SL221 spare", "SL203 spare"]
    assert checked(text).diagnostics[1].label == "the stage `spare` is not part of the pipeline"


@pytest.mark.parametrize("name", ["none", "true", "false"])
def test_words_of_the_language_are_no_names(name: str) -> None:
    assert "SL101 " + name in found(f"stage {name} = PCA\nstage estimator = SVC")
    assert "SL101 " + name in found(f"stage estimator = SVC as {name}")


# ---- alternatives that are left out of a name

ENSEMBLE = """
stage scaler = none | StandardScaler
stage e =
  | SVC { C : float[0.1, 10], tol : float[0.01, 0.1], gamma : float[0.1, 1] when %s }
  | SVC as tol { degree : int[1, 3] }
  | KNeighborsClassifier { n_neighbors : int[1, 5] }
  | LinearSVC { C : float[0.1, 10] }
  | AdaBoostClassifier { estimator : DecisionTreeClassifier { max_depth : int[1, 3] } | SVC }
forbid scaler is none and %s
"""


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("e.degree == 2", "e.tol.degree == 2"),
        ("e.n_neighbors > 3", "e.KNeighborsClassifier.n_neighbors > 3"),
        ("e.estimator is SVC", "e.AdaBoostClassifier.estimator is SVC"),
        ("e.estimator.max_depth > 2", "e.AdaBoostClassifier.estimator.DecisionTreeClassifier.max_depth > 2"),
        (
            "e.AdaBoostClassifier.estimator.max_depth > 2",
            "e.AdaBoostClassifier.estimator.DecisionTreeClassifier.max_depth > 2",
        ),
    ],
)
def test_an_alternative_is_left_out_where_one_alone_has_what_follows(short: str, whole: str) -> None:
    first, second = (space(ENSEMBLE % ("scaler is none", each)) for each in (short, whole))
    assert first == second


@pytest.mark.parametrize(
    ("written", "problems"),
    [
        ("e.C > 3", ["SL203 e.C"]),  # two have it
        ("e.tol > 0.05", ["SL203 e.tol"]),  # the name of an alternative goes before that of a parameter
    ],
)
def test_which_alternative_is_meant_is_said(written: str, problems: list[str]) -> None:
    assert found(ENSEMBLE % ("scaler is none", written)) == problems
