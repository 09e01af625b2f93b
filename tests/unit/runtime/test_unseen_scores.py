"""Scores on test rows: what is said where rows, columns, labels or the metric do not allow them."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from storing import header
from storing import trial as stored_trial
from trying import few

import spacelang as sl
from spacelang.ir import trial
from spacelang.ir.task import Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import UnseenRowsMeasurement
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.errors import DataError, InputError, MetricError
from spacelang.runtime.evaluation.splits import RowRelations
from spacelang.runtime.scoring import unseen_scores
from spacelang.runtime.scoring.bound_measures import CachedPredictions
from spacelang.runtime.scoring.metric import default_metric, named_metric
from spacelang.runtime.scoring.unseen_scores import score_with_interval
from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.trial_columns import VERSION

HEADER = header()
SPACE = sl.parse("stage e = GaussianNB | DecisionTreeClassifier\n")
RNG = np.random.default_rng(0)
WORDS = np.array(["no", "yes"])[np.arange(80) % 2]
TABLE = pd.DataFrame({"a": (WORDS == "yes") + RNG.normal(0, 0.6, 80), "b": RNG.normal(size=80)})


def held(labels: Any = WORDS) -> Dataset:
    return check_and_encode_labels(make_table(TABLE, labels), "classification")


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen_scores, "MAX_RESAMPLES", 100)


class TestScores:
    def test_it_is_the_loss_of_trials_though_labels_are_words(self) -> None:
        model = LogisticRegression().fit(TABLE, WORDS)
        for name in ("accuracy", "f1", "roc_auc", "neg_log_loss"):
            metric = named_metric(name)
            coded = LogisticRegression().fit(TABLE, WORDS == "yes")
            found = score_with_interval(model, TABLE, held(), metric, 0)
            assert found.loss == pytest.approx(metric.loss(coded, TABLE, (WORDS == "yes").astype(int)))
            assert found.low is not None
            assert found.high is not None
            assert found.low < found.loss < found.high

    @settings(max_examples=max(3, few(100) // 6), deadline=None)
    @given(st.integers(2, 4), st.integers(0, 10**6))
    @pytest.mark.filterwarnings("ignore")
    def test_formulas_say_of_each_resample_what_scorers_say(self, classes: int, seed: int) -> None:
        """Of few rows, so that resamples lack classes."""
        rng = np.random.default_rng(seed)
        features, numbers = rng.normal(size=(9, 2)), rng.normal(size=9)
        codes = rng.permutation(np.arange(9) % classes)
        cases: list[tuple[Any, Any, int, tuple[str, ...]]] = [
            (LogisticRegression(), codes, classes, ("accuracy", "balanced_accuracy", "neg_log_loss")),
            (Ridge(), numbers, 0, ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error")),
        ]
        if classes == 2:
            cases += [(model, codes, 2, ("roc_auc", "accuracy")) for model in (GaussianNB(), RidgeClassifier())]
        for model, target, many, names in cases:
            model.fit(features, target)
            for metric in [*map(named_metric, names), *([default_metric(held())] if many == 2 else [])]:
                answers = CachedPredictions(model, features)
                metric.loss(answers, features, target)
                drawn = [
                    unseen_scores._loss_or_nan(answers, target, metric, rows)
                    for rows in unseen_scores.bootstrap_rows(9, seed, 6)
                ]
                found = unseen_scores.resampled_losses(answers, target, metric, seed, many)[: len(drawn)]
                np.testing.assert_allclose(found, drawn, rtol=0, atol=1e-12)

    def test_equal_seeds_give_equal_intervals(self) -> None:
        model = LogisticRegression().fit(TABLE, WORDS)
        first, again, other = (
            score_with_interval(model, TABLE, held(), default_metric(held()), seed) for seed in (1, 1, 2)
        )
        assert first == again
        assert first.loss == other.loss
        assert first.low != other.low

    def test_predictions_are_made_once(self) -> None:
        asked = []

        class Counting(LogisticRegression):
            def predict_proba(self, features: Any) -> Any:
                asked.append(len(features))
                return super().predict_proba(features)

        score_with_interval(Counting().fit(TABLE, WORDS), TABLE, held(), default_metric(held()), 0)
        assert asked == [80]

    def test_the_interval_has_the_loss_of_most_other_rows(self) -> None:
        """Of 20 samples of a population about 19 intervals hold its loss; fewer than 15 are as good as impossible."""
        rng = np.random.default_rng(5)
        right = 0
        for seed in range(20):
            labels = rng.integers(0, 2, 120)
            said = np.where(rng.random(120) < 0.3, 1 - labels, labels)[:, None]  # wrong in 30 of 100
            data = check_and_encode_labels(make_table(said, labels), "classification")
            found = score_with_interval(_Saying().fit(said, labels), said, data, named_metric("accuracy"), seed)
            assert found.low is not None
            assert found.high is not None
            right += found.low <= 0.3 <= found.high
        assert right >= 15

    def test_a_pipeline_that_raises_has_no_loss(self) -> None:
        model = LogisticRegression().fit(TABLE[["a"]], WORDS)
        found = score_with_interval(model, TABLE, held(), default_metric(held()), 0)
        assert (found.loss, found.low, found.high, found.rows) == (None, None, None, 80)
        assert found.reason.startswith("ValueError: ")

    @pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "f1"])
    def test_no_mistake_among_few_rows_is_no_proof_that_there_are_none(self, metric: str) -> None:
        table = TABLE.assign(a=(WORDS == "yes") * 9.0)
        found = score_with_interval(LogisticRegression().fit(table, WORDS), table, held(), named_metric(metric), 0)
        assert (found.loss, found.low, found.high) == (0.0, None, None)
        assert found.reason.endswith(" is the same in all resamples")

    def test_what_depends_on_no_rows_is_exact(self) -> None:
        values = np.full(100, 7.0)
        assert unseen_scores.percentile_interval(values, "leaves", may_be_fixed=True) == (7.0, 7.0, "")
        assert unseen_scores.percentile_interval(values, "loss")[:2] == (None, None)

    def test_there_is_no_interval_where_too_many_resamples_have_no_loss(self) -> None:
        rare = np.where(np.arange(80) == 3, "yes", "no")
        model = DummyClassifier(strategy="prior").fit(TABLE, rare)
        data = Dataset("data", TABLE, pd.Series((rare == "yes").astype(int)), "classification", ("no", "yes"))
        found = score_with_interval(model, TABLE, data, default_metric(data), 0)
        assert found.loss == 0.5
        assert found.low is found.high is None
        assert found.reason.startswith("no interval: the roc_auc is undefined in ")


class _Saying(LogisticRegression):
    """Says what it is told."""

    def predict(self, features: Any) -> Any:
        return np.asarray(features)[:, 0].astype(int)


def searched(test: Any, **options: Any) -> Any:
    chosen = {"features": TABLE, "target": WORDS, "metric": None} | options
    return sl.search(SPACE, **chosen, optimizer="random", trials=1, workers=0, test=test)


RENAMED = TABLE.rename(columns={"b": "c"})


@pytest.mark.parametrize(
    ("test", "options", "said"),
    [
        (1.5, {}, "the share of test rows must be between 0 and 1, not 1.5"),
        ("0", {}, "the share of test rows must be between 0 and 1, not 0"),
        (True, {}, "`True` is neither a share of the rows nor test rows"),
        ("absent.csv", {}, "the file `absent.csv` does not exist"),
        ((RENAMED, WORDS), {}, "the test rows` differ from those of `data`: missing `b`, unexpected `c`"),
        ((TABLE.assign(b="x"), WORDS), {}, "the column `b` holds text in `the test rows`, but numbers in `data`"),
        ((TABLE.to_numpy()[:, :1], WORDS), {"features": TABLE.to_numpy()}, ": missing `x1`"),
        ((TABLE, np.where(WORDS == "no", "perhaps", "yes")), {}, "labels that the training rows lack: `perhaps`"),
        ((TABLE, [None, *WORDS[1:]]), {}, "in `the test rows`, 1 row has no label"),
        ((TABLE[:1], WORDS[:1]), {}, "`the test rows` has 1 row, too few to test on"),
        ((TABLE, WORDS), {}, "the test rows of `the test rows` are identical to the rows that trials see"),
        ((TABLE[::2], WORDS[::2]), {}, "the metric `roc_auc` is undefined on the 40 test rows"),
        (0.5, {"target": ["no"] * 78 + ["yes"] * 2}, "the class `yes` in the column `target` has 2 rows, too few"),
        (0.2, {"features": TABLE[:3], "target": WORDS[:3]}, "but the split needs at least 2"),
    ],
    ids=str,
)
def test_what_cannot_be_tested_on_is_refused(test: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        searched(test, **options)
    assert said in caught.value.message
    assert isinstance(caught.value, DataError | MetricError)


def test_a_pipeline_that_cannot_predict_them_is_said_to() -> None:
    """Values are missing in the test rows alone, where nothing was prepared for them."""
    space = sl.parse("stage e = GaussianNB\n")
    found = sl.search(space, TABLE, WORDS, trials=1, workers=0, test=(TABLE.assign(b=np.nan)[:9], WORDS[:9]))
    assert found.test is not None
    assert found.test.loss is None
    assert "NaN" in found.test.reason


def test_without_test_rows_there_is_no_score() -> None:
    assert searched(None).test is None


BOUNDS = [
    Bound(BoundedMeasure.SIZE, 2e6, strict=True),
    Bound(BoundedMeasure.DISPARITY, 0.1, scorer="accuracy", column='the "sex" \ud800'),
    Bound(BoundedMeasure.LATENCY, 1e-5),
    FunctionBound("leaves", 3.0),
]


def reaching() -> st.SearchStrategy[UnseenRowsMeasurement]:
    number = st.none() | st.floats(0)
    return st.builds(UnseenRowsMeasurement, st.sampled_from(BOUNDS), number, number, number, st.text(max_size=5))


class TestStores:
    SCORE = trial.TestScore(0.25, 0.125, 0.5, 40)

    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        place = tmp_path / "run.db"
        with Store.create(place, HEADER) as store:
            store.end_session("budget", 1.0)
        return place

    def test_what_is_kept_is_read_again_and_replaced(self, store: Path) -> None:
        with Store.read(store) as run:
            assert run.test_score is None
        for score_ in (self.SCORE, trial.TestScore(None, None, None, 3, "ValueError: \ud800no")):
            save_unseen_score(store, StoredUnseenScore(7, score_))
        with Store.read(store) as run:
            assert run.test_score is not None
            assert (run.test_score.trial, run.test_score.score.loss, run.test_score.score.reason) == (
                7,
                None,
                "ValueError: \\ud800no",
            )
        with Store.open(store, HEADER) as store_:
            assert store_.count == 0

    def test_what_was_changed_is_noticed(self, store: Path) -> None:
        save_unseen_score(store, StoredUnseenScore(7, self.SCORE))
        with sqlite3.connect(store) as connection:
            connection.execute("UPDATE test SET loss = 0.1")
        connection.close()
        with (
            Store.read(store) as run,
            pytest.raises(InputError, match="the score on the test rows does not match its checksum"),
        ):
            _ = run.test_score

    def test_a_run_without_bounds_has_the_tables_that_it_always_had(self, store: Path) -> None:
        save_unseen_score(store, StoredUnseenScore(7, self.SCORE))
        with sqlite3.connect(store) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (VERSION + 32,)
        connection.close()

    @given(st.lists(reaching(), max_size=4), st.lists(reaching(), max_size=2))
    @settings(max_examples=6, deadline=None)
    def test_what_is_reached_of_bounds_is_read_again_and_replaced(self, first: Any, second: Any) -> None:
        with TemporaryDirectory() as folder:
            place = Path(folder) / "run.db"
            with Store.create(place, HEADER) as store:
                store.end_session("budget", 1.0)
            for each in (first, second):
                test = StoredUnseenScore(1, replace(self.SCORE, constraints=tuple(each)))
                save_unseen_score(place, test)
                with Store.read(place) as run:
                    assert run.test_score == test
            with Store.open(place, HEADER) as again:
                assert again.count == 0

    def test_what_was_changed_of_a_bound_is_noticed(self, store: Path) -> None:
        save_unseen_score(
            store,
            StoredUnseenScore(
                7, replace(self.SCORE, constraints=(UnseenRowsMeasurement(FunctionBound("leaves", 3.0), 4.0),))
            ),
        )
        with sqlite3.connect(store) as connection:
            connection.execute("UPDATE test_bounds SET value = 2.0")
        connection.close()
        with (
            Store.read(store) as run,
            pytest.raises(InputError, match="the measurement of a bound on the test rows does not match its checksum"),
        ):
            _ = run.test_score

    @pytest.mark.parametrize("first", ["score", "predictions"])
    def test_it_stands_beside_predictions_in_any_order(self, store: Path, first: str) -> None:
        def predict() -> None:
            with Store.open(store, HEADER) as store_:
                store_.append(stored_trial(1, predictions=np.ones((2, 2))))
                store_.end_session("budget", 2.0)

        steps: list[Callable[[], None]] = [lambda: save_unseen_score(store, StoredUnseenScore(1, self.SCORE)), predict]
        for step in steps if first == "score" else steps[::-1]:
            step()
        with Store.read(store) as run:
            assert run.test_score == StoredUnseenScore(1, self.SCORE)
            assert run.predictions(1) is not None


def test_groups_are_drawn_as_a_whole() -> None:
    groups = np.array([2, 0, 2, 1, 0, 2])
    for rows in unseen_scores.bootstrap_rows(6, 0, 20, groups=groups):
        counts = np.bincount(rows, minlength=6)
        assert all(len({*counts[groups == group]}) == 1 for group in range(3))
        assert sum(counts[[1, 3, 0]]) == 3, "as many groups as there are"
    narrow = score_with_interval(LogisticRegression().fit(TABLE, WORDS), TABLE, held(), named_metric("accuracy"), 0)
    grouped = replace(held(), relations=RowRelations(np.arange(80) // 8))
    wide = score_with_interval(LogisticRegression().fit(TABLE, WORDS), TABLE, grouped, named_metric("accuracy"), 0)
    assert narrow.loss == wide.loss
    assert (narrow.low, narrow.high) != (wide.low, wide.high)


def test_few_groups_have_no_interval() -> None:
    model, few_groups = LogisticRegression().fit(TABLE, WORDS), RowRelations(np.arange(80) // 40)
    found = score_with_interval(model, TABLE, replace(held(), relations=few_groups), named_metric("accuracy"), 0)
    assert found.loss is not None
    assert (found.low, found.high, found.reason) == (None, None, "no interval: the rows are of 2 groups only")
