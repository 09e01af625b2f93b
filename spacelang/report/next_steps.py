"""The commands that use or continue a stored run, complete, so that they can be pasted into a shell."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spacelang.catalog.snapshot import BUNDLED
from spacelang.ir.task import FunctionBound, parse_bound
from spacelang.report.run_limits import limits_of
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.executors import EXECUTORS
from spacelang.runtime.storage.header import RELATIONS, SCORER_SETTING, SPLITS, WEIGHTS_SETTING, stored_objective_names
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.stored_run import (
    TABLE_PREFIX,
    has_test_file,
    is_held_by_program,
    named_data,
    readable_data,
    readable_test_file,
    stored_data_options,
)
from spacelang.text import shell_word, unique_name

if TYPE_CHECKING:
    from spacelang.runtime.storage.header import RunHeader
    from spacelang.runtime.storage.stored_run import StoredRun

FILE: Final = "FILE"  # Stands for a file that the store does not know
PACKAGE: Final = "PACKAGE"  # Stands for a package that the user has to know and to trust
ADDRESS: Final = "ADDRESS"  # Stands for the address of a scheduler that the user has to know and to trust
EXHAUSTED: Final = "exhausted"  # The ending of a session that had nothing left to try
TABULATE: Final = "tabulate"  # The name of the optimizer in the stores of unfinished tables


@dataclass(frozen=True, slots=True)
class NextStep:
    """A line with a command for a run, and its purpose. What only a program can do is described instead."""

    purpose: str
    line: str


def next_steps(
    run: "StoredRun", *, has_best: bool, budget: str = "", data: str | None = None, trusted: Collection[str] = ()
) -> Iterator[NextStep]:
    """Yield the next steps for a run: to export, predict, report, and resume it.

    `budget` is the option with which a finished run is resumed, such as `--time 5m`; by default twice its budget.
    `data` is the path by which the user has just given the data, if there is one. `trusted` are the packages that the
    user has just allowed.
    """
    header, store = run.header, shell_word(str(run.path))
    if has_best and header.data.rows and not header.data.name.startswith(TABLE_PREFIX):
        yield from _uses_of_pipeline(run, data, trusted)
    if has_best:
        yield NextStep("report", f"spacelang report {store} -o {_new_file('report', '.html')}")
    if run.state is RunState.RUNNING:
        yield NextStep("watch", f"spacelang watch {store}")
    elif (function := "sl.search" if is_held_by_program(header) else python_function(header)) is not None:
        yield NextStep("continue", f"in Python: {repeated_call(function, run.path)}")
    elif not is_exhausted(run):
        yield NextStep("continue", resume_command(run, budget, data, trusted))


def resume_command(run: "StoredRun", budget: str = "", moved: str | None = None, trusted: Collection[str] = ()) -> str:
    """Return the command that resumes a run: with a larger budget if the run has used up its own."""
    header = run.header
    output = " -o TABLE.npz" if header.optimizer == TABULATE else ""
    data = _data_option(header, "--data", moved)
    test = ""
    if has_test_file(header) and readable_test_file(header) is None:
        test = f" --test {shell_word(stored_data_options(header).test_file or FILE)}"
    limits = limits_of(run)
    is_used_up = run.state is RunState.FINISHED or limits.are_used_up_by(run)
    more = f" {budget or limits.doubled(run)}" if is_used_up and header.optimizer != TABULATE else ""
    trust = f"{allow_options(header, trusted)}{_executor_option(header)}"
    return f"spacelang resume {shell_word(str(run.path))}{data}{test}{trust}{more}{output}"


def allow_options(header: "RunHeader", trusted: Collection[str] = ()) -> str:
    """Return the options `--allow` of a run, each with a space before it.

    The store may be foreign, so it must not decide what a pasted command imports. Only packages
    with a bundled catalogue and those in `trusted` are named. The user has to fill in the names of others.
    """
    known = {*BUNDLED, *trusted}
    return "".join(f" --allow {name if name in known else PACKAGE}" for name in allowed_packages(header))


def _executor_option(header: "RunHeader") -> str:
    """Return the option for the address of a scheduler, which only a user can trust, with a space before it."""
    names = (header.asked or {}).get("executor", ())
    return f" --executor {ADDRESS}" if names and names[0] not in EXECUTORS.names() else ""


def allowed_packages(header: "RunHeader") -> list[str]:
    """Return the packages that the run was allowed to import, without texts of a foreign file that are no names."""
    return [name for name in (header.asked or {}).get("allow", ()) if name.replace("-", "_").isidentifier()]


def python_function(header: "RunHeader") -> str | None:
    """Return the function that continues a run with functions or splits of a program, or by ask and tell; else None."""
    name = header.data.name
    if header.settings.keys() & {SCORER_SETTING, WEIGHTS_SETTING} or header.data_options.keys() & {SPLITS, RELATIONS}:
        return "sl.search"
    if header.data.rows:
        return "sl.search" if any(map(_is_function_bound, header.bounds)) else None
    if name.startswith(ARTIFICIAL_PREFIX):
        return None
    return "sl.ask_and_tell" if name == "ask_and_tell" else "sl.search"


def repeated_call(function: str, store: Path) -> str:
    """Return how to call a function again to continue its run."""
    return f"the same call of `{function}` with `store={str(store)!r}, resume=True`"


def _uses_of_pipeline(run: "StoredRun", moved: str | None, trusted: Collection[str]) -> Iterator[NextStep]:
    header, store = run.header, shell_word(str(run.path))
    if WEIGHTS_SETTING in header.settings:
        return  # only the program has the weights with which pipelines are fitted
    ranked = " --rank 1" if stored_objective_names(header) else ""
    on, fitted = (_data_option(header, option, moved) for option in ("--data", "--fitted-on"))
    allowed = allow_options(header, trusted)
    yield NextStep("export", f"spacelang export {store}{on}{allowed}{ranked} -o {_new_file('pipeline', '.py')}")
    if run.requested_ensemble_votes:
        file = _new_file("ensemble", ".py")
        yield NextStep("export the ensemble", f"spacelang export {store}{on}{allowed} --ensemble -o {file}")
    rows = shell_word(stored_data_options(header).test_file or _data(header, moved))
    file = _new_file("predictions", ".csv")
    yield NextStep("predict", f"spacelang predict {store} --data {rows}{fitted}{allowed}{ranked} -o {file}")


def _data(header: "RunHeader", moved: str | None) -> str:
    """Return the path of the data of a run; `moved` is the one that the user gave, for data that is not found."""
    if is_held_by_program(header):
        return moved or FILE
    return readable_data(header) or moved or named_data(header)


def _data_option(header: "RunHeader", option: str, moved: str | None) -> str:
    """Return an option that names the data of a run, with a space before it; empty if the store suffices."""
    is_found = readable_data(header) is not None and not is_held_by_program(header)
    return "" if is_found else f" {option} {shell_word(_data(header, moved))}"


def _new_file(stem: str, suffix: str) -> str:
    """Return the name of a file that does not exist, because commands do not overwrite files."""
    taken = {each.stem for each in Path.cwd().glob(f"{stem}*{suffix}")}
    return f"{unique_name(stem, taken)}{suffix}"


def is_exhausted(run: "StoredRun") -> bool:
    """Return True if the run has tried its whole space."""
    sessions = run.sessions
    return bool(sessions) and sessions[-1].ending == EXHAUSTED and run.header.optimizer != TABULATE


def _is_function_bound(bound: str) -> bool:
    try:
        return isinstance(parse_bound(bound), FunctionBound)
    except (ValueError, LookupError):
        return False  # the store may be a foreign file with any text in it
