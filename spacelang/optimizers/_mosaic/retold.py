"""The nodes of a run by what its trials remember: what there is to be shown of a search that has ended."""

from collections.abc import Iterable

from spacelang.ir.trial import Trial
from spacelang.optimizers._mosaic.nodes import Nodes
from spacelang.optimizers._mosaic.playout import ATTEMPTS, Playout
from spacelang.targets.mosaic import StructuralTree


def retold(tree: StructuralTree, trials: Iterable[Trial]) -> Nodes:
    """The visits and rewards of a search that was told of these trials, in their order.

    A playout has one visit, whose reward is that of its last candidate; what it was told from memory does not matter.
    """
    playouts = [(Playout.of(trial.request, tree), trial) for trial in trials]
    tried = {(playout.seed, playout.attempt) for playout, _ in playouts}
    nodes = Nodes()
    for playout, trial in playouts:
        for prefix, reward in playout.dry:
            nodes.exhaust(prefix, reward)
        later = range(playout.attempt + 1, ATTEMPTS + 1)
        if trial.loss is None and any((playout.seed, attempt) in tried for attempt in later):
            continue
        nodes.begin(playout.prefix)
        nodes.end(playout.prefix, 1.0 - trial.standing)
    return nodes
