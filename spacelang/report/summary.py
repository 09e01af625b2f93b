"""What a run found: for people as a short text, for programs as one JSON document."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.text import Text

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import literal
from spacelang.ir.scale import UNIT, describe_scale
from spacelang.ir.task import Validation, describe_bound, describe_validation, judged_on
from spacelang.ir.trial import Measurement, order_of
from spacelang.report.failures import by_kind, most_frequent, reasons, told
from spacelang.report.reached import score_document, shown
from spacelang.report.searched import ENDINGS, Searched
from spacelang.runtime.history import Outcome, Overhead, Record
from spacelang.runtime.loss_name import LossName, PositiveClass

if TYPE_CHECKING:
    from spacelang.runtime.final import Finale, PassedOver


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the outcome of a run does not know: who searched for what, and where it is stored (None: nowhere)."""

    optimizer: str
    seed: int
    metric: LossName
    training_size: int
    preparation: str = ""
    store: str | None = None
    validation: Validation | None = None
    searched: Searched | None = None
    positive: PositiveClass | None = None


def document(
    outcome: Outcome, run: RunFacts, finale: "Finale | None" = None, ensemble: Mapping[str, object] | None = None
) -> dict[str, object]:
    """What `run --json` prints; `loss`, `configuration` and `fidelity` are None where no trial succeeded.

    `fidelity` is the number of training rows of the best trial, None for all of them. `constraints` has what was
    measured of it for each bound of the task (None where it is undefined), `feasible` whether it keeps to all of them,
    `excess` by how many times its bound each is broken, summed up; `feasible_share` is how many of the successful
    trials keep to all of them, from 0 to 1, and `incumbent` lists feasible trials only. `failures` counts failed trials
    by their status, `reasons` by why they failed; `unfinished` are those that the end of the run cut short, `unneeded`
    those asked for ahead in vain. `refit` is the trial whose pipeline was fitted on all rows, None where there is none,
    `passed_over` the better ones whose could not be, `test` its score on the rows that no trial saw, and what it
    reaches there of each bound. By `scale` losses stood, for the optimizer, at (loss - origin) / width; it is None
    without a success to fix it by. `hyperparameters` are `searched`, drawn `once` for each pipeline, or at their
    `default`; `at_defaults` has the keys of the configuration that were kept there. `initial` are the configurations
    that the run began with, `remarks` what the optimizer has said of how it went. `ensemble` is as given, None where
    none was wanted. `lost` is what the form on which the optimizer searches has not of the space. `overhead` has the
    `seconds` that the optimizer took for itself in the latest session, of how many `trials`, and which `share` of the
    median trial's seconds that is for each; it is None where there was no trial. `positive_class` is the label of which
    `f1` and the like are, None where nothing is that is measured.
    """
    best, scale = outcome.best, outcome.scale
    measured = () if best is None else best.trial.constraints
    return {
        "loss": None if best is None else best.trial.loss,
        "metric": run.metric.name,
        "configuration": None if best is None else best.trial.request.configuration.to_dict(),
        "fidelity": best.trial.request.fidelity if best is not None and outcome.incumbent is None else None,
        "positive_class": None if run.positive is None else run.positive.plain,
        "validation": None if run.validation is None else describe_validation(run.validation),
        "feasible": best is not None and best.trial.is_feasible,
        "infeasible": outcome.infeasible,
        "feasible_share": outcome.feasible_share,
        "excess": None if best is None else _finite(best.trial.excess),
        "constraints": {each.bound.name: _measurement(each) for each in measured},
        "metrics": {} if best is None else {name: _known(value) for name, value in best.trial.metrics},
        "training_loss": None if best is None else best.trial.training_loss,
        "trials": len(outcome.records),
        "failed": outcome.failed,
        "seconds": outcome.seconds,
        "optimizer": run.optimizer,
        "seed": run.seed,
        "store": run.store,
        "incumbent": [{"seconds": point.seconds, "trial": point.trial, "loss": point.loss} for point in outcome.curve],
        "ended": outcome.ended.value,
        "preparation": run.preparation,
        "failures": {kind.value: count for kind, count in by_kind(outcome.records).items()},
        "reasons": _reasons(outcome),
        "unfinished": outcome.unfinished,
        "unneeded": outcome.unneeded,
        "refit": None if finale is None or finale.record is None else _refit(finale, finale.record),
        "passed_over": [] if finale is None else [*map(passed_over, finale.passed_over)],
        "test": None if finale is None or finale.test is None else score_document(finale.test),
        "ensemble": None if ensemble is None else dict(ensemble),
        "scale": None if scale is None else {"origin": scale.origin, "width": scale.width},
        "hyperparameters": None if run.searched is None else run.searched.hyperparameters.value,
        "at_defaults": [] if run.searched is None or best is None else run.searched.at_defaults(_of(best)),
        "initial": [] if run.searched is None else [each.to_dict() for each in run.searched.initial],
        "remarks": list(outcome.remarks),
        "lost": [] if run.searched is None else list(run.searched.lost),
        "overhead": None if outcome.overhead is None else _overhead_document(outcome.overhead),
    }


def _overhead_document(overhead: Overhead) -> dict[str, object]:
    return {"seconds": overhead.seconds, "trials": overhead.trials, "share": overhead.share}


def _refit(finale: "Finale", record: Record) -> dict[str, object]:
    return {
        "trial": record.index,
        "loss": record.trial.loss,
        "configuration": record.trial.request.configuration.to_dict(),
        "rows": finale.rows,
        "seconds": finale.seconds,
    }


def passed_over(each: "PassedOver") -> dict[str, object]:
    """What `run --json` prints of a trial whose pipeline could not be fitted on all rows."""
    return {"trial": each.record.index, "status": each.status.value, "reason": each.reason}


def _reasons(outcome: Outcome) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for (_, reason), count in reasons(outcome.records).most_common():
        counts[reason] += count
    return dict(counts)


def print_summary(outcome: Outcome, run: RunFacts, console: Console) -> None:
    """Print the summary; a console that is no terminal gets it without colours."""
    console.print(summary(outcome, run), soft_wrap=True)


def summary(outcome: Outcome, run: RunFacts) -> RenderableType:
    """The best loss with its configuration, the preparation, the failures and the effort."""
    parts: list[RenderableType] = [_headline(outcome, run)]
    if outcome.best is not None and len(_of(outcome.best)) > 0:
        parts.append(_table(_of(outcome.best), {} if run.searched is None else run.searched.marks(_of(outcome.best))))
    parts.extend(_searched(run))
    parts.extend(_initial(outcome, run))
    parts.extend(_constraints(outcome))
    parts.extend(_recorded(outcome))
    parts.extend(_positive(run))
    if run.preparation:
        parts.append(Text(run.preparation))
    parts.extend(_failures(outcome))
    parts.extend(_scale(outcome))
    parts.extend(Text(remark) for remark in outcome.remarks)
    parts.extend(_overhead(outcome))
    parts.append(_effort(outcome, run))
    return Group(*parts)


def _headline(outcome: Outcome, run: RunFacts) -> Text:
    best = outcome.best
    if best is None:
        return Text("No trial succeeded.", style="bold red")
    rows = "" if run.validation is None else judged_on(run.validation)
    text = Text.assemble((f"Best {run.metric.formula}{rows}: ", "bold"), (f"{best.trial.loss:.6g}", "bold green"))
    text.append(f" (trial {best.index})")
    fidelity = best.trial.request.fidelity
    if outcome.incumbent is None and fidelity is not None and fidelity < run.training_size:
        text.append(f", on {fidelity} of {run.training_size} training rows")
        text.append(": no trial had all of them" if best.trial.is_feasible else "")
    if not best.trial.is_feasible:
        warning = "No trial keeps to all that the task is subject to. This is the one that breaks it the least.\n"
        return Text.assemble((warning, "bold red"), text)
    return text


def _of(record: Record) -> Configuration:
    return record.trial.request.configuration


def _table(configuration: Configuration, marks: Mapping[str, str]) -> Text:
    """One line a key; without the blanks at line ends that a drawn table has, for those who copy or compare it."""
    width = max(map(len, configuration))
    text = Text("\n")
    for key, value in configuration.items():
        # A decision for `none` is no value and a word is no string to be quoted: both are shown as they are called.
        text.append(f"  {key:<{width}}", style="cyan")
        text.append(f"  {value if isinstance(value, str) and value.isprintable() else literal(value)}")
        text.append(f"  ({marks[key]})\n" if key in marks else "\n", style="dim")
    return text


def _searched(run: RunFacts) -> list[Text]:
    """What was not searched, what searches it, and what of the space the optimizer has not heard of."""
    if run.searched is None:
        return []
    said, remedy = run.searched.sentence, run.searched.remedy
    lines = [f"Not searched: {said}{f'; {remedy}' if remedy else ''}."] if said else []
    return [Text(line, style="yellow") for line in (*lines, *(f"Not kept: {each}." for each in run.searched.lost))]


def _initial(outcome: Outcome, run: RunFacts) -> list[Text]:
    """With how many given configurations the run began, and what the best of them came to on all rows."""
    initial = () if run.searched is None else run.searched.initial
    if not initial:
        return []
    whole = [each for each in outcome.records if each.trial.request.fidelity is None and _of(each) in initial]
    known = [each for each in whole if each.trial.loss is not None]
    text = f"Begun with {_count(len(initial), 'given configuration')}"
    if known:
        best = min(known, key=lambda each: order_of(each.trial))
        which = "which" if len(initial) == 1 else "the best of which"
        text += f", {which} came to {best.trial.loss:.6g} (trial {best.index})"
    return [Text(f"{text}.")]


def _constraints(outcome: Outcome) -> list[Text]:
    """What was measured of the best trial, and how many trials break a bound."""
    best = outcome.best
    if best is None or not best.trial.constraints:
        return []
    lines = [_constraint(measured).append(_others(outcome, measured)) for measured in best.trial.constraints]
    succeeded = len(outcome.records) - outcome.failed
    share = f"{succeeded - outcome.infeasible} of {_count(succeeded, 'successful trial')}"
    text = f"Feasible: {share} ({100 * (outcome.feasible_share or 0.0):.3g} %)."
    return [*lines, Text(text, style="yellow" if outcome.infeasible else "")]


def _positive(run: RunFacts) -> list[Text]:
    """Of which class metrics are that are of one alone."""
    return [] if run.positive is None else [Text(f"{run.positive.sentence}.")]


def _recorded(outcome: Outcome) -> list[Text]:
    """What else was recorded of the best trial."""
    best = outcome.best
    if best is None:
        return []
    found = [f"{name} {'undefined' if isnan(value) else f'{value:.6g}'}" for name, value in best.trial.metrics]
    if best.trial.training_loss is not None:
        found.append(f"the loss on the training rows {best.trial.training_loss:.6g}")
    return [Text(f"Recorded beside it: {', '.join(found)}.")] if found else []


def _constraint(measured: Measurement) -> Text:
    bound, value = measured.bound, measured.value
    text = Text(f"Subject to {describe_bound(bound)}: {'undefined' if isnan(value) else shown(bound, value)}")
    if measured.holds:
        return text
    beyond = f" by {shown(bound, value - bound.limit)}" if value > bound.limit else ""
    return text.append(f", which breaks it{beyond}", style="bold red")


def _others(outcome: Outcome, measured: Measurement) -> str:
    """Where no trial keeps to all bounds, what others have of one that is broken: whether anything keeps to that."""
    if measured.holds or outcome.feasible_share:
        return ""
    bound = measured.bound
    found = [each.value for record in outcome.records for each in record.trial.constraints if each.bound == bound]
    keeping = sum(map(bound.holds, found))
    if keeping:
        return f"; {_count(keeping, 'trial')} {'keeps' if keeping == 1 else 'keep'} to this one"
    known = [value for value in found if not isnan(value)]
    return f"; the least of any trial is {shown(bound, min(known))}" if known else ""


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _measurement(measured: Measurement) -> dict[str, object]:
    return {"value": _known(measured.value), "bound": measured.bound.limit, "holds": measured.holds}


def _failures(outcome: Outcome) -> list[Text]:
    if not outcome.failed:
        return []
    shown, others = most_frequent(reasons(outcome.records))
    kinds = by_kind(outcome.records)
    which = f" ({told(kinds)})" if len(kinds) > 1 else ""
    lines = [Text(f"{_count(outcome.failed, 'trial')} failed{which}:", style="yellow")]
    lines.extend(Text(f"  {count} x {reason}") for reason, count in shown)
    if others:
        lines.append(Text(f"  and {_count(others, 'other reason')}"))
    return lines


def _scale(outcome: Outcome) -> list[Text]:
    """What the optimizer took for the loss, where that was not the loss itself."""
    if outcome.scale is None or outcome.scale == UNIT:
        return []
    return [Text(f"Standing of a loss, for the optimizer: {describe_scale(outcome.scale)}, from 0 to 1.", style="dim")]


def _overhead(outcome: Outcome) -> list[Text]:
    """What the optimizer took for itself: the seconds for each trial, and which share of a trial's that is."""
    overhead = outcome.overhead
    if overhead is None or not overhead.seconds:
        return []
    share = "" if overhead.share is None else f", {_multiple(overhead.share)} the median trial's"
    return [Text(f"The optimizer took {overhead.of_a_trial:.2g} s for each trial{share}.", style="dim")]


def _multiple(share: float) -> str:
    return f"{100 * share:.2g} % of" if share < 1 else f"{share:,.0f} times"


def _effort(outcome: Outcome, run: RunFacts) -> Text:
    trials = _count(len(outcome.records), "trial")
    seconds = f"{outcome.seconds:.1f} s"
    ending = ENDINGS[outcome.ended] if run.searched is None else run.searched.ending(outcome.ended)
    effort = f"{trials} in {seconds} with {run.optimizer}, seed {run.seed}: {ending}."
    if outcome.unfinished:
        verb = "was" if outcome.unfinished == 1 else "were"
        effort += f" {outcome.unfinished} more {verb} not finished by then."
    if outcome.unneeded:
        verb = "was" if outcome.unneeded == 1 else "were"
        effort += f" {outcome.unneeded} of them {verb} asked for ahead and not needed."
    return Text(effort if run.store is None else f"{effort} Kept in {run.store}", style="dim")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
