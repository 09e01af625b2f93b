"""Walk a space along a structure or a configuration, rebuild its tree, and find the steps that addresses belong to."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, TypeAlias, assert_never

from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import KEYWORDS, NotFound, literal, quoted
from spacelang.ir.expr import INACTIVE, Expr, ExpressionValue, InactiveValue, is_true, mentioned_addresses, references
from spacelang.ir.value import Value, are_same_value
from spacelang.text import first_forbidden_character

Structure = Mapping[str, str]
"""A structure: the name of the branch that each reached decision takes, by the address of the decision."""


def walk_reached_variables(
    space: ir.Space, branch_of: Callable[[ir.Choice], str]
) -> Iterator[tuple[ir.Variable, str | None]]:
    """Yield the reached variables, owners first: decisions with a branch from `branch_of`, hyperparameters with None.

    Conditions are ignored, so that a reached hyperparameter may be inactive.
    """
    waiting: list[ir.Context] = [()]
    while waiting:
        for variable in space.by_context.get(waiting.pop(0), ()):
            if isinstance(variable.node, ir.Choice):
                branch = branch_of(variable.node)
                yield variable, branch
                waiting.append((*variable.owners, (variable.address, branch)))
            else:
                yield variable, None


def with_dependencies(
    variables: Mapping[str, ir.Variable], addresses: Iterable[str], most: int | None = None
) -> dict[str, None]:
    """Return the given addresses and those on which their activity depends, as keys of a dictionary with None values.

    The search for addresses stops at `most` of them, if given.
    """
    wanted: dict[str, None] = {}
    waiting = [*addresses]
    while waiting and len(wanted) != most:
        address = waiting.pop()
        if address not in wanted:
            wanted[address] = None
            condition = variables[address].condition
            waiting.extend(() if condition is None else mentioned_addresses(condition))
    return wanted


def activity_depths(variables: Mapping[str, ir.Variable]) -> dict[str, int]:
    """Return the depth of each variable: the number of owners and conditions on the longest way that leads to it.

    `variables` must include those whose values the conditions use.
    """
    found: dict[str, int] = {}
    waiting = [*variables][::-1]
    while waiting:
        variable = variables[waiting[-1]]
        used = () if variable.condition is None else references(variable.condition)
        unknown = [address for address in used if address not in found]
        if unknown:
            waiting.extend(unknown)
            continue
        found[waiting.pop()] = len(variable.owners) + (
            0 if variable.condition is None else 1 + max((found[address] for address in used), default=0)
        )
    return found


def default_structure(space: ir.Space, taken: Structure | None = None) -> dict[str, str]:
    """Return the structure (branch names by decision) with the default branches, or those in `taken`."""
    known = taken or {}

    def branch_of(choice: ir.Choice) -> str:
        return known.get(choice.address, choice.branches[choice.default].name)

    return {
        variable.address: branch for variable, branch in walk_reached_variables(space, branch_of) if branch is not None
    }


def structure_of(space: ir.Space, configuration: Configuration) -> dict[str, str]:
    """Return the branches that the reached decisions take in a configuration of the space, by address."""

    def branch_of(choice: ir.Choice) -> str:
        branch = configuration[choice.key]
        assert isinstance(branch, str)
        return branch

    return {
        variable.address: branch for variable, branch in walk_reached_variables(space, branch_of) if branch is not None
    }


def hyperparameters_of(space: ir.Space, configuration: Configuration) -> dict[str, ir.Hyperparameter]:
    """Return the active hyperparameters of a configuration of the space by key, in the order of the walk."""
    structure = structure_of(space, configuration)
    nodes = [variable.node for variable, _ in walk_reached_variables(space, lambda choice: structure[choice.address])]
    return {node.key: node for node in nodes if isinstance(node, ir.Hyperparameter) and node.key in configuration}


def assemble_configuration(
    space: ir.Space, structure: Structure, value_of: Callable[[ir.Hyperparameter], Value]
) -> Configuration:
    """Return the configuration of a structure; `value_of` is called once for each active hyperparameter."""
    assignment = Assignment(space, structure, value_of)
    values: dict[str, Value] = {}
    for variable, branch in walk_reached_variables(space, lambda choice: structure[choice.address]):
        value = branch if branch is not None else assignment(variable.address)
        if not isinstance(value, InactiveValue):
            values[variable.key] = value
    return Configuration(values)


class Assignment:
    """A structure with values as a lookup for expressions: it returns the value of an address or INACTIVE."""

    def __init__(self, space: ir.Space, structure: Structure, value_of: Callable[[ir.Hyperparameter], Value]) -> None:
        self._space = space
        self._structure = structure
        self._value_of = value_of
        self._values: dict[str, ExpressionValue] = {}

    @classmethod
    def from_configuration(cls, space: ir.Space, configuration: Configuration) -> "Assignment":
        """Return the assignment of a configuration of the space."""

        def value_of(node: ir.Hyperparameter) -> Value:
            found = node.domain.find(configuration[node.key])
            assert not isinstance(found, NotFound)
            return found

        return cls(space, structure_of(space, configuration), value_of)

    def __call__(self, address: str) -> ExpressionValue:
        """Return the branch of a decision or the value of a hyperparameter; INACTIVE if not reached or not active."""
        waiting = [] if address in self._values else [address]
        while waiting:
            # A chain of conditions may exceed the recursion limit, so what a condition uses is found before it.
            variable = self._space.variables[waiting[-1]]
            if unknown := self._unknown_addresses(variable):
                waiting.extend(unknown)
            elif waiting.pop() not in self._values:
                self._values[variable.address] = self._find(variable)
        return self._values[address]

    def _unknown_addresses(self, variable: ir.Variable) -> list[str]:
        """Return the addresses without known values that the condition of a reached variable uses."""
        if variable.condition is None or any(self._structure.get(owner) != taken for owner, taken in variable.owners):
            return []
        used = mentioned_addresses(variable.condition)
        return [each for each in used if each not in self._values and each in self._space.variables]

    def _find(self, variable: ir.Variable) -> ExpressionValue:
        if isinstance(variable.node, ir.Choice):
            return self._structure.get(variable.address, INACTIVE)
        if any(self._structure.get(owner) != branch for owner, branch in variable.owners):
            return INACTIVE
        if variable.node.condition is not None and not is_true(variable.node.condition, self):
            return INACTIVE
        return self._value_of(variable.node)


PIPELINE_GROUP: Final = "/"  # The name of a group whose steps are addressed as if they stood in the pipeline line


def operator_address(operator: ir.Operator) -> str:
    """Return the address of an operator, derived from its children; empty if it has no variables."""
    for child in (*operator.children, *operator.computed):
        return child.address.removesuffix(f".{child.name}")
    for name, value in operator.fixed:
        if isinstance(value, ir.Operator) and operator_address(value):
            return operator_address(value).removesuffix(f".{name}")
    return ""


def _addresses_for_grouping(node: ir.Node) -> Iterator[str]:
    """Yield the addresses of the parts of a tree that have one; decisions of stages are skipped."""
    match node:
        case ir.Operator():
            yield from filter(None, (operator_address(node),))
        case ir.Choice():
            yield from (node.address,) if "." in node.address else ()
        case ir.Product():
            yield from (node.children[0].address,) if node.kind is ir.ProductKind.PERMUTATION else ()  # type: ignore[union-attr]
            for child in node.children:
                yield from _addresses_for_grouping(child)
        case ir.Hyperparameter():
            yield node.address


def group_name_per_step(nodes: Sequence[ir.Node], prefix: str) -> list[str]:
    """Return the name of the group of each step, the first name after `prefix` in the addresses inside of the step.

    The name is PIPELINE_GROUP if all addresses are outside of `prefix`, and empty if no single group contains the step.
    A step without addresses gets the group of the nearest steps with addresses before and after it, if it is the same.
    """
    found = [_step_group(node, prefix) for node in nodes]
    spoken = [place for place, node in enumerate(nodes) if any(_addresses_for_grouping(node))]
    for before, behind in pairwise(spoken):
        if found[before] == found[behind]:
            found[before:behind] = [found[before]] * (behind - before)
    return found


def _step_group(node: ir.Node, prefix: str) -> str:
    """Return the group that contains all of a step: PIPELINE_GROUP for the pipeline itself, empty if there is none."""
    if is_sequence(node):
        return ""
    before = f"{prefix}." if prefix else ""
    addresses = [*_addresses_for_grouping(node)]
    if addresses and not any(address.startswith(before) for address in addresses):
        return PIPELINE_GROUP
    if not all(address.startswith(before) for address in addresses):
        return ""
    inside = {address.removeprefix(before) for address in addresses}
    firsts = {address.partition(".")[0] if "." in address else "" for address in inside}
    return firsts.pop() if len(firsts) == 1 else ""


def is_sequence(node: ir.Node) -> bool:
    """Return True if a node is a sequence of steps; the empty sequence counts."""
    return isinstance(node, ir.Product) and node.kind is ir.ProductKind.SEQUENCE


def join_address(prefix: str, name: str) -> str:
    """Return the address of `name` below the address `prefix`; an empty prefix is the pipeline itself."""
    return f"{prefix}.{name}" if prefix else name


HyperparameterChange: TypeAlias = Callable[[ir.Hyperparameter], ir.Hyperparameter | None]
DecisionChange: TypeAlias = Callable[[ir.Choice], ir.Choice]
ComputedChange: TypeAlias = Callable[[ir.ComputedParameter], ir.ComputedParameter | None]


def rebuild_tree(
    node: ir.Node,
    change: HyperparameterChange,
    decide: DecisionChange = lambda choice: choice,
    compute: ComputedChange = lambda computed: computed,
) -> ir.Node:
    """Return a tree with `decide` applied to decisions, then `change` (None: remove) to hyperparameters.

    `compute` (None: remove) is applied to the computed parameters.
    """
    match node:
        case ir.Hyperparameter():
            found = change(node)
            assert found is not None, "a hyperparameter that is an alternative cannot be removed"
            return found
        case ir.Choice():
            choice = decide(node)
            inner = tuple(
                replace(branch, node=rebuild_tree(branch.node, change, decide, compute)) for branch in choice.branches
            )
            return replace(choice, branches=inner)
        case ir.Operator():
            return _operator(node, change, decide, compute)
        case ir.Product():
            found_children = (
                change(child) if isinstance(child, ir.Hyperparameter) else rebuild_tree(child, change, decide, compute)
                for child in node.children
            )
            return replace(node, children=tuple(child for child in found_children if child is not None))
        case _:
            assert_never(node)


def _operator(
    operator: ir.Operator, change: HyperparameterChange, decide: DecisionChange, compute: ComputedChange
) -> ir.Operator:
    found: list[ir.Hyperparameter | ir.Choice | None] = [
        change(child) if isinstance(child, ir.Hyperparameter) else rebuild_tree(child, change, decide, compute)  # type: ignore[misc]
        for child in operator.children
    ]
    fixed: tuple[tuple[str, ir.FixedValue], ...] = tuple(
        (name, _operator(value, change, decide, compute) if isinstance(value, ir.Operator) else value)
        for name, value in operator.fixed
    )
    computed = tuple(each for each in map(compute, operator.computed) if each is not None)
    children = tuple(child for child in found if child is not None)
    moved = {old.address: new.address for old, new in zip(operator.children, found, strict=True) if new is not None}
    left = (each.restrict_to(moved.keys()) for each in operator.tuples)
    tuples = tuple(each.relocate(moved[each.members[0]]) for each in left if each is not None)
    return replace(operator, children=children, fixed=fixed, computed=computed, tuples=tuples)


def index_of_value_branch(branches: Sequence[ir.Branch], value: Value) -> int | None:
    """Return the index of the branch that stands for a plain value; None if there is none, or if the value is None."""
    alike = (
        place for place, each in enumerate(branches) if each.value is not None and are_same_value(each.value, value)
    )
    return next(alike, None)


def is_value_branch(branches: Sequence[ir.Branch], name: str) -> bool:
    """Return True if the branch with this name is a plain value, a range or `none`, and not an operator."""
    nodes = (branch.node for branch in branches if branch.name == name)
    return any(isinstance(node, ir.Hyperparameter) or node == ir.SKIPPED_STEP for node in nodes)


def expressions_of(variables: Iterable[ir.Variable], constraints: Iterable[ir.Constraint]) -> Iterator[Expr]:
    """Yield the expressions of all conditions of `variables`, then those of `constraints`."""
    yield from (condition for variable in variables if (condition := variable.condition) is not None)
    yield from (constraint.expression for constraint in constraints)


def operator_and_fixed_operators(operator: ir.Operator) -> Iterator[ir.Operator]:
    """Yield an operator and, at any depth, the operators that are fixed values of it."""
    yield operator
    for inner in ir.fixed_operators(operator):
        yield from operator_and_fixed_operators(inner)


def products(node: ir.Node) -> Iterator[ir.Product]:
    """Yield the products of a tree, without those inside operators."""
    return (each for each in ir.subtree(node, values=False) if isinstance(each, ir.Product))


def computed_parameters(root: ir.Node) -> Iterator[tuple[ir.ComputedParameter, ir.Context]]:
    """Yield the computed parameters of every operator of a tree, with the branches that lead to the operator."""
    for node, owners in ir.nodes_with_owners(root):
        if isinstance(node, ir.Operator):
            yield from ((each, owners) for each in node.computed)


def possible_last_operators(node: ir.Node) -> Iterator[ir.Operator]:
    """Yield the operators that can be the last step of a pipeline; they determine what kind of estimator it is."""
    match node:
        case ir.Operator():
            yield node
        case ir.Choice():
            for branch in node.branches:
                yield from possible_last_operators(branch.node)
        case ir.Product(kind=ir.ProductKind.SEQUENCE, children=(*_, last)):
            yield from possible_last_operators(last)
        case ir.Product() | ir.Hyperparameter():
            return


_LITERAL_NAME: Final = re.compile(r'["(].*|[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?', re.IGNORECASE | re.DOTALL)
"""The names of alternatives that are quoted strings, tuples or numbers."""


def unique_value_name(value: Value) -> str:
    """Return the unique name of a plain value: 1 is named `1`, and the string `"1"`, which reads like it, in quotes."""
    if not isinstance(value, str):
        return _escape_name(literal(value))
    is_of_others = value in {"", ir.RANGE_NAME, *KEYWORDS} or _LITERAL_NAME.fullmatch(value) is not None
    return _escape_name(quoted(value)) if is_of_others or first_forbidden_character(value) is not None else value


def _escape_name(text: str) -> str:
    """Return a literal with the code points of characters that names may not contain; names stay unique."""
    return "".join(each if first_forbidden_character(each) is None else f"\\u{{{ord(each):x}}}" for each in text)


def leading_decisions(space: ir.Space) -> list[ir.Choice]:
    """Return the decisions marked `@first`, or else the one that is the last step, which usually chooses the learner.

    If the last step is fixed, these are the decisions inside it.
    """
    return [choice for choice in space.stages if choice.first] or [*_last_decisions(space.root)]


def _last_decisions(node: ir.Node) -> Iterator[ir.Choice]:
    """Yield the decision that is the last step of a pipeline, or the decisions inside a fixed last step."""
    match node:
        case ir.Choice():
            yield node
        case ir.Product(kind=ir.ProductKind.SEQUENCE, children=(*_, last)):
            yield from _last_decisions(last)
        case ir.Operator():
            for inner in ir.children_of(node):
                yield from _last_decisions(inner)
        case _:
            return
