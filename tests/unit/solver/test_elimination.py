from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from trying import few

from spacelang.sampling.weighted_sampling import JointWeightedSampler
from spacelang.solver.bucket_elimination import (
    EXISTS,
    FEWEST,
    Factor,
    FactorGraph,
    PackedPolynomials,
    TooManyJointStatesError,
    draw_states,
    eliminate,
    supported_states,
)

STATES = {"u": (0, 1), "v": (0, 1, 2), "w": (-1, 0), "x": (0, 1, 2), "y": (0,), "z": (0, 1)}
NAMES = tuple(STATES)
Problem = tuple[list[Factor], frozenset[str]]


@st.composite
def problems(draw_: st.DrawFn) -> Problem:
    factors = []
    for _ in range(draw_(st.integers(0, 5))):
        scope = tuple(draw_(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)))
        table = {joint: draw_(st.integers(0, 3)) for joint in product(*(STATES[name] for name in scope))}
        factors.append(Factor(scope, {joint: weight for joint, weight in table.items() if weight or len(scope) == 1}))
    return factors, frozenset(draw_(st.lists(st.sampled_from(NAMES), unique=True)))


def weights(factors: Sequence[Factor]) -> dict[tuple[int, ...], int]:
    """The weight of every joint state, one by one."""
    found = {}
    for joint in product(*STATES.values()):
        states = dict(zip(NAMES, joint, strict=True))
        weight = prod(factor.table.get(tuple(states[name] for name in factor.scope), 0) for factor in factors)
        if weight:
            found[joint] = int(weight)
    return found


@settings(max_examples=few(200), deadline=None)
@given(problems())
def test_sums_equal_brute_force(problem: Problem) -> None:
    factors, existential = problem
    graph = FactorGraph(STATES, tuple(factors))
    assert eliminate(graph).total == sum(weights(factors).values())
    assert eliminate(graph, (STATES, FEWEST)).total == min(weights(factors).values(), default=0)
    assert (eliminate(graph, (STATES, EXISTS)).total > 0) == bool(weights(factors))
    exists = eliminate(graph, (existential, EXISTS))
    hard = [
        Factor(f.scope, {s: w if not set(f.scope) & existential else int(w > 0) for s, w in f.table.items()})
        for f in factors
    ]
    kept = [place for place, name in enumerate(NAMES) if name not in existential]
    seen = {tuple(joint[place] for place in kept): weight for joint, weight in weights(hard).items()}
    assert exists.total == sum(seen.values())


@settings(max_examples=few(200), deadline=None)
@given(problems())
def test_supported_equals_brute_force(problem: Problem) -> None:
    factors, existential = problem
    joints = weights(factors)
    expected = {name: frozenset(joint[place] for joint in joints) for place, name in enumerate(NAMES)}
    graph = FactorGraph(STATES, tuple(factors))
    assert supported_states(eliminate(graph, keep_trivial=True)) == expected
    assert supported_states(eliminate(graph, (existential, EXISTS), keep_trivial=True)) == expected


def test_what_limits_nothing_ties_nothing_together() -> None:
    """Each two of ten variables have one of their own that goes first and allows all: kept, these would tie them."""
    names = [f"a{place}" for place in range(10)]
    pairs = {f"b {one} {other}": (one, other) for one, other in combinations(names, 2)}
    states = dict.fromkeys(pairs, (0, 1)) | dict.fromkeys(names, range(4))
    factors = [
        Factor((pair, name), dict.fromkeys(product((0, 1), range(4)), 1)) for pair in pairs for name in pairs[pair]
    ]
    graph = FactorGraph(states, tuple(factors))
    assert eliminate(graph, (pairs, EXISTS)).total == 4**10
    with pytest.raises(TooManyJointStatesError):
        eliminate(graph, (pairs, EXISTS), keep_trivial=True)


@settings(max_examples=few(100), deadline=None)
@given(problems())
def test_projection_equals_brute_force(problem: Problem) -> None:
    factors, existential = problem
    graph = FactorGraph(STATES, tuple(factors)).project_out(existential)
    assert graph.states.keys() == STATES.keys() - existential
    assert all(not set(factor.scope) & existential for factor in graph.factors)
    kept = [name for name in NAMES if name not in existential]
    expected = {tuple(joint[NAMES.index(name)] for name in kept) for joint in weights(factors)}
    for joint in product(*(STATES[name] for name in kept)):
        states = dict(zip(kept, joint, strict=True))
        weight = prod(factor.table.get(tuple(states[name] for name in factor.scope), 0) for factor in graph.factors)
        assert bool(weight) == (joint in expected)


@settings(max_examples=few(100), deadline=None)
@given(problems(), st.data())
def test_what_is_given_is_all_that_counts(problem: Problem, data: st.DataObject) -> None:
    factors, names = problem
    left = {name: data.draw(st.lists(st.sampled_from(STATES[name]), unique=True)) for name in sorted(names)}
    graph = FactorGraph(STATES, tuple(factors)).restrict(left)
    assert graph.states.keys() == STATES.keys() - {name for name in left if len(left[name]) == 1}
    places = [(NAMES.index(name), states) for name, states in left.items()]
    joints = {j: w for j, w in weights(factors).items() if all(j[place] in states for place, states in places)}
    assert eliminate(graph).total == sum(joints.values())
    for name in graph.states:
        around = graph.connected_part(name)
        rest = [factor for factor in graph.factors if not around.states.keys() & set(factor.scope)]
        others = FactorGraph({n: s for n, s in graph.states.items() if n not in around.states}, tuple(rest))
        assert eliminate(around).total * eliminate(others).total == sum(joints.values())


@given(st.lists(st.integers(0, 15), max_size=6))
def test_polynomials_are_told_apart(coefficients: list[int]) -> None:
    polynomials = PackedPolynomials(4)
    weight = sum(coefficient * polynomials.pack_monomial(place) for place, coefficient in enumerate(coefficients))
    found = polynomials.unpack_coefficients(weight)
    assert [*found, *[0] * (len(coefficients) - len(found))] == coefficients


def test_draws_follow_the_weights() -> None:
    factors = [
        Factor(("u", "v"), {(0, 0): 1, (0, 1): 2, (1, 2): 5, (1, 0): 1}),
        Factor(("v", "x"), {(0, 1): 3, (1, 1): 1, (2, 2): 1, (2, 0): 2}),
        Factor(("w",), {(-1,): 1}),
    ]
    expected, rng = weights(factors), np.random.default_rng(5)
    solution = eliminate(FactorGraph(STATES, tuple(factors)))
    drawn = JointWeightedSampler(solution).draw(3000, rng)
    counts = Counter(zip(*(drawn[name].tolist() for name in NAMES), strict=True))
    assert counts.keys() == expected.keys()
    shares = [expected[joint] * 3000 / solution.total for joint in expected]
    assert stats.chisquare([counts[joint] for joint in expected], shares).pvalue > 1e-3


def test_existential_variables_are_left_out_of_draws() -> None:
    factors = [Factor(("u", "v"), {(0, 0): 1, (0, 1): 1, (1, 2): 1})]
    solution = eliminate(FactorGraph(STATES, tuple(factors)), ({"v", "x"}, EXISTS))
    drawn = draw_states(solution, lambda _: 0, frozenset({"v", "x"}))
    assert drawn.keys() == STATES.keys() - {"v", "x"}
