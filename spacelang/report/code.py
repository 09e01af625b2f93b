"""The found pipeline as code: stand-alone scikit-learn that anybody can read, run and change."""

import importlib
import inspect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Final

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.runtime.pipelines.build import build
from spacelang.runtime.pipelines.columns import Strings
from spacelang.runtime.pipelines.library import CODES_ONLY, catalogue
from spacelang.runtime.pipelines.preparation import Preparation

WIDTH: Final = 100
"""The longest line that is written where it can be helped."""

INDENT: Final = " " * 4
SKLEARN: Final = "sklearn"


def source(
    space: Space,
    configuration: Configuration,
    preparation: Preparation | None = None,
    *,
    random_state: int | None = None,
) -> str:
    """A Python module that defines `pipeline`, the unfitted pipeline of a configuration.

    It evaluates to what `build` makes with the same arguments and `n_jobs=None`, and says only what differs from the
    library's defaults. Raises BuildError as `build` does, TypeError for an object for which there is no code.
    """
    pipeline = build(space, configuration, preparation=preparation, random_state=random_state, n_jobs=None)
    prepares_table = preparation is not None and preparation.keeps_table and not preparation.is_empty
    writer = _Writer(pipeline[0] if prepares_table else None)
    text = writer.expression(pipeline, "")
    codes_only = sorted(CODES_ONLY & writer.modules.keys())
    notes = [f"# {name} takes the classes as 0, 1, …: code other labels with a LabelEncoder.\n" for name in codes_only]
    return f"{writer.imports}\n\n{''.join(notes)}pipeline = {text}\n"


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions and remembers what they need imported: by name, the module that has it.

    `table_maker` is the estimator whose output shall be a DataFrame, None where there is none.
    """

    table_maker: Any = None
    modules: dict[str, str] = field(default_factory=dict)

    @property
    def imports(self) -> str:
        """The import statements, sorted by module; experimental classes are enabled before their module is reached."""
        names: dict[str, list[str]] = {}
        for name, module in self.modules.items():
            names.setdefault(module, []).append(name)
        entries = (catalogue(SKLEARN).get(name) for name, module in self.modules.items() if module.startswith(SKLEARN))
        enabling = {entry.enabled_by for entry in entries if entry is not None and entry.enabled_by is not None}
        first = ["from {} import {}  # noqa: F401".format(*path.rsplit(".", 1)) for path in sorted(enabling)]
        return "\n".join(
            [*first, *(f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names))]
        )

    def expression(self, value: Any, indent: str) -> str:
        """The expression that evaluates to a value; the lines after the first begin with `indent`."""
        line = self.flat(value)
        # What stands around an expression (a name before it, brackets behind it) takes its room too.
        if len(indent) + len(line) <= WIDTH - 16:
            return line
        match value:
            case tuple() | list() if all(isinstance(item, str) for item in value):
                return f"{line[0]}\n{_filled([self.flat(item) for item in value], indent + INDENT)}\n{indent}{line[-1]}"
            case tuple() | list():
                items = [self.expression(item, indent + INDENT) for item in value]
                return _lines(line[0], items, line[-1], indent)
            case _ if _is_estimator(value):
                return self.broken_call(value, indent)
            case _:
                return line

    def flat(self, value: Any) -> str:
        """The expression on one line."""
        match value:
            case np.generic():
                return self.flat(value.item())
            case None | bool() | int() | float() | str():
                return _literal(value)
            case list():
                return f"[{', '.join(map(self.flat, value))}]"
            case tuple():
                return f"({', '.join(map(self.flat, value))}{',' if len(value) == 1 else ''})"
            case slice():
                return f"slice({self.flat(value.stop)})"
            case _ if inspect.isfunction(value) or inspect.isclass(value):
                return self.imported(value.__name__, value)
            case _:
                return self.call(value)

    def call(self, value: Any) -> str:
        """The call of a constructor on one line; raises TypeError for an object that no constructor is known of."""
        if _selects_columns(value):
            given = (f"{name}={self.flat(argument)}" for name, argument in _fields(value) if argument is not None)
            return f"{self.constructor(value)}({', '.join(given)})"
        if not _is_estimator(value):
            raise TypeError(f"there is no code for an object of the type {type(value).__name__}")
        arguments = [f"{lead}{self.flat(argument)}" for lead, argument in _arguments(value)]
        return f"{self.constructor(value)}({', '.join(arguments)}){self.wish(value)}"

    def broken_call(self, estimator: Any, indent: str) -> str:
        """A constructor's call on several lines; a pipeline's only argument hugs the brackets."""
        name, given = self.constructor(estimator), _arguments(estimator)
        if len(given) == 1 and isinstance(given[0][1], list):
            lead, argument = given[0]
            return f"{name}({lead}{self.expression(argument, indent)}){self.wish(estimator)}"
        items = [f"{lead}{self.expression(argument, indent + INDENT)}" for lead, argument in given]
        return _lines(f"{name}(", items, f"){self.wish(estimator)}", indent)

    def constructor(self, estimator: Any) -> str:
        """The name of an estimator's class, now imported."""
        return self.imported(type(estimator).__name__, type(estimator))

    def wish(self, estimator: Any) -> str:
        """The call behind the constructor that asks for a DataFrame, where one is wanted."""
        return '.set_output(transform="pandas")' if estimator is self.table_maker else ""

    def imported(self, name: str, member: Any) -> str:
        """The name of a class or function, now imported from its public module."""
        module = _public_module(member.__module__, name)
        if self.modules.setdefault(name, module) != module:
            raise TypeError(f"`{name}` of {module} has the same name as that of {self.modules[name]}")
        return name


@cache
def _public_module(module: str, name: str) -> str:
    """The module from which a name should be imported: the outermost public one that has it."""
    parts = module.split(".")
    member = getattr(importlib.import_module(module), name)
    for length in range(1, len(parts)):
        outer = ".".join(parts[:length])
        if parts[length - 1].startswith("_"):
            break
        if getattr(importlib.import_module(outer), name, None) is member:
            return outer
    return module


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params")


def _selects_columns(value: Any) -> bool:
    """Whether a value is one of the objects that `columns(…)` selects with."""
    from sklearn.compose import make_column_selector

    return isinstance(value, make_column_selector | Strings)


def _fields(selector: Any) -> list[tuple[str, Any]]:
    names = [field.name for field in fields(selector)] if isinstance(selector, Strings) else [*vars(selector)]
    return [(name, getattr(selector, name)) for name in names]


def _arguments(estimator: Any) -> list[tuple[str, Any]]:
    """The arguments that a constructor needs, each after what leads it in: `name=`, nothing for a required one."""
    values = estimator.get_params(deep=False)
    given = []
    for name, default in _defaults(type(estimator), values).items():
        if default is inspect.Parameter.empty:
            given.append(("", values[name]))
        elif not _same(values[name], default):
            given.append((f"{name}=", values[name]))
    return given


def _defaults(estimator: type, values: Iterable[str]) -> dict[str, Any]:
    """The default of each parameter that has a value, in the order of the constructor."""
    parameters = inspect.signature(estimator).parameters
    known = {name: parameter.default for name, parameter in parameters.items() if name in values}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        # What a constructor only hands on (xgboost's do) has the default that an instance has, if it is no addition.
        instance = estimator().get_params(deep=False)
        known |= {name: instance.get(name) for name in values if name not in known}
    return known


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and repr(value) == repr(default)


def _lines(opening: str, items: list[str], closing: str, indent: str) -> str:
    return "\n".join([opening, *(f"{indent}{INDENT}{item}," for item in items), f"{indent}{closing}"])


def _filled(items: list[str], indent: str) -> str:
    """Short items, as many on each line as there is room for."""
    lines = [indent + items[0]]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 > WIDTH:
            lines[-1] += ","
            lines.append(indent + item)
        else:
            lines[-1] += f", {item}"
    return "\n".join(lines) + ","


def _literal(value: str | float | None) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _quoted(text: str) -> str:
    written = repr(text)
    return written if '"' in text else f'"{written[1:-1]}"'
