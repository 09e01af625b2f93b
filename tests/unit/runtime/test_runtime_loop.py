import math
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Search, StalledSearchError, ask_all
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import LossScale, Measurement, Request, Status, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.search_loop import MAX_ANSWERS_FROM_MEMORY, run


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def request(number: int, fidelity: int | None = None) -> Request:
    return Request(Configuration({"x": number}), fidelity)


class Objective:
    """A second a trial; the loss is looked up, None fails."""

    def __init__(self, clock: Clock, losses: dict[int, float | None] | None = None) -> None:
        self.clock, self.losses, self.asked = clock, losses or {}, []

    def __call__(self, wanted: Request) -> Trial:
        self.clock.now += 1
        self.asked.append(wanted)
        number = wanted.configuration["x"]
        loss = self.losses.get(number, 1 / (1 + number))
        if loss is None:
            return Trial(wanted, None, 1.0, Status.ERROR, "ValueError: no")
        return Trial(wanted, loss, 1.0)


def in_turn(*batches: list[Request], told: list[list[Trial]] | None = None) -> Search:
    for batch in batches:
        answers = yield from ask_all(batch)
        if told is not None:
            told.append(list(answers))


def endless() -> Search:
    for number in count():
        yield from ask_all([request(number)])


def drive_search(search: Search, budget: Budget | None = None, **options: object) -> tuple[Outcome, Objective]:
    clock = Clock()
    objective = Objective(clock, options.pop("losses", None))
    return run(search, InProcess(objective), budget or Budget(), clock=clock, **options), objective


def test_a_search_that_returns_is_exhausted():
    told: list[list[Trial]] = []
    outcome, _ = drive_search(in_turn([request(1), request(2)], [request(3)], told=told))
    assert outcome.ended is EndReason.EXHAUSTED
    assert [record.index for record in outcome.records] == [1, 2, 3]
    assert [(record.started, record.finished) for record in outcome.records] == [(0, 1), (1, 2), (2, 3)]
    assert [trial.request for batch in told for trial in batch] == [request(1), request(2), request(3)]


def test_a_search_that_asks_for_nothing_at_all():
    outcome, _ = drive_search(in_turn())
    assert (outcome.ended, outcome.best, outcome.curve, outcome.failed) == (EndReason.EXHAUSTED, None, (), 0)


@pytest.mark.parametrize(("budget", "trials"), [(Budget(trials=4), 4), (Budget(seconds=2.5), 3), (Budget(3, 9), 3)])
def test_no_evaluation_starts_once_the_budget_is_exhausted(budget, trials):
    outcome, objective = drive_search(endless(), budget)
    assert outcome.ended is EndReason.BUDGET
    assert len(objective.asked) == len(outcome.records) == trials
    assert outcome.seconds == trials


def test_a_batch_that_the_budget_cuts_is_evaluated_as_far_as_it_goes_and_the_search_closed():
    closed = []

    def search() -> Search:
        try:
            yield from ask_all(request(number) for number in range(5))
        finally:
            closed.append(True)

    outcome, _ = drive_search(search(), Budget(trials=3))
    assert len(outcome.records) == 3
    assert (outcome.ended, closed) == (EndReason.BUDGET, [True])


def test_repetitions_are_answered_from_memory_free_of_charge():
    told: list[list[Trial]] = []
    search = in_turn([request(1), request(1)], [request(1, 50), request(1, 200)], told=told)
    outcome, objective = drive_search(search, training_size=100)
    assert [wanted.fidelity for wanted in objective.asked] == [None, 50]
    assert outcome.answered_from_memory == 2
    assert [trial.cost for batch in told for trial in batch] == [1, 0, 1, 0]
    assert told[1][1] == Trial(request(1, 200), 0.5, 0.0)


def test_failures_are_remembered_too():
    outcome, objective = drive_search(in_turn([request(1)], [request(1)]), losses={1: None})
    assert (len(objective.asked), outcome.failed, outcome.best) == (1, 1, None)


def known_for_ever() -> Search:
    while True:
        yield from ask_all([request(1)])


def test_an_endless_search_for_known_things_ends():
    outcome, _ = drive_search(known_for_ever(), Budget(trials=5))
    assert (outcome.ended, len(outcome.records)) == (EndReason.EXHAUSTED, 1)
    assert outcome.answered_from_memory == MAX_ANSWERS_FROM_MEMORY


def test_a_search_that_asks_for_nothing_and_waits_for_nothing_is_a_bug():
    def search() -> Search:
        while True:
            yield Ask()

    with pytest.raises(StalledSearchError):
        drive_search(search())


def test_an_endless_search_for_known_things_ends_with_the_time():
    clock = Clock()

    def search() -> Search:
        while True:
            clock.now += 0.1
            yield from ask_all([request(1)])

    outcome = run(search(), InProcess(Objective(clock)), Budget(seconds=5), clock=clock)
    assert outcome.ended is EndReason.BUDGET
    assert outcome.answered_from_memory < 50


def test_the_incumbent_is_the_first_smallest_loss_on_all_rows():
    search = in_turn([request(1, 10), request(2, 100), request(3), request(4)])
    outcome, _ = drive_search(search, losses={1: 0.1, 2: 0.3, 3: 0.3, 4: 0.2}, training_size=100)
    assert outcome.incumbent.index == 4
    assert outcome.best_any_fidelity.index == 1
    assert outcome.best is outcome.incumbent
    assert [(point.seconds, point.trial, point.loss) for point in outcome.curve] == [(2, 2, 0.3), (4, 4, 0.2)]


def test_where_no_trial_had_all_rows_the_best_of_the_rest_counts():
    outcome, _ = drive_search(in_turn([request(1, 10), request(2, 20)]), training_size=100)
    assert outcome.incumbent is None
    assert outcome.best.index == 2
    assert outcome.curve[-1].loss == outcome.best.trial.loss


SLOW, LARGE = Bound(BoundedMeasure.LATENCY, 1.0), Bound(BoundedMeasure.SIZE, 100.0)


def constrained(*trials: tuple[float, float, float], fidelities: tuple[int | None, ...] = ()) -> Outcome:
    """One trial after the other, each with its loss, its latency and its size."""
    rows = fidelities or (None,) * len(trials)

    def evaluate(wanted: Request) -> Trial:
        loss, latency, size = trials[wanted.configuration["x"]]
        measured = (Measurement(SLOW, latency), Measurement(LARGE, size))
        return Trial(wanted, loss, 1.0, constraints=measured)

    search = in_turn(*[[request(number, rows[number])] for number in range(len(trials))])
    return run(search, InProcess(evaluate), Budget(), clock=Clock(), training_size=100)


def test_a_trial_that_keeps_to_the_bounds_comes_before_all_that_do_not():
    outcome = constrained((0.1, 2.0, 50), (0.5, 1.0, 100), (0.2, 0.5, 101), (0.4, 0.5, 50), (0.3, math.nan, 50))
    assert outcome.best is outcome.incumbent
    assert (outcome.best.index, outcome.infeasible) == (4, 3)
    assert [point.trial for point in outcome.curve] == [2, 4]


def test_one_on_some_rows_that_keeps_to_them_comes_before_one_on_all_rows_that_does_not():
    outcome = constrained((0.1, 2.0, 50), (0.5, 0.5, 50), fidelities=(None, 10))
    assert outcome.incumbent is None
    assert (outcome.best.index, outcome.best.trial.is_feasible) == (2, True)


def test_where_no_trial_keeps_to_them_the_one_that_breaks_them_the_least_is_the_best():
    # By 100 %, by 10 % + 40 %, by 50 %, by 50 % with a smaller loss, unknown.
    outcome = constrained((0.1, 2.0, 50), (0.4, 1.1, 140), (0.4, 1.5, 50), (0.3, 0.5, 150), (0.0, math.nan, 50))
    assert (outcome.incumbent, outcome.best_any_fidelity, outcome.curve) == (None, None, ())
    assert outcome.best is outcome.least_infeasible
    assert (outcome.best.index, outcome.infeasible, outcome.failed) == (4, 5, 0)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 2), st.floats(0, 200)), max_size=12))
def test_the_incumbent_is_the_smallest_loss_of_those_that_keep_to_the_bounds(trials):
    outcome = constrained(*trials)
    feasible = [loss for loss, latency, size in trials if latency <= 1 and size <= 100]
    assert (None if outcome.incumbent is None else outcome.incumbent.trial.loss) == min(feasible, default=None)
    assert outcome.infeasible == len(trials) - len(feasible)
    assert (outcome.best is None) == (not trials)


@given(st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.sampled_from([None, 10, 100])), max_size=30))
def test_the_incumbent_curve_never_rises(trials):
    losses = {number: loss for number, (loss, _) in enumerate(trials)}
    wishes = [[request(number, fidelity)] for number, (_, fidelity) in enumerate(trials)]
    outcome, _ = drive_search(in_turn(*wishes), losses=losses, training_size=100)
    curve = [point.loss for point in outcome.curve]
    assert curve == sorted(set(curve), reverse=True)
    successes = [loss for loss, _ in trials if loss is not None]
    full = [loss for loss, fidelity in trials if loss is not None and fidelity != 10]
    assert (curve[-1] if curve else None) == min(full or successes, default=None)


@pytest.mark.parametrize("where", ["evaluation", "search"])
def test_an_interrupt_keeps_everything_so_far(where):
    clock = Clock()
    objective = Objective(clock)

    def evaluate(wanted: Request) -> Trial:
        if where == "evaluation" and wanted == request(2):
            raise KeyboardInterrupt
        return objective(wanted)

    def search() -> Search:
        yield from ask_all([request(0)])
        yield from ask_all([request(1)])
        if where == "search":
            raise KeyboardInterrupt
        yield from ask_all([request(2)])

    outcome = run(search(), InProcess(evaluate), Budget(), clock=clock)
    assert outcome.ended is EndReason.INTERRUPTED
    assert len(outcome.records) == 2
    assert outcome.best.index == 2


def test_bugs_of_a_search_are_not_hidden():
    def search() -> Search:
        yield from ask_all([request(1)])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive_search(search())


class Diary:
    def __init__(self) -> None:
        self.lines = []

    def on_start(self, budget):
        self.lines.append(budget)

    def on_trial(self, record, best):
        self.lines.append((record.index, best.index))

    def on_finish(self, outcome):
        self.lines.append(outcome.ended)


def test_the_listener_is_told():
    diary = Diary()
    drive_search(in_turn([request(3), request(1), request(5)]), losses={3: None, 1: 0.5, 5: 0.7}, listener=diary)
    assert diary.lines == [Budget(), (1, 1), (2, 2), (3, 2), EndReason.EXHAUSTED]


# ---- standings


def test_an_optimizer_is_told_where_losses_stand():
    told: list[list[Trial]] = []
    search = in_turn([request(1), request(2)], [request(1)], told=told)
    outcome, _ = drive_search(search, losses={1: 30.0, 2: None}, scale=LossScale(0.0, 40.0))
    assert [[trial.normalized_loss for trial in batch] for batch in told] == [[0.75, 1.0], [0.75]]
    assert outcome.scale == LossScale(0.0, 40.0)


def test_without_a_scale_it_is_around_the_first_success_that_was_asked_for():
    told: list[list[Trial]] = []
    batches = [request(0), request(1)], [request(2), request(3), request(4)], [request(5)]
    losses = {0: None, 1: None, 2: None, 3: 40.0, 4: 20.0, 5: 90.0}
    outcome, _ = drive_search(in_turn(*batches, told=told), losses=losses, scale=None)
    assert [[trial.normalized_loss for trial in batch] for batch in told] == [[1, 1], [1, 0.5, 0.25], [1]]
    assert outcome.scale == LossScale(0.0, 80.0)


def test_without_a_success_there_is_no_scale():
    outcome, _ = drive_search(in_turn([request(1)]), losses={1: None}, scale=None)
    assert outcome.scale is None
