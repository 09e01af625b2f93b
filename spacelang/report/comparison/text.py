"""A comparison for people: tables of losses and ranks, and who was ahead when."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spacelang.diagnostics.cells import visible
from spacelang.report.comparison.ranks import Interval
from spacelang.report.comparison.results import Models, Results

MODELS: Final = {
    Models.FULL: "models trained on all training rows",
    Models.ANY: "any trained model",
}
"""What the two kinds of incumbents are called."""

SHARES: Final = (0.01, 0.1, 1.0)
"""The shares of the time after which losses and ranks are told."""

MOST: Final = 5
"""So many intervals are told; what is left out lasts the shortest."""

FAILURES: Final = 10
"""So many runs without a score are told one by one."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts with a title; the first column has names, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def print_comparison(results: Results, console: Console) -> None:
    """Print it; a console that is no terminal gets plain text."""
    for part in parts(results):
        match part:
            case Text():
                console.print(part, soft_wrap=True)
            case Grid() if console.is_terminal:
                console.print(_drawn(part), soft_wrap=True)
            case Grid():
                console.print(_plain(part), soft_wrap=True)


def parts(results: Results) -> list[Grid | Text]:
    """The tables and sentences in their order."""
    found: list[Grid | Text] = [Text(headline(results), style="bold")]
    for data in results.data:
        found += [losses(results, data, models) for models in Models]
    found.append(Text(f"\n{_before(results)}"))
    if len(results.optimizers) > 1:
        found += [ranks(results), *_leaders(results)]
    return [*found, *_without_a_score(results)]


def headline(results: Results) -> str:
    """What was compared on what, how often and how long."""
    counts = (
        _count(len(results.optimizers), "optimizer"),
        _count(len(results.data), "data set"),
        _count(len(results.seeds), "seed"),
    )
    return visible(
        f"{results.space}: {', '.join(counts)}; {_count(len(results.runs), 'run')} of {seconds(results.end)}"
    )


def losses(results: Results, data: str, models: Models) -> Grid:
    """Median and quartiles of the incumbent's loss after some shares of the time."""
    told = results.at(*(results.end * share for share in SHARES))
    lower, median, upper = told.quartiles[models][:, results.data.index(data)]
    rows = tuple(
        (visible(name), *(f"{_loss(m)} [{_loss(low)}, {_loss(high)}]" for low, m, high in zip(*bounds, strict=True)))
        for name, *bounds in zip(results.optimizers, lower, median, upper, strict=True)
    )
    title = f"{data}: {results.formulas[data]}, {MODELS[models]}, median [quartiles]"
    return Grid(visible(title), ("after", *map(seconds, told.seconds)), rows)


def ranks(results: Results) -> Grid:
    """Average ranks after some shares of the time, for both incumbents."""
    told = results.at(*(results.end * share for share in SHARES))
    columns = [column for models in Models for column in told.mean_ranks[models].T]
    rows = tuple(
        (visible(name), *(f"{value:.2f}" for value in values))
        for name, values in zip(results.optimizers, zip(*columns, strict=True), strict=True)
    )
    head = [f"{seconds(each)}{' (any)' if models is Models.ANY else ''}" for models in Models for each in told.seconds]
    over = f"{_count(len(results.data), 'data set')} and {_count(len(results.seeds), 'seed')}"
    title = f"average rank over {over}, losses within {results.tolerance:g} sharing one; (any): {MODELS[Models.ANY]}"
    return Grid(title, ("after", *head), rows)


def ahead(results: Results, intervals: Sequence[Interval]) -> str:
    """Who was ahead when: `0.1 s to 3 s blds; 3 s to 60 s lds + daub`.

    Where there are many intervals those are left out that are shortest on a logarithmic axis, as in the plots.
    """
    known = [each for each in intervals if each.ahead]
    longest = sorted(known, key=lambda each: each.start / each.end)[:MOST]
    shown = [each for each in known if each in longest]
    texts = [f"{seconds(each.start)} to {seconds(each.end)} {_names(results, each.ahead)}" for each in shown]
    left_out = f" ({_count(len(known) - len(shown), 'shorter interval')} left out)" if len(shown) < len(known) else ""
    return ("; ".join(texts) or "nobody") + left_out


def seconds(number: float) -> str:
    """A time as it is said: three digits with the unit."""
    return f"{number:.3g} s" if number < 1000 else f"{number:,.0f} s"


def _names(results: Results, ahead: tuple[str, ...]) -> str:
    return "all alike" if len(ahead) == len(results.optimizers) else visible(" + ".join(ahead))


def _loss(number: float) -> str:
    return f"{number:.4f}" if abs(number) < 10 else f"{number:.5g}"


def _before(results: Results) -> str:
    worse = [name for name, before in zip(results.data, results.before, strict=True) if before > 1]
    also = f"; on {', '.join(map(visible, worse))} with the worst first score, which is greater" if worse else ""
    return f"Before its first score a run counts with the loss 1{also}."


def _leaders(results: Results) -> list[Text]:
    lines = [Text("\nahead by the average rank")]
    lines += [Text(f"  {MODELS[models]}: {ahead(results, results.ahead(models))}") for models in Models]
    lines.append(Text(f"\nahead by the median, or within {results.tolerance:g} of the best one"))
    for data in results.data:
        found = {models: ahead(results, results.ahead_on(data, models)) for models in Models}
        lines += [Text(f"  {visible(data)}, {MODELS[models]}: {text}") for models, text in found.items()]
    return lines


def _without_a_score(results: Results) -> list[Text]:
    """The runs in which nothing succeeded, and where no model was trained on all rows."""
    failed = [run for run in results.runs if run.reason]
    lines = [Text(visible(f"{run.key}: {run.reason}"), style="yellow") for run in failed[:FAILURES]]
    if len(failed) > FAILURES:
        lines.append(Text(f"and {_count(len(failed) - FAILURES, 'more run')} without a score", style="yellow"))
    partial = Counter(
        (run.key.data, run.key.optimizer)
        for run in results.runs
        if not run.reason and not run.curves[Models.FULL].losses
    )
    runs = _count(len(results.seeds), "run")
    lines += [
        Text(visible(f"{data}, {optimizer}: in {number} of {runs} no model was trained on all training rows"))
        for (data, optimizer), number in partial.items()
    ]
    return [Text(), *lines] if lines else []


def _drawn(grid: Grid) -> RenderableType:
    table = Table(box=SIMPLE_HEAD)
    for place, name in enumerate(grid.head):
        table.add_column(Text(name), justify="right" if place else "left", no_wrap=True)
    for row in grid.rows:
        table.add_row(*map(Text, row))
    # Not the table's own title, which is as narrow as the table.
    return Group(Text(f"\n{grid.title}", style="bold"), table)


def _plain(grid: Grid) -> RenderableType:
    widths = [max(map(len, column)) for column in zip(grid.head, *grid.rows, strict=True)]
    lines = (Text(_aligned(row, widths)) for row in (grid.head, *grid.rows))
    return Group(Text(f"\n{grid.title}"), *lines)


def _aligned(cells: Iterable[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
