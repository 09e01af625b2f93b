"""The descents that BLDS, MLDS and LDS share: from a pipeline to better ones around it (ALGORITHMS.md 3.2 to 3.4)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spacelang.ir.asking import Search
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._arms import Arms, Bounds, ImaginedArms
from spacelang.optimizers._foresight import Foresight
from spacelang.optimizers._leaves import unfinished
from spacelang.optimizers._settings import check
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

IDLE_STARTS: Final = 10
"""After so many starts in a row that ask for nothing, the next one is a pipeline that is not fully trained."""
RECENT: Final = 512
"""So many starts are kept that were drawn last."""
FARTHEST: Final = 256
"""So many descents are looked into at most."""


Until: TypeAlias = Literal["paper", "local_optimum"]
"""When a descent ends: once its pipeline is fully trained, or only if nothing around it looks better, too (A8)."""


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
class Place:
    """Where a descent is: at a pipeline that is about to be trained once more, or in the midst of a search around it.

    Of a search, `reference` are the bounds with which it compares, `theta` is its discrepancy and `passed` counts the
    neighbours that it has passed by.
    """

    pipeline: Pipeline
    reference: Bounds | None = None
    theta: int = 1
    passed: int = 0


class Descents:
    """Descents from one initial pipeline after the other, until every leaf is fully trained."""

    def __init__(self, tree: DiscrepancyTree, rules: Rules, starts: "Starts") -> None:
        self.tree = tree
        self.rules = rules
        self.starts = starts
        self.number = 0
        """That of the present descent."""
        self.place: Place | None = None
        """Where it is; None where it has not begun."""

    def search(self, arms: Arms) -> Search:
        """Have every pipeline trained that is taken; idle workers go ahead with the descents to come."""
        foresight, scouts = Foresight(), Scouts(self, arms)
        yield from foresight.look_around()
        for pipeline in self.trainings(arms):
            trial = yield from foresight.trial(arms.request(pipeline), scouts)
            arms.note(pipeline, trial)

    def trainings(self, arms: Arms, only_one: bool = False) -> Iterator[Pipeline]:
        """The pipelines that are trained, one after the other; what came of one is noted before the next is taken.

        With `only_one` they are those of the present descent.
        """
        idle, before = 0, arms.trainings
        while self.place is not None or self.number < self.starts.given or arms.finished < self.tree.leaves:
            if self.place is None:
                start = self.starts.start(self.number, arms, is_idle=idle >= IDLE_STARTS)
                if start is None:
                    return
                self.place = Place(start)
            yield from self._descend(arms)
            self.place = None
            self.number += 1
            if only_one:
                return
            idle = idle + 1 if arms.trainings == before else 0
            before = arms.trainings

    def at(self, number: int, place: Place | None = None) -> "Descents":
        """The same descents from that of this number on, for who looks ahead: none that ask for nothing."""
        other = Descents(self.tree, self.rules, self.starts.without_end())
        other.number, other.place = number, place
        return other

    def _descend(self, arms: Arms) -> Iterator[Pipeline]:
        """One descent: a pipeline is trained on more rows and gives way to the first around it that looks better."""
        while True:
            assert self.place is not None
            pipeline = self.place.pipeline
            if self.place.reference is None:
                yield from arms.increase_and_train(pipeline)
                # The bounds are frozen here: a search compares with what was known when it began (A7).
                self.place = replace(self.place, reference=arms.bounds(pipeline))
            yield from self._improve(arms, self.place)
            better = self.place.pipeline
            if arms.is_fully_trained(better) and (better == pipeline or self.rules.until == "paper"):
                return
            self.place = Place(better)

    def _improve(self, arms: Arms, place: Place) -> Iterator[Pipeline]:
        """SEARCH: the descent goes to the first pipeline that looks better, if any does, discrepancy by discrepancy."""
        assert place.reference is not None
        times = arms.trained(place.pipeline) if self.rules.match_fidelity else 1
        for theta in range(place.theta, min(self.rules.disc, len(self.tree.layers)) + 1):
            passed = place.passed if theta == place.theta else 0
            for neighbour in islice(self.tree.walk(place.pipeline, theta), passed, None):
                self.place = Place(place.pipeline, place.reference, theta, passed)
                passed += 1
                if neighbour == place.pipeline and not self.rules.examine_init:
                    continue
                yield from arms.current_performance(neighbour, times)
                bounds = arms.bounds(neighbour)
                if not bounds.is_surely_better(place.reference):
                    if bounds.may_be_better(place.reference):
                        yield from arms.increase_and_train(neighbour)
                    if not arms.bounds(neighbour).is_better(place.reference):
                        continue
                self.place = Place(neighbour)
                return


class Scouts:
    """Go ahead of the descents, each through one of those to come, as far as trials are known.

    A descent to come goes the same way whatever comes of the present one, unless both train the same: so what a scout
    waits for will be wanted. Where the present descent wants what nobody has foreseen, all begin anew.
    """

    def __init__(self, descents: Descents, arms: Arms) -> None:
        self._descents = descents
        self._arms = arms
        self._early: dict[Request, Trial] = {}
        """What has ended and was not wanted yet."""
        self._lately: dict[Request, Trial] = {}
        """What was wanted and has ended since the scouts began."""
        self._imagined = arms.imagined()
        """What all scouts have found, each after those before."""
        self._scouts: dict[int, _Scout] = {}

    def coming(self) -> Iterator[Request]:
        """What the scouts wait for, each another trial, those of earlier descents first."""
        number = self._descents.number
        for passed in [each for each in self._scouts if each < number]:
            del self._scouts[passed]
        wanted = (self._scout(each).wanted for each in range(number, number + FARTHEST))
        return iter(dict.fromkeys(islice((each for each in wanted if each is not None), FARTHEST)))

    def hear(self, trial: Trial, *, is_early: bool) -> None:
        """Send those on who have waited for a trial."""
        (self._early if is_early else self._lately)[trial.request] = trial
        if not is_early and self._early.pop(trial.request, None) is None:
            self._lately.clear()
            self._imagined = self._arms.imagined()
            self._scouts.clear()
            return
        for scout in self._scouts.values():
            scout.go_on(self._known)

    def _scout(self, number: int) -> "_Scout":
        if number not in self._scouts:
            place = self._descents.place if number == self._descents.number else None
            self._scouts[number] = scout = _Scout(self._descents.at(number, place), self._imagined)
            scout.go_on(self._known)
        return self._scouts[number]

    def _known(self, request: Request) -> Trial | None:
        return self._early.get(request) or self._lately.get(request)


class _Scout:
    """Goes through one descent, as far as trials are known."""

    def __init__(self, descents: Descents, arms: ImaginedArms) -> None:
        self._arms = arms
        self._trainings = descents.trainings(arms, only_one=True)
        self._pipeline: Pipeline | None = next(self._trainings, None)

    @property
    def wanted(self) -> Request | None:
        """What it waits for; None where the descent is over."""
        return None if self._pipeline is None else self._arms.request(self._pipeline)

    def go_on(self, known: Callable[[Request], Trial | None]) -> None:
        """Go on as far as is known."""
        while self._pipeline is not None:
            if not self._arms.is_fully_trained(self._pipeline):
                trial = known(self._arms.request(self._pipeline))
                if trial is None:
                    return
                self._arms.note(self._pipeline, trial)
            self._pipeline = next(self._trainings, None)


class Starts:
    """FindInitialPipeline: the injected pipelines, then uniform draws, each by a generator of its own number."""

    def __init__(self, tree: DiscrepancyTree, rng: "Generator", initial: tuple[Pipeline, ...] = ()) -> None:
        for pipeline in initial:
            check(tree.is_leaf(pipeline), f"`initial` has {pipeline}", "it must be a leaf of the discrepancy tree")
        self._initial = initial
        self._draw = lru_cache(maxsize=RECENT)(partial(_numbered_draw, tree, int(rng.integers(1 << 63))))
        self._tree: DiscrepancyTree | None = tree
        self._rest: Iterator[Pipeline] | None = None

    @property
    def given(self) -> int:
        """How many were injected."""
        return len(self._initial)

    def start(self, number: int, arms: Arms, *, is_idle: bool) -> Pipeline | None:
        """The start of that number; None where there is none that asks for anything."""
        if number < len(self._initial):
            return self._initial[number]
        if not is_idle:
            return self._draw(number)
        # In a nearly exhausted space draws hit fully trained pipelines with decided neighbours for ever, and the
        # search would run without asking for anything: then it starts from the first one that can be trained.
        if self._rest is None and self._tree is not None:
            self._rest = unfinished(self._tree, arms.is_fully_trained)
        return None if self._rest is None else next(self._rest)

    def without_end(self) -> "Starts":
        """The same starts for who looks ahead: no longer where they ask for nothing."""
        other = object.__new__(Starts)
        other._initial, other._draw, other._tree, other._rest = self._initial, self._draw, None, None
        return other


def _numbered_draw(tree: DiscrepancyTree, seed: int, number: int) -> Pipeline:
    from numpy.random import default_rng

    return tree.random_leaf(default_rng([seed, number]))
