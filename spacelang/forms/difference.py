"""What two spaces have in common and what not: their parts one by one, and their structures counted exactly."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from spacelang.forms.printer import show_expression
from spacelang.ir.domain import describe, literal, parameter_name
from spacelang.ir.expr import Is, renamed
from spacelang.ir.prior import describe as describe_prior
from spacelang.ir.space import (
    Branch,
    Choice,
    Constraint,
    Context,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    Space,
    Variable,
)
from spacelang.ir.task import lines as describe_task
from spacelang.solver.counting import Structures
from spacelang.solver.network import TooTangledError


class Aspect(StrEnum):
    """What of a space a fact is about."""

    DECISION = "decision"
    ALTERNATIVE = "alternative"
    HYPERPARAMETER = "hyperparameter"
    DOMAIN = "domain"
    DEFAULT = "default"
    CONDITION = "condition"
    OPERATOR = "operator"
    FIXED = "fixed value"
    ANNOTATION = "annotation"
    CONSTRAINT = "constraint"
    PIPELINE = "pipeline"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that differs: what it is in the first space and in the second; None where a space does not have it."""

    stage: str
    """The stage that it belongs to; empty for constraints, the pipeline and the task."""

    address: str
    """Of the decision, alternative, operator or parameter; empty where `stage` is."""

    path: str
    """The address as texts have it, with names that are no words in backticks or quotes."""

    aspect: Aspect
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class SpaceDifference:
    """How two spaces differ. `both` is None where what they have in common cannot be counted exactly.

    A structure counts as common where both spaces give every decision the same alternative by name, and each has
    admissible values for it. Which operator an alternative is and what it fixes are among the differences only.
    """

    differences: tuple[Difference, ...]
    first: int
    second: int
    both: int | None

    @property
    def only_first(self) -> int | None:
        """How many structures the second space has not."""
        return None if self.both is None else self.first - self.both

    @property
    def only_second(self) -> int | None:
        """How many structures the first space has not."""
        return None if self.both is None else self.second - self.both


def compare(first: Structures, second: Structures) -> SpaceDifference:
    """How two spaces differ; the work grows with what they have in common and is as for counting one of them."""
    return SpaceDifference(
        differences(first.space, second.space), first.count, second.count, common(first.space, second.space)
    )


# ---- what differs


def differences(first: Space, second: Space) -> tuple[Difference, ...]:
    """The facts that differ, in the order of the first space, those of the second alone behind.

    What belongs to a decision, an alternative or an operator that only one of them has is not told apart.
    """
    # The words of the language come with its syntax tree, which those do without who never compare.
    from spacelang.forms.wording import called, spelled, worded

    def path(address: str, aspect: Aspect) -> str:
        around, _, name = address.rpartition(".")
        if aspect is Aspect.FIXED and around:
            return f"{path(around, Aspect.ALTERNATIVE)}.{parameter_name(name)}"
        if address in names or not around:
            return names.get(address, address)
        # An alternative, whose name may have points.
        decision = max((each for each in names if address.startswith(f"{each}.")), key=len, default="")
        return f"{names[decision]}.{called(address[len(decision) + 1 :])}" if decision else address

    before, after = dict(_facts(worded(first))), dict(_facts(worded(second)))
    names = {**spelled(second), **spelled(first)}
    lone = {address for (address, aspect) in before.keys() ^ after.keys() if aspect in _EXISTENCE}
    found = []
    for fact in dict.fromkeys((*before, *after)):
        one, other = before.get(fact), after.get(fact)
        address, aspect = fact
        if one == other or _is_implied(address, aspect, one, other, lone):
            continue
        place = "" if aspect in (Aspect.CONSTRAINT, Aspect.TASK) else address
        found.append(Difference(place.partition(".")[0], place, path(place, aspect), aspect, one, other))
    return tuple(found)


_Fact: TypeAlias = tuple[str, Aspect]
_EXISTENCE: Final = (Aspect.DECISION, Aspect.ALTERNATIVE, Aspect.HYPERPARAMETER)


def _is_implied(address: str, aspect: Aspect, one: str | None, other: str | None, lone: set[str]) -> bool:
    """Whether other differences say it already."""
    if aspect in (Aspect.CONSTRAINT, Aspect.TASK):
        return False
    if aspect in (Aspect.DECISION, Aspect.HYPERPARAMETER) and one is not None and other is not None:
        return True
    parts = address.split(".")
    return (address in lone and aspect not in _EXISTENCE) or any(
        ".".join(parts[:length]) in lone for length in range(1, len(parts))
    )


def _facts(space: Space) -> Iterator[tuple[_Fact, str]]:
    yield ("", Aspect.PIPELINE), _shape(space.root)
    yield from _facts_of(space.root, "")
    for constraint in space.constraints:
        text = f"{'forbid' if constraint.forbidden else 'require'} {show_expression(constraint.expression)}"
        yield (text, Aspect.CONSTRAINT), text
    for line in describe_task(space.task) if space.task is not None else ():
        yield (line, Aspect.TASK), line


def _facts_of(node: Node, inside: str) -> Iterator[tuple[_Fact, str]]:
    """The facts of a node; `inside` is the address of what surrounds it."""
    match node:
        case Hyperparameter():
            yield from _facts_of_hyperparameter(node)
        case Choice():
            yield (node.address, Aspect.DECISION), " | ".join(quoted(branch.name) for branch in node.branches)
            yield (node.address, Aspect.DEFAULT), quoted(node.branches[node.default].name)
            if node.first:
                yield (node.address, Aspect.ANNOTATION), "@first"
            for branch in node.branches:
                yield from _facts_of_branch(branch, f"{node.address}.{branch.name}")
        case Operator():
            yield (inside or node.name, Aspect.OPERATOR), f"{node.catalogue}.{node.name}"
            for part in node.children:
                yield from _facts_of(part, inside)
            for name, value in node.fixed:
                yield from _facts_of_fixed(value, f"{inside}.{name}" if inside else name)
        case Product():
            for child in node.children:
                yield from _facts_of(child, inside)
        case _:
            assert_never(node)


def quoted(name: str) -> str:
    """The name of an alternative as it is told: in quotes where it is a list itself, such as an order of steps."""
    return f'"{name}"' if ", " in name else name


def _facts_of_hyperparameter(node: Hyperparameter) -> Iterator[tuple[_Fact, str]]:
    domain, default = describe(node.domain), literal(node.default)
    condition = show_expression(node.condition) if node.condition is not None else None
    whole = f"{domain} = {default}" + (f" when {condition}" if condition is not None else "")
    yield (node.address, Aspect.HYPERPARAMETER), whole
    yield (node.address, Aspect.DOMAIN), domain
    yield (node.address, Aspect.DEFAULT), default
    if condition is not None:
        yield (node.address, Aspect.CONDITION), condition
    annotations = [f"@split({node.split})"] if node.split is not None else []
    if node.prior is not None:
        annotations.append(describe_prior(node.prior))
    if annotations:
        yield (node.address, Aspect.ANNOTATION), " ".join(annotations)


def _facts_of_branch(branch: Branch, address: str) -> Iterator[tuple[_Fact, str]]:
    yield (address, Aspect.ALTERNATIVE), branch.name if branch.value is None else literal(branch.value)
    if branch.weight != 1:
        yield (address, Aspect.ANNOTATION), f"@weight({literal(branch.weight)})"
    if not isinstance(branch.node, Operator | Product) or (isinstance(branch.node, Product) and branch.node.children):
        yield (address, Aspect.PIPELINE), _shape(branch.node)
    yield from _facts_of(branch.node, address)


def _facts_of_fixed(value: Fixed, address: str) -> Iterator[tuple[_Fact, str]]:
    match value:
        case Operator():
            yield from _facts_of(value, address)
        case Named(name=name):
            yield (address, Aspect.FIXED), name
        case _:
            yield (address, Aspect.FIXED), literal(value)


def _shape(node: Node) -> str:
    """How a structure is put together, its decisions by their names."""
    match node:
        case Choice() | Hyperparameter() | Operator():
            return node.name
        case Product(kind=kind, children=children, selectors=selectors):
            parts = [_shape(child) for child in children]
            if selectors:
                names = (f'"{each.pattern}"' if each.pattern else each.kind for each in selectors)
                parts = [f"{name}: {part}" for name, part in zip(names, parts, strict=True)]
            sign = {Kind.SEQUENCE: " -> ", Kind.PARALLEL: " & "}.get(kind)
            if sign is not None:
                return f"({sign.join(parts)})" if len(parts) != 1 else parts[0]
            return f"{kind}({', '.join(parts)})"
        case _:
            assert_never(node)


# ---- structures in common


def common(first: Space, second: Space) -> int | None:
    """How many structures both spaces have; None where that is too tangled to be counted.

    They are the structures of a space with the decisions of both, in which what only one of them can do is forbidden:
    hyperparameters have no part in a structure, so that those of both stand side by side in it.
    """
    union = _Union((first, second))
    if not union.meet(((), ())):
        return 0
    try:
        return Structures(union.space()).count
    except TooTangledError:
        return None


_Contexts: TypeAlias = tuple[Context, Context]
"""The branches that lead to the same place in the first space and in the second."""


class _Union:
    """The space of the decisions of two spaces, shared as far as the same branches lead to them."""

    def __init__(self, spaces: tuple[Space, Space]) -> None:
        self.spaces = spaces
        self.forbidden: list[Constraint] = []
        self.names = tuple(
            {address: f"{number} {address}" for address in each.variables} for number, each in enumerate(spaces)
        )
        """What the addresses of each space are called in the union."""

    def meet(self, contexts: _Contexts) -> bool:
        """Whether both spaces have the same decisions here, each with a branch that leads on in both."""
        ours, theirs = self._decisions(contexts)
        return ours.keys() == theirs.keys() and all(
            any(self.meet(_inside(variable, theirs[key], name)) for name in _shared(variable, theirs[key]))
            for key, variable in ours.items()
        )

    def space(self) -> Space:
        """The union, in which exactly the structures that both spaces have are admissible."""
        self._share_names(((), ()))
        root = self._shared_node(((), ()))
        constraints = [
            replace(constraint, expression=renamed(constraint.expression, names))
            for space, names in zip(self.spaces, self.names, strict=True)
            for constraint in space.constraints
        ]
        return Space("", root, (*self.forbidden, *constraints))

    def _share_names(self, contexts: _Contexts) -> None:
        ours, theirs = self._decisions(contexts)
        for key, variable in ours.items():
            for names, each in zip(self.names, (variable, theirs[key]), strict=True):
                names[each.address] = f"both {variable.address}"
            for name in _shared(variable, theirs[key]):
                if self.meet(inside := _inside(variable, theirs[key], name)):
                    self._share_names(inside)

    def _shared_node(self, contexts: _Contexts) -> Node:
        """What the same branches lead to: the decisions of both as one, the hyperparameters of both."""
        ours, theirs = self._decisions(contexts)
        choices = [self._shared_choice(variable, theirs[key]) for key, variable in ours.items()]
        return Product(
            Kind.SEQUENCE, (*choices, *self._hyperparameters(0, contexts[0]), *self._hyperparameters(1, contexts[1]))
        )

    def _shared_choice(self, ours: Variable, theirs: Variable) -> Choice:
        """The decision with the branches of both; those that do not lead on in both are forbidden."""
        address = self.names[0][ours.address]
        branches: list[Branch] = []
        for name in dict.fromkeys((*ours.choice.places, *theirs.choice.places)):
            inside = _inside(ours, theirs, name)
            if name in _shared(ours, theirs) and self.meet(inside):
                branches.append(Branch(name, self._shared_node(inside)))
                continue
            # The branch stays, so that whatever mentions something inside of it means what it did.
            own = [
                self._own_node(number, inside[number])
                for number, each in enumerate((ours, theirs))
                if name in each.choice.places
            ]
            branches.append(Branch(name, Product(Kind.SEQUENCE, tuple(own))))
            self.forbidden.append(Constraint(Is(address, (name,)), forbidden=True))
        return Choice(ours.node.name, address, address, tuple(branches))

    def _own_node(self, number: int, context: Context) -> Node:
        """What branches lead to in one of the spaces."""
        choices = []
        for variable in self.spaces[number].by_context.get(context, ()):
            if isinstance(variable.node, Choice):
                address = self.names[number][variable.address]
                branches = tuple(
                    Branch(name, self._own_node(number, (*context, (variable.address, name))))
                    for name in variable.choice.places
                )
                choices.append(Choice(variable.node.name, address, address, branches))
        return Product(Kind.SEQUENCE, (*choices, *self._hyperparameters(number, context)))

    def _hyperparameters(self, number: int, context: Context) -> Iterator[Hyperparameter]:
        names = self.names[number]
        for variable in self.spaces[number].by_context.get(context, ()):
            node = variable.node
            if isinstance(node, Hyperparameter):
                condition = renamed(node.condition, names) if node.condition is not None else None
                yield replace(node, address=names[node.address], key=names[node.address], condition=condition)

    def _decisions(self, contexts: _Contexts) -> tuple[dict[str, Variable], dict[str, Variable]]:
        """The decisions here by the names that configurations have for them."""
        ours, theirs = (
            {each.key: each for each in space.by_context.get(context, ()) if isinstance(each.node, Choice)}
            for space, context in zip(self.spaces, contexts, strict=True)
        )
        return ours, theirs


def _inside(ours: Variable, theirs: Variable, branch: str) -> _Contexts:
    return (*ours.owners, (ours.address, branch)), (*theirs.owners, (theirs.address, branch))


def _shared(ours: Variable, theirs: Variable) -> list[str]:
    """The names of the branches that two decisions both have."""
    return [name for name in ours.choice.places if name in theirs.choice.places]
