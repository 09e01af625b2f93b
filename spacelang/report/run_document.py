"""The JSON documents of a run: what `run --json` prints."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING

from spacelang.ir.trial import LossName, Measurement
from spacelang.ir.validation import describe_validation
from spacelang.report.pipeline_lines import pareto_front_document
from spacelang.report.run_facts import RunFacts, effort_by_learner, effort_by_part_of_auto
from spacelang.report.trial_results import (
    count_failures_by_reason,
    document_of_test_score,
    sum_failures_by_reason,
    sum_failures_by_status,
)
from spacelang.runtime.history import Outcome, TrialRecord, pareto_front
from spacelang.runtime.storage.trial_columns import finite_or_none

if TYPE_CHECKING:
    from spacelang.runtime.ensembles.construction import Ensemble, EnsembleMember
    from spacelang.runtime.final_fit import FinalFit, SkippedTrial


def run_json_document(
    outcome: Outcome,
    run: RunFacts,
    finale: "FinalFit | None" = None,
    ensemble: Mapping[str, object] | None = None,
    time_note: str = "",
) -> dict[str, object]:
    """Return what `run --json` prints.

    - `loss`, `configuration`, `fidelity`: of the best trial; None if no trial succeeded. `fidelity` is the number
      of training rows of the best trial, None for all of them.
    - `score`: the score that the loss stands for, and `score_name` its name: 0.99 and `roc_auc` for `1 - roc_auc`. A
      loss that is no such difference is its own score, such as `log_loss`. `test_score`: the score on the test set, or
      None; `ensemble` has both for the ensemble.
    - `constraints`: the measured value of the best trial for each bound of the task, None if undefined; `feasible`
      says whether all hold; `excess` is the sum over the violated bounds of how many times the bound is exceeded.
    - `feasible_share`: the share of feasible trials among the successful ones, from 0 to 1.
    - `incumbent`: the improvements over time, feasible trials only.
    - `failures` counts failed trials by status, `reasons` by reason.
    - `unfinished`: trials cut short by the end of the run; `unneeded`: speculative trials that were not used.
    - `refit`: the trial whose pipeline was fitted on all rows, or None; `passed_over`: better trials that could not be
      fitted; `test`: the score on the test set, with the value of each bound there.
    - `time_note`: a sentence on what did not fit into the time of the run; empty if everything did.
    - `parts`: the trials and the seconds of each part of `auto` (`initial`, `portfolio`, `race`, `model`, `chance`),
      and `learners`: those of each alternative of the first decision.
    - `scale`: the optimizer's normalized loss is (loss - origin) / width; None before the first success.
    - `hyperparameters`: `searched`, drawn `once` per pipeline, or at their `default`; `at_defaults` are the keys
      that stayed there.
    - `initial`: the given initial configurations; `remarks`: remarks of the optimizer; `ensemble`: as given, None
      if none was asked for.
    - `equal_seeds`: what runs with the same seed have in common.
    - `lost`: features of the space that the optimizer's compiled space cannot represent.
    - `overhead`: the `seconds` that the optimizer itself took in the latest session, for how many `trials`, and the
      `share` of a median trial that this is per trial; None without trials.
    - `front`, only with several objectives: the trials that no other trial dominates, each with its `objectives` (all
      minimized) and `scores`. Then no trial is the best: `loss`, `score` and `configuration` are None.
    - `positive_class`: the label that metrics such as `f1` are about; None if no metric is about one class.
    """
    best, scale = None if run.objectives else outcome.best, outcome.scale
    front = pareto_front(outcome.records, run.training_size) if run.objectives else ()
    measured, failures = () if best is None else best.trial.constraints, count_failures_by_reason(outcome.records)
    kept = []
    if run.searched is not None and best is not None:
        kept = run.searched.keys_at_default(best.trial.request.configuration)
    return {
        "loss": None if best is None else best.trial.loss,
        "score": None if best is None else run.metric.maybe_score(best.trial.loss),
        "score_name": run.metric.score_name,
        "test_score": None if finale is None or finale.test is None else run.metric.maybe_score(finale.test.loss),
        "metric": run.metric.name,
        "configuration": None if best is None else best.trial.request.configuration.to_dict(),
        "fidelity": best.trial.request.fidelity if best is not None and outcome.incumbent is None else None,
        "positive_class": None if run.positive is None else run.positive.json_label,
        "validation": None if run.validation is None else describe_validation(run.validation),
        "feasible": bool(front) or (best is not None and best.trial.is_feasible),
        "infeasible": outcome.infeasible,
        "feasible_share": outcome.feasible_share,
        "excess": None if best is None else finite_or_none(best.trial.excess),
        "constraints": {each.bound.name: _measurement(each) for each in measured},
        "metrics": {} if best is None else {name: _known(value) for name, value in best.trial.metrics},
        "training_loss": None if best is None else best.trial.training_loss,
        "trials": len(outcome.records),
        "failed": outcome.failed,
        "seconds": outcome.seconds,
        "optimizer": run.optimizer,
        "seed": run.seed,
        "equal_seeds": run.equal_seeds,
        "store": run.store,
        "incumbent": [] if run.objectives else [*map(asdict, outcome.curve)],
        "ended": outcome.ended.value,
        "preparation": run.preparation,
        "failures": {kind.value: count for kind, count in sum_failures_by_status(failures).items()},
        "reasons": sum_failures_by_reason(failures),
        "unfinished": outcome.unfinished,
        "unneeded": outcome.wasted_speculative,
        "refit": None if finale is None or finale.record is None else _refit(finale, finale.record),
        "passed_over": [] if finale is None else [*map(skipped_trial_document, finale.skipped)],
        "test": None if finale is None or finale.test is None else document_of_test_score(finale.test),
        "ensemble": None if ensemble is None else dict(ensemble),
        "time_note": time_note,
        "parts": {name: asdict(each) for name, each in effort_by_part_of_auto(run.optimizer, outcome.records).items()},
        "learners": {name: asdict(each) for name, each in effort_by_learner(run.learner_key, outcome.records).items()},
        "scale": None if scale is None else {"origin": scale.origin, "width": scale.width},
        "hyperparameters": None if run.searched is None else run.searched.hyperparameters.value,
        "at_defaults": kept,
        "initial": [] if run.searched is None else [each.to_dict() for each in run.searched.initial],
        "remarks": list(outcome.remarks),
        "lost": [] if run.searched is None else list(run.searched.lost),
        "overhead": None
        if (own := outcome.overhead) is None
        else {"seconds": own.seconds, "trials": own.trials, "share": own.ratio_to_median_trial},
        **({"front": pareto_front_document(front, run.objectives)} if run.objectives else {}),
    }


def _refit(finale: "FinalFit", record: TrialRecord) -> dict[str, object]:
    return {
        "trial": record.index,
        "loss": record.trial.loss,
        "configuration": record.trial.request.configuration.to_dict(),
        "rows": finale.rows,
        "seconds": finale.seconds,
        "is_trial_model": finale.is_trial_model,
    }


def skipped_trial_document(each: "SkippedTrial") -> dict[str, object]:
    """Return what `run --json` prints of a trial whose pipeline could not be fitted on all rows."""
    return {"trial": each.record.index, "status": each.status.value, "reason": each.reason}


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _measurement(measured: Measurement) -> dict[str, object]:
    return {"value": _known(measured.value), "bound": measured.bound.limit, "holds": measured.holds}


def ensemble_document(ensemble: "Ensemble", metric: LossName) -> dict[str, object]:
    """Return what `run --json` prints of an ensemble.

    `score` and `test_score` are the scores on the held-out rows and on the test set, None if unknown.
    `loss` is the loss on the rows by which `members` were chosen (None without members), `losses` are those of the
    multisets of 1, 2, … votes on the way, `library` is the number of pipelines to choose from, `weight` the share of
    all votes, `seconds` the time of the fits, of each and of all. `left_out` could not be fitted on all `rows`.
    `time_note` is a sentence on what did not fit into the time of the run, otherwise empty.
    """
    return {
        "votes": len(ensemble.choice.models.order),
        "loss": ensemble.loss,
        "score": metric.maybe_score(ensemble.loss),
        "test_score": None if ensemble.test is None else metric.maybe_score(ensemble.test.loss),
        "losses": [*ensemble.choice.models.losses],
        "library": ensemble.choice.library,
        "members": [_member(member, weight) for member, weight in zip(ensemble.members, ensemble.weights, strict=True)],
        "left_out": [*map(skipped_trial_document, ensemble.left_out)],
        "rows": ensemble.rows,
        "seconds": ensemble.seconds,
        "time_note": ensemble.note,
        "test": None if ensemble.test is None else document_of_test_score(ensemble.test),
    }


def _member(member: "EnsembleMember", weight: float) -> dict[str, object]:
    trial = member.record.trial
    return {
        "trial": member.record.index,
        "votes": member.votes,
        "weight": weight,
        "loss": trial.loss,
        "configuration": trial.request.configuration.to_dict(),
        "seconds": member.seconds,
        "is_trial_model": member.is_trial_model,
    }
