"""A stored run as `spacelang show` and `spacelang runs` print it: as text, and as JSON.

Everything comes from the file, which may be a foreign one: nothing is imported because of it, and control characters
are made visible. The number of queries does not depend on the number of trials.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import NEGATED_PREFIX, FunctionBound, describe_bound, parse_bound
from spacelang.ir.trial import Status
from spacelang.ir.validation import KINDS, WordOption, describe_validation, make_validation
from spacelang.report.trial_results import (
    describe_constraints,
    describe_counts,
    describe_interval,
    format_value,
    most_frequent,
    score_document,
    sum_by_reason,
    value_text,
)
from spacelang.runtime.data.read_options import parse_data_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.header import UNNAMED_SPACE
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.runs import RunSummary, summarize_run
from spacelang.runtime.storage.trial_columns import trial_document
from spacelang.serialization.json_documents import decision_keys
from spacelang.shell import shell_word
from spacelang.text import count_with_noun, pad_columns

if TYPE_CHECKING:
    from spacelang.ir.trial import Measurement, Trial
    from spacelang.runtime.history import TrialRecord
    from spacelang.runtime.storage.header import RunHeader
    from spacelang.runtime.storage.stored_run import StoredRun


OPTION_NAME: Final = re.compile("[a-z][a-z-]*")  # The name of a command-line option, as stores hold it
UNTRUSTED_OPTIONS: Final = frozenset({"allow", "executor", "archive", "initial", "store"})
"""The options that a store, which may be a foreign file, must not choose: what is imported, opened and connected to."""
SHOWN_TRIALS: Final = 10  # The number of best trials that are shown
MAX_LENGTH: Final = 400  # The maximum length of a shown text in characters; longer texts are cut
MAX_COMMAND_LENGTH: Final = 4_000  # The same for a line to be copied into a shell, which is useless if it is cut

# ---- as JSON


def run_summary_document(run: RunSummary) -> dict[str, object]:
    """Return what `runs --json` prints of a run."""
    return {
        "store": str(run.path),
        "space": run.space,
        "data": run.data.name,
        **{name: getattr(run, name) for name in ("optimizer", "seed", "metric", "validation")},
        "state": run.state.value,
        "trials": run.trials,
        "loss": run.best,
        "feasible": run.feasible,
        "started": run.started,
        "seconds": run.seconds,
        "test": None if run.test is None else score_document(run.test),
    }


def document(run: "StoredRun", count: int = SHOWN_TRIALS) -> dict[str, object]:
    """Return what `show --json` prints of a run.

    It has what `runs --json` prints, the settings of the run, the failures, and in `best` the best `count` trials, best
    first. `configuration`, `trial` and `loss` are those of the first. `budget` is the budget with which the run was
    started: `seconds` summed over all workers. `ensemble` is its number of votes, or None if the store has none.
    `time_note` is a sentence on what did not fit into the time of the run, otherwise empty.
    `failures` counts failed trials by status, `reasons` by reason.
    """
    header, failures, test, best = run.header, run.failures, run.test, best_records(run, count)
    return {
        **run_summary_document(summarize_run(run)),
        "rows": header.data.rows,
        "columns": header.data.columns,
        "content": header.data.fingerprint,
        "options": parse_options(header.options),
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
        "failures": {kind.value: number for kind, number in count_failures_by_status(failures).items()},
        "reasons": sum_by_reason(failures),
        "infeasible": run.infeasible,
        "trial": best[0].index if best else None,
        "configuration": trial_document(best[0])["configuration"] if best else None,
        "incumbent": [{"seconds": point.seconds, "trial": point.trial, "loss": point.loss} for point in run.curve],
        "best": [*map(trial_document, best)],
        "tested": None if test is None else test.trial,
    }


def best_records(run: "StoredRun", count: int = SHOWN_TRIALS) -> "list[TrialRecord]":
    """Return the best trials, best first, at most one per configuration."""
    return [found for number in run.ranked(count) if (found := run.record(number)) is not None]


def _session(session: Any) -> dict[str, object]:
    names = ("number", "started", "ended", "ending", "seconds", "trials", "workers")
    return {name: getattr(session, name) for name in names} | {"versions": dict(session.versions)}


def count_failures_by_status(failures: Counter[tuple[Status, str]]) -> Counter[Status]:
    """Count the failed trials by status."""
    counts: Counter[Status] = Counter()
    for (kind, _), number in failures.items():
        counts[kind] += number
    return counts


# ---- as text


def text(run: "StoredRun", count: int = SHOWN_TRIALS) -> str:
    """Return what `show` prints: settings, incumbent, the best `count` trials, failures, and next steps."""
    found, best = summarize_run(run), best_records(run, count)
    parts = [
        [_line(f"{found.space} on {found.data.name} by {found.optimizer}: {found.state.value}")],
        [*_table(setting_rows(run, found))],
        [*_incumbent_lines(run, best)],
        [*_ranking_lines(run, best)],
        [*_failure_lines(run.failures)],
        [*_table(next_steps(run, found, has_best=bool(best)), MAX_COMMAND_LENGTH)],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def setting_rows(run: "StoredRun", found: RunSummary) -> Iterator[tuple[str, str]]:
    """Yield the settings of a run, each as a label and a text."""
    header = run.header
    options = ", ".join(f"{name}={_value(value)}" for name, value in parse_options(header.options).items())
    yield "data", f"{header.data}"
    yield "optimizer", f"{header.optimizer}{f' ({options})' if options else ''}, seed {header.seed}"
    if header.equal_seeds:
        yield "seed", header.equal_seeds
    yield "scored by", f"{header.metric}, {header.validation}, at most {header.training_size:,} training rows"
    yield from (("subject to", each) for each in header.bounds)
    yield from header.settings.items()
    if header.initial:
        yield "started from", count_with_noun(len(header.initial), "given configuration")
    seconds, trials = header.budget.seconds, header.budget.trials
    budget = [] if seconds is None else [f"{seconds:g} s summed over all workers"]
    if budget := budget + ([] if trials is None else [count_with_noun(trials, "trial")]):
        yield "budget", ", ".join(budget)
    if votes := run.requested_ensemble_votes:
        yield "ensemble", f"pipelines with {count_with_noun(votes, 'vote')} in total, as `--ensemble` asked for"
    yield "trials", f"{_trials(run, found)} in {found.seconds:.1f} s"
    if sessions := run.sessions:
        of = "" if len(sessions) == 1 else f", {len(sessions)} sessions"
        versions = ", ".join(f"{name} {said}" for name, said in sessions[-1].versions.items())
        yield "started", f"{found.started}{of}, with {versions}"


def _trials(run: "StoredRun", found: RunSummary) -> str:
    failed, beyond = run.failures.total(), run.infeasible
    more = [f"{failed:,} failed"] * bool(failed) + [f"{beyond:,} infeasible"] * bool(beyond)
    return ", ".join([count_with_noun(found.trials, "trial"), *more])


def _value(value: object) -> str:
    """Return the text of an option's value; for a nested plug-in, its name."""
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
    yield _line(f"Best {header.metric}: {trial.loss:.6g} (trial {record.index}{_rows(trial, header.training_size)})")
    yield from (_line(f"  {describe_bound(each.bound)}: {describe_measurement(each)}") for each in trial.constraints)
    yield from (_line(f"  {name}: {'undefined' if isnan(value) else f'{value:.6g}'}") for name, value in trial.metrics)
    if (test := run.test) is not None:
        which = "" if test.trial == record.index else f" for trial {test.trial}"
        yield _line(f"  test set ({test.score.rows} rows){which}: {describe_interval(test.score, header.metric)}")
        yield from (_line(f"  {each}") for each in describe_constraints(test.score, trial))
    if note := run.time_note:
        yield _line(f"  {note}")
    yield ""
    yield from _table((key, value_text(value)) for key, value in trial.request.configuration.items())


def describe_measurement(each: "Measurement") -> str:
    """Return the measured value of a bound, and whether it violates the bound."""
    value = "undefined" if isnan(each.value) else format_value(each.bound, each.value)
    return value if each.holds else f"{value}, which violates the bound"


def _rows(trial: "Trial", training_size: int) -> str:
    rows = trial.request.fidelity
    return "" if rows is None or rows >= training_size else f", on {rows:,} of {training_size:,} training rows"


def _ranking_lines(run: "StoredRun", best: "Sequence[TrialRecord]") -> Iterator[str]:
    if len(best) < 2:
        return
    decisions, size = decision_keys(run.header.definition), run.header.training_size
    rows = [("rank", "trial", "loss", "rows", "seconds", "pipeline")]
    for rank, record in enumerate(best, start=1):
        trial = record.trial
        loss = f"{trial.loss:.6g}{'' if trial.is_feasible else ' (infeasible)'}"
        numbers = (f"{rank}", f"{record.index}", loss, f"{trial.request.fidelity or size}", f"{trial.cost:.3g}")
        rows.append((*numbers, describe_alternatives(trial.request.configuration, decisions)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
        yield f"{'  '.join(cells)}  {_line(row[-1])}"


def describe_alternatives(configuration: Configuration, decisions: "Sequence[str]") -> str:
    """Return the chosen alternatives except `none` as text; all values if the keys `decisions` are empty."""
    said = ((key, configuration[key]) for key in decisions or configuration if key in configuration)
    return ", ".join(f"{key}={value_text(value)}" for key, value in said if value != "none")


def _failure_lines(failures: Counter[tuple[Status, str]]) -> Iterator[str]:
    if not failures:
        return
    chosen, others = most_frequent(failures)
    by_status = describe_counts(count_failures_by_status(failures))
    yield f"{count_with_noun(failures.total(), 'trial')} failed ({by_status}):"
    yield from (_line(f"  {number} x {reason}") for reason, number in chosen)
    if others:
        yield f"  and {count_with_noun(others, 'other reason')}"


# ---- lines


def _table(rows: Iterable[tuple[str, str]], longest: int = MAX_LENGTH) -> Iterator[str]:
    shown_rows = [(_line(name), _line(said, longest)) for name, said in rows]
    return (f"  {name}  {said}".rstrip() for name, said in pad_columns(shown_rows))


def _line(line: str, longest: int = MAX_LENGTH) -> str:
    return make_visible(line if len(line) <= longest else f"{line[: longest - 1]}…")


OPTIONS_UNKNOWN: Final = "; add its `--set`, `--allow` and `--bind` if it had any, which this store does not contain"
"""Added to the command that continues a run whose store was written by an earlier version."""
RUNGS_UNKNOWN: Final = "; add its `--b` and `--eta` if it had any: the store contains only the resulting rungs"
"""Added to the command that continues to make such a table."""
CONTINUATIONS: Final = {
    RunState.FINISHED: "resume the finished run with a larger budget:",
    RunState.RUNNING: "resume the run as soon as it has ended (it is still running):",
    RunState.INTERRUPTED: "resume the run from where it stopped:",
    RunState.KILLED: "resume the run from where it was killed:",
    RunState.UNKNOWN: "resume the run unless it is still running:",
}
"""When or from where a run continues, before the command that continues it."""


def next_steps(run: "StoredRun", found: RunSummary, *, has_best: bool) -> Iterator[tuple[str, str]]:
    """Yield the next steps for a run, each as a label and a text with a command."""
    header = run.header
    store, is_held = shell_word(str(run.path)), _is_in_memory(header)
    has_rows = bool(header.data.rows) and not header.data.name.startswith("table:")
    if has_best and has_rows:
        on, fitted = (" --data FILE", " --fitted-on FILE") if is_held else ("", "")
        yield "export", f"the best pipeline as code: `spacelang export {store}{on} -o pipeline.py`"
        if run.requested_ensemble_votes:
            yield "export", f"the ensemble as code: `spacelang export {store}{on} --ensemble -o ensemble.py`"
        yield "predict", f"the labels of new rows: `spacelang predict {store}{fitted} --data NEW`"
    if (call := _python_call(header)) is not None:
        own = f"optimizer={header.optimizer!r}, seed={header.seed}, store={str(run.path)!r}, resume=True"
        yield "continue", f"{CONTINUATIONS[found.state]} `{call}, {own})` in Python, with all other arguments as before"
        return
    data = f"--data {'FILE' if is_held else shell_word(header.data.name)}{_data_options(header)}"
    scoring = _scoring_options(header) if has_rows else ""
    space, repeated, unknown = _repeated_options(header)
    command, own_options, output = ("run", f" --optimizer {shell_word(header.optimizer)}", "")
    if header.optimizer == "tabulate":
        command, own_options, output = "tabulate", _hyperparameters_option(header), " -o TABLE.npz"
        unknown = f"{RUNGS_UNKNOWN}{unknown}"
    votes = run.requested_ensemble_votes
    settings = f"{own_options} --seed {header.seed}{f' --ensemble {votes}' if votes else ''}"
    line = f"spacelang {command}{space} {data}{scoring}{settings}{repeated} --store {store} --resume{output}"
    yield "continue", f"{CONTINUATIONS[found.state]} `{line}`{unknown}"


def _hyperparameters_option(header: "RunHeader") -> str:
    """Return the option `--hyperparameters` with which a tabulation was started; empty if it evaluates all values."""
    extent = parse_options(header.options).get("hyperparameters")
    return f" --hyperparameters {shell_word(extent)}" if isinstance(extent, str) and extent != "all" else ""


def _is_in_memory(header: "RunHeader") -> bool:
    """Return True if the rows were passed in memory, so that the name of the data is no file and no collection."""
    return bool(header.data.rows) and not {".", ":"} & {*header.data.name}


def _python_call(header: "RunHeader") -> str | None:
    """Return the start of the Python call that continues a run with functions or by ask and tell; else None."""
    if header.data.rows:
        has_functions = any(map(_is_function_bound, header.bounds))
        return "sl.search(SPACE, FEATURES, TARGET, constraints=…" if has_functions else None
    if header.data.name.startswith("function:"):
        return "sl.search(SPACE, objective=…"
    return "sl.ask_and_tell(SPACE" if header.data.name == "ask_and_tell" else None


def _is_function_bound(bound: str) -> bool:
    try:
        return isinstance(parse_bound(bound), FunctionBound)
    except (ValueError, LookupError):
        return False  # the store may be a foreign file with any text in it


def _repeated_options(header: "RunHeader") -> tuple[str, str, str]:
    """Return the space argument, the options to repeat, and a remark on options that the store does not contain."""
    asked = header.asked
    if asked is None:
        return " SPACE", "", OPTIONS_UNKNOWN
    # The options of the optimizer first, next to its name.
    names = (name for name in asked.keys() - UNTRUSTED_OPTIONS - {UNNAMED_SPACE} if OPTION_NAME.fullmatch(name))
    given = ""
    for name in sorted(names, key=lambda name: (name != "set", name)):
        given += "".join(f" --{name} {shell_word(text)}" for text in asked[name]) or f" --{name}"
    packages = [name if name.replace("-", "_").isidentifier() else "…" for name in asked.get("allow", ())]
    given += " --allow PACKAGE" * len(packages)
    remark = f"; the store names `{'`, `'.join(packages)}`: allow only packages that you trust" if packages else ""
    return "" if UNNAMED_SPACE in asked else " SPACE", given, remark


def _data_options(header: "RunHeader") -> str:
    """Return the options of the data; empty if invalid. `--test FILE` stands for a test file, whose path is unknown."""
    try:
        said = parse_data_options(header.data_options)
    except InputError:
        return ""
    return f"{said.command_options}{' --test FILE' if 'test' in header.settings and said.test is None else ''}"


def _scoring_options(header: "RunHeader") -> str:
    """Return the options for scoring and recording trials that differ from the task of the space."""
    settings, (scorers, split) = header.settings, _task_scoring(header.definition)
    scorer = scorer_of(header.metric)
    said: list[str] = []
    if not {scorer, scorer.removeprefix(NEGATED_PREFIX)} & {*scorers}:
        said.append(f"--metric {shell_word(scorer)}")
    # Other splits come with the data.
    if split != header.validation and header.validation.partition("(")[0] in KINDS:
        said.append(f"--validate {shell_word(header.validation)}")
    recorded = ("training_score", "predictions")
    said += [f"--{name.replace('_', '-')}" for name in recorded if settings.get(name) == "true"]
    if isinstance(metrics := parse_options(settings).get("metrics"), list):
        said.append(f"--metrics {shell_word(','.join(map(str, metrics)))}")
    return "".join(f" {each}" for each in said)


def scorer_of(formula: str) -> str:
    """Return the scorer whose loss has this formula: `roc_auc` for `1 - roc_auc`, `neg_log_loss` for `log_loss`."""
    score = formula.removeprefix("1 - ")
    return score if score != formula else f"{NEGATED_PREFIX}{formula}"


def _task_scoring(definition: str) -> tuple[tuple[str, ...], str]:
    """Return the scorers and the split in the task of a stored definition; empty if unknown."""
    try:
        document = json.loads(definition)
    except (ValueError, RecursionError):
        return (), ""
    task = document.get("task") if isinstance(document, dict) else None
    goal, split = (task.get(name) for name in ("goal", "validation")) if isinstance(task, dict) else (None, None)
    scorers = tuple(each for each in goal.values() if isinstance(each, str)) if isinstance(goal, dict) else ()
    return scorers, _describe_task_split(split) if isinstance(split, dict) else ""


def _describe_task_split(split: Mapping[str, Any]) -> str:
    """Return the validation of a task, from its JSON; empty if it is invalid."""
    kind = next((kind for kind in KINDS if kind in split), "")
    columns = [(name, column) for name in ("group", "by") if isinstance(column := split.get(name), str)]
    with suppress(ValueError, TypeError, KeyError):
        keeps: list[WordOption] = [("keep", None)] if split.get("keep") is True else []
        return describe_validation(make_validation(kind, split[kind], [*columns, *keeps]))
    return ""


def parse_options(options: Mapping[str, str]) -> dict[str, object]:
    """Return the options of an optimizer, parsed from JSON. A text that is not valid JSON stays a string."""
    found: dict[str, object] = {}
    for name, text in options.items():
        try:
            found[name] = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            found[name] = text
    return found
