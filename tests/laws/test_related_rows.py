"""Laws of rows that belong together: groups are never separated, and no training row is later than a held-out one."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st

from spacelang.ir.validation import CrossValidation, Holdout, TimeSeriesSplits, Validation
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.row_relations import (
    attach_groups_and_times,
    attach_stored_splits,
    serialize_splits_and_relations,
)
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.folds import PreparedFold, make_folds, split_rows
from spacelang.runtime.evaluation.splits import Split
from spacelang.runtime.evaluation.unseen_rows import draw_test_rows
from spacelang.runtime.pipelines.preparation import Preparation
from spacelang.runtime.storage.run_header import DataFacts, RunHeader

from .settings import LAW

KINDS = ("classification", "regression")
GROUPED = (Holdout(0.3, "who"), CrossValidation(3, "who"))
ORDERED = (Holdout(0.3, by="at"), TimeSeriesSplits(3, "at"), TimeSeriesSplits(2, "at", keep=True))


@st.composite
def tables(draw: st.DrawFn, column: str) -> tuple[pd.DataFrame, Any, Any]:
    """Return features with a column of a few values, labels, and the kind of task."""
    rows, kind = draw(st.integers(20, 60)), draw(st.sampled_from(KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = rng.integers(0, draw(st.integers(4, rows)), rows)
    # Labels that hardly vary within a group, so that stratification has something to do.
    labels = np.where(rng.random(rows) < 0.2, rng.integers(0, 2, rows), values % 2)
    table = pd.DataFrame({column: values, "row": np.arange(rows)})
    return table, labels if kind == "classification" else labels * 1.5, kind


def related(given: tuple[pd.DataFrame, Any, Any], validation: Validation) -> Dataset:
    """Return the data set; a draw that cannot be split is left out."""
    features, labels, kind = given
    try:
        dataset = check_and_encode_labels(attach_groups_and_times(make_table(features, labels), validation), kind)
        split_rows(dataset, validation, 0)
    except DataError:
        assume(False)
    return dataset


@LAW
@given(tables("who"), st.sampled_from(GROUPED), st.integers(0, 10**6))
def test_no_group_is_on_both_sides(given: tuple[Any, Any, Any], validation: Validation, seed: int) -> None:
    dataset = related(given, validation)
    assert [*dataset.features.columns] == ["row"]
    who = given[0]["who"].to_numpy()
    splits = split_rows(dataset, validation, seed)
    for training, held_out in [*splits, *([draw_test_rows(dataset, 0.2, seed)] if enough_groups(dataset) else [])]:
        assert not {*who[training]} & {*who[held_out]}
        assert sorted([*training, *held_out]) == [*range(len(who))]
        assert len(held_out)
    if isinstance(validation, CrossValidation):
        assert sorted(np.concatenate([held_out for _, held_out in splits])) == [*range(len(who))]


def enough_groups(dataset: Dataset) -> bool:
    groups, target = dataset.relations.groups, dataset.target.to_numpy()
    assert groups is not None
    return len(np.unique(groups)) > 5 and all(len(np.unique(groups[target == code])) > 2 for code in np.unique(target))


@LAW
@given(tables("at"), st.sampled_from(ORDERED), st.integers(0, 10**6))
def test_held_out_rows_are_later(given: tuple[Any, Any, Any], validation: Validation, seed: int) -> None:
    dataset = related(given, validation)
    is_kept = isinstance(validation, TimeSeriesSplits) and validation.keep
    assert [*dataset.features.columns] == ["at", "row"] if is_kept else ["row"]
    times = given[0]["at"].to_numpy()
    splits = split_rows(dataset, validation, seed)
    for training, held_out in splits:
        assert times[training].max() < times[held_out].min()
    for (_, earlier), (training, _) in pairwise(splits):
        assert {*earlier} <= {*training}
    assert max(times) in times[splits[-1][1]]


@LAW
@given(tables("who") | tables("at"), st.integers(1, 60), st.integers(0, 10**6))
def test_few_rows_are_whole_groups_or_the_latest(given: tuple[Any, Any, Any], few: int, seed: int) -> None:
    column = given[0].columns[0]
    validation = Holdout(0.3, column) if column == "who" else Holdout(0.3, by=column)
    dataset = related(given, validation)
    (fold,) = make_folds(dataset, validation, seed, Preparation())
    rows, target = fold.training_rows(few, own=False)
    chosen, everything = rows[:, -1].astype(int), all_rows(fold)
    assert len(target) == fold.training_size(few)
    assert len(target) >= min(few, len(everything))
    values = given[0][column].to_numpy()
    others = [*{*everything} - {*chosen}]
    if column == "who":
        assert not {*values[chosen]} & {*values[others]}
    elif others:
        assert values[others].max() <= values[chosen].min()
    if dataset.kind == "classification":
        assert len(np.unique(target)) == 2


def all_rows(fold: PreparedFold) -> Any:
    return fold.training_rows(None, own=False)[0][:, -1].astype(int)


@LAW
@given(st.lists(st.lists(st.integers(0, 2**40), min_size=1), min_size=1, max_size=3))
def test_splits_come_back_from_a_store(found: list[list[int]]) -> None:
    splits = [Split(np.array(rows), np.array(rows[::-1])) for rows in found]
    texts = serialize_splits_and_relations(splits, make_table(np.zeros((1, 1)), [0]), None)
    facts = DataFacts("data", 1, 1, "")
    validation = "the 5 splits of K of Fold (3) (rows 0)"
    header = RunHeader("s", "", "", facts, "m", validation, (), 1, 0, "random", data_options=texts)
    table = attach_stored_splits(make_table(np.zeros((1, 1)), [0]), header)
    assert table.split_source == "K of Fold (3)"
    for one, other in zip(splits, table.splits, strict=True):
        assert (one.training == other.training).all()
        assert (one.held_out == other.held_out).all()
