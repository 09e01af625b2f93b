"""What the runtime asks of the catalogues: entries, classes, and the kind of task that a space is for."""

from functools import cache
from typing import Any

from spacelang.catalog import Catalogue, Role, load
from spacelang.catalog import Operator as Entry
from spacelang.catalog.resolve import named_object, operator_class
from spacelang.ir.space import Choice, Hyperparameter, Kind, Node, Operator, Product, operators
from spacelang.runtime.errors import BuildError
from spacelang.runtime.labels import TaskKind


@cache
def catalogue(name: str) -> Catalogue:
    """The catalogue with this name, read once; raises BuildError where there is none."""
    try:
        return load(name)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


def entry(operator: Operator) -> Entry:
    """What the catalogue says about an operator; raises BuildError for one that it does not know."""
    found = catalogue(operator.catalogue).get(operator.name)
    if found is None:
        raise BuildError(
            f"`{operator.name}` is not in the catalogue `{operator.catalogue}`",
            "an abstract operator can be checked and searched, but not run",
        )
    return found


def class_of(operator: Operator) -> Any:
    """The class of an operator, imported; raises BuildError where the library does not have it."""
    entry(operator)
    try:
        return operator_class(catalogue(operator.catalogue), operator.name)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


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
