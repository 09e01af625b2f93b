"""Bucket elimination: the algorithm behind counts, existence, distances, probabilities and draws.

A factor graph has variables with states, and factors. A factor is a table of the weights of joint states of a few
variables; states that are not in the table weigh 0. The weight of a joint state of all variables is the product of its
weights in all factors. These weights are summed one variable at a time. The cost depends on the variables that factors
connect, never on the size of the space. A semiring defines what a sum is:

    SUM     x weighs 2 + 3 = 5    counts and probabilities; integers of any size
    EXISTS  x weighs 1            existence
    FEWEST  x weighs min(2, 3)    fewest changes: each change weighs 2, so products add the exponents

See Dechter, Bucket Elimination: A Unifying Framework for Reasoning, Artificial Intelligence 1999.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeAlias, TypeVar

from spacelang.frozen import frozen
from spacelang.grouping import group_by_key
from spacelang.ir.expr import INACTIVE, is_true, mentioned_addresses
from spacelang.ir.space import Constraint, Context, Variable
from spacelang.solver.constraint_contexts import common_context, context_of_constraint

State: TypeAlias = int
Table: TypeAlias = dict[tuple[State, ...], float]
"""Weights by joint state: integers for counts, floats for probabilities."""
MAX_TABLE_SIZE: Final = 250_000
"""The maximum number of joint states in one table; takes about half a second and 100 MiB."""


class TooManyJointStatesError(Exception):
    """Constraints connect so many variables that their joint states cannot be enumerated."""


@frozen
class Semiring:
    """A semiring: `add` combines one or more positive weights of states; factors are always multiplied."""

    name: str
    add: Callable[[Collection[float]], float]


SUM: Final = Semiring("(+, *)", sum)
EXISTS: Final = Semiring("(or, and)", bool)
FEWEST: Final = Semiring("(min, +)", min)


@frozen
class PackedPolynomials:
    """Polynomials as integer weights for `SUM`: the coefficient of x^k has the bits from `k * bits` on."""

    bits: int

    def pack_monomial(self, exponent: int) -> int:
        """Return the weight x^exponent."""
        return 1 << self.bits * exponent

    def unpack_coefficients(self, weight: int) -> tuple[int, ...]:
        """Return the coefficients of a weight, lowest power first; each must be below 2^bits."""
        found = []
        while weight:
            found.append(weight & self.pack_monomial(1) - 1)
            weight >>= self.bits
        return tuple(found)


@frozen
class Factor:
    """A table of weights for the joint states of the variables in `scope`, in that order."""

    scope: tuple[str, ...]
    table: Table

    def restrict(self, left: Mapping[str, Collection[State]]) -> "Factor":
        """Return the factor with only those rows whose states are in `left`, which maps variables to states.

        Variables of which `left` has a single state leave the scope; variables missing in `left` are not restricted.
        """
        known = [(place, left[name]) for place, name in enumerate(self.scope) if name in left]
        if not known:
            return self
        open_ = [place for place, name in enumerate(self.scope) if len(left.get(name, ())) != 1]
        rows: Table = {
            tuple([row[place] for place in open_]): weight
            for row, weight in self.table.items()
            if all(row[place] in states for place, states in known)
        }
        return Factor(tuple(self.scope[place] for place in open_), rows)

    def restrict_states(self, allowed: Mapping[str, Collection[State]]) -> "Factor":
        """Return the factor over the same scope, with only the rows whose states are all in `allowed`."""
        kept = [(place, allowed[name]) for place, name in enumerate(self.scope)]
        return Factor(self.scope, {r: w for r, w in self.table.items() if all(r[p] in states for p, states in kept)})


@frozen
class FactorGraph:
    """A set of variables with their states, and the factors over them."""

    states: Mapping[str, Sequence[State]]
    factors: tuple[Factor, ...]

    def with_factors(self, factors: Iterable[Factor]) -> "FactorGraph":
        """Return the graph with additional factors."""
        return FactorGraph(self.states, (*self.factors, *factors))

    def restrict(self, left: Mapping[str, Sequence[State]]) -> "FactorGraph":
        """Return the graph with some variables restricted to states; those with a single one are removed."""
        states = {name: left.get(name, mine) for name, mine in self.states.items() if len(left.get(name, ())) != 1}
        return FactorGraph(states, tuple([factor.restrict(left) for factor in self.factors]))

    def project_out(self, names: Collection[str]) -> "FactorGraph":
        """Return the graph without the variables in `names`. Raise TooManyJointStatesError.

        A joint state of the other variables is allowed if at least one joint state of the removed ones is allowed with
        it.
        """
        return _eliminate_variables(self, names, EXISTS)[0]

    def connected_part(self, name: str) -> "FactorGraph":
        """Return the connected part of the graph that contains the variable `name`."""
        ties = UnionFind(self.states)
        for factor in self.factors:
            ties.union(factor.scope)
        root = ties.find(name)
        states = {each: mine for each, mine in self.states.items() if ties.find(each) == root}
        return FactorGraph(states, tuple(each for each in self.factors if not states.keys().isdisjoint(each.scope)))


@frozen
class EliminatedVariable:
    """An eliminated variable, with its weights by state for each joint state of the variables in `separator`."""

    variable: str
    separator: tuple[str, ...]
    weights: dict[tuple[State, ...], dict[State, float]]


@frozen
class Elimination:
    """The result of an elimination: the total weight, and the variables in the order of elimination."""

    total: float
    eliminated: tuple[EliminatedVariable, ...]


Phase: TypeAlias = tuple[Collection[str], Semiring]


def eliminate(graph: FactorGraph, *turns: Phase, keep_trivial: bool = False) -> Elimination:
    """Sum the weights of all joint states by eliminating one variable after another.

    The variables of each turn are eliminated before those of the next one, each turn with its own semiring. The
    remaining variables are eliminated last, with `SUM`. `eliminated` can be read backwards to determine the variables
    one by one, beginning with those of the last turn. Every state of a variable without a factor weighs 1.

    With `keep_trivial`, factors in which every state weighs 1 are retained; `supported_states` needs them. Raise
    TooManyJointStatesError if a joint table becomes too large.
    """
    buckets: list[EliminatedVariable] = []
    for names, semiring in (*turns, (graph.states, SUM)):
        if names and graph.states:
            graph, gone = _eliminate_variables(graph, names, semiring, keep_trivial=keep_trivial)
            buckets += gone
    return Elimination(prod(factor.table.get((), 0) for factor in graph.factors), tuple(buckets))


def _eliminate_variables(
    graph: FactorGraph, names: Collection[str], semiring: Semiring, *, keep_trivial: bool = False
) -> tuple[FactorGraph, list[EliminatedVariable]]:
    """Return the graph without the variables in `names`, and these variables in the order of elimination."""
    states, alive = graph.states, dict(enumerate(graph.factors))
    touching: dict[str, dict[int, None]] = {name: {} for name in states}
    for number, factor in alive.items():
        for name in factor.scope:
            touching[name][number] = None
    # A variable with one state changes no product of numbers of states.
    open_scopes = {number: _open_scope(factor, states) for number, factor in alive.items()}

    def size(names: Iterable[str]) -> int:
        return prod([len(states[each]) for each in names])

    # The cost of eliminating a variable is the number of joint states of all its factors.
    costs = {
        name: size(frozenset().union(*(open_scopes[number] for number in touching[name])))
        for name in states
        if name in names
    }
    queue = [(cost, name) for name, cost in costs.items()]
    heapify(queue)
    buckets: list[EliminatedVariable] = []
    while queue:
        cost, variable = heappop(queue)  # equal costs are ordered by name, for determinism
        if costs.get(variable) != cost:
            continue  # outdated entry: the variable is eliminated or its cost has changed
        del costs[variable]
        bucket = _join(variable, states[variable], [alive.pop(number) for number in touching[variable]])
        mine = touching.pop(variable)
        sums = {rest: semiring.add(weights.values()) for rest, weights in bucket.weights.items()}
        message = Factor(bucket.separator, sums)
        number = len(graph.factors) + len(buckets)
        buckets.append(bucket)
        told = {} if not keep_trivial and _is_trivial(message, states) else {number: message}
        alive.update(told)
        shared = open_scopes[number] = _open_scope(message, states) if told else frozenset()
        least = size(shared)
        for name in bucket.separator:
            others = [other for other in touching[name] if other not in mine]
            touching[name] = dict.fromkeys([*others, *told])
            if name in costs:
                changed = least * size(frozenset().union(*(open_scopes[other] for other in others)) - shared)
                if changed != costs[name]:
                    costs[name] = changed
                    heappush(queue, (changed, name))
    return FactorGraph({name: states[name] for name in touching}, tuple(alive.values())), buckets


def _is_trivial(factor: Factor, states: Mapping[str, Sequence[State]]) -> bool:
    if not factor.scope or len(factor.table) < prod(len(states[name]) for name in factor.scope):
        return False
    # Counting rows is not enough: tables may have rows for states that are not in `states`.
    return all(factor.table.get(joint) == 1 for joint in product(*(states[name] for name in factor.scope)))


def _open_scope(factor: Factor, states: Mapping[str, Sequence[State]]) -> frozenset[str]:
    """Return the variables of a factor that do not have exactly one state."""
    return frozenset(name for name in factor.scope if len(states[name]) != 1)


def _join(variable: str, states: Sequence[State], factors: Sequence[Factor]) -> EliminatedVariable:
    """Return a variable as eliminated: its weights in the product of all its factors, joined one after the other."""
    scope: tuple[str, ...] = (variable,)
    joint: Table = {(state,): 1 for state in states}
    for factor in sorted(factors, key=lambda factor: len(factor.table)):
        scope, joint = _join_factor(scope, joint, factor)
    separator = tuple(sorted(scope[1:]))
    order = tuple(scope.index(name) for name in separator)
    weights: dict[tuple[State, ...], dict[State, float]] = {}
    for states_of, weight in joint.items():
        weights.setdefault(tuple(states_of[place] for place in order), {})[states_of[0]] = weight
    return EliminatedVariable(variable, separator, weights)


def _join_factor(scope: tuple[str, ...], joint: Table, factor: Factor) -> tuple[tuple[str, ...], Table]:
    shared = [name for name in factor.scope if name in scope]
    mine = [scope.index(name) for name in shared]
    theirs = [factor.scope.index(name) for name in shared]
    fresh = [place for place, name in enumerate(factor.scope) if name not in scope]
    matching: dict[tuple[State, ...], list[tuple[tuple[State, ...], float]]] = {}
    for states, weight in factor.table.items():
        if weight:
            key = tuple([states[place] for place in theirs])
            matching.setdefault(key, []).append((tuple([states[place] for place in fresh]), weight))
    keys = {states: tuple([states[place] for place in mine]) for states in joint}
    if sum(len(matching.get(key, ())) for key in keys.values()) > MAX_TABLE_SIZE:
        raise TooManyJointStatesError
    return (*scope, *(factor.scope[place] for place in fresh)), {
        states + rest: weight * other
        for states, weight in joint.items()
        for rest, other in matching.get(keys[states], ())
    }


def draw_states(
    elimination: Elimination, choose: Callable[[Sequence[float]], int], existential: frozenset[str] = frozenset()
) -> dict[str, State]:
    """Return a joint state of the variables that are not `existential`, given the result of an elimination.

    The existential variables must have been eliminated first. `choose` receives the weights of the possible states of a
    variable and returns the index of one of them.
    """
    assignment: dict[str, State] = {}
    for bucket in reversed(elimination.eliminated):
        if bucket.variable in existential:
            break  # existential variables were eliminated first, so only they remain
        weights = bucket.weights[tuple([assignment[name] for name in bucket.separator])]
        place = choose(tuple(weights.values())) if len(weights) > 1 else 0
        assignment[bucket.variable] = tuple(weights)[place]
    return assignment


def supported_states(elimination: Elimination) -> dict[str, frozenset[State]]:
    """Return the states of each variable that occur in a joint state of positive weight.

    The elimination must have been made with `keep_trivial`.
    """
    if not elimination.total:
        return {bucket.variable: frozenset() for bucket in elimination.eliminated}
    order = {bucket.variable: place for place, bucket in enumerate(elimination.eliminated)}
    alive: dict[str, tuple[tuple[str, ...], set[tuple[State, ...]]]] = {}
    for bucket in reversed(elimination.eliminated):
        rests = set(bucket.weights)
        if bucket.separator:
            # The sums over a variable went to the first variable of its separator to be eliminated, whose scope
            # includes the whole separator.
            scope, entries = alive[min(bucket.separator, key=order.__getitem__)]
            places = [scope.index(name) for name in bucket.separator]
            rests &= {tuple(entry[place] for place in places) for entry in entries}
        joint = {(*rest, state) for rest in rests for state in bucket.weights[rest]}
        alive[bucket.variable] = ((*bucket.separator, bucket.variable), joint)
    return {variable: frozenset(entry[-1] for entry in entries) for variable, (_, entries) in alive.items()}


T = TypeVar("T")


class UnionFind:
    """A union-find structure: disjoint sets of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        """Return the representative of the set that contains a name."""
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def union(self, names: Iterable[str]) -> bool:
        """Merge the sets of all names; return True if anything changed."""
        roots = {self.find(name): None for name in names}
        first, *others = roots or [""]
        for other in others:
            self._parent[other] = first
        return bool(others)

    def groups(self, items: Iterable[tuple[str, T]]) -> list[list[T]]:
        """Return the items grouped by the sets of their names, in the order of first occurrence."""
        return [*group_by_key((self.find(name), item) for name, item in items).values()]


class VariableGroup(NamedTuple):
    """A group of connected variables in the order of the text, with their constraints and common context."""

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]


def group_variables(variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> Iterator[VariableGroup]:
    """Yield the groups of connected variables, in the order of their first variables; each variable is in one.

    Other addresses connect nothing. Constraints that name no variable come last, in a group without members.
    """
    ties = UnionFind(variables)
    for variable in variables.values():
        if variable.condition is not None:
            ties.union((variable.address, *_known_addresses(variables, mentioned_addresses(variable.condition))))
    loose: list[Constraint] = []
    over: list[tuple[str, Constraint]] = []
    for constraint in constraints:
        named = _known_addresses(variables, mentioned_addresses(constraint.expression))
        around = dict(context_of_constraint(variables, constraint, named))
        if around:
            named = [address for address in named if address not in around]
            ties.union(named)
        else:
            ties.union((*named, *_known_addresses(variables, _owners_if_unreached(variables, constraint))))
        over += [(address, constraint) for address in named[:1]]
        loose += [] if named else [constraint]
    _union_owners(variables, ties)
    rules = group_by_key((ties.find(address), constraint) for address, constraint in over)
    for members in ties.groups(variables.items()):
        mine = tuple(rules.get(ties.find(members[0].address), ()))
        yield VariableGroup(common_context(member.owners for member in members), tuple(members), mine)
    if loose:
        yield VariableGroup((), (), tuple(loose))


def _known_addresses(variables: Mapping[str, Variable], addresses: Iterable[str]) -> list[str]:
    return [address for address in addresses if address in variables]


def _owners_if_unreached(variables: Mapping[str, Variable], constraint: Constraint) -> Iterator[str]:
    """Yield the decisions above the variables of a constraint, if it is violated when all these variables are inactive.

    Otherwise yield nothing.
    """
    if constraint.scope or is_true(constraint.expression, lambda _: INACTIVE) != constraint.forbidden:
        return
    for address in _known_addresses(variables, mentioned_addresses(constraint.expression)):
        yield from (owner for owner, _ in variables[address].owners)


def _union_owners(variables: Mapping[str, Variable], ties: UnionFind) -> None:
    """Connect variables with the decisions between their group's context and them, which decide if they are reached."""
    changed = True
    while changed:
        changed = False
        for members in ties.groups(variables.items()):
            if len(members) > 1:
                for address, owner in _inner_owners(members):
                    changed |= owner in variables and ties.union([address, owner])


def _inner_owners(members: Sequence[Variable]) -> Iterator[tuple[str, str]]:
    depth = len(common_context(member.owners for member in members))
    return ((member.address, owner) for member in members for owner, _ in member.owners[depth:])
