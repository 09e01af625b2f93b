"""The descents shared by BLDS, MLDS and LDS: local search from a pipeline to better neighbours.

See spacelang/optimizers/README.md, sections "LDS", "BLDS" and "MLDS".
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, TypeAlias, TypeVar

from spacelang.ir.asking import Asking
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._arms import Arms, Bounds
from spacelang.optimizers._foresight import Foresight
from spacelang.optimizers._leaves import unfinished
from spacelang.optimizers._turn import Turn
from spacelang.targets.blds import DiscrepancyTree, Pipeline

T = TypeVar("T")

IDLE_STARTS: Final = 10
"""After this many descents in a row without a request, the next one starts at a pipeline not fully trained."""
RECENT: Final = 512
"""The number of recently drawn initial pipelines that are cached."""
FARTHEST: Final = 256
"""The maximum number of descents that are predicted."""


Until: TypeAlias = Literal["paper", "local_optimum"]
"""When a descent ends: once its pipeline is fully trained, or only if no neighbour looks better either."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a descent; the fields correspond to options of `blds` and `mlds`."""

    disc: int
    examine_init: bool = False
    until: Until = "paper"
    match_fidelity: bool = False


def until(sizes: Sequence[int], rule: Until = "paper") -> Until:
    """Return the rule that ends a descent on the given rungs.

    On a single rung every trained pipeline is fully trained, so the result is always "local_optimum".
    """
    return rule if len(sizes) > 1 else "local_optimum"


@dataclass(frozen=True, slots=True)
class DescentState:
    """The position of a descent: a pipeline to be trained once more, or a point within the search around it.

    `reference` is None before the training. In a search it holds the bounds that neighbours are compared with. `theta`
    is the present discrepancy, and `passed` is the number of neighbours at that discrepancy that were already rejected.
    """

    pipeline: Pipeline
    reference: Bounds | None = None
    theta: int = 1
    passed: int = 0


class Descent:
    """A descent: trains a pipeline on more and more rows and replaces it by the first neighbour that looks better."""

    def __init__(self, tree: DiscrepancyTree, rules: Rules, place: DescentState) -> None:
        self._tree = tree
        self._rules = rules
        self.place = place

    def again(self) -> "Descent":
        """Return a copy of the descent that continues from its present state."""
        return Descent(self._tree, self._rules, self.place)

    def trainings(self, arms: Arms) -> Iterator[Pipeline]:
        """Yield the pipelines to be trained, one after the other.

        The caller records each trial in `arms` before it takes the next pipeline.
        """
        while True:
            pipeline, reference = self.place.pipeline, self.place.reference
            if reference is None:
                yield from arms.increase_and_train(pipeline)
                # The bounds are frozen here: a search compares with the bounds at its start.
                reference = arms.bounds(pipeline)
                self.place = DescentState(pipeline, reference)
            better = yield from self._improve(arms, self.place, reference)
            found = pipeline if better is None else better
            if arms.is_fully_trained(found) and (better is None or self._rules.until == "paper"):
                return
            self.place = DescentState(found)

    def _improve(self, arms: Arms, place: DescentState, reference: Bounds) -> "_Training[Pipeline | None]":
        """Return the first neighbour that looks better, by increasing discrepancy; None if there is none.

        This is SEARCH of the paper. It yields the pipelines that have to be trained on the way.
        """
        times = arms.trained(place.pipeline) if self._rules.match_fidelity else 1
        for theta in range(place.theta, min(self._rules.disc, len(self._tree.layers)) + 1):
            passed = place.passed if theta == place.theta else 0
            neighbours = islice(self._tree.walk(place.pipeline, theta), passed, None)
            for number, neighbour in enumerate(neighbours, start=passed):
                if neighbour == place.pipeline and not self._rules.examine_init:
                    continue
                self.place = DescentState(place.pipeline, reference, theta, number)
                if (yield from _is_better(neighbour, reference, arms, times)):
                    return neighbour
        return None


_Training: TypeAlias = Generator[Pipeline, None, T]
"""A part of a descent: a generator that yields pipelines to be trained and returns a result."""


def _is_better(pipeline: Pipeline, reference: Bounds, arms: Arms, times: int) -> _Training[bool]:
    """Return True if SEARCH accepts the pipeline at a leaf.

    The pipeline is trained at least `times` times, and once more if its bounds overlap with `reference`. Yields the
    pipelines to be trained.
    """
    yield from arms.current_performance(pipeline, times)
    bounds = arms.bounds(pipeline)
    if bounds.is_surely_better(reference):
        return True
    if bounds.may_be_better(reference):
        yield from arms.increase_and_train(pipeline)
    return arms.bounds(pipeline).is_better(reference)


class Descents:
    """A sequence of descents, each from another initial pipeline.

    It ends when every leaf is fully trained or when the selector call has reached its limits.
    """

    def __init__(self, turn: Turn[Pipeline], rules: Rules, starts: "Starts") -> None:
        self._turn = turn
        self._tree = turn.selection.tree
        self._rules = rules
        self._starts = starts
        self._present: Descent | None = None
        self.number = 0
        """The number of the present descent, from 0."""

    def run(self, arms: Arms) -> Asking[None]:
        """Request the trial of every pipeline that the descents train.

        Idle workers run speculative trials for the present and the following descents.
        """
        foresight, scouts = Foresight(max(self._turn.selection.room - 1, 0)), Scouts(self, arms)
        for pipeline in self._trainings(arms):
            trial = yield from foresight.trial(arms.request(pipeline), scouts)
            scouts.follow(pipeline, trial)
            arms.note(pipeline, trial)
            self._turn.note(pipeline, trial)
            if not self._turn.goes_on():
                return

    @property
    def to_come(self) -> range:
        """The numbers of the present descent and of the later ones that can be predicted."""
        end = self.number + FARTHEST
        return range(self.number, end if self._turn.iterations is None else min(end, self._turn.iterations))

    def at(self, number: int) -> Descent:
        """Return a copy of the present descent, or a new descent of a later number, for speculation."""
        if number == self.number and self._present is not None:
            return self._present.again()
        return self._from(self._starts.of(number))

    def _trainings(self, arms: Arms) -> Iterator[Pipeline]:
        """Yield the pipelines to be trained by all descents, one descent after the other."""
        rest = unfinished(self._tree, arms.is_fully_trained)
        idle = 0
        while self._turn.goes_on(self.number) and (
            self.number < self._starts.given or arms.finished < self._tree.leaves
        ):
            # In a nearly exhausted space draws keep hitting fully trained pipelines with decided neighbours, and the
            # search would loop without any request. Then it starts from the first pipeline that can be trained.
            start = self._starts.of(self.number) if idle < IDLE_STARTS else next(rest, None)
            if start is None:
                return
            self._present = self._from(start)
            before = arms.trainings
            yield from self._present.trainings(arms)
            self.number += 1
            is_drawn = self.number > self._starts.given
            idle = idle + 1 if is_drawn and arms.trainings == before else 0

    def _from(self, start: Pipeline) -> Descent:
        """Return a new descent that starts at a pipeline."""
        return Descent(self._tree, self._rules, DescentState(start))


class Scouts:
    """Speculative copies of the present and the later descents, advanced as far as trials are known.

    A later descent takes the same path whatever the present one finds, unless both train the same pipelines. So a trial
    that a speculative descent waits for will almost certainly be requested. If the present descent deviates from its
    prediction, all speculative descents are discarded.
    """

    def __init__(self, descents: Descents, arms: Arms) -> None:
        self._descents = descents
        self._arms = arms
        self._early: dict[Request, Trial] = {}
        """Finished speculative trials that were not requested yet."""
        self._imagined = arms.imagined()
        """The arms as all speculative descents leave them, in their order."""
        self._scouts: dict[int, _Scout] = {}

    def coming(self) -> Iterator[Request]:
        """Yield the requests that speculative descents wait for, without repetitions, earlier descents first."""
        to_come = self._descents.to_come
        for passed in [each for each in self._scouts if each < to_come.start]:
            del self._scouts[passed]
        return unique(each for each in map(self._wanted, to_come) if each is not None)

    def hear(self, early: Trial) -> None:
        """Advance the speculative descents after a speculative trial finished."""
        self._early[early.request] = early
        self._send_on()

    def follow(self, pipeline: Pipeline, trial: Trial) -> None:
        """Compare a committed trial of the present descent with the prediction.

        `arms` has not recorded the trial yet. On a match the speculative descents advance; otherwise all of them are
        discarded.
        """
        self._early.pop(trial.request, None)
        if not self._scouts:
            return
        scout = self._scouts.get(self._descents.number)
        if scout is None or not scout.goes_by(trial.request):
            self._imagined = self._arms.imagined()
            self._scouts.clear()
            return
        if self._imagined.trained(pipeline) == self._arms.trained(pipeline):
            self._imagined.note(pipeline, trial)
        self._send_on()

    def _wanted(self, number: int) -> Request | None:
        """Return the request that a speculative descent waits for; create the descent if necessary."""
        if number not in self._scouts:
            self._scouts[number] = scout = _Scout(self._descents.at(number), self._imagined)
            scout.go_on(self._early)
        return self._scouts[number].wanted

    def _send_on(self) -> None:
        """Advance every speculative descent as far as trials are known."""
        for scout in self._scouts.values():
            scout.go_on(self._early)


class _Scout:
    """A speculative copy of one descent; `wanted` is the request that it waits for, None once the descent is over."""

    def __init__(self, descent: Descent, arms: Arms) -> None:
        self._arms = arms
        self._trainings = descent.trainings(arms)
        self._passed: deque[Request] = deque()
        """The requests that it used and that the real descent has not made yet."""
        self._take()

    def go_on(self, known: Mapping[Request, Trial]) -> None:
        """Advance the descent while the trials that it needs are known."""
        while self._pipeline is not None and self.wanted is not None:
            # Another speculative descent, or the present one, may have trained the pipeline in the meantime.
            if self._arms.trained(self._pipeline) == self._trained:
                trial = known.get(self.wanted)
                if trial is None:
                    return
                self._arms.note(self._pipeline, trial)
                self._passed.append(self.wanted)
            self._take()

    def goes_by(self, request: Request) -> bool:
        """Return True if the real descent makes the predicted request, and drop that request from the predictions."""
        return self._passed.popleft() == request if self._passed else self.wanted == request

    def _take(self) -> None:
        """Move to the next pipeline that the descent trains."""
        self._pipeline = next(self._trainings, None)
        self._trained = 0 if self._pipeline is None else self._arms.trained(self._pipeline)
        self.wanted = None if self._pipeline is None else self._arms.request(self._pipeline)


class Starts:
    """The initial pipelines of descents (FindInitialPipeline of the paper).

    First comes `turn.start`, then the initial pipelines of the problem, then uniform draws. Each draw uses a random
    generator that is seeded by the number of the descent.
    """

    def __init__(self, turn: Turn[Pipeline]) -> None:
        self._tree = turn.selection.tree
        initial = turn.selection.initial
        self._initial = initial if turn.start is None else (turn.start, *initial)
        self._seed = int(turn.selection.rng.integers(1 << 63))
        self._drawn = lru_cache(maxsize=RECENT)(self._draw)

    @property
    def given(self) -> int:
        """The number of initial pipelines that are not drawn at random."""
        return len(self._initial)

    def of(self, number: int) -> Pipeline:
        """Return the initial pipeline of the descent with this number."""
        return self._initial[number] if number < self.given else self._drawn(number)

    def _draw(self, number: int) -> Pipeline:
        from numpy.random import default_rng

        return self._tree.random_leaf(default_rng([self._seed, number]))


def unique(requests: Iterable[Request]) -> Iterator[Request]:
    """Yield each request once, lazily, in order of first occurrence."""
    seen: set[Request] = set()
    for request in requests:
        if request not in seen:
            seen.add(request)
            yield request
