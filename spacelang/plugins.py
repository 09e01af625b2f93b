"""Plug-ins: one file is one thing that a user can name, found by its file name and imported when it is asked for.

A plug-in is a frozen dataclass; its options are the fields that `option` and `part` declare. Other fields are for
programs only.
"""

import json
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from spacelang.carried import Correctable
from spacelang.suggest import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class UnknownPluginError(Correctable, LookupError):
    """No plug-in has the name; `message` says so, `help` names the nearest one and all that there are."""


class OptionError(Correctable, ValueError):
    """An option that does not exist or a value that it cannot take; `help` names what there is."""


PRESET: Final = "preset"
"""The option that names a preset."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a plug-in.

    `type` is `int`, `float`, `bool`, `str`, the words to choose from, `a|b`, or what kind of plug-in a part is.
    """

    name: str
    type: str
    default: object
    doc: str


def option(default: T, doc: str) -> T:
    """The dataclass field of an option that users can set; its type must be int, float, bool, str or a Literal."""
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True)
class Part:
    """A plug-in that is an option of another one, as `NAME` or `NAME(OPTION=VALUE, …)` writes it.

    `given` are those of its options that were written; two parts are equal where all their options are.
    """

    name: str
    plugin: Any
    given: frozenset[str] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        """The shortest text that means the same."""
        told = [(entry, getattr(self.plugin, entry.name)) for entry, _ in _typed_fields(type(self.plugin))]
        others = ", ".join(f"{entry.name}={_written(value)}" for entry, value in told if value != _default(entry))
        return f"{self.name}({others})" if others else self.name


def part(plugins: "Plugins", default: str, doc: str, *, able_to: str = "") -> Any:
    """The dataclass field, a `Part`, of an option that is a plug-in itself, with options of its own.

    `default` is its text. With `able_to` the plug-in must have a method of that name. Nothing is imported before the
    option is needed.
    """
    metadata = {"doc": doc, "part": _PartOf(plugins, able_to), "default": default}
    return field(default_factory=lambda: plugins.read(default), metadata=metadata)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plug-ins of one kind: the modules of a package, and the entry points of a group of other packages."""

    package: str
    group: str

    def names(self) -> tuple[str, ...]:
        """The names of all plug-ins in alphabetical order; none of them is imported."""
        return tuple(sorted({*self._modules(), *self._entry_points()}))

    def load(self, name: str) -> type[Any]:
        """The class of a plug-in; only its module is imported. Raises UnknownPluginError.

        It is the class that the module defines and that is called like it: `blds` has `Blds`, `select_best` has
        `SelectBest`. A module of the package comes before an entry point of the same name.
        """
        if name in self._modules():
            return _class_of(f"{self.package}.{name}", name)
        if name in (others := self._entry_points()):
            loaded: type[Any] = others[name].load()
            return loaded
        known = self.names()
        raise UnknownPluginError(f"there is no {self.kind} `{name}`", _nearest(name, known))

    def read(self, text: str) -> Part:
        """The plug-in that `NAME` or `NAME(OPTION=VALUE, …)` writes; raises UnknownPluginError and OptionError.

        A value that has a comma or a bracket of its own stands in quotation marks, as JSON writes it.
        """
        name, pairs = _taken_apart(text)
        self.load(name)  # what there is not is told before what is wrong with its options
        settings: dict[str, str] = {}
        for pair in pairs:
            option, equals, value = (each.strip() for each in pair.partition("="))
            if not equals or not option:
                raise OptionError(f"`{pair.strip()}` in `{text}` is no option", f"write `{name}(OPTION=VALUE, …)`")
            if option in settings:
                raise OptionError(f"the option `{option}` of `{name}` is set twice")
            settings[option] = _unquoted(value)
        return self.made(name, settings)

    def made(self, name: str, settings: Mapping[str, object]) -> Part:
        """The plug-in of a name with options as `configure` reads them; raises UnknownPluginError and OptionError."""
        texts = {option: str(value) for option, value in settings.items()}
        return Part(name, self.configure(self.load(name), texts), frozenset(texts))

    @property
    def kind(self) -> str:
        """What one of them is called."""
        return self.package.rpartition(".")[2].removesuffix("s")

    @staticmethod
    def options(plugin: type[Any]) -> tuple[Option, ...]:
        """The options of a plug-in in the order of its fields."""
        return tuple(
            Option(entry.name, _describe(entry, wanted), _said(entry), entry.metadata["doc"])
            for entry, wanted in _typed_fields(plugin)
        )

    @staticmethod
    def presets(plugin: type[Any]) -> Mapping[str, Mapping[str, str]]:
        """Options that go together, by the name of the preset; its class has them as `presets`."""
        found: Mapping[str, Mapping[str, str]] = getattr(plugin, "presets", {})
        return found

    @staticmethod
    def configure(plugin: type[T], settings: Mapping[str, str]) -> T:
        """The plug-in with the options that `--set NAME=TEXT` gives and the defaults of all others.

        Where it has `presets`, the option `preset` names the one whose options come before the defaults.

        Raises OptionError for an unknown option and for a text that is not a value of it, and passes on the one that
        the plug-in itself raises for a value out of its bounds.
        """
        settings = _with_preset(Plugins.presets(plugin), settings)
        types = {entry.name: (entry, wanted) for entry, wanted in _typed_fields(plugin)}
        unknown = next((name for name in settings if name not in types), None)
        if unknown is not None:
            message = f"`{unknown}` is not an option of `{plugin.__name__.lower()}`"
            raise OptionError(message, _nearest(unknown, types) if types else "it has no options")
        return plugin(**{name: _read(*types[name], text) for name, text in settings.items()})

    def _modules(self) -> frozenset[str]:
        path = import_module(self.package).__path__
        return frozenset(
            module.name for module in pkgutil.iter_modules(path) if not module.ispkg and not module.name.startswith("_")
        )

    def _entry_points(self) -> "dict[str, EntryPoint]":
        # Here, as whoever evaluates trials looks for none, and reading the metadata of packages takes long to import.
        from importlib.metadata import entry_points

        return {entry.name: entry for entry in entry_points(group=self.group)}


def _class_of(module: str, name: str) -> type[Any]:
    word = name.replace("_", "")
    for found in vars(import_module(module)).values():
        if isinstance(found, type) and found.__module__ == module and found.__name__.lower() == word:
            return found
    raise ImportError(f"`{module}` defines no class that is called like it")


def _typed_fields(plugin: type[Any]) -> list[tuple[Any, Any]]:
    types = get_type_hints(plugin)
    return [(entry, types[entry.name]) for entry in fields(plugin) if "doc" in entry.metadata]


def _with_preset(presets: Mapping[str, Mapping[str, str]], settings: Mapping[str, str]) -> Mapping[str, str]:
    if not presets or PRESET not in settings:
        return settings
    name = settings[PRESET]
    if name not in presets:
        raise OptionError(f"`{name}` is not a value of `{PRESET}`", _nearest(name, presets))
    return {**presets[name], **{each: text for each, text in settings.items() if each != PRESET}}


def _describe(entry: Any, wanted: Any) -> str:
    if "part" in entry.metadata:
        return str(entry.metadata["part"].plugins.kind)
    return "|".join(get_args(wanted)) if get_origin(wanted) is Literal else str(wanted.__name__)


def _said(entry: Any) -> object:
    """The default of an option as it is shown."""
    return entry.metadata.get("default", entry.default)


def _default(entry: Any) -> object:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def _read(entry: Any, wanted: Any, text: str) -> object:
    name = entry.name
    if "part" in entry.metadata:
        return entry.metadata["part"].read(name, text)
    if get_origin(wanted) is Literal:
        if text in get_args(wanted):
            return text
        raise OptionError(f"`{text}` is not a value of `{name}`", _nearest(text, get_args(wanted)))
    read, meaning = _READERS[wanted]
    try:
        return read(text)
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"`{text}` is not a value of `{name}`", f"`{name}` takes {meaning}") from None


def _number(text: str) -> float:
    numerator, stroke, denominator = text.partition("/")
    number = float(numerator) / float(denominator) if stroke else float(numerator)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _boolean(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


_READERS: dict[type, tuple[Callable[[str], object], str]] = {
    bool: (_boolean, "`true` or `false`"),
    int: (int, "a whole number"),
    float: (_number, "a number or a fraction such as `1/9600`"),
    str: (str, "any text"),
}


# ---- parts


@dataclass(frozen=True, slots=True)
class _PartOf:
    """What a part may be."""

    plugins: Plugins
    able_to: str

    def read(self, option: str, text: str) -> Part:
        """The part of a text; raises OptionError."""
        try:
            found = self.plugins.read(text)
        except UnknownPluginError as error:
            raise OptionError(error.message, _nearest(_taken_apart(text)[0], self._names())) from None
        if self.able_to and not hasattr(found.plugin, self.able_to):
            raise OptionError(f"`{found.name}` is not a value of `{option}`", _nearest(found.name, self._names()))
        return found

    def _names(self) -> list[str]:
        names = self.plugins.names()
        return [name for name in names if not self.able_to or hasattr(self.plugins.load(name), self.able_to)]


def facts(plugin: Any) -> dict[str, object]:
    """The fields of a plug-in that tell it from others, by their names, for files: a part is its name with its own."""
    values = {entry.name: getattr(plugin, entry.name) for entry in fields(plugin) if entry.compare}
    return {
        name: {"name": value.name, "options": facts(value.plugin)} if isinstance(value, Part) else value
        for name, value in values.items()
    }


def at_defaults(plugin: Any, within: str = "") -> Iterator[str]:
    """The fields that have their defaults, of a plug-in and of its parts: `b`, `z.disc`."""
    for entry in fields(plugin):
        value, name = getattr(plugin, entry.name), f"{within}{entry.name}"
        if entry.compare and value == _default(entry):
            yield name
        if isinstance(value, Part):
            yield from at_defaults(value.plugin, f"{name}.")


def settings_of(plugin: Any) -> tuple[str, ...]:
    """Its options that have not their defaults, each as `NAME=TEXT`: what `configure` makes the same plug-in of."""
    told = [(entry, getattr(plugin, entry.name)) for entry, _ in _typed_fields(type(plugin))]
    others = ((entry.name, value) for entry, value in told if value != _default(entry))
    return tuple(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in others)


def pieces(text: str, separator: str) -> list[str]:
    """The pieces of a text between the separators that stand outside of brackets and quotation marks."""
    found, depth = [""], 0
    for token in _TOKENS.findall(text):
        depth += (token == "(") - (token == ")")
        if token == separator and depth <= 0:
            found.append("")
        else:
            found[-1] += token
    return found


_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|.', re.DOTALL)
"""Characters, and texts in quotation marks."""


def _taken_apart(text: str) -> tuple[str, list[str]]:
    """A name and what stands in its brackets; raises OptionError for what is nothing of the kind."""
    tokens = _TOKENS.findall(text.strip())
    depths = [*accumulate((token == "(") - (token == ")") for token in tokens)]
    if min(depths, default=0) < 0:
        raise _unreadable(text, "a bracket is closed that was not opened")
    if depths and depths[-1]:
        raise _unreadable(text, "a bracket is not closed")
    opened = next((place for place, depth in enumerate(depths) if depth), len(tokens))
    if 0 in depths[opened:-1]:
        raise _unreadable(text, "something stands behind the brackets")
    name, listed = ("".join(part) for part in (tokens[:opened], tokens[opened + 1 : -1]))
    return name.strip(), pieces(listed, ",") if listed.strip() else []


def _unreadable(text: str, reason: str) -> OptionError:
    return OptionError(f"`{text}` cannot be read: {reason}", "write `NAME(OPTION=VALUE, …)`")


def _written(value: object) -> str:
    """An option as `Plugins.read` reads it within brackets."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    is_plain = isinstance(value, Part) or (text == text.strip() and not set(text) & set('(),"') and text)
    return text if is_plain else json.dumps(text)


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        raise _unreadable(text, "it is no text in quotation marks") from None


def _nearest(name: str, known: Iterable[str]) -> str:
    listed = tuple(known)
    near = nearest(name, listed)
    everything = "there are " + ", ".join(f"`{candidate}`" for candidate in listed)
    return f"did you mean `{near}`? {everything}" if near else everything
