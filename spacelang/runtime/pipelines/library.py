"""What the runtime asks of the catalogues: entries, classes, and the kind of task that a space is for."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from spacelang.catalog import Catalogue, CatalogueEntry, Role
from spacelang.catalog.packages import NotInstalledError, UnreadablePackageError, open_package
from spacelang.catalog.resolve import named_object, operator_class
from spacelang.ir.space import ABSTRACT, Choice, Hyperparameter, Kind, Node, Operator, Product, operators
from spacelang.runtime.data.labels import TaskKind
from spacelang.runtime.errors import BuildError
from spacelang.text import NOWHERE

QUIET: Final[Mapping[str, Mapping[str, int]]] = {
    "catboost": {"verbose": False, "allow_writing_files": False},
    "lightgbm": {"verbosity": -1},
    "xgboost": {"verbosity": 0},
}
"""What operators of a catalogue are given so that they print nothing and leave no files: all write past Python."""

THREADS: Final[Mapping[str, str]] = {"catboost": "thread_count"}
"""What the number of threads is called, by catalogue, where it is not `n_jobs`."""

CODES_ONLY: Final = frozenset({"XGBClassifier", "XGBRFClassifier"})
"""The classes that take no labels but the codes 0, 1, …"""


def catalogue(name: str) -> Catalogue:
    """The catalogue with this name; raises BuildError where its package is not installed or cannot be read.

    That the package was allowed has been asked when the space was checked.
    """
    try:
        return open_package(name)
    except NotInstalledError as error:
        raise BuildError(str(error), error.remedy) from error
    except UnreadablePackageError as error:
        raise BuildError(str(error)) from error


def entry(operator: Operator) -> CatalogueEntry:
    """What the catalogue says about an operator; raises BuildError for one that it does not know."""
    if operator.catalogue == ABSTRACT:
        span = operator.span
        place = f", used in line {span.line} of `{span.source.name}`," if span.source is not NOWHERE.source else ""
        raise BuildError(
            f"the abstract operator `{operator.name}`{place} has no class, so no pipeline can be built of it",
            "a space with abstract operators can be checked, counted and compiled, and searched by `ask_and_tell` or "
            "for an `objective`",
        )
    return _entry(operator.catalogue, operator.name)


@cache
def _entry(catalogue_name: str, name: str) -> CatalogueEntry:
    """Looked up once: every trial asks for all of its operators."""
    found = catalogue(catalogue_name).get(name)
    if found is None:
        raise BuildError(f"`{name}` is not in the catalogue `{catalogue_name}`")
    return found


def check_buildable(root: Node) -> None:
    """Raise BuildError for a space with an abstract operator, which no library has."""
    for operator in operators(root):
        if operator.catalogue == ABSTRACT:
            entry(operator)


def class_of(operator: Operator) -> Any:
    """The class of an operator, imported; raises BuildError where the library does not have it."""
    entry(operator)
    return _class(operator.catalogue, operator.name)


@cache
def _class(catalogue_name: str, name: str) -> Any:
    try:
        return operator_class(catalogue(catalogue_name), name)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


@cache
def settable(catalogue_name: str, operator_name: str) -> frozenset[str]:
    """The names of the parameters that the runtime may set: those that the class has and does not warn about."""
    operator = Operator(operator_name, catalogue_name)
    known = entry(operator).parameters
    signature = inspect.signature(class_of(operator)).parameters.values()
    names = {parameter.name for parameter in signature if parameter.kind is not parameter.VAR_KEYWORD}
    if len(names) < len(signature):
        names.update(known)
    return frozenset(name for name in names if name not in known or known[name].deprecated is None)


def set_by_runtime(operator: Operator, *, n_jobs: int | None, random_state: int | None) -> dict[str, Any]:
    """What the runtime gives an operator beside what the space says; a space may set the random state itself."""
    wanted = {THREADS.get(operator.catalogue, "n_jobs"): n_jobs, "random_state": random_state}
    names = settable(operator.catalogue, operator.name)
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None and name in names}
    # Whether words of a text may set it is another question: the catalogue says no.
    return given | dict(QUIET.get(operator.catalogue, {}))


def object_of(operator: Operator, parameter: str, name: str) -> Any:
    """The function or object that the catalogue lists by name for a parameter; raises BuildError where it does not."""
    try:
        return named_object(catalogue(operator.catalogue), operator.name, parameter, name)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


def task_kind(root: Node) -> TaskKind:
    """Whether the pipelines of a space end in classifiers or in regressors; raises BuildError for neither or both."""
    last = tuple(_last(root))
    roles = [entry(operator).roles for operator in last]
    if roles and all(Role.CLASSIFIER in held for held in roles):
        return "classification"
    if roles and all(Role.REGRESSOR in held for held in roles):
        return "regression"
    raise BuildError(
        "the last stage holds neither classifiers alone nor regressors alone",
        "a space can be run if every alternative of its last stage predicts the same kind of label",
    )


def _last(node: Node) -> tuple[Operator, ...]:
    """The operators in which pipelines of the node can end."""
    match node:
        case Operator():
            return (node,)
        case Choice():
            return tuple(operator for branch in node.branches for operator in _last(branch.node))
        case Product(kind=Kind.SEQUENCE, children=(*_, last)):
            return _last(last)
        case Product():
            return tuple(operators(node))
        case Hyperparameter():
            return ()
