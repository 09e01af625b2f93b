"""The single configuration that represents a pipeline in algorithm selection."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from spacelang.ir.configuration import Configuration
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator


class PipelineConfigurations:
    """One configuration per pipeline, the same for every number of rows and every order of requests.

    With the rule `default` every hyperparameter has its default (see `DiscrepancyTree.complete`). With `sample` the
    hyperparameters are drawn as in random search, by a random generator that is seeded per pipeline. So the order of
    requests does not change the values.
    """

    def __init__(self, tree: DiscrepancyTree, rule: Literal["default", "sample"], rng: "Generator") -> None:
        self.configuration_of: Callable[[Pipeline], Configuration] = tree.complete
        """Returns the configuration of a pipeline."""
        if rule == "sample":
            self._seed = int(rng.integers(1 << 63))
            self._draws = HyperparameterDraws(tree)
            self.configuration_of = lru_cache(maxsize=8192)(self._draw)

    def _draw(self, pipeline: Pipeline) -> Configuration:
        """Return the configuration drawn with the pipeline's own random generator."""
        from numpy.random import default_rng

        own = default_rng([self._seed, *(place + 1 for place in pipeline)])
        return self._draws.configuration(pipeline, own)


class HyperparameterDraws:
    """A sampler of a pipeline's hyperparameters, each uniform over its domain or drawn from its prior."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self.sampler = Sampler(tree.structures)

    def configuration(self, pipeline: Pipeline, rng: "Generator") -> Configuration:
        """Draw a configuration of the pipeline.

        Returns the default configuration if values that satisfy the constraints are too rare to be drawn.
        """
        try:
            return self.sampler.configuration(rng, self._tree.structure_of(pipeline))
        except SamplingFailedError:
            return self._tree.complete(pipeline)
