"""Score the winner of a run on rows that no trial saw, and store the score with the run."""

from typing import TYPE_CHECKING

from spacelang.api.result import Result
from spacelang.ir.trial import TestScore
from spacelang.runtime.history import EndReason, TrialRecord
from spacelang.runtime.objective import Refittable

if TYPE_CHECKING:
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final_fit import FinalFit
    from spacelang.runtime.storage.unseen_score_table import StoredUnseenScore


def score_winner(result: Result, executor: "Executor") -> "StoredUnseenScore | None":
    """Fit the winner of a run on all rows that trials saw, and return its score on the test rows.

    Returns None if there are no test rows or no winner, and after an interruption. If the best pipeline cannot be
    fitted, the next best is scored. If none can be fitted, the score has no loss but a reason. The score is stored if
    the run has a store. Raises InputError (StoreError is one).
    """
    from spacelang.runtime.final_fit import fit_best_pipeline
    from spacelang.runtime.storage.unseen_score_table import save_unseen_score

    outcome, objective = result.outcome, result.objective
    if not isinstance(objective, Refittable) or not objective.test_rows:
        return None
    if outcome.best is None or outcome.ended is EndReason.INTERRUPTED:
        return None
    finale = fit_best_pipeline(outcome, objective, executor, limits=result.experiment.workers.limits)
    found = _winner_score(outcome.best, finale, objective.test_rows)
    if result.store is not None:
        save_unseen_score(result.store, found)
    return found


def _winner_score(best: "TrialRecord", finale: "FinalFit", rows: int) -> "StoredUnseenScore":
    from spacelang.runtime.storage.unseen_score_table import StoredUnseenScore

    if finale.record is not None and finale.test is not None:
        return StoredUnseenScore(finale.record.index, finale.test)
    reason = finale.skipped[0].reason if finale.skipped else ""
    return StoredUnseenScore(best.index, TestScore(None, None, None, rows, reason))
