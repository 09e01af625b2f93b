"""LDS: the order of the binary tree, counts of pipelines, descents to local optima.

See spacelang/optimizers/README.md, sections "Discrepancy search" and "LDS".
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise, product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainings import best_is, by_table, trainings
from trying import few

from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.optimizers._descent import ArmStatistics, Descent, DescentRules, DescentState
from spacelang.optimizers._selection import SelectionProblem, SelectorCall, TrialMemory
from spacelang.optimizers.lds import Lds
from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import make_trial
from spacelang.testing.small_spaces import choice, make_space, plain_space

SIZE = 400


def binary(height: int) -> Space:
    """A tree in which the heuristic always goes left, and a discrepancy to the right comes first."""
    return make_space("binary", *(choice(f"s{n}", "R", "L", default=1) for n in range(height)))


def turns(tree: DiscrepancyTree, discrepancy: int) -> list[str]:
    return ["".join("RL"[place] for place in leaf) for leaf in tree.walk(tree.default_pipeline, discrepancy)]


@pytest.mark.parametrize(
    ("discrepancy", "order"),
    [
        (0, "LLL"),
        (1, "RLL LRL LLR LLL"),
        (2, "RRL RLR RLL LRR LRL LLR LLL"),
        (3, "RRR RRL RLR RLL LRR LRL LLR LLL"),
    ],
)
def test_a_probe_of_a_binary_tree_turns_right_first(discrepancy: int, order: str) -> None:
    assert turns(DiscrepancyTree(Structures(binary(3))), discrepancy) == order.split()


@pytest.mark.parametrize(("height", "counts"), [(3, (1, 4, 7, 8)), (4, (1, 5, 11, 15, 16))])
def test_an_iteration_visits_every_leaf_with_at_most_so_many_right_turns(height: int, counts: tuple[int, ...]) -> None:
    tree = DiscrepancyTree(Structures(binary(height)))
    for discrepancy, count in enumerate(counts):
        assert count == sum(comb(height, i) for i in range(discrepancy + 1))
        assert len(turns(tree, discrepancy)) == len(set(turns(tree, discrepancy))) == count


def test_example_1_a_goal_with_one_discrepancy_is_found_in_the_first_iteration() -> None:
    goal, left = (1, 0, 1), (1, 1, 1)
    trained = trainings(Lds(disc=2), binary(3), SIZE, best_is(goal), 3, initial=(left,))
    assert trained == [(left, SIZE), ((0, 1, 1), SIZE), (goal, SIZE)]


@pytest.mark.parametrize("sizes", [(8, 8, 6, 8), (8, 11, 7, 11), (6, 3, 6), (2, 2, 2)])
def test_pipelines_by_discrepancy_are_elementary_symmetric_polynomials(sizes: tuple[int, ...]) -> None:
    tree = DiscrepancyTree(Structures(plain_space(*sizes)))
    others = [size - 1 for size in sizes]
    expected = [sum(map(prod, combinations(others, j))) for j in range(len(sizes) + 1)]
    assert list(tree.leaf_counts_by_discrepancy((0,) * len(sizes))) == expected


def around(pipeline: Pipeline, sizes: tuple[int, ...], theta: int, stage: int = 0) -> Iterator[Pipeline]:
    """The leaves of SEARCH as the BLDS paper writes it down, by recursion."""
    if theta == 0 or stage == len(sizes):
        yield pipeline
        return
    for place in range(sizes[stage]):
        changed = (*pipeline[:stage], place, *pipeline[stage + 1 :])
        yield from around(changed, sizes, theta - (place != pipeline[stage]), stage + 1)


def by_the_book(
    start: Pipeline, sizes: tuple[int, ...], disc: int, losses: Mapping[Pipeline, float]
) -> tuple[list[Pipeline], list[Pipeline]]:
    """What one descent evaluates, and the pipelines from which it searches."""
    asked, centres = [start], [start]
    while True:
        better = None
        for theta in range(1, disc + 1):
            for neighbour in around(centres[-1], sizes, theta):
                if neighbour == centres[-1]:
                    continue
                if neighbour not in asked:
                    asked.append(neighbour)
                if losses[neighbour] < losses[centres[-1]]:
                    better = neighbour
                    break
            if better is not None:
                break
        if better is None:
            return asked, centres
        centres.append(better)


SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[Pipeline, float], Pipeline]:
    """Stages, losses with many ties, and a pipeline to begin with."""
    sizes = draw(SIZES)
    leaves = list(product(*map(range, sizes)))
    losses = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.8]), min_size=len(leaves), max_size=len(leaves)))
    return sizes, dict(zip(leaves, losses, strict=True)), draw(st.sampled_from(leaves))


@settings(max_examples=few(100), deadline=None)
@given(tables(), st.integers(1, 4))
def test_a_descent_goes_by_the_book(table: tuple[tuple[int, ...], dict[Pipeline, float], Pipeline], disc: int) -> None:
    sizes, losses, start = table
    asked, centres = by_the_book(start, sizes, disc, losses)
    trained = trainings(Lds(disc=disc), plain_space(*sizes), SIZE, by_table(losses), len(asked), initial=(start,))
    assert trained == [(pipeline, SIZE) for pipeline in asked]
    found = [losses[pipeline] for pipeline in centres]
    assert all(later < earlier for earlier, later in pairwise(found)), "it strictly improves"


def end_of_descent(
    sizes: tuple[int, ...], losses: Mapping[Pipeline, float | None], start: Pipeline, disc: int
) -> Pipeline:
    selection = SelectionProblem.from_problem(Problem(plain_space(*sizes), SIZE, np.random.default_rng(0)), "default")
    arms = ArmStatistics(
        SelectorCall(selection, selection.configuration, TrialMemory()), (SIZE,), (0.0,), selection.penalized_loss
    )
    descent = Descent(selection.tree, DescentRules(disc, end_rule="local_optimum"), DescentState(start))
    for pipeline in descent.pipelines_to_train(arms):
        arms.record(pipeline, make_trial(arms.request(pipeline), losses[pipeline]))
    return descent.state.pipeline


@settings(max_examples=few(100), deadline=None)
@given(tables(), st.integers(1, 4), st.integers(1, 5), st.sampled_from([1.0, 100.0]))
def test_at_the_end_of_a_descent_nothing_within_the_discrepancy_is_better(
    table: tuple[tuple[int, ...], dict[Pipeline, float], Pipeline], disc: int, every: int, times: float
) -> None:
    sizes, drawn, start = table
    failing = [*drawn][::every] if every > 1 else []
    losses = {leaf: None if leaf in failing else loss * times for leaf, loss in drawn.items()}
    end = end_of_descent(sizes, losses, start, disc)
    within = [other for other in losses if sum(a != b for a, b in zip(other, end, strict=True)) <= disc]
    best, *_ = sorted(within, key=lambda leaf: (losses[leaf] is None, losses[leaf]))
    assert losses[end] == losses[best], "failures are behind all others, whatever their losses are"
    if disc >= len(sizes):
        assert losses[end] == min((loss for loss in losses.values() if loss is not None), default=None), "the optimum"


def test_a_discrepancy_beyond_the_number_of_stages_is_all_of_them() -> None:
    losses = {leaf: 1.0 - 0.1 * sum(leaf) for leaf in product(range(3), repeat=3)}
    few, many = (
        trainings(Lds(disc=disc), plain_space(3, 3, 3), SIZE, by_table(losses), 100, initial=((0, 0, 0),))
        for disc in (3, 10**9)
    )
    assert few == many
    assert len(few) == 27


def test_every_leaf_is_evaluated_once_on_all_rows() -> None:
    trained = trainings(Lds(), plain_space(3, 2, 3), SIZE, lambda leaf, _: None if leaf[0] else 0.5, 100)
    assert sorted(trained) == [(leaf, SIZE) for leaf in product(range(3), range(2), range(3))]


def test_a_discrepancy_of_0_is_out_of_bounds() -> None:
    with pytest.raises(OptionError, match="`disc` is 0") as caught:
        Lds(disc=0)
    assert caught.value.help
