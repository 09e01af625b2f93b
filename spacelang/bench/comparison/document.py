"""A comparison as one JSON document."""

from collections.abc import Iterable
from dataclasses import asdict
from math import isnan

from spacelang.bench.comparison.ranks import LEVEL, Estimate, LeadInterval, Ranking
from spacelang.bench.comparison.results import IncumbentCandidates, Results, RunResult, winner_losses
from spacelang.bench.comparison.summary import verdict
from spacelang.bench.comparison.text import TIME_SHARES
from spacelang.report.trial_results import score_document


def comparison_document(results: Results) -> dict[str, object]:
    """Return the document that `compare --json` prints.

    The entries that depend on time have one number for each of `seconds`: some shares of the time, up to its end.

    - `losses[models][data][optimizer]`: `lower`, `median` and `upper`.
    - `ranks[ranking][models][optimizer]`: the average `rank` over all data, with the bounds `low` and `high` of its
      interval. The ranking `mean_losses` ranks the mean loss of an optimizer over its runs on a data set, as in the
      papers; `runs` ranks single runs.
    - `differences[ranking][models]`: for every two optimizers, the rank of the first minus that of the second, and
      whether it is `within_noise`.
    - `intervals`: the number of `data set` or `seed` that intervals are based on. It is None, and so are all bounds, if
      there are too few.
    - `ahead`: who was ahead and when, over all data by each ranking, and on each data set (`median`).
    - `apart`: for every two optimizers, which one was ahead beyond noise, by the ranks of mean losses.
    - `test`: the losses of the winners at the end on rows that no trial saw, in `losses[data][optimizer]`, with `ranks`
      and `differences` as above. It is None without test rows.
    - `verdict`: one sentence on who is ahead at the end, and of whom beyond noise.
    - `runs`: every run with its last losses, None without a score.
    """
    initial, based_on = zip(results.data, results.losses_before_first_score.tolist(), strict=True), results.resampling
    sampled = results.at_times(*(results.end * share for share in TIME_SHARES))
    return {
        "space": results.space,
        "data": {name: {"loss": results.formulas[name], "before": before} for name, before in initial},
        "optimizers": list(results.optimizers),
        "seeds": list(results.seeds),
        "tolerance": results.tolerance,
        "intervals": based_on and {"level": LEVEL, "over": based_on.unit.value, "number": based_on.number},
        **_over_time(sampled),
        "differences": {
            ranking.value: {models.value: _differences(results, each.differences) for models, each in by_models.items()}
            for ranking, by_models in sampled.rank_estimates.items()
        },
        "ahead": {models.value: _ahead(results, models) for models in IncumbentCandidates},
        "apart": {models.value: _apart(results, models) for models in IncumbentCandidates},
        "test": _test_document(results),
        "verdict": verdict(results),
        "runs": [_run(run) for run in results.runs],
    }


def curves_document(results: Results) -> dict[str, object]:
    """Return `seconds`, `losses` and `ranks` as in the document, at all times of the results."""
    return _over_time(results)


def _over_time(results: Results) -> dict[str, object]:
    return {
        "seconds": results.seconds.tolist(),
        "losses": {models.value: _losses(results, models) for models in IncumbentCandidates},
        "ranks": {
            ranking.value: {models.value: _ranks(results, ranked.ranks) for models, ranked in by_models.items()}
            for ranking, by_models in results.rank_estimates.items()
        },
    }


def _ranks(results: Results, ranks: Estimate) -> dict[str, object]:
    return {
        optimizer: {"rank": ranks.value[row].tolist(), **_bounds(ranks, row)}
        for row, optimizer in enumerate(results.optimizers)
    }


def _differences(results: Results, differences: Estimate) -> list[object]:
    return [
        {
            "optimizers": list(pair),
            "difference": differences.value[row].tolist(),
            **_bounds(differences, row),
            "within_noise": differences.within_noise[row].tolist(),
        }
        for row, pair in enumerate(results.pairs)
    ]


def _bounds(estimate: Estimate, row: int) -> dict[str, object]:
    """Return the bounds of intervals, with None in place of NaN."""
    bounds = {"low": estimate.low[row].tolist(), "high": estimate.high[row].tolist()}
    return {name: [*map(_none_if_nan, found)] for name, found in bounds.items()}


def _losses(results: Results, models: IncumbentCandidates) -> dict[str, object]:
    return {
        data: {
            optimizer: dict(zip(("lower", "median", "upper"), quartiles[:, row].tolist(), strict=True))
            for row, optimizer in enumerate(results.optimizers)
        }
        for data, quartiles in zip(results.data, results.quartiles[models].swapaxes(0, 1), strict=True)
    }


def _test_document(results: Results) -> dict[str, object] | None:
    found = winner_losses(results)
    if found is None:
        return None
    losses = {"mean": found.losses.value, "low": found.losses.low, "high": found.losses.high}
    columns = {**losses, "reported": found.reported, "optimism": found.optimism}
    return {
        "losses": {
            data: {
                optimizer: {name: _none_if_nan(float(column[place, row])) for name, column in columns.items()}
                for row, optimizer in enumerate(results.optimizers)
            }
            for place, data in enumerate(results.data)
        },
        "ranks": {ranking.value: _ranks(results, each.ranks) for ranking, each in found.rank_estimates.items()},
        "differences": {
            ranking.value: _differences(results, each.differences) for ranking, each in found.rank_estimates.items()
        },
    }


def _none_if_nan(number: float) -> float | None:
    return None if isnan(number) else number


def _ahead(results: Results, models: IncumbentCandidates) -> dict[str, object]:
    by_data = {data: _intervals(results.leaders_by_median(data, models)) for data in results.data}
    by_ranks = {ranking.value: _intervals(results.leaders_by_rank(models, ranking)) for ranking in Ranking}
    return {**by_ranks, "median": by_data}


def _apart(results: Results, models: IncumbentCandidates) -> list[object]:
    return [
        {"optimizers": list(pair), "intervals": _intervals(results.leaders_beyond_noise(pair, models))}
        for pair in results.pairs
    ]


def _intervals(intervals: Iterable[LeadInterval]) -> list[object]:
    return [{"start": each.start, "end": each.end, "optimizers": list(each.leaders)} for each in intervals]


def _run(run: RunResult) -> dict[str, object]:
    winner = run.winner_score
    return {
        **asdict(run.key),
        "loss": {models.value: next(reversed(run.curves[models].losses), None) for models in IncumbentCandidates},
        **{name: getattr(run, name) for name in ("trials", "failed", "seconds", "ended", "reason")},
        "test": None if winner is None else score_document(winner.score) | {"reported": winner.reported},
    }
