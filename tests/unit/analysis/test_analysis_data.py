"""What depends on the data: bounds, defaults, conditions; bound, unbound, and where the data leaves nothing."""

import pytest

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.analysis.diagnostic_collector import BindingError, check_bindings
from spacelang.ir.domain import describe
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Hyperparameter
from spacelang.serialization.syntax_nodes import format_expression
from spacelang.solver.defaults import default_configuration
from spacelang.text import Source

COEF = "stage e = SVC {{ coef0 : {} }}"
EXAMPLE = "stage s = QuantileTransformer { n_quantiles : int[10, min(2000, n_samples)] log = 1000 }\nstage e = SVC"


def checked(text: str, **numbers: int) -> CheckResult:
    return check(Source("data.space", text), CheckSettings(numbers))


def codes(text: str, **numbers: int) -> list[str]:
    return [diagnostic.code for diagnostic in checked(text, **numbers).diagnostics]


def hyperparameters(text: str, **numbers: int) -> list[Hyperparameter]:
    found = checked(text, **numbers)
    assert found.space is not None, found.diagnostics
    return [*found.space.hyperparameters]


def domain(written: str, **numbers: int) -> str:
    return describe(hyperparameters(COEF.format(written), **numbers)[0].domain)


# ---- bounds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("int[1, n_features]", "int[1, 30]"),
        ("int[1, sqrt(n_features)]", "int[1, 5]"),
        ("int[sqrt(n_features), 9]", "int[6, 9]"),
        # A bound that lies between two integers excludes nothing more by being excluded itself.
        ("int(sqrt(n_features), 9]", "int[6, 9]"),
        ("int[1, n_features / 4)", "int[1, 7]"),
        ("int[1, n_features / 3)", "int[1, 9]"),
        # Numbers are the decimals that are written: three tenths of 30 are 9 exactly.
        ("int[1, 0.3 * n_features]", "int[1, 9]"),
        ("float[0, n_features / 4]", "float[0.0, 7.5]"),
        ("float[1 / n_features, 1] log", "float[0.03333333333333333, 1.0] log"),
        ("int[0, n_features] step 4", "int[0, 28] step 4"),
        ("int[0, n_features) step 10", "int[0, 20] step 10"),
        ("float[0, n_features] step 12.5", "float[0.0, 25.0] step 12.5"),
        ("{none} | int[2, n_features]", "{none} | int[2, 30]"),
    ],
)
def test_bound_ranges(written: str, expected: str) -> None:
    assert domain(written.replace("{none}", "{-1}"), n_features=30) == expected.replace("{none}", "{-1}")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("int[1, min(256, n_features - 1)]", "int[1, 256]"),
        ("int[1, max(9, min(4, n_features))]", "int[1, 9]"),
        ("float[2 / (1 + n_features), 1]", "float[0.0, 1.0]"),
    ],
)
def test_ranges_for_arbitrarily_large_data(written: str, expected: str) -> None:
    assert domain(written) == expected


@pytest.mark.parametrize(
    ("written", "blamed"),
    [
        ("int[1, min(9, n_samples) + n_features]", "n_features"),
        ("int[1, n_samples / n_features]", "n_samples"),
        ("int[1, n_samples - n_samples]", "n_samples"),
        ("float[sqrt(1 - n_features), 1]", "n_features"),
        ("float[1 / n_features, 1] log", "n_features"),
    ],
)
def test_what_has_no_limit(written: str, blamed: str) -> None:
    (problem,) = checked(COEF.format(written)).diagnostics
    assert (problem.code, problem.primary.text) == ("SL406", blamed)
    assert problem.help is not None
    assert f"--bind {blamed}=20" in problem.help


def test_defaults_are_drawn_in() -> None:
    assert [hyperparameters(EXAMPLE, n_samples=rows)[0].default for rows in (5000, 1000, 569, 10)] == [
        1000,
        1000,
        569,
        10,
    ]
    # So is the library's own default.
    assert hyperparameters(EXAMPLE.replace(" = 1000", ""), n_samples=569)[0].default == 569
    assert codes(EXAMPLE.replace("1000", "2001"), n_samples=569) == ["SL401"]
    assert codes(EXAMPLE.replace("1000", "five"), n_samples=569) == ["SL401"]
    excluded = hyperparameters("stage e = SVC { coef0 : float[0, n_classes / 2) = 2 }", n_classes=3)[0]
    assert isinstance(excluded.default, float)
    assert 1.49 < excluded.default < 1.5
    # The lower end is excluded for these data alone: what is nearest to it is the next number, not the upper end.
    excluded = hyperparameters("stage e = SVC { coef0 : float(n_classes / 4, 9] = 0.75 }", n_classes=3)[0]
    assert isinstance(excluded.default, float)
    assert 0.75 < excluded.default < 0.76


def test_empty_for_this_data() -> None:
    (problem,) = checked(EXAMPLE, n_samples=5).diagnostics
    assert (problem.code, problem.primary.text) == ("SL403", "min(2000, n_samples)")
    assert problem.label == "for n_samples = 5 the upper bound is 5"
    assert codes(COEF.format("int[300, min(200, n_features)]")) == ["SL403"]


def test_numbers_that_grow_with_every_bracket_end_soon() -> None:
    term = "1e300"
    for _ in range(14):
        term = f"({term} * {term})"
    assert codes(COEF.format(f"float[0, {term}]")) == ["SL405"]


# ---- conditions and constraints


KNN = """stage s = none | PCA
stage e = KNeighborsClassifier { n_neighbors : int[1, 50] = 5, p : int[1, 3] = 2 when n_neighbors <= n_samples / 2 }
"""


def test_conditions_are_bound() -> None:
    p = hyperparameters(KNN, n_samples=20)[1]
    assert p.condition is not None
    assert format_expression(p.condition) == "e.KNeighborsClassifier.n_neighbors <= 20 / 2"


@pytest.mark.parametrize("numbers", [{}, {"n_samples": 20}, {"n_samples": 2000}])
def test_no_word_of_statements_that_other_data_would_change(numbers: dict[str, int]) -> None:
    rules = "require e.KNeighborsClassifier.n_neighbors <= n_samples\nforbid n_samples < 10\nforbid n_samples == 7"
    assert codes(KNN + rules, **numbers) == []
    always = "stage s = SelectKBest { k : int[1, min(50, n_samples)] = 3, forbid k > 50 }\nstage e = SVC"
    assert codes(always, **numbers) == []
    assert codes(always.replace("min(50, n_samples)", "50")) == ["SL503"]


def test_alternatives_that_this_data_excludes() -> None:
    rule = "forbid s is PCA and n_samples < 100"
    (warning,) = checked(KNN + rule, n_samples=50).diagnostics
    assert (warning.code, warning.notes) == ("SL407", ("`n_samples` is 50",))
    assert codes(KNN + rule, n_samples=500) == codes(KNN + rule) == []
    # That very large data excludes it is no mistake, and is not what was asked.
    assert codes(KNN + "forbid s is PCA and n_samples > 100") == []
    assert codes(KNN + "forbid s is PCA") == ["SL505"]


def test_symbols_beside_values() -> None:
    text = "stage e = RandomForestClassifier {{ max_leaf_nodes : {} = 4, forbid max_leaf_nodes {} }}"
    assert codes(text.format("{2, 4, 8}", "== n_classes"), n_classes=3) == []
    assert codes(text.format("ordered {2, 4, 8}", "> n_classes"), n_classes=5) == []
    assert codes(text.format("{2, 4, 8}", "== 3"), n_classes=3) == ["SL207"]
    assert codes(text.format("{2, 4, 8}", "> 2 and n_classes"), n_classes=3) == ["SL508"]
    fixed = """stage e = RandomForestClassifier {
      n_estimators = 50, max_depth : int[1, 9] = 2, forbid n_estimators > n_samples and max_depth > 3
    }"""
    assert codes(fixed, n_samples=10) == codes(fixed, n_samples=1000) == []
    counts = [checked(fixed, n_samples=rows).structures for rows in (10, 1000)]
    assert [found.configuration_count for found in counts if found is not None] == [3, 9]


@pytest.mark.parametrize(
    "condition",
    [
        "n_samples > n_features",
        "n_samples / n_features > 10",
        "coef0 * n_samples > n_features",
        "n_samples - n_samples in {0}",
    ],
)
def test_what_nobody_knows_without_data(condition: str) -> None:
    text = f"stage e = SVC {{ coef0 : int[1, 9], forbid {condition} and coef0 > 5 }}"
    assert codes(text) == ["SL406"]
    assert codes(text, n_samples=7, n_features=9) == []


# ---- what is said


def test_symbols_that_a_text_mentions() -> None:
    assert checked(EXAMPLE).symbols == {"n_samples": None}
    assert checked(KNN + "forbid n_classes > 3 and s is PCA", n_samples=9, n_features=3).symbols == {
        "n_classes": None,
        "n_samples": 9,
    }
    assert checked("stage n_samples = PCA | none\nstage e = SVC\nforbid n_samples is PCA and e is none").symbols == {}


def test_what_is_fixed_is_said_with_its_place() -> None:
    text = "stage e = SVC { kernel = rbf, C : float[1, 2] when kernel == rbf }"
    (warning,) = checked(text).diagnostics
    assert (warning.code, warning.label) == ("SL502", "`kernel` is fixed to `rbf`")
    assert [(related.span.text, related.message) for related in warning.related] == [("kernel", "fixed here")]


def test_bindings() -> None:
    assert check_bindings({"n_features": 3, "n_samples": 10}) == {"n_features": 3, "n_samples": 10}
    for wrong in (0, -1, 2.0, "3", True, None, 10**16):
        with pytest.raises(BindingError, match="cannot be"):
            check_bindings({"n_features": wrong})
    with pytest.raises(BindingError) as error:
        check_bindings({"n_feature": 3})
    assert error.value.help == "did you mean `n_features`?"


# ---- defaults that only the data makes a constraint exclude

GROWING = """
stage s = none | PCA { n_components : int[1, min(n_features, 30)] = 10 } @default | StandardScaler
stage e = SVC | GaussianNB | LogisticRegression { C : float[0.1, 10] log = 5 }
forbid s.PCA.n_components > n_features / 2
forbid n_samples > 1000 and e is SVC
forbid s is PCA and e is GaussianNB
"""


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"n_samples": 100, "n_features": 40}, {"s": "PCA", "s.n_components": 10, "e": "SVC"}),
        # Values move before decisions do.
        ({"n_samples": 100, "n_features": 4}, {"s": "PCA", "s.n_components": 1, "e": "SVC"}),
        ({"n_samples": 100, "n_features": 1}, {"s": "none", "e": "SVC"}),
        # As few decisions as possible: with GaussianNB, which comes first, the step before it would have to go too.
        (
            {"n_samples": 5000, "n_features": 40},
            {"s": "PCA", "s.n_components": 10, "e": "LogisticRegression", "e.C": 5},
        ),
        ({"n_samples": 5000, "n_features": 1}, {"s": "none", "e": "GaussianNB"}),
        # What is not bound is arbitrarily large.
        ({}, {"s": "PCA", "s.n_components": 10, "e": "LogisticRegression", "e.C": 5}),
    ],
)
def test_the_default_moves_where_only_the_data_excludes_it(
    numbers: dict[str, int], expected: dict[str, object]
) -> None:
    found = checked(GROWING, **numbers)
    assert {diagnostic.code for diagnostic in found.diagnostics} <= {"SL407"}
    assert found.space is not None
    assert default_configuration(found.space).to_dict() == expected
    assert first_exclusion(found.space, default_configuration(found.space)) is None


def test_a_default_that_other_constraints_exclude_is_a_mistake_for_any_data() -> None:
    mistaken = GROWING + "forbid s is PCA and e is SVC\n"
    assert codes(mistaken, n_samples=100, n_features=40) == ["SL507"]
    # That the data excludes it as well is no second mistake.
    assert codes(mistaken, n_samples=5000, n_features=40) == ["SL407", "SL507"]
