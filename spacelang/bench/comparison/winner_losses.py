"""The losses of the winners of runs on rows that no trial saw."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan

import numpy as np

from spacelang.bench.comparison.bootstrap import Estimate, RankEstimates, estimate_ranks, mean_over_seeds
from spacelang.bench.comparison.curves import Array
from spacelang.bench.comparison.ranks import Ranking
from spacelang.bench.comparison.results import Results, RunKey, RunResult, WinnerScore


@dataclass(frozen=True, slots=True, eq=False)
class WinnerLosses:
    """The losses of winners on test rows, of shape (data, optimizers), with intervals over seeds.

    `reported` are their losses as trials. `optimism` is by how much the losses on test rows are above those. Both are
    means over the runs that have a winner, NaN if there is none. `rank_estimates` has a single time, the end.
    """

    losses: Estimate
    reported: Array
    optimism: Array
    rank_estimates: Mapping[Ranking, RankEstimates]


def winner_losses(results: Results) -> WinnerLosses | None:
    """Return the losses of winners on rows that no trial saw, or None if there are no such rows.

    A run without a winner counts with the loss before a first score, or with the loss of the worst winner if that is
    greater.
    """
    if all(run.winner_score is None for run in results.runs):
        return None
    found, reported = (
        _winner_values(results, lambda tested: tested.score.loss),
        _winner_values(results, lambda tested: tested.reported),
    )
    worst = np.fmax(results.losses_before_first_score, np.nanmax(found, axis=(1, 2), initial=-np.inf))
    losses = np.where(np.isnan(found), worst[:, None, None], found)
    return WinnerLosses(
        mean_over_seeds(losses),
        _mean_ignoring_nan(reported),
        _mean_ignoring_nan(found - reported),
        {
            ranking: estimate_ranks(losses[..., None], ranking, results.tolerance, results.resampling)
            for ranking in Ranking
        },
    )


def _winner_values(results: Results, value_of: Callable[[WinnerScore], float | None]) -> Array:
    """Return one number for the winner of every run, NaN without one, of shape (data, optimizers, seeds)."""
    by_key: dict[RunKey, RunResult] = {run.key: run for run in results.runs}
    tested = (
        by_key[RunKey(data, optimizer, seed)].winner_score
        for data in results.data
        for optimizer in results.optimizers
        for seed in results.seeds
    )
    figures = [None if each is None else value_of(each) for each in tested]
    return np.array(figures, dtype=float).reshape(len(results.data), len(results.optimizers), len(results.seeds))


def _mean_ignoring_nan(figures: Array) -> Array:
    """Return means over the last axis that ignore NaN; NaN if all are."""
    known = ~np.isnan(figures)
    count = known.sum(axis=-1)
    total = np.where(known, figures, 0).sum(axis=-1)
    found: Array = np.divide(total, count, out=np.full(count.shape, nan), where=count > 0)
    return found
