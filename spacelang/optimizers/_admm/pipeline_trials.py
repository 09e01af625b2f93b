"""The known trials of each pipeline, with the theta at which each was evaluated."""

from collections.abc import Iterable, Iterator

import numpy as np

from spacelang.ir.trial import Trial
from spacelang.optimizers._admm.points import Theta, ThetaCube
from spacelang.targets.blds import Pipeline


class PipelineTrials:
    """Trials on all training rows by pipeline, each with the values of the variables that the pipeline owns.

    The values are stored as bytes, because a run can have thousands of trials.
    """

    def __init__(self) -> None:
        self._packed_trials: dict[Pipeline, list[tuple[bytes, Trial]]] = {}

    def record(self, pipeline: Pipeline, tried: Iterable[tuple[Theta, Trial]]) -> None:
        """Add trials of a pipeline, each with its theta."""
        packed = ((np.concatenate(theta).tobytes(), trial) for theta, trial in tried)
        self._packed_trials.setdefault(pipeline, []).extend(packed)

    def trials_of(self, pipeline: Pipeline, cube: ThetaCube) -> Iterator[tuple[Theta, Trial]]:
        """Yield the trials of a pipeline in the order in which they were added, each with its theta.

        `cube` must be the cube of the variables that the pipeline owns.
        """
        for packed, trial in self._packed_trials.get(pipeline, ()):
            numbers, integers = np.split(np.frombuffer(packed), [len(cube.numbers)])
            yield (numbers, integers), trial
