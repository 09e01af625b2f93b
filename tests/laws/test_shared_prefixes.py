"""Whatever trials share, they end as if they shared nothing: to the last digit, with every reason."""

import pickle
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Hyperparameter, Node, Operator, Product, ProductKind, Space
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import Request, Trial
from spacelang.ir.validation import CrossValidation, Holdout, Validation
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.prefix_cache import PrefixCache
from spacelang.runtime.scoring.user_functions import Constraint

from .settings import LAW

ROWS = 40


def of(package: str, name: str, **fixed: Any) -> Operator:
    return Operator(name, package, (), tuple(fixed.items()))


def strange(name: str, **fixed: Any) -> Operator:
    return of("strange_estimators", name, **fixed)


def plain(name: str, **fixed: Any) -> Operator:
    return of("sklearn", name, **fixed)


def stage(name: str, *alternatives: Operator | Product) -> Choice:
    return Choice(name, name, name, tuple(Branch(f"a{place}", node) for place, node in enumerate(alternatives)))


def sequence(*nodes: Node, kind: ProductKind = ProductKind.SEQUENCE) -> Product:
    return Product(kind, nodes)


PARTS = Hyperparameter("n_components", "reducer.n_components", "reducer.n_components", Categorical((1, 2, 90)), 1)
ORDERLY = (
    plain("StandardScaler"),
    plain("StandardScaler", copy=False),
    plain("PCA", copy=False, n_components=2),
    plain("KBinsDiscretizer", encode="onehot", n_bins=3),
    plain("QuantileTransformer", n_quantiles=5, copy=False),
    plain("SelectPercentile", percentile=50),
    plain("PolynomialFeatures"),
    plain("KNNImputer", copy=False),
    sequence(plain("PCA", n_components=2), plain("StandardScaler", copy=False)),
    sequence(plain("PCA", n_components=1), plain("MinMaxScaler", copy=False), kind=ProductKind.PARALLEL),
)
SAMPLERS = (of("imblearn", "RandomOverSampler"), of("imblearn", "RandomUnderSampler"))
STRANGE = (
    strange("Noisy"),
    strange("Noisy", draws=2),
    strange("NoisyInPython"),
    strange("OwnChance"),
    strange("Keeping"),
    strange("Lending"),
    strange("Strided"),
    strange("Framing"),
    strange("Uncopied"),
    strange("RefusingLater"),
)
REFUSING = tuple(strange("Refusing", kind=kind) for kind in ("value", "runtime", "memory", "hidden"))
LATE = (
    strange("NoisyLater"),
    strange("Overwriting"),
    strange("Sparse"),
    strange("Listing"),
)
LAST = (
    strange("Last"),
    strange("Last", overwrites=True),
    strange("Last", draws=1),
    strange("Last", draws=2, overwrites=True),
    strange("Last", refuses=True, overwrites=True),
    plain("GaussianNB"),
    plain("LogisticRegression", max_iter=5),
    plain("KNeighborsClassifier", n_neighbors=2),
    plain("RandomForestClassifier", n_estimators=2),
)
SPACE = Space(
    "shared",
    sequence(
        stage("first", *ORDERLY, *STRANGE),
        Choice(
            "reducer",
            "reducer",
            "reducer",
            (Branch("none", SKIPPED_STEP), Branch("PCA", Operator("PCA", "sklearn", (PARTS,), (("copy", False),)))),
        ),
        stage("second", *ORDERLY, *STRANGE, *LATE),
        stage("third", *STRANGE, *LATE, *REFUSING, *SAMPLERS),
        stage("last", *LAST),
    ),
)
"""What writes into what it is given without asking stands in no first place: those rows belong to all trials."""


@cache
def data() -> Dataset:
    chance = np.random.default_rng(3)
    labels = np.arange(ROWS) % 3 // 2
    table = pd.DataFrame(chance.normal(size=(ROWS, 4)) + labels[:, None], columns=[*"abcd"])
    return check_and_encode_labels(make_table(table.assign(group=np.arange(ROWS) % 2.0), labels), "classification")


@st.composite
def requests(draw: st.DrawFn) -> list[Request]:
    chosen = {
        choice.key: draw(st.lists(st.sampled_from([each.name for each in choice.branches]), min_size=1, max_size=2))
        for choice in SPACE.root.children  # type: ignore[union-attr]
        if isinstance(choice, Choice)
    }
    one = st.fixed_dictionaries({key: st.sampled_from(names) for key, names in chosen.items()})
    made = []
    for values in draw(st.lists(one, min_size=2, max_size=8)):
        parts: dict[str, Any] = {}
        if values["reducer"] == "PCA":
            parts["reducer.n_components"] = draw(st.sampled_from((1, 2, 90)))
        made.append(Request(Configuration(values | parts), draw(st.sampled_from((None, 20, 20, 1000)))))
    return made


def meddling(pipeline: Any, features: Any, target: Any) -> float:
    """A user's function that ruins the pipeline after looking at it."""
    loss = float(np.mean(pipeline.predict(features) != target))
    for _, step in pipeline.steps:
        for value in vars(step).values():
            if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind == "f":
                value[...] = 5.0
    return loss


PLAIN = EvaluationSettings()
SETTINGS = st.sampled_from(
    (
        PLAIN,
        EvaluationSettings(validation=CrossValidation(3)),
        EvaluationSettings(
            validation=CrossValidation(2), metrics=("accuracy", "roc_auc"), training_score=True, predictions=True
        ),
        EvaluationSettings(
            bounds=(
                Bound(BoundedMeasure.SIZE, 1e6),
                Bound(BoundedMeasure.DISPARITY, 1.0, scorer="accuracy", column="group"),
            )
        ),
        EvaluationSettings(
            bounds=(Bound(BoundedMeasure.SIZE, 1e6),), constraints=(Constraint("wrong", meddling, 1.0),)
        ),
        EvaluationSettings(
            validation=CrossValidation(2), bounds=(Bound(BoundedMeasure.LATENCY, 9.0),), training_score=True
        ),
    )
)
LIMITS = st.sampled_from((1.0, 5_000.0, 10_000.0, 30_000.0, 1e9))


def judged(
    settings: EvaluationSettings, wishes: Sequence[Request], prefixes: PrefixCache
) -> tuple[list[Trial], DataObjective]:
    objective = DataObjective(SPACE, data(), settings)
    objective._prefixes = prefixes
    trials = []
    for wish in wishes:
        trials.append(objective.evaluate(wish))
        assert 0 <= objective.cached_bytes <= max(prefixes.limit, 0)
    return trials, objective


def told(trial: Trial) -> tuple[Any, ...]:
    """All that is no matter of time."""
    bounds = tuple(None if each.bound.name == "predict_latency" else repr(each.value) for each in trial.constraints)
    predicted = None if trial.predictions is None else trial.predictions.tobytes()
    metrics = [(name, repr(value)) for name, value in trial.metrics]
    return trial.status, repr(trial.loss), trial.reason, bounds, metrics, repr(trial.training_loss), predicted


@given(requests(), SETTINGS, LIMITS, st.booleans())
@LAW
def test_trials_end_as_if_they_shared_nothing(
    wishes: list[Request], settings: EvaluationSettings, limit: float, twice: bool
) -> None:
    asked = [*wishes, *wishes[:: -1 if twice else 1]]
    alone, unshared = judged(settings, asked, PrefixCache(0))
    shared, objective = judged(settings, asked, PrefixCache(limit, thrifty=False))
    assert [*map(told, shared)] == [*map(told, alone)]
    assert all(trial.cost_alone is None for trial in alone)
    assert unshared.cached_bytes == 0
    assert pickle.loads(pickle.dumps(objective._prefixes)).bytes == 0


@given(requests(), SETTINGS)
@LAW
def test_the_rows_that_trials_share_stay_as_they_are(wishes: list[Request], settings: EvaluationSettings) -> None:
    fresh = DataObjective(SPACE, data(), settings)._folds
    _, objective = judged(settings, wishes, PrefixCache(1e9, thrifty=False))
    for fold, before in zip(objective._folds, fresh, strict=True):
        for name in ("training", "training_target", "held_out", "held_out_target"):
            assert np.array_equal(getattr(fold, name), getattr(before, name)), name


@given(requests(), st.sampled_from((Holdout(0.3), CrossValidation(2))))
@LAW
def test_a_thrifty_cache_changes_nothing_either(wishes: list[Request], validation: Validation) -> None:
    settings = EvaluationSettings(validation=validation)
    alone, _ = judged(settings, wishes * 3, PrefixCache(0))
    shared, _ = judged(settings, wishes * 3, PrefixCache(1e9))
    assert [*map(told, shared)] == [*map(told, alone)]
