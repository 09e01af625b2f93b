"""Errors are the same again in another process: with their message, and with what they say beside it."""

import inspect
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import spacelang as sl
from spacelang.analysis.diagnostic_collector import BindingError
from spacelang.api.compilation import CompilationError
from spacelang.errors import (
    OPTIONS_WITHOUT_VALUE,
    QUOTED_OPTIONS_PATTERN,
    UserError,
    match_command_line_options,
    remedy_in_python,
)
from spacelang.plugins import UnknownPluginError
from spacelang.runtime.errors import DataError, DifferentSearchError
from spacelang.runtime.storage.store_errors import StoreError


def fails(error: Exception) -> Callable[[], object]:
    def raised() -> object:
        raise error

    return raised


@pytest.mark.parametrize(
    ("does", "kind"),
    [
        (lambda: sl.parse("stage estimator = SVCC"), sl.SpaceError),
        (lambda: sl.load("blds_table1").compile("nothing"), UnknownPluginError),
        (lambda: sl.load("blds_table1").bind(n_rows=3), BindingError),
        (fails(CompilationError(())), CompilationError),
        (fails(DataError("no file", "give one")), DataError),
        (fails(StoreError("another run", "give a new one", ("the seed",))), StoreError),
        (fails(DifferentSearchError(3)), DifferentSearchError),
    ],
)
def test_an_error_is_the_same_in_another_process(does: Callable[[], object], kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        does()
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert (str(again), again.args) == (str(caught.value), caught.value.args)
    assert repr(again.__dict__) == repr(caught.value.__dict__)


@pytest.mark.parametrize(
    ("does", "help_"),
    [
        (lambda: sl.load("blds_table1").compile("nothing"), "choose from `admm`, "),
        (lambda: sl.load("blds_table1").compile("boasf", arms="piece"), "`models`"),
        (lambda: sl.load("blds_table1").bind(n_rows=3), "n_samples"),
        (
            lambda: sl.search("blds_table1", [[0], [1], [2], [3]] * 10, [0, 1] * 20, metric="acuracy"),
            "did you mean `accuracy`?",
        ),
        (
            lambda: sl.search("blds_table1", [[0], [1], [2], [3]] * 10, [0, 1] * 20, store="nowhere/a.db"),
            "create the folder, or choose another place with `store=…`",
        ),
    ],
)
def test_python_shows_what_to_do_below_what_is_wrong(does: Callable[[], object], help_: str) -> None:
    with pytest.raises(UserError) as caught:
        does()
    shown = traceback.format_exception_only(caught.value)
    assert str(caught.value) == caught.value.message
    assert caught.value.message in shown[0]
    assert shown[-1].startswith("help: ")
    assert help_ in shown[-1]
    again = pickle.loads(pickle.dumps(caught.value))
    assert traceback.format_exception_only(again) == shown


def test_options_of_the_command_line_are_arguments_in_python() -> None:
    assert (
        remedy_in_python("go on by `--resume`, or another `--store`") == "go on by `resume=True`, or another `store=…`"
    )
    assert remedy_in_python("a share: `--test 0.2`, `--set k=2`") == "a share: `test=0.2`, `k=2`"
    assert remedy_in_python("`--set k=2`, `--set a=b`", "settings") == '`settings={"k": 2}`, `settings={"a": "b"}`'
    assert remedy_in_python("`--drop-columns A`, `--optimizer mosaic`") == '`drop_columns=A`, `optimizer="mosaic"`'
    assert remedy_in_python("use `--optimizer optuna --set sampler=NSGAIISampler`") == (
        'use `optimizer="optuna", optimizer_options={"sampler": "NSGAIISampler"}`'
    )
    assert remedy_in_python("`spacelang runs A --export B` shows it") == "`spacelang runs A --export B` shows it"


def test_what_remedies_name_is_there_in_python() -> None:
    """Options that `--set` gives are named as they are; all others are arguments of a search, but those of files."""
    of_files = {"data", "target_column", "rank", "votes", "strict", "rename"}
    taken = inspect.signature(sl.search).parameters
    package = Path(sl.__file__).parent
    files = [
        path
        for room in ("runtime", "api", "optimizers", "targets", "analysis")
        for path in (package / room).rglob("*.py")
    ]
    named = {
        (option["name"].replace("-", "_"), option["value"])
        for path in files
        for quoted in QUOTED_OPTIONS_PATTERN.finditer(path.read_text(encoding="utf-8"))
        for option in match_command_line_options(quoted[1])
        if not option[0].startswith("--set ")
    }
    assert {"resume", "store", "test"} <= {name for name, _ in named} <= {*taken, *of_files}
    assert {
        name for name, _ in named if name in taken and isinstance(taken[name].default, bool)
    } == OPTIONS_WITHOUT_VALUE
