"""Which decisions matter to which hyperparameters, so that many structures are treated alike.

A component is a set of hyperparameters that conditions and constraints tie together once all decisions are known. Its
situation is what its members can tell of these: whether their owners are taken, and how the decisions that their
conditions and constraints test turned out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from spacelang.ir.expr import Expr, Is, nodes, references
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space, Variable
from spacelang.ir.walk import Structure
from spacelang.solver.conditioning import given
from spacelang.solver.groups import Context, common_context
from spacelang.solver.model import Model
from spacelang.solver.ties import Ties


@dataclass(frozen=True, slots=True)
class Ask:
    """A decision that matters to a component.

    `classes` gives the class of each branch by its place, and last that of where the decision is not reached;
    branches of one class are alike to the component. `examples` has a branch of each class, None for not reached;
    `by_branch` is the way back.
    """

    address: str
    classes: tuple[int, ...]
    examples: tuple[str | None, ...]
    by_branch: Mapping[str | None, int]


@dataclass(frozen=True, eq=False)
class Component:
    """Hyperparameters with the constraints over them, below the branches that lead to all of them."""

    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]
    context: Context
    decisions: tuple[Ask, ...]

    @cached_property
    def is_free(self) -> bool:
        """Whether nothing is said about its one hyperparameter."""
        return not self.constraints and all(_condition_of(member) == () for member in self.members)

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The members that some condition or constraint mentions."""
        said = [
            *(e for member in self.members for e in _condition_of(member)),
            *(c.expression for c in self.constraints),
        ]
        return frozenset(address for expression in said for address in references(expression))

    def is_reached(self, structure: Structure) -> bool:
        """Whether a structure leads to the component."""
        return is_taken(self.context, structure)


@dataclass(frozen=True, slots=True)
class Concern:
    """Why a decision concerns a component: it asks, or lies below a branch; `others` are the other branches above."""

    component: Component
    below: str | None
    others: Context


class Situations:
    """The components of a space, and what is left of each in a situation; compiled once for each."""

    def __init__(self, space: Space) -> None:
        self.by_context: dict[Context, list[Component]] = {}
        for component in components_of(space):
            self.by_context.setdefault(component.context, []).append(component)
        self._asking = [each for found in self.by_context.values() for each in found if each.decisions]
        components = (each for found in self.by_context.values() for each in found)
        self.of_hyperparameter = {member.address: each for each in components for member in each.members}
        self._left = lru_cache(maxsize=8192)(self._given)
        self._model = lru_cache(maxsize=8192)(self._compiled)

    def asking(self, structure: Structure) -> Iterator[Component]:
        """The components that a structure leads to and to which decisions matter besides those that lead there."""
        return (component for component in self._asking if component.is_reached(structure))

    def asking_about(self, address: str) -> Sequence["Concern"]:
        """The asking components to which a decision matters, or that are below one of its branches."""
        return self._concerns.get(address, ())

    @cached_property
    def _concerns(self) -> dict[str, list["Concern"]]:
        found: dict[str, list[Concern]] = {}
        for component in self._asking:
            asked = (ask.address for ask in component.decisions)
            for address in dict.fromkeys([*asked, *(owner for owner, _ in component.context)]):
                below = next((branch for owner, branch in component.context if owner == address), None)
                others = tuple(each for each in component.context if each[0] != address)
                found.setdefault(address, []).append(Concern(component, below, others))
        return found

    def situation(self, component: Component, structure: Structure) -> tuple[int, ...]:
        """The classes of the branches that a structure takes, for the decisions that matter to the component."""
        return tuple([ask.by_branch[structure.get(ask.address)] for ask in component.decisions])

    def left(self, component: Component, situation: tuple[int, ...]) -> Space:
        """What is left of a component; none of it is below a decision."""
        return self._left(component, situation)

    def model(self, component: Component, situation: tuple[int, ...]) -> Model:
        """What is left of a component, compiled."""
        return self._model(component, situation)

    def _compiled(self, component: Component, situation: tuple[int, ...]) -> Model:
        space = self.left(component, situation)
        return Model(space.variables, space.constraints)

    def _given(self, component: Component, situation: tuple[int, ...]) -> Space:
        asked = zip(component.decisions, situation, strict=True)
        examples = {ask.address: branch for ask, each in asked if (branch := ask.examples[each]) is not None}
        return given(component.members, component.constraints, {**dict(component.context), **examples})


def is_taken(context: Context, structure: Structure) -> bool:
    """Whether a structure takes all branches of a context."""
    return not context or all(structure.get(owner) == branch for owner, branch in context)


def components_of(space: Space) -> Iterator[Component]:
    """The components of a space, in the order of their first members; every hyperparameter is in exactly one."""
    variables = {a: v for a, v in space.variables.items() if isinstance(v.node, Hyperparameter)}
    constraints = [constraint for constraint in space.constraints if constraint.scope]
    ties = Ties(variables)
    for address, variable in variables.items():
        ties.tie((address, *(named for condition in _condition_of(variable) for named in references(condition))))
    for constraint in constraints:
        ties.tie(constraint.scope)
    members: dict[str, list[Variable]] = {}
    for address, variable in variables.items():
        members.setdefault(ties.root(address), []).append(variable)
    rules: dict[str, list[Constraint]] = {}
    for constraint in constraints:
        rules.setdefault(ties.root(constraint.scope[0]), []).append(constraint)
    for root, found in members.items():
        mine = tuple(rules.get(root, ()))
        context = common_context(member.owners for member in found)
        yield Component(tuple(found), mine, context, tuple(_asks(space, found, mine, context)))


def _asks(
    space: Space, members: Sequence[Variable], constraints: Sequence[Constraint], context: Context
) -> Iterator[Ask]:
    said = [*(e for member in members for e in _condition_of(member)), *(c.expression for c in constraints)]
    tests = [node for expression in said for node in nodes(expression) if isinstance(node, Is)]
    owners = dict.fromkeys(owner for member in members for owner in member.owners[len(context) :])
    known = {address for address, _ in context}
    for address in dict.fromkeys([*(owner for owner, _ in owners), *(test.address for test in tests)]):
        if address in known:
            continue
        choice = space.variables[address].node
        assert isinstance(choice, Choice)
        mine = dict.fromkeys(test.branches for test in tests if test.address == address)
        owning = {branch for owner, branch in owners if owner == address}
        yield _ask(choice, owning, tuple(mine))


def _ask(choice: Choice, owning: set[str], tests: tuple[tuple[str, ...], ...]) -> Ask:
    classes: list[int] = []
    examples: dict[tuple[object, ...], str | None] = {}
    for branch in (*choice.places, None):
        signature = (branch if branch in owning else None, *(branch in test for test in tests))
        examples.setdefault(signature, branch)
        classes.append(list(examples).index(signature))
    by_branch = dict(zip((*choice.places, None), classes, strict=True))
    return Ask(choice.address, tuple(classes), tuple(examples.values()), by_branch)


def _condition_of(variable: Variable) -> tuple[Expr, ...]:
    node = variable.node
    return () if isinstance(node, Choice) or node.condition is None else (node.condition,)
