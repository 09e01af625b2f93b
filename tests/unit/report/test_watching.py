"""What a search in Python shows while it goes on: a bar where somebody looks at it, lines where they are wanted."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console

import spacelang as sl
from spacelang.report.progress import (
    SECONDS_BETWEEN_LINES,
    NotebookProgress,
    can_show_bars,
    progress_listener,
)
from spacelang.runtime.budget import Budget

SPACE = "stage estimator = GaussianNB | DecisionTreeClassifier"
TABLE: Any = {"features": [[0.0], [1.0], [2.0], [3.0]] * 10, "target": ["a", "a", "b", "b"] * 10}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # takes any stream for a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def searched(**options: Any) -> sl.Result:
    return sl.search(**TABLE, trials=1, workers=0, optimizer="random", **options)


def test_nothing_is_shown_to_nobody(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    searched(space=sl.parse(SPACE))
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_a_bar_and_why_the_space_was_taken(capfd: pytest.CaptureFixture[str]) -> None:
    searched(initial="default")
    out, err = capfd.readouterr()
    assert not out
    assert "no space given: using `tabular_classification`, as `target` holds 2 distinct" in err
    assert "1 trial, best roc_auc" in err


@pytest.mark.usefixtures("terminal")
def test_who_listens_or_wants_nothing_sees_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    heard = Mock()
    searched(space=sl.parse(SPACE), listener=heard)
    searched(space=sl.parse(SPACE), progress=False)
    assert capfd.readouterr() == ("", "")
    assert heard.on_trial.call_count == 1


def test_lines_are_printed_where_they_are_wanted(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("spacelang.report.progress.SECONDS_BETWEEN_LINES", 0.0)
    assert SECONDS_BETWEEN_LINES
    searched(space=sl.parse(SPACE), progress=True)
    assert "1 trial, best roc_auc" in capfd.readouterr().err


def test_a_notebook_shows_a_bar_and_keeps_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook, shown = Console(force_jupyter=True), Mock(return_value=None)
    assert can_show_bars(notebook)
    module = SimpleNamespace(HTML=str, display=lambda html, display_id: shown(html) or SimpleNamespace(update=shown))  # noqa: ARG005
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    with progress_listener(notebook) as listener:
        assert isinstance(listener, NotebookProgress)
        searched(space=sl.parse(SPACE), listener=listener)
    first, update, last = (call.args[0] for call in shown.call_args_list)
    assert first == '<progress value="0.000" style="width:12em"></progress> waiting for the first trial'
    assert re.match(r'<progress value="1.000".*> 1 trial, best loss [\d.]+, 0:00:0\d$', update)
    assert re.fullmatch(r"1 trial, best loss [\d.]+ in \d+\.\d s", last)
    with progress_listener(notebook) as listener:
        listener.on_start(Budget(trials=4))
    assert shown.call_args.args == ("no trial, ended by an error",)


def test_the_text_of_a_space_is_a_space_and_no_file() -> None:
    assert sl.load(SPACE).default() == sl.parse(SPACE).default()
    assert sl.load("stage e = GaussianNB").structures == 1
    with pytest.raises(sl.SpaceError, match=r"--> <text>:1:11"):
        sl.load("stage e = NoSuchOperator")
    with pytest.raises(sl.SpaceError, match=r"the file does not exist"):
        sl.load("stage.space")


def test_a_file_that_is_called_like_a_text_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stage 2, k=3.space").write_text(SPACE, encoding="utf-8")
    assert sl.load("stage 2, k=3.space").source.origin is not None
