"""Short ways to check a text."""

from spacelang.analysis import CheckResult, check
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.ir.domain import literal
from spacelang.ir.expr import Expr
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.serialization.syntax_nodes import format_expression
from spacelang.text import Source


def checked(text: str) -> CheckResult:
    return check(Source("spelled.space", text))


def space(text: str) -> Space:
    """The space of a text about which there is nothing to say."""
    found = checked(text)
    assert found.diagnostics == ()
    assert found.space is not None
    return found.space


def found(text: str) -> list[str]:
    """What is found, each as its code with the text that it underlines."""
    return [f"{diagnostic.code} {diagnostic.primary.text}" for diagnostic in checked(text).diagnostics]


def one(text: str) -> Diagnostic:
    """The one thing that is found."""
    (diagnostic,) = checked(text).diagnostics
    return diagnostic


def hyperparameter(text: str, address: str) -> Hyperparameter:
    node = space(text).variables[address].node
    assert isinstance(node, Hyperparameter)
    return node


def decision(text: str, address: str) -> Choice:
    node = space(text).variables[address].node
    assert isinstance(node, Choice)
    return node


def condition(text: str, address: str) -> str:
    node = hyperparameter(text, address)
    assert node.condition is not None
    return shown(node.condition)


def constraints(text: str) -> list[str]:
    """The constraints, warnings aside."""
    space = checked(text).space
    assert space is not None
    return [f"{'forbid' if c.forbidden else 'require'} {shown(c.expression)}" for c in space.constraints]


def shown(expression: Expr) -> str:
    return format_expression(expression)


def default(text: str, address: str) -> str:
    return literal(hyperparameter(text, address).default)
