"""The configuration that stands for a pipeline in algorithm selection."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from spacelang.draws.sampling import Sampler, UnlikelyError
from spacelang.ir.configuration import Configuration
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator


class Completion:
    """One configuration for each pipeline, the same on any number of rows and whenever it is asked for.

    With `default` every hyperparameter has its default (see `DiscrepancyTree.complete`); with `sample` they are drawn
    as random search draws them, by a generator of the pipeline's own: no order of asking leads to other values.
    """

    def __init__(self, tree: DiscrepancyTree, rule: Literal["default", "sample"], rng: "Generator") -> None:
        self.of: Callable[[Pipeline], Configuration] = tree.complete
        """The configuration of a pipeline."""
        if rule == "sample":
            self._seed = int(rng.integers(1 << 63))
            self._draws = Draws(tree)
            self.of = lru_cache(maxsize=8192)(self._drawn)

    def _drawn(self, pipeline: Pipeline) -> Configuration:
        from numpy.random import default_rng

        own = default_rng([self._seed, *(place + 1 for place in pipeline)])
        return self._draws.configuration(pipeline, own)


class Draws:
    """Draws the hyperparameters of pipelines: each uniformly from its domain, or as its prior says."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self.sampler = Sampler(tree.structures)

    def configuration(self, pipeline: Pipeline, rng: "Generator") -> Configuration:
        """A configuration of the pipeline.

        It is the default one where values that constraints allow are too rare to be drawn.
        """
        try:
            return self.sampler.configuration(rng, self._tree.structure_of(pipeline))
        except UnlikelyError:
            return self._tree.complete(pipeline)
