"""Replay of stored trials into a search tree, to show the tree of a finished search."""

from collections.abc import Iterable

from spacelang.ir.trial import Trial
from spacelang.optimizers._mosaic.nodes import SearchTree
from spacelang.optimizers._mosaic.playout import MAX_ATTEMPTS, Playout
from spacelang.targets.mosaic import StructuralTree


def replay_trials(tree: StructuralTree, trials: Iterable[Trial]) -> SearchTree:
    """Return the search tree after these trials, in their order.

    A playout counts as one visit, whose reward is that of its last candidate. Trials that the search received again
    from the cache are not needed.
    """
    playouts = [(Playout.from_request(trial.request, tree), trial) for trial in trials]
    tried = {(playout.seed, playout.attempt) for playout, _ in playouts}
    nodes = SearchTree()
    for playout, trial in playouts:
        for prefix, reward in playout.exhausted_nodes:
            nodes.exhaust(prefix, reward)
        later = range(playout.attempt + 1, MAX_ATTEMPTS + 1)
        if trial.loss is None and any((playout.seed, attempt) in tried for attempt in later):
            continue
        nodes.start_visit(playout.prefix)
        nodes.finish_visit(playout.prefix, 1.0 - trial.normalized_loss)
    return nodes
