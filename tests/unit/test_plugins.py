"""Plug-ins: names without imports, one import for one plug-in, and options from texts."""

import importlib.metadata
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from spacelang.api.executor_settings import make_executor
from spacelang.plugins import Option, OptionError, PluginRegistry, UnknownPluginError, option
from spacelang.runtime.black_box.function_objective import make_function_objective
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import EXECUTORS, WorkerSettings


@dataclass(frozen=True, slots=True)
class Toy:
    """A plug-in."""

    count: int = option(3, "how many")
    share: float = option(0.5, "what part")
    loud: bool = option(False, "whether it is heard")
    title: str = option("", "what it is called")
    rule: Literal["first", "second"] = option("first", "which rule")
    inner: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 0:
            raise OptionError("`count` is negative", "it is at least 0")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginRegistry:
    folder = tmp_path / "toy_kinds"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "_helper.py").write_text("class Helper: ...\n")
    (folder / "blds.py").write_text("from toy_kinds._helper import Helper\nclass Other: ...\nclass Blds: ...\n")
    (folder / "select_best.py").write_text("class SelectBest: ...\n")
    (folder / "empty.py").write_text("from toy_kinds.blds import Blds as Empty\n")
    (folder / "broken.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield PluginRegistry("toy_kinds", "toy_kinds")
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_kinds"]:
        del sys.modules[name]


def test_names_are_the_modules_and_none_is_imported(package: PluginRegistry) -> None:
    assert package.names() == ("blds", "broken", "empty", "select_best")
    assert not any(name.startswith("toy_kinds.") for name in sys.modules)


def test_loading_imports_one_module_and_finds_the_class_that_is_the_same_word(package: PluginRegistry) -> None:
    assert package.load("blds").__name__ == "Blds"
    assert package.load("select_best").__name__ == "SelectBest"
    assert "toy_kinds.broken" not in sys.modules


def test_a_module_without_its_class_is_a_mistake_of_its_author(package: PluginRegistry) -> None:
    with pytest.raises(ImportError, match=r"`toy_kinds\.empty` must define a class"):
        package.load("empty")


@pytest.mark.parametrize("name", ["bldss", "_helper", "inner", "../blds", ""])
def test_an_unknown_name(package: PluginRegistry, name: str) -> None:
    with pytest.raises(UnknownPluginError, match="unknown toy_kind") as caught:
        package.load(name)
    assert "choose from `blds`, `broken`, `empty`, `select_best`" in caught.value.help
    assert ("did you mean `blds`?" in caught.value.help) == ("blds" in name)


def test_other_packages_join_by_entry_points(package: PluginRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        EntryPoint("theirs", "toy_kinds.select_best:SelectBest", "toy_kinds"),
        EntryPoint("blds", "toy_kinds.broken:Blds", "toy_kinds"),
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: entries if group == "toy_kinds" else [])
    assert package.names() == ("blds", "broken", "empty", "select_best", "theirs")
    assert package.load("theirs").__name__ == "SelectBest"
    assert package.load("blds").__module__ == "toy_kinds.blds"


def test_options_are_the_fields_with_a_text() -> None:
    assert PluginRegistry.options(Toy) == (
        Option("count", "int", 3, "how many"),
        Option("share", "float", 0.5, "what part"),
        Option("loud", "bool", False, "whether it is heard"),
        Option("title", "str", "", "what it is called"),
        Option("rule", "first|second", "first", "which rule"),
    )


def test_texts_are_read_by_the_types_of_the_fields() -> None:
    settings = {"count": "7", "share": "1/9600", "loud": "true", "title": "7", "rule": "second"}
    assert PluginRegistry.configure(Toy, settings) == Toy(7, 1 / 9600, True, "7", "second")
    assert PluginRegistry.configure(Toy, {"share": "1e-3", "loud": "False"}) == Toy(share=0.001)
    assert PluginRegistry.configure(Toy, {}) == Toy()


@pytest.mark.parametrize(
    ("name", "text", "help_text"),
    [
        ("count", "1.5", "a whole number"),
        ("count", "", "a whole number"),
        ("share", "half", "a number"),
        ("share", "nan", "a number"),
        ("share", "1/0", "a number"),
        ("share", "1e999", "a number"),
        ("loud", "1", "`true` or `false`"),
        ("rule", "secnd", "did you mean `second`? choose from `first`, `second`"),
    ],
)
def test_a_text_that_is_no_value(name: str, text: str, help_text: str) -> None:
    with pytest.raises(OptionError) as caught:
        PluginRegistry.configure(Toy, {name: text})
    assert caught.value.message == f"`{text}` is not a value of the option `{name}`"
    assert help_text in caught.value.help


def test_an_option_that_does_not_exist() -> None:
    with pytest.raises(OptionError, match="`conut` is not an option of `toy`") as caught:
        PluginRegistry.configure(Toy, {"conut": "1"})
    assert caught.value.help.startswith("did you mean `count`? choose from `count`, `share`,")


def test_fields_for_programs_are_no_options() -> None:
    with pytest.raises(OptionError, match="inner"):
        PluginRegistry.configure(Toy, {"inner": "1"})


def test_the_plugins_own_check_of_a_value_is_passed_on() -> None:
    with pytest.raises(OptionError, match="negative"):
        PluginRegistry.configure(Toy, {"count": "-1"})


@pytest.mark.parametrize("kind", ["targets", "optimizers"])
def test_listing_our_own_plugins_imports_neither_numpy_nor_a_plugin(kind: str) -> None:
    code = (
        f"import sys\nfrom spacelang.{kind} import {kind.upper()} as P\nnames = P.names()\nassert 'blds' in names\n"
        f"assert not any(f'spacelang.{kind}.{{n}}' in sys.modules for n in names), 'a plug-in'\n"
        "assert not {'numpy', 'scipy', 'sklearn'} & sys.modules.keys(), 'a library'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@dataclass(frozen=True, slots=True)
class Preset:
    """A plug-in whose options go together."""

    count: int = option(3, "how many")
    title: str = option("", "what it is called")

    presets: ClassVar = {"much": {"count": "9", "title": "much"}}


def test_a_preset_comes_before_the_defaults_and_behind_what_is_said() -> None:
    assert PluginRegistry.configure(Preset, {"preset": "much"}) == Preset(9, "much")
    assert PluginRegistry.configure(Preset, {"preset": "much", "count": "3"}) == Preset(3, "much")
    assert PluginRegistry.configure(Preset, {}) == Preset()


def test_an_unknown_preset_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(OptionError) as caught:
        PluginRegistry.configure(Preset, {"preset": "mach"})
    assert caught.value.message == "`mach` is not a value of the option `preset`"
    assert "`much`" in caught.value.help
    with pytest.raises(OptionError, match="`preset` is not an option of `toy`"):
        PluginRegistry.configure(Toy, {"preset": "much"})


def test_executors_are_found_by_their_files_and_all_else_is_an_address() -> None:
    assert {"dask", "in_process", "processes"} <= {*EXECUTORS.names()}
    for name in ("caller_evaluated", "in_process", "nowhere"):
        with pytest.raises(InputError, match=f"`{name}` is neither an executor nor the address"):
            make_executor(make_function_objective(len), WorkerSettings(1, name))
