"""The verdict and the end of a comparison: in one sentence, as a table, as LaTeX, and as one JSON document."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from math import isnan, nan
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from spacelang.bench.comparison import ComparisonResults, IncumbentKind, RunResult, winner_losses
from spacelang.bench.comparison.ranks import LEVEL, Array, IntervalEstimate, LeadInterval, RankEstimates, RankingMethod
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.trial import LossName
from spacelang.report.trial_results import document_of_test_score

if TYPE_CHECKING:
    import pandas as pd

TIME_SHARES: Final = (0.01, 0.1, 1.0)  # The shares of the time after which losses and ranks are reported
ALL_DATA: Final = "all data"  # The name of the columns for ranks, which cover all data sets
LATEX_ESCAPES: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class FinalLossesAndRanks:
    """The losses and ranks at the end of a comparison.

    `losses` has the shape (data, optimizers). With test rows they are the means of the winners there, with 95 %
    intervals over the seeds; otherwise medians with quartiles, of models trained on all training rows. `ranks` are the
    average ranks of mean losses and their differences, over all data; `place` is the index of their last time.
    `has_score`, of the shape of `losses`, is False if no run has a score, so that the loss is only what ranks assume.
    """

    losses: IntervalEstimate
    has_score: npt.NDArray[np.bool_]
    ranks: RankEstimates
    is_test: bool
    place: int = -1

    @property
    def rank(self) -> Array:
        """The average rank of each optimizer."""
        found: Array = self.ranks.ranks.value[:, self.place]
        return found

    def scores(self, metric: LossName, data: int) -> IntervalEstimate:
        """Return the scores of the optimizers on a data set, with ascending intervals; NaN without a score."""
        value, low, high = (np.where(self.has_score[data], part[data], nan) for part in _parts(self.losses))
        if metric.is_loss_the_score:
            return IntervalEstimate(value, low, high)
        turned = (np.array([metric.score(float(loss)) for loss in part]) for part in (value, high, low))
        return IntervalEstimate(*turned)


def final_losses_and_ranks(results: ComparisonResults) -> FinalLossesAndRanks:
    """Return the losses and ranks at the end: of the winners on test rows if there are any, else of the incumbents."""
    judged, models = winner_losses(results), IncumbentKind.FULL
    if judged is not None:
        tested = ~np.isnan(judged.reported)
        return FinalLossesAndRanks(
            judged.losses, tested, judged.rank_estimates[RankingMethod.MEAN_LOSSES], is_test=True
        )
    lower, median, upper = results.quartiles[models][..., -1]
    ranks = results.rank_estimates[RankingMethod.MEAN_LOSSES][models]
    return FinalLossesAndRanks(
        IntervalEstimate(median, lower, upper), results.has_scores[models][..., -1], ranks, is_test=False
    )


def summary_frame(results: ComparisonResults) -> "pd.DataFrame":
    """Return the table of `Comparison.to_frame`."""
    import pandas as pd

    found, columns = final_losses_and_ranks(results), dict[tuple[str, str], Array]()
    for place, data in enumerate(results.data):
        metric = LossName.of_formula(results.formulas[data])
        scores = found.scores(metric, place)
        columns |= {(data, metric.score_name): scores.value, (data, "low"): scores.low, (data, "high"): scores.high}
        columns[data, "loss"] = found.losses.value[place]
    ranks = found.ranks.ranks
    for name, values in {"rank": ranks.value, "low": ranks.low, "high": ranks.high}.items():
        columns[ALL_DATA, name] = values[:, found.place]
    index = pd.Index(results.optimizers, name="optimizer")
    return pd.DataFrame(columns, index=index).rename_axis(columns=["data", "statistic"])


def summary_html(results: ComparisonResults) -> str:
    """Return the verdict and the table of `Comparison.to_frame` in HTML."""
    if all(run.reason for run in results.runs):
        return f"<div>{escape(replace_unprintable(verdict(results)))}</div>"
    formulas = " and ".join(dict.fromkeys(results.formulas.values()))
    sentence = verdict(results) if formulas == "loss" else f"{verdict(results)} (losses are {formulas})"
    table = summary_frame(results).rename(index=replace_unprintable, columns=replace_unprintable)
    return f"<div>{escape(replace_unprintable(sentence))}{table.to_html(float_format='{:.4g}'.format, na_rep='')}</div>"


def summary_latex(results: ComparisonResults) -> str:
    """Return the table of `Comparison.to_latex`."""
    found, names, columns = final_losses_and_ranks(results), list[str](), list[list[str]]()
    for place, data in enumerate(results.data):
        metric = LossName.of_formula(results.formulas[data])
        names.append(_escaped(f"{data}: {metric.score_name}"))
        columns.append(_cells(found.scores(metric, place), ".4f", is_least_best=metric.is_loss_the_score))
    names.append("rank")
    columns.append(_cells(IntervalEstimate(*(each[:, found.place] for each in _parts(found.ranks.ranks))), ".2f"))
    rows = zip(map(_escaped, results.optimizers), *columns, strict=True)
    lines = [
        f"\\begin{{tabular}}{{l{'r' * len(names)}}}",
        "\\toprule",
        " & ".join(["optimizer", *names]) + r" \\",
        "\\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _parts(estimate: IntervalEstimate) -> tuple[Array, Array, Array]:
    return estimate.value, estimate.low, estimate.high


def _cells(estimate: IntervalEstimate, form: str, *, is_least_best: bool = True) -> list[str]:
    """Return the cells of a column: values with intervals, the best ones in bold, and `--` for a missing value."""
    texts = ["--" if isnan(value) else format(value, form) for value in estimate.value]
    known = [value for value in estimate.value.tolist() if not isnan(value)]
    best = format((min if is_least_best else max)(known), form) if known else ""
    bold = [rf"\textbf{{{text}}}" if text == best else text for text in texts]
    bounds = zip(estimate.low, estimate.high, strict=True)
    ends = ["" if np.isnan(low) else f" [{low:{form}}, {high:{form}}]" for low, high in bounds]
    return [text + end for text, end in zip(bold, ends, strict=True)]


def _escaped(text: str) -> str:
    return "".join(LATEX_ESCAPES.get(character, character) for character in text)


def verdict(results: ComparisonResults) -> str:
    """Return one sentence: which optimizer leads at the end, which others it beats beyond noise, on which data."""
    if all(run.reason for run in results.runs):
        return "no run has a score"
    if len(results.optimizers) == 1:
        return f"there is nothing to compare `{results.optimizers[0]}` with"
    found = final_losses_and_ranks(results)
    first = int(np.argmin(found.rank))
    name = f"`{results.optimizers[first]}`"
    where = f"{'on rows that no trial saw' if found.is_test else 'at the end'}, over {results.averaging_phrase}"
    if np.ptp(found.rank) == 0:
        return f"all optimizers have the same rank {where}"
    if results.resampling is None:
        which = f"{name} has the best average rank ({found.rank[first]:.2f})"
        return f"{which} {where}, which are too few to distinguish the lead from noise"
    beaten = {row: bounds for row in range(len(found.rank)) if (bounds := _lead(results, found, first, row))}
    equal = [f"`{results.optimizers[row]}`" for row in range(len(found.rank)) if row != first and row not in beaten]
    if not beaten:
        return f"no difference is beyond noise {where}; {name} has the best average rank ({found.rank[first]:.2f})"
    by = " and ".join(f"`{results.optimizers[row]}` by {bounds}" for row, bounds in beaten.items())
    others = f", within noise of {' and '.join(equal)}" if equal else ""
    return f"{name} is ahead of {by}{others} {where}"


def _lead(results: ComparisonResults, found: FinalLossesAndRanks, first: int, other: int) -> str:
    """Return by how many ranks one optimizer is ahead of another, with the interval; empty if that may be noise."""
    pair = sorted((first, other))
    if first == other:
        return ""
    place = results.optimizer_pairs.index((results.optimizers[pair[0]], results.optimizers[pair[1]]))
    differences = found.ranks.differences
    if differences.is_within_noise[place, found.place]:
        return ""
    value, *ends = (float(each[place, found.place]) for each in _parts(differences))
    low, high = sorted(map(abs, ends))
    return f"{abs(value):.2f} [{low:.2f}, {high:.2f}] ranks"


def comparison_document(results: ComparisonResults) -> dict[str, object]:
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
    sampled = results.at_times(*(results.end_seconds * share for share in TIME_SHARES))
    return {
        "space": results.space,
        "data": {name: {"loss": results.formulas[name], "before": before} for name, before in initial},
        "optimizers": list(results.optimizers),
        "seeds": list(results.seeds),
        "tolerance": results.tolerance,
        "intervals": based_on and {"level": LEVEL, "over": based_on.unit.value, "number": based_on.number},
        **curves_document(sampled),
        "differences": {
            ranking.value: {models.value: _differences(results, each.differences) for models, each in by_models.items()}
            for ranking, by_models in sampled.rank_estimates.items()
        },
        "ahead": {models.value: _ahead(results, models) for models in IncumbentKind},
        "apart": {models.value: _apart(results, models) for models in IncumbentKind},
        "test": _test_document(results),
        "verdict": verdict(results),
        "runs": [_run(run) for run in results.runs],
    }


def curves_document(results: ComparisonResults) -> dict[str, object]:
    """Return the entries `seconds`, `losses` and `ranks` of `comparison_document`, but at all times of the results."""
    return {
        "seconds": results.seconds.tolist(),
        "losses": {models.value: _losses(results, models) for models in IncumbentKind},
        "ranks": {
            ranking.value: {models.value: _ranks(results, ranked.ranks) for models, ranked in by_models.items()}
            for ranking, by_models in results.rank_estimates.items()
        },
    }


def _ranks(results: ComparisonResults, ranks: IntervalEstimate) -> dict[str, object]:
    return {
        optimizer: {"rank": ranks.value[row].tolist(), **_bounds(ranks, row)}
        for row, optimizer in enumerate(results.optimizers)
    }


def _differences(results: ComparisonResults, differences: IntervalEstimate) -> list[object]:
    return [
        {
            "optimizers": list(pair),
            "difference": differences.value[row].tolist(),
            **_bounds(differences, row),
            "within_noise": differences.is_within_noise[row].tolist(),
        }
        for row, pair in enumerate(results.optimizer_pairs)
    ]


def _bounds(estimate: IntervalEstimate, row: int) -> dict[str, object]:
    """Return the bounds `low` and `high` in one row of an estimate as lists, with None in place of NaN."""
    bounds = {"low": estimate.low[row].tolist(), "high": estimate.high[row].tolist()}
    return {name: [*map(_none_if_nan, found)] for name, found in bounds.items()}


def _losses(results: ComparisonResults, models: IncumbentKind) -> dict[str, object]:
    return {
        data: {
            optimizer: dict(zip(("lower", "median", "upper"), quartiles[:, row].tolist(), strict=True))
            for row, optimizer in enumerate(results.optimizers)
        }
        for data, quartiles in zip(results.data, results.quartiles[models].swapaxes(0, 1), strict=True)
    }


def _test_document(results: ComparisonResults) -> dict[str, object] | None:
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


def _ahead(results: ComparisonResults, models: IncumbentKind) -> dict[str, object]:
    by_data = {data: _intervals(results.leaders_by_median(data, models)) for data in results.data}
    by_ranks = {ranking.value: _intervals(results.leaders_by_rank(models, ranking)) for ranking in RankingMethod}
    return {**by_ranks, "median": by_data}


def _apart(results: ComparisonResults, models: IncumbentKind) -> list[object]:
    return [
        {"optimizers": list(pair), "intervals": _intervals(results.leaders_beyond_noise(pair, models))}
        for pair in results.optimizer_pairs
    ]


def _intervals(intervals: Iterable[LeadInterval]) -> list[object]:
    return [{"start": each.start, "end": each.end, "optimizers": list(each.leaders)} for each in intervals]


def _run(run: RunResult) -> dict[str, object]:
    winner = run.winner_score
    return {
        **asdict(run.key),
        "loss": {models.value: next(reversed(run.curves[models].losses), None) for models in IncumbentKind},
        **{name: getattr(run, name) for name in ("trials", "failed", "seconds", "ended", "reason")},
        "test": None if winner is None else document_of_test_score(winner.score) | {"reported": winner.reported},
    }
