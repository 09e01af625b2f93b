"""The search loop: evaluate the trials of an optimizer until the budget, the space or the user ends it.

The loop owns time, workers and memory. An optimizer owns none of them.
"""

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Final

from spacelang.ir.loss_scale import UNIT_SCALE, LossScale
from spacelang.ir.search_protocol import Search, SearchEvent
from spacelang.runtime.budget import Budget
from spacelang.runtime.dispatcher import Dispatcher
from spacelang.runtime.executors import Executor, PendingJobsError
from spacelang.runtime.history import Clock, EndReason, History, NullTrialStorage, Outcome, TrialStorage
from spacelang.runtime.listeners import Listener, SilentListener
from spacelang.runtime.pausable_generators import Steps, run_to_completion
from spacelang.runtime.proposals import LazyRequestRegistry
from spacelang.runtime.request_queue import PrefixKeyFunction, RequestQueue

MAX_ANSWERS_FROM_MEMORY: Final = 10_000
"""After this many answers from memory in a row, the optimizer is taken to have nothing left to ask for.

It is ten times the number after which a part of a search pauses, so a search that counts for its parts ends first.
"""


def steps(  # noqa: PLR0913 - each is an independent setting of a run
    search: Search,
    executor: Executor,
    budget: Budget,
    *,
    clock: Clock,
    training_size: int | None = None,
    listener: Listener | None = None,
    journal: TrialStorage | None = None,
    route: PrefixKeyFunction | None = None,
    scale: LossScale | None = UNIT_SCALE,
    seed: int = 0,
    remarks: Iterable[str] = (),
    stopwatch: Clock = perf_counter,
) -> Steps[Outcome]:
    """Evaluate what the search asks for until it returns, the budget is exhausted or the user interrupts.

    The generator yields whenever the executor cannot say what came of any running trial, and continues when it is
    resumed. Closing it there ends the run as if the user had interrupted it.

    A request whose answer is known is answered from memory. It costs nothing and is no new trial.

    Trials that the budget or the user cuts short may still be running when this returns. The owner of the executor
    closes it. Errors of the executor, the search, the listener and the storage are raised.

    Parameters
    ----------
    search
        A search generator, which yields asks and receives events.
    executor
        The workers that evaluate trials.
    budget
        The limits of the run. Replayed trials and seconds count.
    clock
        The clock of the run, which may be simulated.
    training_size
        The number of training rows. A fidelity of this many rows or more is the same as None.
    listener
        Is notified of the start, of every trial and of the end.
    journal
        The storage of the run. The trials of earlier sessions are replayed in their order: the search receives the
        same events as then, without an evaluation.
    route
        A function that returns the prefix key of a request. Requests of one batch whose keys share a prefix are
        evaluated after each other by the same worker.
    scale
        The loss scale of all trials. None means that the first reported success sets it.
    seed
        The seed of the search. Lazy requests are made with generators derived from it, unless the storage has their
        trials.
    remarks
        Sentences of the search. They are read when it has ended.
    stopwatch
        Measures the time of the search itself, even if `clock` is simulated.

    Raises
    ------
    StalledSearchError
        The search waits, but no trial is pending.
    DifferentSearchError
        The storage belongs to a different search.
    """
    told = SilentListener() if listener is None else listener
    kept = NullTrialStorage() if journal is None else journal
    history = History(clock, training_size, kept, scale)
    proposals = LazyRequestRegistry(seed, history.stored_lazy_requests())
    dispatcher = Dispatcher(executor, budget, history, told, RequestQueue(route), proposals)
    told.started(budget)
    try:
        ended = yield from _drive(search, dispatcher, stopwatch)
        dispatcher.close()
    except (KeyboardInterrupt, GeneratorExit):
        ended = EndReason.INTERRUPTED
        history.recover_pending()
        dispatcher.close(is_interrupted=True)
    finally:
        search.close()
    outcome = replace(history.make_outcome(ended, len(dispatcher.running)), remarks=tuple(remarks))
    kept.end_session(ended.value, outcome.seconds)
    told.finished(outcome)
    return outcome


run = run_to_completion(steps)


def _drive(search: Search, dispatcher: Dispatcher, stopwatch: Clock) -> Steps[EndReason]:
    known_answers, history = 0, dispatcher.history
    before = stopwatch()
    try:
        ask = next(search)
        while known_answers < MAX_ANSWERS_FROM_MEMORY:
            dispatcher.accept(ask)
            # Replayed trials were counted in an earlier session.
            history.search_seconds += 0.0 if history.trials_to_replay else stopwatch() - before
            answered = history.answered_from_memory
            told = yield from _next_event(dispatcher)
            if told is None:
                return EndReason.BUDGET
            known_answers = known_answers + 1 if history.answered_from_memory > answered else 0
            before = stopwatch()
            ask = search.send(told)
    except StopIteration:
        pass
    return EndReason.EXHAUSTED


def _next_event(dispatcher: Dispatcher) -> Steps[SearchEvent | None]:
    while True:
        try:
            return dispatcher.next_event()
        except PendingJobsError:
            yield
