"""What expressions come to: order, cycles, statements without effect, dead alternatives, defaults, steps."""

import pytest
from spelled import checked, constraints, found, one

from spacelang.analysis import check
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.text import Source

SVC = """stage estimator = SVC {{
  kernel : {{linear, rbf, poly}} = rbf, degree : int[2, 5] = 3 when kernel == poly, C : float[0.1, 10] = 1
  {} }}
"""
FOREST = """stage estimator = RandomForestClassifier {{
  criterion : ordered {{gini, entropy, log_loss}} = entropy, max_depth : {{none}} | int[1, 9], bootstrap : bool
  {} }}
"""
BOTH = "`kernel` is one of `{linear, rbf, poly}`; `degree` lies in `int[2, 5]`"
CRITERION = "estimator.RandomForestClassifier.criterion"


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("criterion < entropy", "{gini}"),
        ("criterion <= entropy", "{gini, entropy}"),
        ("criterion > entropy", "{log_loss}"),
        ("criterion >= entropy", "{entropy, log_loss}"),
        ("entropy < criterion", "{log_loss}"),
        ("entropy <= criterion", "{entropy, log_loss}"),
        ("entropy > criterion", "{gini}"),
        ("entropy >= criterion", "{gini, entropy}"),
    ],
)
def test_the_order_of_ordered_sets(written: str, values: str) -> None:
    text = FOREST.format(f"forbid ({written}) and max_depth == 3")
    assert constraints(text) == [f"forbid {CRITERION} in {values} and estimator.RandomForestClassifier.max_depth == 3"]


@pytest.mark.parametrize(
    ("written", "underlined"),
    [
        ("forbid kernel < 3", "SL508 kernel"),
        ("forbid kernel > rbf", "SL508 kernel"),
        ("forbid C", "SL508 C"),
        ("forbid 3", "SL508 3"),
        ("forbid C + 1", "SL508 C + 1"),
        ("forbid kernel + 1 > 3", "SL508 kernel"),
        ("forbid -kernel > 3", "SL508 kernel"),
        ("forbid C is SVC", "SL508 C is SVC"),
        ("forbid estimator == SVC", "SL508 estimator == SVC"),
        ("forbid SVC != estimator", "SL508 SVC != estimator"),
        ("forbid estimator in {3}", "SL508 3"),
        ("forbid estimator", "SL508 estimator"),
        ("forbid estimator > 3", "SL508 estimator > 3"),
        ("forbid estimator + 1 > 3", "SL508 estimator"),
        ("forbid (C > 2) > false", "SL508 C > 2"),
        ("forbid (C > 2) == 3", "SL508 3"),
        ("forbid C > 3s", "SL508 3s"),
    ],
)
def test_wrong_comparisons(written: str, underlined: str) -> None:
    assert [each.replace("(", "").replace(")", "") for each in found(SVC.format(written))] == [underlined]


def test_an_ordered_set_is_compared_with_its_own_values() -> None:
    assert found(FOREST.format("forbid criterion < entrop")) == ["SL207 entrop"]
    assert found(FOREST.format("forbid criterion < 3")) == ["SL207 3"]
    assert found(FOREST.format("forbid bootstrap")) == ["SL507 forbid bootstrap"]


# ---- cycles


def test_cycles() -> None:
    text = "stage e = SVC {{ C : float[1, 2] when {}, gamma : float[1, 2] when {}, coef0 : float[1, 2] when {} }}"
    own = one(text.format("C > 1.5", "C > 1.5", "C > 1.5"))
    assert (own.code, own.label) == ("SL501", "`C` depends on `C`")
    ring = one(text.format("gamma > 1.5", "coef0 > 1.5", "C > 1.5"))
    assert ring.label.count("depends on") == 3
    assert len(ring.related) == 2
    assert found(text.format("gamma > 1.5", "coef0 > 1.5", "e is SVC")) == ["SL502 e is SVC"]
    stages = """stage a = PCA { n_components : int[1, 9] when b.SVC.C > 1 }
    stage b = SVC { C : float[1, 2] when a.PCA.n_components > 2 }"""
    assert "`n_components`" in one(stages).label


# ---- statements without effect


@pytest.mark.parametrize(
    ("written", "code", "label"),
    [
        ("forbid C > 10", "SL503", "`C` lies in `float[0.1, 10]`"),
        ("require C <= 10", "SL502", "`C` lies in `float[0.1, 10]`"),
        ("forbid kernel == rbf and degree > 2", "SL503", BOTH),
        # It empties all that it is about, though no alternative and not the space.
        ("require kernel == rbf and degree > 2", "SL503", BOTH),
        ("require degree > 7", "SL503", "`degree` lies in `int[2, 5]`"),
        ("forbid degree > 1", "SL502", "`degree` lies in `int[2, 5]`"),
        ("gamma : {scale} when kernel in {linear, rbf, poly}", "SL502", "`kernel` is one of `{linear, rbf, poly}`"),
        ("gamma : {scale} when C > 10", "SL503", "`C` lies in `float[0.1, 10]`"),
    ],
)  # fmt: skip
def test_statements_without_effect(written: str, code: str, label: str) -> None:
    warning = one(SVC.format(written))
    assert (warning.code, warning.label) == (code, label)
    assert checked(SVC.format(written)).space is not None


def test_what_a_constraint_costs_that_lets_nothing_pass() -> None:
    assert one(SVC.format("require degree > 7")).notes == (
        "the constraints leave no configuration in which `degree` is active",
    )
    assert one(SVC.format("forbid degree > 7")).notes == ()
    assert one(SVC.format("require degree < 7")).help == "remove it"
    assert one(SVC.format("forbid degree < 7")).help is None


def test_what_is_never_active_is_the_reason() -> None:
    text = SVC.format("gamma : {scale} when C > 10\ncoef0 : float[1, 2] when gamma == scale\nforbid gamma == scale")
    warnings = checked(text).diagnostics
    assert [(each.code, each.label) for each in warnings] == [
        ("SL503", "`C` lies in `float[0.1, 10]`"),
        ("SL503", "`gamma` is never active"),
        ("SL504", "`gamma` is never active"),
    ]
    assert warnings[0].notes == ("`gamma` is never active",)


def test_what_is_never_active_together() -> None:
    text = """stage e = SVC { C : float[1, 2] } | RandomForestClassifier { max_depth : int[1, 9] }
    forbid e.SVC.C > 1.5 and e.RandomForestClassifier.max_depth > 3"""
    assert (one(text).code, one(text).label) == ("SL504", "never active together")


# ---- constraints in bodies: they apply where the operator is taken


def test_a_constraint_in_a_body_confines_nothing_but_its_operator() -> None:
    text = """stage scaler = none | StandardScaler
    stage e = GaussianNB | SVC { C : float[1, 2], forbid scaler is none }"""
    structures = checked(text).structures
    assert structures is not None
    assert structures.count == 3
    assert constraints(text) == ["forbid e is SVC and scaler is none"]


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("forbid scaler is none and e is SVC", ["forbid e is SVC and scaler is none and e is SVC"]),
        ("require scaler is none or k is none", ["require not e is SVC or scaler is none or k is none"]),
        ("require scaler is none and k is none", ["require not e is SVC or scaler is none and k is none"]),
        ("C = 1\nforbid C == 1 and scaler is none", ["forbid e is SVC and 1 == 1 and scaler is none"]),
        ("C : float[1, 2]\nforbid C > 1 and scaler is none", ["forbid e.SVC.C > 1 and scaler is none"]),
        ("forbid k.PCA.n_components > 2", ["forbid e is SVC and k.PCA.n_components > 2"]),
    ],
)
def test_what_a_constraint_in_a_body_means(body: str, meant: list[str]) -> None:
    text = f"""stage scaler = StandardScaler | none
    stage k = PCA {{ n_components : int[1, 3] = 1 }} | none
    stage e = GaussianNB | SVC {{ {body} }}"""
    assert constraints(text) == meant


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("estimator : SVC { forbid scaler is none } | GaussianNB", "e.BaggingClassifier.estimator is SVC"),
        ("estimator = SVC { forbid scaler is none }", "e is BaggingClassifier"),
        ("estimator : SVC { forbid scaler is none }", "e is BaggingClassifier"),
        ("estimator : (PCA -> SVC { forbid scaler is none }) as a | SVC", "e.BaggingClassifier.estimator is a"),
    ],
)
def test_constraints_in_bodies_in_bodies(body: str, meant: str) -> None:
    text = f"stage scaler = StandardScaler | none\nstage e = GaussianNB | BaggingClassifier {{ {body} }}"
    assert constraints(text) == [f"forbid {meant} and scaler is none"]


def test_a_test_of_what_lies_in_the_body_is_false_elsewhere_anyway() -> None:
    text = """stage scaler = none | StandardScaler
    stage e = GaussianNB | BaggingClassifier { estimator : SVC | GaussianNB, forbid estimator is SVC and scaler is none,
      require not (estimator is GaussianNB) or scaler is none }"""
    assert constraints(text) == [
        "forbid e.BaggingClassifier.estimator is SVC and scaler is none",
        "require not e.BaggingClassifier.estimator is GaussianNB or scaler is none",
    ]
    required = text.replace("forbid estimator is SVC and", "require estimator is SVC or")
    assert constraints(required)[0].startswith("require not e is BaggingClassifier or")


def test_a_body_that_every_configuration_has() -> None:
    steps = "stage scaler = StandardScaler | none\nstage e = SVC | GaussianNB\npipeline = scaler -> PCA { {} } -> e"
    said = "forbid scaler is none and e is SVC"
    assert constraints(steps.replace("{}", said)) == [said]
    alone = "stage scaler = StandardScaler | none\nstage e = SVC { forbid scaler is none }"
    # Where there is nothing else to take, the alternative of the other stage can never be.
    assert found(alone) == ["SL505 none"]


def test_a_group_is_confined_to_each_operator_that_includes_it() -> None:
    text = """params scaled { forbid scaler is none }
    stage scaler = StandardScaler | none
    stage e = SVC { include scaled } | GaussianNB | KNeighborsClassifier { include scaled }"""
    assert constraints(text) == [f"forbid e is {name} and scaler is none" for name in ("SVC", "KNeighborsClassifier")]


def test_a_stage_within_a_stage_confines_to_its_own_branch() -> None:
    text = """stage scaler = StandardScaler | none
    stage inner = SVC { forbid scaler is none }
    stage e = GaussianNB | inner"""
    assert constraints(text) == ["forbid e is inner and scaler is none"]


def test_statements_in_bodies_are_judged_where_the_operator_is_taken() -> None:
    text = """stage k = PCA {{ n_components : int[1, 3] }} | none
    stage e = GaussianNB | SVC {{ {} }}"""
    warning = one(text.format("require k.PCA.n_components > 5"))
    assert (warning.code, warning.notes) == (
        "SL503",
        ("the constraints leave no configuration in which `n_components` is active and `e` is `SVC`",),
    )
    assert one(text.format("require k is PCA or k is none")).label == "`k` is `PCA` or `none`"
    other = "stage e = SVC { C : float[1, 2] } | GaussianNB { forbid e.SVC.C > 1.5 }"
    assert (one(other).code, one(other).label) == ("SL504", "`C` is never active where `e` is `GaussianNB`")


# ---- what is left


def test_empty_space_and_its_culprits() -> None:
    assert found(SVC.format("require C > 10")) == ["SL506 require C > 10"]
    text = SVC.format("require C > 5\nrequire C < 9\nrequire C < 3")
    error = one(text)
    assert error.code == "SL506"
    assert [error.primary.text, *(each.span.text for each in error.related)] == ["require C > 5", "require C < 3"]


def test_dead_alternatives_and_their_culprits() -> None:
    text = """stage s = none | PCA
    stage e = SVC | GaussianNB | AdaBoostClassifier { estimator : SVC | GaussianNB }
    forbid e is AdaBoostClassifier and s is none
    forbid e is AdaBoostClassifier and s is PCA
    require e is SVC or e is AdaBoostClassifier"""
    gone, both = checked(text).diagnostics
    assert (gone.code, gone.primary.text, len(gone.related)) == ("SL505", "GaussianNB", 1)
    # Of what is below a dead alternative nothing is said.
    assert (both.code, both.primary.text, len(both.related)) == ("SL505", "AdaBoostClassifier", 2)


def test_dead_alternatives_of_a_nested_decision() -> None:
    text = """stage e = SVC | AdaBoostClassifier {
      estimator : GaussianNB | DecisionTreeClassifier { max_depth : int[1, 9], require max_depth > 9 }
      n_estimators : int[1, 9] }"""
    (error,) = checked(text).diagnostics
    assert (error.code, error.primary.text) == ("SL505", "DecisionTreeClassifier")
    assert [each.span.text for each in error.related] == ["require max_depth > 9"]


def test_the_default_must_remain() -> None:
    text = "stage s = PCA | none\nstage e = SVC { C : float[1, 2] = 1 }\nforbid s is PCA and e.SVC.C < 1.5"
    error = one(text)
    assert (error.code, error.primary.text) == ("SL507", "forbid s is PCA and e.SVC.C < 1.5")
    assert error.notes == ("the default of `e.C` is `1.0`", "the default of `s` is `PCA`")
    assert found(text.replace("none", "none @default")) == []


def test_undecidable() -> None:
    assert found(SVC.format("gamma : float[1, 2]\nforbid C * gamma > 10")) == ["SL515 forbid C * gamma > 10"]
    assert found(SVC.format("gamma : float[1, 2]\nforbid C * gamma < 19")) == ["SL507 forbid C * gamma < 19"]


def test_tangled() -> None:
    stages = "".join(f"stage s{number} = none | PCA | StandardScaler | MinMaxScaler\n" for number in range(16))
    pairs = [f"(s{number} is PCA or s{(number * 7 + 3) % 16} is none)" for number in range(16)]
    # A condition that ties as much decides nothing about structures: it is no obstacle to counting them.
    conditional = check(Source("t", f"{stages}stage e = SVC {{ degree : int[1, 2] when {' and '.join(pairs)} }}"))
    assert conditional.diagnostics == ()
    assert conditional.structures is not None
    assert conditional.structures.count == 4**16
    assert 4**16 < (conditional.structures.configuration_count or 0) < 2 * 4**16
    rules = [
        f"forbid s{a} is PCA and s{b} is none and s{a * b % 16} is MinMaxScaler" for a in range(16) for b in range(a)
    ]
    several = one(f"{stages}stage e = SVC\n" + "\n".join(rules))
    assert (several.code, several.label) == (
        "SL509",
        "the constraints together relate too many decisions to each other",
    )
    assert 0 < len(several.related) < 10


# ---- steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stage e = SVC\nstage s = PCA | none", ["SL601 s"]),
        ("stage e = SVC | GaussianNB\nstage f = SVC", ["SL602 e"]),
        ("stage s = PCA | SVC\nstage e = SVC", ["SL602 SVC"]),
        ("stage s = PCA\nstage e = SVC | PCA | none", ["SL601 PCA", "SL601 none"]),
        ("stage s = PCA | none", ["SL601 s"]),
        ("stage s = PCA\nstage t = none | MinMaxScaler", ["SL601 t"]),
        ("stage e = SVC | SVR", ["SL603 SVR"]),
        ("stage e = RBF", ["SL601 e"]),
        ("stage s = KMeans\nstage e = SVC", []),
        ("pipeline = PCA -> SVC", []),
        ("pipeline = SVC -> PCA", ["SL602 SVC", "SL601 PCA"]),
        ("stage s = PCA\nstage e = SVC\npipeline = e -> s", ["SL601 s"]),
    ],
)
def test_steps(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_swapped_stages() -> None:
    assert one("stage e = SVC\nstage s = PCA | none").help == "move `s` before `e`"


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        ("s -> e", []),
        ("(s -> e)", []),
        ("s -> s -> e", ["SL610 s"]),
        ("s -> PCA -> PCA as second -> e", []),
        ("s -> PCA -> PCA -> e", []),
        ("s -> PCA as p -> PCA as p -> e", ["SL211 p"]),
        ("PCA as s -> e", ["SL211 s", "SL221 s"]),
        ("s as other -> e", []),
        ("s -> x -> e", ["SL202 x"]),
        ("x -> e", ["SL202 x"]),
        ("(s & PCA) -> e", []),
        ("(s & x)? -> e", ["SL202 x"]),
        ("permute(s, PCA) -> e", []),
        ("e", ["SL221 s"]),
    ],
)
def test_pipelines(pipeline: str, expected: list[str]) -> None:
    text = f"stage s = StandardScaler | none\nstage e = SVC {{ C : float[1, 2] when s is none }}\npipeline = {pipeline}"
    text = text if pipeline != "e" else text.replace(" when s is none", "")
    assert sorted(found(text)) == sorted(expected)


def test_tuples_are_compared() -> None:
    text = """stage estimator = MLPClassifier {{
      hidden_layer_sizes : {{(50,), (100, 50)}} = (100, 50), alpha : float[1, 2] when {} }}"""
    for written in ("hidden_layer_sizes == (50,)", "(50,) == hidden_layer_sizes", "hidden_layer_sizes != (100, 50)"):
        space = check(Source("t", text.format(written))).space
        assert space is not None
        assert [first_exclusion(space, Configuration(each)) is None for each in LAYERS] == [True, False, False, True], (
            written
        )
    assert found(text.format("hidden_layer_sizes == (50, 50)"))[0] == "SL207 (50, 50)"
    assert found(text.format("hidden_layer_sizes < (50,)")) == ["SL508 hidden_layer_sizes"]


LAYERS = [
    {"estimator": "MLPClassifier", "estimator.hidden_layer_sizes": sizes} | alpha
    for sizes in ((50,), (100, 50))
    for alpha in ({"estimator.alpha": 1.5}, {})
]


def test_what_is_fixed_under_a_condition_is_a_hyperparameter_with_one_value() -> None:
    text = "stage estimator = SVC {{ kernel : {{rbf, poly}}, degree {} when kernel == poly, C : float[0.1, 1] }}"
    first, second = (checked(text.format(each)) for each in ("= 4", ": {4}"))
    assert first.space == second.space
    assert first.space is not None
    nested = "stage estimator = BaggingClassifier {{ bootstrap : bool, estimator {} when bootstrap }}"
    alike = [checked(nested.format(each)) for each in ("= SVC {}", "= SVC", ": SVC", ": {SVC}")]
    assert alike[0].space is not None
    assert [each.space for each in alike[1:]] == [alike[0].space] * 3
