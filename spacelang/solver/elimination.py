"""Exact variable elimination over sparse integer factors: the engine of counting, sampling and dead-branch checks.

A factor maps joint states of a few variables to a weight; states that are not in its table weigh 0. The sum over all
joint states of the product of all factors is computed one variable at a time, which costs what the variables that
constraints tie together cost, never the size of the space. Integers are Python's own, of any size.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import product
from math import prod
from typing import Final, TypeAlias

from spacelang.facts import fact

State: TypeAlias = int
Table: TypeAlias = dict[tuple[State, ...], float]
"""Weights by joint state: integers where something is counted, floats where probabilities are."""


LARGEST_TABLE: Final = 250_000
"""The most joint states of variables that are looked at together: about half a second and 100 MiB."""


class TangledError(Exception):
    """Constraints tie so many variables to each other that their joint states cannot be looked at."""


@fact
class Factor:
    """Weights of the joint states of the variables of `scope`, in that order."""

    scope: tuple[str, ...]
    table: Table


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


def eliminate(
    states: Mapping[str, Sequence[State]],
    factors: Iterable[Factor],
    existential: frozenset[str] = frozenset(),
    *,
    keep_trivial: bool = False,
) -> Elimination:
    """Sum the product of the factors over all joint states of the variables.

    Variables in `existential` go first, and only whether some state of theirs has weight matters: what is then summed
    over the others is 1 where there is one. A variable without a factor counts each of its states once. Raises
    TangledError where a joint table would become too large. `supported` needs an elimination with `keep_trivial`:
    without it, what limits nothing is dropped on the way.
    """
    first = _sum_over(existential & set(states), states, tuple(factors), exists=True, keep_trivial=keep_trivial)
    second = _sum_over(set(states) - existential, states, first.factors, exists=False, keep_trivial=keep_trivial)
    return Elimination(_product_of(second.factors), (*first.buckets, *second.buckets))


def eliminate_in_turns(
    states: Mapping[str, Sequence[State]], factors: Iterable[Factor], turns: Iterable[frozenset[str]]
) -> Elimination:
    """The same sum with the variables of each turn gone before those of the next; every variable is in one of them.

    Read from its end, it tells the variables of the last turn first. Raises TangledError.
    """
    left = tuple(factors)
    buckets: list[Bucket] = []
    for turn in turns:
        reduced = _sum_over(turn, states, left, exists=True)
        left = reduced.factors
        buckets.extend(reduced.buckets)
    return Elimination(_product_of(left), tuple(buckets))


def _product_of(factors: Iterable[Factor]) -> float:
    return prod(factor.table.get((), 0) for factor in factors)


def project(
    states: Mapping[str, Sequence[State]], factors: Iterable[Factor], existential: frozenset[str]
) -> tuple[Factor, ...]:
    """The factors over the other variables alone whose product is positive where some existential state exists."""
    return _sum_over(existential & set(states), states, tuple(factors), exists=True).factors


@fact
class _Reduced:
    """The factors that are left, and the buckets of the variables that are gone."""

    factors: tuple[Factor, ...]
    buckets: tuple[Bucket, ...]


def _sum_over(
    waiting: set[str] | frozenset[str],
    states: Mapping[str, Sequence[State]],
    factors: Sequence[Factor],
    *,
    exists: bool,
    keep_trivial: bool = False,
) -> _Reduced:
    alive = dict(enumerate(factors))
    touching: dict[str, dict[int, None]] = {name: {} for name in states}
    for number, factor in alive.items():
        for name in factor.scope:
            touching[name][number] = None
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
        mine, message = touching.pop(variable), _sum_out(bucket, exists=exists)
        number = len(factors) + len(buckets)
        buckets.append(bucket)
        told = {} if not keep_trivial and _is_trivial(message, states) else {number: message}
        alive.update(told)
        for name in bucket.separator:
            touching[name] = {other: None for other in touching[name] if other not in mine} | dict.fromkeys(told)
            if name in costs:
                costs[name] = _cost([alive[number].scope for number in touching[name]], states)
                heappush(queue, (costs[name], name))
    return _Reduced(tuple(alive.values()), tuple(buckets))


def _is_trivial(factor: Factor, states: Mapping[str, Sequence[State]]) -> bool:
    """Whether a factor weighs every joint state of its variables 1, as where nothing of them is limited."""
    if not factor.scope or len(factor.table) < prod(len(states[name]) for name in factor.scope):
        return False
    # Tables may have rows for states that are not looked at, where a structure is given: counting rows is not enough.
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


def _sum_out(bucket: Bucket, *, exists: bool) -> Factor:
    table = {rest: 1 if exists else sum(weights.values()) for rest, weights in bucket.weights.items()}
    return Factor(bucket.separator, table)


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
