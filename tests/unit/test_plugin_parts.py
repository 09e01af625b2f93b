"""Plug-ins that are options of others: their texts there and back, nested as deep as one likes, and clear answers."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.api.experiment import with_fidelity_options
from spacelang.api.space import parse
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import (
    NestedPlugin,
    Option,
    OptionError,
    PluginRegistry,
    UnknownPluginError,
    fields_at_default,
    nested_plugin,
    non_default_settings,
    option,
    plugin_identity,
    split_outside_brackets,
)

INNER = """
from dataclasses import dataclass
from typing import Literal
from spacelang.plugins import NestedPlugin, PluginRegistry, OptionError, option, nested_plugin

@dataclass(frozen=True, slots=True)
class Leaf:
    "The end."
    count: int = option(3, "how many")
    share: float = option(0.5, "what nested_plugin")
    loud: bool = option(False, "whether it is heard")
    title: str = option("", "what it is called")
    rule: Literal["first", "second"] = option("first", "which rule")

    def __post_init__(self):
        if self.count < 0:
            raise OptionError("`count` is negative", "it is at least 0")

    def grow(self): ...
"""
OUTER = """
from dataclasses import dataclass
from spacelang.plugins import NestedPlugin, PluginRegistry, option, nested_plugin

@dataclass(frozen=True, slots=True)
class Twig:
    "Holds another one."
    z: NestedPlugin = nested_plugin(PluginRegistry("toy_parts", "toy_parts"), "leaf", "what it holds")
    b: int = option(7, "how many rows")
"""


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginRegistry]:
    place = tmp_path_factory.mktemp("toys")
    (place / "toy_parts").mkdir()
    for name, text in (("__init__", ""), ("leaf", INNER), ("twig", OUTER)):
        (place / "toy_parts" / f"{name}.py").write_text(text)
    sys.path.insert(0, str(place))
    yield PluginRegistry("toy_parts", "toy_parts")
    sys.path.remove(str(place))
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_parts"]:
        del sys.modules[name]


TEXTS = st.text(max_size=8) | st.text("(),=\"' ab\\", max_size=8)


@given(data=st.data(), depth=st.integers(0, 3))
def test_a_part_is_what_its_text_says(toys: PluginRegistry, data: st.DataObject, depth: int) -> None:
    leaf = toys.load("leaf")
    given = {
        "count": data.draw(st.integers(0, 9)),
        "share": data.draw(st.floats(allow_nan=False, allow_infinity=False)),
        "loud": data.draw(st.booleans()),
        "title": data.draw(TEXTS),
        "rule": data.draw(st.sampled_from(["first", "second"])),
    }
    kept = data.draw(st.sets(st.sampled_from(sorted(given))))
    made = NestedPlugin("leaf", leaf(**{name: given[name] for name in kept}))
    for _ in range(depth):
        made = NestedPlugin("twig", toys.load("twig")(z=made, b=data.draw(st.integers(0, 9))))
    assert toys.parse(str(made)) == made
    assert str(toys.parse(str(made))) == str(made)
    assert json.loads(json.dumps(plugin_identity(made.plugin))) == plugin_identity(made.plugin)
    again = PluginRegistry.configure(toys.load("twig"), {"z": str(made)})
    assert again.z == made, "as an option"
    told = dict(each.split("=", 1) for each in non_default_settings(again))
    assert PluginRegistry.configure(toys.load("twig"), told) == again, "as the settings of a command"
    assert set(told) == ({"z"} if made != toys.parse("leaf") else set())
    if depth == 0:
        told = dict(each.split("=", 1) for each in non_default_settings(made.plugin))
        assert PluginRegistry.configure(leaf, told) == made.plugin
    usual = [*fields_at_default(again)]
    assert ("z" in usual, "b" in usual) == (made == toys.parse("leaf"), True)
    # What is at its default may be left out: written without, the option is the same.
    own = {name: value for name, value in given.items() if name in kept and depth == 0}
    assert {name for name in own if f"z.{name}" not in usual} == {
        name for name, value in own.items() if value != getattr(leaf(), name)
    }


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("leaf", "leaf"),
        ("leaf()", "leaf"),
        (" leaf ( count = 2 ,loud=TRUE ) ", "leaf(count=2, loud=true)"),
        ("leaf(count=3)", "leaf"),
        ("twig(z=leaf(count=1, share=1/4), b=2)", "twig(z=leaf(count=1, share=0.25), b=2)"),
        ("twig(z=twig(z=twig))", "twig(z=twig(z=twig))"),
        ('leaf(title="a, (b) \\"c\\"")', 'leaf(title="a, (b) \\"c\\"")'),
        ("leaf(title=a b)", "leaf(title=a b)"),
        ("twig(z=leaf(title=x=y))", "twig(z=leaf(title=x=y))"),
    ],
)
def test_texts_of_parts(toys: PluginRegistry, text: str, short: str) -> None:
    assert str(toys.parse(text)) == short


def test_what_was_written_is_known_and_does_not_make_another_part(toys: PluginRegistry) -> None:
    part = toys.parse("leaf(count=3)")
    assert part.given == {"count"}
    assert part == toys.parse("leaf")


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("laef", "unknown toy_part `laef`", "did you mean `leaf`?"),
        ("", "unknown toy_part ``", "choose from `leaf`, `twig`"),
        ("laef(count=1)", "unknown toy_part `laef`", "did you mean `leaf`?"),
        ("leaf(conut=1)", "`conut` is not an option of `leaf`", "did you mean `count`?"),
        ("leaf(count=many)", "`many` is not a value of the option `count`", "a whole number"),
        ("leaf(count=-1)", "`count` is negative", "at least 0"),
        ("leaf(count)", "`count` in `leaf(count)` is not an option", "write `leaf(OPTION=VALUE, …)`"),
        ("leaf(=1)", "`=1` in `leaf(=1)` is not an option", "write `leaf(OPTION=VALUE, …)`"),
        ("leaf(count=1,)", "`` in `leaf(count=1,)` is not an option", "write `leaf("),
        ("leaf(count=1, count=2)", "the option `count` of `leaf` is set twice", ""),
        ("leaf(count=1", "`leaf(count=1` cannot be read: a bracket is not closed", "write `NAME(OPTION=VALUE, …)`"),
        ("leaf count=1)", "`leaf count=1)` cannot be read: a closing bracket has no opening one", "write `NAME("),
        ("leaf(count=1)(loud=true)", "there is text after the closing bracket", "write `NAME("),
        ("leaf(count=1) x", "there is text after the closing bracket", "write `NAME("),
        ('leaf(title="a)', '`"a` cannot be read: the quoted text is invalid', "write `NAME("),
        ('leaf(title="a"b)', "the quoted text is invalid", "write `NAME("),
        ("twig(z=laef)", "unknown toy_part `laef`", "did you mean `leaf`?"),
        ("twig(z=leaf(conut=1))", "`conut` is not an option of `leaf`", "did you mean `count`?"),
        ("twig(z=leaf(count=1)", "a bracket is not closed", "write `NAME("),
    ],
)
def test_what_is_wrong_with_a_part(toys: PluginRegistry, text: str, message: str, remedy: str) -> None:
    with pytest.raises(OptionError) as caught:
        PluginRegistry.configure(toys.load("twig"), {"z": text})
    assert message in caught.value.message
    assert remedy in caught.value.help


def test_a_name_alone_is_read_as_any_plugin_is(toys: PluginRegistry) -> None:
    with pytest.raises(UnknownPluginError, match="unknown toy_part `laef`"):
        toys.parse("laef")


def test_options_that_are_parts_are_listed_by_their_texts(toys: PluginRegistry) -> None:
    assert PluginRegistry.options(toys.load("twig")) == (
        Option("z", "toy_part", "leaf", "what it holds"),
        Option("b", "int", 7, "how many rows"),
    )


@dataclass(frozen=True, slots=True)
class Chooser:
    """An optimizer that is made of a selector."""

    z: NestedPlugin = nested_plugin(OPTIMIZERS, "cmab", "what selects", able_to="selector")
    b: int = option(5, "rows")


def test_a_part_must_be_able_to_do_what_it_is_there_for() -> None:
    assert PluginRegistry.configure(Chooser, {"z": "blds(disc=2)"}).z.plugin.disc == 2
    assert str(Chooser().z) == "cmab"

    @dataclass(frozen=True, slots=True)
    class Dreamer:
        z: NestedPlugin = nested_plugin(OPTIMIZERS, "cmab", "what dreams", able_to="dream")

    with pytest.raises(OptionError, match="`blds` is not a value of the option `z`"):
        PluginRegistry.configure(Dreamer, {"z": "blds"})


def test_the_fidelity_of_a_task_is_that_of_parts_where_nothing_else_was_written() -> None:
    task = "task classification {\n  fidelity samples from 50 by 3\n}\n"
    space = parse(f"space s\nstage a = GaussianNB | LinearDiscriminantAnalysis\n{task}")
    chooser = NestedPlugin("chooser", PluginRegistry.configure(Chooser, {"z": "blds(eta=4)"}), frozenset({"z"}))
    told = with_fidelity_options(chooser, space.task.fidelity).plugin
    assert (told.b, told.z.plugin.b, told.z.plugin.eta) == (50, 50, 4.0)


def test_all_fields_are_facts() -> None:
    made = PluginRegistry.configure(Chooser, {"z": "lds"})
    assert plugin_identity(made) == {
        "z": {"name": "lds", "options": {"disc": 1, "hyperparameters": "default"}},
        "b": 5,
    }
    assert plugin_identity(made).keys() == {entry.name for entry in fields(made)}


@pytest.mark.parametrize(
    ("text", "separator", "found"),
    [
        ("blds,lds:disc=2", ",", ["blds", "lds:disc=2"]),
        ("admm:z=blds(disc=2,b=9),lds", ",", ["admm:z=blds(disc=2,b=9)", "lds"]),
        ('a:t="x,y",b', ",", ['a:t="x,y"', "b"]),
        ("a:z=b(c=d:e):f=1", ":", ["a", "z=b(c=d:e)", "f=1"]),
        ("a),b", ",", ["a)", "b"]),
        ("", ",", [""]),
    ],
)
def test_pieces_lie_outside_of_brackets(text: str, separator: str, found: list[str]) -> None:
    assert split_outside_brackets(text, separator) == found
