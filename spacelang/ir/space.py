"""The space itself: a tree of decisions and hyperparameters with the constraints over them.

Structure is a tree of products and choices because every optimizer asks "which branch?". Conditions stay
expressions; each target decides how to keep them and says so in its report.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Final, TypeAlias

from spacelang.facts import Computing, fact
from spacelang.grouping import grouped
from spacelang.ir.domain import RESERVED, Domain, literal, quoted
from spacelang.ir.expr import Expr, references
from spacelang.ir.prior import Prior
from spacelang.ir.value import Value, same
from spacelang.text import NOWHERE, Span, not_in_names

if TYPE_CHECKING:
    from spacelang.ir.task import Task


class Kind(StrEnum):
    """How a pipeline puts the children of a product together; a search never asks."""

    SEQUENCE = "sequence"
    PARALLEL = "parallel"
    COLUMNS = "columns"
    PERMUTATION = "permutation"


@fact
class Named:
    """A function or object that the catalogue lists by name for a parameter, such as `f_classif`."""

    name: str


@fact
class Hyperparameter:
    """A leaf of the tree: one parameter of an operator, active where its operator and its condition are."""

    name: str
    address: str
    key: str
    domain: Domain
    default: Value
    condition: Expr | None = None
    named: tuple[str, ...] = ()
    prior: Prior | None = None
    split: int | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@fact
class Operator:
    """One step that a library provides, with its hyperparameters, nested decisions and fixed values."""

    name: str
    catalogue: str
    children: tuple["Hyperparameter | Choice", ...] = ()
    fixed: tuple[tuple[str, "Fixed"], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


ABSTRACT: Final = "abstract"
"""The `catalogue` of operators that the space itself declares: no library has them, so they are never built."""

Fixed: TypeAlias = Value | Named | Operator
"""What `name = value` fixes a parameter to."""


@fact
class Branch:
    """One alternative of a decision; `node` is an empty product where the step is left out.

    Such an alternative of a nested decision is a plain value of the parameter, most often None.
    """

    name: str
    node: "Node"
    weight: float = 1.0
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    value: Value = None


@dataclass(frozen=True)
class Choice(Computing):
    """A decision: exactly one of the branches is taken."""

    name: str
    address: str
    key: str
    branches: tuple[Branch, ...]
    default: int = 0
    first: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each branch, by its name."""
        return {branch.name: place for place, branch in enumerate(self.branches)}


@fact
class ColumnSelector:
    """Which columns a part of `columns(…)` takes: a kind of them, or those whose names a pattern is found in.

    The kinds are those of SELECTORS and `pattern`.
    """

    kind: str
    pattern: str = ""


SELECTORS: Final = ("numeric", "categorical", "text", "datetime", "all", "rest")
"""The kinds of columns that a `columns(…)` may select by name."""

MOST_STEPS: Final = 7
"""So many steps may be permuted: 5,040 orders."""


@fact
class Product:
    """Several nodes that all belong to a configuration.

    The parts of `columns(…)` are as many as the `selectors`. The first child of a permutation is the decision of its
    order; `labels` are what its branches call the other children.
    """

    kind: Kind
    children: tuple["Node", ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    selectors: tuple[ColumnSelector, ...] = ()
    labels: tuple[str, ...] = ()

    def ordered(self, order: str) -> tuple["Node", ...]:
        """The steps of a permutation in the order that a branch of its decision stands for."""
        _, *steps = self.children
        by_name = {order_name(labels): labels for labels in permutations(self.labels)}
        places = {label: place for place, label in enumerate(self.labels)}
        return tuple(steps[places[label]] for label in by_name[order])


def order_name(labels: Sequence[str]) -> str:
    """What an order of steps is called."""
    return ", ".join(labels)


Node: TypeAlias = Hyperparameter | Operator | Product | Choice
NOTHING = Product(Kind.SEQUENCE)
"""The node of `none`: the step is left out."""


RANGE: Final = "range"
"""What an alternative of a nested decision is called that is a range: its value is a hyperparameter."""


_OF_OTHERS: Final = re.compile(r'["(].*|[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?', re.IGNORECASE | re.DOTALL)
"""What strings in quotes, tuples and numbers are called."""


def value_name(value: Value) -> str:
    """What an alternative is called that is a plain value: no two are called alike, and none like a range.

    A string is called as it is, one that reads like another name in quotes: 1 is called `1`, the string `"1"`.
    """
    if not isinstance(value, str):
        return _seen(literal(value))
    is_of_others = value in {"", RANGE, *RESERVED} or _OF_OTHERS.fullmatch(value) is not None
    return _seen(quoted(value)) if is_of_others or not_in_names(value) is not None else value


def _seen(text: str) -> str:
    """A literal with characters that are in no name by their numbers: no other literal has a single backslash there."""
    return "".join(each if not_in_names(each) is None else f"\\u{{{ord(each):x}}}" for each in text)


def valued(branches: Sequence[Branch], value: Value) -> int | None:
    """The place of the alternative of a nested decision that is a plain value beside None; None where none is."""
    alike = (place for place, each in enumerate(branches) if each.value is not None and same(each.value, value))
    return next(alike, None)


def named_value(branches: Sequence[Branch], name: str) -> bool:
    """Whether the alternative of a nested decision that is called so is a plain value or a range, no operator."""
    nodes = (branch.node for branch in branches if branch.name == name)
    return any(isinstance(node, Hyperparameter) or node == NOTHING for node in nodes)


@dataclass(frozen=True)
class Constraint(Computing):
    """`forbid E` (`forbidden` is true) or `require E`; it applies only where all that it names is active."""

    expression: Expr
    forbidden: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @cached_property
    def scope(self) -> tuple[str, ...]:
        """The addresses of the hyperparameters that must be active for the constraint to apply."""
        return references(self.expression)


Context: TypeAlias = tuple[tuple[str, str], ...]
"""Branches that are taken, outermost first: (address of the decision, name of the branch)."""


@fact
class Variable:
    """A decision or hyperparameter with the branches that must be taken for it to be reached."""

    node: Hyperparameter | Choice
    owners: Context

    @property
    def address(self) -> str:
        """What expressions call it; unique in the space."""
        return self.node.address

    @property
    def key(self) -> str:
        """What configurations call it; two variables share one only if they are never active together."""
        return self.node.key

    @property
    def choice(self) -> Choice:
        """The decision that it is, and nothing else."""
        assert isinstance(self.node, Choice)
        return self.node

    @property
    def hyperparameter(self) -> Hyperparameter:
        """The hyperparameter that it is, and nothing else."""
        assert isinstance(self.node, Hyperparameter)
        return self.node

    @property
    def condition(self) -> Expr | None:
        """What must hold beside for it to be active; decisions are always taken where they are reached."""
        return self.node.condition if isinstance(self.node, Hyperparameter) else None


def said(variables: Iterable[Variable], constraints: Iterable[Constraint]) -> Iterator[Expr]:
    """What conditions and constraints say."""
    yield from (condition for variable in variables if (condition := variable.condition) is not None)
    yield from (constraint.expression for constraint in constraints)


@dataclass(frozen=True)
class Space(Computing):
    """A checked space: what analysis returns and everything after it takes."""

    name: str
    root: Node
    constraints: tuple[Constraint, ...] = ()
    title: str = ""
    task: "Task | None" = None

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Every decision and hyperparameter by its address, in the order of the text, owners first."""
        return {variable.address: variable for variable in _variables(self.root)}

    @cached_property
    def by_context(self) -> dict[Context, tuple[Variable, ...]]:
        """The variables that the same branches lead to, in the order of the text."""
        found = grouped((variable.owners, variable) for variable in self.variables.values())
        return {owners: tuple(variables) for owners, variables in found.items()}

    @cached_property
    def decisions(self) -> tuple[Choice, ...]:
        """All decisions in the order of the text, nested ones included."""
        return tuple(v.node for v in self.variables.values() if isinstance(v.node, Choice))

    @cached_property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """All hyperparameters in the order of the text."""
        return tuple(v.node for v in self.variables.values() if isinstance(v.node, Hyperparameter))

    @cached_property
    def conditions(self) -> dict[str, Expr]:
        """The conditions by the addresses of their hyperparameters, in the order of the text."""
        return {node.address: node.condition for node in self.hyperparameters if node.condition is not None}

    @cached_property
    def stages(self) -> tuple[Choice, ...]:
        """The decisions that no other decision owns, in pipeline order."""
        return tuple(d for d in self.decisions if not self.variables[d.address].owners)

    @cached_property
    def permutations(self) -> dict[str, Product]:
        """The permuted steps by the addresses of the decisions of their orders, in the order of the text."""
        products = (each for each in subtree(self.root) if isinstance(each, Product) and each.kind is Kind.PERMUTATION)
        return {order.address: each for each in products if isinstance(order := each.children[0], Choice)}


def _variables(root: Node) -> Iterator[Variable]:
    waiting: list[tuple[Node, Context]] = [(root, ())]
    while waiting:
        node, owners = waiting.pop()
        if isinstance(node, Hyperparameter | Choice):
            yield Variable(node, owners)
        if isinstance(node, Choice):
            waiting += [(each.node, (*owners, (node.address, each.name))) for each in reversed(node.branches)]
        else:
            waiting += [(child, owners) for child in reversed(children_of(node))]


def children_of(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node, in the order of the text; what parameters are fixed to comes behind the others."""
    match node:
        case Hyperparameter():
            return ()
        case Choice():
            return tuple(branch.node for branch in node.branches)
        case Operator():
            return (*node.children, *nested(node))
        case Product():
            return node.children


def subtree(node: Node, *, values: bool = True) -> Iterator[Node]:
    """A node and all below it, owners first, in the order of the text.

    Without `values` what is inside of operators is left out: what remains are the steps that a pipeline may have.
    """
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if values or not isinstance(each, Operator):
            waiting.extend(reversed(children_of(each)))


def nested(operator: Operator) -> tuple[Operator, ...]:
    """The operators that parameters of an operator are fixed to; they may have hyperparameters of their own."""
    return tuple(value for _, value in operator.fixed if isinstance(value, Operator))


def bodies(operator: Operator) -> Iterator[Operator]:
    """An operator and those that are only fixed values of it, at any depth."""
    yield operator
    for inner in nested(operator):
        yield from bodies(inner)


def products(node: Node) -> Iterator[Product]:
    """The products of a structure; not those that are values in it."""
    return (each for each in subtree(node, values=False) if isinstance(each, Product))


def operators(node: Node) -> Iterator[Operator]:
    """Every operator of a tree in the order of the text, those that values are fixed to included."""
    return (each for each in subtree(node) if isinstance(each, Operator))


def last_operators(node: Node) -> Iterator[Operator]:
    """The operators that the last step of a structure may be: what it is, seen from outside."""
    match node:
        case Operator():
            yield node
        case Choice():
            for branch in node.branches:
                yield from last_operators(branch.node)
        case Product(kind=Kind.SEQUENCE, children=(*_, last)):
            yield from last_operators(last)
        case Product() | Hyperparameter():
            return
