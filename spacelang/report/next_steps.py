"""Next steps for a stored run: command lines that export its pipeline, predict with it, and continue the run."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from spacelang.ir.task import NEGATED_PREFIX, FunctionBound, parse_bound
from spacelang.runtime.data.read_options import read_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.header import RESUME_OPTIONS, UNNAMED_SPACE
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.runs import RunSummary

if TYPE_CHECKING:
    from spacelang.runtime.storage.header import RunHeader
    from spacelang.runtime.storage.stored_run import StoredRun

OPTIONS_UNKNOWN: Final = "; add its `--set`, `--allow` and `--bind` if it had any, which this store does not contain"
"""Added to the command that continues a run whose store was written by an earlier version."""

FUNCTION_PREFIX: Final = "function:"
"""The prefix of the data name of a run whose loss is computed by a function."""

TABLE_PREFIX: Final = "table:"
"""The prefix of the data name of a run whose losses come from a table."""

TABULATE: Final = "tabulate"
"""The name of the optimizer in the store of a run that makes a table."""

RUNGS_UNKNOWN: Final = "; add its `--b` and `--eta` if it had any: the store contains only the resulting rungs"
"""Added to the command that continues to make such a table."""

ASK_AND_TELL: Final = "ask_and_tell"
"""The data name of a run in which the caller evaluates the configurations."""

RECORDED: Final = ("training_score", "predictions")
"""What is recorded of trials only if the option of the same name is given."""

CONTINUATIONS: Final = {
    RunState.FINISHED: "with a larger budget:",
    RunState.RUNNING: "once the run, which is still running, has ended:",
    RunState.INTERRUPTED: "from where the run stopped:",
    RunState.KILLED: "from where the run was killed:",
    RunState.UNKNOWN: "unless the run is still running:",
}
"""When or from where a run continues, before the command that continues it."""


def next_steps(run: "StoredRun", found: RunSummary, *, has_best: bool) -> Iterator[tuple[str, str]]:
    """Yield the next steps for a run, each as a label and a text with a command."""
    header = run.header
    store, is_held = shlex.quote(str(run.path)), _is_in_memory(header)
    has_rows = bool(header.data.rows) and not header.data.name.startswith(TABLE_PREFIX)
    if has_best and has_rows:
        on, fitted = (" --data FILE", " --fitted-on FILE") if is_held else ("", "")
        yield "export", f"the best pipeline as code: `spacelang export {store}{on} -o pipeline.py`"
        if run.requested_ensemble_votes:
            yield "export", f"the ensemble as code: `spacelang export {store}{on} --ensemble -o ensemble.py`"
        yield "predict", f"new rows: `spacelang predict {store}{fitted} --data NEW`"
    if (call := _python_call(header)) is not None:
        own = f"optimizer={header.optimizer!r}, seed={header.seed}, store={str(run.path)!r}, resume=True"
        yield "continue", f"{CONTINUATIONS[found.state]} `{call}, {own})` in Python, with all other arguments as before"
        return
    data = f"--data {'FILE' if is_held else shlex.quote(header.data.name)}{_data_options(header)}"
    judged = _scoring_options(header) if has_rows else ""
    space, said, unknown = _repeated_options(header)
    by, way, output = ("run", f" --optimizer {shlex.quote(header.optimizer)}", "")
    if header.optimizer == TABULATE:
        by, way, output = "tabulate", _hyperparameters_option(header), " -o TABLE.npz"
        unknown = f"{RUNGS_UNKNOWN}{unknown}"
    votes = run.requested_ensemble_votes
    facts = f"{way} --seed {header.seed}{f' --ensemble {votes}' if votes else ''}"
    line = f"spacelang {by}{space} {data}{judged}{facts}{said} --store {store} --resume{output}"
    yield "continue", f"{CONTINUATIONS[found.state]} `{line}`{unknown}"


def _hyperparameters_option(header: "RunHeader") -> str:
    """Return the option for the hyperparameters of a table, or an empty string if the table has all values."""
    extent = parse_options(header.options).get("hyperparameters")
    return f" --hyperparameters {shlex.quote(extent)}" if isinstance(extent, str) and extent != "all" else ""


def _is_in_memory(header: "RunHeader") -> bool:
    """Return True if the rows were passed in memory, so that the name of the data is no file and no collection."""
    return bool(header.data.rows) and not {".", ":"} & {*header.data.name}


def _python_call(header: "RunHeader") -> str | None:
    """Return the start of the Python call that continues a run; None if a command can continue it.

    Python is needed for a run with a function as its objective or among its constraints, and for an ask-and-tell run.
    """
    if header.data.rows:
        return (
            "sl.search(SPACE, FEATURES, TARGET, constraints=…" if any(map(_is_function_bound, header.bounds)) else None
        )
    if header.data.name.startswith(FUNCTION_PREFIX):
        return "sl.search(SPACE, objective=…"
    return "sl.ask_and_tell(SPACE" if header.data.name == ASK_AND_TELL else None


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
    said = [f" --{name} {shlex.quote(text)}" for name in RESUME_OPTIONS for text in asked.get(name, ())]
    return "" if UNNAMED_SPACE in asked else " SPACE", "".join(said), ""


def _data_options(header: "RunHeader") -> str:
    """Return the options that describe the data; empty if a foreign store has invalid ones.

    If the test set was a file of its own, `--test FILE` is added: the store knows its content, but not its path.
    """
    try:
        said = read_options(header.data_options)
    except InputError:
        return ""
    return (
        f"{said.command_options} --test FILE"
        if "test" in header.settings and said.test is None
        else said.command_options
    )


def _scoring_options(header: "RunHeader") -> str:
    """Return the options for scoring and recording trials that differ from the task of the space."""
    settings, (scorers, split) = header.settings, _task_scoring(header.definition)
    scorer = scorer_of(header.metric)
    said: list[str] = []
    if not {scorer, scorer.removeprefix(NEGATED_PREFIX)} & {*scorers}:
        said.append(f"--metric {shlex.quote(scorer)}")
    # Other splits come with the data.
    if split != header.validation and header.validation.startswith(("holdout(", "cv(")):
        said.append(f"--validate {shlex.quote(header.validation)}")
    said += [f"--{name.replace('_', '-')}" for name in RECORDED if settings.get(name) == "true"]
    if isinstance(metrics := parse_options(settings).get("metrics"), list):
        said.append(f"--metrics {shlex.quote(','.join(map(str, metrics)))}")
    return "".join(f" {each}" for each in said)


def scorer_of(formula: str) -> str:
    """Return the scorer whose loss has this formula.

    The scorer of `1 - roc_auc` is `roc_auc`, and that of `log_loss` is `neg_log_loss`.
    """
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
    return scorers, "".join(f"{name}({share})" for name, share in split.items()) if isinstance(split, dict) else ""


def parse_options(options: Mapping[str, str]) -> dict[str, object]:
    """Return the options of an optimizer, parsed from JSON. A text that is not valid JSON stays a string."""
    found: dict[str, object] = {}
    for name, text in options.items():
        try:
            found[name] = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            found[name] = text
    return found
