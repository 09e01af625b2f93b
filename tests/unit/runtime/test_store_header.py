import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from laws.spaces import general_spaces
from storing import TEXT, header, space
from trying import few

from spacelang.ir.space import Space
from spacelang.ir.trial import LossScale
from spacelang.runtime.data.tables import data_fingerprint, make_data_facts
from spacelang.runtime.storage.run_header import (
    MISSING_VALUES_SETTING,
    header_from_texts,
    header_to_texts,
    space_hash,
    version_changes,
)


@given(general_spaces(), general_spaces())
@settings(max_examples=few(30), deadline=None)
def test_spaces_are_the_same_run_exactly_where_they_are_equal(first: Space, second: Space) -> None:
    assert (space_hash(first) == space_hash(second)) == (
        replace(first, name="", title="") == replace(second, name="", title="")
    )
    one, other = header(first), header(second)
    assert bool(one.differences(other)) == (space_hash(first) != space_hash(second))
    assert header_from_texts(header_to_texts(one)) == one


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n\n" + TEXT,
        TEXT.replace("space small", 'space other "A title"'),
        TEXT + "task classification { limit run 10m }\n",
        TEXT.replace("  | ", "     | "),
    ],
)
def test_the_text_around_a_space_does_not_count(text: str) -> None:
    assert space_hash(space(text)) == space_hash(space())
    assert header(space()).differences(header(space(text))) == []


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("float[0.01, 100] log", "float[0.01, 100]", "space: domain of `estimator.LogisticRegression.C`: "),
        ("= 5", "= 6", "space: default of `estimator.DecisionTreeClassifier.max_depth`: `5` in the store, `6` now"),
        ("none | StandardScaler", "none | MinMaxScaler", "space: alternative of `scaler.StandardScaler`: "),
        ("none | StandardScaler", "StandardScaler | none", "space: default of `scaler`: `none` in the store, "),
        (
            "space small\n",
            "space small\nforbid scaler is none and estimator is DecisionTreeClassifier\n",
            "space: constraint: nothing in the store, ",
        ),
    ],
)
def test_what_a_search_sees_of_a_space_counts(before: str, after: str, line: str) -> None:
    lines = header(space()).differences(header(space(TEXT.replace(before, after))))
    assert lines
    assert any(each.startswith(line) for each in lines)


def test_the_order_of_alternatives_counts() -> None:
    """Draws go by numbers: with other numbers the same seed is another run."""
    texts = [TEXT.replace("| StandardScaler", order) for order in ("| PCA | Nystroem", "| Nystroem | PCA")]
    first, second = (header(space(text)) for text in texts)
    (line,) = first.differences(second)
    assert "`" + '"2": "stage scaler = none | PCA | Nystroem"' in line.replace(",`", "`")


def test_many_differences_are_counted() -> None:
    stages = "\n".join(f"stage s{number} = none | StandardScaler" for number in range(20))
    lines = header(space()).differences(header(space(TEXT.replace("space small", f"space small\n{stages}"))))
    assert len(lines) == 9
    assert "more differences" in lines[-1]


def test_versions_are_compared_in_words() -> None:
    assert version_changes(
        {"python": "3.11.7", "numpy": "2.0"}, {"python": "3.11.7", "numpy": "2.1", "scipy": "1"}
    ) == [
        "numpy 2.0 before, 2.1 now",
        "scipy absent before, 1 now",
    ]
    assert "spacelang" in header().versions


def test_a_header_says_where_losses_stand() -> None:
    one, other = header(), header(scale=LossScale(0.0, 74.25))
    assert header_from_texts(header_to_texts(other)) == other
    assert other.scale == "loss / 74.25"
    assert one.differences(other) == ["scale: `the loss itself` in the store, `loss / 74.25` now"]
    assert header(scale=None).scale == "around the first success"


def test_a_header_of_before_that_does_not_say_it_is_of_losses_as_they_are() -> None:
    texts = header_to_texts(header())
    del texts["scale"]
    assert header_from_texts(texts) == header()


def test_a_header_of_before_that_says_nothing_of_missing_values_is_of_imputed_ones() -> None:
    now = header(settings={MISSING_VALUES_SETTING: "numbered by the space in column `town`"})
    assert header(settings={}).differences(now) == [
        "`missing values`: imputed by an earlier version in the store, numbered by the space in column `town` now"
    ]
    assert now.differences(now) == []


# ---- data


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, -0.0],
            "count": [1, 2, 3],
            "flag": [True, False, True],
            "word": ["a", None, "ü"],
            "day": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
            "group": pd.Categorical(["x", None, "y"], categories=["y", "x"]),
        }
    )


LABELS = np.array(["yes", "no", "yes"])


def test_the_fingerprint_is_the_same_on_every_machine() -> None:
    """The figure was computed once: another one means that stores of before cannot be resumed."""
    assert data_fingerprint(table(), LABELS) == GOLDEN
    assert make_data_facts("t", table(), LABELS).rows == 3


GOLDEN = "f7261db01533e6ca8898acf4c47db9ad43144e2b7d14acae69d7ef15b10ca1b0"


@pytest.mark.parametrize(
    "same",
    [
        lambda t: (t.set_index(pd.Index([7, 8, 9])), LABELS),
        lambda t: (t, pd.Series(LABELS, name="class")),
        lambda t: (t, pd.Series(LABELS.astype(object))),
        lambda t: (t.assign(word=t["word"].astype("string")), LABELS),
        lambda t: (t.assign(word=t["word"].astype(object)), LABELS),
        lambda t: (t.assign(number=[1.5, float("nan"), 0.0]), LABELS),
        lambda t: (t.assign(number=pd.arrays.SparseArray([1.5, np.nan, 0.0])), LABELS),
        lambda t: (t.assign(day=t["day"].astype("datetime64[s]")), LABELS),
    ],
)
def test_equal_content_has_equal_fingerprints(same: object) -> None:
    assert data_fingerprint(*same(table())) == data_fingerprint(table(), LABELS)


OTHERS = [
    lambda t: (t.rename(columns={"count": "counts"}), LABELS),
    lambda t: (t[[*t.columns[::-1]]], LABELS),
    lambda t: (t.iloc[::-1], LABELS),
    lambda t: (t, LABELS[[1, 0, 2]]),
    lambda t: (t, [True, False, True]),
    lambda t: (t.drop(columns="flag"), LABELS),
    lambda t: (t.iloc[:2], LABELS[:2]),
    lambda t: (t.assign(count=[1, 2, 4]), LABELS),
    lambda t: (t.assign(count=[1.0, 2.0, 3.0]), LABELS),
    lambda t: (t.assign(count=pd.array([1, 2, None], dtype="Int64")), LABELS),
    lambda t: (t.assign(count=pd.array([1, 2, 0], dtype="Int64")), LABELS),
    lambda t: (t.assign(count=["1", "2", "3"]), LABELS),
    lambda t: (t.assign(flag=pd.array([True, None, True], dtype="boolean")), LABELS),
    lambda t: (t.assign(word=["a", "b", "ü"]), LABELS),
    lambda t: (t.assign(word=["a", 1, "ü"]), LABELS),
    lambda t: (t.assign(word=["a", "1", "ü"]), LABELS),
    lambda t: (t.assign(day=t["day"] + pd.Timedelta("1s")), LABELS),
    lambda t: (t.assign(day=t["day"].dt.tz_localize("UTC")), LABELS),
    lambda t: (t.assign(day=t["day"] - t["day"].min()), LABELS),
    lambda t: (t.assign(group=t["group"].cat.reorder_categories(["x", "y"])), LABELS),
    lambda t: (t.assign(group=t["group"].cat.as_ordered()), LABELS),
    lambda t: (t.assign(group=["x", None, "y"]), LABELS),
]


def test_other_content_has_another_fingerprint() -> None:
    found = [data_fingerprint(*other(table())) for other in (lambda t: (t, LABELS), *OTHERS)]
    assert len(set(found)) == len(found)


def test_the_definition_is_kept_whole(tmp_path: Path) -> None:
    kept = json.loads(header(space()).definition)
    assert kept["lines"]
