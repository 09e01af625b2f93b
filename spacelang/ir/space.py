"""The `Space`: a tree of products, decisions and hyperparameters, with constraints over them.

The structure is a tree of products and choices because every optimizer asks which branch to take. Conditions remain
expressions: each target decides how to represent them and says so in its report.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spacelang.frozen import CachedPropertyMixin, frozen
from spacelang.grouping import group_by_key
from spacelang.ir.domain import Domain
from spacelang.ir.expr import Expr, references
from spacelang.ir.prior import Prior
from spacelang.ir.value import Value
from spacelang.text import NO_SPAN, Span

if TYPE_CHECKING:
    from spacelang.ir.task import Task


class ProductKind(StrEnum):
    """The way in which a pipeline combines the children of a product; it does not matter to a search."""

    SEQUENCE = "sequence"
    PARALLEL = "parallel"
    COLUMNS = "columns"
    PERMUTATION = "permutation"


@frozen
class CatalogueObject:
    """A function or object that the catalogue lists by name as a value of a parameter, such as `f_classif`."""

    name: str


@frozen
class Hyperparameter:
    """A leaf of the tree: one parameter of an operator; active if its operator is reached and its condition holds.

    `named` are those of its values that are names of catalogue objects. `split` is the number of pieces into which
    `@split` divides the domain for the optimizer `boasf`, or None.
    """

    name: str
    address: str
    key: str
    domain: Domain
    default: Value
    condition: Expr | None = None
    named: tuple[str, ...] = ()
    prior: Prior | None = None
    split: int | None = None
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    is_var: bool = False
    """True for a `var`: expressions use its value, and no operator takes it."""


@frozen
class ComputedParameter:
    """A parameter of an operator whose value is computed from other values, so that no configuration contains it."""

    name: str
    address: str
    expression: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@frozen
class TupleParameter:
    """A parameter of an operator whose value is a tuple, which is represented by hyperparameters for its parts.

    `length` and `elements` are the addresses of these hyperparameters. Elements are active if the tuple is long enough.
    If the parameter may also have other values, `choice` is the address of one more hyperparameter, whose values are
    the other values and `TUPLE_NAME`, which stands for a tuple.
    """

    name: str
    address: str
    length: str
    elements: tuple[str, ...]
    choice: str | None = None
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    @property
    def members(self) -> tuple[str, ...]:
        """The addresses of all hyperparameters that represent the value."""
        return (*(() if self.choice is None else (self.choice,)), self.length, *self.elements)

    def relocate(self, address: str) -> "TupleParameter":
        """Return the parameter moved to another operator of the space, given the new address of its first member."""
        first, start = self.members[0], len(self.address)
        if address == first:
            return self
        own = address.removesuffix(first[start:])
        length, choice = f"{own}{self.length[start:]}", None if self.choice is None else f"{own}{self.choice[start:]}"
        elements = tuple(f"{own}{each[start:]}" for each in self.elements)
        return replace(self, address=own, length=length, elements=elements, choice=choice)

    def restrict_to(self, addresses: Container[str]) -> "TupleParameter | None":
        """Return the parameter with only the elements in `addresses`, or None if its first member is not among them."""
        if self.members[0] not in addresses:
            return None
        elements = tuple(each for each in self.elements if each in addresses)
        return self if elements == self.elements else replace(self, elements=elements)


TUPLE_NAME: Final = "tuple"
"""The value that stands for the tuple where a parameter may also have other values."""


@frozen
class Operator:
    """A step that a library provides, with its hyperparameters, nested decisions, and fixed and computed values."""

    name: str
    catalogue: str
    children: tuple["Hyperparameter | Choice", ...] = ()
    fixed: tuple[tuple[str, "FixedValue"], ...] = ()
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    computed: tuple[ComputedParameter, ...] = ()
    tuples: tuple[TupleParameter, ...] = ()


DEFAULT_CATALOGUE: Final = "sklearn"
"""The library whose operators need no prefix and no `use` line; every file uses it, and documents leave it out."""
ABSTRACT_CATALOGUE: Final = "abstract"
"""The `catalogue` of operators that the space itself declares; no library provides them, so they are never built."""
FixedValue: TypeAlias = Value | CatalogueObject | Operator


@frozen
class Branch:
    """One alternative of a decision, with its `@weight`: how good it is expected to be relative to the others.

    `node` is an empty product for `none` or for a plain `value` of a parameter.
    """

    name: str
    node: "Node"
    weight: float = 1.0
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    value: Value = None


@dataclass(frozen=True)
class Choice(CachedPropertyMixin):
    """A decision: exactly one of its branches is taken.

    `default` is the index of the default branch. `first` is True if optimizers should decide it before others
    (`@first`).
    """

    name: str
    address: str
    key: str
    branches: tuple[Branch, ...]
    default: int = 0
    first: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    repeats: str = ""
    """For a chain: the stage that each branch has as often as its name says (see `ir.repeated_stages`); else empty."""

    @cached_property
    def branch_indices(self) -> dict[str, int]:
        """The index of each branch by its name."""
        return {branch.name: place for place, branch in enumerate(self.branches)}


@frozen
class ColumnSelector:
    """A selector for one part of `columns(…)`: one of COLUMN_KINDS, or a `pattern` found in names."""

    kind: str
    pattern: str = ""


COLUMN_KINDS: Final = ("numeric", "categorical", "text", "datetime", "all", "rest")
"""The kinds of columns that `columns(…)` can select by name."""
MAX_PERMUTED_STEPS: Final = 7  # The maximum number of permuted steps: 7 steps have 5,040 orders


@frozen
class Product:
    """A node whose children all belong to the configuration.

    A `var` of the whole space is a child of the root and no step. A `columns(…)` product has one child for each of the
    `selectors`. The first child of a permutation is the decision about the order; `labels` are the names of the other
    children in the names of its branches.
    """

    kind: ProductKind
    children: tuple["Node", ...] = ()
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    selectors: tuple[ColumnSelector, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple["Node", ...]:
        """The children that are steps: all but each `var`."""
        if any(map(_is_var, self.children)):
            return tuple(child for child in self.children if not _is_var(child))
        return self.children

    def steps_in_order(self, order: str) -> tuple["Node", ...]:
        """Return the steps of a permutation in the order that the branch named `order` stands for."""
        _, *steps = self.children
        by_name = {name_of_step_order(labels): labels for labels in permutations(self.labels)}
        places = {label: place for place, label in enumerate(self.labels)}
        return tuple(steps[places[label]] for label in by_name[order])


def _is_var(node: "Node") -> bool:
    return isinstance(node, Hyperparameter) and node.is_var


def name_of_step_order(labels: Sequence[str]) -> str:
    """Return the name of an order of steps: the labels joined by commas."""
    return ", ".join(labels)


Node: TypeAlias = Hyperparameter | Operator | Product | Choice
SKIPPED_STEP = Product(ProductKind.SEQUENCE)  # The node of `none`: the step is skipped
LIST_PARAMETER: Final = "estimators"
"""The name of the parameters of operators of libraries whose value is a list of operators."""
RANGE_NAME: Final = "range"
"""The name of an alternative of a nested decision that is a range; its value is a hyperparameter."""


@dataclass(frozen=True)
class Constraint(CachedPropertyMixin):
    """A constraint: `forbid E` if `forbidden` is true, else `require E`; it applies if all that it names is active."""

    expression: Expr
    forbidden: bool
    span: Span = field(default=NO_SPAN, compare=False, repr=False)
    bound: Literal["", "lower", "upper"] = field(default="", compare=False)
    """The end of a range at which the constraint is written as a bound, or empty; see `ir.range_bounds`."""

    @cached_property
    def scope(self) -> tuple[str, ...]:
        """The addresses of the hyperparameters that must be active for the constraint to apply."""
        return references(self.expression)


Context: TypeAlias = tuple[tuple[str, str], ...]
"""Branches that are taken, outermost first, as pairs (address of the decision, name of the branch)."""


@frozen
class Variable:
    """A decision or hyperparameter, with the branches that must be taken to reach it."""

    node: Hyperparameter | Choice
    owners: Context

    @property
    def address(self) -> str:
        """The name of the variable in expressions; unique in the space."""
        return self.node.address

    @property
    def key(self) -> str:
        """The name in configurations; two variables share a key only if they are never active together."""
        return self.node.key

    @property
    def choice(self) -> Choice:
        """The decision; the variable must be one."""
        assert isinstance(self.node, Choice)
        return self.node

    @property
    def hyperparameter(self) -> Hyperparameter:
        """The hyperparameter; the variable must be one."""
        assert isinstance(self.node, Hyperparameter)
        return self.node

    @property
    def condition(self) -> Expr | None:
        """The condition of a hyperparameter, or None; decisions are always active if they are reached."""
        return self.node.condition if isinstance(self.node, Hyperparameter) else None


@frozen
class DroppedVariable:
    """A decision or hyperparameter that the space lost when it was bound to data for which it has no meaning.

    `alternatives` are those that a decision lost, all of them unless the space still has the decision. None stands for
    a hyperparameter.
    """

    address: str
    key: str
    owners: Context
    alternatives: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Space(CachedPropertyMixin):
    """A checked search space: the result of analysis and the input of everything after it."""

    name: str
    root: Node
    constraints: tuple[Constraint, ...] = ()
    title: str = ""
    task: "Task | None" = None
    plain_draws: bool = field(default=False, compare=False)
    """True in a run whose store was started before random draws followed priors and weights: they still ignore them."""
    dropped: tuple[DroppedVariable, ...] = field(default=(), compare=False)
    """The variables of the unbound space that this one lost when it was bound to its data."""

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """All decisions and hyperparameters by address, in the order of the text, owners first."""
        nodes = nodes_with_owners(self.root)
        return {n.address: Variable(n, owners) for n, owners in nodes if isinstance(n, Hyperparameter | Choice)}

    @cached_property
    def by_context(self) -> dict[Context, tuple[Variable, ...]]:
        """The variables grouped by the branches that lead to them, in the order of the text."""
        found = group_by_key((variable.owners, variable) for variable in self.variables.values())
        return {owners: tuple(variables) for owners, variables in found.items()}

    @cached_property
    def decisions(self) -> tuple[Choice, ...]:
        """All decisions in the order of the text, including nested ones."""
        return tuple(v.node for v in self.variables.values() if isinstance(v.node, Choice))

    @cached_property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """All hyperparameters in the order of the text."""
        return tuple(v.node for v in self.variables.values() if isinstance(v.node, Hyperparameter))

    @cached_property
    def tuples(self) -> dict[str, TupleParameter]:
        """The tuple parameters by the addresses of their members, the hyperparameters that represent the tuple."""
        found = (each for operator in operators(self.root) for each in operator.tuples)
        return {member: each for each in found for member in each.members}

    @cached_property
    def conditions(self) -> dict[str, Expr]:
        """The conditions by the addresses of their hyperparameters, in the order of the text."""
        return {node.address: node.condition for node in self.hyperparameters if node.condition is not None}

    @cached_property
    def stages(self) -> tuple[Choice, ...]:
        """The top-level decisions, which no other decision owns, in pipeline order."""
        return tuple(d for d in self.decisions if not self.variables[d.address].owners)

    @cached_property
    def chains(self) -> frozenset[str]:
        """The addresses of the chains: decisions on how often a stage is used."""
        return frozenset(choice.address for choice in self.decisions if choice.repeats)

    @cached_property
    def permutations(self) -> dict[str, Product]:
        """The permutation nodes by the address of the decision about their order, in the order of the text."""
        products = (p for p in subtree(self.root) if isinstance(p, Product) and p.kind is ProductKind.PERMUTATION)
        return {order.address: each for each in products if isinstance(order := each.children[0], Choice)}


def nodes_with_owners(root: Node) -> Iterator[tuple[Node, Context]]:
    """Yield every node of a tree in preorder, with the branches that lead to the node."""
    waiting: list[tuple[Node, Context]] = [(root, ())]
    while waiting:
        node, owners = waiting.pop()
        yield node, owners
        if isinstance(node, Choice):
            waiting += [(each.node, (*owners, (node.address, each.name))) for each in reversed(node.branches)]
        else:
            waiting += [(child, owners) for child in reversed(children_of(node))]


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the direct children in source order, then operators that are fixed parameter values."""
    match node:
        case Hyperparameter():
            return ()
        case Choice():
            return tuple(branch.node for branch in node.branches)
        case Operator():
            return (*node.children, *fixed_operators(node))
        case Product():
            return node.children


def subtree(node: Node, *, values: bool = True) -> Iterator[Node]:
    """Yield a node and its descendants in preorder; without `values`, the contents of operators are skipped."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if values or not isinstance(each, Operator):
            waiting.extend(reversed(children_of(each)))


def fixed_operators(operator: Operator) -> tuple[Operator, ...]:
    """Return the operators that are fixed values of an operator; they may have hyperparameters of their own."""
    return tuple(value for _, value in operator.fixed if isinstance(value, Operator))


def operators(node: Node) -> Iterator[Operator]:
    """Yield every operator of a tree in the order of the text, including operators fixed as values."""
    return (each for each in subtree(node) if isinstance(each, Operator))
