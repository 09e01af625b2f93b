"""The short answer of a run: scores, the pipeline, the trials and where the time went, and the next steps."""

from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import describe_bound
from spacelang.ir.trial import Measurement, sort_key
from spacelang.ir.validation import describe_validation_rows
from spacelang.report.pipeline_lines import pareto_front_lines, pipeline_lines
from spacelang.report.run_facts import (
    ENDINGS,
    NO_FINAL_WORK,
    FinalWorkResult,
    RunFacts,
    describe_learner_seconds,
    describe_parts_of_auto,
    effort_by_learner,
    effort_by_part_of_auto,
)
from spacelang.report.trial_results import (
    count_failures_by_reason,
    describe_constraints_on_test_set,
    describe_failure_counts,
    describe_failure_reasons,
    describe_test_score,
    format_bound_value,
    format_metric_value,
    format_test_score_with_interval,
    most_frequent_failure_reasons,
    sum_failures_by_status,
)
from spacelang.runtime.history import Outcome, TrialRecord, pareto_front
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from spacelang.runtime.ensembles.construction import Ensemble, EnsembleMember, EnsembleSelection

LEAST_SHOWN_SECONDS: Final = 0.05  # Less is shown as 0.0 s
MAX_STEPS: Final = 8  # The maximum number of steps of a pipeline that are shown


def print_summary(
    outcome: Outcome,
    run: RunFacts,
    console: Console,
    after: FinalWorkResult = NO_FINAL_WORK,
    next_steps: Sequence[str] = (),
) -> None:
    """Print the summary, without colours if the console is no terminal."""
    for line in summary_lines(outcome, run, after, next_steps):
        console.print(line, soft_wrap=True)


def summary_lines(
    outcome: Outcome,
    run: RunFacts,
    after: FinalWorkResult = NO_FINAL_WORK,
    next_steps: Sequence[str] = (),
) -> Iterator[Text]:
    """Yield the lines of the summary: scores, the pipeline, the trials and their time, the store, and next steps.

    `after` has the results of the work after the search, such as the fit on all rows and the ensemble.
    """
    best = None if run.objectives else outcome.best
    if run.objectives and outcome.best is not None:
        front = pareto_front(outcome.records, run.training_size)
        yield from map(Text, pareto_front_lines(front, run.objectives, _decision_order(run)))
        yield Text()
    else:
        yield from _headline(outcome, run)
    yield from map(Text, _lines_after_search(run, after))
    shown = best if after.finale is None or after.finale.record is None else after.finale.record
    if shown is not None and len(configuration := _configuration_of(shown)) > 0:
        yield Text()
        yield from _pipeline(configuration, run)
        yield Text()
    if best is not None:
        yield from _constraints(outcome)
        yield from map(Text, (*_initial_line(outcome, run), *_recorded_line(best)))
    if run.searched is not None and run.searched.unsearched_hyperparameters_sentence:
        remedy = f"; {run.searched.remedy}" if run.searched.remedy else ""
        yield Text(f"Not searched: {run.searched.unsearched_hyperparameters_sentence}{remedy}.", style="yellow")
    yield from map(Text, filter(None, (run.preparation, *outcome.remarks)))
    yield from _failures(outcome)
    yield Text(_trials_line(outcome, run))
    yield Text(_time_line(outcome, run, after))
    if run.equal_seeds:
        yield Text(f"{_sentence(run.equal_seeds)}.", style="dim")
    if run.starting_points is not None and (advice := run.starting_points.budget_advice(outcome)):
        yield Text(advice, style="yellow")
    if run.store is not None:
        yield Text(f"Saved to {run.store}")
    if next_steps:
        yield Text("\nNext:")
        yield from (Text(f"  {each}", style="cyan") for each in next_steps)


def _headline(outcome: Outcome, run: RunFacts) -> Iterator[Text]:
    best = outcome.best
    if best is None or best.trial.loss is None:
        yield Text("No trial succeeded.", style="bold red")
        return
    if not best.trial.is_feasible:
        warning = "No trial satisfies all constraints of the task. This one violates them least."
        yield Text(warning, style="bold red")
    rows = "" if run.validation is None else describe_validation_rows(run.validation)
    loss, metric = best.trial.loss, run.metric
    text = Text(f"Best {metric.score_name}{rows}: ", style="bold")
    text.append(f"{metric.score(loss):.6g}", style="bold green").append(
        metric.describe_interval(*run.loss_interval(loss))
    )
    text.append(f" ({', '.join(filter(None, (f'trial {best.index}', metric.describe_loss(loss))))})")
    fidelity = best.trial.request.fidelity
    if outcome.incumbent is None and fidelity is not None and fidelity < run.training_size:
        text.append(f", on {fidelity} of {run.training_size} training rows")
        text.append(": no trial had all of them" if best.trial.is_feasible else "")
    yield text


def _lines_after_search(run: RunFacts, after: FinalWorkResult) -> Iterator[str]:
    """Yield lines on the fit on all rows, the score on the test set, and the ensemble."""
    finale, metric = after.finale, run.metric
    if finale is not None:
        yield from (f"The fit of trial {each.record.index} on all {finale.rows} rows failed: {each.reason}"
                    for each in finale.skipped)  # fmt: skip
        if finale.skipped and finale.record is not None and finale.record.trial.loss is not None:
            yield f"The next best is trial {finale.record.index}, with {metric.describe(finale.record.trial.loss)}:"
        if finale.test is not None and finale.record is not None:
            yield _sentence(describe_test_score(finale.test, metric))
            yield from describe_constraints_on_test_set(finale.test, finale.record.trial)
    if after.ensemble is not None:
        yield from _ensemble_lines(after.ensemble, run)
    notes = (each.note for each in (finale, after.ensemble) if each is not None)
    yield from (f"{_sentence(note)}." for note in (*notes, *after.notes) if note)


def _ensemble_lines(ensemble: "Ensemble", run: RunFacts) -> Iterator[str]:
    yield from (
        f"The fit of trial {each.record.index}, a member of the ensemble, failed: {each.reason}"
        for each in ensemble.left_out
    )
    if not ensemble.members or ensemble.loss is None:
        return
    votes, members = sum(each.votes for each in ensemble.members), len(ensemble.members)
    text = f"Ensemble of {count_with_noun(members, 'pipeline')} with {count_with_noun(votes, 'vote')}"
    text += f": {run.metric.describe(ensemble.loss)} on the held-out rows, by which it was chosen"
    if ensemble.test is not None:
        text += f"; test set: {format_test_score_with_interval(ensemble.test, run.metric)}"
    yield text


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _configuration_of(record: TrialRecord) -> Configuration:
    return record.trial.request.configuration


def _pipeline(configuration: Configuration, run: RunFacts) -> Iterator[Text]:
    order = _decision_order(run)
    marks = {} if run.searched is None else run.searched.value_remarks(configuration)
    lines = pipeline_lines(configuration, order, marks)
    yield from map(Text, lines[:MAX_STEPS])
    if len(lines) > MAX_STEPS:
        yield Text(f"  and {len(lines) - MAX_STEPS} more, which `spacelang show` lists")


def _decision_order(run: RunFacts) -> list[str]:
    return [] if run.searched is None else [choice.key for choice in run.searched.space.decisions]


def _initial_line(outcome: Outcome, run: RunFacts) -> Iterator[str]:
    initial = () if run.searched is None else run.searched.initial
    if not initial:
        return
    whole = [each for each in outcome.records if each.trial.request.fidelity is None]
    known = [each for each in whole if each.trial.loss is not None and _configuration_of(each) in initial]
    text = f"Started from {count_with_noun(len(initial), 'given configuration')}"
    if known:
        best = min(known, key=lambda each: sort_key(each.trial))
        score = f"{run.metric.describe(best.trial.loss or 0.0)} (trial {best.index})"
        text += f", which has {score}" if len(initial) == 1 else f", the best of which has {score}"
    yield f"{text}."


def _constraints(outcome: Outcome) -> Iterator[Text]:
    best = outcome.best
    if best is None or not best.trial.constraints:
        return
    for measured in best.trial.constraints:
        yield _constraint(measured).append(_other_trials(outcome, measured))
    succeeded = len(outcome.records) - outcome.failed
    share = f"{succeeded - outcome.infeasible} of {count_with_noun(succeeded, 'successful trial')}"
    text = f"Feasible: {share} ({100 * (outcome.feasible_share or 0.0):.3g} %)."
    yield Text(text, style="yellow" if outcome.infeasible else "")


def _recorded_line(best: TrialRecord) -> Iterator[str]:
    found = [f"{name} {format_metric_value(value)}" for name, value in best.trial.metrics]
    if best.trial.training_loss is not None:
        found.append(f"training loss {best.trial.training_loss:.6g}")
    if found:
        yield f"Also recorded: {', '.join(found)}."


def _constraint(measured: Measurement) -> Text:
    bound, value = measured.bound, measured.value
    text = Text(f"Subject to {describe_bound(bound)}: {format_bound_value(bound, value)}")
    if measured.holds:
        return text
    beyond = f" by {format_bound_value(bound, value - bound.limit)}" if value > bound.limit else ""
    return text.append(f", which violates the bound{beyond}", style="bold red")


def _other_trials(outcome: Outcome, measured: Measurement) -> str:
    if measured.holds or outcome.feasible_share:
        return ""
    bound = measured.bound
    found = [each.value for record in outcome.records for each in record.trial.constraints if each.bound == bound]
    keeping = sum(map(bound.is_satisfied_by, found))
    if keeping:
        return f"; {count_with_noun(keeping, 'trial')} {'satisfies' if keeping == 1 else 'satisfy'} this bound"
    known = [value for value in found if not isnan(value)]
    return f"; the smallest value of any trial is {format_bound_value(bound, min(known))}" if known else ""


def _failures(outcome: Outcome) -> Iterator[Text]:
    """Yield one line on failed trials with the most frequent reason, or nothing if no trial failed.

    If no trial succeeded, yield a headline and a line for each of the most frequent reasons.
    """
    if not outcome.failed:
        return
    failures = count_failures_by_reason(outcome.records)
    kinds = sum_failures_by_status(failures)
    which = f" ({describe_failure_counts(kinds)})" if len(kinds) > 1 else ""
    head = f"{count_with_noun(outcome.failed, 'trial')} failed{which}"
    if outcome.best is not None:
        ((reason, count), *_), _ = most_frequent_failure_reasons(failures)
        often = "" if count == outcome.failed else f"most often ({count} x): "
        yield Text(f"{head}, {often}{reason}" if often else f"{head}: {reason}", style="yellow")
        return
    yield Text(f"{head}:", style="yellow")
    yield from (Text(f"  {line}") for line in describe_failure_reasons(failures))


def _trials_line(outcome: Outcome, run: RunFacts) -> str:
    trials = f"{count_with_noun(len(outcome.records), 'trial')} with {run.optimizer}, seed {run.seed}"
    if parts := describe_parts_of_auto(effort_by_part_of_auto(run.optimizer, outcome.records)):
        trials += f" ({parts})"
    ending = ENDINGS[outcome.ended] if run.searched is None else run.searched.end_reason_text(outcome.ended)
    effort = f"{trials}: {ending}."
    ends = (outcome.unfinished, "trial", "still running"), (outcome.wasted_speculative, "speculative trial", "not used")
    for number, noun, end in ends:
        if number:
            effort += f" {count_with_noun(number, noun)} {'was' if number == 1 else 'were'} {end}."
    return effort


def _time_line(outcome: Outcome, run: RunFacts, after: FinalWorkResult) -> str:
    details, going = [describe_learner_seconds(effort_by_learner(run.learner_key, outcome.records))], outcome.unfinished
    if details[0] and outcome.unfinished_seconds >= LEAST_SHOWN_SECONDS:
        details[0] += f", {count_with_noun(going, 'unfinished trial')} {outcome.unfinished_seconds:.1f} s"
    overhead = outcome.overhead
    if overhead is not None and overhead.seconds:
        share = (
            ""
            if overhead.ratio_to_median_trial is None
            else f", {_share_text(overhead.ratio_to_median_trial)} the median trial"
        )
        details.append(f"optimizer {overhead.seconds_per_trial:.2g} s per trial{share}")
    inside = "; ".join(filter(None, details))
    parts = [] if after.start_seconds is None else [f"start {after.start_seconds:.1f} s"]
    parts.append(f"search {outcome.seconds:.1f} s{f' ({inside})' if inside else ''}")
    if after.finale is not None and after.finale.record is not None:
        rows = "" if after.finale.is_trial_model else f" on all {after.finale.rows} rows"
        parts.append(f"fit{rows} {after.finale.seconds:.1f} s")
    if after.ensemble is not None and after.ensemble.members:
        parts.append(f"ensemble {after.ensemble.seconds:.1f} s")
    if (left := after.seconds_left) is not None:
        parts.append(f"ended {abs(left):.1f} s {'before' if left >= 0 else 'after'} the time was up")
    return f"Time: {', '.join(parts)}."


def _share_text(share: float) -> str:
    return f"{share:,.0f} times" if share >= 1 else f"{100 * share:.2g} % of"


def describe_ensemble(choice: "EnsembleSelection") -> str:
    """Describe the ensemble: the numbers of pipelines and votes, and how many pipelines there were to choose from."""
    votes = count_with_noun(len(choice.models.order), "vote")
    pipelines = count_with_noun(len(choice.members), "pipeline")
    return f"ensemble of {pipelines} with {votes}, chosen from {choice.library} candidates"


def describe_member_weights(members: "Sequence[EnsembleMember]") -> str:
    """Describe the weights of the members, the largest first: `weights: trial 2 9/16, trial 5 7/16`."""
    ranked = sorted(members, key=lambda member: (-member.votes, member.record.index))
    votes = sum(member.votes for member in members)
    return f"weights: {', '.join(f'trial {each.record.index} {each.votes}/{votes}' for each in ranked)}"
