"""The draft of a space: its tree without conditions, and the expressions that are still to be read."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from spacelang.analysis.addresses import StageNames
from spacelang.analysis.decision_conditions import DecisionCondition
from spacelang.diagnostics.diagnostic import Related
from spacelang.frozen import frozen
from spacelang.ir.expr import Expr
from spacelang.ir.space import Context, Node
from spacelang.ir.tree_rewriting import rebuild_tree
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.text import Span

BranchKey: TypeAlias = tuple[str, str]
"""A branch: the address of its decision and its own name."""


@dataclass(slots=True)
class Scope:
    """The names in one body: hyperparameters and nested decisions by the names that sibling members use for them."""

    place: str = ""
    """The address of the operator that has the body, or empty for a file."""
    addresses: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    """The values of fixed siblings. In an expression, the name of a fixed sibling stands for its value."""
    operators: dict[str, str] = field(default_factory=dict)
    """The names of the operators that siblings are fixed to."""
    fixed: dict[str, Span] = field(default_factory=dict)
    """The spans of the names of fixed siblings."""
    values: dict[str, Span] = field(default_factory=dict)
    """The spans of the values that siblings are fixed to."""
    dubious: set[str] = field(default_factory=set)
    """Names that are declared but could not be read. Expressions about them are not checked."""
    names: StageNames = field(default_factory=StageNames)
    """The names of the stages in this text."""
    through: Related | None = None
    """The `include` or the use that brought the text here, if it was included."""
    branch: BranchKey | None = None
    """The innermost branch around the operator, or None if every configuration has the operator, or for a file."""


@frozen
class FixedName:
    """A name in an expression with the value it is fixed to, and the place where it is fixed (None if unknown)."""

    name: str
    value: str
    span: Span | None


@frozen
class PendingCondition:
    """A `when` clause of a hyperparameter that is still to be read."""

    address: str
    expression: ast.Expression
    scope: Scope


@frozen
class PendingDecisionCondition:
    """A `when` clause of a nested decision that is still to be read.

    `left` is the alternative that is taken if the condition does not hold, as in
    `decision_conditions.DecisionCondition`.
    """

    address: str
    expression: ast.Expression
    scope: Scope
    left: str
    is_own: bool
    span: Span


@frozen
class PendingConstraint:
    """A `forbid` or `require` that is still to be read, with its scope."""

    rule: ast.ConstraintStatement
    scope: Scope


@frozen
class DraftConstraint:
    """A constraint as it is written, with the branches around the body that it stands in, outermost first."""

    expression: Expr
    owners: Context = ()


@dataclass(slots=True)
class Draft:
    """The tree of a space without conditions, and the expressions that are still to be read."""

    root: Node
    declared: list[Node] = field(default_factory=list)
    """Everything that names may refer to: the operators of the pipeline and all stages, used or not."""
    is_whole: bool = True
    """False if a part of the pipeline is missing because of a mistake. The positions of steps are not checked then."""
    domains: dict[str, str] = field(default_factory=dict)
    """The domains of hyperparameters as they are written, by address."""
    nested: set[str] = field(default_factory=set)
    """The addresses of decisions that are values of parameters."""
    conditions: list[PendingCondition] = field(default_factory=list)
    pending_decision_conditions: list[PendingDecisionCondition] = field(default_factory=list)
    rules: list[PendingConstraint] = field(default_factory=list)
    decision_conditions: dict[str, DecisionCondition] = field(default_factory=dict)
    """The conditions of nested decisions by address, after they are read."""
    written_constraints: list[DraftConstraint] = field(default_factory=list)
    """The written constraints of the space, after they are read, in the order of the space. After them, the space
    has the constraints that express conditions of nested decisions."""
    branches: list[BranchKey] = field(default_factory=list)
    """The branches that are currently being read, outermost first."""
    fixings: dict[Span, FixedName] = field(default_factory=dict)
    """The fixed siblings that expressions mention, by the span of the mention."""
    dubious: set[str] = field(default_factory=set)
    """Stages and addresses that could not be read completely. Expressions about them are not checked."""


def stage_of(address: str) -> str:
    """Return the stage, or the step of the pipeline, that an address begins with."""
    return address.split(".", 1)[0]


def with_conditions(node: Node, conditions: dict[str, Expr]) -> Node:
    """Return the tree with the conditions attached to the hyperparameters at their addresses."""
    return rebuild_tree(node, lambda leaf: replace(leaf, condition=conditions.get(leaf.address, leaf.condition)))
