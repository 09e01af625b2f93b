"""Columns: every row is a member, drawn with exactly the probability that its structure and its values have."""

import math
from collections.abc import Mapping
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from spacelang.ir.domain import Categorical, Domain, Grid, Real, Union, parts
from spacelang.ir.expr import Arithmetic, Compare, Constant, Reference, is_true
from spacelang.ir.space import Space
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.draw_acceptance import JointValues, evaluate_comparison
from spacelang.sampling.sampler import BLOCK_SIZE, Sampler, SamplingFailedError
from spacelang.sampling.value_codes import ValueCodes, decode_values
from spacelang.sampling.weighted_sampling import WeightedSampler
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures

from . import brute
from .crafted import CRAFTED, one, require, x
from .settings import LAW
from .spaces import finite_spaces, general_spaces

pytestmark = pytest.mark.usefixtures("branches")

UNLIKELY = 1e-8
"""Random spaces are drawn anew in every run: so seldom does chance alone fail one."""


def columns(space: Space, count: int, seed: int = 0) -> ConfigurationBatch | None:
    try:
        structures = Structures(space)
        return Sampler(structures).batch(count, np.random.default_rng(seed)) if structures.count else None
    except (UndecidableError, SamplingFailedError):
        return None


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()), st.integers(0, 1000))
def test_rows_are_members_and_equal_for_equal_seeds(space: Space, seed: int) -> None:
    found, again = columns(space, 20, seed), columns(space, 20, seed)
    if found is None or again is None:
        return
    rows = found.configurations()
    assert rows == again.configurations()
    assert all(brute.accepts(space, dict(row)) for row in rows)


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()))
def test_dense_columns_say_what_configurations_say(space: Space) -> None:
    found = columns(space, 20)
    if found is None:
        return
    rows = found.configurations()
    for address, variable in space.variables.items():
        if address in {choice.address for choice in space.decisions}:
            continue
        marks, codes = found.dense_part_indices_and_codes(address)
        for row, mark, code in zip(rows, marks.tolist(), codes.tolist(), strict=True):
            if mark < 0:
                assert math.isnan(code)
                assert (
                    address not in found.hyperparameters or row.get(variable.key) is None or _is_shared(space, address)
                )
                continue
            part = parts(variable.node.domain)[mark]  # type: ignore[union-attr]
            value = part.values[int(code)] if isinstance(part, Categorical) else code
            assert value == row[variable.key]


def _is_shared(space: Space, address: str) -> bool:
    """Whether another hyperparameter has the same key."""
    key = space.variables[address].key
    return sum(variable.key == key for variable in space.variables.values()) > 1


@settings(LAW)
@given(finite_spaces(), st.integers(0, 1000))
def test_rows_have_exactly_their_probability(space: Space, seed: int) -> None:
    count = 4000
    found = columns(space, count, seed)
    if found is None:
        assert not brute.structures(space)
        return
    expected = probabilities(space)
    seen: dict[str, int] = {}
    for row in found.configurations():
        text = brute.text(dict(row))
        seen[text] = seen.get(text, 0) + 1
    assert seen.keys() <= expected.keys()
    assert is_likely([seen.get(text, 0) for text in expected], [share * count for share in expected.values()])


def probabilities(space: Space) -> dict[str, float]:
    """Of every configuration: structures alike, values by their priors among those that are admissible."""
    by_structure: list[dict[str, float]] = []
    for taken, hyperparameters in brute.pipelines(space.root):
        weights: dict[str, float] = {}
        for values in product(*(brute.members(node.domain) for node in hyperparameters)):
            worth = {node.address: value for node, value in zip(hyperparameters, values, strict=True)}
            document = brute.settle(space, taken, hyperparameters, worth)
            if document is not None:
                active = [(node, worth[node.address]) for node in hyperparameters if node.key in document]
                weights[brute.text(document)] = math.prod(share(node.domain, value) for node, value in active)
        if weights:
            by_structure.append(weights)
    return {
        text: weight / sum(weights.values()) / len(by_structure)
        for weights in by_structure
        for text, weight in weights.items()
    }


def share(domain: Domain, value: Any) -> float:
    """The prior probability of a value of a finite domain."""
    mine = next(part for part in parts(domain) if brute.inside(part, value))
    if isinstance(mine, Grid) and mine.log:
        lowest = mine.lower - min(mine.step, mine.lower) / 2
        below = lowest if value == mine.lower else value - mine.step / 2
        highest = mine.lower + (mine.size - 1) * mine.step + mine.step / 2
        within = math.log((value + mine.step / 2) / below) / math.log(highest / lowest)
    else:
        within = 1 / len(brute.members(mine))
    return within / len(parts(domain))


def is_likely(seen: list[int], expected: list[float]) -> bool:
    """A chi-squared test in which what is expected less than ten times is put together."""
    pairs = sorted(zip(expected, seen, strict=True))
    rare = [pair for pair in pairs if pair[0] < 10]
    kept = [pair for pair in pairs if pair[0] >= 10] + (
        [(sum(e for e, _ in rare), sum(s for _, s in rare))] if rare else []
    )
    total = sum((s - e) ** 2 / e for e, s in kept)
    return len(kept) < 2 or float(stats.chi2.sf(total, len(kept) - 1)) > UNLIKELY or min(e for e, _ in kept) < 1


def test_a_sample_of_many_blocks_and_of_none() -> None:
    sampler = Sampler(Structures(CRAFTED["values"]))
    assert len(list(sampler.configurations(BLOCK_SIZE + 3, np.random.default_rng(0)))) == BLOCK_SIZE + 3
    first = sampler.batch(5, np.random.default_rng(0)).configurations()
    assert list(sampler.configurations(5, np.random.default_rng(0))) == first
    assert sampler.batch(0, np.random.default_rng(0)).configurations() == []


def test_rows_of_a_given_structure() -> None:
    sampler = Sampler(Structures(CRAFTED["nested"]))
    structure = {"a": "B", "e": "Boost", "e.Boost.inner": "Line"}
    rows = sampler.batch(3, np.random.default_rng(0), structure).configurations()
    assert [dict(row) for row in rows] == [{"a": "B", "e": "Boost", "e.inner": "Line"}] * 3


def test_numbers_of_any_size_are_drawn() -> None:
    domains = (Grid(1, 10**30), Union((Grid(-(2**62), 2**62), Real(0.5, 0.75))), Grid(1, 2**62, log=True))
    rows = Sampler(Structures(one(*domains))).batch(400, np.random.default_rng(1)).configurations()
    large, mixed, log = ([row[f"s.x{place}"] for row in rows] for place in range(3))
    assert {type(value) for value in (*large, *log)} == {int}
    assert {type(value) for value in mixed} == {int, float}
    assert stats.kstest([value / 10**30 for value in large], "uniform").pvalue > 1e-3  # type: ignore[operator]
    assert stats.kstest([math.log2(value) / 62 for value in log], "uniform").pvalue > 1e-3  # type: ignore[arg-type]
    assert all(
        domain.find(row[f"s.x{place}"]) == row[f"s.x{place}"] for row in rows for place, domain in enumerate(domains)
    )


@pytest.mark.parametrize("factor", [1, 10**40])
def test_lotteries_follow_weights_of_any_size(factor: int) -> None:
    drawn = WeightedSampler({-1: factor, 3: 5 * factor, 7: 2 * factor}).draw(4000, np.random.default_rng(3))
    counts = [int((drawn == state).sum()) for state in (-1, 3, 7)]
    assert stats.chisquare(counts, [500, 2500, 1000]).pvalue > 1e-3


class Scripted:
    """A generator that draws what it is told."""

    def __init__(self, *drawn: int) -> None:
        self._drawn = list(drawn)

    def integers(self, bound: int, size: int | None = None, dtype: Any = None) -> Any:
        number = self._drawn.pop(0)
        assert 0 <= number < bound
        return number if size is None else np.full(size, number, dtype)


def test_a_share_at_the_border_of_two_weights_is_drawn_on() -> None:
    lottery = WeightedSampler({0: 2**63, 1: 2**64})  # a third and two thirds of 3 * 2^63
    border = 2**63 // 3
    # Of the shares that begin with these bits the first two thirds belong to the first weight.
    for then, state in ((0, 0), (2**63 // 3 * 2 - 1, 0), (2**63 // 3 * 2 + 2, 1), (2**63 - 1, 1)):
        assert lottery.draw(1, Scripted(border, then)).tolist() == [state]  # type: ignore[arg-type]


NUMBERS = Union((Categorical((None, "a", True)), Grid(-(2**70), 2**70), Real(-1e3, 1e3)))


@settings(LAW)
@given(
    st.lists(st.tuples(*[st.sampled_from((2**53 + 1, 2**53, -3, 0, 7, 2**70, 0.1, 0.3, 2.5))] * 2), min_size=1),
    st.sampled_from(("==", "!=", "<", "<=", ">", ">=")),
    st.sampled_from((0, 1, 3, 0.1, 2**53 + 1, -2.5)),
    st.sampled_from(("+", "-")),
)
def test_comparisons_are_what_one_by_one_evaluation_says(
    pairs: list[tuple[Any, Any]], relation: Any, number: Any, operation: Any
) -> None:
    left = Arithmetic(operation, Arithmetic("*", Reference("a"), Constant(3)), Constant(number))
    atom = Compare(relation, Arithmetic("/", left, Constant(3)), Reference("b"))
    places = {int: 1, float: 2}
    codes: Mapping[str, ValueCodes] = {
        name: ValueCodes(
            np.array([pair[side] for pair in pairs], object), np.array([places[type(p[side])] for p in pairs], np.int8)
        )
        for side, name in enumerate("ab")
    }
    assert decode_values(NUMBERS, codes["a"]) == [pair[0] for pair in pairs]
    found = evaluate_comparison(atom, JointValues(dict.fromkeys("ab", NUMBERS), codes, len(pairs)))
    assert found.tolist() == [is_true(atom, dict(zip("ab", pair, strict=True)).__getitem__) for pair in pairs]


@settings(LAW)
@given(
    st.integers(0, 900),  # so many terms that a sum loses, each by itself
    st.sampled_from((2.0**-53, 0.1, -0.3, 7.0)),
    st.sampled_from((1, 0.3, 2**53 + 1)),
    st.sampled_from(("==", "<", ">=")),
    st.integers(-2, 2),
)
@example(900, 2.0**-53, 1, ">=", -1)
@example(0, 0.1, 1, ">=", 0)
def test_long_sums_and_small_divisors_are_compared_as_they_are_one_by_one(
    terms: int, term: float, divided: float, relation: Any, off: int
) -> None:
    small = reduce(partial(Arithmetic, "+"), map(Constant, (0.2, -0.3, 1e-16)), Constant(0.1))  # 1e-16, not as floats
    for left, near in (
        (reduce(partial(Arithmetic, "+"), [Constant(term)] * terms, Reference("a")), divided + terms * term),
        (Arithmetic("/", Reference("a"), small), divided * 1e16),
    ):
        atom = Compare(relation, left, Constant(near * (1 + off * 1e-14)))
        codes = {
            "a": ValueCodes(np.array([divided], object), np.array([1 if isinstance(divided, int) else 2], np.int8))
        }
        found = evaluate_comparison(atom, JointValues({"a": NUMBERS}, codes, 1))
        assert found.tolist() == [is_true(atom, lambda _: divided)]


def test_a_rare_comparison_is_drawn_in_many_rows() -> None:
    ordered = [require(Compare("<", x(place), x(place + 1))) for place in range(4)]  # one in 120
    space = one(*[Real(0.0, 1.0)] * 5, constraints=ordered)
    rows = Sampler(Structures(space)).batch(3000, np.random.default_rng(5)).configurations()
    middle = [row["s.x2"] for row in rows]
    assert stats.kstest(middle, stats.beta(3, 3).cdf).pvalue > 1e-3
