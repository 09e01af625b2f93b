"""The loop: drives an optimizer with evaluations until the budget, the space or the user ends it.

It owns time, workers and memory; an optimizer owns none of them.
"""

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Final

from spacelang.ir.asking import Search, Told
from spacelang.ir.scale import UNIT, Scale
from spacelang.runtime.budget import Budget
from spacelang.runtime.dispatch import Dispatcher
from spacelang.runtime.executors import Executor, UnansweredError
from spacelang.runtime.history import Clock, Ending, History, Journal, Outcome, Unkept
from spacelang.runtime.listening import Listener, Silence
from spacelang.runtime.proposals import Proposals
from spacelang.runtime.stepping import Steps, to_the_end
from spacelang.runtime.waiting import RouteOf, Waiting

KNOWN_ANSWERS: Final = 10_000
"""So many answers from memory in a row mean that an optimizer has nothing left to ask for.

Ten times as many as a part of a search may have before it sits out: who counts for its parts ends by itself.
"""


def steps(  # noqa: PLR0913 - each says one thing about a run
    search: Search,
    executor: Executor,
    budget: Budget,
    *,
    clock: Clock,
    training_size: int | None = None,
    listener: Listener | None = None,
    journal: Journal | None = None,
    route: RouteOf | None = None,
    scale: Scale | None = UNIT,
    seed: int = 0,
    remarks: Iterable[str] = (),
    stopwatch: Clock = perf_counter,
) -> Steps[Outcome]:
    """Evaluate what the search asks for until it returns, the budget is exhausted or the user interrupts.

    A request that was answered before is answered from memory at no cost and is no new trial; a fidelity of
    `training_size` rows or more is the same as None. What the journal has of earlier sessions is replayed: it is told
    as it was told then, one by one, without an evaluation, and it counts in the budget. What was asked for at once is
    evaluated by all workers, what shares work by its `route` one after the other. Trials are told with `scale`; None is
    that around the first success that is told. `seed` is that of the search: what it leaves to be made later is made
    with it, unless the journal has its trial. `remarks` are what the search has said once it has ended. The `stopwatch`
    takes the time of the search itself, also where that of the run is simulated.

    It stops where the executor cannot say what came of any trial, and goes on when it is asked to. Closed there it ends
    as if the user had interrupted it.

    When this returns, trials may still go on that the end of the budget or the user cut short: whoever made the
    executor closes it. Raises what the executor, the search, the listener or the journal raise, IdleSearchError
    for a search that waits for nothing, and OtherSearchError where the journal is of another search.
    """
    told = Silence() if listener is None else listener
    kept = Unkept() if journal is None else journal
    history = History(clock, training_size, kept, scale)
    proposals = Proposals(seed, history.proposed())
    dispatcher = Dispatcher(executor, budget, history, told, Waiting(route), proposals)
    told.started(budget)
    try:
        ended = yield from _drive(search, dispatcher, stopwatch)
        dispatcher.close()
    except (KeyboardInterrupt, GeneratorExit):
        ended = Ending.INTERRUPTED
        history.interrupted()
        dispatcher.close(is_interrupted=True)
    finally:
        search.close()
    outcome = replace(history.outcome(ended, len(dispatcher.running)), remarks=tuple(remarks))
    kept.end(ended.value, outcome.seconds)
    told.finished(outcome)
    return outcome


run = to_the_end(steps)


def _drive(search: Search, dispatcher: Dispatcher, stopwatch: Clock) -> Steps[Ending]:
    known_answers, history = 0, dispatcher.history
    before = stopwatch()
    try:
        ask = next(search)
        while known_answers < KNOWN_ANSWERS:
            dispatcher.take(ask)
            # What is replayed was paid for in an earlier session.
            history.searching += 0.0 if history.earlier else stopwatch() - before
            answered = history.answered
            told = yield from _told(dispatcher)
            if told is None:
                return Ending.BUDGET
            known_answers = known_answers + 1 if history.answered > answered else 0
            before = stopwatch()
            ask = search.send(told)
    except StopIteration:
        pass
    return Ending.EXHAUSTED


def _told(dispatcher: Dispatcher) -> Steps[Told | None]:
    while True:
        try:
            return dispatcher.told()
        except UnansweredError:
            yield
