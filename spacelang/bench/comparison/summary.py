"""A comparison in short: one row per optimizer, as numbers and as LaTeX, and the verdict in one sentence."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.bench.comparison.ranks import Array, Estimate, RankEstimates, Ranking
from spacelang.bench.comparison.results import IncumbentCandidates, Results, winner_losses
from spacelang.diagnostics.terminal_cells import make_visible

if TYPE_CHECKING:
    import pandas as pd

ALL_DATA: Final = "all data"  # The name of the columns for ranks, which cover all data sets
LATEX_ESCAPES: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class EndSummary:
    """The losses and ranks at the end of a comparison.

    `losses` has the shape (data, optimizers). With test rows they are the means of the winners there, with 95 %
    intervals over the seeds; otherwise medians with quartiles, of models trained on all training rows. `ranks` are the
    average ranks of mean losses and their differences, over all data; `place` is their last time.
    """

    losses: Estimate
    ranks: RankEstimates
    is_test: bool
    place: int = -1

    @property
    def rank(self) -> Array:
        """The average rank of each optimizer."""
        found: Array = self.ranks.ranks.value[:, self.place]
        return found


def end_summary(results: Results) -> EndSummary:
    """Return the summary of a comparison at its end; on test rows if there are any."""
    judged, models = winner_losses(results), IncumbentCandidates.FULL
    if judged is not None:
        return EndSummary(judged.losses, judged.rank_estimates[Ranking.MEAN_LOSSES], is_test=True)
    lower, median, upper = results.quartiles[models][..., -1]
    ranks = results.rank_estimates[Ranking.MEAN_LOSSES][models]
    return EndSummary(Estimate(median, lower, upper), ranks, is_test=False)


def summary_frame(results: Results) -> "pd.DataFrame":
    """Return the table of `Comparison.to_frame`."""
    import pandas as pd

    found, columns = end_summary(results), dict[tuple[str, str], Array]()
    parts = {"loss": found.losses.value, "low": found.losses.low, "high": found.losses.high}
    for place, data in enumerate(results.data):
        columns |= {(data, name): values[place] for name, values in parts.items()}
    ranks = found.ranks.ranks
    for name, values in {"rank": ranks.value, "low": ranks.low, "high": ranks.high}.items():
        columns[ALL_DATA, name] = values[:, found.place]
    index = pd.Index(results.optimizers, name="optimizer")
    return pd.DataFrame(columns, index=index).rename_axis(columns=["data", "statistic"])


def summary_html(results: Results) -> str:
    """Return the verdict and the table of `Comparison.to_frame` in HTML."""
    if all(run.reason for run in results.runs):
        return f"<div>{escape(make_visible(verdict(results)))}</div>"
    formulas = " and ".join(dict.fromkeys(results.formulas.values()))
    said = verdict(results) if formulas == "loss" else f"{verdict(results)} (losses are {formulas})"
    table = summary_frame(results).rename(index=make_visible, columns=make_visible)
    return f"<div>{escape(make_visible(said))}{table.to_html(float_format='{:.4g}'.format, na_rep='')}</div>"


def summary_latex(results: Results) -> str:
    """Return the table of `Comparison.to_latex`."""
    found, names = end_summary(results), [_escaped(name) for name in (*results.data, "rank")]
    losses, ranks = found.losses, found.ranks.ranks
    rank = Estimate(*(each[:, found.place] for each in (ranks.value, ranks.low, ranks.high)))
    columns = [_cells(Estimate(*(each[row] for each in _parts(losses))), ".4f") for row in range(len(results.data))]
    columns.append(_cells(rank, ".2f"))
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


def _parts(estimate: Estimate) -> tuple[Array, Array, Array]:
    return estimate.value, estimate.low, estimate.high


def _cells(estimate: Estimate, form: str) -> list[str]:
    """Return the cells of a column: values with intervals, the smallest ones in bold."""
    texts = [format(value, form) for value in estimate.value]
    least = format(np.nanmin(estimate.value), form)
    bold = [rf"\textbf{{{text}}}" if text == least else text for text in texts]
    bounds = zip(estimate.low, estimate.high, strict=True)
    ends = ["" if np.isnan(low) else f" [{low:{form}}, {high:{form}}]" for low, high in bounds]
    return [text + end for text, end in zip(bold, ends, strict=True)]


def _escaped(text: str) -> str:
    return "".join(LATEX_ESCAPES.get(character, character) for character in text)


def verdict(results: Results) -> str:
    """Return one sentence on who is ahead at the end, of whom beyond noise, on which rows, over how much data."""
    if all(run.reason for run in results.runs):
        return "no run has a score"
    if len(results.optimizers) == 1:
        return f"there is nothing to compare `{results.optimizers[0]}` with"
    found = end_summary(results)
    first = int(np.argmin(found.rank))
    name = f"`{results.optimizers[first]}`"
    where = f"{'on rows that no trial saw' if found.is_test else 'at the end'}, over {results.averaged_over}"
    if np.ptp(found.rank) == 0:
        return f"all optimizers have the same rank {where}"
    if results.resampling is None:
        which = f"{name} has the best average rank ({found.rank[first]:.2f})"
        return f"{which} {where}, which are too few to tell it from noise"
    beaten = {row: bounds for row in range(len(found.rank)) if (bounds := _lead(results, found, first, row))}
    equal = [f"`{results.optimizers[row]}`" for row in range(len(found.rank)) if row != first and row not in beaten]
    if not beaten:
        return f"no difference is beyond noise {where}; {name} has the best average rank ({found.rank[first]:.2f})"
    by = " and ".join(f"`{results.optimizers[row]}` by {bounds}" for row, bounds in beaten.items())
    others = f", within noise of {' and '.join(equal)}" if equal else ""
    return f"{name} is ahead of {by}{others} {where}"


def _lead(results: Results, found: EndSummary, first: int, other: int) -> str:
    """Return by how many ranks one optimizer is ahead of another, with the interval; empty if that may be noise."""
    pair = sorted((first, other))
    if first == other:
        return ""
    place = results.pairs.index((results.optimizers[pair[0]], results.optimizers[pair[1]]))
    differences = found.ranks.differences
    if differences.within_noise[place, found.place]:
        return ""
    value, *ends = (float(each[place, found.place]) for each in _parts(differences))
    low, high = sorted(map(abs, ends))
    return f"{abs(value):.2f} [{low:.2f}, {high:.2f}] ranks"
