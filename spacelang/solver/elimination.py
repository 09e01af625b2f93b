"""Bucket elimination: the one algorithm behind counts, existence, distances, probabilities and draws.

A factor graph has variables with states, and factors: tables of what joint states of a few variables weigh; states
that are not in a table weigh 0. A joint state of all variables weighs the product of what its factors give it. These
weights are added up one variable at a time, which costs what the variables that factors tie together cost, never the
size of the space. What adding up means is a semiring's matter:

    SUM     x weighs 2 + 3 = 5    how many, or how probable; integers are Python's own, of any size
    EXISTS  x weighs 1            whether any
    FEWEST  x weighs min(2, 3)    the fewest changes, each of which weighs 2: products of powers add exponents up

See Dechter, Bucket Elimination: A Unifying Framework for Reasoning, Artificial Intelligence 1999.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import product
from math import prod
from typing import Final, TypeAlias

from spacelang.facts import fact
from spacelang.solver.ties import Ties

State: TypeAlias = int
Table: TypeAlias = dict[tuple[State, ...], float]
"""Weights by joint state: integers where something is counted, floats where probabilities are."""


LARGEST_TABLE: Final = 250_000
"""The most joint states of variables that are looked at together: about half a second and 100 MiB."""


class TangledError(Exception):
    """Constraints tie so many variables to each other that their joint states cannot be looked at."""


@fact
class Semiring:
    """What becomes of the weights of a variable's states, one or more and none of them 0; factors are multiplied."""

    name: str
    add: Callable[[Collection[float]], float]


SUM: Final = Semiring("(+, *)", sum)
EXISTS: Final = Semiring("(or, and)", bool)
FEWEST: Final = Semiring("(min, +)", min)


@fact
class Polynomials:
    """Polynomials as weights of `SUM`: the coefficient of x^k stands k times so many bits to the left in an integer."""

    bits: int

    def power(self, exponent: int) -> int:
        """The weight x^k."""
        return 1 << self.bits * exponent

    def coefficients(self, weight: int) -> tuple[int, ...]:
        """The coefficients of a weight, that of x^0 first; each must be below 2^bits."""
        found = []
        while weight:
            found.append(weight & self.power(1) - 1)
            weight >>= self.bits
        return tuple(found)


@fact
class Factor:
    """Weights of the joint states of the variables of `scope`, in that order."""

    scope: tuple[str, ...]
    table: Table

    def given(self, left: Mapping[str, Collection[State]]) -> "Factor":
        """The rows in which variables are in the states that are left of them, over those with more than one."""
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


@fact
class FactorGraph:
    """Variables with their states, and the factors over them."""

    states: Mapping[str, Sequence[State]]
    factors: tuple[Factor, ...]

    def times(self, factors: Iterable[Factor]) -> "FactorGraph":
        """The graph with more factors."""
        return FactorGraph(self.states, (*self.factors, *factors))

    def given(self, left: Mapping[str, Sequence[State]]) -> "FactorGraph":
        """The graph once no more than some states of some variables are left: one with a single state is gone.

        `FactorGraph(u: 0 1, v: 0 1; (u, v): 01 10 11).given({"u": [0]})` has v alone, with the row 1.
        """
        states = {name: left.get(name, mine) for name, mine in self.states.items() if len(left.get(name, ())) != 1}
        return FactorGraph(states, tuple([factor.given(left) for factor in self.factors]))

    def without(self, names: Collection[str]) -> "FactorGraph":
        """The graph of the other variables: positive where these have states in which all is. Raises TangledError."""
        return _summed_out(self, names, EXISTS)[0]

    def around(self, name: str) -> "FactorGraph":
        """The part of the graph that factors tie to a variable, directly or through others."""
        ties = Ties(self.states)
        for factor in self.factors:
            ties.tie(factor.scope)
        root = ties.root(name)
        states = {each: mine for each, mine in self.states.items() if ties.root(each) == root}
        return FactorGraph(states, tuple(each for each in self.factors if not states.keys().isdisjoint(each.scope)))


@fact
class Bucket:
    """One eliminated variable: its weights by state, for each joint state of the variables it was tied to."""

    variable: str
    separator: tuple[str, ...]
    weights: dict[tuple[State, ...], dict[State, float]]


@fact
class Elimination:
    """The total weight and the buckets in the order of elimination."""

    total: float
    buckets: tuple[Bucket, ...]


Phase: TypeAlias = tuple[Collection[str], Semiring]
"""Variables that are eliminated before those of the next turn, and what adds up the weights of their states."""


def eliminate(graph: FactorGraph, *turns: Phase, keep_trivial: bool = False) -> Elimination:
    """Add up the weights of all joint states, the variables of each turn before those of the next; `SUM` at last.

    Read from its end, it tells the variables of the last turn first. A variable without a factor has each of its
    states weigh 1. Raises TangledError where a joint table would become too large. `supported` needs an elimination
    with `keep_trivial`: without it, what limits nothing is dropped on the way.
    """
    buckets: list[Bucket] = []
    for names, semiring in (*turns, (graph.states, SUM)):
        if names and graph.states:
            graph, gone = _summed_out(graph, names, semiring, keep_trivial=keep_trivial)
            buckets += gone
    return Elimination(prod(factor.table.get((), 0) for factor in graph.factors), tuple(buckets))


def _summed_out(
    graph: FactorGraph, names: Collection[str], semiring: Semiring, *, keep_trivial: bool = False
) -> tuple[FactorGraph, list[Bucket]]:
    """The graph of the other variables, and the buckets of those that are gone."""
    states, alive = graph.states, dict(enumerate(graph.factors))
    touching: dict[str, dict[int, None]] = {name: {} for name in states}
    for number, factor in alive.items():
        for name in factor.scope:
            touching[name][number] = None
    waiting = [name for name in states if name in names]
    costs = {name: _cost([alive[number].scope for number in touching[name]], states) for name in waiting}
    queue = [(cost, name) for name, cost in costs.items()]
    heapify(queue)
    buckets: list[Bucket] = []
    while queue:
        cost, variable = heappop(queue)  # ties by name, so that runs are alike
        if costs.get(variable) != cost:
            continue  # it is gone, or costs something else by now
        del costs[variable]
        bucket = _join(variable, states[variable], [alive.pop(number) for number in touching[variable]])
        mine, message = touching.pop(variable), _told(bucket, semiring)
        number = len(graph.factors) + len(buckets)
        buckets.append(bucket)
        told = {} if not keep_trivial and _is_trivial(message, states) else {number: message}
        alive.update(told)
        for name in bucket.separator:
            touching[name] = {other: None for other in touching[name] if other not in mine} | dict.fromkeys(told)
            if name in costs:
                costs[name] = _cost([alive[number].scope for number in touching[name]], states)
                heappush(queue, (costs[name], name))
    return FactorGraph({name: states[name] for name in touching}, tuple(alive.values())), buckets


def _is_trivial(factor: Factor, states: Mapping[str, Sequence[State]]) -> bool:
    """Whether a factor weighs every joint state of its variables 1, as where nothing of them is limited."""
    if not factor.scope or len(factor.table) < prod(len(states[name]) for name in factor.scope):
        return False
    # Tables may have rows for states that are not looked at: counting rows is not enough.
    return all(factor.table.get(joint) == 1 for joint in product(*(states[name] for name in factor.scope)))


def _cost(scopes: Sequence[Sequence[str]], states: Mapping[str, Sequence[State]]) -> int:
    """The size of the joint table of factors with these scopes: what eliminating the variable that they share costs."""
    return prod(len(states[name]) for name in {name for scope in scopes for name in scope})


def _join(variable: str, states: Sequence[State], factors: Sequence[Factor]) -> Bucket:
    """The product of the factors of a variable, joined one after the other over what they share."""
    scope: tuple[str, ...] = (variable,)
    joint: Table = {(state,): 1 for state in states}
    for factor in sorted(factors, key=lambda factor: len(factor.table)):
        scope, joint = _product(scope, joint, factor)
    separator = tuple(sorted(scope[1:]))
    order = tuple(scope.index(name) for name in separator)
    weights: dict[tuple[State, ...], dict[State, float]] = {}
    for states_of, weight in joint.items():
        weights.setdefault(tuple(states_of[place] for place in order), {})[states_of[0]] = weight
    return Bucket(variable, separator, weights)


def _product(scope: tuple[str, ...], joint: Table, factor: Factor) -> tuple[tuple[str, ...], Table]:
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
    if sum(len(matching.get(key, ())) for key in keys.values()) > LARGEST_TABLE:
        raise TangledError
    return (*scope, *(factor.scope[place] for place in fresh)), {
        states + rest: weight * other
        for states, weight in joint.items()
        for rest, other in matching.get(keys[states], ())
    }


def _told(bucket: Bucket, semiring: Semiring) -> Factor:
    return Factor(bucket.separator, {rest: semiring.add(weights.values()) for rest, weights in bucket.weights.items()})


def draw(
    elimination: Elimination,
    choose: Callable[[Sequence[float]], int],
    existential: frozenset[str] = frozenset(),
) -> dict[str, State]:
    """One joint state with probability proportional to its weight, without rejection.

    `choose` picks an index in proportion to the weights that it is given. `existential` names the variables that were
    eliminated as such: they are left out.
    """
    assignment: dict[str, State] = {}
    for bucket in reversed(elimination.buckets):
        if bucket.variable in existential:
            break  # they were eliminated first, and so come last
        weights = bucket.weights[tuple([assignment[name] for name in bucket.separator])]
        place = choose(tuple(weights.values())) if len(weights) > 1 else 0
        assignment[bucket.variable] = tuple(weights)[place]
    return assignment


def supported(elimination: Elimination) -> dict[str, frozenset[State]]:
    """For every variable the states that some joint state of positive weight has; see `keep_trivial`."""
    if not elimination.total:
        return {bucket.variable: frozenset() for bucket in elimination.buckets}
    order = {bucket.variable: place for place, bucket in enumerate(elimination.buckets)}
    alive: dict[str, tuple[tuple[str, ...], set[tuple[State, ...]]]] = {}
    for bucket in reversed(elimination.buckets):
        rests = set(bucket.weights)
        if bucket.separator:
            # A bucket's message went to the first of its separator to be eliminated, whose scope has all of it.
            scope, entries = alive[min(bucket.separator, key=order.__getitem__)]
            places = [scope.index(name) for name in bucket.separator]
            rests &= {tuple(entry[place] for place in places) for entry in entries}
        joint = {(*rest, state) for rest in rests for state in bucket.weights[rest]}
        alive[bucket.variable] = ((*bucket.separator, bucket.variable), joint)
    return {variable: frozenset(entry[-1] for entry in entries) for variable, (_, entries) in alive.items()}
