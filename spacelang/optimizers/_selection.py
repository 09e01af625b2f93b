"""The selector protocol: reusable searches over pipelines (spacelang/optimizers/README.md, section "Selectors").

Each call of a selector receives the present configuration of each pipeline and the value that trials are compared by.
Both may differ between calls. An optimizer of pipelines is a selector that selects without end.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Problem, Search, SearchCoroutine, ignore_remark
from spacelang.ir.trial import Request, SortKey, Trial
from spacelang.ir.walk import structure_of
from spacelang.optimizers._draws import ConfigurationPerPipeline
from spacelang.optimizers._fidelity import fidelity_of_rows
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline


def zero_penalty(_: Trial) -> float:
    """Return a penalty of 0 for every trial."""
    return 0.0


def accept_all(_: Pipeline) -> bool:
    """Return True for every pipeline."""
    return True


@renamed_attributes(
    order="sort_key", room="idle_workers", of="from_problem", standing="normalized_penalized_loss",
    normalized_value="normalized_penalized_loss", number="penalized_loss", value="penalized_loss",
)  # fmt: skip
@dataclass(frozen=True, slots=True, eq=False)
class SelectionProblem:
    """The problem passed to a selector: the pipelines, their present configurations and the comparison of trials.

    `size` is the number of training rows. All random draws use `rng`. `penalty` returns the penalty of a successful
    trial, which is added to its loss: at least 0, finite, and in units of the normalized loss. `idle_workers` is the
    number of idle workers, as far as the caller knows. `initial` are pipelines that come first, without repetition.

    Pipelines that `admits` rejects fail at their present configuration. A selector may skip them, and a selector that
    makes lazy requests must never request one. At least one pipeline is admitted. `remark` is that of the `Problem`.
    `budget_seconds` is the time budget of a whole search, None for a part of a search or without a limit.
    """

    tree: DiscrepancyTree
    configuration: Callable[[Pipeline], Configuration]
    size: int
    rng: Generator
    penalty: Callable[[Trial], float] = zero_penalty
    idle_workers: int = 1
    initial: tuple[Pipeline, ...] = ()
    admits: Callable[[Pipeline], bool] = accept_all
    remark: Callable[[str], None] = ignore_remark
    budget_seconds: float | None = None

    @classmethod
    def from_problem(cls, problem: Problem, rule: Literal["default", "sample"]) -> "SelectionProblem":
        """Return the problem of a whole search, with one configuration per pipeline, default or drawn by `rule`.

        The pipelines of the problem's initial configurations come first, with their configuration under this rule.
        """
        tree = DiscrepancyTree(Structures(problem.space))
        completion = ConfigurationPerPipeline(tree, rule, problem.rng)
        first = dict.fromkeys(tree.pipeline_of(structure_of(problem.space, each)) for each in problem.initial)
        return cls(
            tree,
            completion.configuration_of,
            problem.size,
            problem.rng,
            initial=tuple(first),
            remark=problem.remark,
            budget_seconds=problem.budget.seconds,
        )

    def penalized_loss(self, trial: Trial) -> float:
        """Return the value to be minimized: the loss plus the penalty in units of the loss; infinity for a failure."""
        return inf if trial.loss is None else trial.loss + self.penalty(trial) * trial.scale.width

    def sort_key(self, trial: Trial) -> SortKey:
        """Return a key that sorts trials from best to worst by `penalized_loss`; failures come after every success."""
        return trial.loss is None, 0.0 if trial.loss is None else self.penalized_loss(trial)

    def normalized_penalized_loss(self, trial: Trial) -> float:
        """Return the normalized loss plus the penalty, for formulas that assume losses in [0, 1]; 1 for a failure."""
        return trial.normalized_loss if trial.loss is None else trial.normalized_loss + self.penalty(trial)


class Selector(Protocol):
    """A reusable search over pipelines that keeps what it has learnt between calls.

    Trials at the present configuration of a pipeline are compared with the present penalty; others are ignored.
    """

    def select(
        self,
        selection: SelectionProblem,
        iterations: int | None = None,
        start: Pipeline | None = None,
        seconds: float | None = None,
    ) -> SearchCoroutine[Pipeline]:
        """Return the best pipeline found in `iterations` of the selector's own iterations, or in `seconds` of cost.

        The search starts from the pipeline `start` if the selector uses a starting point. Without a limit it continues
        until there is nothing left to request. A known trial is not requested again; it counts as an iteration and
        costs nothing. The result was trained on all rows if any pipeline was. It is never worse than a known `start`.
        No committed trial is running when the call returns, only speculative ones may be.

        Raises ValueError if nothing can be done: no iterations, no time or no pipeline.
        """

    def forget(self, pipeline: Pipeline) -> None:
        """Forget all trials of a pipeline, at every configuration."""


def observe_idle_workers(selection: SelectionProblem) -> SearchCoroutine[SelectionProblem]:
    """Return the selection problem with the present number of idle workers, at the start of a search."""
    return replace(selection, idle_workers=(yield Ask()).idle_workers)


def search_with_selector(selector: Selector, problem: Problem, rule: Literal["default", "sample"]) -> Search:
    """Run a selector without limits on a whole problem; returns at once if the space is empty."""
    selection = SelectionProblem.from_problem(problem, rule)
    if selection.tree.leaf_count:
        yield from selector.select((yield from observe_idle_workers(selection)))


K = TypeVar("K", bound=Hashable)


class TrialMemory(Generic[K]):
    """The trials of each candidate by request; a candidate at another configuration has another request."""

    def __init__(self) -> None:
        self._trials: dict[K, dict[Request, Trial]] = {}

    def __iter__(self) -> Iterator[K]:
        """Iterate over the candidates with known trials, in the order in which they became known."""
        return iter(self._trials)

    def trials_of(self, candidate: K) -> Mapping[Request, Trial]:
        """Return the trials of a candidate by request."""
        return self._trials.get(candidate, {})

    def record(self, candidate: K, trial: Trial) -> None:
        """Store the trial of a candidate without its predictions, which are large and not needed for comparisons."""
        kept = trial if trial.predictions is None else replace(trial, predictions=None)
        self._trials.setdefault(candidate, {})[trial.request] = kept

    def forget(self, candidate: K) -> None:
        """Remove all trials of a candidate."""
        self._trials.pop(candidate, None)


@renamed_attributes(
    goes_on="can_continue", wish="make_request", known="known_trials", recall="record_known_trials", note="record",
    standing="normalized_penalized_loss", normalized_value="normalized_penalized_loss", best="best_candidate",
    recall_trials="record_known_trials",
)  # fmt: skip
@dataclass(slots=True)
class SelectorCall(Generic[K]):
    """One call of a selector on candidates (pipelines or configurations): its limits, known trials and the best one."""

    selection: SelectionProblem
    configuration: Callable[[K], Configuration]
    memory: TrialMemory[K]
    iterations: int | None = None
    start: K | None = None
    seconds: float | None = None
    spent: float = 0.0  # The cost, in seconds, of the trials received in this call
    _best: tuple[tuple[bool, bool, float], K] | None = None
    _largest_penalty: float = 0.0

    def can_continue(self, iterations: int = 0) -> bool:
        """Return True if the call allows another iteration after `iterations` finished ones, and has seconds left."""
        is_in_time = self.seconds is None or self.spent < self.seconds
        return is_in_time and (self.iterations is None or iterations < self.iterations)

    def request(self, candidate: K, rows: int) -> Request:
        """Return the request for a candidate on a number of rows."""
        return Request(self.configuration(candidate), fidelity_of_rows(rows, self.selection.size))

    def make_request(self, candidate: K, rows: int) -> Request | LazyRequest:
        """Return the request that is started for a candidate; subclasses may return a lazy request."""
        return self.request(candidate, rows)

    def known_trials(self, candidate: K, *sizes: int) -> Iterator[Trial]:
        """Yield the known trials of a candidate's present configuration on each size, up to the first unknown one."""
        if trials := self.memory.trials_of(candidate):
            configuration = self.configuration(candidate)
            for rows in sizes:
                trial = trials.get(Request(configuration, fidelity_of_rows(rows, self.selection.size)))
                if trial is None:
                    return
                yield trial

    def record_known_trials(self, candidate: K, *sizes: int) -> tuple[Trial, ...]:
        """Return the known trials as `known_trials` does, and update the best candidate with them."""
        trials = tuple(self.known_trials(candidate, *sizes))
        for trial in trials:
            self._update_best(candidate, trial)
        return trials

    def record(self, candidate: K, trial: Trial) -> None:
        """Record the trial of a requested candidate."""
        self.memory.record(candidate, trial)
        self.spent += trial.cost
        self._update_best(candidate, trial)

    @property
    def best_candidate(self) -> K:
        """The first candidate with the smallest value on all rows, else on any number of rows; failures come last."""
        assert self._best is not None, "a selector call must have at least one finished trial"
        return self._best[1]

    def normalized_penalized_loss(self, trial: Trial) -> float:
        """Return the normalized loss plus the penalty; for a failure 1 plus the largest penalty seen so far.

        So no success that was seen before a failure compares worse than the failure.
        """
        return 1.0 + self._largest_penalty if trial.loss is None else self.selection.normalized_penalized_loss(trial)

    def _update_best(self, candidate: K, trial: Trial) -> None:
        if trial.loss is not None:
            self._largest_penalty = max(self._largest_penalty, self.selection.penalty(trial))
        order = trial.loss is None, trial.request.fidelity is not None, self.selection.penalized_loss(trial)
        if self._best is None or order < self._best[0]:
            self._best = order, candidate


SelectorLoop: TypeAlias = Callable[[SelectorCall[Pipeline]], SearchCoroutine[None]]
"""The body of a selector call; it returns when the limits of the call are reached."""


class MemorySelector:
    """A selector that runs the same loop in every call and remembers the trials of all earlier calls."""

    def __init__(self, loop: SelectorLoop) -> None:
        self._loop = loop
        self._memory: TrialMemory[Pipeline] = TrialMemory()

    def select(
        self,
        selection: SelectionProblem,
        iterations: int | None = None,
        start: Pipeline | None = None,
        seconds: float | None = None,
    ) -> SearchCoroutine[Pipeline]:
        """Run the loop and return the best pipeline (see `Selector`)."""
        _check(selection, iterations, start, seconds)
        turn = SelectorCall(selection, selection.configuration, self._memory, iterations, start, seconds)
        if start is not None:
            turn.record_known_trials(start, selection.size)
        yield from self._loop(turn)
        return turn.best_candidate

    def forget(self, pipeline: Pipeline) -> None:
        """Forget all trials of a pipeline (see `Selector`)."""
        self._memory.forget(pipeline)


def _check(selection: SelectionProblem, iterations: int | None, start: Pipeline | None, seconds: float | None) -> None:
    if not selection.tree.leaf_count:
        raise ValueError("the space is empty")
    if iterations is not None and iterations < 1:
        raise ValueError(f"`iterations` is {iterations}: it must be at least 1")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"`seconds` is {seconds}: it must be greater than 0")
    if start is not None and not selection.tree.is_leaf(start):
        raise ValueError(f"`start` is {start}: it must be a leaf of the discrepancy tree")


class CandidateSource(Protocol[K]):
    """A source of the trainings that should start next."""

    def candidates_to_train(self, count: int) -> Iterable[tuple[K, int]]:
        """Yield up to `count` trainings to start now, each a candidate and a number of rows."""

    def record(self, candidate: K, rows: int, trial: Trial) -> None:
        """Record the trial of a candidate on `rows`, a training that `candidates_to_train` has yielded."""


class SequentialCandidates(Generic[K]):
    """Candidates in a fixed order, independent of results, on all rows; known candidates are skipped."""

    def __init__(self, turn: SelectorCall[K], candidates: Iterable[K]) -> None:
        size = turn.selection.size
        self._new = ((each, size) for each in candidates if not turn.record_known_trials(each, size))

    def candidates_to_train(self, count: int) -> Iterable[tuple[K, int]]:
        """Yield `(candidate, rows)` for the next `count` unknown candidates; `rows` is always all rows."""
        return islice(self._new, count)

    def record(self, candidate: K, rows: int, trial: Trial) -> None:
        """Ignore the trial: the order does not depend on it."""


def train_candidates(turn: SelectorCall[K], source: CandidateSource[K]) -> SearchCoroutine[None]:
    """Start as many trainings as there are idle workers, until the source is empty and no trial is running."""
    out: dict[Request | LazyRequest, tuple[K, int]] = {}
    room = turn.selection.idle_workers
    while True:
        # A search without running trials must request something, even if other searches use all workers.
        count = max(room, not out) if turn.can_continue() else 0
        begin = {turn.make_request(*each): each for each in source.candidates_to_train(count)}
        out |= begin
        if not out:
            return
        event = yield Ask(tuple(begin))
        room = event.idle_workers
        if event.finished is not None and event.request is not None:
            candidate, rows = out.pop(event.request)
            turn.record(candidate, event.finished)
            source.record(candidate, rows, event.finished)
