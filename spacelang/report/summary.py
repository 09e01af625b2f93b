"""The result of a run: a short text for people, and a JSON document for programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.text import Text

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import describe_bound
from spacelang.ir.trial import UNIT_SCALE, Measurement, describe_scale, sort_key
from spacelang.ir.validation import Validation, describe_validation, describe_validation_rows
from spacelang.report.effort import describe_efforts, effort_by_learner, effort_by_part
from spacelang.report.search_coverage import ENDINGS, SearchCoverage
from spacelang.report.trial_results import (
    count_failures_by_reason,
    count_failures_by_status,
    describe_counts,
    format_value,
    most_frequent,
    score_document,
    sum_by_reason,
    value_text,
)
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.objective import PositiveClass
from spacelang.runtime.storage.header import LossName
from spacelang.runtime.storage.trial_columns import finite_or_none
from spacelang.text import count_with_noun, pad_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spacelang.runtime.ensembles.construction import Ensemble, EnsembleSelection, Member
    from spacelang.runtime.final_fit import FinalFit, SkippedTrial


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a run that its outcome does not contain.

    `store` is None if the run is not stored. `learner_key` is the key of the decision by which time is listed, if any.
    """

    optimizer: str
    seed: int
    metric: LossName
    training_size: int
    preparation: str = ""
    store: str | None = None
    validation: Validation | None = None
    searched: SearchCoverage | None = None
    positive: PositiveClass | None = None
    learner_key: str = ""
    equal_seeds: str = ""  # What runs with the same seed have in common


def document(
    outcome: Outcome,
    run: RunFacts,
    finale: "FinalFit | None" = None,
    ensemble: Mapping[str, object] | None = None,
    time_note: str = "",
) -> dict[str, object]:
    """Return what `run --json` prints.

    - `loss`, `configuration`, `fidelity`: of the best trial; None if no trial succeeded. `fidelity` is the number
      of training rows of the best trial, None for all of them.
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
    - `positive_class`: the label that metrics such as `f1` are about; None if no metric is about one class.
    """
    best, scale = outcome.best, outcome.scale
    measured = () if best is None else best.trial.constraints
    kept = [] if run.searched is None or best is None else run.searched.keys_at_default(_configuration_of(best))
    return {
        "loss": None if best is None else best.trial.loss,
        "metric": run.metric.name,
        "configuration": None if best is None else best.trial.request.configuration.to_dict(),
        "fidelity": best.trial.request.fidelity if best is not None and outcome.incumbent is None else None,
        "positive_class": None if run.positive is None else run.positive.json_label,
        "validation": None if run.validation is None else describe_validation(run.validation),
        "feasible": best is not None and best.trial.is_feasible,
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
        "incumbent": [{"seconds": point.seconds, "trial": point.trial, "loss": point.loss} for point in outcome.curve],
        "ended": outcome.ended.value,
        "preparation": run.preparation,
        "failures": {kind.value: count for kind, count in count_failures_by_status(outcome.records).items()},
        "reasons": sum_by_reason(count_failures_by_reason(outcome.records)),
        "unfinished": outcome.unfinished,
        "unneeded": outcome.wasted_speculative,
        "refit": None if finale is None or finale.record is None else _refit(finale, finale.record),
        "passed_over": [] if finale is None else [*map(skipped_trial_document, finale.skipped)],
        "test": None if finale is None or finale.test is None else score_document(finale.test),
        "ensemble": None if ensemble is None else dict(ensemble),
        "time_note": time_note,
        "parts": {name: each.to_json() for name, each in effort_by_part(run.optimizer, outcome.records).items()},
        "learners": {
            name: each.to_json() for name, each in effort_by_learner(run.learner_key, outcome.records).items()
        },
        "scale": None if scale is None else _attributes(scale, "origin", "width"),
        "hyperparameters": None if run.searched is None else run.searched.hyperparameters.value,
        "at_defaults": kept,
        "initial": [] if run.searched is None else [each.to_dict() for each in run.searched.initial],
        "remarks": list(outcome.remarks),
        "lost": [] if run.searched is None else list(run.searched.lost),
        "overhead": None if (own := outcome.overhead) is None else _attributes(own, "seconds", "trials", "share"),
    }


def _attributes(found: object, *names: str) -> dict[str, object]:
    return {name: getattr(found, name) for name in names}


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


def print_summary(outcome: Outcome, run: RunFacts, console: Console) -> None:
    """Print the summary, without colours if the console is no terminal."""
    console.print(summary(outcome, run), soft_wrap=True)


def summary(outcome: Outcome, run: RunFacts) -> RenderableType:
    """Return the summary: best loss and configuration, preparation, failures, optimizer overhead and effort."""
    parts: list[RenderableType] = [_headline(outcome, run)]
    if outcome.best is not None and len(best := _configuration_of(outcome.best)) > 0:
        parts.append(_table(best, {} if run.searched is None else run.searched.value_remarks(best)))
    parts += [*_coverage_lines(run), *_initial_line(outcome, run), *_constraints(outcome), *_recorded_line(outcome)]
    if run.positive is not None:
        parts.append(Text(f"{run.positive.description}."))
    if run.preparation:
        parts.append(Text(run.preparation))
    efforts = (
        effort_by_part(run.optimizer, outcome.records),
        effort_by_learner(run.learner_key, outcome.records),
    )
    parts += [
        *_failures(outcome),
        *_scale(outcome),
        *map(Text, outcome.remarks),
        *map(Text, describe_efforts(*efforts)),
    ]
    parts += _overhead(outcome)
    parts += _equal_seeds(run)
    return Group(*parts, _effort(outcome, run))


def _headline(outcome: Outcome, run: RunFacts) -> Text:
    best = outcome.best
    if best is None:
        return Text("No trial succeeded.", style="bold red")
    rows = "" if run.validation is None else describe_validation_rows(run.validation)
    text = Text.assemble((f"Best {run.metric.formula}{rows}: ", "bold"), (f"{best.trial.loss:.6g}", "bold green"))
    text.append(f" (trial {best.index})")
    fidelity = best.trial.request.fidelity
    if outcome.incumbent is None and fidelity is not None and fidelity < run.training_size:
        text.append(f", on {fidelity} of {run.training_size} training rows")
        text.append(": no trial had all of them" if best.trial.is_feasible else "")
    if not best.trial.is_feasible:
        warning = "No trial satisfies all constraints of the task. This one violates them least.\n"
        return Text.assemble((warning, "bold red"), text)
    return text


def _configuration_of(record: TrialRecord) -> Configuration:
    return record.trial.request.configuration


def _table(configuration: Configuration, marks: Mapping[str, str]) -> Text:
    """Return the configuration with one line per key, without trailing blanks, so that it can be copied."""
    rows = [(key, value_text(value)) for key, value in configuration.items()]
    text = Text("\n")
    for key, (name, value) in zip(configuration, pad_columns(rows), strict=True):
        text.append(f"  {name}", style="cyan").append(f"  {value}")
        text.append(f"  ({marks[key]})\n" if key in marks else "\n", style="dim")
    return text


def _coverage_lines(run: RunFacts) -> list[Text]:
    if run.searched is None:
        return []
    said, remedy = run.searched.unsearched_hyperparameters_sentence, run.searched.remedy
    lines = [f"Not searched: {said}{f'; {remedy}' if remedy else ''}."] if said else []
    return [Text(line, style="yellow") for line in (*lines, *(f"Approximated: {each}." for each in run.searched.lost))]


def _initial_line(outcome: Outcome, run: RunFacts) -> list[Text]:
    initial = () if run.searched is None else run.searched.initial
    if not initial:
        return []
    whole = [each for each in outcome.records if each.trial.request.fidelity is None]
    known = [each for each in whole if each.trial.loss is not None and _configuration_of(each) in initial]
    text = f"Started from {_count(len(initial), 'given configuration')}"
    if known:
        best = min(known, key=lambda each: sort_key(each.trial))
        loss = f"{best.trial.loss:.6g} (trial {best.index})"
        text += f", which has the loss {loss}" if len(initial) == 1 else f", the best of which has the loss {loss}"
    return [Text(f"{text}.")]


def _constraints(outcome: Outcome) -> list[Text]:
    best = outcome.best
    if best is None or not best.trial.constraints:
        return []
    lines = [_constraint(measured).append(_other_trials(outcome, measured)) for measured in best.trial.constraints]
    succeeded = len(outcome.records) - outcome.failed
    share = f"{succeeded - outcome.infeasible} of {_count(succeeded, 'successful trial')}"
    text = f"Feasible: {share} ({100 * (outcome.feasible_share or 0.0):.3g} %)."
    return [*lines, Text(text, style="yellow" if outcome.infeasible else "")]


def _recorded_line(outcome: Outcome) -> list[Text]:
    best = outcome.best
    if best is None:
        return []
    found = [f"{name} {'undefined' if isnan(value) else f'{value:.6g}'}" for name, value in best.trial.metrics]
    if best.trial.training_loss is not None:
        found.append(f"training loss {best.trial.training_loss:.6g}")
    return [Text(f"Also recorded: {', '.join(found)}.")] if found else []


def _constraint(measured: Measurement) -> Text:
    bound, value = measured.bound, measured.value
    text = Text(f"Subject to {describe_bound(bound)}: {'undefined' if isnan(value) else format_value(bound, value)}")
    if measured.holds:
        return text
    beyond = f" by {format_value(bound, value - bound.limit)}" if value > bound.limit else ""
    return text.append(f", which violates the bound{beyond}", style="bold red")


def _other_trials(outcome: Outcome, measured: Measurement) -> str:
    if measured.holds or outcome.feasible_share:
        return ""
    bound = measured.bound
    found = [each.value for record in outcome.records for each in record.trial.constraints if each.bound == bound]
    keeping = sum(map(bound.is_satisfied_by, found))
    if keeping:
        return f"; {_count(keeping, 'trial')} {'satisfies' if keeping == 1 else 'satisfy'} this bound"
    known = [value for value in found if not isnan(value)]
    return f"; the smallest value of any trial is {format_value(bound, min(known))}" if known else ""


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _measurement(measured: Measurement) -> dict[str, object]:
    return {"value": _known(measured.value), "bound": measured.bound.limit, "holds": measured.holds}


def _failures(outcome: Outcome) -> list[Text]:
    if not outcome.failed:
        return []
    shown, others = most_frequent(count_failures_by_reason(outcome.records))
    kinds = count_failures_by_status(outcome.records)
    which = f" ({describe_counts(kinds)})" if len(kinds) > 1 else ""
    head = Text(f"{_count(outcome.failed, 'trial')} failed{which}:", style="yellow")
    more = [Text(f"  and {_count(others, 'other reason')}")] if others else []
    return [head, *(Text(f"  {count} x {reason}") for reason, count in shown), *more]


def _scale(outcome: Outcome) -> list[Text]:
    if outcome.scale is None or outcome.scale == UNIT_SCALE:
        return []
    return [Text(f"The optimizer gets a normalized loss from 0 to 1: {describe_scale(outcome.scale)}.", style="dim")]


def _overhead(outcome: Outcome) -> list[Text]:
    overhead = outcome.overhead
    if overhead is None or not overhead.seconds:
        return []
    share = overhead.share
    times = f"{share:,.0f} times" if share is not None and share >= 1 else f"{100 * (share or 0.0):.2g} % of"
    compared = "" if share is None else f" ({times} the median trial)"
    return [Text(f"Optimizer overhead: {overhead.seconds_per_trial:.2g} s per trial{compared}.", style="dim")]


def _effort(outcome: Outcome, run: RunFacts) -> Text:
    trials = f"{_count(len(outcome.records), 'trial')} in {outcome.seconds:.1f} s"
    ending = ENDINGS[outcome.ended] if run.searched is None else run.searched.end_reason_text(outcome.ended)
    effort = f"{trials} with {run.optimizer}, seed {run.seed}: {ending}."
    ends = (outcome.unfinished, "trial", "still running"), (outcome.wasted_speculative, "speculative trial", "not used")
    for number, noun, end in ends:
        if number:
            effort += f" {_count(number, noun)} {'was' if number == 1 else 'were'} {end}."
    return Text(effort if run.store is None else f"{effort} Saved to {run.store}", style="dim")


def _equal_seeds(run: RunFacts) -> list[Text]:
    if not run.equal_seeds:
        return []
    return [Text(f"{run.equal_seeds[0].upper()}{run.equal_seeds[1:]}.", style="dim")]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ensemble_document(ensemble: "Ensemble") -> dict[str, object]:
    """Return what `run --json` prints of an ensemble.

    `loss` is the loss on the rows by which `members` were chosen (None without members), `losses` are those of the
    multisets of 1, 2, … votes on the way, `library` is the number of pipelines to choose from, `weight` the share of
    all votes, `seconds` the time of the fits, of each and of all. `left_out` could not be fitted on all `rows`.
    `time_note` is a sentence on what did not fit into the time of the run, otherwise empty.
    """
    return {
        "votes": len(ensemble.choice.models.order),
        "loss": ensemble.loss,
        "losses": [*ensemble.choice.models.losses],
        "library": ensemble.choice.library,
        "members": [_member(member, weight) for member, weight in zip(ensemble.members, ensemble.weights, strict=True)],
        "left_out": [*map(skipped_trial_document, ensemble.left_out)],
        "rows": ensemble.rows,
        "seconds": ensemble.seconds,
        "time_note": ensemble.note,
        "test": None if ensemble.test is None else score_document(ensemble.test),
    }


def _member(member: "Member", weight: float) -> dict[str, object]:
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


def describe_ensemble(choice: "EnsembleSelection") -> str:
    """Describe the ensemble: the numbers of pipelines and votes, and how many pipelines there were to choose from."""
    votes = count_with_noun(len(choice.models.order), "vote")
    pipelines = count_with_noun(len(choice.members), "pipeline")
    return f"ensemble of {pipelines} with {votes}, chosen from the {choice.library} best pipelines"


def describe_weights(members: "Sequence[Member]") -> str:
    """Describe the weights of the members, the largest first: `weights: trial 2 9/16, trial 5 7/16`."""
    ranked = sorted(members, key=lambda member: (-member.votes, member.record.index))
    votes = sum(member.votes for member in members)
    return f"weights: {', '.join(f'trial {each.record.index} {each.votes}/{votes}' for each in ranked)}"
