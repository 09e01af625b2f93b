"""The descents that BLDS, MLDS and LDS share: from a pipeline to better ones around it.

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
"""After so many starts in a row that ask for nothing, the next one is a pipeline that is not fully trained."""
RECENT: Final = 512
"""So many starts are kept that were drawn last."""
FARTHEST: Final = 256
"""So many descents are looked into at most."""


Until: TypeAlias = Literal["paper", "local_optimum"]
"""When a descent ends: once its pipeline is fully trained, or only if nothing around it looks better, too."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a descent goes: see the options of these names of `blds` and `mlds`."""

    disc: int
    examine_init: bool = False
    until: Until = "paper"
    match_fidelity: bool = False


def until(sizes: Sequence[int], rule: Until = "paper") -> Until:
    """The rule on these rungs: on a single one every pipeline is fully trained, and only an optimum ends a descent."""
    return rule if len(sizes) > 1 else "local_optimum"


@dataclass(frozen=True, slots=True)
class DescentState:
    """Where a descent is: at a pipeline that is about to be trained once more, or in the midst of a search around it.

    Of a search, `reference` are the bounds with which it compares, `theta` is its discrepancy and `passed` counts the
    neighbours that it has passed by.
    """

    pipeline: Pipeline
    reference: Bounds | None = None
    theta: int = 1
    passed: int = 0


class Descent:
    """One descent: a pipeline is trained on more rows and gives way to the first around it that looks better."""

    def __init__(self, tree: DiscrepancyTree, rules: Rules, place: DescentState) -> None:
        self._tree = tree
        self._rules = rules
        self.place = place

    def again(self) -> "Descent":
        """The same descent, to go on from where it is."""
        return Descent(self._tree, self._rules, self.place)

    def trainings(self, arms: Arms) -> Iterator[Pipeline]:
        """The pipelines that are trained, one after the other; what came of one is noted before the next is taken."""
        while True:
            pipeline, reference = self.place.pipeline, self.place.reference
            if reference is None:
                yield from arms.increase_and_train(pipeline)
                # The bounds are frozen here: a search compares with what was known when it began.
                reference = arms.bounds(pipeline)
                self.place = DescentState(pipeline, reference)
            better = yield from self._improve(arms, self.place, reference)
            found = pipeline if better is None else better
            if arms.is_fully_trained(found) and (better is None or self._rules.until == "paper"):
                return
            self.place = DescentState(found)

    def _improve(self, arms: Arms, place: DescentState, reference: Bounds) -> "_Training[Pipeline | None]":
        """SEARCH: the first pipeline that looks better, discrepancy by discrepancy; None where none does."""
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
"""A part of a descent that may have pipelines trained before it has its result."""


def _is_better(pipeline: Pipeline, reference: Bounds, arms: Arms, times: int) -> _Training[bool]:
    """The leaf of SEARCH: whether a pipeline is accepted, after one more training if its bounds overlap."""
    yield from arms.current_performance(pipeline, times)
    bounds = arms.bounds(pipeline)
    if bounds.is_surely_better(reference):
        return True
    if bounds.may_be_better(reference):
        yield from arms.increase_and_train(pipeline)
    return arms.bounds(pipeline).is_better(reference)


class Descents:
    """Descents from one initial pipeline after the other, until every leaf is fully trained or the turn ends."""

    def __init__(self, turn: Turn[Pipeline], rules: Rules, starts: "Starts") -> None:
        self._turn = turn
        self._tree = turn.selection.tree
        self._rules = rules
        self._starts = starts
        self._present: Descent | None = None
        self.number = 0
        """That of the present descent."""

    def run(self, arms: Arms) -> Asking[None]:
        """Have every pipeline trained that is taken; idle workers go ahead with the descents to come."""
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
        """The numbers of the present descent and of those to come that can be foreseen."""
        end = self.number + FARTHEST
        return range(self.number, end if self._turn.iterations is None else min(end, self._turn.iterations))

    def at(self, number: int) -> Descent:
        """The present descent from where it is, or one to come, for who looks ahead."""
        if number == self.number and self._present is not None:
            return self._present.again()
        return self._from(self._starts.of(number))

    def _trainings(self, arms: Arms) -> Iterator[Pipeline]:
        rest = unfinished(self._tree, arms.is_fully_trained)
        idle = 0
        while self._turn.goes_on(self.number) and (
            self.number < self._starts.given or arms.finished < self._tree.leaves
        ):
            # In a nearly exhausted space draws hit fully trained pipelines with decided neighbours for ever, and the
            # search would run without asking for anything: then it starts from the first one that can be trained.
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
        return Descent(self._tree, self._rules, DescentState(start))


class Scouts:
    """Scouts go ahead of the descents, each through one of those to come, as far as trials are known.

    A descent to come goes the same way whatever comes of the present one, unless both train the same: so what a scout
    waits for will be wanted. Where the present descent goes another way than its scout, all begin anew.
    """

    def __init__(self, descents: Descents, arms: Arms) -> None:
        self._descents = descents
        self._arms = arms
        self._early: dict[Request, Trial] = {}
        """What has ended and was not wanted yet."""
        self._imagined = arms.imagined()
        """What all scouts have found, each after those before."""
        self._scouts: dict[int, _Scout] = {}

    def coming(self) -> Iterator[Request]:
        """What the scouts wait for, each another trial, those of earlier descents first."""
        to_come = self._descents.to_come
        for passed in [each for each in self._scouts if each < to_come.start]:
            del self._scouts[passed]
        return unique(each for each in map(self._wanted, to_come) if each is not None)

    def hear(self, early: Trial) -> None:
        """Send those on who have waited for a trial."""
        self._early[early.request] = early
        self._send_on()

    def follow(self, pipeline: Pipeline, trial: Trial) -> None:
        """The present descent had a pipeline trained, which the arms do not know yet."""
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
        if number not in self._scouts:
            self._scouts[number] = scout = _Scout(self._descents.at(number), self._imagined)
            scout.go_on(self._early)
        return self._scouts[number].wanted

    def _send_on(self) -> None:
        for scout in self._scouts.values():
            scout.go_on(self._early)


class _Scout:
    """A scout of one descent; `wanted` is what it waits for, None where the descent is over."""

    def __init__(self, descent: Descent, arms: Arms) -> None:
        self._arms = arms
        self._trainings = descent.trainings(arms)
        self._passed: deque[Request] = deque()
        """The trials that it has gone by, and that the descent itself did not want yet."""
        self._take()

    def go_on(self, known: Mapping[Request, Trial]) -> None:
        """Go on as far as is known."""
        while self._pipeline is not None and self.wanted is not None:
            # Another scout, or the present descent, may have had the pipeline trained in the meantime.
            if self._arms.trained(self._pipeline) == self._trained:
                trial = known.get(self.wanted)
                if trial is None:
                    return
                self._arms.note(self._pipeline, trial)
                self._passed.append(self.wanted)
            self._take()

    def goes_by(self, request: Request) -> bool:
        """Whether the descent wants what its scout has foreseen."""
        return self._passed.popleft() == request if self._passed else self.wanted == request

    def _take(self) -> None:
        self._pipeline = next(self._trainings, None)
        self._trained = 0 if self._pipeline is None else self._arms.trained(self._pipeline)
        self.wanted = None if self._pipeline is None else self._arms.request(self._pipeline)


class Starts:
    """FindInitialPipeline: where the turn starts, the pipelines to begin with, then uniform draws.

    Each is drawn by a generator of its own number.
    """

    def __init__(self, turn: Turn[Pipeline]) -> None:
        self._tree = turn.selection.tree
        initial = turn.selection.initial
        self._initial = initial if turn.start is None else (turn.start, *initial)
        self._seed = int(turn.selection.rng.integers(1 << 63))
        self._drawn = lru_cache(maxsize=RECENT)(self._draw)

    @property
    def given(self) -> int:
        """How many are no draws."""
        return len(self._initial)

    def of(self, number: int) -> Pipeline:
        """The start of the descent of that number."""
        return self._initial[number] if number < self.given else self._drawn(number)

    def _draw(self, number: int) -> Pipeline:
        from numpy.random import default_rng

        return self._tree.random_leaf(default_rng([self._seed, number]))


def unique(requests: Iterable[Request]) -> Iterator[Request]:
    """Each of the requests once, as soon as it comes."""
    seen: set[Request] = set()
    for request in requests:
        if request not in seen:
            seen.add(request)
            yield request
