"""Laws of ensemble selection over drawn libraries: it is the greedy search that the paper describes, and no other."""

import math
import os
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.task import ScorerGoal
from spacelang.runtime.ensembles import construction
from spacelang.runtime.ensembles.construction import (
    ModelMultiset,
    average_predictions,
    select_models,
)
from spacelang.runtime.learner_shares import choose_equal_shares
from spacelang.runtime.scoring.metric import metric_of_goal, vectorised_loss
from spacelang.runtime.scoring.pipeline_scorer import (
    HeldOutRows,
    make_batch_prediction_loss_function,
    make_prediction_loss_function,
)

EXAMPLES: Final = 400 if os.environ.get("SPACELANG_FULL") else 16

LABELS: Final = np.array([1, 1, 0, 0])
LIBRARY: Final = [np.array([[1 - p, p] for p in each]) for each in ([0.9, 0.4, 0.3, 0.2], [0.4, 0.9, 0.2, 0.3])]
THIRD: Final = np.array([[1 - p, p] for p in (0.6, 0.6, 0.55, 0.1)])


def wrong(stack: Any) -> Any:
    """1 - accuracy at one half."""
    return np.mean((stack[:, :, 1] > 0.5) != LABELS, axis=1)


def one_by_one(loss: Callable[[Any], float]) -> Callable[[Any], Any]:
    """The losses of many predictions, by that of one."""
    return lambda stack: np.array([loss(each) for each in stack])


def test_the_worked_numbers() -> None:
    # Reckoned by hand.
    bag = select_models([*LIBRARY, THIRD], wrong, 4)
    assert bag == ModelMultiset((0, 1, 0, 0), (0.25, 0, 0, 0))
    assert ModelMultiset(bag.order[:3], bag.losses[:3]).weights == {0: 2 / 3, 1: 1 / 3}


def test_one_model_has_all_the_weight() -> None:
    assert select_models([THIRD], wrong, 7).weights == {0: 1.0}


@pytest.mark.parametrize(("models", "size"), [(0, 3), (2, 0), (2, -1)])
def test_a_bag_of_none_is_refused(models: int, size: int) -> None:
    with pytest.raises(ValueError, match="cannot select"):
        select_models(LIBRARY[:models], wrong, size)


@st.composite
def libraries(draw: st.DrawFn) -> tuple[list[Any], Any]:
    """Models as numbers of which sums are exact, so that brute force rounds as running sums do; and a loss."""
    models, rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    # Coarse ones are often equally good.
    steps = draw(st.sampled_from([2, 4, 64]))
    library = [rng.integers(0, steps + 1, (rows, columns)) / steps for _ in range(models)]
    truth = rng.integers(0, 2, (rows, columns))
    undefined, grain = draw(st.sampled_from([-1, 1])), draw(st.sampled_from([1, 3, 100]))

    def loss(predictions: Any) -> float:
        found = float(np.sum(np.round(np.abs(predictions - truth) * grain)))
        return math.nan if found < undefined else found

    return library, loss


@settings(max_examples=EXAMPLES, deadline=None)
@given(libraries(), st.integers(1, 6))
def test_it_is_what_brute_force_finds(drawn: tuple[list[Any], Any], size: int) -> None:
    library, loss = drawn
    bag: list[int] = []
    losses = []
    for _ in range(size):
        tried = [loss(sum(library[each] for each in [*bag, model]) / (len(bag) + 1)) for model in range(len(library))]
        tried = [math.inf if math.isnan(each) else each for each in tried]
        bag.append(tried.index(min(tried)))
        losses.append(min(tried))
    found = select_models(library, one_by_one(loss), size)
    assert found == ModelMultiset(tuple(bag), tuple(losses))
    assert found.votes == Counter(bag)
    assert math.isclose(sum(found.weights.values()), 1)
    # Sizes are nested: what a smaller bag is, is known from a larger one.
    for smaller in range(1, size):
        assert select_models(library, one_by_one(loss), smaller) == ModelMultiset(
            found.order[:smaller], found.losses[:smaller]
        )
    together = average_predictions([library[model] for model in found.votes], [*found.votes.values()])
    np.testing.assert_allclose(together, np.mean([library[model] for model in bag], axis=0), atol=1e-12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(libraries())
def test_a_bag_of_one_is_the_best_model(drawn: tuple[list[Any], Any]) -> None:
    library, loss = drawn
    alone = [math.inf if math.isnan(loss(each)) else loss(each) for each in library]
    assert select_models(library, one_by_one(loss), 1) == ModelMultiset((alone.index(min(alone)),), (min(alone),))


def test_what_differs_by_rounding_alone_is_equally_good() -> None:
    assert select_models(
        [np.zeros(2)] * 3, lambda _: np.array([0.3, 0.1 + 0.2 - 0.0999999999999999, 0.2]), 1
    ).order == (1,)


@pytest.mark.parametrize("largest", [1, 7, 10**6])
def test_a_large_library_is_gone_through_in_parts(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    library, truth = list(rng.random((7, 3))), rng.random(3)
    whole = select_models(library, lambda stack: ((stack - truth) ** 2).sum(axis=1), 6)
    monkeypatch.setattr(construction, "MAX_COPIED", largest)
    assert select_models(library, lambda stack: ((stack - truth) ** 2).sum(axis=1), 6) == whole


TRIALS = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.5, 1e9]), st.sampled_from("abc")), max_size=30)


@given(TRIALS, st.integers(1, 20))
def test_equal_shares_are_equally_many_of_the_best_of_each_learner(trials: list[tuple[float, str]], size: int) -> None:
    losses, learners = [loss for loss, _ in trials], [learner for _, learner in trials]
    kept = choose_equal_shares(losses, learners, size)
    assert kept == sorted(kept)
    for learner in {*learners}:
        own = [place for place in range(len(trials)) if learners[place] == learner]
        best = sorted(own, key=lambda place: (losses[place], place))[: -(-size // len({*learners}))]
        assert [place for place in kept if learners[place] == learner] == sorted(best)


@given(TRIALS, st.integers(1, 8))
def test_dropping_trials_early_changes_no_shares(trials: list[tuple[float, str]], size: int) -> None:
    held: list[int] = []
    for number in range(len(trials)):
        held.append(number)
        losses, learners = zip(*(trials[each] for each in held), strict=True)
        held = [held[place] for place in choose_equal_shares(losses, learners, size)]
    assert held == choose_equal_shares([loss for loss, _ in trials], [learner for _, learner in trials], size)


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy", "f1"]))
def test_the_loss_of_predictions_is_a_mean_over_folds(seed: int, scorer: str) -> None:
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import get_scorer

    rng = np.random.default_rng(seed)
    folds, target = np.repeat([0, 1, 2], [6, 4, 7]), rng.permutation(np.arange(17) % 2)
    target[[0, 6, 10]], target[[1, 7, 11]] = 0, 1  # both classes in each
    first = rng.random(17)
    held_out = HeldOutRows(np.arange(17), target, folds, ("no", "yes"))
    found = make_prediction_loss_function(held_out, metric_of_goal(ScorerGoal("minimize", scorer)))(
        np.column_stack([1 - first, first])
    )

    class Knowing(DummyClassifier):  # type: ignore[misc]
        """A classifier that knows its answers by heart."""

        classes_ = np.arange(2)

        def predict_proba(self, rows: Any) -> Any:
            return np.column_stack([1 - first, first])[rows]

        def predict(self, rows: Any) -> Any:
            return (first[rows] > 0.5).astype(int)

    places = [np.flatnonzero(folds == fold) for fold in range(3)]
    model = Knowing()
    model.n_outputs_ = 1
    assert found == pytest.approx(np.mean([get_scorer(scorer)(model, rows, target[rows]) for rows in places]))


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from(["accuracy", "balanced_accuracy", "neg_log_loss"]),
)
def test_losses_of_many_are_those_of_each(seed: int, classes: int, is_coarse: bool, scorer: str) -> None:
    rng = np.random.default_rng(seed)
    rows = 14
    target, folds = rng.integers(0, classes, rows), np.repeat([0, 1], rows // 2)
    target[[0, 7]], target[[1, 8]] = 0, 1
    stack = rng.dirichlet(np.ones(classes), (5, rows))
    stack = np.round(stack * 2) / 2 if is_coarse else stack
    by_classes = HeldOutRows(np.arange(rows), target, folds, tuple("abcd"[:classes]))
    by_numbers = HeldOutRows(np.arange(rows), target + rng.random(rows), folds, ())
    of_regressions = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error")
    asked = [(by_classes, scorer, stack), *((by_numbers, name, stack[:, :, 0]) for name in of_regressions)]
    if classes == 2:
        asked.append((by_classes, "roc_auc", stack))
    for held_out, name, predictions in asked:
        metric = metric_of_goal(ScorerGoal("maximize", name))
        assert vectorised_loss(metric.formula, len(held_out.classes)) is not None
        expected = [make_prediction_loss_function(held_out, metric)(each) for each in predictions]
        np.testing.assert_allclose(
            make_batch_prediction_loss_function(held_out, metric)(predictions), expected, rtol=0, atol=1e-12
        )


def test_a_constant_target_has_the_r2_of_scikit_learn() -> None:
    held_out = HeldOutRows(np.arange(3), np.full(3, 2.0), np.zeros(3, np.int64), ())
    metric = metric_of_goal(ScorerGoal("maximize", "r2"))
    stack = np.array([[2.0, 2, 2], [2, 2, 3]])
    assert make_batch_prediction_loss_function(held_out, metric)(stack).tolist() == [
        make_prediction_loss_function(held_out, metric)(each) for each in stack
    ]


@pytest.mark.parametrize("scorer", ["roc_auc", "average_precision", "f1"])
def test_what_is_no_usual_loss_is_asked_one_by_one(scorer: str) -> None:
    rng = np.random.default_rng(1)
    held_out = HeldOutRows(np.arange(12), np.arange(12) % 2, np.repeat([0, 1], 6), ("no", "yes"))
    metric, stack = metric_of_goal(ScorerGoal("minimize", scorer)), rng.dirichlet(np.ones(2), (3, 12))
    assert vectorised_loss(metric.formula, 2) is None
    assert make_batch_prediction_loss_function(held_out, metric)(stack).tolist() == [
        make_prediction_loss_function(held_out, metric)(each) for each in stack
    ]


def test_where_a_metric_is_undefined_the_loss_is() -> None:
    held_out = HeldOutRows(np.arange(3), np.array([1, 1, 1]), np.zeros(3, np.int64), ("no", "yes"))
    metric = metric_of_goal(ScorerGoal("maximize", "roc_auc"))
    assert math.isnan(make_prediction_loss_function(held_out, metric)(np.full((3, 2), 0.5)))
    assert np.isnan(make_batch_prediction_loss_function(held_out, metric)(np.full((4, 3, 2), 0.5))).all()
