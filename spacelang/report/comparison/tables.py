"""A comparison as tables: one line a thing, for programs that draw their own plots."""

import numpy as np
import pandas as pd

from spacelang.report.comparison.results import Models, Results


def curves(results: Results) -> pd.DataFrame:
    """Every improvement of every run: data, optimizer, seed, seconds, loss, and of which models the incumbent is."""
    rows = [
        (run.key.data, run.key.optimizer, run.key.seed, seconds, loss, models.value)
        for run in results.runs
        for models in Models
        for seconds, loss in zip(run.curves[models].seconds, run.curves[models].losses, strict=True)
    ]
    return pd.DataFrame(rows, columns=["data", "optimizer", "seed", "seconds", "loss", "models"])


def quartiles(results: Results) -> pd.DataFrame:
    """At every time: models, data, optimizer, seconds, and `lower`, `median`, `upper` of the losses over the seeds."""
    names = ["models", "data", "optimizer", "seconds"]
    frames = []
    for models in Models:
        index = pd.MultiIndex.from_product([[models.value], results.data, results.optimizers, results.seconds])
        lower, median, upper = (part.ravel() for part in results.quartiles[models])
        frame = pd.DataFrame({"lower": lower, "median": median, "upper": upper}, index=index.set_names(names))
        frames.append(frame.reset_index())
    return pd.concat(frames, ignore_index=True)


def ranks(results: Results) -> pd.DataFrame:
    """At every time: models, optimizer, seconds, and the average `rank` over data and seeds."""
    names = ["models", "optimizer", "seconds"]
    frames = []
    for models in Models:
        index = pd.MultiIndex.from_product([[models.value], results.optimizers, results.seconds]).set_names(names)
        frames.append(pd.DataFrame({"rank": results.mean_ranks[models].ravel()}, index=index).reset_index())
    return pd.concat(frames, ignore_index=True)


def ahead(results: Results) -> pd.DataFrame:
    """Who was ahead and when: models, data (empty: by the average rank over all), start, end, optimizers."""
    rows = []
    for models in Models:
        by_data = [(data, results.ahead_on(data, models)) for data in results.data]
        for data, found in [("", results.ahead(models)), *by_data]:
            rows += [(models.value, data, each.start, each.end, each.ahead) for each in found]
    return pd.DataFrame(rows, columns=["models", "data", "start", "end", "optimizers"])


def runs(results: Results) -> pd.DataFrame:
    """One row a run: data, optimizer, seed, the last losses, trials, failures, seconds, how and why it ended."""
    rows = [
        (
            run.key.data,
            run.key.optimizer,
            run.key.seed,
            *(run.curves[models].losses[-1] if run.curves[models].losses else np.nan for models in Models),
            run.trials,
            run.failed,
            run.seconds,
            run.ended,
            run.reason,
        )
        for run in results.runs
    ]
    losses = [f"loss_{models.value}" for models in Models]
    names = ["data", "optimizer", "seed", *losses, "trials", "failed", "seconds", "ended", "reason"]
    return pd.DataFrame(rows, columns=names)
