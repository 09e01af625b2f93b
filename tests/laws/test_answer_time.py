"""The time until the answer, with a simulated clock: it is kept, there is an answer, and trials are replayed alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Search, SearchEvent
from spacelang.ir.trial import Request, Status, TestScore, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.ensembles.construction import (
    Ensemble,
    EnsembleMember,
    EnsembleSelection,
    ModelMultiset,
    fit_ensemble,
    is_eligible,
)
from spacelang.runtime.final_fit import (
    FinalFit,
    FinalWork,
    LoadTrialModelWork,
    RefitWork,
    SerializedPayload,
    UnseenScoreWork,
    WorkResult,
    fit_best_pipeline,
)
from spacelang.runtime.history import Outcome
from spacelang.runtime.run_deadline import MAX_SHARE, MIN_SEARCH_SHARE, TIME_WAS_UP, RunDeadline, WorkSizes
from spacelang.runtime.search_loop import run
from spacelang.runtime.trial_models import BestTrialModels
from spacelang.testing.memory_storage import MemoryTrialStorage

from .settings import LAW

SIZE = 700  # Training rows of a trial on all of them, of 1,000 rows
READING = 0.1  # Seconds of reading the models of a trial
SCORING = 0.3  # Seconds of a score on the test rows
VOTES = 32


@dataclass
class Rows:
    """The objective as final fits see it; its metric is not used."""

    training_size = SIZE
    rows = 1000
    test_rows: int = 50
    bounds: tuple[Any, ...] = ()
    metric: Any = None
    held_out_rows: Any = None

    def evaluate(self, request: Any) -> Any:
        raise NotImplementedError

    def make_member(self, configuration: Configuration, form: Any) -> Any:
        raise NotImplementedError


@dataclass
class World:
    """Trials and final fits whose seconds and losses are drawn by `seed`."""

    seed: int
    typical: float
    failing: float
    keeps_models: bool
    longest_fit: float = 0.0
    models: BestTrialModels = field(default_factory=lambda: BestTrialModels(SIZE, 32))

    def draws(self, configuration: Configuration) -> np.random.Generator:
        return np.random.default_rng([self.seed, int(configuration["x"])])  # type: ignore[call-overload]

    def evaluate(self, work: Request | FinalWork[Any]) -> Trial | WorkResult[Any]:
        rng = self.draws(work.configuration)
        cost, fails, loss = float(rng.lognormal(np.log(self.typical))), rng.random() < self.failing, float(rng.random())
        if isinstance(work, Request):
            if fails:
                return Trial(work, None, cost, Status.ERROR, "it failed")
            trial = Trial(work, loss, cost * (work.fidelity or SIZE) / SIZE)
            if self.keeps_models:
                self.models.folder.store(trial, ["model"], 0.0)
            return trial
        match work:
            case RefitWork():
                seconds = cost * float(rng.uniform(0.5, 5.0))  # predictions are wrong in both directions
                self.longest_fit = max(self.longest_fit, seconds)
                return WorkResult(SerializedPayload("fitted"), seconds)
            case LoadTrialModelWork():
                return WorkResult(SerializedPayload("the model of the trial"), READING)
            case _:
                assert isinstance(work, UnseenScoreWork)
                return WorkResult(TestScore(0.1, None, None, 50), SCORING)


def search(workers: int, told: list[SearchEvent]) -> Search:
    """Ask for one configuration after the other, some of them on few rows, so that no worker is idle."""
    number, event = 0, SearchEvent(None, workers)
    while True:
        numbers = range(number + 1, number + event.idle_workers + 1)
        number += event.idle_workers
        requests = [Request(Configuration({"x": x}), 100 if x % 4 == 0 else None) for x in numbers]
        event = yield Ask(tuple(requests))
        told.append(event)


@dataclass
class Run:
    outcome: Outcome
    executor: SimulatedExecutor
    time: RunDeadline
    told: Sequence[SearchEvent]

    @property
    def succeeded(self) -> bool:
        return self.outcome.best is not None

    def fit_best(self) -> FinalFit:
        return fit_best_pipeline(self.outcome, Rows(), self.executor, is_wanted=True, answer_time=self.time)

    def fit_ensemble(self, seed: int) -> Ensemble:
        """Fit an ensemble with votes that were drawn."""
        eligible = [each for each in self.outcome.records if is_eligible(each.trial, SIZE)][:32]
        order = tuple(map(int, np.random.default_rng(seed).integers(0, len(eligible), VOTES)))
        models = ModelMultiset(order, (0.1,) * VOTES)
        members = tuple(EnsembleMember(eligible[place], votes) for place, votes in models.votes.items())
        choice = EnsembleSelection(members, models, len(eligible), lambda _: 0.1)
        return fit_ensemble(choice, self.outcome, Rows(0), self.executor, answer_time=self.time)


def searched(
    world: World, seconds: float, workers: int, before: float = 0.0, journal: MemoryTrialStorage | None = None
) -> Run:
    executor, told = SimulatedExecutor(world.evaluate, workers=workers, now=before), list[SearchEvent]()
    sizes = WorkSizes(1000, SIZE, 1, 300, 50)
    time = RunDeadline(
        seconds, started=0.0, clock=executor.clock, sizes=sizes, candidates=32, votes=VOTES, models=world.models
    )
    budget = Budget(answer_seconds=seconds, trials=200)
    outcome = run(
        search(workers, told),
        executor,
        budget,
        clock=executor.clock,
        training_size=SIZE,
        journal=journal,
        answer_time=time,
    )
    return Run(outcome, executor, time, told)


WORLDS = st.builds(
    World,
    seed=st.integers(0, 999),
    typical=st.sampled_from([0.05, 0.5, 3.0, 20.0]),
    failing=st.sampled_from([0.0, 0.3, 0.9]),
    keeps_models=st.just(True),
)
TIMES = {"seconds": st.sampled_from([5.0, 20.0, 60.0]), "workers": st.integers(1, 4), "before": st.floats(0, 30)}


def latest_end(seconds: float, before: float) -> float:
    """Return the latest end of a search in seconds of its run: a slow start leaves time for a first success."""
    return max(seconds, before + MIN_SEARCH_SHARE * seconds) + 1e-6


@given(world=WORLDS, **TIMES)
@LAW
def test_a_search_without_success_has_half_of_the_time_however_slow_the_start_was(
    world: World, seconds: float, workers: int, before: float
) -> None:
    with world.models:
        found = searched(world, seconds, workers, before)
    first = world.evaluate(Request(Configuration({"x": 1})))
    assert isinstance(first, Trial)
    if first.loss is not None and first.cost < MIN_SEARCH_SHARE * seconds:
        assert found.succeeded, "the first trial is evaluated"
    if not found.succeeded and len(found.outcome.records) < 200:
        assert found.executor.now >= before + MIN_SEARCH_SHARE * seconds - 1e-6


@given(world=WORLDS, **TIMES)
@LAW
def test_a_run_with_kept_models_ends_in_time_with_an_answer(
    world: World, seconds: float, workers: int, before: float
) -> None:
    with world.models:
        found = searched(world, seconds, workers, before)
        latest = latest_end(seconds, before)
        assert found.executor.now <= latest, "the search leaves time"
        if found.succeeded:
            best = found.fit_best()
            assert best.record is not None
            assert best.pipeline in ("fitted", "the model of the trial")
            assert best.is_trial_model == (best.pipeline != "fitted") == bool(best.note)
            assert found.executor.now <= latest + READING + SCORING
        if found.outcome.incumbent is not None:
            ensemble = found.fit_ensemble(world.seed)
            assert found.executor.now <= latest + READING + SCORING
            is_whole = len(ensemble.members) == len(ensemble.choice.members)
            taken = sum(each.is_trial_model for each in ensemble.members)
            assert bool(ensemble.note) == (not is_whole or taken > 0)
            assert ("members: " in ensemble.note or ", and " in ensemble.note) == (not is_whole)
            assert not ensemble.note or ensemble.note.endswith(TIME_WAS_UP)


@given(world=WORLDS, **TIMES)
@LAW
def test_without_kept_models_a_run_exceeds_its_time_by_one_fit_at_most(
    world: World, seconds: float, workers: int, before: float
) -> None:
    with world.models:
        world.keeps_models = False
        found = searched(world, seconds, workers, before)
        if found.succeeded:
            best = found.fit_best()
            assert best.record is found.outcome.best, "its fit is the only way to an answer"
            assert best.pipeline == "fitted"
            assert found.executor.now <= latest_end(seconds, before) + world.longest_fit + SCORING


@given(world=WORLDS, **TIMES)
@LAW
def test_at_most_a_share_of_the_time_is_reserved(world: World, seconds: float, workers: int, before: float) -> None:
    with world.models:
        found = searched(world, seconds, workers, before)
        assert found.time.reserved_seconds <= MAX_SHARE * seconds
        used = found.outcome.seconds + before
        assert used >= min(seconds - MAX_SHARE * seconds, seconds) - 1e-6 or len(found.outcome.records) == 200


@given(world=WORLDS, cut=st.integers(0, 30), longer=st.sampled_from([0.5, 1.0, 3.0]), **TIMES)
@LAW
def test_a_run_that_was_killed_has_the_same_trials(
    world: World, cut: int, longer: float, seconds: float, workers: int, before: float
) -> None:
    with world.models:
        kept = MemoryTrialStorage()
        first = searched(world, seconds, workers, before, kept)
        there = kept.appended[:cut]
        later = replace(kept.killed_after(len(there)), seconds=max((each.finished for each in there), default=0.0))
        other = World(world.seed, world.typical, world.failing, keeps_models=False)
        with other.models:
            again = searched(other, longer * seconds, workers, 2 * before, later)
    count = len(later.earlier)
    assert [each.trial for each in again.outcome.records[:count]] == [
        each.trial for each in first.outcome.records[:count]
    ]
    known = min(count, len(first.told), len(again.told))
    assert known >= count - 1, "only the last event is not sent if the time is up with it"
    assert [each.finished for each in again.told][:known] == [each.finished for each in first.told][:known]


def test_a_resumed_run_without_new_trials_takes_the_time_that_its_final_fit_needs() -> None:
    world, other = World(1, 1.0, 0.0, keeps_models=True), World(1, 1.0, 0.0, keeps_models=False)
    with world.models, other.models:
        kept = MemoryTrialStorage()
        searched(world, 20.0, 1, journal=kept)
        later = replace(kept.next_session(), seconds=20.0)
        again = searched(other, 20.0, 1, before=5.0, journal=later)
        assert not later.appended
        best = again.fit_best()
    assert (best.is_trial_model, best.note, best.pipeline) == (False, "", "fitted")
