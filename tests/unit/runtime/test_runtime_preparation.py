import numpy as np
import pandas as pd
import pytest
from handmade import among, operator, sequence, side_by_side, space, stage
from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.tables import ColumnContent
from spacelang.runtime.errors import BuildError, DataError
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.pipelines.catalogue_access import task_kind
from spacelang.runtime.pipelines.columns import TableColumn
from spacelang.runtime.pipelines.preparation import Preparation, plan_preparation
from spacelang.solver.defaults import default_configuration

ROWS = 12
PLAIN = space(stage("scaler", "none", "StandardScaler"), stage("estimator", "LogisticRegression", "GaussianNB"))
GAPS = pd.DataFrame(
    {
        "number": np.arange(ROWS, dtype=float),
        "holes": [None, 1.0, 1.0, 2.0] * 3,
        "flag": [True, False] * 6,
        "town": ["a", None, "b", "a"] * 3,
        "colour": pd.Categorical(["red", "blue", "red"] * 4),
        "void": [None] * ROWS,
    }
)
NUMBERS = GAPS[["number", "holes"]]


def imputed_by(*children):
    return not plan_preparation(space(*children), NUMBERS).imputed


def encoded_by(*children):
    return not plan_preparation(space(*children), GAPS[["number", "town"]]).encoded


def test_what_the_space_does_not_handle_is_imputed_and_encoded():
    preparation = plan_preparation(PLAIN, GAPS)
    assert preparation == Preparation(
        imputed=("holes", "town"), encoded=("flag", "town", "colour"), kept=("number",), dropped=("void",)
    )
    table = preparation.make_transformer().fit_transform(GAPS)
    assert table.shape == (ROWS, 1 + 1 + 2 + 2 + 2)
    assert table.dtype == np.float64
    assert np.isfinite(table).all()
    assert table[0, 1] == 1.0, "the most frequent value"


def test_what_is_done_is_said_in_one_sentence():
    assert plan_preparation(PLAIN, GAPS).description_sentence == (
        "Before the pipeline: missing values in 2 columns (`holes`, `town`) imputed with the most frequent value, "
        "categories in 3 columns (`flag`, `town`, `colour`) one-hot encoded, "
        "column `void` dropped because all values are missing."
    )


def test_nothing_is_done_to_numbers_without_gaps():
    preparation = plan_preparation(PLAIN, GAPS[["number"]])
    assert preparation.is_empty
    assert preparation.make_transformer() is None
    assert preparation.description_sentence == ""


def test_unknown_categories_and_a_training_part_without_values_do_not_break_it():
    preparation = plan_preparation(PLAIN, GAPS)
    transformer = preparation.make_transformer().fit(GAPS[GAPS["holes"].isna()])
    assert transformer.transform(GAPS).shape[0] == ROWS


TREES = stage("estimator", "RandomForestClassifier", "HistGradientBoostingClassifier")
LAST = stage("estimator", "LogisticRegression")


@pytest.mark.parametrize(
    ("handled", "children"),
    [
        (True, [TREES]),
        (True, [stage("scaler", "none", "StandardScaler"), TREES]),
        (False, [stage("estimator", "RandomForestClassifier", "LogisticRegression")]),
        (False, [stage("reducer", "none", "PCA"), TREES]),
        (True, [stage("imputer", "SimpleImputer", "KNNImputer"), stage("reducer", "none", "PCA"), LAST]),
        (True, [operator("SimpleImputer"), LAST]),
        (True, [operator("IterativeImputer"), LAST]),
        (False, [stage("imputer", "none", "SimpleImputer"), LAST]),
        (True, [stage("imputer", "none", "SimpleImputer"), TREES]),
        (True, [stage("scaler", "none", "RobustScaler"), operator("SimpleImputer"), LAST]),
        (False, [operator("Normalizer"), operator("SimpleImputer"), LAST]),
        (True, [stage("first", sequence(operator("StandardScaler"), operator("KNNImputer")), "SimpleImputer"), LAST]),
        (True, [side_by_side(operator("SimpleImputer"), operator("MissingIndicator")), LAST]),
        (False, [side_by_side(operator("SimpleImputer"), operator("PCA")), LAST]),
        (False, [side_by_side(operator("SimpleImputer"), operator("StandardScaler")), LAST]),
        (True, [operator("OneHotEncoder"), LAST]),
        (False, [operator("OrdinalEncoder"), LAST]),
        (True, [operator("OrdinalEncoder", encoded_missing_value=-2), LAST]),
        (True, [operator("OrdinalEncoder", among("o.encoded_missing_value", -2, -3)), LAST]),
        (False, [stage("encoder", "none", operator("OrdinalEncoder", encoded_missing_value=-2)), LAST]),
        (False, [operator("BaggingClassifier", estimator=operator("LogisticRegression"))]),
        (True, [operator("BaggingClassifier", estimator=operator("DecisionTreeClassifier"))]),
    ],
)
def test_missing_values_are_imputed_unless_every_structure_takes_them(handled, children):
    assert imputed_by(*children) is handled


CONSTANT = operator("SimpleImputer", strategy="constant")


@pytest.mark.parametrize(
    ("handled", "children"),
    [
        (True, [operator("OneHotEncoder"), LAST]),
        (True, [stage("encoder", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder"), LAST]),
        (False, [stage("encoder", "none", "OneHotEncoder"), LAST]),
        (True, [stage("encoder", "none", "OneHotEncoder"), operator("TargetEncoder"), LAST]),
        (False, [operator("StandardScaler"), operator("OneHotEncoder"), LAST]),
        (True, [CONSTANT, operator("OneHotEncoder"), LAST]),
        (False, [operator("SimpleImputer"), operator("OneHotEncoder"), LAST]),
        (
            True,
            [
                operator("SimpleImputer", among("s.strategy", "most_frequent", "constant")),
                operator("OneHotEncoder"),
                LAST,
            ],
        ),
        (
            False,
            [operator("SimpleImputer", among("s.strategy", "most_frequent", "mean")), operator("OneHotEncoder"), LAST],
        ),
        (False, [CONSTANT, LAST]),
        (False, [TREES]),
        (False, [LAST]),
    ],
)
def test_categories_are_encoded_unless_every_structure_encodes_them(handled, children):
    assert encoded_by(*children) is handled


def test_an_encoded_category_is_imputed_even_where_the_space_takes_missing_numbers():
    preparation = plan_preparation(space(TREES), GAPS)
    assert preparation.imputed == ("town",)
    assert preparation.kept == ("number", "holes")


def test_categories_that_the_space_encodes_reach_it_in_a_table():
    preparation = plan_preparation(space(operator("OneHotEncoder"), LAST), GAPS)
    numbers, categories = ("number", "holes"), ("flag", "town", "colour")
    table = [TableColumn(name, ColumnContent.NUMBER, lacks_values=name == "holes") for name in numbers]
    table += [TableColumn(name, ColumnContent.CATEGORY, lacks_values=name == "town") for name in categories]
    assert preparation.takes_dataframe
    kept = (*numbers, *categories)
    assert preparation == Preparation(kept=kept, dropped=("void",), table=tuple(table), missing=("holes",))
    assert list(preparation.make_transformer().fit_transform(GAPS).columns) == list(preparation.kept)


NUMBERED = "OrdinalEncoder { handle_unknown = use_encoded_value, unknown_value = -1, encoded_missing_value = -2 }"


def ordinal(chain, selector="categorical"):
    return sl.parse(f"pipeline = columns({selector}: {chain}, rest: SimpleImputer) -> LogisticRegression").checked


@pytest.mark.parametrize("gap", [None, np.nan])
def test_a_missing_category_that_the_space_numbers_reaches_it(gap):
    table = pd.DataFrame({"town": pd.Series(["a", gap, "b", "a"] * 3, dtype=object), "number": GAPS["number"]})
    preparation = plan_preparation(ordinal(NUMBERED), table)
    assert preparation.is_empty
    assert preparation.formerly_imputed_columns_text == "numbered by the space in column `town`"
    assert plan_preparation(ordinal("OrdinalEncoder"), table).imputed == ("town",)


def test_only_what_earlier_versions_imputed_is_told():
    whole = GAPS[["number", "town", "colour"]]
    assert (
        plan_preparation(ordinal(NUMBERED), whole).formerly_imputed_columns_text
        == "numbered by the space in column `town`"
    )
    assert plan_preparation(ordinal(NUMBERED), whole[["number", "colour"]]).formerly_imputed_columns_text == ""
    assert plan_preparation(ordinal("OneHotEncoder"), whole).formerly_imputed_columns_text == ""
    assert (
        plan_preparation(
            ordinal(f"(SimpleImputer {{ strategy = most_frequent }} -> {NUMBERED})"), whole
        ).formerly_imputed_columns_text
        == ""
    )


@pytest.mark.parametrize(
    ("searched", "imputed"),
    [
        ("encoded_missing_value : {-2, -3}", ()),
        ("encoded_missing_value : int[-9, -2]", ()),
        ("encoded_missing_value : {-2} | float[-9, -3]", ()),
        ("min_frequency : {1, 2}, encoded_missing_value : {-2, -3} when min_frequency == 1", ("town",)),
    ],
)
def test_the_number_of_a_missing_category_may_be_searched_where_it_is_always_one(searched, imputed):
    assert plan_preparation(ordinal(f"OrdinalEncoder {{ {searched} }}"), GAPS[["number", "town"]]).imputed == imputed


@given(st.data())
def test_no_missing_category_reaches_a_learner_that_takes_none(data):
    """Whatever part of the rows a pipeline is fitted to, and however many categories its encoder joins."""
    words = data.draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=12).filter(any))
    joined = data.draw(st.sampled_from(["", ", max_categories = 2", ", min_frequency = 2", ", min_frequency = 3"]))
    number = data.draw(st.sampled_from(["", ", encoded_missing_value = -2"]))
    columns = {"town": pd.Series(words, dtype=object), "number": np.arange(float(len(words)))}
    towns = make_table(pd.DataFrame(columns), np.arange(len(words)) % 2).features
    checked = ordinal(f"OrdinalEncoder {{ handle_unknown = use_encoded_value, unknown_value = -1{joined}{number} }}")
    preparation = plan_preparation(checked, towns)
    assert bool(preparation.imputed) == (None in words and not number)
    pipeline = build_pipeline(checked, default_configuration(checked), preparation=preparation)
    rows = data.draw(st.lists(st.sampled_from(range(len(words))), min_size=1))
    assert np.isfinite(pipeline[:-1].fit(towns.iloc[rows]).transform(towns)).all()


@pytest.mark.parametrize("gap", [None, np.nan])
def test_a_missing_object_is_imputed_and_no_category(gap):
    columns = pd.DataFrame({"flag": pd.Series([True, gap, True, False] * 3, dtype=object), "number": GAPS["number"]})
    features = make_table(columns, [0, 1] * 6).features
    assert plan_preparation(PLAIN, features).make_transformer().fit_transform(features).shape == (ROWS, 1 + 2)


def test_numbers_beside_categories_are_imputed_as_numbers():
    parts = "columns(categorical: OrdinalEncoder, numeric: PCA) -> LogisticRegression"
    preparation = plan_preparation(sl.parse(f"pipeline = {parts}").checked, GAPS)
    assert preparation.imputed == ("holes", "town")
    assert preparation.make_transformer().fit_transform(GAPS)["holes"].dtype == np.float64


def test_missing_dates_are_refused_where_they_would_have_to_be_imputed():
    days = pd.DataFrame({"day": [pd.Timestamp("2026-01-01"), None] * 6, "number": GAPS["number"]})
    chain = "OrdinalEncoder { handle_unknown = use_encoded_value, unknown_value = -1 }"
    with pytest.raises(DataError, match=r"the column `day` has missing dates in 6 of 12 rows"):
        plan_preparation(sl.parse(f"pipeline = columns(datetime: {chain}) -> LogisticRegression").checked, days)
    told = plan_preparation(
        sl.parse(f"pipeline = columns(datetime: {chain} -> SimpleImputer) -> LogisticRegression").checked, days
    )
    assert told.is_empty


WORDS = [f"word {number}" for number in range(300)]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series(WORDS), "contains text where numbers are needed: 300 different values in 300 rows"),
        (pd.Series([1.0, np.inf, 2.0]), "infinite"),
        (pd.Series([1, "a", 2], dtype=object), "the type `mixed-integer`"),
        (pd.Series(pd.date_range("2020-01-01", periods=3)), "datetime"),
        (pd.Series([1j, 2j]), "complex128"),
        (pd.Series([None, None], dtype=float), "all values of all feature columns are missing"),
    ],
)
def test_columns_that_no_preparation_makes_usable(column, message):
    with pytest.raises(DataError) as caught:
        plan_preparation(PLAIN, pd.DataFrame({"note": column}))
    assert message in caught.value.message
    assert "note" in caught.value.message or "all feature columns" in message


@pytest.mark.parametrize("words", [WORDS[:200], WORDS * 2], ids=["few", "repeated"])
def test_what_still_passes_for_categories(words):
    assert plan_preparation(PLAIN, pd.DataFrame({"note": words})).encoded == ("note",)


def test_text_is_no_mistake_where_the_space_encodes_it():
    assert plan_preparation(space(operator("TargetEncoder"), LAST), pd.DataFrame({"note": WORDS})).is_empty


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (TREES, "classification"),
        (stage("estimator", "Ridge", "SVR"), "regression"),
        (sequence(operator("PCA"), operator("SVC")), "classification"),
    ],
)
def test_the_kind_of_task_is_that_of_the_last_stage(last, kind):
    assert task_kind(space(stage("scaler", "none", "StandardScaler"), last).root) == kind


@pytest.mark.parametrize("last", [stage("e", "SVC", "SVR"), stage("e", "PCA"), sequence()])
def test_a_space_that_predicts_nothing_or_two_kinds_is_refused(last):
    with pytest.raises(BuildError):
        task_kind(last)


def test_an_unknown_operator_is_refused():
    with pytest.raises(BuildError, match="`Mystery` is not in the catalogue"):
        task_kind(operator("Mystery"))
