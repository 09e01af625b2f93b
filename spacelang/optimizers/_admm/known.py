"""What is known of each pipeline: at which theta it was evaluated, and what came of it."""

from collections.abc import Iterable, Iterator

import numpy as np

from spacelang.ir.trial import Trial
from spacelang.optimizers._admm.points import Cube, Theta
from spacelang.targets.blds import Pipeline


class Known:
    """Trials on all rows, with what is moved of theta in each; as bytes, since a run keeps thousands."""

    def __init__(self) -> None:
        self._told: dict[Pipeline, list[tuple[bytes, Trial]]] = {}

    def note(self, pipeline: Pipeline, tried: Iterable[tuple[Theta, Trial]]) -> None:
        """What came of a pipeline."""
        packed = ((np.concatenate(theta).tobytes(), trial) for theta, trial in tried)
        self._told.setdefault(pipeline, []).extend(packed)

    def of(self, pipeline: Pipeline, cube: Cube) -> Iterator[tuple[Theta, Trial]]:
        """All that came of it, in order; `cube` is that of its theta."""
        for packed, trial in self._told.get(pipeline, ()):
            numbers, integers = np.split(np.frombuffer(packed), [len(cube.numbers)])
            yield (numbers, integers), trial
