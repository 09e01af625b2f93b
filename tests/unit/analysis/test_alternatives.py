"""Operators and plain values in one domain: each value of a set is an alternative, a range one with a value."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spelled import checked, decision, found, space

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.value import Value, are_same_value
from spacelang.ir.walk import unique_value_name
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.defaults import default_configuration
from spacelang.text import first_forbidden_character

INIT = "stage estimator = GradientBoostingClassifier {{ learning_rate : {{0.1, 0.2}}, init : {} }}"
ADDRESS = "estimator.GradientBoostingClassifier.init"
BIRCH = """stage reducer = Birch {{ threshold : {{0.2, 0.5}}, n_clusters : {} }}
stage estimator = GaussianNB"""
CLUSTERS = "AgglomerativeClustering {{ linkage : {{ward, single}} }} | int[2, 5] | {{none, 7}}".format()
MANY = """abstract box
stage thing = box {
  side : {1, 2}
  base : {none, StandardScaler { with_mean : bool }, "passthrough", 3, (1, 2), true, "a b"}
       | int[5, 6] | ordered {x, y} = 3
}
stage estimator = GaussianNB"""


ALIKE = """abstract quince {{ a : {{1, 2}} }}
abstract box {{ side : {{1, 2}}, base : quince | {{1, "1", "range", true, "true", 1.5, "1.5", none, "none", (1, 2)}}
  | int[5, 6]{} }}
stage thing = box
stage estimator = GaussianNB"""


def members(text: str) -> int | None:
    structures = checked(text).structures
    assert structures is not None
    return structures.configuration_count


def test_each_value_of_a_set_is_an_alternative() -> None:
    alike = ("{none, zero, LogisticRegression { C : {1, 10} }}", "{none} | {zero} | LogisticRegression { C : {1, 10} }")
    assert space(INIT.format(alike[0])) == space(INIT.format(alike[1]))
    choice = decision(INIT.format(alike[0]), ADDRESS)
    assert [(branch.name, branch.value) for branch in choice.branches] == [
        ("none", None),
        ("zero", "zero"),
        ("LogisticRegression", None),
    ]
    structures = checked(INIT.format(alike[0])).structures
    assert structures is not None
    assert (structures.count, structures.configuration_count) == (3, 2 * (1 + 1 + 2))


def test_a_range_among_operators_is_an_alternative_with_a_value() -> None:
    found_ = checked(BIRCH.format(CLUSTERS))
    assert found_.structures is not None
    assert found_.structures.configuration_count == 2 * (2 + 4 + 2)
    inside = {"reducer": "Birch", "reducer.threshold": 0.2, "estimator": "GaussianNB"}
    for more, is_member in (
        ({"reducer.n_clusters": "range", "reducer.n_clusters.value": 4}, True),
        ({"reducer.n_clusters": "range", "reducer.n_clusters.value": 6}, False),
        ({"reducer.n_clusters": "range"}, False),
        ({"reducer.n_clusters": "7"}, True),
        ({"reducer.n_clusters": "8"}, False),
    ):
        assert (first_exclusion(space(BIRCH.format(CLUSTERS)), Configuration(inside | more)) is None) is is_member


@pytest.mark.parametrize(
    ("taken", "value"),
    [
        ({"reducer.n_clusters": "none"}, None),
        ({"reducer.n_clusters": "7"}, 7),
        ({"reducer.n_clusters": "range", "reducer.n_clusters.value": 3}, 3),
    ],
)
def test_what_is_built_has_the_value(taken: dict[str, str | int], value: int | None) -> None:
    document = Configuration({"reducer": "Birch", "reducer.threshold": 0.2, "estimator": "GaussianNB"} | taken)
    assert build_pipeline(space(BIRCH.format(CLUSTERS)), document).steps[0][1].n_clusters == value


def test_what_is_built_has_the_word_or_the_operator() -> None:
    whole = space(INIT.format("{zero} | LogisticRegression { C : {1, 10} }"))
    before = {"estimator": "GradientBoostingClassifier", "estimator.learning_rate": 0.1}
    word = build_pipeline(whole, Configuration(before | {"estimator.init": "zero"}))
    assert word.steps[0][1].init == "zero"
    inner = build_pipeline(
        whole, Configuration(before | {"estimator.init": "LogisticRegression", "estimator.init.C": 10})
    )
    assert inner.steps[0][1].init.C == 10


@pytest.mark.parametrize(
    ("written", "usual"),
    [
        ("{zero} | LogisticRegression", "zero"),
        ("LogisticRegression | {zero} = zero", "zero"),
        ("LogisticRegression | {zero} | none = none", "none"),
        ("{zero, none} | LogisticRegression @default", "LogisticRegression"),
    ],
)
def test_the_default_of_a_mixture(written: str, usual: str) -> None:
    assert default_configuration(space(INIT.format(written)))["estimator.init"] == usual


def test_the_default_may_lie_in_a_range() -> None:
    usual = default_configuration(space(BIRCH.format(f"{CLUSTERS} = 4")))
    assert (usual["reducer.n_clusters"], usual["reducer.n_clusters.value"]) == ("range", 4)


def test_where_a_condition_does_not_hold_a_parameter_has_the_default_of_the_library() -> None:
    text = BIRCH.format("AgglomerativeClustering | {none} when threshold < 0.3")
    choice = decision(text, "reducer.Birch.n_clusters")
    assert [(branch.name, branch.value) for branch in choice.branches[1:]] == [("none", None), ("3", 3)]
    assert default_configuration(space(text))["reducer.n_clusters"] == "3"


@pytest.mark.parametrize(
    ("test", "count"),
    [("== zero", 1), ("!= zero", 3), ("in {zero, none}", 2), ("is zero", 1), ('== "zero"', 1), ("== none", 1)],
)
def test_values_are_compared(test: str, count: int) -> None:
    rule = f"forbid init {test} and learning_rate == 0.2"
    assert members(INIT.format(f"{{none, zero}} | LogisticRegression {{ C : {{1, 10}} }}, {rule}")) == 8 - count


@pytest.mark.parametrize(
    ("test", "count"),
    [
        ("base == 3", 1),
        ("base == (1, 2)", 1),
        ("base == true", 1),
        ('base == "a b"', 1),
        ("base in {3, true, none}", 3),
        ("base == StandardScaler", 2),
        ("base != range", 8),
        ("thing.box.base.range.value == x", 1),
        ("thing.base.value == 6", 1),
    ],
)
def test_values_that_are_no_words_are_compared(test: str, count: int) -> None:
    assert members(f"{MANY}\nforbid thing.box.side == 2 and {test.replace('base ', 'thing.base ')}") == 24 - count


@pytest.mark.parametrize("text", [MANY, BIRCH.format(CLUSTERS)])
def test_a_mixture_is_told_again(text: str) -> None:
    whole = space(text)
    assert members(space_to_text(whole)) == members(text)
    assert default_configuration(space(space_to_text(whole))) == default_configuration(whole)
    assert space_from_json(json.loads(json.dumps(space_to_json(whole)))) == whole


@pytest.mark.parametrize(
    ("written", "underlined"),
    [
        ("{zero, zero} | LogisticRegression", ["SL211 zero"]),
        ("{zero, one} | LogisticRegression", ["SL302 one"]),
        ("{zero, LogisticRegresion} | LogisticRegression", ["SL201 LogisticRegresion"]),
        ("{zero} | LogisticRegression = one", ["SL401 one"]),
        ("{zero} | LogisticRegression, forbid init == one", ["SL204 one"]),
        ("{zero} | LogisticRegression, forbid init == 3", ["SL508 3"]),
        ("ordered {zero, LogisticRegression { C = 1 }}", ["SL190 LogisticRegression { C = 1 }"]),
    ],
)
def test_mistakes_in_mixtures(written: str, underlined: list[str]) -> None:
    assert found(INIT.format(written)) == underlined


def test_a_value_is_there_once() -> None:
    assert found(BIRCH.format("{3} | int[2, 5] | AgglomerativeClustering")) == ["SL212 3"]


def test_the_remedy_of_operators_in_an_order_is_the_same_space() -> None:
    text = "stage e = AdaBoostClassifier {{ estimator : {} }}"
    assert found(text.format("ordered {GaussianNB {}, LogisticRegression { C = 1 }}"))[0].startswith("SL190")
    assert space(text.format("GaussianNB {} | LogisticRegression { C = 1 }"))


def test_none_beside_plain_values_is_one_of_them() -> None:
    text = "stage e = RandomForestClassifier {{ max_depth : {} }}"
    assert space(text.format("none | int[1, 5]")) == space(text.format("{none} | int[1, 5]"))


@pytest.mark.parametrize(
    ("test", "count"),
    [
        ("== 1", 1),
        ('== "1"', 1),
        ('in {1, "1"}', 2),
        ("== 1.0", 1),
        ('== "true"', 1),
        ('in {none, "none"}', 2),
        ("is none", 1),
        ('== "range"', 1),
        ("is range", 2),
        ('is "1"', 1),
        ("== quince", 2),
    ],
)
def test_values_that_read_like_each_other_are_told_apart(test: str, count: int) -> None:
    text = ALIKE.format("")
    assert members(text) == 2 * 14
    assert members(f"{text}\nforbid thing.box.side == 2 and thing.base {test}") == 28 - count


@pytest.mark.parametrize(
    ("written", "usual"),
    [("1", "1"), ('"1"', '"1"'), ('"range"', '"range"'), ("true", "true"), ('"none"', '"none"'), ("5", "range")],
)
def test_the_default_is_the_value_that_is_written(written: str, usual: str) -> None:
    whole = space(ALIKE.format(f" = {written}"))
    assert default_configuration(whole)["thing.base"] == usual
    assert default_configuration(space(space_to_text(whole))) == default_configuration(whole)
    assert space_from_json(json.loads(json.dumps(space_to_json(whole)))) == whole


@pytest.mark.parametrize("written", ['"7"', '"none"', '"range"', "one"])
def test_a_string_is_no_number_and_no_range(written: str) -> None:
    mixture = f"AgglomerativeClustering | {{7, none}} | int[2, 5] = {written}"
    assert found(BIRCH.format(mixture)) == [f"SL401 {written}"]


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 99),
    st.floats(-9, 99),
    st.text(max_size=3),
    st.sampled_from(("range", "none", "true", "1", "-1", "1.5", "1e-05", "(1, 2)", '"1"', "\u200b", "\\u{200b}")),
)


@given(values=st.tuples(*[st.one_of(PLAIN, st.tuples(PLAIN, PLAIN))] * 2))
def test_two_values_have_two_names(values: tuple[Value, Value]) -> None:
    first, second = values
    names = {unique_value_name(first), unique_value_name(second)}
    assert "range" not in names
    assert all(first_forbidden_character(name) is None for name in names)
    # 0.0 and -0.0, 1 and 1.0 are one value, which a decision has once.
    assert (len(names) == 1) <= are_same_value(first, second)
