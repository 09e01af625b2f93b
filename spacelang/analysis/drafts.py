"""What is known of a space before its expressions are read: the tree without conditions, and where names belong."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from spacelang.analysis.places import StageNames
from spacelang.analysis.presence import Presence
from spacelang.diagnostics.diagnostic import Related
from spacelang.facts import fact
from spacelang.ir.expr import Expr
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Context, Node
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.text import Span

Branch: TypeAlias = tuple[str, str]
"""A branch by the address of its decision and its own name."""


@dataclass(slots=True)
class Scope:
    """The hyperparameters and nested decisions of one body, by the names that siblings call them by."""

    place: str = ""
    """The address of the operator whose body it is; empty for a file."""
    addresses: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    """What siblings are fixed to: in an expression they stand for their value."""
    operators: dict[str, str] = field(default_factory=dict)
    """The operators that siblings are fixed to."""
    fixed: dict[str, Span] = field(default_factory=dict)
    """Where siblings are fixed."""
    values: dict[str, Span] = field(default_factory=dict)
    """To what, as it is written."""
    dubious: set[str] = field(default_factory=set)
    """Names that are declared but could not be read: they are known, and what is said of them is not judged."""
    names: StageNames = field(default_factory=StageNames)
    """What stages are called here."""
    through: Related | None = None
    """How the text came here that the scope is for, where it is included."""
    branch: Branch | None = None
    """The innermost branch that the operator stands in; None where every configuration has it, and for a file."""


@fact
class Fixing:
    """What a name in an expression is fixed to, and where (None where the text does not say)."""

    name: str
    value: str
    span: Span | None


@fact
class PendingCondition:
    """A `when` clause of a hyperparameter."""

    address: str
    expression: ast.Expression
    scope: Scope


@fact
class PendingPresence:
    """A `when` clause of a nested decision; what it takes elsewhere is said as `presence.Presence` says it."""

    address: str
    expression: ast.Expression
    scope: Scope
    left: str
    is_own: bool
    span: Span


@fact
class PendingRule:
    """A `forbid` or `require` with the scope that it stands in."""

    rule: ast.Rule
    scope: Scope


@fact
class DraftConstraint:
    """What a constraint says as it is written, and the branches that lead to the body it stands in, outermost first."""

    expression: Expr
    owners: Context = ()


@dataclass(slots=True)
class Draft:
    """The tree without conditions, and the expressions that are still to be read."""

    root: Node
    declared: list[Node] = field(default_factory=list)
    """Everything that names may stand for: all stages, whether the pipeline has them or not, and its operators."""
    is_whole: bool = True
    """Whether nothing of the pipeline was lost to a mistake: else its steps are not judged by their places."""
    domains: dict[str, str] = field(default_factory=dict)
    """The domains of hyperparameters as they are written, by address."""
    nested: set[str] = field(default_factory=set)
    """The addresses of decisions that are values of parameters."""
    conditions: list[PendingCondition] = field(default_factory=list)
    presences: list[PendingPresence] = field(default_factory=list)
    rules: list[PendingRule] = field(default_factory=list)
    present: dict[str, Presence] = field(default_factory=dict)
    """The conditions of nested decisions by their addresses, once they are read."""
    said: list[DraftConstraint] = field(default_factory=list)
    """What the constraints of the space say, once they are read: one for each that is written, in their order. Behind
    them the space has those that say conditions of nested decisions."""
    branches: list[Branch] = field(default_factory=list)
    """The branches that are being read, outermost first."""
    fixings: dict[Span, Fixing] = field(default_factory=dict)
    """What expressions say of siblings that are fixed, by the place where they say it."""
    dubious: set[str] = field(default_factory=set)
    """Stages and addresses that could not be read whole: they are known, and what is said of them is not judged."""


def stage_of(address: str) -> str:
    """The stage (or step of the pipeline) that an address lies in."""
    return address.split(".", 1)[0]


def with_conditions(node: Node, conditions: dict[str, Expr]) -> Node:
    """The tree with its conditions in place."""
    return rebuilt(node, lambda leaf: replace(leaf, condition=conditions.get(leaf.address, leaf.condition)))
