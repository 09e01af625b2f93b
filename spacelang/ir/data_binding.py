"""Remove from a space what has no meaning for the data that it is bound to, such as parts that receive no column."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from spacelang.frozen import frozen
from spacelang.ir import expr
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate, partially_evaluate_value
from spacelang.ir.space import (
    Branch,
    Choice,
    ColumnSelector,
    ComputedParameter,
    Constraint,
    DroppedVariable,
    Hyperparameter,
    Node,
    Operator,
    Product,
    ProductKind,
    Space,
    Variable,
    children_of,
    operators,
)
from spacelang.ir.walk import rebuild_tree
from spacelang.text import Span

KINDS_BY_SIZE_NAME: Final[Mapping[str, str]] = {
    "n_numeric": "numeric",
    "n_categorical": "categorical",
    "n_text": "text",
    "n_datetime": "datetime",
}
"""The kind of the columns that a symbol of the data counts."""


@frozen
class DataColumn:
    """A column that a pipeline receives; without a name, it stands for any columns of its kind."""

    kind: str
    name: str | None = None


def is_selected(column: DataColumn, selector: ColumnSelector, selectors: tuple[ColumnSelector, ...]) -> bool | None:
    """Return True if a selector of `columns(…)` takes a column; None if that depends on an unknown name.

    `selectors` are all selectors of the same `columns(…)`: `rest` takes what no other one takes, and `categorical` also
    takes text columns unless another one selects `text`.
    """
    match selector.kind:
        case "all":
            return True
        case "categorical":
            has_text_part = any(other.kind == "text" for other in selectors)
            return column.kind == "categorical" or (column.kind == "text" and not has_text_part)
        case "pattern":
            return None if column.name is None else re.search(selector.pattern, column.name) is not None
        case "rest":
            taken = [is_selected(column, other, selectors) for other in selectors if other != selector]
            return None if None in taken and True not in taken else True not in taken
        case kind:
            return column.kind == kind


def possible_columns(sizes: Mapping[str, int], known: Iterable[DataColumn] | None = None) -> tuple[DataColumn, ...]:
    """Return the columns that a pipeline may receive, given numbers of columns by symbol and the columns if known.

    `sizes` maps symbols such as `n_numeric` to numbers; a kind with the number 0 has no columns, even if `known`
    contains some. One column without a name stands for the columns of a kind that are not known.
    """
    found: list[DataColumn] = []
    named = None if known is None else [*known]
    for name, kind in KINDS_BY_SIZE_NAME.items():
        those = None if named is None else [each for each in named if each.kind == kind]
        if name not in sizes and those is not None:
            found += those
        elif sizes.get(name) != 0:
            found += those or [DataColumn(kind)]
    others = [] if named is None else [each for each in named if each.kind not in KINDS_BY_SIZE_NAME.values()]
    return (*found, *others)


class DataBoundSpace:
    """A space without the parts that have no meaning for its data.

    `space` is the reduced space, and `lost` are the removed parts. `constraints` maps the index of each constraint of
    the original space to what remains of it; constraints that were dropped are missing.
    """

    def __init__(self, space: Space, pruned: Space, lost: "RemovedParts") -> None:
        left = {place: lost.simplify_constraint(each) for place, each in enumerate(space.constraints)}
        self.constraints = {place: each for place, each in left.items() if each is not None}
        self.lost = lost
        self.space = space
        if lost or pruned is not space:
            constraints = tuple(self.constraints.values())
            root = rebuild_tree(pruned.root, lambda node: node, compute=lost.simplify_computed) if lost else pruned.root
            self.space = replace(pruned, root=root, constraints=constraints, dropped=(*space.dropped, *lost.variables))


def bind_to_columns(
    space: Space, columns: Collection[DataColumn], is_decided: Callable[[Span], bool] = lambda _: False
) -> DataBoundSpace | None:
    """Return the space without what has no meaning for pipelines that receive only `columns`.

    - A part of `columns(…)` that can receive no column is dropped with its decisions and hyperparameters.
    - Where no part is left, the alternative of the nearest decision around it is dropped. If there is none, the result
      is None: no pipeline would receive a column.
    - A condition that mentions something dropped is simplified, and so is one for whose span `is_decided` returns True.
      A hyperparameter whose condition is then false is dropped; one whose condition is true loses the condition.
    - Expressions see what was dropped as inactive, and decisions as not reached. A constraint that names a dropped
      hyperparameter therefore never applies, and is dropped, as is one that always holds now.

    Keys and addresses of everything else stay.
    """
    root = _prune(space.root, tuple(columns))
    if root is None:
        return None
    pruned = space if root is space.root else replace(space, root=root)
    lost = RemovedParts(space, pruned)
    while (simpler := _without_decided_conditions(pruned, lost, is_decided)) is not pruned:
        pruned = simpler
        lost = RemovedParts(space, pruned)
    return DataBoundSpace(space, pruned, lost)


def _prune(node: Node, columns: tuple[DataColumn, ...]) -> Node | None:
    """Return a tree without the parts of `columns(…)` that receive none of `columns`; None if nothing of it is left."""
    match node:
        case Hyperparameter() | Operator():
            return node
        case Choice():
            return _prune_decision(node, columns)
        case Product(kind=ProductKind.COLUMNS):
            return _prune_parts(node, columns)
        case Product():
            children = [_prune(child, columns) for child in node.children]
            left = tuple(child for child in children if child is not None)
            # In `A & B`, a side without columns adds no features. In a sequence, nothing can follow it.
            if len(left) < len(children) and (node.kind is not ProductKind.PARALLEL or not left):
                return None
            return node if _are_unchanged(left, node.children) else replace(node, children=left)


def _are_unchanged(new: tuple[Node, ...], old: tuple[Node, ...]) -> bool:
    return len(new) == len(old) and all(one is other for one, other in zip(new, old, strict=True))


def _prune_decision(choice: Choice, columns: tuple[DataColumn, ...]) -> Choice | None:
    pruned = [(branch, _prune(branch.node, columns)) for branch in choice.branches]
    left = [(branch, node) for branch, node in pruned if node is not None]
    if not left:
        return None
    if len(left) == len(pruned) and all(branch.node is node for branch, node in left):
        return choice
    branches: tuple[Branch, ...] = tuple(replace(branch, node=node) for branch, node in left)
    names = [branch.name for branch in branches]
    usual = choice.branches[choice.default].name
    return replace(choice, branches=branches, default=names.index(usual) if usual in names else 0)


def _prune_parts(product: Product, columns: tuple[DataColumn, ...]) -> Product | None:
    left: list[tuple[ColumnSelector, Node]] = []
    for selector, child in zip(product.selectors, product.children, strict=True):
        taken = tuple(each for each in columns if is_selected(each, selector, product.selectors) is not False)
        pruned = _prune(child, taken) if taken else None
        if pruned is not None:
            left.append((selector, pruned))
    if not left:
        return None
    selectors, children = zip(*left, strict=True)
    return (
        product
        if _are_unchanged(children, product.children)
        else replace(product, children=children, selectors=selectors)
    )


class RemovedParts:
    """A record of the variables and alternatives that a pruned space lacks; it simplifies expressions accordingly."""

    def __init__(self, space: Space, pruned: Space) -> None:
        self.variables: tuple[DroppedVariable, ...] = tuple(
            found
            for address, variable in space.variables.items()
            if (found := _dropped_variable(variable, pruned.variables.get(address))) is not None
        )
        self.addresses = {each.address for each in self.variables if each.address not in pruned.variables}
        self._branches = {
            each.address: frozenset(each.alternatives or ())
            for each in self.variables
            if each.address in pruned.variables
        }

    def __bool__(self) -> bool:
        return bool(self.variables)

    def are_mentioned_in(self, expression: expr.Expr) -> bool:
        """Return True if an expression mentions something that was lost."""
        return any(
            address in self.addresses or address in self._branches for address in expr.mentioned_addresses(expression)
        )

    def simplify(self, expression: expr.Expr, *, naming: bool = False) -> expr.Expr:
        """Return what remains of an expression, at the same span: `Constant(True)` or `Constant(False)` if decided.

        Removed hyperparameters count as inactive, and removed alternatives as never taken. For `naming` see
        `ir.partial_evaluation.fold_constants`.
        """
        left = partially_evaluate(
            self._without_branches(expression),
            lambda address: expr.INACTIVE if address in self.addresses else UNKNOWN,
            naming=naming,
        )
        return replace(left, span=expression.span)

    def simplify_constraint(self, constraint: Constraint) -> Constraint | None:
        """Return the constraint as it applies without what was lost; None if it never applies or always holds."""
        if not self.are_mentioned_in(constraint.expression):
            return constraint
        if any(address in self.addresses for address in constraint.scope):
            return None
        if self.simplify(constraint.expression) == expr.Constant(not constraint.forbidden):
            return None
        # Otherwise the same hyperparameters must be named, because the constraint applies where they are active.
        return replace(constraint, expression=self.simplify(constraint.expression, naming=True))

    def simplify_computed(self, computed: ComputedParameter) -> ComputedParameter | None:
        """Return a computed parameter without the removed variables; None if its value is undefined without them."""
        if not self.are_mentioned_in(computed.expression):
            return computed
        left = partially_evaluate_value(
            self._without_branches(computed.expression),
            lambda address: expr.INACTIVE if address in self.addresses else UNKNOWN,
        )
        return None if left is None else replace(computed, expression=replace(left, span=computed.expression.span))

    def _without_branches(self, expression: expr.Expr) -> expr.Expr:
        if isinstance(expression, expr.BranchTest):
            lost = self._branches.get(expression.address, frozenset())
            left = tuple(name for name in expression.branches if name not in lost)
            return replace(expression, branches=left) if left else expr.Constant(False, expression.span)
        return expr.map_children(expression, self._without_branches)


def _dropped_variable(old: Variable, new: Variable | None) -> DroppedVariable | None:
    """Return the record of what a variable lost, given the one in the pruned space; None if it lost nothing."""
    if not isinstance(old.node, Choice):
        return None if new is not None else DroppedVariable(old.address, old.key, old.owners)
    left = () if new is None else new.choice.branches
    names = {branch.name for branch in left}
    lost = tuple(branch.name for branch in old.node.branches if branch.name not in names)
    return DroppedVariable(old.address, old.key, old.owners, lost) if lost else None


def _without_decided_conditions(space: Space, lost: RemovedParts, is_decided: Callable[[Span], bool]) -> Space:
    """Return the space with simplified conditions, without hyperparameters whose condition is false.

    Only conditions that mention removed parts, or for whose span `is_decided` returns True, are simplified.
    """
    parents = (space.root, *operators(space.root))
    removable = {child.address for each in parents for child in children_of(each) if isinstance(child, Hyperparameter)}
    changes: dict[str, Hyperparameter | None] = {}
    for address, condition in space.conditions.items():
        if address not in removable or not (lost.are_mentioned_in(condition) or is_decided(condition.span)):
            continue
        left = lost.simplify(condition)
        if left == expr.Constant(False):
            changes[address] = None
        elif left != condition:
            node = space.variables[address].hyperparameter
            changes[address] = replace(node, condition=None if left == expr.Constant(True) else left)
    if not changes:
        return space
    return replace(space, root=rebuild_tree(space.root, lambda node: changes.get(node.address, node)))


DATA_SIZE_NAMES: Final = (
    "n_categorical",
    "n_classes",
    "n_datetime",
    "n_features",
    "n_missing",
    "n_numeric",
    "n_samples",
    "n_text",
)
"""Names that denote the size of the data in expressions, unless something else has the same name."""
SIZES_FROM_ZERO: Final = frozenset({"n_categorical", "n_datetime", "n_missing", "n_numeric", "n_text"})
"""The names in `DATA_SIZE_NAMES` whose number may be 0; the others are at least 1."""


def data_size_for_array_shape(name: str) -> str | None:
    """Return the symbol for the end of a Python name: `n_features` for `X.shape[1]`, `n_samples` for `X.shape[0]`.

    Any other name gives None.
    """
    return {"shape[0]": "n_samples", "shape[1]": "n_features"}.get(name.rpartition(".")[2])


def minimum_data_size(name: str) -> int:
    """Return the smallest number that a name in `DATA_SIZE_NAMES` can denote."""
    return 0 if name in SIZES_FROM_ZERO else 1
