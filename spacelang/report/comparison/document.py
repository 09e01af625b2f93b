"""A comparison as one JSON document."""

from collections.abc import Iterable

from spacelang.report.comparison.ranks import Interval
from spacelang.report.comparison.results import Models, Results, Run
from spacelang.report.comparison.text import SHARES


def document(results: Results) -> dict[str, object]:
    """What `compare --json` prints.

    `losses[models][data][optimizer]` has `lower`, `median` and `upper`, and `ranks[models][optimizer]` average ranks,
    one number for each of `seconds`: some shares of the time, the last one its end. `ahead` says who was ahead when,
    over all (`average_rank`) and by data (`median`); `runs` has every run with its last losses, None without a score.
    """
    told = results.at(*(results.end * share for share in SHARES))
    return {
        "space": results.space,
        "data": {name: {"loss": results.formulas[name], "before": before} for name, before in _befores(results)},
        "optimizers": list(results.optimizers),
        "seeds": list(results.seeds),
        "tolerance": results.tolerance,
        **_over_time(told),
        "ahead": {models.value: _ahead(results, models) for models in Models},
        "runs": [_run(run) for run in results.runs],
    }


def curves(results: Results) -> dict[str, object]:
    """`seconds`, `losses` and `ranks` as in the document, at all times at which the comparison is told."""
    return _over_time(results)


def _over_time(results: Results) -> dict[str, object]:
    return {
        "seconds": results.seconds.tolist(),
        "losses": {models.value: _losses(results, models) for models in Models},
        "ranks": {
            models.value: dict(zip(results.optimizers, results.mean_ranks[models].tolist(), strict=True))
            for models in Models
        },
    }


def _losses(results: Results, models: Models) -> dict[str, object]:
    return {
        data: {
            optimizer: dict(zip(("lower", "median", "upper"), quartiles[:, row].tolist(), strict=True))
            for row, optimizer in enumerate(results.optimizers)
        }
        for data, quartiles in zip(results.data, results.quartiles[models].swapaxes(0, 1), strict=True)
    }


def _befores(results: Results) -> Iterable[tuple[str, float]]:
    return zip(results.data, results.before.tolist(), strict=True)


def _ahead(results: Results, models: Models) -> dict[str, object]:
    by_data = {data: _intervals(results.ahead_on(data, models)) for data in results.data}
    return {"average_rank": _intervals(results.ahead(models)), "median": by_data}


def _intervals(intervals: Iterable[Interval]) -> list[object]:
    return [{"start": each.start, "end": each.end, "optimizers": list(each.ahead)} for each in intervals]


def _run(run: Run) -> dict[str, object]:
    losses = {models.value: next(reversed(run.curves[models].losses), None) for models in Models}
    return {
        "data": run.key.data,
        "optimizer": run.key.optimizer,
        "seed": run.key.seed,
        "loss": losses,
        "trials": run.trials,
        "failed": run.failed,
        "seconds": run.seconds,
        "ended": run.ended,
        "reason": run.reason,
    }
