import numpy as np
import pandas as pd
import pytest
from handmade import operator, side_by_side, space, stage
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import ColumnSelector, Product, ProductKind
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import Request, Status
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import Table, load_dataset, make_table
from spacelang.runtime.data.tables import SparseTable, canonical_csr, data_fingerprint, make_data_facts
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.folds import EvaluationSettings, make_folds
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.pipelines.preparation import Preparation, plan_preparation

FORMS = ("csr", "csc", "coo", "lil", "dok", "bsr")
RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((60, 40)) < 0.08, RNG.normal(size=(60, 40)), 0.0)
LABELS = np.where(RNG.random(60) < 0.5, "no", "yes")
CLASSIFIERS = space(
    stage("scaler", "none", "MaxAbsScaler", "StandardScaler"),
    stage("estimator", "LogisticRegression", "MultinomialNB", "GaussianNB", "RandomForestClassifier"),
)


def table(features=None) -> Table:
    return make_table(sparse.csr_array(DENSE) if features is None else features, LABELS)


@st.composite
def entries(draw):
    """Rows, columns and numbers of a small matrix in any order, some of them twice, some of them zero."""
    cells = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from([0.0, 1.0, -1.0, 2.5, 8.0]))))
    rows, columns, numbers = zip(*cells, strict=True) if cells else ((), (), ())
    return np.array(rows, dtype=int), np.array(columns, dtype=int), np.array(numbers, dtype=float)


@given(entries(), st.randoms(use_true_random=False), st.sampled_from(FORMS))
def test_one_content_has_one_form_and_one_fingerprint(found, random, form):
    rows, columns, numbers = found
    order = random.sample(range(len(rows)), len(rows))
    first = sparse.coo_array((numbers, (rows, columns)), shape=(5, 4))
    other = sparse.coo_array((numbers[order], (rows[order], columns[order])), shape=(5, 4)).asformat(form)
    for features in (first, other):
        made = canonical_csr(features)
        np.testing.assert_array_equal(made.toarray(), first.toarray())
        assert made.has_canonical_format
        assert made.nnz == np.count_nonzero(first.toarray())
        assert made.indices.dtype == made.indptr.dtype == np.int32
    assert data_fingerprint(first, [0] * 5) == data_fingerprint(other, [0] * 5)


def test_what_the_user_gave_is_not_changed():
    given_features = sparse.csr_array(
        (np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    canonical_csr(given_features)
    assert given_features.data.tolist() == [1, 2, 0]


def test_fingerprints_tell_contents_apart():
    base = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
    others = [
        sparse.csr_array(np.array([[1.0, 0.0], [2.0, 0.0]])),
        sparse.csr_array(np.array([[0.0, 1.5], [2.0, 0.0]])),
        sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])),
        pd.DataFrame({"x0": [0.0, 2.0], "x1": [1.0, 0.0]}),
    ]
    found = {data_fingerprint(features, [0, 1]) for features in (base, *others)}
    assert len(found) == 5
    assert data_fingerprint(base, [0, 1]) != data_fingerprint(base, [1, 0])
    assert str(make_data_facts("s", base, [0, 1])).startswith("`s` (2 rows, 2 columns, content ")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_features_of_programs_stay_sparse(form, kind):
    made = getattr(sparse, f"{form}_{kind}")(DENSE)
    found = table(made)
    assert isinstance(found.features, sparse.csr_array)
    np.testing.assert_array_equal(found.features.toarray(), DENSE)


def test_tables_of_sparse_columns():
    whole = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(DENSE))
    assert isinstance(table(whole).features, sparse.csr_array)
    np.testing.assert_array_equal(table(whole).features.toarray(), DENSE)
    beside = whole.assign(town="a")
    found = table(beside).features
    assert not any(isinstance(dtype, pd.SparseDtype) for dtype in found.dtypes)
    np.testing.assert_array_equal(found.drop(columns="town").to_numpy(dtype=float), DENSE)
    gaps = pd.DataFrame({"a": pd.arrays.SparseArray([np.nan, 1.0, np.nan])})
    assert isinstance(make_table(gaps, [0, 1, 0]).features, pd.DataFrame)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (sparse.csr_array(np.ones((3, 1))), "the features have 3 rows, but there are 2 labels"),
        (sparse.coo_array(np.ones(2)), "two dimensions"),
        (sparse.csr_array((0, 3)), "the features have 0 rows, but there are 2 labels"),
        (sparse.csr_array((2, 0)), "no column"),
        (sparse.csr_array(np.array([[1j], [2j]])), "must be numbers"),
    ],
)
def test_what_does_not_fit(features, message):
    with pytest.raises(DataError, match=message):
        make_table(features, [0, 1])


# ---- through folds and trials


@pytest.mark.parametrize("validation", [Holdout(0.3), CrossValidation(4)])
def test_folds_are_those_of_the_same_numbers_in_a_table(validation):
    made = [
        make_folds(check_and_encode_labels(table(features), "classification"), validation, 3, Preparation())
        for features in (sparse.csr_array(DENSE), DENSE)
    ]
    for kept, dense in zip(*made, strict=True):
        assert isinstance(kept.training, sparse.csr_array)
        np.testing.assert_array_equal(kept.training.toarray(), dense.training)
        np.testing.assert_array_equal(kept.held_out.toarray(), dense.held_out)
        np.testing.assert_array_equal(kept.held_out_target, dense.held_out_target)
        np.testing.assert_array_equal(kept.training_rows(7, own=False)[0].toarray(), dense.training[:7])


def test_trials_take_sparse_rows_and_fail_with_a_reason_where_they_cannot():
    dataset = check_and_encode_labels(table(), "classification")
    objective = DataObjective(CLASSIFIERS, dataset, EvaluationSettings())
    columns = {"n_numeric": 40, "n_categorical": 0, "n_text": 0, "n_datetime": 0, "n_missing": 0}
    assert objective.size_symbols == {"n_samples": 42, "n_features": 40, "n_classes": 2, **columns}
    assert objective.preparation.is_empty
    trials = {
        (scaler, estimator): objective.evaluate(Request(Configuration({"scaler": scaler, "estimator": estimator})))
        for scaler in ("none", "MaxAbsScaler", "StandardScaler")
        for estimator in ("LogisticRegression", "RandomForestClassifier", "GaussianNB")
    }
    failed = {names for names, trial in trials.items() if trial.status is not Status.SUCCESS}
    assert failed == {names for names in trials if "StandardScaler" in names or "GaussianNB" in names}
    assert "sparse" in trials["none", "GaussianNB"].reason.lower()
    fitted = objective.refit(Configuration({"scaler": "MaxAbsScaler", "estimator": "LogisticRegression"}))
    assert set(fitted.predict(sparse.csr_matrix(DENSE))) <= {"no", "yes"}


def columns(kind: str) -> Product:
    return Product(ProductKind.COLUMNS, (operator("MaxAbsScaler"),), selectors=(ColumnSelector(kind),))


def test_what_sparse_features_cannot_be_prepared_for():
    holes = DENSE.copy()
    holes[0, 0], holes[1, 1] = np.nan, np.nan
    kept = sparse.csr_array(holes)
    with pytest.raises(DataError, match="have 2 missing values"):
        plan_preparation(CLASSIFIERS, kept)
    assert plan_preparation(space(operator("SimpleImputer"), stage("e", "LogisticRegression")), kept).is_empty
    assert plan_preparation(space(stage("e", "RandomForestClassifier")), kept).is_empty
    holes[0, 0] = np.inf
    with pytest.raises(DataError, match="infinite"):
        plan_preparation(CLASSIFIERS, sparse.csr_array(holes))
    with pytest.raises(DataError, match="all features are zero"):
        plan_preparation(CLASSIFIERS, sparse.csr_array((3, 2)))
    with pytest.raises(DataError, match="selects columns"):
        plan_preparation(space(columns("numeric"), stage("e", "LogisticRegression")), sparse.csr_array(DENSE))
    assert plan_preparation(space(columns("all"), stage("e", "LogisticRegression")), sparse.csr_array(DENSE)).is_empty


def test_groups_need_a_table():
    bound = Bound(BoundedMeasure.DISPARITY, 0.1, scorer="accuracy", column="age")
    with pytest.raises(DataError, match="is sparse and has no column `age`"):
        DataObjective(
            CLASSIFIERS, check_and_encode_labels(table(), "classification"), EvaluationSettings(bounds=(bound,))
        )


def test_side_by_side_takes_sparse_rows():
    both = space(side_by_side(operator("MaxAbsScaler"), operator("TruncatedSVD")), stage("e", "LogisticRegression"))
    objective = DataObjective(both, check_and_encode_labels(table(), "classification"), EvaluationSettings())
    assert objective.evaluate(Request(Configuration({"e": "LogisticRegression"}))).status is Status.SUCCESS


# ---- from files


def written(rows: list[str], columns: int) -> str:
    names = [f"@attribute x{number} numeric" for number in range(columns)]
    return "\n".join(["@relation r", *names, "@attribute y {no, yes}", "@data", *rows])


def test_files_with_few_numbers_stay_sparse(tmp_path):
    path = tmp_path / "d.arff"
    cells = [[f"{place} {float(DENSE[row, place])!r}" for place in np.flatnonzero(DENSE[row])] for row in range(60)]
    labels = ["40 yes" if label == "yes" else "" for label in LABELS]
    rows = ["{" + ", ".join(filter(None, [*row, label])) + "}" for row, label in zip(cells, labels, strict=True)]
    path.write_text(written(rows, 40))
    found = load_dataset(str(path))
    assert isinstance(found.features, sparse.csr_array)
    np.testing.assert_array_equal(found.features.toarray(), DENSE)
    assert found.target.tolist() == LABELS.tolist()
    other = load_dataset(str(path), "x3")
    assert isinstance(other.features, pd.DataFrame), "a column of categories is left"
    assert other.target.tolist() == DENSE[:, 3].tolist()


def test_files_with_many_numbers_become_tables(tmp_path):
    path = tmp_path / "d.arff"
    path.write_text(written(["{0 1, 1 2, 3 yes}", "{2 3}"], 3))
    found = load_dataset(str(path))
    assert found.features.to_dict("list") == {"x0": [1, 0], "x1": [2, 0], "x2": [0, 3]}
    assert found.target.tolist() == ["yes", "no"]


def test_a_sparse_table_knows_its_columns():
    made = SparseTable(("a", "b"), sparse.csr_array(np.array([[0.0, 0.0], [3.0, 0.0]])), {"b": pd.Series(["x", "y"])})
    assert made.as_dataframe.to_dict("list") == {"a": [0, 3], "b": ["x", "y"]}
    assert made.column("b").name == "b"
