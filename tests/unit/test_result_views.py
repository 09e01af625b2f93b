"""The page and the plots of a result, with a store and without one."""

import pickle
import re
from copy import copy
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot
from pages import Page

import spacelang as sl
from spacelang.api import result_pickles

SPACE = "stage e = a | b\nabstract a { x : float[0.01, 1] log = 0.1 }\nabstract b\n"
QUIET: dict[str, Any] = {"optimizer": "random", "workers": 0, "progress": False}


def loss(configuration: Any) -> float:
    if configuration["e"] == "b" and configuration.get("e.x") is None:
        return 0.5
    return float(configuration["e.x"])


@pytest.fixture(scope="module")
def result() -> sl.Result:
    return sl.search(SPACE, objective=loss, trials=60, **QUIET)


def test_a_result_is_pickled_for_the_same_version(result: sl.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    read: sl.Result = pickle.loads(pickle.dumps(result))
    assert repr(read) == repr(result) == repr(copy(result))
    assert read.best_configuration == result.best_configuration
    monkeypatch.setattr(result_pickles, "installed_version", lambda _: "0.2.9")
    old = pickle.dumps(result)
    assert pickle.loads(old).loss == result.loss
    monkeypatch.setattr(result_pickles, "installed_version", lambda _: "0.3.1")
    with pytest.raises(
        pickle.UnpicklingError, match=r"^spacelang 0\.2\.9 pickled this Result, and spacelang 0\.3\.1 can"
    ):
        pickle.loads(old)


def test_the_page_of_a_result_is_that_of_its_store_without_commands(tmp_path: Path, result: sl.Result) -> None:
    stored = sl.search(SPACE, objective=loss, trials=60, store=tmp_path / "run.db", **QUIET)
    page, alone = stored.report(), result.report()
    assert "run.db" in page.html
    assert not re.search(r"spacelang (resume|show)|run\.db", alone.html)
    assert Page(alone.html).heads == Page(page.html).heads
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    frame = page._repr_html_()
    assert frame.startswith('<iframe sandbox="" srcdoc="')
    assert unescape(frame.split('srcdoc="')[1].split('"')[0]) == page.html


def test_a_page_of_scored_rows_has_their_test_score() -> None:
    rows, labels = [[float(row % 5), float(row % 3)] for row in range(60)], [row % 2 for row in range(60)]
    found = sl.search("stage e = GaussianNB", rows, labels, trials=1, test=0.2, **QUIET)
    assert f"{found.test_score:.4g}" in found.report().html


def test_plots_show_the_data_of_the_page(result: sl.Result) -> None:
    axes = result.plot()
    (curve,) = (line for line in axes.lines if line.get_label() == "incumbent")
    assert [*curve.get_ydata()][:-1] == [*result.incumbent["loss"]]
    assert axes.get_ylabel() == "loss"
    _, given = pyplot.subplots()
    assert result.plot("parallel", given) is given
    shown = {each.get_text() for each in result.plot("importance").get_yticklabels()}
    assert shown == {"e", "e.a.x"}
    pyplot.close("all")


def test_heads_of_parallel_coordinates_do_not_touch() -> None:
    names = "first_parameter", "second_parameter", "third_parameter"
    body = ", ".join(f"{name} : float[0, 1]" for name in names)
    space = f"abstract Model {{ {body} }}\nstage e = Model\n"
    found = sl.search(space, objective=lambda given: 1 - given["e.first_parameter"], trials=9, **QUIET)
    figure, axes = pyplot.subplots(figsize=(4, 3))
    found.plot("parallel", axes)
    figure.canvas.draw()
    heads = sorted(
        (each.get_window_extent() for each in axes.texts if each.get_va() == "bottom"), key=lambda box: box.x0
    )
    assert len(heads) == 4
    assert all(one.x1 < other.x0 for one, other in pairwise(heads))
    pyplot.close("all")


def test_the_plot_of_several_objectives_is_their_front() -> None:

    def both(configuration: Any) -> dict[str, float]:
        return {"error": loss(configuration), "size": 1 / loss(configuration)}

    found = sl.search(SPACE, objective=both, objectives=("error", "size"), trials=20, **QUIET)
    axes = found.plot()
    (front,) = (line for line in axes.lines if line.get_label() == "Pareto front")
    assert sorted(zip(front.get_ydata(), front.get_xdata(), strict=True)) == sorted(
        zip(found.front["error"], found.front["size"], strict=True)
    )
    with pytest.raises(sl.SeveralObjectivesError):
        found.plot("incumbent")
    pyplot.close("all")


def test_what_cannot_be_plotted_is_refused_with_the_reason(result: sl.Result) -> None:
    with pytest.raises(ValueError, match=r"`importanc` is not a plot .*did you mean `importance`\?"):
        result.plot("importanc")
    with pytest.raises(ValueError, match="the run has one objective"):
        result.plot("front")
    few = sl.search(SPACE, objective=loss, trials=3, **QUIET)
    with pytest.raises(ValueError, match="importances need at least 50 successful trials, and the run has 3"):
        few.plot("importance")
    with pytest.raises(sl.NoSuccessError) as caught:
        sl.search(SPACE, objective=lambda _: None, trials=2, **QUIET)
    with pytest.raises(ValueError, match="no trial succeeded"):
        caught.value.result.plot()
    assert "no trial" in Page(caught.value.result.report().html).said.lower()
