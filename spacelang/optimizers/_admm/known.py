"""The known trials of each pipeline, with the theta at which each was evaluated."""

from collections.abc import Iterable, Iterator

import numpy as np

from spacelang.ir.trial import Trial
from spacelang.optimizers._admm.points import Cube, Theta
from spacelang.targets.blds import Pipeline


class Known:
    """Trials on all training rows by pipeline, each with the values of the variables that the pipeline owns.

    The values are stored as bytes, because a run can have thousands of trials.
    """

    def __init__(self) -> None:
        self._told: dict[Pipeline, list[tuple[bytes, Trial]]] = {}

    def note(self, pipeline: Pipeline, tried: Iterable[tuple[Theta, Trial]]) -> None:
        """Add trials of a pipeline, each with its theta."""
        packed = ((np.concatenate(theta).tobytes(), trial) for theta, trial in tried)
        self._told.setdefault(pipeline, []).extend(packed)

    def of(self, pipeline: Pipeline, cube: Cube) -> Iterator[tuple[Theta, Trial]]:
        """Yield the trials of a pipeline in the order in which they were added, each with its theta.

        `cube` must be the cube of the variables that the pipeline owns.
        """
        for packed, trial in self._told.get(pipeline, ()):
            numbers, integers = np.split(np.frombuffer(packed), [len(cube.numbers)])
            yield (numbers, integers), trial
