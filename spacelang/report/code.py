"""The found pipeline as code: stand-alone scikit-learn that anybody can read, run and change."""

import inspect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from spacelang.grouping import grouped
from spacelang.runtime.data.reading import PLAIN, Reading
from spacelang.runtime.ensembles.hard_vote import HardVote
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.columns import EachColumn, Strings
from spacelang.runtime.pipelines.labelled import learns_codes, votes_alone
from spacelang.runtime.pipelines.library import CODES_ONLY, catalogue

WIDTH: Final = 100
"""The longest line that is written where it can be helped."""

INDENT: Final = " " * 4
SKLEARN: Final = "sklearn"

NO_TABLE: Final = "there is no code for a pipeline that reads text as long as it is not known which columns hold it"


def source(pipeline: Any, name: str = "pipeline") -> str:
    """A Python module that defines `pipeline`, or a vote of pipelines, unfitted: it needs only the libraries of steps.

    It evaluates to an equal one, called `name`, and says only what differs from the library's defaults. Raises
    TypeError for an object for which there is no code, BuildError for what finds columns of text only when it is
    fitted.
    """
    writer = CodeWriter([each[0] for each in _pipelines(pipeline)])
    text = writer.expression(pipeline, "")
    codes_only = " and ".join(sorted(CODES_ONLY & {name for _, name in writer.members.values()}))
    note = ""
    if learns_codes(pipeline):
        note = f"# The classes must be 0, 1, … for {codes_only}: code other labels with a LabelEncoder.\n"
    elif writer.votes:
        note = f"# A vote of one codes the labels, as {codes_only} takes the classes 0, 1, … only.\n"
    parts = [writer.imports, *([f"{_hard_vote()}\n"] if writer.hard_votes else []), f"{note}{name} = {text}"]
    return "\n\n".join(parts) + "\n"


def fitting(reference: str, label: str, name: str = "pipeline", reading: Reading = PLAIN) -> str | None:
    """A line of Python that fits what is called `name` to the data of a reference, with labels in the column `label`.

    Its file was read as `reading` says. None for data that no line of pandas or scikit-learn reads as this package
    does.
    """
    scheme, _, shipped = reference.partition(":")
    if scheme == "sklearn" and label == "target" and not reading.drop_columns:
        load = f"load_{shipped}"
        return f"from sklearn.datasets import {load}; {name}.fit(*{load}(return_X_y=True, as_frame=True))"
    if not reference.lower().endswith((".csv", ".csv.gz")):
        return None
    column = _quoted(label)
    others = f"[{', '.join(map(_quoted, (label, *reading.drop_columns)))}]" if reading.drop_columns else column
    said = "".join(f", {option}={_quoted(value)}" for option, value in reading.of_text.items())
    table = f"table = pandas.read_csv({_quoted(reference)}, low_memory=False{said})"
    return f"import pandas; {table}; {name}.fit(table.drop(columns={others}), table[{column}])"


def written(value: object) -> str:
    """The expression that evaluates to a plain value: numbers, texts, and lists of them."""
    return CodeWriter([]).expression(value, "")


@dataclass(frozen=True, slots=True)
class CodeWriter:
    """Writes expressions and remembers what they need imported: by its name here, the module and its name there.

    `firsts` are the first steps, the only ones that may be asked for a DataFrame; `votes` are those of one classifier.
    `hard_votes` are those members of a vote whose class is none of a library.
    """

    firsts: list[Any]
    members: dict[str, tuple[str, str]] = field(default_factory=dict)
    votes: list[Any] = field(default_factory=list)
    hard_votes: list[Any] = field(default_factory=list)

    @property
    def imports(self) -> str:
        """The import statements, sorted by module; experimental classes are enabled before their module is reached."""
        members = self.members.items()
        names = grouped((path, name if here == name else f"{name} as {here}") for here, (path, name) in members)
        entries = (catalogue(SKLEARN).get(name) for module, name in self.members.values() if module.startswith(SKLEARN))
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
            case _ if inspect.isroutine(value) or inspect.isclass(value):
                return self.imported(value.__name__, value)
            case _:
                return self.call(value)

    def call(self, value: Any) -> str:
        """The call of a constructor on one line; raises TypeError for an object that no constructor is known of."""
        if _selects_columns(value):
            given = (f"{name}={self.flat(argument)}" for name, argument in vars(value).items() if argument is not None)
            return f"{self.constructor(value)}({', '.join(given)})"
        if isinstance(value, Strings | EachColumn):
            raise BuildError(NO_TABLE, "run the space on data")
        if not _is_estimator(value):
            raise TypeError(f"there is no code for an object of the type {type(value).__name__}")
        if votes_alone(value):
            self.votes.append(value)
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
        """The name of an estimator's class, now imported, or written out where no library has it."""
        if not isinstance(estimator, HardVote):
            return self.imported(type(estimator).__name__, type(estimator))
        self.hard_votes.append(estimator)
        return str(HardVote.__name__)

    def wish(self, estimator: Any) -> str:
        """The call behind the constructor that asks for a DataFrame, where one is wanted."""
        is_asked = any(estimator is each for each in self.firsts) and "_sklearn_output_config" in vars(estimator)
        return '.set_output(transform="pandas")' if is_asked else ""

    def imported(self, name: str, member: Any) -> str:
        """What a class or function is called here, now imported from its public module.

        That is its name, behind that of its package where another has the name already: pipelines of two libraries do.
        """
        wanted = _public_module(member.__module__, name), name
        package = wanted[0].partition(".")[0].title().replace("_", "")
        for here in (name, f"{package}{name}", *(f"{package}{name}{number}" for number in range(2, 99))):
            if self.members.setdefault(here, wanted) == wanted:
                return here
        raise TypeError(f"there are too many objects called `{name}`")


def _pipelines(estimator: Any) -> list[Any]:
    """The pipeline itself, or those that are the members of a vote."""
    members = [each for _, each in estimator.estimators] if hasattr(estimator, "estimators") else [estimator]
    return [each.estimator if isinstance(each, HardVote) else each for each in members]


def _hard_vote() -> str:
    """The source of the class without the docstring of its module, nor what is said to the tools of this package."""
    text = inspect.getsource(import_module(HardVote.__module__)).split('"""', 2)[2].strip()
    return text.replace("  # type: ignore[misc]", "")


@cache
def _public_module(module: str, name: str) -> str:
    """The module from which a name should be imported: the outermost public one that has it."""
    parts = module.split(".")
    member = getattr(import_module(module), name)
    for length in range(1, len(parts)):
        outer = ".".join(parts[:length])
        if parts[length - 1].startswith("_"):
            break
        if getattr(import_module(outer), name, None) is member:
            return outer
    return module


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params")


def _selects_columns(value: Any) -> bool:
    """Whether a value is one of the objects that `columns(…)` selects with."""
    from sklearn.compose import make_column_selector

    return isinstance(value, make_column_selector)


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
