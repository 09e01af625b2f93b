"""Compare two spaces: the list of facts that differ, and the exact number of structures that they share."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from spacelang.ir import space as ir
from spacelang.ir.chain_constraints import merge_constraints
from spacelang.ir.domain import describe, literal, spell_parameter_name
from spacelang.ir.expr import BranchTest, rename_addresses
from spacelang.ir.prior import describe as describe_prior
from spacelang.ir.task import task_lines as describe_task
from spacelang.ir.tuple_parameters import TupleDescription, children_with_tuples
from spacelang.serialization.number_spellings import NumberSpellings, respell_numbers
from spacelang.serialization.syntax_nodes import show_expression
from spacelang.solver.counting import Structures
from spacelang.solver.network import TooManyConnectedVariablesError


class Aspect(StrEnum):
    """A kind of fact about a space."""

    DECISION = "decision"
    ALTERNATIVE = "alternative"
    HYPERPARAMETER = "hyperparameter"
    DOMAIN = "domain"
    DEFAULT = "default"
    CONDITION = "condition"
    OPERATOR = "operator"
    FIXED = "fixed value"
    COMPUTED = "computed value"
    ANNOTATION = "annotation"
    CONSTRAINT = "constraint"
    PIPELINE = "pipeline"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that differs between two spaces, with its text in each; None for a space that does not have the fact."""

    stage: str  # The stage of the fact; empty for constraints, the pipeline and the task
    address: str  # The address of the decision, alternative, operator or parameter; empty if `stage` is empty
    path: str  # The address as the language writes it; names that are not plain words are in backticks or quotes
    aspect: Aspect
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class SpaceDifference:
    """The differences of two spaces, with the number of structures of each and of both.

    A structure chooses one alternative for every reached decision. It is common to both spaces if both give every
    decision the same alternative (by name) and both have admissible values for it. Different operators or fixed values
    of an alternative count as differences, but do not make a structure different. `both` is None if the common
    structures cannot be counted exactly.
    """

    differences: tuple[Difference, ...]
    first: int
    second: int
    both: int | None

    @property
    def only_first(self) -> int | None:
        """The number of structures that only the first space has; None if it is unknown."""
        return None if self.both is None else self.first - self.both

    @property
    def only_second(self) -> int | None:
        """The number of structures that only the second space has; None if it is unknown."""
        return None if self.both is None else self.second - self.both


def compare(first: Structures, second: Structures) -> SpaceDifference:
    """Return the differences of two spaces and the number of structures they share, which takes as long as counting."""
    return SpaceDifference(
        differences(first.space, second.space),
        first.count,
        second.count,
        count_common_structures(first.space, second.space),
    )


# ---- what differs


def differences(first: ir.Space, second: ir.Space) -> tuple[Difference, ...]:
    """Return the facts that differ, the first space's first; not those inside a part that only one space has."""
    # This import brings in the syntax tree of the language, which nothing else here needs.
    from spacelang.serialization.syntax_nodes import spell_branch, spelled_names, with_spelled_names

    def path(address: str, aspect: Aspect) -> str:
        around, _, name = address.rpartition(".")
        if aspect in (Aspect.FIXED, Aspect.COMPUTED) and around:
            return f"{path(around, Aspect.ALTERNATIVE)}.{spell_parameter_name(name)}"
        if address in names or not around:
            return names.get(address, address)
        # The address of an alternative. Its name may contain dots.
        decision = max((each for each in names if address.startswith(f"{each}.")), key=len, default="")
        if decision in chains:
            return f"{names[decision]} == {address[len(decision) + 1 :]}"
        return f"{names[decision]}.{spell_branch(address[len(decision) + 1 :])}" if decision else address

    first, second = (replace(each, constraints=merge_constraints(each)) for each in (first, second))
    named = with_spelled_names(first), with_spelled_names(second)
    before, after = (dict(_facts(space)) for space in named)
    constraints = {text: rule.span.text for space in reversed(named) for text, rule in _constraint_texts(space)}
    spellings = NumberSpellings(first), NumberSpellings(second)

    def spell(text: str | None, place: str, aspect: Aspect, own: NumberSpellings) -> str | None:
        if text is None or aspect is Aspect.CONSTRAINT:
            return text and respell_numbers(text, constraints[text])
        return own.respell(text, place)

    names = {**spelled_names(second), **spelled_names(first)}
    chains = first.chains | second.chains
    lone = {address for (address, aspect) in before.keys() ^ after.keys() if aspect in _EXISTENCE}
    found = []
    for fact in dict.fromkeys((*before, *after)):
        one, other = before.get(fact), after.get(fact)
        address, aspect = fact
        if one == other or _is_implied(address, aspect, one, other, lone):
            continue
        place = "" if aspect in (Aspect.CONSTRAINT, Aspect.TASK) else address
        shown = (spell(text, place, aspect, own) for text, own in zip((one, other), spellings, strict=True))
        found.append(Difference(place.partition(".")[0], place, path(place, aspect), aspect, *shown))
    # What is inside a use of a chain has the same path for each number of uses.
    return tuple({(each.path, each.aspect, each.first, each.second): each for each in reversed(found)}.values())[::-1]


_FactKey: TypeAlias = tuple[str, Aspect]
_EXISTENCE: Final = (Aspect.DECISION, Aspect.ALTERNATIVE, Aspect.HYPERPARAMETER)


def _is_implied(address: str, aspect: Aspect, one: str | None, other: str | None, lone: set[str]) -> bool:
    if aspect in (Aspect.CONSTRAINT, Aspect.TASK):
        return False
    if aspect in (Aspect.DECISION, Aspect.HYPERPARAMETER) and one is not None and other is not None:
        return True
    parts = address.split(".")
    is_part_of_lone = any(".".join(parts[:length]) in lone for length in range(1, len(parts)))
    return is_part_of_lone or (address in lone and aspect not in _EXISTENCE)


def _facts(space: ir.Space) -> Iterator[tuple[_FactKey, str]]:
    yield ("", Aspect.PIPELINE), _outline(space.root)
    yield from _facts_of(space.root, "")
    for text, _ in _constraint_texts(space):
        yield (text, Aspect.CONSTRAINT), text
    for line in describe_task(space.task) if space.task is not None else ():
        yield (line, Aspect.TASK), line


def _constraint_texts(space: ir.Space) -> Iterator[tuple[str, ir.Constraint]]:
    for constraint in space.constraints:
        yield f"{'forbid' if constraint.forbidden else 'require'} {show_expression(constraint.expression)}", constraint


def _facts_of(node: ir.Node, inside: str) -> Iterator[tuple[_FactKey, str]]:
    """Yield the facts of a node and everything below it; `inside` is the address of the enclosing alternative."""
    match node:
        case ir.Hyperparameter():
            yield from _facts_of_hyperparameter(node)
        case ir.Choice():
            yield (node.address, Aspect.DECISION), " | ".join(quote_if_list(branch.name) for branch in node.branches)
            yield (node.address, Aspect.DEFAULT), quote_if_list(node.branches[node.default].name)
            if node.first:
                yield (node.address, Aspect.ANNOTATION), "@first"
            for branch in node.branches:
                yield from _facts_of_branch(branch, f"{node.address}.{branch.name}")
        case ir.Operator():
            yield from _facts_of_operator(node, inside)
        case ir.Product():
            for child in node.children:
                yield from _facts_of(child, inside)
        case _:
            assert_never(node)


def _facts_of_operator(node: ir.Operator, inside: str) -> Iterator[tuple[_FactKey, str]]:
    yield (inside or node.name, Aspect.OPERATOR), f"{node.catalogue}.{node.name}"
    for part in children_with_tuples(node):
        if isinstance(part, TupleDescription):
            yield from _facts_of_parameter(part.parameter.address, part.domain, part)
        else:
            yield from _facts_of(part, inside)
    for name, value in node.fixed:
        yield from _facts_of_fixed(value, f"{inside}.{name}" if inside else name)
    for each in node.computed:
        yield (each.address, Aspect.COMPUTED), show_expression(each.expression)


def quote_if_list(name: str) -> str:
    """Return the name of an alternative for display; in quotes if it contains commas, as an order of steps does."""
    return f'"{name}"' if ", " in name else name


def _facts_of_hyperparameter(node: ir.Hyperparameter) -> Iterator[tuple[_FactKey, str]]:
    yield from _facts_of_parameter(node.address, describe(node.domain), node, var="var " if node.is_var else "")


def _facts_of_parameter(
    address: str, domain: str, node: ir.Hyperparameter | TupleDescription, *, var: str = ""
) -> Iterator[tuple[_FactKey, str]]:
    default = literal(node.default)
    condition = show_expression(node.condition) if node.condition is not None else None
    whole = f"{var}{domain} = {default}" + (f" when {condition}" if condition is not None else "")
    yield (address, Aspect.HYPERPARAMETER), whole
    yield (address, Aspect.DOMAIN), domain
    yield (address, Aspect.DEFAULT), default
    if condition is not None:
        yield (address, Aspect.CONDITION), condition
    annotations = [f"@split({node.split})"] if node.split is not None else []
    if node.prior is not None:
        annotations.append(describe_prior(node.prior))
    if annotations:
        yield (address, Aspect.ANNOTATION), " ".join(annotations)


def _facts_of_branch(branch: ir.Branch, address: str) -> Iterator[tuple[_FactKey, str]]:
    yield (address, Aspect.ALTERNATIVE), branch.name if branch.value is None else literal(branch.value)
    if branch.weight != 1:
        yield (address, Aspect.ANNOTATION), f"@weight({literal(branch.weight)})"
    if not isinstance(branch.node, ir.Operator | ir.Product) or (
        isinstance(branch.node, ir.Product) and branch.node.children
    ):
        yield (address, Aspect.PIPELINE), _outline(branch.node)
    yield from _facts_of(branch.node, address)


def _facts_of_fixed(value: ir.FixedValue, address: str) -> Iterator[tuple[_FactKey, str]]:
    match value:
        case ir.Operator():
            yield from _facts_of(value, address)
        case ir.CatalogueObject(name=name):
            yield (address, Aspect.FIXED), name
        case _:
            yield (address, Aspect.FIXED), literal(value)


def _outline(node: ir.Node) -> str:
    match node:
        case ir.Choice() | ir.Hyperparameter() | ir.Operator():
            return node.name
        case ir.Product(kind=kind, steps=steps, selectors=selectors):
            parts = [_outline(step) for step in steps]
            if selectors:
                names = (f'"{each.pattern}"' if each.pattern else each.kind for each in selectors)
                parts = [f"{name}: {part}" for name, part in zip(names, parts, strict=True)]
            sign = {ir.ProductKind.SEQUENCE: " -> ", ir.ProductKind.PARALLEL: " & "}.get(kind)
            if sign is not None:
                return f"({sign.join(parts)})" if len(parts) != 1 else parts[0]
            return f"{kind}({', '.join(parts)})"
        case _:
            assert_never(node)


# ---- common structures


def count_common_structures(first: ir.Space, second: ir.Space) -> int | None:
    """Return the number of structures that both spaces have; None if they are too intertwined to be counted.

    The function counts the structures of a union space. It has the decisions of both spaces, and forbids what only one
    of them can do. Structures do not include hyperparameters, so the union simply contains those of both spaces.
    """
    union = _SpaceUnion((first, second))
    if not union.may_share_structure(((), ())):
        return 0
    try:
        return Structures(union.space()).count
    except TooManyConnectedVariablesError:
        return None


_Contexts: TypeAlias = tuple[ir.Context, ir.Context]
"""The contexts (decisions with branches) of one place in the first space and in the second."""


class _SpaceUnion:
    """The union of two spaces; decisions are shared where the same branches lead to them."""

    def __init__(self, spaces: tuple[ir.Space, ir.Space]) -> None:
        self.spaces = spaces
        self.forbidden: list[ir.Constraint] = []
        self.names = tuple(
            {address: f"{number} {address}" for address in each.variables} for number, each in enumerate(spaces)
        )
        """For each of the two spaces, its addresses and their new addresses in the union."""

    def may_share_structure(self, contexts: _Contexts) -> bool:
        """Return True if, without constraints, both have the same decisions here and common branches, recursively."""
        ours, theirs = self._decisions(contexts)
        return ours.keys() == theirs.keys() and all(
            any(
                self.may_share_structure(_contexts_below(variable, theirs[key], name))
                for name in _shared_branches(variable, theirs[key])
            )
            for key, variable in ours.items()
        )

    def space(self) -> ir.Space:
        """Return the space whose admissible structures are exactly the common ones."""
        self._share_names(((), ()))
        root = self._shared_node(((), ()))
        constraints = [
            replace(constraint, expression=rename_addresses(constraint.expression, names))
            for space, names in zip(self.spaces, self.names, strict=True)
            for constraint in space.constraints
        ]
        return ir.Space("", root, (*self.forbidden, *constraints))

    def _share_names(self, contexts: _Contexts) -> None:
        ours, theirs = self._decisions(contexts)
        for key, variable in ours.items():
            for names, each in zip(self.names, (variable, theirs[key]), strict=True):
                names[each.address] = f"both {variable.address}"
            for name in _shared_branches(variable, theirs[key]):
                if self.may_share_structure(inside := _contexts_below(variable, theirs[key], name)):
                    self._share_names(inside)

    def _shared_node(self, contexts: _Contexts) -> ir.Node:
        """Return the node below two contexts: the shared decisions, and the hyperparameters of both spaces."""
        ours, theirs = self._decisions(contexts)
        choices = [self._shared_choice(variable, theirs[key]) for key, variable in ours.items()]
        return ir.Product(
            ir.ProductKind.SEQUENCE,
            (*choices, *self._hyperparameters(0, contexts[0]), *self._hyperparameters(1, contexts[1])),
        )

    def _shared_choice(self, ours: ir.Variable, theirs: ir.Variable) -> ir.Choice:
        """Return a decision with the branches of both spaces; forbid the branches that no common structure has."""
        address = self.names[0][ours.address]
        branches: list[ir.Branch] = []
        for name in dict.fromkeys((*ours.choice.branch_indices, *theirs.choice.branch_indices)):
            inside = _contexts_below(ours, theirs, name)
            if name in _shared_branches(ours, theirs) and self.may_share_structure(inside):
                branches.append(ir.Branch(name, self._shared_node(inside)))
                continue
            # The branch is kept, so that expressions that refer to something inside it keep their meaning.
            own = [
                self._unshared_node(number, inside[number])
                for number, each in enumerate((ours, theirs))
                if name in each.choice.branch_indices
            ]
            branches.append(ir.Branch(name, ir.Product(ir.ProductKind.SEQUENCE, tuple(own))))
            self.forbidden.append(ir.Constraint(BranchTest(address, (name,)), forbidden=True))
        return ir.Choice(ours.node.name, address, address, tuple(branches))

    def _unshared_node(self, number: int, context: ir.Context) -> ir.Node:
        choices = []
        for variable in self.spaces[number].by_context.get(context, ()):
            if isinstance(variable.node, ir.Choice):
                address = self.names[number][variable.address]
                branches = tuple(
                    ir.Branch(name, self._unshared_node(number, (*context, (variable.address, name))))
                    for name in variable.choice.branch_indices
                )
                choices.append(ir.Choice(variable.node.name, address, address, branches))
        return ir.Product(ir.ProductKind.SEQUENCE, (*choices, *self._hyperparameters(number, context)))

    def _hyperparameters(self, number: int, context: ir.Context) -> Iterator[ir.Hyperparameter]:
        names = self.names[number]
        for variable in self.spaces[number].by_context.get(context, ()):
            node = variable.node
            if isinstance(node, ir.Hyperparameter):
                condition = rename_addresses(node.condition, names) if node.condition is not None else None
                yield replace(node, address=names[node.address], key=names[node.address], condition=condition)

    def _decisions(self, contexts: _Contexts) -> tuple[dict[str, ir.Variable], dict[str, ir.Variable]]:
        ours, theirs = (
            {each.key: each for each in space.by_context.get(context, ()) if isinstance(each.node, ir.Choice)}
            for space, context in zip(self.spaces, contexts, strict=True)
        )
        return ours, theirs


def _contexts_below(ours: ir.Variable, theirs: ir.Variable, branch: str) -> _Contexts:
    return (*ours.owners, (ours.address, branch)), (*theirs.owners, (theirs.address, branch))


def _shared_branches(ours: ir.Variable, theirs: ir.Variable) -> list[str]:
    return [name for name in ours.choice.branch_indices if name in theirs.choice.branch_indices]
