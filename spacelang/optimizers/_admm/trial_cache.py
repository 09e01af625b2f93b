"""A cache of trials between the parts of ADMM and the caller that evaluates requests.

A request whose trial is known is answered at once from the cache; all other requests are passed on.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np

from spacelang.ir.search_protocol import Ask, LazyRequest, SearchCoroutine, SearchEvent
from spacelang.ir.trial import Request, Status, Trial
from spacelang.optimizers._admm.points import Theta, ThetaCube
from spacelang.targets.blds import Pipeline

T = TypeVar("T")
NO_MEMBER_KEY: Final = ""
"""A key that no member has. A configuration with this key stands for alternatives that no member has."""


class TrialCache:
    """A cache of trials on all training rows, which also tracks the number of idle workers."""

    def __init__(self) -> None:
        self.trials: dict[Request, Trial] = {}
        """The known trials by request, without their predictions, which are large and not needed here."""
        self.new_trial_count = 0
        """The number of trials so far that provided new information."""
        self.idle_workers = 1

    def run(self, part: SearchCoroutine[T], note: Callable[[Trial], None] = lambda _: None) -> SearchCoroutine[T]:
        """Run a part of the search, and answer its requests from the cache where possible.

        A request that stands for no member of the space is answered with a failed trial. `note` is called with every
        trial on all rows that was not in the cache. Returns the result of the part.
        """
        owed: deque[tuple[Request, Trial]] = deque()
        requests: tuple[Request | LazyRequest, ...] = ()
        try:
            ask = next(part)
            while True:
                requests += tuple(each for each in ask.requests if not self._answer_from_cache(each, owed))
                if owed:
                    wanted, known = owed.popleft()
                    event = SearchEvent(known, max(self.idle_workers - len(requests), 0), request=wanted)
                else:
                    event = yield Ask(requests, tuple(filter(_is_member, ask.speculative)))
                    requests, self.idle_workers = (), event.idle_workers
                if event.finished is not None:
                    self._store(event.finished, note)
                ask = part.send(event)
        except StopIteration as end:
            found: T = end.value
            return found

    def _store(self, trial: Trial, note: Callable[[Trial], None]) -> None:
        if trial.request.fidelity is not None:
            self.new_trial_count += trial.cost > 0  # a trial from memory has no cost
        elif _is_member(trial.request) and trial.request not in self.trials:
            self.new_trial_count += 1
            self.trials[trial.request] = kept = trial if trial.predictions is None else replace(trial, predictions=None)
            note(kept)

    def _answer_from_cache(self, wanted: Request | LazyRequest, owed: deque[tuple[Request, Trial]]) -> bool:
        """Return True if the trial of a request is known; it is then appended to `owed`."""
        if isinstance(wanted, LazyRequest):
            return False
        reason = "no configuration has these alternatives together with the current hyperparameters"
        failure = Trial(wanted, None, status=Status.INVALID, reason=reason)
        known = self.trials.get(wanted) if _is_member(wanted) else failure
        if known is not None:
            owed.append((wanted, replace(known, request=wanted, cost=0.0)))
        return known is not None


def _is_member(request: Request) -> bool:
    return NO_MEMBER_KEY not in request.configuration


class PipelineTrials:
    """Trials by pipeline on all rows, each with the theta that the pipeline owns, as bytes: there may be thousands."""

    def __init__(self) -> None:
        self._packed_trials: dict[Pipeline, list[tuple[bytes, Trial]]] = {}

    def record(self, pipeline: Pipeline, tried: Iterable[tuple[Theta, Trial]]) -> None:
        """Add trials of a pipeline, each with its theta."""
        packed = ((np.concatenate(theta).tobytes(), trial) for theta, trial in tried)
        self._packed_trials.setdefault(pipeline, []).extend(packed)

    def trials_of(self, pipeline: Pipeline, cube: ThetaCube) -> Iterator[tuple[Theta, Trial]]:
        """Yield the trials of a pipeline in order of addition, each with its theta; `cube` is that of the pipeline."""
        for packed, trial in self._packed_trials.get(pipeline, ()):
            numbers, integers = np.split(np.frombuffer(packed), [len(cube.numbers)])
            yield (numbers, integers), trial
