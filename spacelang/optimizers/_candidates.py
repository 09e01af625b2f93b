"""Candidates (configurations or pipelines), and brackets of successive halving over them."""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain, islice
from typing import Any, Generic, Literal, Protocol, TypeAlias

from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.ir.trial import SortKey, Trial
from spacelang.optimizers import _selection
from spacelang.optimizers._draws import MAX_REPEATED_DRAWS, RandomLeaves, UniqueConfigurations
from spacelang.optimizers._fidelity import Bracket, BracketPass, BracketPlan, FixedBracketPlan, TimeBudgetBracketPlan
from spacelang.optimizers._selection import K, MemorySelector, SelectionProblem, Selector, SelectorCall, TrialMemory
from spacelang.targets.blds import DiscrepancyTree, Pipeline


class Candidates(Protocol[K]):
    """A source of candidates that brackets of successive halving are filled with."""

    @property
    def are_exhausted(self) -> bool:
        """True if no new candidate will be drawn."""

    def draw(self, number: int) -> list[K]:
        """Return `number` different candidates, or fewer if there are no more."""

    def is_total_count(self, number: int) -> bool:
        """Return True if `number` different candidates are all that exist."""

    def candidates_for_final_pass(self) -> Iterator[K]:
        """Yield every candidate that may not have been drawn yet."""


class RandomCandidates(Candidates[K], Protocol):
    """A source of candidates that can also list all of them in random order, whatever the results of earlier trials."""

    def each_once_in_random_order(self) -> Iterator[K]:
        """Yield each candidate once, in random order."""


class PipelineCandidates:
    """Pipelines as candidates: each bracket may contain any of them, and the initial pipelines are drawn first."""

    are_exhausted = False

    def __init__(self, selection: SelectionProblem) -> None:
        self._tree = selection.tree
        self._leaves = RandomLeaves(selection.tree, selection.rng, selection.initial)

    def draw(self, number: int) -> list[Pipeline]:
        """Return `number` different pipelines, drawn uniformly."""
        return self._leaves.draw(number)

    def is_total_count(self, number: int) -> bool:
        """Return True if there are exactly `number` pipelines."""
        return number == self._tree.leaf_count

    def each_once_in_random_order(self) -> Iterator[Pipeline]:
        """Yield all pipelines in random order; in a large tree the last ones follow in text order."""
        return self._leaves.each_once_in_random_order()

    def candidates_for_final_pass(self) -> Iterator[Pipeline]:
        """Yield every pipeline in text order."""
        return self._tree.iter_leaves()


class ConfigurationCandidates:
    """Configurations drawn as in random search: each is in one bracket, and several may share a pipeline."""

    def __init__(self, tree: DiscrepancyTree, rng: Generator) -> None:
        self._stream = UniqueConfigurations(tree, rng).each_once_in_random_order()
        self._drawn = 0
        self.are_exhausted = False

    def draw(self, number: int) -> list[Configuration]:
        """Return `number` configurations that were not drawn before, or fewer if there are no more."""
        found = list(islice(self._stream, number))
        self._drawn += len(found)
        self.are_exhausted = len(found) < number
        return found

    def is_total_count(self, number: int) -> bool:
        """Return True if `number` configurations were drawn and no other one is left."""
        return self.are_exhausted and number == self._drawn

    def each_once_in_random_order(self) -> Iterator[Configuration]:
        """Yield the configurations that were not drawn yet, in random order."""
        return self._stream

    def candidates_for_final_pass(self) -> Iterator[Configuration]:
        """Yield nothing: every drawn configuration is already in a bracket, and no other one is left over."""
        return iter(())


CandidateLoop: TypeAlias = Callable[[SelectorCall[Any], RandomCandidates[Any]], SearchCoroutine[None]]
"""The body of a search that works on any kind of candidates within one selector call."""


def pipeline_selector(method: CandidateLoop) -> Selector:
    """Return a selector that runs `method` with pipelines as candidates, as configured in each selector call."""
    return MemorySelector(lambda turn: method(turn, PipelineCandidates(turn.selection)))


def search_with_candidates(problem: Problem, rule: Literal["sample", "default"], method: CandidateLoop) -> Search:
    """Run `method` with configurations as candidates, or with pipelines if they differ in decisions only.

    Pipelines are the candidates with the rule `default`, and in a space without hyperparameters. They are drawn
    uniformly, and anew for each bracket. Configurations are drawn as in random search, each at most once. A trial that
    is known is not requested again. Successive halving promotes a candidate to the next rung as soon as its
    promotion is certain, and idle workers start the next bracket.

    After 100 known pipelines on all rows in a row, or if nothing new is drawn, the remaining candidates are trained on
    all rows, beginning with those that reached the highest rung.
    """
    if rule == "default" or not problem.space.hyperparameters:
        yield from _selection.search_with_selector(pipeline_selector(method), problem, "default")
        return
    selection = SelectionProblem.from_problem(problem, "default")
    if selection.tree.leaf_count:
        selection = yield from _selection.observe_idle_workers(selection)
        turn: SelectorCall[Configuration] = SelectorCall(selection, lambda own: own, TrialMemory())
        yield from method(turn, ConfigurationCandidates(selection.tree, problem.rng))


class BracketRun(Generic[K]):
    """A running bracket: its candidates in drawing order and their results rung by rung."""

    def __init__(self, candidates: Sequence[K], bracket: Bracket, eta: float) -> None:
        self.candidates = candidates
        self.sizes = bracket.sizes
        self._survivors = bracket.survivor_counts(eta)
        self._results: list[list[tuple[SortKey, int]]] = [[] for _ in bracket.sizes]
        """For each rung the sorted results: sort key and position among the candidates."""

    def record_and_promote(self, rung: int, place: int, order: SortKey) -> int | None:
        """Record the result `order` of a candidate on a rung, and return the candidate that is promoted now, or None.

        `place` and the returned number are positions in `candidates`. The best candidates of a
        rung are promoted; of equal ones the first drawn. A candidate is promoted as soon as too few results are missing
        to displace it.
        """
        known = self._results[rung]
        found = bisect(known, (order, place))
        known.insert(found, (order, place))
        certain = self._survivors[rung] - (self._entrant_count(rung) - len(known))
        # Better ones were promoted already: it is the new one if it is among the certain ones, else the last of these.
        return known[min(found, certain - 1)][1] if certain > 0 else None

    @property
    def is_over(self) -> bool:
        """True if all results of the last rung are known."""
        return len(self._results[-1]) == self._entrant_count(len(self.sizes) - 1)

    @property
    def unfinished_training_counts(self) -> Iterator[tuple[int, int]]:
        """A pair for each rung: how many trainings have no result yet, later promotions included, and their rows."""
        for rung, rows in enumerate(self.sizes):
            yield self._entrant_count(rung) - len(self._results[rung]), rows

    def _entrant_count(self, rung: int) -> int:
        everybody = len(self.candidates)
        return everybody if rung == 0 else min(self._survivors[rung - 1], everybody)


def make_bracket_plan(
    turn: SelectorCall[Any],
    grid: tuple[int, ...],
    eta: float,
    make_pass: BracketPass,
    rule: Literal["cut", "published"],
    first: Iterable[Bracket] = (),
) -> BracketPlan:
    """Return the brackets of a selector call: the `first` ones, then as many passes as the call has iterations.

    Without a limit on the iterations, the passes are endless; if there also is a time budget, the rule `cut` reduces
    all brackets but the `first` ones to what fits into it.
    """
    seconds = turn.selection.budget_seconds
    if rule == "published" or seconds is None or turn.iterations is not None:
        return FixedBracketPlan(make_pass, grid, first, turn.iterations)
    return TimeBudgetBracketPlan(make_pass, grid, first, eta, seconds)


class ConcurrentBrackets(Generic[K]):
    """Brackets that run concurrently, earlier ones first; a training is requested once and shared by all of them."""

    def __init__(self, turn: SelectorCall[K], candidates: Candidates[K], plan: BracketPlan, eta: float) -> None:
        self._turn, self._candidates, self._plan, self._eta = turn, candidates, plan, eta
        self._size = turn.selection.size
        self._results: dict[tuple[K, int], SortKey] = {}
        self._finished = 0
        self._repeated_count = 0
        """How many trainings on all rows in a row were already known."""
        self._running_brackets: dict[int, BracketRun[K]] = {}
        self._started_count = 0
        self._waiting: list[_PendingTraining] = []
        """The trainings that brackets need: a heap, ordered by bracket, rung and draw."""
        self._in_flight: dict[tuple[K, int], list[_PendingTraining]] = {}
        """The running trainings, each with the entries that wait for it."""
        self._remaining: Iterator[K] | None = None
        """The remaining candidates, to be trained on all rows, once draws find nothing new."""

    def run(self) -> SearchCoroutine[None]:
        """Run all brackets; if their sequence is endless, train every candidate on all rows in the end."""
        yield from _selection.train_candidates(self._turn, self)

    def candidates_to_train(self, count: int) -> Iterator[tuple[K, int]]:
        """Yield up to `count` trainings that should start next, each a candidate and a number of rows."""
        for _ in range(count):
            training = self._next_training()
            if training is None:
                return
            yield training

    def record(self, candidate: K, rows: int, trial: Trial) -> None:
        """Record the trial of a training for every bracket that waits for it."""
        self._plan.record(rows, trial.cost)
        order = self._store_result(candidate, rows, trial)
        for want in self._in_flight.pop((candidate, rows)):
            self._apply_result(want, order)

    def _next_training(self) -> tuple[K, int] | None:
        """Return the next training to start; None if none is left, or none before a running one has finished."""
        fruitless_starts = 0
        while True:
            while self._waiting:
                number, rung, place = want = heappop(self._waiting)
                race = self._running_brackets[number]
                training = race.candidates[place], race.sizes[rung]
                if training in self._in_flight:
                    self._in_flight[training].append(want)
                elif (order := self._known_sort_key(*training)) is None:
                    self._in_flight[training] = [want]
                    return training
                else:
                    self._apply_result(want, order)
            if self._candidates.is_total_count(self._finished) or (self._in_flight and fruitless_starts):
                return None
            if not (self._start_bracket() if self._remaining is None else self._start_remaining()):
                return None
            fruitless_starts += 1

    def _start_bracket(self) -> bool:
        """Start the next bracket, and return False if nothing can be started at present.

        Once draws find nothing new for endless brackets and nothing is running, switch to the remaining candidates.
        """
        is_endless = self._turn.iterations is None
        if not is_endless or (self._repeated_count < MAX_REPEATED_DRAWS and not self._candidates.are_exhausted):
            races = self._running_brackets.values()
            bracket = self._plan.next_bracket(chain.from_iterable(race.unfinished_training_counts for race in races))
            if bracket is not None and (candidates := self._candidates_of(bracket)):
                self._add_bracket(BracketRun(candidates, bracket, self._eta))
            return bracket is not None
        if self._in_flight:
            return False
        self._remaining = self._remaining_candidates()
        return True

    def _candidates_of(self, bracket: Bracket) -> list[K]:
        known = list(islice(self._partly_trained(), bracket.candidates)) if bracket.continues else []
        return known or self._candidates.draw(bracket.candidates)

    def _start_remaining(self) -> bool:
        assert self._remaining is not None
        candidate = next(self._remaining, None)
        if candidate is not None:
            self._add_bracket(BracketRun([candidate], Bracket(1, (self._size,)), self._eta))
        return candidate is not None

    def _add_bracket(self, race: BracketRun[K]) -> None:
        number, self._started_count = self._started_count, self._started_count + 1
        self._running_brackets[number] = race
        for place in range(len(race.candidates)):
            heappush(self._waiting, (number, 0, place))

    def _known_sort_key(self, candidate: K, rows: int) -> SortKey | None:
        """Return the sort key of a training whose trial this or an earlier selector call received, else None.

        A training on all rows whose trial this call received counts as one more repeated draw. A trial of an earlier
        call is new to this one and sets the number of repeated draws to 0, as a finished training does.
        """
        if order := self._results.get((candidate, rows)):
            self._repeated_count += rows == self._size
            return order
        recalled = self._turn.record_known_trials(candidate, rows)
        return self._store_result(candidate, rows, recalled[0]) if recalled else None

    def _store_result(self, candidate: K, rows: int, trial: Trial) -> SortKey:
        order = self._results[candidate, rows] = self._turn.selection.sort_key(trial)
        if rows == self._size:
            self._finished += 1
            self._repeated_count = 0
        return order

    def _apply_result(self, want: "_PendingTraining", order: SortKey) -> None:
        number, rung, place = want
        race = self._running_brackets[number]
        other = race.record_and_promote(rung, place, order)
        if other is not None:
            heappush(self._waiting, (number, rung + 1, other))
        if race.is_over:
            del self._running_brackets[number]

    def _remaining_candidates(self) -> Iterator[K]:
        """Yield candidates not trained on all rows, those on the highest rung and then the best ones first."""
        everything = chain(self._partly_trained(), self._candidates.candidates_for_final_pass())
        return (each for each in everything if (each, self._size) not in self._results)

    def _partly_trained(self) -> Iterator[K]:
        """Yield candidates not trained on all rows yet, those on the highest rung and then the best ones first."""
        reached: dict[K, tuple[int, SortKey]] = {}
        for (candidate, rows), order in self._results.items():
            reached[candidate] = min(reached.get(candidate, (0, order)), (-rows, order))
        whole = {candidate for candidate, rows in (*self._results, *self._in_flight) if rows == self._size}
        return (each for each in sorted(reached, key=reached.__getitem__) if each not in whole)


_PendingTraining: TypeAlias = tuple[int, int, int]
"""The number of a bracket, one of its rungs, and the position of a candidate."""
