"""A starting space is a space: it passes `check` without a warning, and what is drawn of it fits data like that."""

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import spacelang as sl
from spacelang.catalog import snapshot
from spacelang.runtime.data.column_suspicions import ColumnSuspicion
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.data.profile import TableProfile, column_warnings, profile_table
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.catalogue_access import single_target_operators
from spacelang.starter_spaces import starter_space_text
from spacelang.starter_spaces.stage_text import learners_for_kind
from spacelang.syntax.printer import format_text

from .settings import LAW

ROWS = 60
RNG = np.random.default_rng(0)
COLUMNS: dict[str, Any] = {
    "size": RNG.normal(size=ROWS),
    "age": [None if place % 7 == 0 else float(place) for place in range(ROWS)],
    "flag": [place % 3 == 0 for place in range(ROWS)],
    "town": [["Rome", "Oslo", None][place % 3] for place in range(ROWS)],
    "street": [f"street {place % 25}" for place in range(ROWS)],
    "empty": [None] * ROWS,
    'quoted "\\name': RNG.integers(0, 9, ROWS),
    "when": pd.date_range("2020-01-01", periods=ROWS),
    **{f"x{place}": RNG.normal(size=ROWS) for place in range(12)},
}
LABELS: dict[str, Any] = {
    "two": [place % 2 for place in range(ROWS)],
    "rare": ["no" if place > 6 else "yes" for place in range(ROWS)],
    "three": [f'class "{place % 3}"\n' for place in range(ROWS)],
    "price": RNG.normal(size=ROWS),
}
IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
PLAIN: Any = {"optimizer": "random", "seed": 1, "workers": 0}
"""How drawn pipelines are tried."""
pytestmark = [
    pytest.mark.filterwarnings("ignore:`limit trial.*not enforced without workers"),
    pytest.mark.filterwarnings("ignore:`when` holds dates; a random split"),
]
USABLE = [name for name in COLUMNS if name != "empty"]


@st.composite
def profiles(draw: st.DrawFn) -> TableProfile:
    """Tables with at least one column that a pipeline can take, some of them long."""
    names = {draw(st.sampled_from(USABLE)), *draw(st.sets(st.sampled_from([*COLUMNS])))}
    label = draw(st.sampled_from([*LABELS]))
    table = pd.DataFrame({name: COLUMNS[name] for name in COLUMNS if name in names})
    many = draw(st.sampled_from([1, 100, 400]))
    table, labels = (pd.concat([each] * many, ignore_index=True) for each in (table, pd.Series(LABELS[label])))
    return profile_table(
        make_table(table, labels.rename(label), draw(st.sampled_from(["my data.csv", "sklearn:a", "1.csv"])))
    )


@LAW
@given(profiles())
def test_passes_the_check_as_it_is_laid_out(data: TableProfile) -> None:
    text = starter_space_text(data, "a file.csv", " --target-column label")
    space = sl.parse(text)
    assert not space.warnings
    assert format_text(text) == text
    assert space.task is not None
    assert space.task.kind == data.kind
    assert all(len(line) <= 120 for line in text.splitlines())
    assert space.default() in space


def test_depends_on_the_data() -> None:
    texts = set()
    for names in (["size"], ["age"], ["town"], ["street"], ["size", "town"], [f"x{place}" for place in range(12)]):
        for labels in LABELS.values():
            table = pd.DataFrame({name: COLUMNS[name] for name in names})
            texts.add(starter_space_text(profile_table(make_table(table, pd.Series(labels))), "a.csv"))
    assert len(texts) == 6 * len(LABELS)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_what_is_written_for_several_targets_takes_them(kind: str) -> None:
    numbers = RNG.normal(size=(ROWS, 2))
    labels = pd.DataFrame(numbers > 0 if kind == "classification" else numbers, columns=["left", "right"]) + 0
    names = ["size", "age", "street", *(f"x{place}" for place in range(12))]
    data = profile_table(make_table(table := pd.DataFrame({name: COLUMNS[name] for name in names}), labels))
    assert (data.kind, data.label, data.targets) == (kind, "left, right", 2)
    text = starter_space_text(data, "a.csv")
    assert "multi-label" in text if kind == "classification" else "a regression" in text
    space = sl.parse(text)
    assert not space.warnings
    assert single_target_operators(space.checked.root) == ()
    found = sl.search(space, table, labels, trials=2, **PLAIN)
    assert {*found.trials["status"]} == {"success"}
    assert found.score_name == ("f1_macro" if kind == "classification" else "r2")
    with pytest.raises(DataError, match="holds labels such as `a`"):
        profile_table(make_table(table, labels.assign(left="a")))


def test_learners_take_as_many_targets_as_the_catalogue_says() -> None:
    known = snapshot.load_catalogue().operators
    for each in (*learners_for_kind("classification"), *learners_for_kind("regression")):
        assert each.package or known[each.operator].accepts_several_targets == each.takes_several, each.operator


@pytest.mark.parametrize("label", ["rare", "price"])
def test_what_is_drawn_fits(label: str) -> None:
    table = pd.DataFrame(COLUMNS)
    space = sl.parse(starter_space_text(profile_table(make_table(table, pd.Series(LABELS[label]))), "a.csv"))
    trials = 40 if IS_FULL else 3
    found = sl.search(space, table, LABELS[label], validate="holdout(0.3)", trials=trials, **PLAIN)
    assert len(found.outcome.records) == trials
    assert found.outcome.failed == 0


def test_boosting_is_trained_alike_on_few_and_on_many_rows() -> None:
    """Above 10,000 rows, scikit-learn would stop early: with small labels like these after 10 of 100 iterations."""
    rng = np.random.default_rng(0)
    features = pd.DataFrame({"one": rng.normal(size=10_500), "two": rng.normal(size=10_500)})
    target = pd.Series(1e-4 * (features["one"] * features["two"] + 0.1 * rng.normal(size=10_500)), name="target")
    for rows in (9_000, 10_500):
        some, labels = features.head(rows), target.head(rows)
        space = sl.parse(starter_space_text(profile_table(make_table(some, labels)), "a.csv"))
        configuration = {**space.default(), "estimator": "boosting"}
        assert configuration == dict(space.default()), "boosting is the default"
        fitted = space.build(configuration).fit(some, labels)
        assert fitted[-1].n_iter_ == 100, rows
    for name in ("tabular_classification", "tabular_regression"):
        bound = sl.load(name).bind(n_samples=20_000, n_features=2)
        assert bound.build(bound.default())[-1].get_params()["early_stopping"] is False


def test_dates_are_selected_by_themselves() -> None:
    table = pd.DataFrame({name: COLUMNS[name] for name in ("when", "empty")})
    space = sl.parse(starter_space_text(profile_table(make_table(table, pd.Series(LABELS["two"]))), "a.csv"))
    assert sl.search(space, table, LABELS["two"], trials=1, **PLAIN).outcome.failed == 0


def test_sparse_features_stay_sparse() -> None:
    features = sparse.random_array((ROWS, 40), density=0.05, rng=0).tocsr()
    space = sl.parse(starter_space_text(profile_table(make_table(features, LABELS["two"])), "a.arff"))
    found = sl.search(space, features, LABELS["two"], validate="holdout(0.3)", trials=6 if IS_FULL else 3, **PLAIN)
    assert found.outcome.failed == 0


SUSPECTS = {
    "customerID": (range(7, 7 + 3 * ROWS, 3), ColumnSuspicion.IDENTIFIER),
    "row": (range(ROWS), ColumnSuspicion.IDENTIFIER),
    "code": ([f"A-{place:05}" for place in range(ROWS)], ColumnSuspicion.IDENTIFIER),
    "income": ([f"{place},{place:03}.50 €" for place in range(ROWS)], ColumnSuspicion.NUMBERS),
    "share": ([f"{place % 9},5" for place in range(ROWS)], ColumnSuspicion.COMMAS),
    "day": ([f"2021-03-{1 + place % 28:02}" for place in range(ROWS)], ColumnSuspicion.DATES),
    "born": ([f"{1 + place % 28}.3.1970" for place in range(ROWS)], ColumnSuspicion.DATES),
    "hired": ([f"March {1 + place % 28}, 2001" for place in range(ROWS)], ColumnSuspicion.DATES),
    "when": (COLUMNS["when"], None),
    "steps": (range(7, 7 + 3 * ROWS, 3), None),
    "town": (COLUMNS["town"], None),
    "note": ([f"a note of {place} words" for place in range(ROWS)], None),
    "size": (COLUMNS["size"], None),
}


def test_columns_that_are_not_what_their_type_says_are_named() -> None:
    table = pd.DataFrame({name: list(values) for name, (values, _) in SUSPECTS.items()})
    data = profile_table(make_table(table, pd.Series(LABELS["two"], name="y")))
    found = {column.name: column.suspected and column.suspected.suspicion for column in data.columns}
    assert found == {name: suspicion for name, (_, suspicion) in SUSPECTS.items()}
    text = starter_space_text(data, "a.csv")
    flat = " ".join(text.replace("\n# ", " ").split())
    assert data.warnings == [
        "`customerID`, `row`, `code` look like identifiers: pipelines cannot learn from them; drop them "
        "with `--drop-columns customerID,row,code`",
        ColumnSuspicion.NUMBERS.message(["income"], "0,000.50 €"),
        ColumnSuspicion.COMMAS.message(["share"]),
        ColumnSuspicion.DATES.message(["day", "born", "hired"]),
        "`day`, `hired`, `when` hold dates; a random split trains on later rows than it holds out: to hold "
        "out the latest rows, use `validate time(5, by=day)`, which the new space has as a comment",
    ]
    assert all(f"! {warning}." in flat for warning in data.warnings)


def test_what_is_so_of_many_columns_is_said_once() -> None:
    table = pd.DataFrame({f"share {place}": SUSPECTS["share"][0] for place in range(60)} | {"x": range(0, 120, 2)})
    (warning,) = column_warnings(table)
    names = "`share 0`, `share 1`, `share 2`, `share 3`, `share 4`, `share 5` and 54 more"
    end = "the numbers count as categories; read the file with `--decimal ,`"
    assert warning == f"{names} hold numbers with a decimal comma: {end}"
    assert column_warnings(table[["share 0"]])[0].startswith(
        "`share 0` holds numbers with a decimal comma: the numbers count"
    )


NUMBERS = [float(place % 7) for place in range(ROWS)]
ENDLESS = [*NUMBERS[:16], float("inf"), *NUMBERS[17:]]
REFUSED: dict[str, tuple[dict[str, Any], Any, str, list[str]]] = {
    "a column": (
        {"a": ENDLESS, "b": NUMBERS},
        LABELS["two"],
        "the column `a` holds infinite values",
        [
            "`a` holds infinite values, first in row 17, with which no run can start: replace them, or drop it "
            "with `--drop-columns a`"
        ],
    ),
    "columns": (
        {"a": NUMBERS, "b, c": [-each for each in ENDLESS], "d": ENDLESS},
        LABELS["two"],
        "the column `b, c` holds infinite values",
        [
            "`b, c`, `d` hold infinite values, `b, c` first in row 17, with which no run can start: replace them, or "
            "drop them with `--drop-columns '\"b, c\",d'`"
        ],
    ),
    "labels": (
        {"a": NUMBERS},
        [*LABELS["price"][:4], float("-inf"), *LABELS["price"][5:]],
        "holds infinite labels",
        ["some labels are infinite (first in row 5), with which no run can start: drop these rows"],
    ),
    "a class": (
        {"a": NUMBERS},
        ["rare" if place == 40 else "yn"[place % 2] for place in range(ROWS)],
        "the class `rare` in the column `y` has 1 row",
        [
            "the class `rare` has a single row (row 41), but a run needs at least 2 per class: merge it with another "
            "class, drop such rows, or add more of them"
        ],
    ),
    "classes": (
        {"a": NUMBERS},
        [place if 40 < place < 48 else place % 2 for place in range(ROWS)],
        "the class `41` in the column `y` has 1 row",
        [
            "the classes `41`, `42`, `43`, `44`, `45`, `46` and 1 more have a single row (`41` in row 42), but a run "
            "needs at least 2 per class: merge them with another class, drop such rows, or add more of them"
        ],
    ),
    "rows": (
        {"a": NUMBERS[:3]},
        [0.5, 1, 2],
        "a validation needs at least 4",
        ["3 rows are too few for a run of the new space: give at least 6"],
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_run_refuses_is_said_where_a_space_is_made(what: str) -> None:
    columns, labels, reason, said = REFUSED[what]
    table, target = pd.DataFrame(columns), pd.Series(labels, name="y")
    data = profile_table(make_table(table, target))
    assert [*data.refused] == said
    text = starter_space_text(data, "a.csv")
    assert f"! {said[0]}." in " ".join(text.replace("\n# ", " ").split())
    with pytest.raises(DataError, match=reason):
        sl.search(sl.parse(text), table, target, trials=1, **PLAIN)


def test_nothing_is_refused_of_what_runs() -> None:
    for labels in LABELS.values():
        assert not profile_table(make_table(pd.DataFrame(COLUMNS), pd.Series(labels))).refused
    sparsely = sparse.csr_array(np.array([[0, np.inf], [1, 0]] * 30))
    (said,) = profile_table(make_table(sparsely, LABELS["two"])).refused
    assert said == "the features contain infinite values, with which no run can start: replace them"


@pytest.mark.parametrize(
    ("table", "labels", "said"),
    [
        ({"a": [1.0] * 4}, ["x", None, "y", "x"], "1 row has no label"),
        ({"a": [1.0] * 4}, ["x"] * 4, "all labels in the column `y` are `x`"),
        ({"empty": [None] * 4}, ["x", "y"] * 2, "no column of `data` holds numbers, categories, text or dates"),
    ],
)
def test_data_without_a_space_is_refused(table: Any, labels: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        profile_table(make_table(pd.DataFrame(table), pd.Series(labels, name="y")))
