"""A stored run as `spacelang show` and `spacelang runs` print it: as text, and as JSON.

Everything comes from the file, which may be a foreign one: nothing is imported because of it, and control characters
are made visible. The number of queries does not depend on the number of trials.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from spacelang.catalog.snapshot import BUNDLED
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import describe_bound
from spacelang.ir.trial import LossName
from spacelang.report.next_steps import allowed_packages, describe_limits, read_run_limits, suggest_next_steps
from spacelang.report.pipeline_lines import pareto_front_document, pareto_front_lines, pipeline_lines
from spacelang.report.trial_results import (
    Reason,
    describe_constraints_on_test_set,
    describe_failure_counts,
    describe_failure_reasons,
    document_of_test_score,
    format_bound_value,
    format_configuration_value,
    format_metric_value,
    format_named_test_score_with_interval,
    sum_failures_by_reason,
    sum_failures_by_status,
    summarize_held_out_rows,
)
from spacelang.runtime.history import pareto_front
from spacelang.runtime.storage.run_header import MISSING_VALUES_SETTING, OBJECTIVES_SETTING, stored_objective_names
from spacelang.runtime.storage.run_listing import RunSummary, summarize_run
from spacelang.runtime.storage.trial_columns import trial_to_json
from spacelang.serialization.json_documents import decision_keys_in_definition
from spacelang.text import count_with_noun, pad_table_columns, shorten

if TYPE_CHECKING:
    from spacelang.ir.trial import Measurement, Trial
    from spacelang.runtime.history import TrialRecord
    from spacelang.runtime.storage.run_header import RunHeader
    from spacelang.runtime.storage.stored_run import StoredRun


SHOWN_TRIALS: Final = 10  # The number of best trials that are shown
MAX_LENGTH: Final = 400  # The maximum length of a shown text in characters; longer texts are cut
MAX_COMMAND_LENGTH: Final = 4_000  # The same for a line to be copied into a shell, which is useless if it is cut

# ---- as JSON


def run_summary_document(run: RunSummary) -> dict[str, object]:
    """Return what `runs --json` prints of a run.

    `score` and `test_score` are the scores that the losses stand for, and `score_name` is their name. A run with
    several objectives has no loss and no score, because no trial is the best.
    """
    metric, best = LossName.of_formula(run.metric), None if run.objectives else run.best
    return {
        "store": str(run.path),
        "space": run.space,
        "data": run.data.name,
        **{name: getattr(run, name) for name in ("optimizer", "seed", "metric", "validation")},
        "state": run.state.value,
        "trials": run.trials,
        "loss": best,
        "score": metric.maybe_score(best),
        "score_name": metric.score_name,
        "test_score": None if run.test is None else metric.maybe_score(run.test.loss),
        "feasible": run.feasible,
        "started": run.started,
        "seconds": run.seconds,
        "test": None if run.test is None else document_of_test_score(run.test),
    }


def stored_run_document(run: "StoredRun", count: int = SHOWN_TRIALS) -> dict[str, object]:
    """Return what `show --json` prints of a run.

    It has what `runs --json` prints, the settings of the run, the failures, and in `best` the best `count` trials, best
    first. `configuration`, `trial` and `loss` are those of the first. `budget` is the budget with which the run was
    started: `seconds` summed over all workers. `ensemble` is its number of votes, or None if the store has none.
    `time_note` is a sentence on what did not fit into the time of the run, otherwise empty.
    `failures` counts failed trials by status, `reasons` by reason. What `run --json` has as well is described by
    `grammars/result.schema.json`: a run with several objectives has its `front`, and no best trial.
    """
    header, failures, test = run.header, run.failure_counts, run.test_score
    names = stored_objective_names(header)
    best = [] if names else best_trial_records(run, count)
    return {
        **run_summary_document(summarize_run(run)),
        "rows": header.data.rows,
        "columns": header.data.columns,
        "content": header.data.fingerprint,
        "options": parse_optimizer_options(header.options),
        "settings": dict(header.settings),
        "bounds": [*header.bounds],
        "training_size": header.training_size,
        "budget": asdict(header.budget),
        "ensemble": run.requested_ensemble_votes,
        "time_note": run.time_note,
        "initial": len(header.initial or ()),
        "versions": dict(header.versions),
        "sessions": [_session(each) for each in run.sessions],
        "failed": failures.total(),
        "failures": {kind.value: number for kind, number in sum_failures_by_status(failures).items()},
        "reasons": sum_failures_by_reason(failures),
        "infeasible": run.infeasible_count,
        "trial": best[0].index if best else None,
        "configuration": trial_to_json(best[0])["configuration"] if best else None,
        "incumbent": [] if names else [*map(asdict, run.incumbent_curve)],
        "best": [*map(trial_to_json, best)],
        "tested": None if test is None else test.trial,
        **({"front": pareto_front_document(stored_pareto_front(run), names)} if names else {}),
    }


def best_trial_records(run: "StoredRun", count: int = SHOWN_TRIALS) -> "list[TrialRecord]":
    """Return the best `count` trials, best first, at most one per configuration."""
    return [found for number in run.best_trial_numbers(count) if (found := run.record(number)) is not None]


def _session(session: Any) -> dict[str, object]:
    names = ("number", "started", "ended", "ending", "seconds", "trials", "workers")
    return {name: getattr(session, name) for name in names} | {"versions": dict(session.versions)}


# ---- as text


def stored_run_text(run: "StoredRun", count: int = SHOWN_TRIALS) -> str:
    """Return the text that `show` prints: settings, incumbent, the best `count` trials, failures and next steps."""
    found, best = summarize_run(run), best_trial_records(run, count)
    names = stored_objective_names(run.header)
    steps = [_line(f"  {step.line}", MAX_COMMAND_LENGTH) for step in suggest_next_steps(run, has_best=bool(best))]
    if packages := ", ".join(f"`{name}`" for name in allowed_packages(run.header) if name not in BUNDLED):
        steps.insert(0, f"(PACKAGE: the run was allowed to import {packages}; allow only packages that you trust)")
    parts = [
        [_line(f"{found.space} on {found.data.name} by {found.optimizer}: {found.state.value}")],
        [*_table(run_setting_rows(run, found))],
        *([[*_front_lines(run, count)]] if names and best else []),
        *([] if names and best else [[*_incumbent_lines(run, best)], [*_ranking_lines(run, best)]]),
        [*_failure_lines(run.failure_counts)],
        ["Next:", *steps] if steps else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _scoring_text(header: "RunHeader") -> str:
    """Return the score of a run with its validation and training rows; a function or a formula has neither."""
    metric = LossName.of_formula(header.metric)
    name = metric.score_name if metric.is_loss_the_score else f"{metric.score_name} (loss {metric.formula})"
    if header.validation != "none":
        return f"{name}, {header.validation}, at most {header.training_size:,} training rows"
    return name if header.training_size == 1 else f"{name}, fidelity up to {header.training_size:,}"


def run_setting_rows(run: "StoredRun", found: RunSummary) -> Iterator[tuple[str, str]]:
    """Yield the settings of a run, each as a label and a text."""
    header = run.header
    options = ", ".join(f"{name}={_value(value)}" for name, value in parse_optimizer_options(header.options).items())
    yield "data", f"{header.data}"
    yield "optimizer", f"{header.optimizer}{f' ({options})' if options else ''}, seed {header.seed}"
    if header.equal_seeds:
        yield "seed", header.equal_seeds
    yield "scored by", _scoring_text(header)
    if names := stored_objective_names(header):
        yield "objectives", f"minimize {', '.join(each.formula for each in names)}"
    yield from (("subject to", each) for each in header.bounds)
    for name, value in header.settings.items():
        if name == MISSING_VALUES_SETTING:
            yield name, value.replace("numbered by", "handled by", 1)  # the stored text never changes
        elif name != OBJECTIVES_SETTING:
            yield name, value
    if header.initial:
        yield "started from", count_with_noun(len(header.initial), "given configuration")
    if budget := ", ".join(describe_limits(read_run_limits(run))):
        yield "budget", budget
    if votes := run.requested_ensemble_votes:
        yield "ensemble", f"pipelines with {count_with_noun(votes, 'vote')} in total"
    yield "trials", f"{_trials(run, found)} in {found.seconds:.1f} s"
    if sessions := run.sessions:
        of = "" if len(sessions) == 1 else f", {len(sessions)} sessions"
        versions = ", ".join(f"{name} {version}" for name, version in sessions[-1].versions.items())
        yield "started", f"{found.started}{of}, with {versions}"


def _trials(run: "StoredRun", found: RunSummary) -> str:
    failed, beyond = run.failure_counts.total(), run.infeasible_count
    more = [f"{failed:,} failed"] * bool(failed) + [f"{beyond:,} infeasible"] * bool(beyond)
    return ", ".join([count_with_noun(found.trials, "trial"), *more])


def _value(value: object) -> str:
    """Return the value of an option as text: a string itself, the name of a nested plug-in, or JSON."""
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else json.dumps(value)


def _incumbent_lines(run: "StoredRun", best: "Sequence[TrialRecord]") -> Iterator[str]:
    if not best:
        yield "No trial has succeeded."
        return
    record, header = best[0], run.header
    trial = record.trial
    if not trial.is_feasible:
        yield "No trial satisfies all constraints. This one violates them least."
    metric, loss = LossName.of_formula(header.metric), trial.loss or 0.0
    interval = metric.describe_interval(*summarize_held_out_rows(header).interval_ends(loss))
    facts = filter(None, (f"trial {record.index}{_rows(trial, header.training_size)}", metric.describe_loss(loss)))
    yield _line(f"Best {metric.score_name}: {metric.score(loss):.6g}{interval} ({', '.join(facts)})")
    yield from (_line(f"  {describe_bound(each.bound)}: {describe_measurement(each)}") for each in trial.constraints)
    yield from (_line(f"  {name}: {format_metric_value(value)}") for name, value in trial.metrics)
    if (test := run.test_score) is not None:
        which = "" if test.trial == record.index else f" for trial {test.trial}"
        yield _line(
            f"  test set ({test.score.rows} rows){which}: {format_named_test_score_with_interval(test.score, metric)}"
        )
        yield from (_line(f"  {each}") for each in describe_constraints_on_test_set(test.score, trial))
    if note := run.time_note:
        yield _line(f"  {note}")
    yield ""
    yield from map(_line, pipeline_lines(trial.request.configuration, decision_keys_in_definition(header.definition)))


def describe_measurement(each: "Measurement") -> str:
    """Return the measured value of a bound, and whether it violates the bound."""
    value = format_bound_value(each.bound, each.value)
    return value if each.holds else f"{value}, which violates the bound"


def _rows(trial: "Trial", training_size: int) -> str:
    rows = trial.request.fidelity
    return "" if rows is None or rows >= training_size else f", on {rows:,} of {training_size:,} training rows"


def _front_lines(run: "StoredRun", count: int) -> Iterator[str]:
    names, front = stored_objective_names(run.header), stored_pareto_front(run)
    yield from map(_line, pareto_front_lines(front, names, decision_keys_in_definition(run.header.definition), count))


def stored_pareto_front(run: "StoredRun") -> "tuple[TrialRecord, ...]":
    """Return the Pareto front of a run with several objectives; otherwise an empty tuple."""
    names = [each.formula for each in stored_objective_names(run.header)]
    if not names:
        return ()
    whole = (each for each in run.records() if [name for name, _ in each.trial.objectives] == names)
    return pareto_front(whole, run.header.training_size)


def _ranking_lines(run: "StoredRun", best: "Sequence[TrialRecord]") -> Iterator[str]:
    if len(best) < 2:
        return
    decisions, size = decision_keys_in_definition(run.header.definition), run.header.training_size
    metric = LossName.of_formula(run.header.metric)
    losses = () if metric.is_loss_the_score else ("loss",)
    rows = [("rank", "trial", metric.score_name, *losses, "rows", "seconds", "pipeline")]
    for rank, record in enumerate(best, start=1):
        trial = record.trial
        loss, infeasible = trial.loss or 0.0, "" if trial.is_feasible else " (infeasible)"
        scores = (f"{metric.score(loss):.6g}{infeasible}", *(f"{loss:.6g}" for _ in losses))
        numbers = (f"{rank}", f"{record.index}", *scores, f"{trial.request.fidelity or size}", f"{trial.cost:.3g}")
        rows.append((*numbers, describe_alternatives(trial.request.configuration, decisions)))
    shown_rows = [[*map(_line, row)] for row in rows]
    yield from map("  ".join, pad_table_columns(shown_rows, str.rjust))


def describe_alternatives(configuration: Configuration, decisions: "Sequence[str]") -> str:
    """Return the chosen alternatives of a configuration as text, except `none`.

    If `decisions` is empty, because the space is unknown, the text has all values.
    """
    values = ((key, configuration[key]) for key in decisions or configuration if key in configuration)
    return ", ".join(f"{key}={format_configuration_value(value)}" for key, value in values if value != "none")


def _failure_lines(failures: Counter[Reason]) -> Iterator[str]:
    if not failures:
        return
    by_status = describe_failure_counts(sum_failures_by_status(failures))
    yield f"{count_with_noun(failures.total(), 'trial')} failed ({by_status}):"
    yield from (_line(f"  {line}") for line in describe_failure_reasons(failures))


# ---- lines


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    shown_rows = [(_line(name), _line(text)) for name, text in rows]
    return (f"  {name}  {text}".rstrip() for name, text in pad_table_columns(shown_rows))


def _line(line: str, longest: int = MAX_LENGTH) -> str:
    return replace_unprintable(shorten(line, longest))


def parse_optimizer_options(options: Mapping[str, str]) -> dict[str, object]:
    """Return the options of an optimizer, parsed from JSON. A text that is not valid JSON stays a string."""
    found: dict[str, object] = {}
    for name, text in options.items():
        try:
            found[name] = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            found[name] = text
    return found
