"""Domains, defaults, fixed values and annotations as they are meant."""

import pytest
from spelled import decision, default, found, hyperparameter, one, space

from spacelang.analysis.domains import value_in_both_domains
from spacelang.ir.domain import NOT_FOUND, Categorical, Grid, Ordinal, Real, Union
from spacelang.ir.prior import Normal
from spacelang.ir.space import CatalogueObject, operators

FOREST = "stage estimator = RandomForestClassifier {{ {} }}"
PATH = "estimator.RandomForestClassifier"


@pytest.mark.parametrize(
    ("parameter", "written", "domain"),
    [
        ("max_features", "float(0, 1]", Real(0.0, 1.0, lower_open=True)),
        ("max_features", "float[1e-3, 1) log", Real(0.001, 1.0, upper_open=True, log=True)),
        ("ccp_alpha", "float[0, 0.3] step 0.1", Grid(0.0, 0.3, step=0.1)),
        ("max_depth", "int[2, 10]", Grid(2, 10)),
        ("max_depth", "int(2, 10)", Grid(3, 9)),
        ("max_depth", "int(2, 10] step 4", Grid(6, 10, step=4)),
        ("max_depth", "int[2, 2 * 8) log", Grid(2, 15, log=True)),
        ("max_depth", "int[min(2, 3), ceil(sqrt(99))]", Grid(2, 10)),
        ("bootstrap", "bool", Categorical((True, False))),
        ("criterion", "ordered {gini, entropy}", Ordinal(("gini", "entropy"))),
        ("max_depth", "{none} | int[2, 5]", Union((Categorical((None,)), Grid(2, 5)))),
        ("max_features", '{"sqrt", log2} | float(0, 1]', Union((Categorical(("sqrt", "log2")), Real(0.0, 1.0, True)))),
    ],
)
def test_domains(parameter: str, written: str, domain: object) -> None:
    assert hyperparameter(FOREST.format(f"{parameter} : {written}"), f"{PATH}.{parameter}").domain == domain


def test_tuples_are_values() -> None:
    text = "stage estimator = MLPClassifier { hidden_layer_sizes : {(50,), (100, 50)} = (100, 50) }"
    node = hyperparameter(text, "estimator.MLPClassifier.hidden_layer_sizes")
    assert node.domain == Categorical(((50,), (100, 50)))
    assert node.default == (100, 50)


def test_functions_are_named() -> None:
    text = "stage s = SelectKBest { score_func : {f_classif, chi2}, k = all } | SelectFpr { score_func = chi2 }"
    text += "\nstage e = SVC"
    node = hyperparameter(text, "s.SelectKBest.score_func")
    assert node.named == ("f_classif", "chi2")
    assert node.default == "f_classif"
    assert [fixed for operator in operators(space(text).root) for fixed in operator.fixed] == [
        ("k", "all"),
        ("score_func", CatalogueObject("chi2")),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("max_depth : int[2, 50] = 7", "7"),
        # The library's own, where the domain has it.
        ("max_depth : int[2, 50] | {none}", "none"),
        ("criterion : {entropy, gini}", "gini"),
        ("n_estimators : int[50, 500]", "100"),
        # Else the middle, the geometric one under `log`.
        ("n_estimators : int[200, 300]", "250"),
        ("n_estimators : int[200, 800] log", "400"),
        ("max_features : float[0.25, 1] log", "0.5"),
        ("max_features : float[0.25, 0.75]", "0.5"),
        ("criterion : {entropy, log_loss}", "entropy"),
        ("criterion : ordered {entropy, log_loss}", "entropy"),
        ("n_estimators : int[200, 300] step 50", "250"),
        ("max_depth : int[2, 4] | int[7, 9]", "3"),
    ],
)
def test_defaults(written: str, value: str) -> None:
    assert default(FOREST.format(written), f"{PATH}.{written.split(maxsplit=1)[0]}") == value


def test_defaults_of_decisions() -> None:
    assert decision("stage e = SVC | GaussianNB", "e").default == 0
    assert decision("stage e = SVC | GaussianNB @default", "e").default == 1
    nested = "stage e = AdaBoostClassifier {{ estimator : SVC as a | GaussianNB | none {} }}"
    assert decision(nested.format(""), "e.AdaBoostClassifier.estimator").default == 0
    assert decision(nested.format("= GaussianNB"), "e.AdaBoostClassifier.estimator").default == 1
    assert decision(nested.format("= none"), "e.AdaBoostClassifier.estimator").default == 2
    assert decision(nested.format("@default"), "e.AdaBoostClassifier.estimator").default == 2
    assert found(nested.format("= GausianNB")) == ["SL401 GausianNB"]


@pytest.mark.parametrize(
    ("written", "underlined"),
    [
        ("max_depth : int[5, 2]", "SL403 int[5, 2]"),
        ("max_depth : int(2, 3)", "SL403 int(2, 3)"),
        ("max_features : float(0.5, 0.5]", "SL403 float(0.5, 0.5]"),
        ("max_depth : {}", "SL403 {}"),
        ("ccp_alpha : float[0, 1] log", "SL402 0"),
        ("max_depth : int[2, 9] step 2", "SL404 2"),
        ("max_depth : int[2, 9] step 0", "SL404 0"),
        ("max_depth : int[2, 9] log step 7", "SL404 7"),
        ("max_depth : int[2, 9.5]", "SL405 9.5"),
        ("max_depth : int[2, 1 / 0]", "SL405 1 / 0"),
        ("max_depth : int[2, n_samples]", "SL406 n_samples"),
        ("max_depth : int[2, n_sample]", "SL203 n_sample"),
        ("max_depth : int[2, sqrt(1, 2)]", "SL228 sqrt(1, 2)"),
        ("max_depth : {1, 1.0}", "SL212 1.0"),
        ("max_depth : int[0, 9]", "SL303 int[0, 9]"),
        ("bootstrap : bool = 1", "SL401 1"),
        ("max_depth : {none} | GaussianNB", "SL307 GaussianNB"),
        ("max_depth : none | int[2, 6] | {none}", "SL212 none"),
        ("max_depth : int[2, 6] | int[5, 9]", "SL212 int[5, 9]"),
        ("max_depth : int[2, 6] | {9, 5}", "SL212 5"),
        ("max_depth : {9, 5} | int[2, 6]", "SL212 5"),
        ("bootstrap : booll", "SL201 booll"),
        ("criterion : gini", "SL201 gini"),
        ("n_jobs = 3", "SL304 n_jobs"),
        ("max_depht = 3", "SL301 max_depht"),
    ],
)
def test_mistakes(written: str, underlined: str) -> None:
    assert underlined in found(FOREST.format(written))


@pytest.mark.parametrize(
    ("written", "help_text"),
    [
        ("max_depth : int[0, 30]", "did you mean `int[1, 30]`?"),
        ("max_features : float[0, 1]", "did you mean `float(0, 1]`?"),
        ("max_features : float[0.1, 2] log", "did you mean `float[0.1, 1] log`?"),
        ("ccp_alpha : float[-1, 3)", "did you mean `float[0, 3)`?"),
        ("ccp_alpha : float[-2, -1]", None),
        ("max_depth : int[50, 2] log", "did you mean `int[2, 50] log`?"),
        ("max_depth : int[2.5, 50]", "write 2 or 3"),
        ("min_samples_leaf : int[2.5, 50]", "write 2 or 3"),
        ("ccp_alpha : int[2.5, 50]", "write `float[…]`, or 2 or 3"),
        ("bootstrap : boolean = true", "did you mean `bool`?"),
        ('bootstrap = "True"', "did you mean `true`?"),
        ('max_depth = "None"', "did you mean `none`?"),
        ("criterion : gini", "`criterion = gini` fixes a value, `criterion : {gini, …}` lets it vary"),
        ("criterion : {gin, entropy}", "did you mean `gini`?"),
    ],
)
def test_remedies(written: str, help_text: str | None) -> None:
    assert one(FOREST.format(written)).help == help_text


def test_what_is_suggested_can_be_written() -> None:
    mistake = one("stage e = LogisticRegression { solver : {newton} }")
    assert mistake.help == 'did you mean `"newton-cg"`?'
    assert mistake.fix is not None
    assert found(f"stage e = LogisticRegression {{ solver : {{{mistake.fix.text}}} }}") == []


def test_domains_are_shown_as_they_are_written() -> None:
    assert one("stage e = SVC { C : float[1, 1_000] log = 0.5 }").label == "not in `float[1, 1_000] log`"
    assert one("stage e = SVC { C : float[1,\n  10] = 0.5 }").label == "not in `float[1, 10]`"
    assert one("stage e = SVC { C : float[1, # least\n  10] = 0.5 }").label == "not in `float[1.0, 10.0]`"


# ---- annotations


def test_annotations() -> None:
    text = """stage s @first = PCA { n_components : int[1, 9] @split(3) @prior(normal, 4, 1.5) } @weight(0.5) | none
    stage e = SVC"""
    stage, node = decision(text, "s"), hyperparameter(text, "s.PCA.n_components")
    assert stage.first
    assert stage.branches[0].weight == 0.5
    assert node.split == 3
    assert node.prior == Normal(4, 1.5)


@pytest.mark.parametrize(
    ("annotation", "codes"),
    [
        ("@wieght(2)", ["SL205 @wieght"]),
        ("@weight", ["SL701 @weight"]),
        ("@weight(0)", ["SL701 @weight(0)"]),
        ("@weight(2, 3)", ["SL701 @weight(2, 3)"]),
        ("@default(1)", ["SL701 @default(1)"]),
        ("@split(2)", ["SL702 @split(2)"]),
        ("@weight(1) @weight(2)", ["SL702 @weight(2)"]),
    ],
)
def test_wrong_annotations_of_alternatives(annotation: str, codes: list[str]) -> None:
    assert found(f"stage e = SVC {annotation} | GaussianNB") == codes


@pytest.mark.parametrize(
    "annotation",
    ["@split(0)", "@split(1.5)", "@prior(uniform, 2)", "@prior(normal, 1)", "@prior(normal, 1, 0)", "@prior(2)"],
)
def test_wrong_annotations_of_hyperparameters(annotation: str) -> None:
    assert found(f"stage e = SVC {{ C : float[1, 2] {annotation} }}") == [f"SL701 {annotation}"]


def test_one_first_and_one_default() -> None:
    assert found("stage s @first = PCA\nstage e @first = SVC") == ["SL702 @first"]
    assert found("stage e = SVC @default | GaussianNB @default") == ["SL702 @default"]


# ---- nested operators


def test_addresses_and_keys_of_nested_operators() -> None:
    text = """stage estimator =
        AdaBoostClassifier { estimator : DecisionTreeClassifier { max_depth : int[1, 3] } | SVC }
      | BaggingClassifier { estimator = DecisionTreeClassifier { max_depth : int[1, 3], splitter = best } }"""
    variables = space(text).variables
    assert {address: variable.key for address, variable in variables.items()} == {
        "estimator": "estimator",
        "estimator.AdaBoostClassifier.estimator": "estimator.estimator",
        "estimator.AdaBoostClassifier.estimator.DecisionTreeClassifier.max_depth": "estimator.estimator.max_depth",
        "estimator.BaggingClassifier.estimator.max_depth": "estimator.estimator.max_depth",
    }


def test_operators_where_none_is_taken() -> None:
    assert found("stage e = SVC { kernel : RBF | Matern }") == ["SL307 RBF", "SL307 Matern"]
    assert found("stage e = SVC { C = GaussianNB { } }") == ["SL307 GaussianNB"]
    assert found("stage e = OneVsRestClassifier") == ["SL308 OneVsRestClassifier"]


# ---- overlaps of unions


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [
        (Grid(0, 12, step=4), Grid(2, 20, step=6), 8),
        (Grid(0, 12, step=4), Grid(2, 14, step=4), NOT_FOUND),
        (Grid(0, 10**18, step=10**9), Grid(7, 10**18 + 7, step=10**9 + 7), None),
        (Grid(1, 5), Grid(5, 9), 5),
        (Grid(1, 5), Grid(6, 9), NOT_FOUND),
        (Grid(0, 10), Real(0.5, 3.2, True, True), 1),
        (Grid(0, 10, step=5), Real(5.0, 9.5, lower_open=True), NOT_FOUND),
        (Grid(0, 10, step=5), Real(5.0, 10.0, lower_open=True), 10),
        (Real(0.0, 1.0), Real(1.0, 2.0), 1.0),
        (Real(0.0, 1.0, upper_open=True), Real(1.0, 2.0), NOT_FOUND),
        (Real(0.0, 10.0, True, True), Real(9.0, 30.0, True, True), 9.5),
        (Grid(0.0, 1.0, step=0.25), Grid(0.1, 0.9, step=0.4), 0.5),
        (Grid(0.0, 1.0, step=0.25), Real(0.3, 0.4), NOT_FOUND),
        (Real(0.5, 0.5), Real(0.0, 1.0), 0.5),
        (Real(2.0, 2.0), Grid(0, 9), 2),
        (Categorical((None, 3)), Grid(1, 5), 3),
        (Categorical((True,)), Grid(1, 5), NOT_FOUND),
        (Categorical(("a", 1)), Categorical((1.0, "b")), 1),
    ],
)
def test_common_values(left: object, right: object, shared: object) -> None:
    for one_side, other in ((left, right), (right, left)):
        value = value_in_both_domains(one_side, other)  # type: ignore[arg-type]
        if shared is None:
            assert one_side.find(value) == other.find(value) == value  # type: ignore[attr-defined]
        else:
            assert value is NOT_FOUND if shared is NOT_FOUND else value == shared


def test_a_set_of_operators_of_which_one_has_a_body_is_a_choice() -> None:
    text = "stage e = BaggingClassifier {{ estimator : {} = LogisticRegression }}"
    tree = "DecisionTreeClassifier { max_depth : int[1, 3] = 2 }"
    alike = (text.format(f"{{{tree}, LogisticRegression, none}}"), text.format(f"{tree} | LogisticRegression | none"))
    assert space(alike[0]) == space(alike[1])
    assert [each.split()[0] for each in found(text.format(f"{{{tree}, 3}}"))] == ["SL302", "SL401"]
