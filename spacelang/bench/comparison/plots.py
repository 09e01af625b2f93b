"""Plots of a comparison, like Figures 3 and 4 of the BLDS paper: losses and average ranks over time."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from importlib.util import find_spec
from io import BytesIO
from math import ceil, log10
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from spacelang.bench.comparison import MODEL_LABELS, ComparisonResults, IncumbentKind
from spacelang.bench.comparison.ranks import Array, RankingMethod
from spacelang.ir.trial import LossName
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
"""The colour-blind-safe palette of Okabe and Ito, without its yellow, which is invisible on white."""
LINE_STYLES: Final = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
"""Line styles; once all colours are used, they are repeated with the next line style."""
PANEL_SIZE: Final = (4.6, 3.5)  # Width and height of a panel in inches
LEGEND_LINE_HEIGHT, LEGEND_HANDLE_WIDTH, LEGEND_CHARACTER_WIDTH = 0.28, 0.75, 0.105
"""Sizes of the legend in inches: of a line, of an entry without its text, and, generously estimated, a character."""
LINE_WIDTHS: Final = (3.4, 1.5)  # Line widths, used alternately so that two lines on top of each other are both visible
TOTAL_BAND_OPACITY: Final = 0.7  # The total opacity of all bands; a single band has at most a fifth of it
TICK_MULTIPLES: Final = {2.5: (1.0,), 1.0: (1.0, 2.0, 5.0), 0.3: (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), 0.0: ()}
"""Labelled multiples of powers of ten, by the least number of decades of the axis; () means equal steps."""
STYLE: Final[dict[str, Any]] = {
    "font.family": "sans-serif", "font.size": 11, "axes.titlesize": 12, "axes.spines.top": False,
    "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True, "grid.color": "#dddddd",
    "grid.linewidth": 0.6, "legend.frameon": False,
    # Keep text as text in an SVG, and make its identifiers depend only on the plot.
    "svg.fonttype": "none", "svg.hashsalt": "spacelang",
}  # fmt: skip
FORMATS: Final[dict[str, dict[str, Any]]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
}


def can_draw_plots() -> bool:
    """Return True if plots can be drawn, which needs matplotlib (an extra)."""
    return find_spec("matplotlib") is not None


def render_plot_files(results: ComparisonResults) -> dict[str, bytes]:
    """Return the contents of the plot files by file name.

    The plots `losses_full`, `losses_any`, `ranks` (of mean losses) and `ranks_of_runs` are `.png` and `.svg` files.
    Equal results give equal files with the same version of matplotlib. Raises ImportError without matplotlib.
    """
    files = {}
    with _style():
        figures = {f"losses_{models.value}": _loss_figure(results, models) for models in IncumbentKind}
        figures["ranks"] = _rank_figure(results, RankingMethod.MEAN_LOSSES)
        figures["ranks_of_runs"] = _rank_figure(results, RankingMethod.RUNS)
        for name, figure in figures.items():
            for kind, options in FORMATS.items():
                content = BytesIO()
                figure.savefig(content, format=kind, **options)
                files[f"{name}.{kind}"] = content.getvalue()
    return files


def make_figure(results: ComparisonResults, kind: str) -> "Figure":
    """Return the figure of `Comparison.plot`; raise ValueError for an unknown kind, ImportError without matplotlib."""
    with _style():
        match kind:
            case "losses":
                return _loss_figure(results, IncumbentKind.FULL)
            case "ranks":
                return _rank_figure(results, RankingMethod.MEAN_LOSSES)
            case _:
                raise ValueError(f"`{kind}` is not a plot of a comparison: give `losses` or `ranks`")


@contextmanager
def _style() -> Iterator[None]:
    """Apply the style of these plots, isolated from the settings of the user in both directions."""
    from matplotlib import rc_context, rcdefaults, rcParams

    parameters: Any = rcParams  # its type allows only literal parameter names
    with rc_context():
        rcdefaults()
        parameters.update(STYLE)
        yield


def _loss_figure(results: ComparisonResults, models: IncumbentKind) -> "Figure":
    """Draw medians with bands between the quartiles, one panel per data set, logarithmic in seconds and losses."""
    figure, panels = _panels(results, len(results.data))
    between = "\n" if len(results.data) == 1 else ": "  # one panel is narrower than the title
    seeds = len(results.seeds)
    spread = "one seed" if seeds == 1 else f"median and quartiles of {seeds} seeds"
    figure.suptitle(f"Score of the incumbent among {MODEL_LABELS[models]}{between}{spread}", fontsize=13)
    opacity = _band_opacity(results)
    for place, (axes, data) in enumerate(zip(panels, results.data, strict=True)):
        lower, median, upper = results.quartiles[models][:, place]
        floor = _zero_substitute(np.concatenate([lower, median]))
        for row, style in enumerate(_styles(len(results.optimizers))):
            low, middle, high = (_raise_to_floor(floor, values[row]) for values in (lower, median, upper))
            _shade(axes, results.seconds, low, high, style["color"], opacity)
            _draw(axes, results.seconds, middle, style)
        axes.set_title(data)
        axes.set_ylabel(results.formulas[data])
        if floor is not None:
            _make_logarithmic(axes, "y", float(_raise_to_floor(floor, lower).min()) / 1.08, float(upper.max()) * 1.08)
        _label_scores(axes, LossName.of_formula(results.formulas[data]))
    return figure


def _label_scores(axes: "Axes", metric: LossName) -> None:
    """Invert the vertical axis of losses, so that better scores are on top; label scores on the left, losses right.

    Nothing changes if the loss is its own score.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if metric.is_loss_the_score:
        return
    axes.invert_yaxis()
    losses = axes.secondary_yaxis("right")
    losses.set_ylabel(metric.formula)
    losses.yaxis.set_major_locator(copy(axes.yaxis.get_major_locator()))
    losses.yaxis.set_major_formatter(copy(axes.yaxis.get_major_formatter()))
    losses.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda loss, _: f"{metric.score(loss):.4g}"))
    axes.set_ylabel(metric.score_name)


def _rank_figure(results: ComparisonResults, ranking: RankingMethod) -> "Figure":
    """Draw average ranks with bands for their intervals, one panel for each kind of incumbent."""
    figure, panels = _panels(results, len(IncumbentKind))
    found = results.resampling
    bands = "" if found is None else f"; bands: 95 %, by bootstrap over {count_with_noun(found.number, found.unit)}"
    title = f"{ranking!s}, averaged over {results.averaging_phrase}\n(1 is the best{bands})"
    figure.suptitle(title.capitalize(), fontsize=13)
    opacity = _band_opacity(results)
    for axes, models in zip(panels, IncumbentKind, strict=True):
        ranks = results.rank_estimates[ranking][models].ranks
        for row, style in enumerate(_styles(len(results.optimizers))):
            if found is not None:
                _shade(axes, results.seconds, ranks.low[row], ranks.high[row], style["color"], opacity)
            _draw(axes, results.seconds, ranks.value[row], style)
        axes.set_title(MODEL_LABELS[models])
        axes.set_ylabel("average rank")
        axes.set_ylim(0.8, len(results.optimizers) + 0.2)
    return figure


def _panels(results: ComparisonResults, count: int) -> tuple["Figure", list["Axes"]]:
    """Return a figure with `count` panels over time and a legend below; the panels are still empty."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D

    from spacelang.bench.comparison.inline_figure import InlineFigure

    across = 2 if count == 4 else min(3, count)
    down = ceil(count / across)
    width = max(PANEL_SIZE[0] * across, 6.4)
    entry = LEGEND_HANDLE_WIDTH + LEGEND_CHARACTER_WIDTH * max(map(len, results.optimizers))
    columns = min(len(results.optimizers), max(1, int(width / entry)))
    height = PANEL_SIZE[1] * down + LEGEND_LINE_HEIGHT * ceil(len(results.optimizers) / columns) + 0.5
    figure = InlineFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.remove()
    for each in axes[:count]:
        each.set_xlabel("seconds")
        _make_logarithmic(each, "x", float(results.seconds[0]), results.end_seconds)
    entries = zip(results.optimizers, _styles(len(results.optimizers)), strict=True)
    handles = [Line2D([], [], label=label, **style) for label, style in entries]
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure, axes[:count]


def _draw(axes: "Axes", seconds: Array, values: Array, style: dict[str, Any]) -> None:
    places, steps = _steps(seconds, values)
    axes.plot(places, steps, drawstyle="steps-post", **style)


def _shade(axes: "Axes", seconds: Array, low: Array, high: Array, colour: str, opacity: float) -> None:
    seconds, low, high = _steps(seconds, low, high)
    axes.fill_between(seconds, low, high, step="post", color=colour, alpha=opacity, linewidth=0)


def _band_opacity(results: ComparisonResults) -> float:
    return min(TOTAL_BAND_OPACITY / 5, TOTAL_BAND_OPACITY / len(results.optimizers))


def _steps(seconds: Array, *values: Array) -> tuple[Array, ...]:
    """Reduce step functions to the first time, the times at which any of them changes, and the last time.

    Return these times, and the values of each function at them.
    """
    kept = np.concatenate([[True], np.any([np.diff(each) != 0 for each in values], axis=0)])
    kept[-1] = True
    return seconds[kept], *(each[kept] for each in values)


def _styles(count: int) -> list[dict[str, Any]]:
    return [
        {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": LINE_STYLES[place // len(COLOURS) % len(LINE_STYLES)],
            "linewidth": LINE_WIDTHS[place % len(LINE_WIDTHS)],
        }
        for place in range(count)
    ]


def _make_logarithmic(axes: "Axes", name: Literal["x", "y"], low: float, high: float) -> None:
    """Make an axis logarithmic from `low` to `high`, with as many tick labels as suit its range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    axis = axes.xaxis if name == "x" else axes.yaxis
    axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    decades = log10(high / low)
    marked = next(marks for least, marks in TICK_MULTIPLES.items() if decades >= least)
    axis.set_major_locator(LogLocator(subs=marked) if marked else MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}" if number >= 10 else f"{number:.4g}"))
    axis.set_minor_formatter(NullFormatter())


def _zero_substitute(values: Array) -> float | None:
    """Return the number that replaces losses of 0 on a logarithmic axis: half of the smallest positive loss.

    None if a loss is negative, because the axis cannot be logarithmic then.
    """
    if values.min() < 0:
        return None
    positive = values[values > 0]
    return float(positive.min()) / 2 if positive.size else 1e-3


def _raise_to_floor(floor: float | None, values: Array) -> Array:
    return values if floor is None else np.maximum(values, floor)
