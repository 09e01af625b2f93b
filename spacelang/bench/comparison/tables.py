"""The results of a comparison as DataFrames, for programs that draw their own plots."""

import numpy as np
import pandas as pd

from spacelang.bench.comparison.ranks import Estimate, Ranking
from spacelang.bench.comparison.results import IncumbentCandidates, Results


def curves(results: Results) -> pd.DataFrame:
    """Return all improvements of all runs: data, optimizer, seed, seconds, loss, models."""
    rows = [
        (run.key.data, run.key.optimizer, run.key.seed, seconds, loss, models.value)
        for run in results.runs
        for models in IncumbentCandidates
        for seconds, loss in zip(run.curves[models].seconds, run.curves[models].losses, strict=True)
    ]
    return pd.DataFrame(rows, columns=["data", "optimizer", "seed", "seconds", "loss", "models"])


def quartiles(results: Results) -> pd.DataFrame:
    """Return quartiles of the losses over the seeds, at each time.

    The columns are models, data, optimizer, seconds, `lower`, `median` and `upper`.
    """
    names = ["models", "data", "optimizer", "seconds"]
    frames = []
    for models in IncumbentCandidates:
        index = pd.MultiIndex.from_product([[models.value], results.data, results.optimizers, results.seconds])
        lower, median, upper = (part.ravel() for part in results.quartiles[models])
        frame = pd.DataFrame({"lower": lower, "median": median, "upper": upper}, index=index.set_names(names))
        frames.append(frame.reset_index())
    return pd.concat(frames, ignore_index=True)


def ranks(results: Results) -> pd.DataFrame:
    """Return average ranks over data at each time: models, ranking, optimizer, seconds, `rank`, `low`, `high`."""
    who = pd.MultiIndex.from_product([results.optimizers, results.seconds], names=["optimizer", "seconds"])
    frames = [
        _frame(models, ranking, who.to_frame(index=False), "rank", each.ranks)
        for ranking, by_models in results.rank_estimates.items()
        for models, each in by_models.items()
    ]
    return pd.concat(frames, ignore_index=True)


def differences(results: Results) -> pd.DataFrame:
    """Return differences of ranks of every two optimizers at each time, and whether they are within noise.

    The columns are models, ranking, optimizer, other, seconds, `difference`, `low`, `high`, `within_noise`.
    `difference` is the rank of `optimizer` minus that of `other`.
    """
    rows = [(*pair, seconds) for pair in results.pairs for seconds in results.seconds]
    who = pd.DataFrame(rows, columns=["optimizer", "other", "seconds"])
    frames = [
        _frame(models, ranking, who, "difference", each.differences).assign(
            within_noise=each.differences.within_noise.ravel()
        )
        for ranking, by_models in results.rank_estimates.items()
        for models, each in by_models.items()
    ]
    return pd.concat(frames, ignore_index=True)


def _frame(
    models: IncumbentCandidates, ranking: Ranking, who: pd.DataFrame, what: str, found: Estimate
) -> pd.DataFrame:
    named = pd.DataFrame({"models": models.value, "ranking": ranking.value}, index=who.index)
    figures = pd.DataFrame({what: found.value.ravel(), "low": found.low.ravel(), "high": found.high.ravel()})
    return pd.concat([named, who, figures], axis=1)


def ahead(results: Results) -> pd.DataFrame:
    """Return who was ahead and when: models, by, data, start, end, optimizers.

    `by` is a ranking, `mean_losses` or `runs`, with empty `data` because it is over all data sets; or it is `median`,
    on one data set.
    """
    rows = []
    for models in IncumbentCandidates:
        by_ranks = [(ranking.value, "", results.leaders_by_rank(models, ranking)) for ranking in Ranking]
        by_data = [("median", data, results.leaders_by_median(data, models)) for data in results.data]
        for by, data, found in [*by_ranks, *by_data]:
            rows += [(models.value, by, data, each.start, each.end, each.leaders) for each in found]
    return pd.DataFrame(rows, columns=["models", "by", "data", "start", "end", "optimizers"])


def runs(results: Results) -> pd.DataFrame:
    """Return one row per run: data, optimizer, seed, last losses, trials, failures, seconds, how and why it ended.

    The last columns are `loss_test`, the loss of its winner on rows that no trial saw, and `loss_reported`, the
    winner's loss as a trial.
    """
    rows = [
        {
            "data": run.key.data,
            "optimizer": run.key.optimizer,
            "seed": run.key.seed,
            **{
                f"loss_{models.value}": next(reversed(run.curves[models].losses), np.nan)
                for models in IncumbentCandidates
            },
            "trials": run.trials,
            "failed": run.failed,
            "seconds": run.seconds,
            "ended": run.ended,
            "reason": run.reason,
            "loss_test": np.nan if run.winner_score is None else run.winner_score.score.loss,
            "loss_reported": np.nan if run.winner_score is None else run.winner_score.reported,
        }
        for run in results.runs
    ]
    return pd.DataFrame(rows)
