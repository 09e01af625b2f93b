"""Bayesian optimization of pipelines: one-hot vectors, what may be next, and what comes of it.

See spacelang/optimizers/README.md, section "Bayesian optimization of pipelines".
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import default_rng
from trying import IS_FULL

from spacelang.ir.search_protocol import Search
from spacelang.ir.trial import Request
from spacelang.optimizers._selection import SelectionProblem, accept_all
from spacelang.optimizers.bo import MAX_RANKED_LEAVES, SAMPLE_SIZE, Bo, PipelineRanking
from spacelang.optimizers.random import Random
from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import drive_search
from spacelang.testing.small_spaces import nested_space, plain_space


def tree_of(*sizes: int) -> DiscrepancyTree:
    return DiscrepancyTree(Structures(plain_space(*sizes)))


def selected(
    optimizer: Bo | Random,
    tree: DiscrepancyTree,
    iterations: int,
    seed: int = 0,
    admits: Callable[[Pipeline], bool] = accept_all,
) -> list[float]:
    """The losses that one call has found, in their order; that of a pipeline is the sum of its alternatives'."""
    costs = default_rng(7).random((len(tree.layers), 20)) / len(tree.layers)

    def loss(request: Request) -> float:
        pipeline = tree.encode(request.configuration).pipeline
        return float(sum(costs[layer, place] for layer, place in enumerate(pipeline)))

    def search() -> Search:
        selection = SelectionProblem(tree, tree.complete, 100, default_rng(seed), admits=admits)
        yield from optimizer.selector().select(selection, iterations)

    return [trial.loss for trial in drive_search(search(), loss, 1000, seed=seed).trials if trial.loss is not None]


def test_each_alternative_of_each_decision_is_a_coordinate_and_what_is_not_reached_is_0_in_all() -> None:
    tree = DiscrepancyTree(Structures(nested_space()))
    leaves = list(tree.iter_leaves())
    vectors = PipelineRanking(tree).encode(leaves)
    assert vectors.shape == (len(leaves), sum(len(layer.alternatives) for layer in tree.layers))
    ends = np.cumsum([0, *(len(layer.alternatives) for layer in tree.layers)])
    for leaf, vector in zip(leaves, vectors, strict=True):
        for place, start, end in zip(leaf, ends[:-1], ends[1:], strict=True):
            assert vector[start:end].tolist() == [float(each == place) for each in range(end - start)]
    assert len({tuple(vector) for vector in vectors}) == len(leaves)


def test_of_few_leaves_each_that_is_new_may_be_next() -> None:
    tree = tree_of(3, 2, 3)
    known = dict.fromkeys(list(tree.iter_leaves())[:3], 0.5) | {(2, 1, 2): 0.1}
    ranked = list(PipelineRanking(tree).rank_unevaluated(known, [(2, 0, 0)], default_rng(0)))
    assert len(ranked) == len({*ranked}) == 18 - 5
    assert not {*ranked} & {*known, (2, 0, 0)}


def test_of_many_those_are_that_are_drawn_and_the_neighbours_of_the_best_and_at_last_all() -> None:
    tree = tree_of(*[12] * 4)
    best = (1, 2, 3, 4)
    known = {best: 0.1, (5, 5, 5, 5): 0.7}
    assert tree.leaf_count > MAX_RANKED_LEAVES
    ranked = PipelineRanking(tree).rank_unevaluated(known, [(1, 2, 3, 5)], default_rng(0))
    first = [next(ranked) for _ in range(SAMPLE_SIZE)]
    near = {leaf for leaf in tree.walk(best, 1) if leaf not in {best, (1, 2, 3, 5)}}
    assert len({*first}) == len(first)
    assert near <= {*first, *(next(ranked) for _ in range(len(near)))}
    assert len({*ranked}) >= tree.leaf_count - 2 - 1 - SAMPLE_SIZE - len(near)


def test_what_promises_most_has_what_was_good() -> None:
    tree = tree_of(4, 4, 4)
    known = {leaf: 0.2 if leaf[1] == 2 else 0.8 for leaf in list(tree.iter_leaves())[::3]}
    first, *_ = PipelineRanking(tree).rank_unevaluated(known, (), default_rng(0))
    assert first[1] == 2


def test_it_finds_better_ones_than_random_search() -> None:
    tree = tree_of(8, 6, 5, 6)
    pairs = [[min(selected(each, tree, 40, seed)) for each in (Bo(), Random())] for seed in range(5 if IS_FULL else 2)]
    assert sum(bo < drawn for bo, drawn in pairs) >= 0.8 * len(pairs)


def test_the_first_ones_are_drawn_at_most_half_of_the_iterations() -> None:
    tree = tree_of(3, 3)
    assert len(selected(Bo(), tree, 5)) == 5
    assert sorted(selected(Bo(), tree, 100)) == sorted(selected(Random(), tree, 100))


@pytest.mark.parametrize("sizes", [(3, 3), (12, 12, 12, 12)])
def test_what_is_not_admitted_is_not_asked_for(sizes: tuple[int, ...]) -> None:
    tree = tree_of(*sizes)
    admitted = set(list(tree.iter_leaves())[:4])

    def admits(pipeline: Pipeline) -> bool:
        return pipeline in admitted

    found = selected(Bo(), tree, 10, admits=admits)
    assert 1 <= len({*found}) <= 4


def test_a_model_needs_two_pipelines() -> None:
    with pytest.raises(OptionError, match="`initial` is 1"):
        Bo(initial=1)
