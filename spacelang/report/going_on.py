"""What can be done with a stored run: lines that take it away, predict by it, and go on with it, to be pasted."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from spacelang.ir.task import NEGATED, FunctionBound, read_bound
from spacelang.runtime.data.options import read_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.storing.header import SAID_AGAIN, UNNAMED
from spacelang.runtime.storing.runs import Summary
from spacelang.runtime.storing.stored import RunState

if TYPE_CHECKING:
    from spacelang.runtime.storing.header import Header
    from spacelang.runtime.storing.stored_run import StoredRun

UNKNOWN: Final = "; with its own `--set`, `--allow` and `--bind`, if it had any: this store does not know them"
"""What is said of the store of an earlier version behind how to go on with it."""

OF_A_FUNCTION: Final = "function:"
"""How the data of a run is called whose loss a function says."""

OF_A_TABLE: Final = "table:"
"""How the data of a run is called that a table of losses answers."""

TABULATE: Final = "tabulate"
"""What the store of a table that is being made has for an optimizer."""

OF_RUNGS: Final = "; with its own `--b` and `--eta`, if it had any: the store knows the rungs alone"
"""What is said behind how to go on with such a table."""

BY_THE_CALLER: Final = "ask_and_tell"
"""How it is called where the caller does."""

RECORDED: Final = ("training_score", "predictions")
"""What is recorded of trials only where it is asked for by an option of its name."""

GOES_ON: Final = {
    RunState.FINISHED: "with more to spend, by",
    RunState.RUNNING: "it goes on; once it has ended, by",
    RunState.INTERRUPTED: "where it stopped, by",
    RunState.KILLED: "where it was killed, by",
    RunState.UNKNOWN: "unless it still does, by",
}


def further(run: "StoredRun", found: Summary, *, has_best: bool) -> Iterator[tuple[str, str]]:
    """What can be done with the run."""
    header = run.header
    store, is_held = shlex.quote(str(run.path)), _is_held(header)
    has_rows = bool(header.data.rows) and not header.data.name.startswith(OF_A_TABLE)
    if has_best and has_rows:
        on, fitted = (" --data FILE", " --fitted-on FILE") if is_held else ("", "")
        yield "take away", f"the best pipeline as code: `spacelang export {store}{on} -o pipeline.py`"
        if run.votes:
            yield "take away", f"the ensemble as code: `spacelang export {store}{on} --ensemble -o ensemble.py`"
        yield "predict", f"new rows by it: `spacelang predict {store}{fitted} --data NEW`"
    if (call := _call(header)) is not None:
        own = f"optimizer={header.optimizer!r}, seed={header.seed}, store={str(run.path)!r}, resume=True"
        yield "go on", f"{GOES_ON[found.state]} `{call}, {own})` in Python, all else as it was begun"
        return
    data = f"--data {'FILE' if is_held else shlex.quote(header.data.name)}{_data_options(header)}"
    judged = _judging_options(header) if has_rows else ""
    space, said, unknown = _asked_again(header)
    by, way, output = ("run", f" --optimizer {shlex.quote(header.optimizer)}", "")
    if header.optimizer == TABULATE:
        by, way, output = "tabulate", _extent(header), " -o TABLE.npz"
        unknown = f"{OF_RUNGS}{unknown}"
    facts = f"{way} --seed {header.seed}{f' --ensemble {run.votes}' if run.votes else ''}"
    line = f"spacelang {by}{space} {data}{judged}{facts}{said} --store {store} --resume{output}"
    yield "go on", f"{GOES_ON[found.state]} `{line}`{unknown}"


def _extent(header: "Header") -> str:
    """Of which hyperparameters a table is made, where it is not all of them."""
    extent = read_settings(header.options).get("hyperparameters")
    return f" --hyperparameters {shlex.quote(extent)}" if isinstance(extent, str) and extent != "all" else ""


def _is_held(header: "Header") -> bool:
    """Whether the rows were held by a program, so that their name leads to no file and to no collection."""
    return bool(header.data.rows) and not {".", ":"} & {*header.data.name}


def _call(header: "Header") -> str | None:
    """The beginning of the call of Python that goes on with a run, where no command can: of a function, with one."""
    if header.data.rows:
        return "sl.search(SPACE, FEATURES, TARGET, constraints=…" if any(map(_is_own, header.bounds)) else None
    if header.data.name.startswith(OF_A_FUNCTION):
        return "sl.search(SPACE, objective=…"
    return "sl.ask_and_tell(SPACE" if header.data.name == BY_THE_CALLER else None


def _is_own(bound: str) -> bool:
    """Whether a bound is of a function that the user wrote."""
    try:
        return isinstance(read_bound(bound), FunctionBound)
    except (ValueError, LookupError):
        return False  # a stranger's store may have any text in its place


def _asked_again(header: "Header") -> tuple[str, str, str]:
    """Whether a space was named, what else was said for the run, and what of that the store does not know."""
    asked = header.asked
    if asked is None:
        return " SPACE", "", UNKNOWN
    said = [f" --{name} {shlex.quote(text)}" for name in SAID_AGAIN for text in asked.get(name, ())]
    return "" if UNNAMED in asked else " SPACE", "".join(said), ""


def _data_options(header: "Header") -> str:
    """How the data was given, behind its name; nothing where a stranger's store says what nobody can give.

    The store knows the content of rows for testing that were in a file of their own, but not where that is.
    """
    try:
        said = read_options(header.data_options)
    except InputError:
        return ""
    return f"{said.line} --test FILE" if "test" in header.settings and said.test is None else said.line


def _judging_options(header: "Header") -> str:
    """How trials are judged and what is recorded of them, where the task of the space does not say that by itself."""
    settings, (scorers, split) = header.settings, _said_by_task(header.definition)
    scorer = scorer_of(header.metric)
    said: list[str] = []
    if not {scorer, scorer.removeprefix(NEGATED)} & {*scorers}:
        said.append(f"--metric {shlex.quote(scorer)}")
    # Other splits are those that data brings along.
    if split != header.validation and header.validation.startswith(("holdout(", "cv(")):
        said.append(f"--validate {shlex.quote(header.validation)}")
    said += [f"--{name.replace('_', '-')}" for name in RECORDED if settings.get(name) == "true"]
    if isinstance(metrics := read_settings(settings).get("metrics"), list):
        said.append(f"--metrics {shlex.quote(','.join(map(str, metrics)))}")
    return "".join(f" {each}" for each in said)


def scorer_of(formula: str) -> str:
    """The scorer whose loss has this formula: `roc_auc` of `1 - roc_auc`, `neg_log_loss` of `log_loss`."""
    score = formula.removeprefix("1 - ")
    return score if score != formula else f"{NEGATED}{formula}"


def _said_by_task(definition: str) -> tuple[tuple[str, ...], str]:
    """The scorer and the split that a task says, as its definition writes them; nothing where that is unknown."""
    try:
        document = json.loads(definition)
    except (ValueError, RecursionError):
        return (), ""
    task = document.get("task") if isinstance(document, dict) else None
    goal, split = (task.get(name) for name in ("goal", "validation")) if isinstance(task, dict) else (None, None)
    scorers = tuple(each for each in goal.values() if isinstance(each, str)) if isinstance(goal, dict) else ()
    return scorers, "".join(f"{name}({share})" for name, share in split.items()) if isinstance(split, dict) else ""


def read_settings(options: Mapping[str, str]) -> dict[str, object]:
    """The options of an optimizer, which the store has as JSON texts; what is none of it stays a text."""
    found: dict[str, object] = {}
    for name, text in options.items():
        try:
            found[name] = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            found[name] = text
    return found
