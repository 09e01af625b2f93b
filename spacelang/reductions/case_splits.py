"""Unfolding of a space into case splits without conditions and constraints, for libraries that support neither.

Every case split distinguishes the cases of one decision or hyperparameter, and each case has its own remaining parts.
Parts next to each other are independent. Independent variables are never combined, and equal parts are one object. The
number of parts is therefore about the number of states that conditions and constraints connect.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias, TypeVar

from spacelang.ir.domain import Domain, SimpleDomain, contains
from spacelang.ir.expr import Compare, Expr, InactiveValue, Lookup, is_true
from spacelang.ir.space import Choice, Context, Hyperparameter, Variable
from spacelang.ir.walk import activity_depths
from spacelang.solver.bucket_elimination import EXISTS, EliminatedVariable, Factor, State, Table, eliminate
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import join_cells
from spacelang.solver.model import SolverModel, WeightedModelSolver, context_below


@dataclass(frozen=True, slots=True, eq=False)
class IndependentHyperparameter:
    """A hyperparameter that may take any value of `domain` (a part of its full domain), whatever else is chosen."""

    node: Hyperparameter
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class RangeComparison:
    """A comparison between ranges that must have a given truth value; it cannot be expanded into cases."""

    atom: Compare
    truth: bool


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case of a case split, with the parts that remain to be chosen in it.

    `branch` is the branch of a decision, and `domain` the values that a hyperparameter may take. Both are None if the
    variable is inactive, or if the case split distinguishes nothing that a configuration contains.
    """

    branch: str | None
    domain: Domain | None
    parts: "UnfoldedParts"


@dataclass(frozen=True, slots=True, eq=False)
class CaseSplit:
    """A choice of exactly one case; `node` is None if the cases only differ in their remaining parts."""

    node: Choice | Hyperparameter | None
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, eq=False)
class GuardedParts:
    """Parts that are chosen only if a condition is true for the values that were chosen before.

    `context` has the pairs (decision, branch) that are taken wherever the condition is tested.
    """

    context: Context
    condition: Expr
    parts: "UnfoldedParts"


@dataclass(frozen=True, slots=True, eq=False)
class ValueSwitch:
    """A case distinction by a value that was chosen before: the parts of the case with this value are chosen next."""

    node: Hyperparameter
    cases: tuple[Case, ...]


UnfoldedPart: TypeAlias = IndependentHyperparameter | RangeComparison | CaseSplit | GuardedParts | ValueSwitch
UnfoldedParts: TypeAlias = tuple[UnfoldedPart, ...]
P = TypeVar("P", bound=UnfoldedPart)


def inner_parts(part: UnfoldedPart) -> tuple[UnfoldedParts, ...]:
    """Return the parts directly inside a part: one tuple for each case, one for a guard, none for other parts."""
    match part:
        case CaseSplit() | ValueSwitch():
            return tuple(case.parts for case in part.cases)
        case GuardedParts():
            return (part.parts,)
        case _:
            return ()


def unfold_into_case_splits(structures: Structures) -> UnfoldedParts:
    """Return the parts that generate each configuration once; may raise TooManyConnectedVariablesError.

    A chain of conditions becomes nested case splits. The recursion limit is raised so that functions can walk them.
    """
    return SpaceUnfolder(structures.model, structures.existence_solver).parts_below(())


def parts_on_path(parts: UnfoldedParts, lookup: Lookup) -> Iterator[tuple[UnfoldedPart, int]]:
    """Yield the parts that are chosen for one configuration, outer ones first, each with the index of its case.

    `lookup` returns the value of each variable in the configuration. The index of a guard is 1 if its condition is true
    and 0 if not; that of a part without cases is 0. Raises LookupError if no combination of cases gives the
    configuration.
    """
    for part in parts:
        match part:
            case CaseSplit():
                place, inside = _find_case(part, lookup)
                yield part, place
                yield from inside
            case ValueSwitch():
                place = case_index_of_value(part, lookup)
                yield part, place
                yield from parts_on_path(part.cases[place].parts, lookup)
            case GuardedParts():
                holds = is_true(part.condition, lookup)
                yield part, int(holds)
                yield from parts_on_path(part.parts if holds else (), lookup)
            case _:
                yield part, 0


def case_index_of_value(switch: ValueSwitch, lookup: Lookup) -> int:
    """Return the index of the case whose domain contains the value that `lookup` has for the hyperparameter.

    Raises LookupError if there is none.
    """
    worth = lookup(switch.node.address)
    for place, case in enumerate(switch.cases):
        if case.domain is not None and not isinstance(worth, InactiveValue) and contains(case.domain, worth):
            return place
    raise LookupError(f"no case of `{switch.node.key}` has its value")


def count_combinations(
    parts: UnfoldedParts, ways: "Callable[[CaseSplit], Iterable[UnfoldedParts]] | None" = None
) -> int:
    """Return the number of combinations of cases, without enumerating them.

    A guard counts both ways: with each combination of its parts, and without its parts. If `ways` is given, it returns
    the cases that are counted for a case split, as the parts of each, in place of all of them.
    """
    known: dict[int, int] = {}

    def of_parts(several: UnfoldedParts) -> int:
        return prod(map(of_part, several))

    def of_part(part: UnfoldedPart) -> int:
        if id(part) not in known:
            inner = inner_parts(part) if ways is None or not isinstance(part, CaseSplit) else ways(part)
            known[id(part)] = sum(map(of_parts, inner)) + isinstance(part, GuardedParts) if inner != () else 1
        return known[id(part)]

    return of_parts(parts)


def all_parts(parts: UnfoldedParts) -> Iterator[UnfoldedPart]:
    """Yield these parts and all parts inside them, each object once, case splits before their contents."""
    seen: set[int] = set()
    waiting = [*reversed(parts)]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting.extend(inner for several in reversed(inner_parts(part)) for inner in reversed(several))


def _find_case(fork: CaseSplit, lookup: Lookup) -> tuple[int, list[tuple[UnfoldedPart, int]]]:
    for place, case in enumerate(fork.cases):
        if fork.node is not None and not _may_be_case(case, fork.node, lookup):
            continue
        try:
            inside = [*parts_on_path(case.parts, lookup)]
        except LookupError:
            continue
        if all(_is_satisfied(part, lookup) for part, _ in inside):
            return place, inside
    raise LookupError("the configuration satisfies no case of a nested choice")


def _may_be_case(case: Case, node: Choice | Hyperparameter, lookup: Lookup) -> bool:
    worth = lookup(node.address)
    if isinstance(worth, InactiveValue):
        # A case with a value contains an `IndependentHyperparameter`, which is not satisfied then.
        return case.branch is None
    return case.branch == worth if case.domain is None else contains(case.domain, worth)


def _is_satisfied(part: UnfoldedPart, lookup: Lookup) -> bool:
    match part:
        case IndependentHyperparameter():
            worth = lookup(part.node.address)
            return not isinstance(worth, InactiveValue) and contains(part.domain, worth)
        case RangeComparison():
            return is_true(part.atom, lookup) is part.truth
        case CaseSplit() | GuardedParts() | ValueSwitch():
            return True


class SpaceUnfolder:
    """An unfolding in progress; equal parts are interned as one object.

    With `values_first`, the value of a hyperparameter is chosen before the parts that depend on it (`ValueSwitch`).
    Otherwise, the case is chosen first, and then a value within it (`CaseSplit`).
    """

    def __init__(
        self, model: SolverModel, existence_solver: WeightedModelSolver, *, values_first: bool = False
    ) -> None:
        """Prepare to unfold the networks of `model`; `existence_solver` decides which branches have configurations."""
        self.model, self.existence_solver, self.values_first = model, existence_solver, values_first
        networks = (network for several in self.model.by_context.values() for network in several)
        raise_recursion_limit(max((len(network.states) for network in networks), default=0))
        self._interned: dict[object, UnfoldedPart] = {}
        self._below: dict[Context, UnfoldedParts] = {}

    def parts_below(self, context: Context) -> UnfoldedParts:
        """Return the parts of all networks directly below a context; may raise TooManyConnectedVariablesError."""
        if context not in self._below:
            networks = self.model.by_context.get(context, ())
            self._below[context] = tuple(part for network in networks for part in self.parts_of_network(network))
        return self._below[context]

    def intern(self, part: P, truth: str = "") -> P:
        """Return the part with this content; equal content always gives the same object.

        `truth` is the name of the truth variable whose values a case split without a node distinguishes.
        """
        return self._interned.setdefault((type(part), truth, *_content(part)), part)  # type: ignore[return-value]

    def parts_of_network(self, network: ConstraintNetwork) -> UnfoldedParts:
        """Return the parts of one network, and of everything below the branches of its decisions.

        May raise TooManyConnectedVariablesError.
        """
        if network.has_only_unconstrained_hyperparameters:
            nodes = (member.node for member in network.members)
            return tuple(
                self.intern(IndependentHyperparameter(node, node.domain))
                for node in nodes
                if isinstance(node, Hyperparameter)
            )
        return _EliminatedNetwork(self, network).parts()


def _content(part: UnfoldedPart) -> tuple[object, ...]:
    """Return a key of the content of a part; the parts inside it are compared by identity."""
    match part:
        case IndependentHyperparameter():
            return part.node.address, part.domain
        case RangeComparison():
            return part.atom, part.truth
        case GuardedParts():
            return part.context, part.condition, *map(id, part.parts)
        case CaseSplit() | ValueSwitch():
            cases = ((case.branch, case.domain, tuple(map(id, case.parts))) for case in part.cases)
            return None if part.node is None else part.node.address, *cases


class _EliminatedNetwork:
    """A conversion of one network into parts, by the result of eliminating its variables.

    It chooses the variables in the reverse order of their elimination, so that the states that are possible for a
    variable only depend on variables that were chosen before.
    """

    def __init__(self, unfolding: SpaceUnfolder, network: ConstraintNetwork) -> None:
        self._unfolding, self._network = unfolding, network
        self._members = {member.address: member for member in network.members}
        self._depths = activity_depths(self._members)
        self._buckets = {bucket.variable: bucket for bucket in self._eliminate()}
        self._children: dict[str, list[str]] = {variable: [] for variable in self._buckets}
        self._roots: list[str] = []
        self._dependencies = self._find_dependencies()
        self._cache: dict[tuple[object, ...], UnfoldedParts] = {}

    def parts(self) -> UnfoldedParts:
        return tuple(part for root in self._roots for part in self._parts_of_variable(root, {}))

    def _eliminate(self) -> Sequence[EliminatedVariable]:
        """Eliminate truth variables first, then hyperparameters, then decisions, inner ones before outer ones.

        Return the eliminated variables in this order.
        """
        turns: dict[tuple[int, int], set[str]] = {}
        for name in self._network.states:
            turns.setdefault(self._elimination_turn(name), set()).add(name)
        graph = self._network.with_factors(self._branch_factors())
        with self._network.attribute_errors_to_constraints():
            return eliminate(graph, *((turns[turn], EXISTS) for turn in sorted(turns, reverse=True))).eliminated

    def _elimination_turn(self, name: str) -> tuple[int, int]:
        if name not in self._members:
            return 2, 0
        member = self._members[name]
        return (0 if isinstance(member.node, Choice) else 1), self._depths[name]

    def _branch_factors(self) -> Iterator[Factor]:
        """Yield a factor for each decision that allows only branches with admissible configurations."""
        for member in self._members.values():
            if isinstance(member.node, Choice):
                states = self._network.states[member.address]
                total = self._unfolding.existence_solver.total_weight
                table: Table = {(s,): 1 for s in states if s == UNREACHED or total(context_below(member, s))}
                yield Factor((member.address,), table)

    def _find_dependencies(self) -> dict[str, tuple[str, ...]]:
        """Return, for each variable, the variables on which its parts and all parts below it depend.

        They are eliminated later, which means that they are chosen before. The one that is eliminated first is the
        parent of the variable. This method also enters the variable in `_children` of its parent, or in `_roots` if it
        has none.
        """
        order = {variable: place for place, variable in enumerate(self._buckets)}
        needs: dict[str, tuple[str, ...]] = {}
        for variable, bucket in self._buckets.items():
            inner = (name for child in self._children[variable] for name in needs[child] if name != variable)
            needs[variable] = tuple(dict.fromkeys((*bucket.separator, *inner)))
            told = needs[variable]
            (self._children[min(told, key=order.__getitem__)] if told else self._roots).append(variable)
        return needs

    def _parts_of_variable(self, variable: str, known: Mapping[str, State]) -> UnfoldedParts:
        key = (variable, *[known[name] for name in self._dependencies[variable]])
        if key not in self._cache:
            bucket = self._buckets[variable]
            states = sorted(bucket.weights[tuple([known[name] for name in bucket.separator])])
            children = self._children[variable]
            told: list[tuple[State, UnfoldedParts]] = []
            for state in states:
                inner = {**known, variable: state} if children else known
                below = [part for child in children for part in self._parts_of_variable(child, inner)]
                told.append((state, tuple(below)))
            self._cache[key] = self._make_parts(variable, told)
        return self._cache[key]

    def _make_parts(self, variable: str, told: Sequence[tuple[State, UnfoldedParts]]) -> UnfoldedParts:
        if variable not in self._members:
            return self._parts_of_truth(variable, told)
        member = self._members[variable]
        if isinstance(member.node, Choice):
            return self._parts_of_decision(member, told)
        return self._parts_of_hyperparameter(member.node, told)

    def _parts_of_truth(self, variable: str, told: Sequence[tuple[State, UnfoldedParts]]) -> UnfoldedParts:
        """Return the parts of an atom's truth: a case split if the truth matters, plus any comparison of ranges.

        `told` has the possible truth values, each with the parts that follow from it.
        """
        atom = self._network.ranges.get(variable)
        alike = {tuple(map(id, parts)) for _, parts in told}
        if len(alike) == 1 and (len(told) == 2 or atom is None):
            return told[0][1]
        asked = [parts for _, parts in told]
        if atom is not None:
            asked = [(*parts, self._unfolding.intern(RangeComparison(atom, bool(state)))) for state, parts in told]
        if len(asked) == 1:
            return asked[0]
        fork = CaseSplit(None, tuple(Case(None, None, parts) for parts in asked))
        return (self._unfolding.intern(fork, variable),)

    def _parts_of_decision(self, member: Variable, told: Sequence[tuple[State, UnfoldedParts]]) -> UnfoldedParts:
        choice = member.choice
        if all(state == UNREACHED for state, _ in told):
            return told[0][1]
        cases = []
        for state, parts in told:
            below = () if state == UNREACHED else self._unfolding.parts_below(context_below(member, state))
            branch = None if state == UNREACHED else choice.branches[state].name
            cases.append(Case(branch, None, (*below, *parts)))
        return (self._unfolding.intern(CaseSplit(choice, tuple(cases))),)

    def _parts_of_hyperparameter(
        self, node: Hyperparameter, told: Sequence[tuple[State, UnfoldedParts]]
    ) -> UnfoldedParts:
        """Return the parts of a hyperparameter; cells that lead to the same remaining parts become one case.

        `told` has its possible states, each with the parts that follow from it: the index of a cell of its domain, or
        `UNREACHED` if it is inactive.
        """
        inactive = [parts for state, parts in told if state == UNREACHED]
        together: dict[tuple[int, ...], tuple[list[SimpleDomain], UnfoldedParts]] = {}
        for state, parts in told:
            if state != UNREACHED:
                pieces, _ = together.setdefault(tuple(map(id, parts)), ([], parts))
                pieces.append(self._network.cells[node.address][state])
        found = [(join_cells(node.domain, pieces), parts) for pieces, parts in together.values()]
        if not found:
            return inactive[0]
        if len(found) == 1 and not inactive:
            ((domain, parts),) = found
            return (self._unfolding.intern(IndependentHyperparameter(node, domain)), *parts)
        if self._unfolding.values_first and not inactive:
            whole = join_cells(node.domain, [piece for pieces, _ in together.values() for piece in pieces])
            values = tuple(Case(None, domain, parts) for domain, parts in found)
            free = self._unfolding.intern(IndependentHyperparameter(node, whole))
            return free, self._unfolding.intern(ValueSwitch(node, values))
        cases = [
            Case(None, domain, (self._unfolding.intern(IndependentHyperparameter(node, domain)), *parts))
            for domain, parts in found
        ]
        every = (*(Case(None, None, parts) for parts in inactive), *cases)
        return (self._unfolding.intern(CaseSplit(node, every)),)


FRAMES_PER_LEVEL: Final = 20
"""The maximum number of nested calls that a function needs for one level of nested data."""
HIGHEST_LIMIT: Final = 20_000
"""The highest recursion limit: calls by way of C code take stack space, and a stack of 8 MB must hold all of them."""


def raise_recursion_limit(levels: int) -> None:
    """Raise the recursion limit of the process if functions need more to recurse through `levels` nested levels."""
    needed = min(1_000 + FRAMES_PER_LEVEL * levels, HIGHEST_LIMIT)
    if needed > sys.getrecursionlimit():
        sys.setrecursionlimit(needed)
