"""Confidence intervals of the losses of trials, from their predictions for the held-out rows."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spacelang.runtime.scoring.metric import Metric
from spacelang.runtime.scoring.pipeline_scorer import HeldOutRows, make_batch_prediction_loss_function
from spacelang.runtime.scoring.unseen_scores import MIN_GROUPS, MIN_RESAMPLES, percentile_interval, row_sampler

SEED_STREAM: Final = 12_075  # Combined with the seed, so that resamples are drawn independently of everything else


def held_out_interval(
    predictions: npt.NDArray[Any], held_out: HeldOutRows, metric: Metric, seed: int
) -> tuple[float | None, float | None]:
    """Return the ends of a 95 % bootstrap interval of the mean loss over the folds; None if it has none.

    The rows of each fold are resampled, equally for all trials of a run; rows with groups in whole groups, of which
    each fold must have at least `MIN_GROUPS`. The interval does not account for the choice of the trial among others.
    """
    rng, groups = np.random.default_rng([seed, SEED_STREAM]), held_out.groups
    places = [np.flatnonzero(held_out.folds == fold) for fold in np.unique(held_out.folds)]
    if groups is not None and min(len(np.unique(groups[each])) for each in places) < MIN_GROUPS:
        return None, None
    samplers = [row_sampler(len(each), None if groups is None else groups[each]) for each in places]
    losses = []
    for _ in range(MIN_RESAMPLES):
        rows = np.concatenate([each[draw(rng)] for each, draw in zip(places, samplers, strict=True)])
        drawn = HeldOutRows(held_out.rows[rows], held_out.target[rows], held_out.folds[rows], held_out.classes)
        losses.append(float(make_batch_prediction_loss_function(drawn, metric)(predictions[rows][np.newaxis])[0]))
    low, high, _ = percentile_interval(np.array(losses), metric.name)
    return low, high
