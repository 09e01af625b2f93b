"""A comparison as a text report: tables of losses and ranks, who was ahead when, and what is within noise."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan, log10
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spacelang.bench.comparison.noise import ResamplingUnit
from spacelang.bench.comparison.ranks import Lead, Ranking
from spacelang.bench.comparison.results import MODELS, Models, Results, counted
from spacelang.bench.comparison.verdict import WinnerLosses, verdict
from spacelang.diagnostics.cells import visible

SHARES: Final = (0.01, 0.1, 1.0)
"""The shares of the time after which losses and ranks are reported."""

MOST: Final = 5
"""The largest number of intervals in a line; the shortest ones are left out."""

PAIRS: Final = 6
"""Up to this many pairs are all reported; of more, only those with the optimizer that was ahead longest."""

UNSEEN: Final = (
    "Optimizers are judged by test rows that no trial saw: the winner of each run is fitted on all other rows and"
    " scored once on the test rows (see the end of this report)."
)

FAILURES: Final = 10
"""The largest number of runs without a score that are listed."""


@dataclass(frozen=True, slots=True)
class Titled:
    """A table of texts with a title; the first column has names, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def print_comparison(results: Results, console: Console) -> None:
    """Print the report, as plain text unless the console is a terminal."""
    for part in parts(results):
        match part:
            case Text():
                console.print(part, soft_wrap=True)
            case Titled() if console.is_terminal:
                console.print(_drawn(part), soft_wrap=True)
            case Titled():
                console.print(_plain(part), soft_wrap=True)


def parts(results: Results) -> list[Titled | Text]:
    """Return the tables and sentences of the report in order."""
    found: list[Titled | Text] = [Text(headline(results), style="bold")]
    judged = verdict(results)
    if judged is not None:
        found.append(Text(UNSEEN))
    for data in results.data:
        found += [losses(results, data, models) for models in Models]
    found.append(Text(f"\n{_before(results)}"))
    if len(results.optimizers) > 1:
        at_times = _told(results)
        found += [
            *(ranks(at_times, models) for models in Models),
            ranks_of_runs(at_times),
            Text(f"\n{intervals(results)}"),
        ]
        found += [*_leaders(results), *_differences(results)]
    if judged is not None:
        found += _verdict(results, judged)
    return [*found, *_without_a_score(results)]


def headline(results: Results) -> str:
    """Return the first line: what was compared, on what, how often and how long."""
    counts = (
        counted(len(results.optimizers), "optimizer"),
        counted(len(results.data), "data set"),
        counted(len(results.seeds), "seed"),
    )
    return visible(
        f"{results.space}: {', '.join(counts)}; {counted(len(results.runs), 'run')} of {seconds(results.end)}"
    )


def losses(results: Results, data: str, models: Models) -> Titled:
    """Return the table of median and quartiles of the incumbent's loss after some shares of the time."""
    sampled = _told(results)
    lower, median, upper = sampled.quartiles[models][:, results.data.index(data)]
    rows = tuple(
        (visible(name), *(f"{_loss(m)} [{_loss(low)}, {_loss(high)}]" for low, m, high in zip(*bounds, strict=True)))
        for name, *bounds in zip(results.optimizers, lower, median, upper, strict=True)
    )
    title = f"{data}: {results.formulas[data]}, {MODELS[models]}, median [quartiles]"
    return Titled(visible(title), ("after", *map(seconds, sampled.seconds)), rows)


def ranks(results: Results, models: Models) -> Titled:
    """Return the table of average ranks of mean losses, with their intervals."""
    found = results.ranked[Ranking.MEAN_LOSSES][models].ranks
    rows = tuple(
        (visible(name), *map(_figure, value, low, high))
        for name, value, low, high in zip(results.optimizers, found.value, found.low, found.high, strict=True)
    )
    over = counted(len(results.data), "data set")
    title = f"{Ranking.MEAN_LOSSES}, averaged over {over}, {_sharing(results)}; {MODELS[models]}"
    return Titled(title, ("after", *map(seconds, results.seconds)), rows)


def ranks_of_runs(results: Results) -> Titled:
    """Return the table of average ranks of single runs, for both kinds of incumbents."""
    by_models = results.ranked[Ranking.RUNS]
    columns = [column for models in Models for column in by_models[models].ranks.value.T]
    rows = tuple(
        (visible(name), *(f"{value:.2f}" for value in values))
        for name, values in zip(results.optimizers, zip(*columns, strict=True), strict=True)
    )
    times = [*map(seconds, results.seconds)]
    head = [f"{each}{' (any)' if models is Models.ANY else ''}" for models in Models for each in times]
    title = f"{Ranking.RUNS}, averaged over {results.over}, {_sharing(results)}; (any): {MODELS[Models.ANY]}"
    return Titled(title, ("after", *head), rows)


def intervals(results: Results) -> str:
    """Return a note on what the intervals of ranks are based on, and what they cannot show."""
    found = results.resampling
    if found is None:
        return f"{results.over} are too few for intervals: every difference of ranks may be noise."
    number = counted(found.number, found.drawn)
    lines = [
        f"[95 % intervals] of ranks are by bootstrap over {number}, without correction for multiple comparisons."
        f" They are widened because up to {found.unseen:.0%} of other {found.drawn}s may behave as none of these does."
    ]
    if found.drawn is ResamplingUnit.SEEDS:
        data = counted(len(results.data), ResamplingUnit.DATA)
        lines.append(f"They say nothing about other data: {data} {'is' if len(results.data) == 1 else 'are'} too few.")
    return " ".join(lines)


def ahead(results: Results, intervals: Sequence[Lead]) -> str:
    """Return a text of who was ahead when: `0.1 s to 3 s blds; 3 s to 60 s lds + daub`.

    Of many intervals, only those are listed that are longest on a logarithmic axis, as in the plots.
    """
    shown, left_out = _longest([each for each in intervals if each.ahead])
    texts = [f"{seconds(each.start)} to {seconds(each.end)} {_names(results, each.ahead)}" for each in shown]
    return ("; ".join(texts) or "nobody") + left_out


def seconds(number: float) -> str:
    """Return a time as text: three digits with the unit."""
    return f"{number:.3g} s" if number < 1000 else f"{number:,.0f} s"


def _longest(found: Sequence[Lead]) -> tuple[list[Lead], str]:
    """Return the intervals to list, in order, and a note on how many are left out."""
    longest = sorted(found, key=lambda each: each.start / each.end)[:MOST]
    shown = [each for each in found if each in longest]
    left_out = len(found) - len(shown)
    return shown, f" ({counted(left_out, 'shorter interval')} left out)" if left_out else ""


def _told(results: Results) -> Results:
    """Return the same results at the few times of the tables."""
    return results.at(*(results.end * share for share in SHARES))


def _sharing(results: Results) -> str:
    return f"losses within {results.tolerance:g} share a rank"


def _figure(value: float, low: float, high: float, to_text: Callable[[float], str] = "{:.2f}".format) -> str:
    return to_text(value) if isnan(low) else f"{to_text(value)} [{to_text(low)}, {to_text(high)}]"


def _names(results: Results, ahead: tuple[str, ...]) -> str:
    return "all equal" if len(ahead) == len(results.optimizers) else visible(" + ".join(ahead))


def _loss(number: float) -> str:
    return f"{number:.4f}" if abs(number) < 10 else f"{number:.5g}"


def _before(results: Results) -> str:
    worse = [name for name, before in zip(results.data, results.before, strict=True) if before > 1]
    also = f" (on {', '.join(map(visible, worse))}: the worst first score, which is greater)" if worse else ""
    return f"Before its first score, the loss of a run counts as 1{also}."


def _leaders(results: Results) -> list[Text]:
    lines = []
    for ranking in Ranking:
        lines.append(Text(f"\nahead by the {ranking}"))
        found = {models: ahead(results, results.ahead(models, ranking)) for models in Models}
        lines += [Text(f"  {MODELS[models]}: {text}") for models, text in found.items()]
    lines.append(Text(f"\nahead by the median, or within {results.tolerance:g} of the best one"))
    for data in results.data:
        found = {models: ahead(results, results.ahead_on(data, models)) for models in Models}
        lines += [Text(f"  {visible(data)}, {MODELS[models]}: {text}") for models, text in found.items()]
    return lines


def _differences(results: Results) -> list[Text]:
    """Return lines that say, for pairs of optimizers, which one was ahead beyond noise, and when none was."""
    if results.resampling is None:
        return []
    lines = [Text(f"\ndifferences of {Ranking.MEAN_LOSSES}")]
    for models in Models:
        pairs, which = results.pairs, ""
        if len(pairs) > PAIRS:
            longest = _longest_ahead(results, models)
            pairs = tuple(pair for pair in pairs if longest in pair)
            which = f", against {visible(longest)}, which was ahead longest"
        lines += [Text(f"  {MODELS[models]}{which}"), *(Text(f"    {_apart(results, pair, models)}") for pair in pairs)]
    return lines


def _longest_ahead(results: Results, models: Models) -> str:
    """Return the optimizer that was ahead longest on a logarithmic axis."""
    spans = results.ahead(models)
    decades = {
        name: sum(log10(each.end / each.start) for each in spans if name in each.ahead) for name in results.optimizers
    }
    return max(decades, key=decades.__getitem__)


def _verdict(results: Results, judged: WinnerLosses) -> list[Titled | Text]:
    """Return the results on rows that no trial saw: losses, ranks, and the differences beyond noise."""
    found: list[Titled | Text] = [losses_on_test_rows(results, judged, data) for data in results.data]
    found.append(Text("\noptimism: the loss on rows that no trial saw, minus the reported loss"))
    if len(results.optimizers) == 1:
        return found
    found.append(ranks_on_test_rows(results, judged))
    if results.resampling is None:
        return found
    found.append(Text(f"\ndifferences of {Ranking.MEAN_LOSSES} on rows that no trial saw"))
    ranked = judged.ranked[Ranking.MEAN_LOSSES]
    first = results.optimizers[int(ranked.ranks.value[:, 0].argmin())]
    differences = ranked.differences
    for row, pair in enumerate(results.pairs):
        if len(results.pairs) <= PAIRS or first in pair:
            value, low, high = (float(part[row, 0]) for part in (differences.value, differences.low, differences.high))
            outcome = "within noise" if differences.within_noise[row, 0] else f"{visible(pair[value > 0])} ahead"
            found.append(Text(f"  {visible(' and '.join(pair))}: {outcome}, {_figure(value, low, high)}"))
    return found


def losses_on_test_rows(results: Results, judged: WinnerLosses, data: str) -> Titled:
    """Return the table of the winners' losses on rows that no trial saw, with reported losses and optimism."""
    place = results.data.index(data)
    columns = (judged.losses.value, judged.losses.low, judged.losses.high, judged.reported, judged.optimism)
    rows = tuple(
        (visible(name), _figure(mean, low, high, _loss), *("-" if isnan(each) else _loss(each) for each in others))
        for name, mean, low, high, *others in zip(
            results.optimizers, *(column[place] for column in columns), strict=True
        )
    )
    over = f"mean over {counted(len(results.seeds), 'seed')} [95 % interval]"
    title = f"{data}: {results.formulas[data]} of the winners, {over}"
    return Titled(visible(title), ("", "rows that no trial saw", "reported", "optimism"), rows)


def ranks_on_test_rows(results: Results, judged: WinnerLosses) -> Titled:
    """Return the table of both kinds of ranks, by the winners' losses on rows that no trial saw."""
    estimates = [judged.ranked[ranking].ranks for ranking in Ranking]
    columns = [map(_figure, found.value[:, 0], found.low[:, 0], found.high[:, 0]) for found in estimates]
    rows = tuple(zip(map(visible, results.optimizers), *columns, strict=True))
    title = f"ranks at the end by rows that no trial saw, averaged over {results.over}, {_sharing(results)}"
    return Titled(title, ("", *map(str, Ranking)), rows)


def _apart(results: Results, pair: tuple[str, str], models: Models) -> str:
    """Return a text about a pair: `blds and lds: blds ahead from 0.1 s to 3 s; within noise from 3 s to 60 s`.

    Of many intervals, only those in which one is ahead are listed; the others are summarized as noise.
    """
    spans = results.apart(pair, models)
    shown, left_out = _longest(spans if len(spans) <= MOST else [each for each in spans if each.ahead])
    texts = [
        f"{f'{visible(each.ahead[0])} ahead' if each.ahead else 'within noise'}"
        f" from {seconds(each.start)} to {seconds(each.end)}"
        for each in shown
    ]
    others = "" if len(spans) <= MOST else "; otherwise within noise"
    return f"{visible(' and '.join(pair))}: {'; '.join(texts)}{left_out}{others}"


def _without_a_score(results: Results) -> list[Text]:
    """Return lines about runs without a score, winners without a test loss, and runs without a full model."""
    failed = [run for run in results.runs if run.reason]
    lines = [Text(visible(f"{run.key}: {run.reason}"), style="yellow") for run in failed[:FAILURES]]
    if len(failed) > FAILURES:
        lines.append(Text(f"and {counted(len(failed) - FAILURES, 'more run')} without a score", style="yellow"))
    partial = Counter(
        (run.key.data, run.key.optimizer)
        for run in results.runs
        if not run.reason and not run.curves[Models.FULL].losses
    )
    lines += [
        Text(visible(f"{run.key}: the winner has no loss on rows that no trial saw: {run.tested.score.reason}"))
        for run in results.runs
        if run.tested is not None and run.tested.score.loss is None
    ]
    runs = counted(len(results.seeds), "run")
    lines += [
        Text(visible(f"{data}, {optimizer}: in {number} of {runs} no model was trained on all training rows"))
        for (data, optimizer), number in partial.items()
    ]
    return [Text(), *lines] if lines else []


def _drawn(titled: Titled) -> RenderableType:
    table = Table(box=SIMPLE_HEAD)
    for place, name in enumerate(titled.head):
        table.add_column(Text(name), justify="right" if place else "left", no_wrap=True)
    for row in titled.rows:
        table.add_row(*map(Text, row))
    # The title of a `Table` would be wrapped to the width of the table, so print it separately.
    return Group(Text(f"\n{titled.title}", style="bold"), table)


def _plain(titled: Titled) -> RenderableType:
    widths = [max(map(len, column)) for column in zip(titled.head, *titled.rows, strict=True)]
    lines = (Text(_aligned(row, widths)) for row in (titled.head, *titled.rows))
    return Group(Text(f"\n{titled.title}"), *lines)


def _aligned(cells: Iterable[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()
