"""What rows that no trial saw say about optimizers: the losses there of what their runs found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan

import numpy as np

from spacelang.bench.comparison.curves import Array
from spacelang.bench.comparison.noise import Estimate, RankEstimates, mean_over_seeds, ranked
from spacelang.bench.comparison.ranks import Ranking
from spacelang.bench.comparison.results import OnTestRows, Results, RunKey, RunResult


@dataclass(frozen=True, slots=True, eq=False)
class WinnerLosses:
    """Losses of the winners of runs, data x optimizers: those on test rows, with their intervals over seeds.

    `reported` are the losses by which they won, and `optimism` is by how much those on test rows are above them; both
    are means over the runs that have a winner, NaN where none has. `ranked` has one time, the end.
    """

    losses: Estimate
    reported: Array
    optimism: Array
    ranked: Mapping[Ranking, RankEstimates]


def verdict(results: Results) -> WinnerLosses | None:
    """By rows that no trial saw; None where there were none.

    A run without a winner counts as before its first score, or as the worst winner where that one is worse.
    """
    if all(run.tested is None for run in results.runs):
        return None
    found, reported = _each(results, lambda tested: tested.score.loss), _each(results, lambda tested: tested.reported)
    worst = np.fmax(results.before, np.nanmax(found, axis=(1, 2), initial=-np.inf))
    losses = np.where(np.isnan(found), worst[:, None, None], found)
    return WinnerLosses(
        mean_over_seeds(losses),
        _mean_of_known(reported),
        _mean_of_known(found - reported),
        {ranking: ranked(losses[..., None], ranking, results.tolerance, results.resampling) for ranking in Ranking},
    )


def _each(results: Results, told: Callable[[OnTestRows], float | None]) -> Array:
    """A figure of every run's winner, NaN where there is none: data x optimizers x seeds."""
    by_key: dict[RunKey, RunResult] = {run.key: run for run in results.runs}
    tested = (
        by_key[RunKey(data, optimizer, seed)].tested
        for data in results.data
        for optimizer in results.optimizers
        for seed in results.seeds
    )
    figures = [None if each is None else told(each) for each in tested]
    return np.array(figures, dtype=float).reshape(len(results.data), len(results.optimizers), len(results.seeds))


def _mean_of_known(figures: Array) -> Array:
    """Means over the last axis of what is known; NaN where nothing is."""
    known = ~np.isnan(figures)
    count = known.sum(axis=-1)
    total = np.where(known, figures, 0).sum(axis=-1)
    found: Array = np.divide(total, count, out=np.full(count.shape, nan), where=count > 0)
    return found
