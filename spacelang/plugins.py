"""Registries of plug-ins (targets, optimizers, minimizers, executors), and the parsing of their options.

A plug-in is one module that users name by its file name; it is imported on first use. Its class is a frozen dataclass.
Fields declared with `option` or `nested_plugin` are its options; other fields can be set by programs only.
"""

import json
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from spacelang.errors import UserError
from spacelang.spelling_suggestions import nearest_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class UnknownPluginError(UserError, LookupError):
    """No plug-in has this name; `message` says so, and `help` lists the closest name and all existing ones."""


class OptionError(UserError, ValueError):
    """An unknown option or an invalid value of one; `help` lists the valid ones."""


PRESET: Final = "preset"


@dataclass(frozen=True, slots=True)
class Option:
    """The description of one option of a plug-in, for help texts.

    `type` is `int`, `float`, `bool` or `str`, the allowed words (`a|b`), or for a nested plug-in its kind, such as
    `optimizer`.
    """

    name: str
    type: str
    default: object
    doc: str


def option(default: T, doc: str) -> T:
    """Return the dataclass field of an option that users can set.

    The annotated type of the field must be int, float, bool, str or a Literal of strings.
    """
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True)
class NestedPlugin:
    """A plug-in that is the value of an option of another one, written as `NAME` or `NAME(OPTION=VALUE, …)`.

    `given` holds the names of the options that were written explicitly. Two instances are equal if their names and
    all options are equal; `given` is not compared.
    """

    name: str
    plugin: Any
    given: frozenset[str] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        """Return the shortest text that parses to the same plug-in; options at their defaults are left out."""
        told = [(entry, getattr(self.plugin, entry.name)) for entry, _ in _typed_fields(type(self.plugin))]
        others = ", ".join(f"{entry.name}={_option_text(value)}" for entry, value in told if value != _default(entry))
        return f"{self.name}({others})" if others else self.name


def nested_plugin(plugins: "PluginRegistry", default: str, doc: str, *, able_to: str = "") -> Any:
    """Return the dataclass field of an option whose value is itself a plug-in, held as a `NestedPlugin`.

    Parameters
    ----------
    plugins
        The registry that the value must come from.
    default
        The default as text, for example `cmab` or `blds(disc=2)`.
    doc
        The help text of the option.
    able_to
        If not empty, the plug-in must have a method of this name.

    Notes
    -----
    No module is imported before the option is needed.
    """
    metadata = {"doc": doc, "part": _NestedPluginType(plugins, able_to), "default": default}
    return field(default_factory=lambda: plugins.parse(default), metadata=metadata)


@dataclass(frozen=True, slots=True)
class PluginRegistry:
    """A registry of the plug-ins of one kind: the modules of `package` and the entry points of `group`."""

    package: str
    group: str

    def names(self) -> tuple[str, ...]:
        """Return the names of all plug-ins in alphabetical order without importing any of them."""
        return tuple(sorted({*self._modules(), *self._entry_points()}))

    def load(self, name: str) -> type[Any]:
        """Return the class of a plug-in, importing only its module; raises UnknownPluginError.

        The class must be defined in the module and be named like it: `blds` has `Blds`, `select_best` has `SelectBest`.
        A module of the package takes precedence over an entry point of the same name.
        """
        if name in self._modules():
            return _class_of(f"{self.package}.{name}", name)
        if name in (others := self._entry_points()):
            loaded: type[Any] = others[name].load()
            return loaded
        known = self.names()
        raise UnknownPluginError(f"unknown {self.kind} `{name}`", _help_for(name, known))

    def parse(self, text: str) -> NestedPlugin:
        """Parse `NAME` or `NAME(OPTION=VALUE, …)`; raises UnknownPluginError and OptionError.

        A value that contains a comma or a bracket must be quoted as a JSON string.
        """
        name, pairs = _split_call(text)
        self.load(name)  # an unknown name is reported before errors in its options
        settings: dict[str, str] = {}
        for pair in pairs:
            option, equals, value = (each.strip() for each in pair.partition("="))
            if not equals or not option:
                raise OptionError(f"`{pair.strip()}` in `{text}` is not an option", f"write `{name}(OPTION=VALUE, …)`")
            if option in settings:
                raise OptionError(f"the option `{option}` of `{name}` is set twice")
            settings[option] = _unquote(value)
        return self.create(name, settings)

    def create(self, name: str, settings: Mapping[str, object]) -> NestedPlugin:
        """Create the named plug-in with the given options; raises UnknownPluginError and OptionError.

        Option values are converted to text and parsed as in `configure`.
        """
        texts = {option: str(value) for option, value in settings.items()}
        return NestedPlugin(name, self.configure(self.load(name), texts), frozenset(texts))

    @property
    def kind(self) -> str:
        """The singular name of the kind of plug-in, such as `optimizer`."""
        return self.package.rpartition(".")[2].removesuffix("s")

    @staticmethod
    def options(plugin: type[Any]) -> tuple[Option, ...]:
        """Return the descriptions of the options of a plug-in class, in the order of its fields."""
        return tuple(
            Option(
                entry.name,
                _type_name(entry, wanted),
                entry.metadata.get("default", entry.default),
                entry.metadata["doc"],
            )
            for entry, wanted in _typed_fields(plugin)
        )

    @staticmethod
    def presets(plugin: type[Any]) -> Mapping[str, Mapping[str, str]]:
        """Return the presets of a plug-in class, by name; each maps names of options to their texts.

        They are the class attribute `presets`; a class without it has none.
        """
        found: Mapping[str, Mapping[str, str]] = getattr(plugin, "presets", {})
        return found

    @staticmethod
    def configure(plugin: type[T], settings: Mapping[str, str]) -> T:
        """Create the plug-in from option texts, as `--set NAME=TEXT` gives them; other options keep their defaults.

        If the class has `presets`, the option `preset` selects one of them. The options of the preset replace the
        defaults; explicit options replace both.

        Raises OptionError for an unknown option and for a text that cannot be parsed. An OptionError raised by the
        plug-in itself, for example for a value out of range, is passed on.
        """
        settings = _with_preset(PluginRegistry.presets(plugin), settings)
        types = {entry.name: (entry, wanted) for entry, wanted in _typed_fields(plugin)}
        unknown = next((name for name in settings if name not in types), None)
        if unknown is not None:
            message = f"`{unknown}` is not an option of `{plugin.__name__.lower()}`"
            raise OptionError(message, _help_for(unknown, types) if types else "this plug-in has no options")
        return plugin(**{name: _parse_value(*types[name], text) for name, text in settings.items()})

    def _modules(self) -> frozenset[str]:
        return _public_modules(self.package)

    def _entry_points(self) -> "dict[str, EntryPoint]":
        # Imported here: it is slow to import, and worker processes never look up entry points.
        from importlib.metadata import entry_points

        return {entry.name: entry for entry in entry_points(group=self.group)}


@cache  # every compilation looks up its target, and listing a folder would take longer than many compilations
def _public_modules(package: str) -> frozenset[str]:
    path = import_module(package).__path__
    return frozenset(
        module.name for module in pkgutil.iter_modules(path) if not module.ispkg and not module.name.startswith("_")
    )


def _class_of(module: str, name: str) -> type[Any]:
    word = name.replace("_", "")
    for found in vars(import_module(module)).values():
        if isinstance(found, type) and found.__module__ == module and found.__name__.lower() == word:
            return found
    raise ImportError(f"`{module}` must define a class with the same name as the module")


def _typed_fields(plugin: type[Any]) -> tuple[tuple[Any, Any], ...]:
    return _read_typed_fields(plugin)  # type: ignore[arg-type]  # mypy takes no class for hashable


@cache
def _read_typed_fields(plugin: type[Any]) -> tuple[tuple[Any, Any], ...]:
    types = get_type_hints(plugin)
    return tuple((entry, types[entry.name]) for entry in fields(plugin) if "doc" in entry.metadata)


def _with_preset(presets: Mapping[str, Mapping[str, str]], settings: Mapping[str, str]) -> Mapping[str, str]:
    if not presets or PRESET not in settings:
        return settings
    name = settings[PRESET]
    if name not in presets:
        raise OptionError(f"`{name}` is not a value of the option `{PRESET}`", _help_for(name, presets))
    return {**presets[name], **{each: text for each, text in settings.items() if each != PRESET}}


def _type_name(entry: Any, wanted: Any) -> str:
    if "part" in entry.metadata:
        return str(entry.metadata["part"].plugins.kind)
    return "|".join(get_args(wanted)) if get_origin(wanted) is Literal else str(wanted.__name__)


def _default(entry: Any) -> object:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def _parse_value(entry: Any, wanted: Any, text: str) -> object:
    name = entry.name
    if "part" in entry.metadata:
        return entry.metadata["part"].parse(name, text)
    if get_origin(wanted) is Literal:
        if text in get_args(wanted):
            return text
        raise OptionError(f"`{text}` is not a value of the option `{name}`", _help_for(text, get_args(wanted)))
    read, meaning = _READERS[wanted]
    try:
        return read(text)
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"`{text}` is not a value of the option `{name}`", f"`{name}` takes {meaning}") from None


def _parse_number(text: str) -> float:
    numerator, stroke, denominator = text.partition("/")
    number = float(numerator) / float(denominator) if stroke else float(numerator)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _parse_boolean(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


_READERS: dict[type, tuple[Callable[[str], object], str]] = {
    bool: (_parse_boolean, "`true` or `false`"),
    int: (int, "a whole number"),
    float: (_parse_number, "a number or a fraction such as `1/9600`"),
    str: (str, "any text"),
}


# ---- nested plug-ins


@dataclass(frozen=True, slots=True)
class _NestedPluginType:
    plugins: PluginRegistry
    able_to: str

    def parse(self, option: str, text: str) -> NestedPlugin:
        """Parse the value of an option; raises OptionError if it is unknown or lacks the required method."""
        try:
            found = self.plugins.parse(text)
        except UnknownPluginError as error:
            raise OptionError(error.message, _help_for(_split_call(text)[0], self._valid_names())) from None
        if self.able_to and not hasattr(found.plugin, self.able_to):
            raise OptionError(
                f"`{found.name}` is not a value of the option `{option}`", _help_for(found.name, self._valid_names())
            )
        return found

    def _valid_names(self) -> list[str]:
        names = self.plugins.names()
        return [name for name in names if not self.able_to or hasattr(self.plugins.load(name), self.able_to)]


def plugin_identity(plugin: Any) -> dict[str, object]:
    """Return the fields of a plug-in that take part in comparisons, by name, as JSON-compatible values.

    They identify the plug-in in files.

    A nested plug-in becomes `{"name": …, "options": …}`.
    """
    values = {entry.name: getattr(plugin, entry.name) for entry in fields(plugin) if entry.compare}
    return {
        name: {"name": value.name, "options": plugin_identity(value.plugin)}
        if isinstance(value, NestedPlugin)
        else value
        for name, value in values.items()
    }


def fields_at_default(plugin: Any, within: str = "") -> Iterator[str]:
    """Yield the names of the fields at their defaults; fields of nested plug-ins are prefixed, as in `z.disc`."""
    for entry in fields(plugin):
        value, name = getattr(plugin, entry.name), f"{within}{entry.name}"
        if entry.compare and value == _default(entry):
            yield name
        if isinstance(value, NestedPlugin):
            yield from fields_at_default(value.plugin, f"{name}.")


def non_default_settings(plugin: Any) -> tuple[str, ...]:
    """Return the options that differ from their defaults as `NAME=TEXT`.

    `configure` turns them into an equal plug-in.
    """
    told = [(entry, getattr(plugin, entry.name)) for entry, _ in _typed_fields(type(plugin))]
    others = ((entry.name, value) for entry, value in told if value != _default(entry))
    return tuple(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in others)


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """Split a text at a separator (one character), but not inside round brackets or quotation marks."""
    found, depth = [""], 0
    for token in _TOKENS.findall(text):
        depth += (token == "(") - (token == ")")
        if token == separator and depth <= 0:
            found.append("")
        else:
            found[-1] += token
    return found


_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|.', re.DOTALL)
"""Matches a quoted string as a whole, otherwise a single character."""


def _split_call(text: str) -> tuple[str, list[str]]:
    """Split `NAME(A, B)` into the name and the texts between its brackets; raises OptionError for a syntax error."""
    tokens = _TOKENS.findall(text.strip())
    depths = [*accumulate((token == "(") - (token == ")") for token in tokens)]
    if min(depths, default=0) < 0:
        raise _syntax_error(text, "a closing bracket has no opening one")
    if depths and depths[-1]:
        raise _syntax_error(text, "a bracket is not closed")
    opened = next((place for place, depth in enumerate(depths) if depth), len(tokens))
    if 0 in depths[opened:-1]:
        raise _syntax_error(text, "there is text after the closing bracket")
    name, listed = ("".join(part) for part in (tokens[:opened], tokens[opened + 1 : -1]))
    return name.strip(), split_outside_brackets(listed, ",") if listed.strip() else []


def _syntax_error(text: str, reason: str) -> OptionError:
    return OptionError(f"`{text}` cannot be read: {reason}", "write `NAME(OPTION=VALUE, …)`")


def _option_text(value: object) -> str:
    """Return the text of an option value inside brackets, quoted if `PluginRegistry.parse` needs quotation marks."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    is_plain = isinstance(value, NestedPlugin) or (text == text.strip() and not set(text) & set('(),"') and text)
    return text if is_plain else json.dumps(text)


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        raise _syntax_error(text, "the quoted text is invalid") from None


def _help_for(name: str, known: Iterable[str]) -> str:
    listed = tuple(known)
    near = nearest_name(name, listed)
    choices = "choose from " + ", ".join(f"`{candidate}`" for candidate in listed)
    return f"did you mean `{near}`? {choices}" if near else choices
