"""Score the winner of a run on rows that no trial saw, and store the score with the run."""

from typing import TYPE_CHECKING

from spacelang.api.result import Result
from spacelang.ir.trial import TestScore
from spacelang.runtime.history import Ending, Record
from spacelang.runtime.objective import Refittable

if TYPE_CHECKING:
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final import Finale
    from spacelang.runtime.storing.store_tests import StoredTest


def scored(result: Result, executor: "Executor") -> "StoredTest | None":
    """Fit the winner of a run on all rows that trials saw, and return its score on the test rows.

    Returns None if there are no test rows or no winner, and after an interruption. If the best pipeline cannot be
    fitted, the next best is scored. If none can be fitted, the score has no loss but a reason. The score is stored if
    the run has a store. Raises InputError (StoreError is one).
    """
    from spacelang.runtime.final import finish
    from spacelang.runtime.storing.store_tests import keep

    outcome, objective = result.outcome, result.objective
    if not isinstance(objective, Refittable) or not objective.test_rows:
        return None
    if outcome.best is None or outcome.ended is Ending.INTERRUPTED:
        return None
    finale = finish(outcome, objective, executor, limits=result.experiment.workers.limits)
    found = _found(outcome.best, finale, objective.test_rows)
    if result.store is not None:
        keep(result.store, found)
    return found


def _found(best: "Record", finale: "Finale", rows: int) -> "StoredTest":
    from spacelang.runtime.storing.store_tests import StoredTest

    if finale.record is not None and finale.test is not None:
        return StoredTest(finale.record.index, finale.test)
    reason = finale.passed_over[0].reason if finale.passed_over else ""
    return StoredTest(best.index, TestScore(None, None, None, rows, reason))
