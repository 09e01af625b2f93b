import pickle

import numpy as np
import pandas as pd
import pytest
from handmade import operator
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from storing import header
from trying import IS_FULL, few

from spacelang.catalog import OperatorRole
from spacelang.ir.validation import (
    CrossValidation,
    Holdout,
    PredefinedSplits,
    describe_validation,
    describe_validation_rows,
)
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import Table
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.folds import (
    COPY_PARAMETERS,
    PreparedFold,
    default_validation,
    make_folds,
    may_overwrite_input,
)
from spacelang.runtime.evaluation.splits import Split
from spacelang.runtime.pipelines.catalogue_access import import_operator_class, load_catalogue
from spacelang.runtime.pipelines.preparation import Preparation


def rows_of(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def dataset(labels, splits=(), kind="classification") -> Dataset:
    features = pd.DataFrame({"row": np.arange(len(labels), dtype=float)})
    return check_and_encode_labels(Table("mine", features, pd.Series(labels, name="y"), tuple(splits), kind), kind)


def folds_of(made: Dataset, seed: int = 0, validation=None) -> tuple[PreparedFold, ...]:
    return make_folds(made, validation or made.validation, seed, Preparation())


@st.composite
def given_splits(draw):
    """Labels of two to three classes, and splits of their rows that may leave some out."""
    counts = draw(st.lists(st.integers(3, 12), min_size=2, max_size=3))
    codes = np.random.default_rng(draw(st.integers(0, 99))).permutation(np.repeat(np.arange(len(counts)), counts))
    splits = []
    for _ in range(draw(st.integers(1, 4))):
        parts = np.array(draw(st.lists(st.sampled_from("thn"), min_size=len(codes), max_size=len(codes))))
        parts[[np.flatnonzero(codes == code)[0] for code in range(2)]] = "t"
        parts[np.flatnonzero(codes == 0)[1]] = "h"
        splits.append(Split(np.flatnonzero(parts == "t"), np.flatnonzero(parts == "h")))
    return codes, splits


@settings(deadline=None)
@given(given_splits(), st.integers(0, 2**32))
def test_trials_are_judged_on_exactly_the_splits_that_are_given(found, seed):
    codes, splits = found
    folds = folds_of(dataset(codes, splits), seed)
    assert len(folds) == len(splits)
    for fold, split in zip(folds, splits, strict=True):
        assert sorted(fold.training[:, 0]) == sorted(split.training)
        assert fold.held_out[:, 0].tolist() == split.held_out.tolist() == fold.rows.tolist()
        np.testing.assert_array_equal(fold.training_target, codes[fold.training[:, 0].astype(int)])
        np.testing.assert_array_equal(fold.held_out_target, codes[split.held_out])


@settings(deadline=None)
@given(given_splits(), st.integers(0, 2**32))
def test_the_first_rows_of_a_given_split_are_a_stratified_sample(found, seed):
    codes, splits = found
    for fold in folds_of(dataset(codes, splits), seed):
        seen = np.cumsum(fold.training_target[:, None] == np.unique(codes), axis=0)
        share = np.arange(1, len(seen) + 1)[:, None] * seen[-1] / len(seen)
        assert np.abs(seen - share).max() < 1
        for fidelity in (1, 3, None):
            rows, target = fold.training_rows(fidelity, own=False)
            np.testing.assert_array_equal(rows, fold.training[:fidelity])
            np.testing.assert_array_equal(target, fold.training_target[:fidelity])


def test_the_first_rows_of_a_regression_are_a_plain_sample():
    splits = [Split(np.arange(0, 900), np.arange(900, 1000))]
    made = dataset(np.arange(1000, dtype=float), splits, "regression")
    (fold,) = folds_of(made)
    assert sorted(fold.training[:, 0]) == [*range(900)]
    assert 350 < fold.training[:100, 0].mean() < 550, "rows in the order of the table would have the mean 49.5"
    assert not np.array_equal(fold.training, folds_of(made, 1)[0].training)


def test_what_is_given_has_a_name_and_a_digest():
    labels = ["a", "b"] * 4
    splits = [Split(rows_of(0, 1, 2, 3), rows_of(4, 5)), Split(rows_of(4, 5, 6, 7), rows_of(0, 1))]
    found = dataset(labels, splits).validation
    assert (found.folds, found.source, len(found.digest)) == (2, "mine", 12)
    assert describe_validation(found) == f"the 2 splits of mine (rows {found.digest})"
    assert describe_validation(PredefinedSplits(1, "mine", "0")) == "the split of mine (rows 0)"
    assert describe_validation_rows(found) == ", mean over the 2 splits of mine"
    assert describe_validation_rows(PredefinedSplits(1, "mine", "0")) == " on the rows that mine holds out"
    assert dataset(labels, splits[:1]).validation.digest != found.digest
    swapped = [Split(rows_of(0, 1, 2, 4), rows_of(3, 5)), splits[1]]
    assert dataset(labels, swapped).validation.digest != found.digest
    assert dataset(labels).validation is None
    with pytest.raises(DataError, match="`mine` does not define the 2 splits of mine"):
        folds_of(dataset(labels, swapped), validation=found)


def test_a_run_does_not_go_on_with_other_splits():
    first, other = (header(validation=PredefinedSplits(2, "mine", digest)) for digest in ("aa", "bb"))
    (difference,) = first.differences(other)
    assert difference == (
        "validation: `the 2 splits of mine (rows aa)` in the store, `the 2 splits of mine (rows bb)` now"
    )


def test_other_validations_are_for_the_user_to_choose():
    made = dataset(["a", "b"] * 4, [Split(rows_of(0, 1, 2, 3), rows_of(4, 5))])
    assert len(folds_of(made, validation=CrossValidation(4))) == 4
    assert len(folds_of(made, validation=Holdout(0.3))) == 1


@pytest.mark.parametrize(
    ("training", "held_out", "message"),
    [
        ((), (1, 2), "split 1 of 1 of `mine` has no rows to train on"),
        ((1, 2), (), "has no rows to evaluate on"),
        ((0, 1, 2), (3, 8), "refers to row 8, but the 8 rows"),
        ((0, 1, 2), (3, -1), "refers to row -1, but the 8 rows are numbered from 0 to 7"),
        ((0, 1, 2), (3, 3), "holds out the same row twice"),
        ((0, 1, 2), (2, 1, 5), "holds out 2 of its own training rows"),
        ((0, 2, 4), (1, 3), "trains on a single class"),
    ],
)
def test_splits_that_judge_nothing(training, held_out, message):
    made = dataset(["a", "b"] * 4, [Split(rows_of(*training), rows_of(*held_out))])
    with pytest.raises(DataError, match=message):
        folds_of(made)


def test_data_that_is_for_another_kind_of_task():
    table = Table("mine", pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([1, 2], name="y"), kind="regression")
    with pytest.raises(DataError, match="`mine` is a regression task, but the space is for classification") as caught:
        check_and_encode_labels(table, "classification")
    assert caught.value.help == "use a space that ends in regressors"
    assert check_and_encode_labels(table, "regression").kind == "regression"


# ---- rows are shared


OPERATORS = load_catalogue("sklearn").operators
WRITERS = sorted(
    (name, parameter)
    for name, entry in OPERATORS.items()
    for parameter in entry.parameters.keys() & COPY_PARAMETERS
    if {OperatorRole.TRANSFORMER, OperatorRole.CLASSIFIER, OperatorRole.REGRESSOR} & {*entry.roles}
)
"""Operators that can be told to write into what they are given, each with the parameter that tells them."""


def shared_fold() -> PreparedFold:
    rng = np.random.default_rng(0)
    features = pd.DataFrame(np.abs(rng.normal(size=(60, 5))) + 0.1)
    target = pd.Series((features[0] > 0.7).astype(int))
    (fold,) = make_folds(Dataset("d", features, target, "classification", (0, 1)), Holdout(0.3), 0, Preparation())
    return fold


def used(pipeline, fold: PreparedFold, fidelity=None) -> list[np.ndarray] | str:
    """What a trial gets from a pipeline: all that it says twice about the held-out rows, or why it says nothing."""
    own = may_overwrite_input(pipeline)
    rows, target = fold.training_rows(fidelity, own=own)
    try:
        pipeline.fit(rows, target)
        method = pipeline.predict if hasattr(pipeline, "predict") else pipeline.transform
        return [np.asarray(method(fold.held_out_rows(own=own))) for _ in range(2)]
    except Exception as error:  # noqa: BLE001 - a pipeline may raise anything
        return str(error)


def made(name: str, parameter: str):
    seed = {"random_state": 0} if "random_state" in OPERATORS[name].parameters else {}
    return import_operator_class(operator(name))(**{parameter: False}, **seed)


@pytest.mark.parametrize(("name", "parameter"), WRITERS)
@pytest.mark.filterwarnings("ignore")
def test_what_writes_in_place_leaves_the_shared_rows_as_they_are(name, parameter):
    fold, untouched = shared_fold(), shared_fold()
    pipelines = [made(name, parameter)]
    if OperatorRole.TRANSFORMER in OPERATORS[name].roles:
        pipelines += [
            make_pipeline("passthrough", made(name, parameter), LogisticRegression()),
            make_pipeline(FeatureUnion([("inner", made(name, parameter)), ("other", "passthrough")]), GaussianNB()),
        ]
    for pipeline in pipelines:
        assert may_overwrite_input(pipeline)
        found = used(clone(pipeline), fold), used(clone(pipeline), fold, 20), used(clone(pipeline), fold)
        np.testing.assert_array_equal(fold.training, untouched.training)
        np.testing.assert_array_equal(fold.training_target, untouched.training_target)
        np.testing.assert_array_equal(fold.held_out, untouched.held_out)
        np.testing.assert_array_equal(found[0], found[2])
        if not isinstance(found[0], str):
            np.testing.assert_array_equal(*found[0])


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_told_to_write_in_place_does_not():
    fold, untouched = shared_fold(), shared_fold()
    for name, entry in OPERATORS.items():
        if {OperatorRole.TRANSFORMER, OperatorRole.CLASSIFIER, OperatorRole.REGRESSOR} & {*entry.roles}:
            try:
                pipeline = import_operator_class(operator(name))()
            except TypeError:
                continue  # it needs to be told more
            if not IS_FULL:  # few trees and steps write into their rows as many do
                given = pipeline.get_params(deep=False)
                pipeline.set_params(**{key: 5 for key in ("n_estimators", "max_iter") if given.get(key)})
            assert not may_overwrite_input(pipeline), name
            used(pipeline, fold)
            assert np.array_equal(fold.training, untouched.training), name
            assert np.array_equal(fold.training_target, untouched.training_target), name
            assert np.array_equal(fold.held_out, untouched.held_out), name


class Doubling(TransformerMixin, BaseEstimator):
    """A user's own operator, of which nobody knows that it writes in place."""

    def fit(self, rows, target=None):  # noqa: ARG002 - scikit-learn gives both
        self.fitted_ = True
        return self

    def transform(self, rows):
        rows *= 2
        return rows


def test_what_users_bring_may_write_in_place():
    pipeline = make_pipeline(FeatureUnion([("a", "passthrough"), ("b", Doubling())]), GaussianNB())
    assert may_overwrite_input(pipeline)
    fold = shared_fold()
    found = used(pipeline, fold)
    assert not isinstance(found, str)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(fold.held_out, shared_fold().held_out)
    assert not may_overwrite_input(make_pipeline(StandardScaler(), GaussianNB()))


@settings(max_examples=few(20), deadline=None)
@given(st.lists(st.sampled_from(["scaled", "in place", "projected", "line"]), min_size=1, max_size=5))
def test_no_trial_depends_on_those_before_it(order):
    pipelines = {
        "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
        "in place": make_pipeline(StandardScaler(copy=False), LogisticRegression()),
        "projected": make_pipeline(PCA(2, copy=False), GaussianNB()),
        "line": LinearRegression(copy_X=False),
    }
    alone = {name: used(clone(pipeline), shared_fold()) for name, pipeline in pipelines.items()}
    fold = shared_fold()
    for name in order:
        np.testing.assert_array_equal(used(clone(pipelines[name]), fold), alone[name])


def test_shared_arrays_are_for_reading_only_in_other_processes_too():
    fold = shared_fold()
    for each in (fold, pickle.loads(pickle.dumps(fold))):
        for rows in (each.training, each.training_rows(5, own=False)[0], each.training_target, each.held_out):
            with pytest.raises(ValueError, match="read-only"):
                rows[0] = 0
        for rows in (*each.training_rows(5, own=True), each.held_out_rows(own=True)):
            rows[0] = 0
    np.testing.assert_array_equal(fold.training, shared_fold().training)


def test_sparse_rows_are_copied_as_well():
    features = sparse.csr_array(np.eye(8))
    made = Dataset("d", features, pd.Series([0, 1] * 4), "classification", (0, 1))
    (fold,) = make_folds(made, Holdout(0.5), 0, Preparation())
    for rows in (fold.training_rows(None, own=True)[0], fold.held_out_rows(own=True)):
        rows.data[:] = 7
    assert {*fold.training.data, *fold.held_out.data} == {1}


@pytest.mark.parametrize(
    ("counts", "validation"),
    [
        ((500, 500), CrossValidation(5)),
        ((500, 501), Holdout(0.3)),
        ((300, 5), CrossValidation(5)),
        ((300, 4), CrossValidation(4)),
        ((300, 20, 3), CrossValidation(3)),
        ((300, 2), Holdout(0.3)),
        ((1500, 4), Holdout(0.3)),
    ],
)
def test_few_rows_are_judged_in_as_many_folds_as_every_class_has_rows(counts, validation):
    labels = np.repeat(np.arange(len(counts)), counts)
    assert default_validation(dataset(labels)) == validation
    for fold in folds_of(dataset(labels), validation=validation):
        assert {*fold.held_out_target} == {*fold.training_target} == {*range(len(counts))}


@pytest.mark.parametrize(("rows", "validation"), [(30, CrossValidation(5)), (1001, Holdout(0.3))])
def test_a_regression_has_no_classes_that_could_be_rare(rows, validation):
    assert default_validation(dataset(np.arange(rows) * 0.5, kind="regression")) == validation
