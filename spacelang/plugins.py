"""Plug-ins: one file is one thing that a user can name, found by its file name and imported when it is asked for.

A plug-in is a frozen dataclass; its options are the fields that `option` declares. Other fields are for programs only.
"""

import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from spacelang.suggest import nearest

T = TypeVar("T")


class UnknownPluginError(LookupError):
    """No plug-in has the name; `message` says so, `help` names the nearest one and all that there are."""

    def __init__(self, message: str, help: str) -> None:  # noqa: A002 - the word of the house's diagnostics
        super().__init__(message)
        self.message = message
        self.help = help


class OptionError(ValueError):
    """An option that does not exist or a value that it cannot take; `help` names what there is."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - the word of the house's diagnostics
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a plug-in: `type` is `int`, `float`, `bool`, `str` or the words to choose from, `a|b`."""

    name: str
    type: str
    default: object
    doc: str


def option(default: T, doc: str) -> T:
    """The dataclass field of an option that users can set; its type must be int, float, bool, str or a Literal."""
    return field(default=default, metadata={"doc": doc})


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
        kind = self.package.rpartition(".")[2].removesuffix("s")
        raise UnknownPluginError(f"there is no {kind} `{name}`", _nearest(name, known))

    @staticmethod
    def options(plugin: type[Any]) -> tuple[Option, ...]:
        """The options of a plug-in in the order of its fields."""
        return tuple(
            Option(entry.name, _describe(wanted), entry.default, entry.metadata["doc"])
            for entry, wanted in _typed_fields(plugin)
        )

    @staticmethod
    def configure(plugin: type[T], settings: Mapping[str, str]) -> T:
        """The plug-in with the options that `--set NAME=TEXT` gives and the defaults of all others.

        Raises OptionError for an unknown option and for a text that is not a value of it, and passes on the one that
        the plug-in itself raises for a value out of its bounds.
        """
        types = {entry.name: wanted for entry, wanted in _typed_fields(plugin)}
        unknown = next((name for name in settings if name not in types), None)
        if unknown is not None:
            message = f"`{unknown}` is not an option of `{plugin.__name__.lower()}`"
            raise OptionError(message, _nearest(unknown, types) if types else "it has no options")
        return plugin(**{name: _read(name, text, types[name]) for name, text in settings.items()})

    def _modules(self) -> frozenset[str]:
        path = import_module(self.package).__path__
        return frozenset(
            module.name for module in pkgutil.iter_modules(path) if not module.ispkg and not module.name.startswith("_")
        )

    def _entry_points(self) -> dict[str, EntryPoint]:
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


def _describe(wanted: Any) -> str:
    return "|".join(get_args(wanted)) if get_origin(wanted) is Literal else str(wanted.__name__)


def _read(name: str, text: str, wanted: Any) -> object:
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


def _nearest(name: str, known: Iterable[str]) -> str:
    listed = tuple(known)
    near = nearest(name, listed)
    everything = "there are " + ", ".join(f"`{candidate}`" for candidate in listed)
    return f"did you mean `{near}`? {everything}" if near else everything
