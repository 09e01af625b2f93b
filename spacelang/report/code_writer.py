"""Write Python code: literals, pipelines, the imports they need, and functions that are copied into modules."""

import ast
import inspect
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import numpy as np

from spacelang.grouping import group_by_key
from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, ReadOptions
from spacelang.runtime.ensembles import one_hot_probability_classifier
from spacelang.runtime.ensembles.one_hot_probability_classifier import OneHotProbabilityClassifier
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.build import is_vote_of_one_classifier, needs_label_codes
from spacelang.runtime.pipelines.catalogue_access import CODES_ONLY, load_catalogue
from spacelang.runtime.pipelines.columns import EachColumn, StringColumnSelector

WIDTH: Final = 100  # The maximum line length, exceeded only by expressions that cannot be broken
INDENT: Final = " " * 4
SKLEARN: Final = "sklearn"
NEEDS_DATA: Final = "a pipeline that reads text cannot be written as code before it is known which columns hold text"


def pipeline_module_source(pipeline: Any, name: str = "pipeline") -> str:
    """Return a Python module that defines the unfitted pipeline, or vote of pipelines, under the given name.

    The module needs only the libraries of the steps. The expression evaluates to an equal pipeline, and has only the
    arguments that differ from the defaults of the libraries. Raises TypeError for an object that cannot be written as
    code, and BuildError for a step that finds columns of text only when it is fitted.
    """
    writer = CodeWriter([each[0] for each in _member_pipelines(pipeline)])
    text = writer.multiline_expression(pipeline, "")
    codes_only = " and ".join(sorted(CODES_ONLY & {name for _, name in writer.members.values()}))
    note = ""
    if needs_label_codes(pipeline):
        note = f"# The classes must be 0, 1, … for {codes_only}: encode other labels with a LabelEncoder.\n"
    elif writer.votes:
        names = " and ".join(sorted({type(vote.estimators[0][1]).__name__ for vote in writer.votes}))
        note = f"# A vote of one member encodes the labels, because {names} does not accept them as they are.\n"
    copied = [f"{module_source_to_copy(one_hot_probability_classifier)}\n"] if writer.hard_votes else []
    return "\n\n".join([writer.import_statements, *copied, f"{note}{name} = {text}"]) + "\n"


def fit_statement(
    reference: str, labels: Sequence[str], name: str = "pipeline", reading: ReadOptions = DEFAULT_OPTIONS
) -> str | None:
    """Return a line of Python that reads the data `reference` and fits the pipeline `name` to it.

    `labels` are the target columns. None unless the data is a CSV file or a data set that scikit-learn ships.
    """
    scheme, _, shipped = reference.partition(":")
    if scheme == "sklearn" and [*labels] == ["target"] and not reading.drop_columns:
        load = f"load_{shipped}"
        return f"from sklearn.datasets import {load}; {name}.fit(*{load}(return_X_y=True, as_frame=True))"
    if not reference.lower().endswith((".csv", ".csv.gz")):
        return None
    targets, others = (_quoted_columns(names) for names in (labels, (*labels, *reading.drop_columns)))
    options = "".join(f", {option}={_quoted(value)}" for option, value in reading.non_default_text_file_options.items())
    table = f"table = pandas.read_csv({_quoted(reference)}, low_memory=False{options})"
    return f"import pandas; {table}; {name}.fit(table.drop(columns={others}), table[{targets}])"


def _quoted_columns(names: Sequence[str]) -> str:
    """Return the code of a column name, or of a list of several."""
    return _quoted(names[0]) if len(names) == 1 else f"[{', '.join(map(_quoted, names))}]"


def literal_expression(value: object) -> str:
    """Return the expression that evaluates to a plain value: a number, a string, or a list of them."""
    return CodeWriter([]).multiline_expression(value, "")


@dataclass(frozen=True, slots=True)
class CodeWriter:
    """A writer of expressions that collects the imports they need.

    `members` maps a name in the code to its module and its name in that module. `firsts` are the first steps of
    pipelines, the only ones that may be asked for a DataFrame. `votes` collects votes with a single classifier, and
    `hard_votes` the members of a vote whose class is in no library.
    """

    firsts: list[Any]
    members: dict[str, tuple[str, str]] = field(default_factory=dict)
    votes: list[Any] = field(default_factory=list)
    hard_votes: list[Any] = field(default_factory=list)

    @property
    def import_statements(self) -> str:
        """The import statements by module; those that enable experimental classes of scikit-learn come first."""
        members = self.members.items()
        names = group_by_key((path, name if here == name else f"{name} as {here}") for here, (path, name) in members)
        entries = (
            load_catalogue(SKLEARN).get(name) for module, name in self.members.values() if module.startswith(SKLEARN)
        )
        enabling = {entry.enabled_by for entry in entries if entry is not None and entry.enabled_by is not None}
        first = ["from {} import {}  # noqa: F401".format(*path.rsplit(".", 1)) for path in sorted(enabling)]
        others = (f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names))
        return "\n".join([*first, *others])

    def multiline_expression(self, value: Any, indent: str) -> str:
        """Return the expression for a value; if it is long, in lines that begin with `indent` after the first."""
        line = self.one_line_expression(value)
        # Leave room for what surrounds the expression: a name before it, brackets after it.
        if len(indent) + len(line) <= WIDTH - 16:
            return line
        match value:
            case tuple() | list() if all(isinstance(item, str) for item in value):
                filled = _fill_lines([self.one_line_expression(item) for item in value], indent + INDENT)
                return f"{line[0]}\n{filled}\n{indent}{line[-1]}"
            case tuple() | list():
                return _lines(
                    line[0], [self.multiline_expression(item, indent + INDENT) for item in value], line[-1], indent
                )
            case _ if hasattr(value, "get_params"):
                return self.multiline_call(value, indent)
            case _:
                return line

    def one_line_expression(self, value: Any) -> str:
        """Return the expression that evaluates to a value, on one line."""
        match value:
            case np.generic():
                return self.one_line_expression(value.item())
            case None | bool() | int() | float() | str():
                return _literal(value)
            case list():
                return f"[{', '.join(map(self.one_line_expression, value))}]"
            case tuple():
                return f"({', '.join(map(self.one_line_expression, value))}{',' if len(value) == 1 else ''})"
            case slice():
                return f"slice({self.one_line_expression(value.stop)})"
            case _ if inspect.isroutine(value) or inspect.isclass(value):
                return self.import_member(value.__name__, value)
            case _:
                return self.one_line_call(value)

    def one_line_call(self, value: Any) -> str:
        """Return the call of a value's constructor on one line.

        Raises TypeError for a value that cannot be written as code, and BuildError for an object that finds columns of
        text when it is fitted.
        """
        from sklearn.compose import make_column_selector
        from sklearn.model_selection import KFold, StratifiedKFold

        if isinstance(value, KFold | StratifiedKFold):
            texts = (f"{name}={self.one_line_expression(argument)}" for name, argument in vars(value).items())
            return f"{self.import_class(value)}({', '.join(texts)})"
        if isinstance(value, make_column_selector):
            given = ((name, argument) for name, argument in vars(value).items() if argument is not None)
            texts = (f"{name}={self.one_line_expression(argument)}" for name, argument in given)
            return f"{self.import_class(value)}({', '.join(texts)})"
        if isinstance(value, StringColumnSelector | EachColumn):
            raise BuildError(NEEDS_DATA, "run the space on data")
        if not hasattr(value, "get_params"):
            raise TypeError(f"an object of the type {type(value).__name__} cannot be written as code")
        if is_vote_of_one_classifier(value):
            self.votes.append(value)
        arguments = [f"{lead}{self.one_line_expression(argument)}" for lead, argument in _arguments(value)]
        return f"{self.import_class(value)}({', '.join(arguments)}){self.set_output_call(value)}"

    def multiline_call(self, estimator: Any, indent: str) -> str:
        """Return the call of a constructor on several lines; a pipeline's list of steps opens on the first line."""
        name, given = self.import_class(estimator), _arguments(estimator)
        if len(given) == 1 and isinstance(given[0][1], list):
            lead, argument = given[0]
            return f"{name}({lead}{self.multiline_expression(argument, indent)}){self.set_output_call(estimator)}"
        items = [f"{lead}{self.multiline_expression(argument, indent + INDENT)}" for lead, argument in given]
        return _lines(f"{name}(", items, f"){self.set_output_call(estimator)}", indent)

    def import_class(self, estimator: Any) -> str:
        """Return the name of an object's class, and import it.

        `OneHotProbabilityClassifier` is copied into the module.
        """
        if not isinstance(estimator, OneHotProbabilityClassifier):
            return self.import_member(type(estimator).__name__, type(estimator))
        self.hard_votes.append(estimator)
        return str(OneHotProbabilityClassifier.__name__)

    def set_output_call(self, estimator: Any) -> str:
        """Return `.set_output(...)` to append to a first step that was asked for DataFrames; "" for others."""
        is_asked = any(estimator is each for each in self.firsts) and "_sklearn_output_config" in vars(estimator)
        return '.set_output(transform="pandas")' if is_asked else ""

    def import_member(self, name: str, member: Any) -> str:
        """Import a class or function; return its name in the code: `name`, prefixed by its package if that is taken."""
        wanted = _public_module(member.__module__, name), name
        package = wanted[0].partition(".")[0].title().replace("_", "")
        for here in (name, f"{package}{name}", *(f"{package}{name}{number}" for number in range(2, 99))):
            if self.members.setdefault(here, wanted) == wanted:
                return here
        raise TypeError(f"the pipeline has too many different objects called `{name}`")


def _member_pipelines(estimator: Any) -> list[Any]:
    members = [each for _, each in estimator.estimators] if hasattr(estimator, "estimators") else [estimator]
    return [each.estimator if isinstance(each, OneHotProbabilityClassifier) else each for each in members]


def module_source_to_copy(module: ModuleType) -> str:
    """Return the source code of a module for copying into another one, without its docstring and tool comments."""
    code = inspect.getsource(module).split('"""', 2)[2]
    return re.sub("  # type: ignore.*|\n*.*make_module_getattr.*", "", code).strip()


def definitions_used_by(module: ModuleType, callers: str) -> tuple[str, dict[str, set[str]]]:
    """Return the source of the definitions of a module that other code uses, and the names that they import by module.

    `callers` is the other code. Definitions used by these definitions are included, so the module must define
    everything before it uses it. A module that is imported as a whole (`import math`) has an empty set of names.
    """
    lines = inspect.getsource(module).split("\n")
    statements = [each for each in ast.parse("\n".join(lines)).body if not isinstance(each, ast.Expr)]
    needed, found, imports = _used_names(ast.parse(callers)), list[str](), dict[str, set[str]]()
    end = len(lines)
    for each in reversed(statements):
        match each:
            case ast.Import(names=[ast.alias(name=name)]) if name in needed:
                imports[name] = set()
            case ast.ImportFrom(module=str(origin), names=names) if taken := needed & {alias.name for alias in names}:
                imports[origin] = taken
            case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]) if name in needed:
                needed |= _used_names(each)
                found.append("\n".join(lines[each.lineno - 1 : end]).strip())
        end = each.lineno - 1
    return "\n\n\n".join(reversed(found)), imports


def _used_names(code: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(code) if isinstance(each, ast.Name)}


@cache
def _public_module(module: str, name: str) -> str:
    """Return the outermost public module that has the member, from which it should be imported."""
    parts = module.split(".")
    member = getattr(import_module(module), name)
    for length in range(1, len(parts)):
        outer = ".".join(parts[:length])
        if parts[length - 1].startswith("_"):
            break
        if getattr(import_module(outer), name, None) is member:
            return outer
    return module


def _arguments(estimator: Any) -> list[tuple[str, Any]]:
    """Return the arguments to write, as pairs of a prefix and a value, in the order of the constructor.

    The prefix is `name=` for a value that differs from its default, and "" for a parameter without a default.
    """
    values = estimator.get_params(deep=False)
    given = []
    for name, default in _defaults(type(estimator), values).items():
        if default is inspect.Parameter.empty:
            given.append(("", values[name]))
        elif not _same(values[name], default):
            given.append((f"{name}=", values[name]))
    return given


def _defaults(estimator: type, values: Iterable[str]) -> dict[str, Any]:
    """Return the default of each parameter named in `values`, in the order of the constructor; `empty` without one."""
    parameters = inspect.signature(estimator).parameters
    known = {name: parameter.default for name, parameter in parameters.items() if name in values}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        # Parameters in `**kwargs` (as in xgboost) have the default of an instance, unless they are unknown to it.
        instance = estimator().get_params(deep=False)
        known |= {name: instance.get(name) for name in values if name not in known}
    return known


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and repr(value) == repr(default)


def _lines(opening: str, items: list[str], closing: str, indent: str) -> str:
    return "\n".join([opening, *(f"{indent}{INDENT}{item}," for item in items), f"{indent}{closing}"])


def _fill_lines(items: list[str], indent: str) -> str:
    """Return short items with commas, as many on each line as fit."""
    lines = [indent + items[0]]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 > WIDTH:
            lines.append(indent + item)
        else:
            lines[-1] += f", {item}"
    return ",\n".join(lines) + ","


def _literal(value: str | float | None) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _quoted(text: str) -> str:
    written = repr(text)
    return written if '"' in text else f'"{written[1:-1]}"'


THERE: Final = '''\
def there(steps: Sequence[tuple[str | None, Any]]) -> list[Step]:
    """Return the steps that are not left out. A step without a name gets that of its class."""
    return [(type(part).__name__.lower() if name is None else name, part) for name, part in steps if part is not None]
'''
CHAIN: Final = '''\
def chain(steps: Sequence[tuple[str | None, Any]]) -> Any:
    """Return the steps as one: None if all are left out, the only step, or a pipeline."""
    kept = there(steps)
    return pipeline(kept) if len(kept) > 1 else kept[0][1] if kept else None
'''
PIPELINE: Final = '''\
def pipeline(steps: Sequence[Step]) -> Any:
    """Return the pipeline of the steps, with unique names."""
    return Pipeline(with_distinct_names(steps))
'''
RESAMPLING: Final = '''\
def pipeline(steps: Sequence[Step]) -> Any:
    """Return the pipeline of the steps, with unique names; that of imbalanced-learn if a step resamples rows."""
    chained = flatten_for_resampling(steps)
    return pipeline_class(chained)(with_distinct_names(chained))
'''
UNION: Final = '''\
def union(sides: Sequence[tuple[str | None, Any]]) -> Any:
    """Return the union of the parts that are not left out, or None if all are left out."""
    kept = there(sides)
    return FeatureUnion(with_distinct_names(kept)) if kept else None
'''
PASSED: Final = '''\
def passed(part: Any) -> Any:
    """Return the transformer for `ColumnTransformer`. If it is left out, its columns pass through unchanged."""
    return "passthrough" if part is None else part
'''
ORDERED: Final = '''\
def ordered(order: str, steps: Mapping[str, Sequence[tuple[str | None, Any]]]) -> list[tuple[str | None, Any]]:
    """Return the steps in the given order, which is written as their labels with commas between them."""
    orders = {", ".join(labels): labels for labels in permutations(steps)}
    return [step for label in orders[order] for step in steps[label]]
'''
UNKNOWN: Final = '''\
def unknown(name: object, key: str) -> ValueError:
    """Return the error for a name that is no alternative of the decision."""
    return ValueError(f"`{name}` is not an alternative of `{key}`")
'''
BUILD: Final = '''\
def build(configuration: Mapping[str, Any], random_state: int | None = None) -> Any:
    """Return the unfitted pipeline of a configuration.

    Raises ValueError for an unknown alternative, and KeyError for a missing decision. Ranges and constraints are not
    checked. Preparations of a task, such as handling missing values, are not part of the pipeline.
    """
    given = {{key: value.item() if hasattr(value, "item") else value for key, value in configuration.items()}}
    steps = there({steps})
    if not steps:
        raise ValueError("every step of the pipeline is left out")
    return pipeline(steps)
'''
TUPLE_OF: Final = '''\
def tuple_of(given: Mapping[str, Any], key: str, kind: Any = lambda value: value) -> tuple[Any, ...]:
    """Return the tuple of as many elements as its length says."""
    numbers = range(1, int(given[f"{key}.length"]) + 1)
    return tuple(kind(given[f"{key}[{number}]"]) for number in numbers)
'''
USES: Final = {"chain": CHAIN, "union": UNION, "passed": PASSED, "ordered": ORDERED, "tuple_of": TUPLE_OF}
"""The functions that a module has only if it calls them."""
ESTIMATOR: Final = '''\
class Estimator(ConfigurationEstimator):
    """An estimator that is the pipeline of a configuration, for `RandomizedSearchCV(Estimator(), dictionaries)`."""

    kind = {kind}

    def build(self) -> Any:
        """Return the unfitted pipeline."""
        return build(decode(default) if self.configuration is None else self.configuration, self.random_state)
'''
