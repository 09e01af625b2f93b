"""Plots of comparisons: every file is there, the same for the same results, and shows what the arrays hold."""

import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from comparisons import made, run

from spacelang.bench.comparison import ComparisonResults, IncumbentKind, RunKey, plots
from spacelang.bench.comparison.ranks import RankingMethod

FILES = {
    f"{name}.{kind}" for name in ("losses_full", "losses_any", "ranks", "ranks_of_runs") for kind in ("png", "svg")
}


@pytest.fixture(scope="module")
def results() -> ComparisonResults:
    return made()


@pytest.fixture(scope="module")
def drawn(results: ComparisonResults) -> dict[str, bytes]:
    """Return the files, drawn without pyplot, which would change the state of a user's session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.pyplot", None)  # an import of it fails
        patch.delattr(matplotlib, "pyplot", raising=False)
        return plots.render_plot_files(results)


def test_there_are_pngs_and_svgs_of_losses_and_ranks(drawn: dict[str, bytes]) -> None:
    assert drawn.keys() == FILES
    for name, content in drawn.items():
        if name.endswith(".png"):
            assert content.startswith(b"\x89PNG\r\n")
        else:
            assert ElementTree.fromstring(content).tag.endswith("svg")


def test_equal_results_give_equal_files_whatever_users_set_for_their_plots(drawn: dict[str, bytes]) -> None:
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert plots.render_plot_files(made()) == drawn
        assert matplotlib.rcParams["font.size"] == 30
    assert not re.search(rb"\d{4}-\d\d-\d\dT", drawn["ranks.svg"]), "no date"


def test_names_are_text_in_an_svg(drawn: dict[str, bytes]) -> None:
    text = drawn["losses_full.svg"].decode()
    for name in ("first", "second", "alpha", "gamma disc=2", "1 - roc_auc", "seconds"):
        assert f">{name}</text>" in text


def test_lines_are_the_medians_and_ranks(results: ComparisonResults) -> None:
    with plots._style():
        drawn = [
            (
                plots._loss_figure(results, IncumbentKind.FULL),
                results.quartiles[IncumbentKind.FULL][1],
                "log",
            )
        ]
        for ranking, ranked in results.rank_estimates.items():
            values = np.array([ranked[models].ranks.value for models in IncumbentKind])
            drawn.append((plots._rank_figure(results, ranking), values, "linear"))
    for figure, expected, scale in drawn:
        for axes, values in zip(figure.axes, expected, strict=True):
            assert axes.get_xscale() == "log"
            assert axes.get_yscale() == scale
            for line, row in zip(axes.get_lines(), values, strict=True):
                x, y = (np.asarray(each) for each in line.get_data())
                assert (y[np.searchsorted(x, results.seconds, side="right") - 1] == row).all()


def test_ranks_have_bands_as_high_as_their_intervals_where_there_are_any(results: ComparisonResults) -> None:
    with plots._style():
        (axes, _), (bare, _) = (plots._rank_figure(some, RankingMethod.RUNS).axes for some in (results, made(seeds=2)))
    ranks = results.rank_estimates[RankingMethod.RUNS][IncumbentKind.FULL].ranks
    for band, low, high in zip(axes.collections, ranks.low, ranks.high, strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((low.min(), high.max()))
    assert not bare.collections


def test_a_loss_of_zero_is_drawn_at_the_lower_edge_and_negative_ones_on_a_linear_axis() -> None:
    for losses, scale, lowest in (((0.5, 0.1, 0.0), "log", 0.05), ((0.5, -3.0), "linear", -3.0)):
        scores = [(float(second), loss) for second, loss in enumerate(losses, start=1)]
        one = ComparisonResults.from_runs(
            "s", ("x",), ("a",), (0,), (run(RunKey("x", "a", 0), scores),), {"x": "loss"}, 60.0
        )
        with plots._style():
            (axes,) = plots._loss_figure(one, IncumbentKind.ANY).axes
        assert axes.get_yscale() == scale
        assert min(axes.get_lines()[0].get_ydata()) == pytest.approx(lowest)


def test_more_optimizers_than_colours_differ_in_their_lines() -> None:
    styles = plots._styles(20)
    assert len({(each["color"], str(each["linestyle"])) for each in styles}) == 20


@pytest.mark.parametrize("number", [1, 4, 5])
def test_every_data_set_has_a_panel(number: int) -> None:
    some = made(data=tuple(f"d{place}" for place in range(number)), optimizers=("a", "b"), seeds=1, trials=10)
    with plots._style():
        figure = plots._loss_figure(some, IncumbentKind.ANY)
    assert [axes.get_title() for axes in figure.axes] == [*some.data]


def test_scores_are_on_the_left_and_losses_on_the_right(results: ComparisonResults) -> None:
    """The better one is on top; a loss without a score is drawn as it is."""
    axes = plots._loss_figure(results, IncumbentKind.FULL).axes[0]
    (losses,) = axes.child_axes
    assert (axes.get_ylabel(), losses.get_ylabel()) == ("roc_auc", "1 - roc_auc")
    assert axes.yaxis_inverted()
    assert axes.yaxis.get_major_formatter()(0.25, 0) == "0.75"
    plain = replace(results, formulas=dict.fromkeys(results.data, "log_loss"))
    axes = plots._loss_figure(plain, IncumbentKind.FULL).axes[0]
    assert (axes.get_ylabel(), [*axes.child_axes], axes.yaxis_inverted()) == ("log_loss", [], False)
