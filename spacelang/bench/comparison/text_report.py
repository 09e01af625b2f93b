"""A comparison as a text report: tables of losses and ranks, who was ahead when, and what is within noise."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan, log10, nan
from typing import Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spacelang.bench.comparison import MODEL_LABELS, ComparisonResults, IncumbentKind, WinnerLosses, winner_losses
from spacelang.bench.comparison.ranks import BootstrapUnit, LeadInterval, RankingMethod
from spacelang.bench.comparison.summary import TIME_SHARES, final_losses_and_ranks
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.trial import LossName
from spacelang.text import count_with_noun

MAX_INTERVALS: Final = 5  # The largest number of intervals in a line; the shortest ones are left out
MAX_PAIRS: Final = 6
"""Up to this many pairs are all reported; of more, only those with the optimizer that was ahead longest."""
TEST_ROWS_NOTE: Final = (
    "Optimizers are judged by test rows that no trial saw: the winner of each run is fitted on all other rows and"
    " scored once on the test rows (see the end of this report)."
)
MAX_SUMMARY_DATA: Final = 4  # Up to this many data sets have a column of losses in the summary
MAX_FAILURES: Final = 10  # The largest number of runs without a score that are listed


@dataclass(frozen=True, slots=True)
class TitledTable:
    """A table of texts with a title; the first column has names, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def print_comparison(results: ComparisonResults, console: Console, *, verbose: bool = False) -> None:
    """Print the summary, or with `verbose` the whole report; as plain text unless the console is a terminal."""
    for part in report_sections(results) if verbose else summary_sections(results):
        match part:
            case Text():
                console.print(part, soft_wrap=True)
            case TitledTable() if console.is_terminal:
                console.print(_render_rich(part), soft_wrap=True)
            case TitledTable():
                console.print(_render_plain(part), soft_wrap=True)


def summary_sections(results: ComparisonResults) -> list[TitledTable | Text]:
    """Return the headline, a table of ranks and losses at the end, and lines about failures."""
    return [Text(headline(results), style="bold"), summary_table(results), *_failure_lines(results)]


def summary_table(results: ComparisonResults) -> TitledTable:
    """Return the table of average ranks at the end, with the scores of a few data sets; on test rows, if any."""
    found, head, rows = (
        final_losses_and_ranks(results),
        ["", "average rank"],
        [[replace_unprintable(each)] for each in results.optimizers],
    )
    ranks = (part[:, found.place] for part in (found.ranks.ranks.value, found.ranks.ranks.low, found.ranks.ranks.high))
    for row, rank in zip(rows, zip(*ranks, strict=True), strict=True):
        row.append(_format_estimate(*rank))
    if len(results.data) <= MAX_SUMMARY_DATA:
        for place, data in enumerate(results.data):
            metric = LossName.of_formula(results.formulas[data])
            head.append(replace_unprintable(f"{data}: {metric.score_name}"))
            scores = found.scores(metric, place)
            for row, value, low, high in zip(rows, scores.value, scores.low, scores.high, strict=True):
                row.append(_format_estimate(value, low, high, _format_loss))
    what = "mean score on rows that no trial saw [95 %]" if found.is_test else "median score at the end [quartiles]"
    shown = f", {what}" if len(head) > 2 else ""
    return TitledTable(f"average rank of mean losses [95 %]{shown}", tuple(head), tuple(map(tuple, rows)))


def report_sections(results: ComparisonResults) -> list[TitledTable | Text]:
    """Return the tables and sentences of the report in order."""
    found: list[TitledTable | Text] = [Text(headline(results), style="bold")]
    judged = winner_losses(results)
    if judged is not None:
        found.append(Text(TEST_ROWS_NOTE))
    for data in results.data:
        found += [score_table(results, data, models) for models in IncumbentKind]
    found.append(Text(f"\n{_initial_loss_note(results)}"))
    if len(results.optimizers) > 1:
        at_times = _at_table_times(results)
        found += [*(rank_table(at_times, models) for models in IncumbentKind), run_rank_table(at_times)]
        found += [Text(f"\n{rank_interval_note(results)}"), *_leader_lines(results), *_difference_lines(results)]
    if judged is not None:
        found += _test_row_parts(results, judged)
    return [*found, *_failure_lines(results)]


def headline(results: ComparisonResults) -> str:
    """Return the first line: the optimizers, the data sets, the number of seeds and the time per run."""
    things = {"optimizer": results.optimizers, "data set": results.data, "seed": results.seeds}
    counts = (count_with_noun(len(several), noun) for noun, several in things.items())
    runs = count_with_noun(len(results.runs), "run")
    return replace_unprintable(f"{results.space}: {', '.join(counts)}; {runs} of {format_seconds(results.end_seconds)}")


def score_table(results: ComparisonResults, data: str, models: IncumbentKind) -> TitledTable:
    """Return the table of the incumbents' scores on a data set: median and quartiles at some shares of the time."""
    sampled, place = _at_table_times(results), results.data.index(data)
    metric = LossName.of_formula(results.formulas[data])
    losses = np.where(sampled.has_scores[models][place], sampled.quartiles[models][:, place], nan)
    rows = tuple(
        (replace_unprintable(name), *(_format_score(metric, *cell) for cell in zip(*by_time, strict=True)))
        for name, *by_time in zip(results.optimizers, *losses, strict=True)
    )
    title = f"{data}: {_name_of_score(metric)}, {MODEL_LABELS[models]}, median [quartiles]"
    return TitledTable(replace_unprintable(title), ("after", *map(format_seconds, sampled.seconds)), rows)


def rank_table(results: ComparisonResults, models: IncumbentKind) -> TitledTable:
    """Return the table of average ranks of mean losses over time, with their intervals, for one kind of incumbent."""
    found = results.rank_estimates[RankingMethod.MEAN_LOSSES][models].ranks
    rows = tuple(
        (replace_unprintable(name), *map(_format_estimate, value, low, high))
        for name, value, low, high in zip(results.optimizers, found.value, found.low, found.high, strict=True)
    )
    over = count_with_noun(len(results.data), "data set")
    title = f"{RankingMethod.MEAN_LOSSES}, averaged over {over}, {_tie_note(results)}; {MODEL_LABELS[models]}"
    return TitledTable(title, ("after", *map(format_seconds, results.seconds)), rows)


def run_rank_table(results: ComparisonResults) -> TitledTable:
    """Return the table of average ranks of single runs, for both kinds of incumbents."""
    by_models = results.rank_estimates[RankingMethod.RUNS]
    columns = [column for models in IncumbentKind for column in by_models[models].ranks.value.T]
    rows = tuple(
        (replace_unprintable(name), *(f"{value:.2f}" for value in values))
        for name, values in zip(results.optimizers, zip(*columns, strict=True), strict=True)
    )
    marks = [" (any)" if models is IncumbentKind.ANY else "" for models in IncumbentKind]
    head = [f"{format_seconds(each)}{mark}" for mark in marks for each in results.seconds]
    note = f"{_tie_note(results)}; (any): {MODEL_LABELS[IncumbentKind.ANY]}"
    title = f"{RankingMethod.RUNS}, averaged over {results.averaging_phrase}, {note}"
    return TitledTable(title, ("after", *head), rows)


def rank_interval_note(results: ComparisonResults) -> str:
    """Return a note on what the intervals of ranks are based on, and what they cannot show."""
    found = results.resampling
    if found is None:
        return f"{results.averaging_phrase} are too few for intervals: every difference of ranks may be noise."
    number = count_with_noun(found.number, found.unit)
    lines = [
        f"[95 % intervals] of ranks are by bootstrap over {number}, without correction for multiple comparisons."
        f" Each bound is at least {found.largest_undetected_share:.2f} ranks from the mean, because up to"
        f" {found.largest_undetected_share:.0%} of other {found.unit}s may behave as none of these."
    ]
    if found.unit is BootstrapUnit.SEEDS:
        data = count_with_noun(len(results.data), BootstrapUnit.DATA)
        lines.append(
            f"The intervals do not hold for other data: {data} {'is' if len(results.data) == 1 else 'are'} too few."
        )
    return " ".join(lines)


def format_leaders(results: ComparisonResults, intervals: Sequence[LeadInterval]) -> str:
    """Return who was ahead when: `0.1 s to 3 s blds; 3 s to 60 s lds + daub`; of many intervals the longest."""
    shown, left_out = _longest_intervals([each for each in intervals if each.leaders])
    everybody = len(results.optimizers)
    texts = [
        f"{format_seconds(each.start)} to {format_seconds(each.end)}"
        f" {'all equal' if len(each.leaders) == everybody else replace_unprintable(' + '.join(each.leaders))}"
        for each in shown
    ]
    return ("; ".join(texts) or "nobody") + left_out


def format_seconds(number: float) -> str:
    """Return a time as text: three digits with the unit."""
    return f"{number:.3g} s" if number < 1000 else f"{number:,.0f} s"


def _longest_intervals(found: Sequence[LeadInterval]) -> tuple[list[LeadInterval], str]:
    """Return the intervals with the largest ratio of end to start, in order, and a note on how many are left out."""
    longest = sorted(found, key=lambda each: each.start / each.end)[:MAX_INTERVALS]
    shown = [each for each in found if each in longest]
    left_out = len(found) - len(shown)
    return shown, f" ({count_with_noun(left_out, 'shorter interval')} left out)" if left_out else ""


def _at_table_times(results: ComparisonResults) -> ComparisonResults:
    return results.at_times(*(results.end_seconds * share for share in TIME_SHARES))


def _tie_note(results: ComparisonResults) -> str:
    return f"losses that differ by at most {results.tolerance:g} share a rank"


def _format_estimate(value: float, low: float, high: float, to_text: Callable[[float], str] = "{:.2f}".format) -> str:
    return to_text(value) if isnan(low) else f"{to_text(value)} [{to_text(low)}, {to_text(high)}]"


def _format_score(metric: LossName, low: float, loss: float, high: float) -> str:
    """Convert a loss and its interval to a score with its interval, as text."""
    return _format_estimate(metric.score(loss), *metric.score_interval(low, high), _format_loss)


def _name_of_score(metric: LossName) -> str:
    return metric.score_name if metric.is_loss_the_score else f"{metric.score_name} (the loss is {metric.formula})"


def _format_loss(number: float) -> str:
    if isnan(number):
        return "-"
    return f"{number:.4f}" if abs(number) < 10 else f"{number:.5g}"


def _initial_loss_note(results: ComparisonResults) -> str:
    worse = [name for name, before in zip(results.data, results.losses_before_first_score, strict=True) if before > 1]
    also = (
        f" (on {', '.join(map(replace_unprintable, worse))}: the worst first score, which is greater)" if worse else ""
    )
    return f"Before its first score, the loss of a run counts as 1{also}."


def _leader_lines(results: ComparisonResults) -> list[Text]:
    lines = []
    for ranking in RankingMethod:
        lines.append(Text(f"\nahead by the {ranking}"))
        for models in IncumbentKind:
            leaders = format_leaders(results, results.leaders_by_rank(models, ranking))
            lines.append(Text(f"  {MODEL_LABELS[models]}: {leaders}"))
    lines.append(Text(f"\nahead by the median, or within {results.tolerance:g} of the best one"))
    for data in results.data:
        for models in IncumbentKind:
            leaders = format_leaders(results, results.leaders_by_median(data, models))
            lines.append(Text(f"  {replace_unprintable(data)}, {MODEL_LABELS[models]}: {leaders}"))
    return lines


def _difference_lines(results: ComparisonResults) -> list[Text]:
    if results.resampling is None:
        return []
    lines = [Text(f"\ndifferences of {RankingMethod.MEAN_LOSSES}")]
    for models in IncumbentKind:
        pairs, which = results.optimizer_pairs, ""
        if len(pairs) > MAX_PAIRS:
            longest = _longest_leader(results, models)
            pairs = tuple(pair for pair in pairs if longest in pair)
            which = f", against {replace_unprintable(longest)}, which was ahead longest"
        lines.append(Text(f"  {MODEL_LABELS[models]}{which}"))
        lines += [Text(f"    {_describe_pair(results, pair, models)}") for pair in pairs]
    return lines


def _longest_leader(results: ComparisonResults, models: IncumbentKind) -> str:
    """Return the optimizer that had the smallest average rank for the longest time on a logarithmic scale."""
    spans = results.leaders_by_rank(models)
    lengths = [(name, log10(each.end / each.start)) for each in spans for name in each.leaders]
    return max(results.optimizers, key=lambda name: sum(length for leader, length in lengths if leader == name))


def _test_row_parts(results: ComparisonResults, judged: WinnerLosses) -> list[TitledTable | Text]:
    found: list[TitledTable | Text] = [winner_score_table(results, judged, data) for data in results.data]
    found.append(Text("\noptimism: how much better the reported score is than the score on rows that no trial saw"))
    if len(results.optimizers) == 1:
        return found
    found.append(winner_rank_table(results, judged))
    if results.resampling is None:
        return found
    found.append(Text(f"\ndifferences of {RankingMethod.MEAN_LOSSES} on rows that no trial saw"))
    ranked = judged.rank_estimates[RankingMethod.MEAN_LOSSES]
    first = results.optimizers[int(ranked.ranks.value[:, 0].argmin())]
    differences = ranked.differences
    for row, pair in enumerate(results.optimizer_pairs):
        if len(results.optimizer_pairs) <= MAX_PAIRS or first in pair:
            value, low, high = (float(part[row, 0]) for part in (differences.value, differences.low, differences.high))
            outcome = (
                "within noise"
                if differences.is_within_noise[row, 0]
                else f"{replace_unprintable(pair[value > 0])} ahead"
            )
            found.append(
                Text(f"  {replace_unprintable(' and '.join(pair))}: {outcome}, {_format_estimate(value, low, high)}")
            )
    return found


def winner_score_table(results: ComparisonResults, judged: WinnerLosses, data: str) -> TitledTable:
    """Return the table of the winners' scores on rows that no trial saw, with reported scores and optimism."""
    place, metric = results.data.index(data), LossName.of_formula(results.formulas[data])
    columns = (judged.losses.low, judged.losses.value, judged.losses.high, judged.reported, judged.optimism)
    by_optimizer = zip(results.optimizers, *(column[place] for column in columns), strict=True)
    rows = tuple(
        (
            replace_unprintable(name),
            "-" if isnan(reported) else _format_score(metric, *mean),
            _format_loss(metric.score(reported)),
            _format_loss(optimism),
        )
        for name, *mean, reported, optimism in by_optimizer
    )
    seeds = count_with_noun(len(results.seeds), "seed")
    title = f"{data}: {_name_of_score(metric)} of the winners, mean over {seeds} [95 % interval]"
    return TitledTable(replace_unprintable(title), ("", "rows that no trial saw", "reported", "optimism"), rows)


def winner_rank_table(results: ComparisonResults, judged: WinnerLosses) -> TitledTable:
    """Return the table of both kinds of ranks, by the winners' losses on rows that no trial saw."""
    estimates = [judged.rank_estimates[ranking].ranks for ranking in RankingMethod]
    columns = [map(_format_estimate, found.value[:, 0], found.low[:, 0], found.high[:, 0]) for found in estimates]
    rows = tuple(zip(map(replace_unprintable, results.optimizers), *columns, strict=True))
    title = (
        f"ranks at the end by rows that no trial saw, averaged over {results.averaging_phrase}, {_tie_note(results)}"
    )
    return TitledTable(title, ("", *map(str, RankingMethod)), rows)


def _describe_pair(results: ComparisonResults, pair: tuple[str, str], models: IncumbentKind) -> str:
    """Return a text about a pair: `blds and lds: blds ahead from 0.1 s to 3 s; within noise from 3 s to 60 s`.

    Of many intervals, only those in which one is ahead are listed; the others are summarized as noise.
    """
    spans = results.leaders_beyond_noise(pair, models)
    is_short = len(spans) <= MAX_INTERVALS
    shown, left_out = _longest_intervals(spans if is_short else [each for each in spans if each.leaders])
    texts = [
        f"{f'{replace_unprintable(each.leaders[0])} ahead' if each.leaders else 'within noise'}"
        f" from {format_seconds(each.start)} to {format_seconds(each.end)}"
        for each in shown
    ]
    others = "" if is_short else "; otherwise within noise"
    return f"{replace_unprintable(' and '.join(pair))}: {'; '.join(texts)}{left_out}{others}"


def _failure_lines(results: ComparisonResults) -> list[Text]:
    """Return lines about runs without a score, winners without a test loss, and runs without a model of all rows."""
    failed = [run for run in results.runs if run.reason]
    lines = [Text(replace_unprintable(f"{run.key}: {run.reason}"), style="yellow") for run in failed[:MAX_FAILURES]]
    if len(failed) > MAX_FAILURES:
        more_runs = count_with_noun(len(failed) - MAX_FAILURES, "more run")
        lines.append(Text(f"and {more_runs} without a score", style="yellow"))
    partial = Counter(
        (run.key.data, run.key.optimizer)
        for run in results.runs
        if not run.reason and not run.curves[IncumbentKind.FULL].losses
    )
    for run in results.runs:
        if run.winner_score is not None and run.winner_score.score.loss is None:
            reason = run.winner_score.score.reason
            lines.append(
                Text(replace_unprintable(f"{run.key}: the winner has no loss on rows that no trial saw: {reason}"))
            )
    runs = count_with_noun(len(results.seeds), "run")
    lines += [
        Text(
            replace_unprintable(f"{data}, {optimizer}: in {number} of {runs} no model was trained on all training rows")
        )
        for (data, optimizer), number in partial.items()
    ]
    return [Text(), *lines] if lines else []


def _render_rich(titled: TitledTable) -> RenderableType:
    table = Table(box=SIMPLE_HEAD)
    for place, name in enumerate(titled.head):
        table.add_column(Text(name), justify="right" if place else "left", no_wrap=True)
    for row in titled.rows:
        table.add_row(*map(Text, row))
    # The title of a `Table` would be wrapped to the width of the table, so print it separately.
    return Group(Text(f"\n{titled.title}", style="bold"), table)


def _render_plain(titled: TitledTable) -> RenderableType:
    widths = [max(map(len, column)) for column in zip(titled.head, *titled.rows, strict=True)]
    lines = (Text(_align(row, widths)) for row in (titled.head, *titled.rows))
    return Group(Text(f"\n{titled.title}"), *lines)


def _align(cells: Iterable[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()
