"""The arms and descents shared by BLDS, MLDS and LDS: local search from a pipeline to better neighbours.

See spacelang/optimizers/README.md, sections "LDS", "BLDS" and "MLDS".
"""

from collections import ChainMap, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, TypeAlias, TypeVar

from numpy.random import default_rng

from spacelang.ir.search_protocol import SearchCoroutine
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._draws import repeat_first_unfinished_leaf
from spacelang.optimizers._scheduling import SpeculativeExecution
from spacelang.optimizers._selection import SelectorCall
from spacelang.targets.blds import DiscrepancyTree, Pipeline

T = TypeVar("T")
MAX_IDLE_DESCENTS: Final = 10
"""After this many descents in a row without a request, the next one starts at a pipeline not fully trained."""
START_CACHE_SIZE: Final = 512  # The number of recently drawn initial pipelines that are cached
MAX_LOOKAHEAD: Final = 256
EndRule: TypeAlias = Literal["paper", "local_optimum"]
"""When a descent ends: once its pipeline is fully trained, or only if no neighbour looks better either."""


@dataclass(frozen=True, slots=True)
class LossBounds:
    """An interval for the value of a pipeline; lower is better, so `upper` is the pessimistic end.

    `failed` is true if the latest training of the pipeline failed. A failed pipeline compares worse than every
    successful one, whatever its bounds are.
    """

    lower: float
    upper: float
    failed: bool = False

    def is_surely_better(self, other: "LossBounds") -> bool:
        """Return True if the whole interval lies below the `other` one, or if only the other pipeline has failed."""
        return self.upper < other.lower if self.failed == other.failed else other.failed

    def is_better(self, other: "LossBounds") -> bool:
        """Return True if the upper bound is below that of `other`, or if only the other pipeline has failed."""
        return self.upper < other.upper if self.failed == other.failed else other.failed

    def may_be_better(self, other: "LossBounds") -> bool:
        """Return True if the lower bound is at most the upper bound of `other`: more training might prove it better.

        A failed pipeline is not trained again to be compared with a success.
        """
        return self.failed <= other.failed and self.lower <= other.upper


TrialValue: TypeAlias = Callable[[Trial], float]
"""A function that returns the value of a trial, the middle of its bounds; lower is better."""


class ArmStatistics:
    """The training counts and bounds of all pipelines, kept over restarts of the descent.

    Trials of earlier selector calls are reused if the pipeline still has the same configuration. The k-th training of a
    pipeline uses `sizes[k - 1]` rows. Its bounds are `widths[k - 1]` above and below `worth(trial)`.
    """

    def __init__(
        self, turn: SelectorCall[Pipeline], sizes: Sequence[int], widths: Sequence[float], worth: TrialValue
    ) -> None:
        self._turn, self._sizes, self._widths, self._worth = turn, sizes, widths, worth
        self._arms: MutableMapping[Pipeline, tuple[int, LossBounds]] = {}
        """The number of trainings of each pipeline, and its bounds after the last one."""
        self._lookup: Callable[..., Iterable[Trial]] = turn.record_known_trials
        self.training_count = 0
        self.finished = 0
        """How many of the pipelines seen so far are fully trained."""

    def times_trained(self, pipeline: Pipeline) -> int:
        """Return how many times the pipeline was trained; earlier trials are looked up in the memory."""
        arm = self._arms.get(pipeline)
        return self._recall_known_trials(pipeline) if arm is None else arm[0]

    def is_fully_trained(self, pipeline: Pipeline) -> bool:
        """Return True if the pipeline was trained on all rows."""
        return self.times_trained(pipeline) == len(self._sizes)

    def bounds(self, pipeline: Pipeline) -> LossBounds:
        """Return the bounds of a pipeline that was trained; raises KeyError otherwise."""
        return self._arms[pipeline][1]

    def yield_unless_fully_trained(self, pipeline: Pipeline) -> Iterator[Pipeline]:
        """Yield the pipeline unless fully trained (IncreaseAndTrain of the paper); the caller trains and records it."""
        if not self.is_fully_trained(pipeline):
            yield pipeline

    def request(self, pipeline: Pipeline) -> Request:
        """Return the request for the next training of a pipeline."""
        return self._turn.request(pipeline, self._sizes[self.times_trained(pipeline)])

    def record(self, pipeline: Pipeline, trial: Trial) -> None:
        """Record the trial of a pipeline's next training."""
        self._update_bounds(pipeline, self.times_trained(pipeline), trial)
        self.training_count += 1

    def speculative_copy(self) -> "ArmStatistics":
        """Return a copy for speculation: trials recorded in the copy do not reach the original."""
        later = ArmStatistics(self._turn, self._sizes, self._widths, self._worth)
        later._arms = ChainMap({}, self._arms)
        later._lookup = self._turn.known_trials
        later.training_count, later.finished = self.training_count, self.finished
        return later

    def _recall_known_trials(self, pipeline: Pipeline) -> int:
        """Load the trials of earlier selector calls at the present configuration, and return their number.

        They are loaded from the first rung up to the first rung whose trial is unknown.
        """
        times = 0
        for times, trial in enumerate(self._lookup(pipeline, *self._sizes), start=1):
            self._update_bounds(pipeline, times - 1, trial)
        return times

    def _update_bounds(self, pipeline: Pipeline, rung: int, trial: Trial) -> None:
        worth, width = self._worth(trial), self._widths[rung]
        self._arms[pipeline] = rung + 1, LossBounds(worth - width, worth + width, trial.loss is None)
        self.finished += rung + 1 == len(self._sizes)


@dataclass(frozen=True, slots=True)
class DescentRules:
    """The rules of a descent; the fields correspond to options of `blds` and `mlds`."""

    disc: int
    examine_init: bool = False
    end_rule: EndRule = "paper"
    match_fidelity: bool = False


def make_descent_end_rule(sizes: Sequence[int], rule: EndRule = "paper") -> EndRule:
    """Return `rule`, or `local_optimum` with a single rung, where every trained pipeline is fully trained."""
    return rule if len(sizes) > 1 else "local_optimum"


@dataclass(frozen=True, slots=True)
class DescentState:
    """The position of a descent: a pipeline to be trained once more, or a point within the search around it.

    `reference` is None before the training. In a search it holds the bounds that neighbours are compared with. `theta`
    is the present discrepancy, and `passed` is the number of neighbours at that discrepancy that were already rejected.
    """

    pipeline: Pipeline
    reference: LossBounds | None = None
    theta: int = 1
    passed: int = 0


class Descent:
    """A descent: trains a pipeline on more and more rows and replaces it by the first neighbour that looks better."""

    def __init__(self, tree: DiscrepancyTree, rules: DescentRules, place: DescentState) -> None:
        self._tree, self._rules = tree, rules
        self.state = place

    def copy(self) -> "Descent":
        """Return a copy of the descent that continues from its present state."""
        return Descent(self._tree, self._rules, self.state)

    def pipelines_to_train(self, arms: ArmStatistics) -> Iterator[Pipeline]:
        """Yield the pipelines to be trained; the caller records each trial in `arms` before it takes the next one."""
        while True:
            pipeline, reference = self.state.pipeline, self.state.reference
            if reference is None:
                yield from arms.yield_unless_fully_trained(pipeline)
                # The bounds are frozen here: a search compares with the bounds at its start.
                reference = arms.bounds(pipeline)
                self.state = DescentState(pipeline, reference)
            better = yield from self._improve(arms, self.state, reference)
            found = pipeline if better is None else better
            if arms.is_fully_trained(found) and (better is None or self._rules.end_rule == "paper"):
                return
            self.state = DescentState(found)

    def _improve(self, arms: ArmStatistics, place: DescentState, reference: LossBounds) -> "_Training[Pipeline | None]":
        """Return the first neighbour that looks better, by increasing discrepancy, or None (SEARCH of the paper)."""
        times = arms.times_trained(place.pipeline) if self._rules.match_fidelity else 1
        for theta in range(place.theta, min(self._rules.disc, len(self._tree.layers)) + 1):
            passed = place.passed if theta == place.theta else 0
            neighbours = islice(self._tree.walk(place.pipeline, theta), passed, None)
            for number, neighbour in enumerate(neighbours, start=passed):
                if neighbour == place.pipeline and not self._rules.examine_init:
                    continue
                self.state = DescentState(place.pipeline, reference, theta, number)
                if (yield from _is_better(neighbour, reference, arms, times)):
                    return neighbour
        return None


_Training: TypeAlias = Generator[Pipeline, None, T]
"""A part of a descent: a generator that yields pipelines to be trained and returns a result."""


def _is_better(pipeline: Pipeline, reference: LossBounds, arms: ArmStatistics, times: int) -> _Training[bool]:
    """Return True if SEARCH accepts a leaf, trained `times` times and once more if its bounds overlap `reference`."""
    while arms.times_trained(pipeline) < times:  # GetCurrentPerformance of the paper
        yield pipeline
    bounds = arms.bounds(pipeline)
    if bounds.is_surely_better(reference):
        return True
    if bounds.may_be_better(reference):
        yield from arms.yield_unless_fully_trained(pipeline)
    return arms.bounds(pipeline).is_better(reference)


class DescentSequence:
    """A sequence of descents, until every leaf is fully trained or the selector call has reached its limits."""

    def __init__(self, turn: SelectorCall[Pipeline], rules: DescentRules, starts: "InitialPipelines") -> None:
        self._turn = turn
        self._tree = turn.selection.tree
        self._rules, self._starts = rules, starts
        self._current: Descent | None = None
        self.number = 0

    def run(self, arms: ArmStatistics) -> SearchCoroutine[None]:
        """Request the trial of every pipeline to be trained; idle workers run speculative trials for later ones."""
        speculation = SpeculativeExecution(max(self._turn.selection.idle_workers - 1, 0))
        scouts = SpeculativeDescents(self, arms)
        for pipeline in self._pipelines_to_train(arms):
            trial = yield from speculation.run_trial(arms.request(pipeline), scouts)
            scouts.on_committed_trial(pipeline, trial)
            arms.record(pipeline, trial)
            self._turn.record(pipeline, trial)
            if not self._turn.can_continue():
                return

    @property
    def upcoming_descent_numbers(self) -> range:
        """The numbers of the present descent and of the later ones that can be predicted."""
        end = self.number + MAX_LOOKAHEAD
        return range(self.number, end if self._turn.iterations is None else min(end, self._turn.iterations))

    def speculative_descent(self, number: int) -> Descent:
        """Return a copy of the present descent, or a new descent of a later number, for speculation."""
        if number == self.number and self._current is not None:
            return self._current.copy()
        return self._new_descent(self._starts.pipeline(number))

    def _pipelines_to_train(self, arms: ArmStatistics) -> Iterator[Pipeline]:
        rest = repeat_first_unfinished_leaf(self._tree, arms.is_fully_trained)
        idle = 0
        while self._turn.can_continue(self.number) and (
            self.number < self._starts.given_count or arms.finished < self._tree.leaf_count
        ):
            # In a nearly exhausted space draws keep hitting fully trained pipelines with decided neighbours, and the
            # search would loop without any request. Then it starts from the first pipeline that can be trained.
            start = self._starts.pipeline(self.number) if idle < MAX_IDLE_DESCENTS else next(rest, None)
            if start is None:
                return
            self._current = self._new_descent(start)
            before = arms.training_count
            yield from self._current.pipelines_to_train(arms)
            self.number += 1
            is_drawn = self.number > self._starts.given_count
            idle = idle + 1 if is_drawn and arms.training_count == before else 0

    def _new_descent(self, start: Pipeline) -> Descent:
        return Descent(self._tree, self._rules, DescentState(start))


class SpeculativeDescents:
    """Speculative copies of the present and the later descents, advanced as far as trials are known.

    A later descent takes the same path whatever the present one finds, unless both train the same pipelines. So a trial
    that a speculative descent waits for will almost certainly be requested. If the present descent deviates from its
    prediction, all speculative descents are discarded.
    """

    def __init__(self, descents: DescentSequence, arms: ArmStatistics) -> None:
        self._descents, self._arms = descents, arms
        self._finished_trials: dict[Request, Trial] = {}
        self._speculative_arms = arms.speculative_copy()
        """The arms as all speculative descents leave them, in their order."""
        self._by_number: dict[int, _SpeculativeDescent] = {}

    def upcoming_requests(self) -> Iterator[Request]:
        """Yield the requests that speculative descents wait for, without repetitions, earlier descents first."""
        to_come = self._descents.upcoming_descent_numbers
        for passed in [each for each in self._by_number if each < to_come.start]:
            del self._by_number[passed]
        return unique_requests(each for each in map(self._awaited_request, to_come) if each is not None)

    def on_speculative_trial(self, early: Trial) -> None:
        """Advance the speculative descents after a speculative trial finished."""
        self._finished_trials[early.request] = early
        self._advance_all()

    def on_committed_trial(self, pipeline: Pipeline, trial: Trial) -> None:
        """Advance if a committed trial, not yet in `arms`, was predicted; else discard all speculative descents."""
        self._finished_trials.pop(trial.request, None)
        if not self._by_number:
            return
        scout = self._by_number.get(self._descents.number)
        if scout is None or not scout.confirm(trial.request):
            self._speculative_arms = self._arms.speculative_copy()
            self._by_number.clear()
            return
        if self._speculative_arms.times_trained(pipeline) == self._arms.times_trained(pipeline):
            self._speculative_arms.record(pipeline, trial)
        self._advance_all()

    def _awaited_request(self, number: int) -> Request | None:
        if number not in self._by_number:
            descent = self._descents.speculative_descent(number)
            self._by_number[number] = scout = _SpeculativeDescent(descent, self._speculative_arms)
            scout.advance(self._finished_trials)
        return self._by_number[number].awaited

    def _advance_all(self) -> None:
        for scout in self._by_number.values():
            scout.advance(self._finished_trials)


class _SpeculativeDescent:
    """A speculative copy of one descent; `awaited` is the request that it waits for, None once the descent is over."""

    def __init__(self, descent: Descent, arms: ArmStatistics) -> None:
        self._arms = arms
        self._pipelines_to_train = descent.pipelines_to_train(arms)
        self._unconfirmed: deque[Request] = deque()
        """The requests that it used and that the real descent has not made yet."""
        self._next_training()

    def advance(self, known: Mapping[Request, Trial]) -> None:
        while self._pipeline is not None and self.awaited is not None:
            # Another speculative descent, or the present one, may have trained the pipeline in the meantime.
            if self._arms.times_trained(self._pipeline) == self._trained:
                trial = known.get(self.awaited)
                if trial is None:
                    return
                self._arms.record(self._pipeline, trial)
                self._unconfirmed.append(self.awaited)
            self._next_training()

    def confirm(self, request: Request) -> bool:
        """Return True if the real descent makes the predicted request, which is then dropped."""
        return self._unconfirmed.popleft() == request if self._unconfirmed else self.awaited == request

    def _next_training(self) -> None:
        self._pipeline = next(self._pipelines_to_train, None)
        self._trained = 0 if self._pipeline is None else self._arms.times_trained(self._pipeline)
        self.awaited = None if self._pipeline is None else self._arms.request(self._pipeline)


class InitialPipelines:
    """The initial pipelines of descents (FindInitialPipeline of the paper).

    First come `turn.start` and those of the problem, then uniform draws, each seeded by the number of its descent.
    """

    def __init__(self, turn: SelectorCall[Pipeline]) -> None:
        self._tree = turn.selection.tree
        initial = turn.selection.initial
        self._initial = initial if turn.start is None else (turn.start, *initial)
        self._seed = int(turn.selection.rng.integers(1 << 63))
        self._drawn = lru_cache(maxsize=START_CACHE_SIZE)(self._draw)

    @property
    def given_count(self) -> int:
        """The number of initial pipelines that are not drawn at random."""
        return len(self._initial)

    def pipeline(self, number: int) -> Pipeline:
        """Return the initial pipeline of the descent with this number."""
        return self._initial[number] if number < self.given_count else self._drawn(number)

    def _draw(self, number: int) -> Pipeline:
        return self._tree.random_leaf(default_rng([self._seed, number]))


def unique_requests(requests: Iterable[Request]) -> Iterator[Request]:
    """Yield each request once, lazily, in order of first occurrence."""
    seen: set[Request] = set()
    for request in requests:
        if request not in seen:
            seen.add(request)
            yield request
