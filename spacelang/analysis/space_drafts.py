"""The draft of a space: its tree without conditions, the names in its text, and the expressions still to be read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spacelang.analysis.imported_modules import Module
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.frozen import frozen
from spacelang.ir.data_binding import DataColumn
from spacelang.ir.expr import And, BranchTest, Constant, Expr, Not, is_true
from spacelang.ir.partial_evaluation import ConditionCase, fold_constants, split_condition_by_activity
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    Choice,
    ComputedParameter,
    Constraint,
    Context,
    Hyperparameter,
    Node,
    Space,
    Variable,
)
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, default_structure, rebuild_tree
from spacelang.syntax import ast
from spacelang.text import Span

if TYPE_CHECKING:
    from spacelang.analysis.parameter_checks import ParameterChecker

BranchKey: TypeAlias = tuple[str, str]  # A branch: the address of its decision and its own name


@dataclass(slots=True)
class StageNameResolver:
    """The names of the stages of a module in the space, and how the text of the module refers to them.

    The second use of a stage is called `scaler_2`, and so on, or by the name after `as`. In the text, the name of a
    stage means the use whose body is being read (`own`), otherwise the first use.
    """

    module: Module | None = None
    uses: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    """The names of all uses, by the id of the module and the stage. All modules of a space share this mapping."""
    own: Mapping[str, str] = field(default_factory=dict)
    chains: set[str] = field(default_factory=set)
    """The uses of stages that are chains. All modules of a space share this set."""

    def inside_stage(self, stage: str, called: str) -> "StageNameResolver":
        """Return the names for the body of one use of a stage."""
        return replace(self, own={**self.own, stage: called})

    def in_module(self, module: Module) -> "StageNameResolver":
        """Return the names for the text of another module."""
        return StageNameResolver(module, self.uses, chains=self.chains)

    def address_of_name(self, name: str) -> str:
        """Return the address that a name in the text has, for a stage or for something inside a stage."""
        stage, rest, _ = self._resolve(name)
        return ".".join((stage, *rest))

    def ambiguous_uses(self, name: str) -> tuple[str, ...]:
        """Return all uses of a stage if a name may refer to several of them, else an empty tuple."""
        return self._resolve(name)[2]

    def stage_prefix_of(self, name: str) -> str:
        """Return the beginning of a name that names a stage: `trees.knn` of `trees.knn.SVC` if `trees` is an import."""
        _, rest, _ = self._resolve(name)
        words = name.split(".")
        return ".".join(words[: len(words) - len(rest)])

    def resolve_module_prefix(self, name: str) -> tuple[int, str]:
        """Return the id of the module in which a dotted name is looked up, and the name without its imports."""
        module, words = self.module, name.split(".")
        while module is not None and len(words) > 1 and words[0] in module.imports:
            module = module.imports[words.pop(0)]
        return id(module), ".".join(words)

    def _resolve(self, name: str) -> tuple[str, list[str], tuple[str, ...]]:
        first, *rest = name.split(".")
        if first in self.own:
            return self.own[first], rest, ()
        module, inner = self.resolve_module_prefix(name)
        first, *rest = inner.split(".")
        stage, bracket, place = first.partition("[")
        uses = self.uses.get((module, stage), [stage])
        if bracket:
            uses = [f"{use}[{place}" for use in uses if use in self.chains] or [first]
        return uses[0], rest, tuple(uses) if len(uses) > 1 else ()


@frozen
class DecisionCondition:
    """The condition of the nested decision at an address; `alternative_if_false` is taken where it does not hold.

    If `is_own`, the author wrote that alternative, which may also be taken where the condition holds; otherwise it was
    added. `span` is the parameter's whole definition.
    """

    address: str
    condition: Expr
    alternative_if_false: str
    is_own: bool
    span: Span


@dataclass(slots=True, eq=False)
class Definition:
    """A name that stands for an expression: that of a `let`, or of a computed parameter among its siblings."""

    name: ast.Word
    expression: ast.Expression
    scope: "Scope"


@dataclass(slots=True)
class Scope:
    """The names in one body: hyperparameters and nested decisions by the names that sibling members use for them."""

    place: str = ""  # The address of the operator that has the body, or empty for a file
    addresses: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    """The values of fixed siblings. In an expression, the name of a fixed sibling stands for its value."""
    operators: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, Span] = field(default_factory=dict)
    values: dict[str, Span] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    outer_name: str = ""
    """The name that is being defined: in its own definition it means what it means outside of the body."""
    dubious: set[str] = field(default_factory=set)
    """Names that are declared but could not be read. Expressions about them are not checked."""
    names: StageNameResolver = field(default_factory=StageNameResolver)
    through: RelatedPlace | None = None  # The `include` or the use that brought the text here, if it was included
    branch: BranchKey | None = None
    """The innermost branch around the operator, or None if every configuration has the operator, or for a file."""


@frozen
class FixedValue:
    """A name in an expression and the constant or operator it is fixed to.

    `span` is the place where it is fixed, or None if that is unknown.
    """

    name: str
    value: str
    span: Span | None


@frozen
class NameMention:
    """A name in an expression and its meaning.

    The name means a variable (by its `address`), some of its branches, or the declaration at `definition`.
    """

    written: ast.DottedName
    address: str = ""
    branches: tuple[str, ...] = ()
    definition: Span | None = None


@frozen
class PendingCondition:
    """A `when` clause of a hyperparameter that is still to be read."""

    address: str
    expression: ast.Expression
    scope: Scope


@dataclass(slots=True)
class PendingComputedParameter:
    """The expression of a computed parameter that is still to be read, and the checker of its values."""

    address: str
    definition: Definition
    checker: "ParameterChecker"


@frozen
class PendingDecisionCondition:
    """A `when` clause of a nested decision that is still to be read; see `DecisionCondition` for the fields."""

    address: str
    expression: ast.Expression
    scope: Scope
    alternative_if_false: str
    is_own: bool
    span: Span


@frozen
class PendingConstraint:
    """A `forbid` or `require` that is still to be read, with its scope, or the `bound` of a range."""

    rule: ast.ConstraintStatement
    scope: Scope
    bound: Literal["", "lower", "upper"] = ""


@dataclass(slots=True, eq=False)
class PendingRange:
    """A hyperparameter whose bounds name others; until it is read, the tree has a placeholder for it.

    `read` returns the hyperparameter for a domain whose bounds are numbers, or None after reporting a mistake.
    """

    address: str
    written: ast.Parameter
    scope: Scope
    read: Callable[[ast.Parameter], Hyperparameter | None]


@frozen
class ConstraintWithBranches:
    """A constraint as it is written, with the branches around the body that it stands in, outermost first."""

    expression: Expr
    owners: Context = ()


@frozen
class UnexpandedChain:
    """A chain before its expansion. `uses` has the maximum number of uses, whose addresses are their names."""

    name: str
    stage: str
    is_first: bool
    uses: tuple[Choice, ...]
    least: int
    span: Span

    @property
    def decision(self) -> Choice:
        """The decision on the number of uses, whose alternatives are empty."""
        branches = tuple(Branch(str(number), SKIPPED_STEP, span=self.span) for number in self.possible_use_counts)
        return Choice(self.name, self.name, self.name, branches, 0, self.is_first, self.span, self.stage)

    @property
    def possible_use_counts(self) -> range:
        """The possible numbers of uses."""
        return range(self.least, len(self.uses) + 1)


@dataclass(slots=True)
class SpaceDraft:
    """The tree of a space without conditions, and the expressions that are still to be read."""

    root: Node
    declared: list[Node] = field(default_factory=list)
    """Everything that names may refer to: the operators of the pipeline and all stages, used or not."""
    is_whole: bool = True
    """False if a part of the pipeline is missing because of a mistake. The positions of steps are not checked then."""
    written_domains: dict[str, str] = field(default_factory=dict)
    nested: set[str] = field(default_factory=set)
    conditions: list[PendingCondition] = field(default_factory=list)
    pending_decision_conditions: list[PendingDecisionCondition] = field(default_factory=list)
    rules: list[PendingConstraint] = field(default_factory=list)
    ranges: list[PendingRange] = field(default_factory=list)
    computations: list[PendingComputedParameter] = field(default_factory=list)
    definitions: dict[tuple[int, str], Definition] = field(default_factory=dict)
    """The `let` lines of files, by the id of the module and the name."""
    lets: list[Definition] = field(default_factory=list)
    imported: set[str] = field(default_factory=set)
    """The addresses of each `var` of an imported file, which belongs to the space only if something uses it."""
    decision_conditions: dict[str, DecisionCondition] = field(default_factory=dict)
    """The conditions of nested decisions by address, after they are read."""
    written_constraints: list[ConstraintWithBranches] = field(default_factory=list)
    """The written constraints of the space, after they are read, in the order of the space. After them, the space
    has the constraints that express conditions of nested decisions."""
    branches: list[BranchKey] = field(default_factory=list)
    """The branches that are currently being read, outermost first."""
    columns: tuple[DataColumn, ...] | None = None
    """The columns that the structure which is currently being read can receive; None if they do not matter."""
    fixings: dict[Span, FixedValue] = field(default_factory=dict)
    """The fixed siblings that expressions mention, by the span of the mention."""
    dubious: set[str] = field(default_factory=set)
    """Stages and addresses that could not be read completely. Expressions about them are not checked."""
    chains: dict[str, UnexpandedChain] = field(default_factory=dict)
    """The chains by address. The addresses of uses in this draft, `root` excepted, are those in expressions."""
    variables: Mapping[str, Variable] = field(default_factory=dict)
    """Everything that names may refer to, by address, after the expressions are read."""
    mentions: list[NameMention] = field(default_factory=list)
    """The names in expressions, after they are read."""

    def find_definition(self, name: str, scope: Scope) -> Definition | None:
        """Return the definition (`let`, or computed parameter) of a name in a scope, or None if the name has none."""
        own = (scope.constants, scope.operators, scope.addresses, scope.dubious)
        found = scope.definitions.get(name) if name != scope.outer_name else None
        is_own = found is not None or any(name in each for each in own)
        return (
            found
            if is_own or scope.names.module is None
            else self.definitions.get(scope.names.resolve_module_prefix(name))
        )

    def let_names(self, scope: Scope) -> Iterator[str]:
        """Yield the names that the `let` lines of the file of a scope define."""
        home = id(scope.names.module)
        return (name for module, name in self.definitions if module == home)


def stage_of(address: str) -> str:
    """Return the stage, or the step of the pipeline, that an address begins with."""
    return address.split(".", 1)[0]


def attach_expressions(node: Node, conditions: Mapping[str, Expr], computations: Mapping[str, Expr]) -> Node:
    """Return the tree with the conditions of hyperparameters and the expressions of computed parameters, by address."""

    def with_condition(leaf: Hyperparameter) -> Hyperparameter:
        return replace(leaf, condition=conditions.get(leaf.address, leaf.condition))

    def with_expression(computed: ComputedParameter) -> ComputedParameter:
        return replace(computed, expression=computations.get(computed.address, computed.expression))

    return rebuild_tree(node, with_condition, compute=with_expression)


MAX_CASES: Final = 64
"""The maximum number of cases of a condition. Each hyperparameter that may be inactive by itself doubles them."""


def constraints_for_decision_condition(
    presence: DecisionCondition, variables: Mapping[str, Variable]
) -> list[Constraint] | None:
    """Return the constraints that express a condition, or None if there would be too many.

    A constraint does not apply if it names something inactive, so each combination of active names has constraints.
    """
    known = variables[presence.address]
    found = [*islice(split_condition_by_activity(presence.condition, known.owners, variables), MAX_CASES + 1)]
    if len(found) > MAX_CASES:
        return None
    return [each for case in found for each in _case_constraints(presence, known, case)]


def _case_constraints(presence: DecisionCondition, known: Variable, case: ConditionCase) -> Iterator[Constraint]:
    """Yield the constraints for one case of a condition, that is, one combination of inactive hyperparameters."""
    absent = [Not(active) for active in case.active]
    others = tuple(branch.name for branch in known.choice.branches if branch.name != presence.alternative_if_false)
    taken, left = BranchTest(presence.address, others), BranchTest(presence.address, (presence.alternative_if_false,))
    excluded: list[tuple[Expr, ...]] = [
        (taken, *absent, Not(case.remaining_condition)),
        *([] if presence.is_own else [(left, *absent, case.remaining_condition)]),
    ]
    for terms in excluded:
        expression = fold_constants(And(terms, presence.condition.span))
        if expression != Constant(False):
            yield Constraint(expression, True, presence.span)


def with_fallback_defaults(space: Space, presences: Sequence[DecisionCondition]) -> Space:
    """Return the space with fallback defaults of conditional decisions.

    If the condition of a decision is false for the defaults of everything else, its default is
    `alternative_if_false`. The conditions must have no cycles.
    """
    written = {variable.address: variable.node for variable in space.variables.values()}
    while True:
        defaults = {each.address: _default_index(each, space, written[each.address]) for each in presences}

        def with_default(choice: Choice, defaults: Mapping[str, int] = defaults) -> Choice:
            return replace(choice, default=defaults.get(choice.address, choice.default))

        changed = replace(space, root=rebuild_tree(space.root, lambda node: node, with_default))
        if changed == space:
            return space
        space = changed


def _default_index(presence: DecisionCondition, space: Space, written: Choice | Hyperparameter) -> int:
    """Return the index of the default alternative of a decision, given the defaults of everything else."""
    assert isinstance(written, Choice)
    structure = default_structure(space, dict(space.variables[presence.address].owners))
    assignment = Assignment(space, structure, lambda node: node.default)
    return (
        written.default
        if is_true(presence.condition, assignment)
        else written.branch_indices[presence.alternative_if_false]
    )


@frozen
class AddressPrefix:
    """A common prefix of addresses (unique in the space) and of keys (as configurations print them)."""

    address: str
    key: str
    names: StageNameResolver = field(default_factory=StageNameResolver, compare=False, repr=False)

    def child(self, name: str) -> "AddressPrefix":
        """Return the prefix of a parameter of the operator, or of a part of the structure, with this name."""
        if not self.address:
            return AddressPrefix(name, name, self.names)
        return AddressPrefix(f"{self.address}.{name}", f"{self.key}.{name}", self.names)

    def alternative(self, name: str) -> "AddressPrefix":
        """Return the prefix of an alternative of the decision. Addresses contain its name, keys do not."""
        return replace(self, address=f"{self.address}.{name}")
