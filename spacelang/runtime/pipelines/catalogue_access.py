"""Access to the operator catalogues: entries, classes, parameters set by the runtime, and the kind of task."""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from spacelang.catalog import Catalogue, CatalogueEntry, OperatorRole, packages
from spacelang.ir.space import (
    ABSTRACT_CATALOGUE,
    Choice,
    Hyperparameter,
    Node,
    Operator,
    Product,
    ProductKind,
    operators,
)
from spacelang.runtime.data.labels import TaskKind
from spacelang.runtime.errors import BuildError
from spacelang.text import NO_SPAN

QUIET_PARAMETERS: Final[Mapping[str, Mapping[str, int]]] = {
    "catboost": {"verbose": False, "allow_writing_files": False},
    "lightgbm": {"verbosity": -1},
    "xgboost": {"verbosity": 0},
}
"""Parameters, by catalogue, that stop operators from printing (past Python's streams) and from writing files."""
THREAD_PARAMETERS: Final[Mapping[str, str]] = {"catboost": "thread_count"}
"""The name of the parameter for the number of threads, by catalogue, if it is not `n_jobs`."""
CODES_ONLY: Final = frozenset({"XGBClassifier", "XGBRFClassifier"})  # The classes that accept only the labels 0, 1, …


def load_catalogue(name: str) -> Catalogue:
    """Return the named catalogue; raise BuildError if its package (checked before) is not installed or unreadable."""
    try:
        return packages.open_package_catalogue(name)
    except packages.PackageNotInstalledError as error:
        raise BuildError(str(error), error.remedy) from error
    except packages.UnreadablePackageError as error:
        raise BuildError(str(error)) from error


def catalogue_entry(operator: Operator) -> CatalogueEntry:
    """Return the catalogue entry of an operator; raise BuildError if there is none, as for an abstract operator."""
    if operator.catalogue == ABSTRACT_CATALOGUE:
        span = operator.span
        place = f", used in line {span.line} of `{span.source.name}`," if span.source is not NO_SPAN.source else ""
        raise BuildError(
            f"the abstract operator `{operator.name}`{place} has no class, so no pipeline can be built from it",
            "a space with abstract operators can be checked, counted and compiled, and searched by `ask_and_tell` or "
            "for an `objective`; `space.parameters(configuration)` returns the values of its operators",
        )
    return _catalogue_entry(operator.catalogue, operator.name)


@cache
def _catalogue_entry(catalogue_name: str, name: str) -> CatalogueEntry:
    """Return the entry of an operator by name; cached, because every trial needs all of its operators."""
    found = load_catalogue(catalogue_name).get(name)
    if found is None:
        raise BuildError(f"`{name}` is not in the catalogue `{catalogue_name}`")
    return found


def check_no_abstract_operators(root: Node) -> None:
    """Raise BuildError if a space has an abstract operator, which has no class."""
    for operator in operators(root):
        if operator.catalogue == ABSTRACT_CATALOGUE:
            catalogue_entry(operator)


def import_operator_class(operator: Operator) -> Any:
    """Import and return the class of an operator; raise BuildError if the library does not have it."""
    catalogue_entry(operator)
    return _class(operator.catalogue, operator.name)


@cache
def _class(catalogue_name: str, name: str) -> Any:
    try:
        return packages.import_operator_class(load_catalogue(catalogue_name), name)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


@cache
def undeprecated_parameters(catalogue_name: str, operator_name: str) -> frozenset[str]:
    """Return the names of the parameters that the runtime may set: those of the class that are not deprecated."""
    operator = Operator(operator_name, catalogue_name)
    known = catalogue_entry(operator).parameters
    signature = inspect.signature(import_operator_class(operator)).parameters.values()
    names = {parameter.name for parameter in signature if parameter.kind is not parameter.VAR_KEYWORD}
    if len(names) < len(signature):
        names.update(known)
    return frozenset(name for name in names if name not in known or known[name].deprecated is None)


def runtime_arguments(operator: Operator, *, n_jobs: int | None, random_state: int | None) -> dict[str, Any]:
    """Return the arguments that the runtime passes to a class: threads, random state, and those that suppress output.

    None and parameters that the class does not have are left out. Values that the space sets take precedence.
    """
    wanted = {THREAD_PARAMETERS.get(operator.catalogue, "n_jobs"): n_jobs, "random_state": random_state}
    names = undeprecated_parameters(operator.catalogue, operator.name)
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None and name in names}
    # These are set here although the catalogue does not let a space set them.
    return given | dict(QUIET_PARAMETERS.get(operator.catalogue, {}))


def import_catalogue_object(operator: Operator, parameter: str, name: str) -> Any:
    """Return the function or object that the catalogue names for a parameter; raise BuildError if there is none."""
    try:
        return packages.import_named_object(load_catalogue(operator.catalogue), operator.name, parameter, name)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


def task_kind(root: Node) -> TaskKind:
    """Return `classification` or `regression` by the last operators of a space; raise BuildError for a mixture."""
    last = tuple(_last_operators(root))
    roles = [catalogue_entry(operator).roles for operator in last]
    if roles and all(OperatorRole.CLASSIFIER in held for held in roles):
        return "classification"
    if roles and all(OperatorRole.REGRESSOR in held for held in roles):
        return "regression"
    help_text = "a space can be searched on data if all alternatives of its last stage predict the same kind of target"
    raise BuildError("the last stage must contain only classifiers or only regressors", help_text)


def single_target_operators(root: Node) -> tuple[str, ...]:
    """Return the names of the steps that cannot be fitted to several targets, by the tags of their libraries."""
    steps = dict.fromkeys(_steps(root))
    return tuple(dict.fromkeys(step.name for step in steps if not catalogue_entry(step).accepts_several_targets))


def _steps(node: Node) -> Iterator[Operator]:
    """Yield the operators that are steps, without those that are values of parameters."""
    match node:
        case Operator():
            yield node
        case Choice():
            for branch in node.branches:
                yield from _steps(branch.node)
        case Product():
            for child in node.children:
                yield from _steps(child)
        case Hyperparameter():
            return


def _last_operators(node: Node) -> tuple[Operator, ...]:
    match node:
        case Operator():
            return (node,)
        case Choice():
            return tuple(operator for branch in node.branches for operator in _last_operators(branch.node))
        case Product(kind=ProductKind.SEQUENCE, children=(*_, last)):
            return _last_operators(last)
        case Product():
            return tuple(operators(node))
        case Hyperparameter():
            return ()
