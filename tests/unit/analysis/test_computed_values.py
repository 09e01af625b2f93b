"""Computed values, `var` and `let`: what they mean, from the text to the estimator."""

import ast
from pathlib import Path

import joblib
import pytest

import spacelang as sl
from spacelang.ir.computed_parameters import computed_value
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.ir.walk import Assignment, computed_parameters
from spacelang.report.pipeline_module import module_with_builder
from spacelang.runtime.request_queue import PrefixKeys
from spacelang.serialization.difference import list_differing_facts

FLAML = """
space flaml
use lightgbm
stage estimator = LGBMClassifier {
  var bits : int[3, 10] = 8
  max_bin := 2 ** bits - 1
  n_estimators : int[4, 6] = 5
}
"""
MANY = """
var depth : int[1, 4] = 2
var score : {gini, entropy} = gini
var f : {f_classif, chi2} = chi2
var r : float[0.1, 0.4] = 0.2 when depth > 1
let leaves := 2 ** depth
let wide := r > 0.2 implies score == entropy
stage scaler = none | StandardScaler | RobustScaler { q_min := r / 2, q_max : float[0.7, 0.9] = 0.8 }
stage selector = SelectKBest { score_func := f, k := 3 - floor(r * 2) } | none
stage estimator = DecisionTreeClassifier {
  criterion      := score
  max_leaf_nodes := leaves + 1
  ccp_alpha      := max(0, sqrt(r) - 0.5)
  min_samples_leaf := count(scaler is none, selector is none, depth > 2) + 1
  splitter : {best, random} = best when wide
} | SVC { C := depth / 2, shrinking := scaler is none, coef0 := 1 / (depth - 2) }
"""


def test_a_computed_value_is_in_no_configuration_and_in_every_estimator() -> None:
    space = sl.parse(FLAML, allow=("lightgbm",))
    without = sl.parse(
        FLAML.replace("  var bits : int[3, 10] = 8\n  max_bin := 2 ** bits - 1\n", ""), allow=("lightgbm",)
    )
    assert space.counted.configuration_count == 8 * without.counted.configuration_count
    seen = {}
    for configuration in space.sample(100, seed=0):
        assert set(configuration) == {"estimator", "estimator.bits", "estimator.n_estimators"}
        bins = space.build(configuration).named_steps["estimator"].get_params()["max_bin"]
        assert type(bins) is int
        seen[configuration["estimator.bits"]] = bins
    assert seen == {bits: 2**bits - 1 for bits in range(3, 11)}
    assert space.build(space.default()).named_steps["estimator"].get_params()["max_bin"] == 255


def test_generated_modules_build_the_same_pipelines() -> None:
    space = sl.parse(MANY)
    names: dict[str, object] = {}
    exec(compile(module_with_builder('"""A module."""', space.checked), "module", "exec"), names)
    for configuration in space.sample(150, seed=1):
        built = space.build(configuration, random_state=0)
        assert joblib.hash(names["build"](dict(configuration), 0)) == joblib.hash(built)  # type: ignore[operator]


def test_generated_modules_have_only_the_functions_that_they_use() -> None:
    text = "stage e = DecisionTreeClassifier { var bits : int[1, 4] = 3, max_leaf_nodes := 2 ** bits }"
    code = module_with_builder('"""A module."""', sl.parse(text).checked)
    defined = {each.name for each in ast.parse(code).body if isinstance(each, ast.FunctionDef)}
    used = {each.id for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Name)}
    assert {"defined_arguments", "to_exact_decimal", "power"} <= defined <= used | {"build"}
    assert all("import" not in line for line in code.partition("\ndef ")[2].splitlines())


def test_a_value_that_does_not_exist_is_the_default_of_the_library() -> None:
    space = sl.parse(MANY)
    shallow = {
        "depth": 1,
        "f": "chi2",
        "score": "gini",
        "scaler": "RobustScaler",
        "scaler.q_max": 0.7,
        "selector": "none",
    }
    pipeline = space.build(sl.Configuration({**shallow, "estimator": "SVC"}))
    assert pipeline.named_steps["scaler"].quantile_range == (25.0, 70.0)  # `r` is not active
    deeper = sl.Configuration({**shallow, "depth": 2, "r": 0.2, "estimator": "SVC"})
    assert space.build(deeper).named_steps["scaler"].quantile_range == (10.0, 70.0)
    assert space.build(deeper).named_steps["estimator"].coef0 == 0.0  # a division by zero
    assert space.build(deeper).named_steps["estimator"].C == 1


def checked(text: str) -> Space:
    return sl.parse(text).checked


@pytest.mark.parametrize(
    ("written", "value"),
    [("2 ** a ** 2", 16), ("-a ** 2", -4), ("sum(a, 1, 2)", 5), ("2 ** -a", 0.25), ("count(a > 1, a > 2)", 1),
     ("6 / a", 3.0), ("a / 4", 0.5), ("floor(6 / a) + 1", 4), ("sqrt(2 * a)", 2.0), ("log2(a)", 1.0), ("a ** a", 4),
     ("count(6 / a == 3)", 1), ("min(a, 8 / a)", 2.0), ("a * 0.5", 1.0), ("ceil(a * 0.4)", 1),
     ("a > 1 implies a > 2", False), ("true implies a == 2", True)],
)  # fmt: skip
def test_expressions(written: str, value: object) -> None:
    space = sl.parse(f"abstract made\nstage e = made {{ var a : int[2, 2]\n value := {written} }}")
    computed, _ = next(iter(computed_parameters(space.checked.root)))
    lookup = Assignment.from_configuration(space.checked, space.default())
    found = computed_value(computed.expression, lookup, space.checked.variables)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("member", "value"),
    [("max_features := 1 / a", 1.0), ("max_leaf_nodes := 6 / a", 6), ("max_leaf_nodes := 4 * sqrt(a)", 4),
     ("max_features = 2 / 2", 1.0), ("max_leaf_nodes = 6 / 2", 3), ("max_features = 3 - 1", 2)],
)  # fmt: skip
def test_a_quotient_is_an_integer_only_where_the_class_takes_no_float(member: str, value: object) -> None:
    space = sl.parse(f"stage e = DecisionTreeClassifier {{ var a : {{1, 2}} = 1, {member}, require a / 1 == 1 }}")
    assert space.counted.configuration_count == 1
    names: dict[str, object] = {}
    exec(compile(module_with_builder('"""A module."""', space.checked), "module", "exec"), names)
    written = names["build"](dict(space.default()))  # type: ignore[operator]
    for pipeline in (space.build(space.default()), written):
        found = pipeline.named_steps["e"].get_params()[member.partition(" ")[0]]
        assert (found, type(found)) == (value, type(value))


def test_a_quotient_that_is_too_large_for_a_fraction_is_refused_with_a_remedy() -> None:
    with pytest.raises(sl.SpaceError, match=r"rejects `4.0`(.|\n)*`floor\(4 / a\)`"):
        sl.parse("stage e = DecisionTreeClassifier { var a : {1, 2}, max_features := 4 / a }")


def test_constraints_decide_which_values_are_checked() -> None:
    text = "stage e = DecisionTreeClassifier {{ var a : {}, var b : {}, {} := a - b, require a - b >= {} }}"
    sl.parse(text.format("int[1, 9] = 9", "int[1, 9] = 1", "max_depth", 1))
    sl.parse(text.format("float[0, 1] = 1", "float[0, 1] = 0", "ccp_alpha", 0))
    with pytest.raises(sl.SpaceError, match="SL302"):
        sl.parse(text.format("int[1, 9] = 9", "int[1, 9] = 1", "max_depth", 0))
    with pytest.raises(sl.SpaceError, match="SL303"):
        sl.parse(text.format("float[0, 1] = 1", "float[0, 1] = 0", "ccp_alpha", -0.1))


def test_bindings_reach_computed_values() -> None:
    text = "stage e = DecisionTreeClassifier { var a : int[2, 9] = 9, max_leaf_nodes := min(2 ** a, n_samples) }"
    space = sl.parse(text)
    assert space.build(space.default()).named_steps["e"].max_leaf_nodes == 512
    bound = space.bind(n_samples=100)
    assert bound.build(bound.default()).named_steps["e"].max_leaf_nodes == 100


def test_an_imported_var_belongs_to_the_space_only_if_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "inner.space").write_text(
        "var used : int[1, 3]\nvar idle : int[1, 5]\nlet twice := 2 * used\n"
        "stage tree = DecisionTreeClassifier { max_depth := twice }\nstage other = SVC { C := idle }\n"
    )
    path = tmp_path / "outer.space"
    path.write_text(
        'import "inner.space" as inner\nvar used : int[1, 2]\n'
        "stage scaler = none | StandardScaler\npipeline = scaler -> inner.tree\n"
        "require used <= inner.used\n"
    )
    space = sl.load(path)
    assert {"used", "used_2"} <= space.checked.variables.keys()
    assert "idle" not in space.checked.variables
    assert space.counted.configuration_count == 2 * 5
    built = space.build(sl.Configuration({"used": 1, "used_2": 3, "scaler": "none", "tree": "DecisionTreeClassifier"}))
    assert built.named_steps["tree"].max_depth == 6


def test_groups_may_have_computed_values() -> None:
    text = """params sized { var bits : int[1, 3] = 2, let nodes := 2 ** bits, max_leaf_nodes := nodes }
stage e = DecisionTreeClassifier { include sized } | ExtraTreeClassifier { include sized, max_leaf_nodes = 7 }"""
    space = sl.parse(text)
    by_name = {
        str(c["e"]): space.build(c).named_steps["e"].max_leaf_nodes for c in space.sample(50) if c["e.bits"] == 3
    }
    assert by_name == {"DecisionTreeClassifier": 8, "ExtraTreeClassifier": 7}


def test_differences_name_computed_values() -> None:
    one, other = (checked(f"stage e = SVC {{ var a : int[1, 3], C := {value} }}") for value in ("a + 1", "a ** 2"))
    (found,) = list_differing_facts(one, other)
    assert (found.aspect.value, found.first, found.second) == ("computed value", "e.SVC.a + 1", "e.SVC.a ** 2")


def test_a_computed_key_is_named_in_the_reason() -> None:
    space = sl.parse("stage e = SVC { var a : int[1, 3] = 2, C := a + 1 }")
    found = first_exclusion(space.checked, sl.Configuration({"e": "SVC", "e.a": 2, "e.C": 3}))
    assert found is not None
    assert found.reason == "`e.C` is computed from other values, so it has no value of its own"


def test_in_its_own_definition_a_name_means_what_it_means_outside() -> None:
    tree = "DecisionTreeClassifier { max_depth := max_depth }"
    lines = "var max_depth : int[1, 3]\nlet C := 2 * max_depth\n"
    space = sl.parse(f"{lines}stage e = {tree} | SVC {{ C := C + 1, gamma := C }}")
    first, second = (sl.Configuration({"max_depth": 3, "e": each}) for each in ("DecisionTreeClassifier", "SVC"))
    assert space.build(first).named_steps["e"].max_depth == 3
    built = space.build(second).named_steps["e"]
    assert (built.C, built.gamma) == (7, 7)


def test_a_value_that_grows_with_the_data_needs_a_binding() -> None:
    text = "let k := n_features / 2\nstage s = SelectKBest { k := floor(k) }\nstage e = SVC"
    with pytest.raises(sl.SpaceError, match="SL406"):
        sl.parse(text)
    bound = sl.parse(text, bind={"n_features": 9})
    assert bound.build(bound.default()).named_steps["s"].k == 4


def test_what_the_data_drops_is_dropped_from_computed_values() -> None:
    text = """var size : int[2, 4] = 3 when n_missing > 0
stage imputer = KNNImputer { n_neighbors := size }
stage scaler  = StandardScaler | none
stage encoder = OneHotEncoder { max_categories : int[5, 9] = 5 }
stage estimator = SVC { C := count(encoder is OneHotEncoder, scaler is none) + 1, gamma := encoder.max_categories }
pipeline = columns(numeric: imputer -> scaler, categorical: encoder) -> estimator"""
    with_all, without = sl.parse(text), sl.parse(text, bind={"n_missing": 0, "n_categorical": 0, "n_text": 0})
    assert {"size", "encoder"} <= with_all.checked.variables.keys()
    assert without.checked.variables.keys() == {"imputer", "scaler", "estimator"}
    assert [each.name for each, _ in computed_parameters(without.checked.root)] == ["C"]
    built = without.build(without.default()).named_steps["estimator"]
    assert (built.C, built.gamma) == (1, "scale")


def test_steps_share_a_cache_only_if_their_computed_values_agree() -> None:
    space = sl.parse(
        "var n : int[1, 3] = 2\nvar c : int[1, 3] = 1\nstage reducer = PCA { n_components := n }\n"
        "stage estimator = SVC { C := c }"
    )
    keys = PrefixKeys(space.checked, 100)
    base = {"n": 1, "c": 1, "reducer": "PCA", "estimator": "SVC"}
    first, other_c, other_n = (
        keys.key_of(Request(sl.Configuration(each))) for each in (base, {**base, "c": 2}, {**base, "n": 2})
    )
    assert first[:2] == other_c[:2]
    assert first != other_c
    assert first[:2] != other_n[:2]


@pytest.mark.parametrize("number", ["count(a > 1, b == 2) <= 2", "count(a > 1) + count(b == 2) >= 0"])
def test_counts_that_decide_nothing_still_name_their_hyperparameters(number: str) -> None:
    space = sl.parse(f"""
        abstract Model
        stage model = Model {{ a : int[0, 3], b : int[1, 2] when a > 1, forbid {number} }}
    """)
    assert space.configurations == 2  # where `b` is active, everything is forbidden
