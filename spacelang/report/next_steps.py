"""The complete commands that use or continue a stored run, and the limits of such a run on its time and trials."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.catalog.snapshot import BUNDLED
from spacelang.errors import remedy_in_python
from spacelang.ir.task import FunctionBound, parse_bound
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.budget import parse_duration, round_duration
from spacelang.runtime.executors import EXECUTORS
from spacelang.runtime.storage.records import LIMIT_FLAGS, RunState
from spacelang.runtime.storage.run_header import WEIGHTS_SETTING, stored_objective_names
from spacelang.runtime.storage.stored_run import (
    TABLE_PREFIX,
    data_reference,
    has_test_file,
    python_arguments_to_repeat,
    readable_data,
    readable_test_file,
    scorer_argument,
    scorer_package,
    stored_data_options,
    was_data_passed_by_program,
)
from spacelang.text import count_with_noun, quote_for_shell, unique_name

if TYPE_CHECKING:
    from spacelang.runtime.storage.run_header import RunHeader
    from spacelang.runtime.storage.stored_run import StoredRun

LIMITS: Final = ("time", "search_time", "trials")  # The names of the options with the flags `LIMIT_FLAGS`
TIMES: Final = 2  # The suggested budget is at least so many times what a run has used


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a run.

    `options` are the options that the user gave, by name. `seconds` (wall-clock time) and `trials` are the limits that
    follow from them and the task; None is no limit.
    """

    options: Mapping[str, Any]
    seconds: float | None
    trials: int | None

    def are_used_up_by(self, run: "StoredRun") -> bool:
        """Return True if the run has reached its limit on trials or seconds, so it needs a larger one to continue."""
        return self._has_all_trials(run) or (self.seconds is not None and run.seconds >= self.seconds)

    def options_with_doubled_limits(self, run: "StoredRun") -> str:
        """Return the options that resume the run with at least twice the limits that it has used up."""
        found = [f"--trials {TIMES * max(self.trials or 0, run.count)}"] if self._has_all_trials(run) else []
        if not found or (self.seconds is not None and run.seconds >= self.seconds):
            time = round_duration(TIMES * max(run.seconds, self.seconds or 0.0))
            flags = [name.replace("_", "-") for name in LIMITS if name in self.options and name != "trials"]
            found += [f"--{flag} {time}" for flag in flags or ["time"]]
        return " ".join(found)

    def _has_all_trials(self, run: "StoredRun") -> bool:
        return self.trials is not None and run.count >= self.trials


def read_run_limits(run: "StoredRun") -> RunLimits:
    """Return the limits of a run; the store may be a foreign file with any text in it."""
    options = dict(_valid_options(run.limits))
    seconds = min((parse_duration(each) for name, each in options.items() if name != "trials"), default=None)
    if run.changed_limits is not None:
        return RunLimits(options, seconds, options.get("trials"))
    workers = (run.sessions[0].workers if run.sessions else None) or 1
    budget = run.header.budget
    return RunLimits(options, None if budget.seconds is None else budget.seconds / workers, budget.trials)


def describe_limits(limits: RunLimits) -> Iterator[str]:
    """Yield what the limits of a run allow: `30 s until the answer`, `60 s of search`, `50 trials`."""
    meanings = {"time": " until the answer", "search_time": " of search"}
    given = {name: parse_duration(limits.options[name]) for name in meanings if name in limits.options}
    yield from (f"{seconds:g} s{meanings[name]}" for name, seconds in given.items())
    if not given and limits.seconds is not None:
        yield f"{limits.seconds:g} s"
    if limits.trials is not None:
        yield count_with_noun(limits.trials, "trial")


def _valid_options(texts: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, flag in zip(LIMITS, LIMIT_FLAGS, strict=True):
        if (text := texts.get(flag)) is None:
            continue
        if flag == "trials":
            if text.isdecimal() and int(text):
                yield name, int(text)
            continue
        try:
            parse_duration(text)
        except ValueError:
            continue
        yield name, text


FILE: Final = "FILE"  # Stands for a file that the store does not know
PACKAGE: Final = "PACKAGE"  # Stands for a package that the user has to know and to trust
ADDRESS: Final = "ADDRESS"  # Stands for the address of a scheduler that the user has to know and to trust
EXHAUSTED: Final = "exhausted"  # The ending of a session that had nothing left to try
TABULATE: Final = "tabulate"  # The name of the optimizer in the stores of unfinished tables


@dataclass(frozen=True, slots=True)
class NextStep:
    """A suggestion for a run: its `purpose`, and the command `line`, or a description if only a program can do it."""

    purpose: str
    line: str


def suggest_next_steps(
    run: "StoredRun", *, has_best: bool, budget: str = "", data: str | None = None, trusted: Collection[str] = ()
) -> Iterator[NextStep]:
    """Yield the next steps for a run: to export, predict, report, and resume it.

    `budget` is the option with which a finished run is resumed, such as `--time 5m`; by default twice its budget.
    `data` is the path by which the user has just given the data, if there is one. `trusted` are the packages that the
    user has just allowed.
    """
    header, store = run.header, quote_for_shell(str(run.path))
    if has_best and header.data.rows and not header.data.name.startswith(TABLE_PREFIX):
        yield from _uses_of_pipeline(run, data, trusted)
    if has_best:
        yield NextStep("report", f"spacelang report {store} -o {_new_file('report', '.html')}")
    if run.state is RunState.RUNNING:
        yield NextStep("watch", f"spacelang watch {store}")
    elif (call := resume_call_in_python(run, budget, data)) is not None:
        yield NextStep("continue", f"in Python: {call}")
    elif not has_tried_whole_space(run):
        yield NextStep("continue", resume_command_line(run, budget, data, trusted))


def resume_command_line(
    run: "StoredRun", budget: str = "", moved: str | None = None, trusted: Collection[str] = ()
) -> str:
    """Return the command that resumes a run: with a larger budget if the run has used up its own."""
    header = run.header
    output = " -o TABLE.npz" if header.optimizer == TABULATE else ""
    data = _data_option(header, "--data", moved)
    test = ""
    if has_test_file(header) and readable_test_file(header) is None:
        test = f" --test {quote_for_shell(stored_data_options(header).test_file or FILE)}"
    more = f" {larger}" if header.optimizer != TABULATE and (larger := _larger_budget(run, budget)) else ""
    packages = allowed_packages(header)
    scorer = [name for name in (scorer_package(header),) if name is not None and name not in packages]
    trust = f"{_allow_options((*packages, *scorer), trusted)}{_executor_option(header)}"
    return f"spacelang resume {quote_for_shell(str(run.path))}{data}{test}{trust}{more}{output}"


def resume_call_in_python(run: "StoredRun", budget: str = "", moved: str | None = None) -> str | None:
    """Return the Python call that continues a run with rows or functions of a program; None if a command does.

    `moved` is a file with the rows, if there is one.
    """
    header = run.header
    if (function := _function_to_repeat(header)) is not None:
        return f"the same call of `{function}` with `store={str(run.path)!r}, resume=True`"
    again, is_held = python_arguments_to_repeat(header), moved is None and was_data_passed_by_program(header)
    if not again and not is_held:
        return None
    if scorer_package(header) is not None:
        again = (scorer_argument(header), *again)
    rows = ("features", "target") if is_held else ()
    test = ("test=…",) if has_test_file(header) and readable_test_file(header) is None else ()
    larger = remedy_in_python(f"`{text}`").strip("`") if (text := _larger_budget(run, budget)) else ""
    return f"`sl.resume({', '.join(filter(None, (repr(str(run.path)), *rows, *again, *test, larger)))})`"


def _larger_budget(run: "StoredRun", budget: str) -> str:
    """Return the options for a run that has used up its limits: `budget`, or doubled limits; "" for any other run."""
    limits = read_run_limits(run)
    is_used_up = run.state is RunState.FINISHED or limits.are_used_up_by(run)
    return (budget or limits.options_with_doubled_limits(run)) if is_used_up else ""


def _allow_options(packages: Collection[str], trusted: Collection[str]) -> str:
    """Return the options `--allow` for packages, each with a space before it.

    The store may be foreign, so it must not decide what a pasted command imports. Only packages with a bundled
    catalogue and those in `trusted` are named. The user has to fill in the names of others.
    """
    known = {*BUNDLED, *trusted}
    return "".join(f" --allow {name if name in known else PACKAGE}" for name in packages)


def _executor_option(header: "RunHeader") -> str:
    """Return ` --executor ADDRESS`, a placeholder to fill in, if the run had an address as its executor; else ""."""
    names = (header.asked or {}).get("executor", ())
    return f" --executor {ADDRESS}" if names and names[0] not in EXECUTORS.names() else ""


def allowed_packages(header: "RunHeader") -> list[str]:
    """Return the packages that the run was allowed to import, without texts of a foreign file that are no names."""
    return [name for name in (header.asked or {}).get("allow", ()) if name.replace("-", "_").isidentifier()]


def _function_to_repeat(header: "RunHeader") -> str | None:
    """Return `sl.search` or `sl.ask_and_tell`, which the user must call again with the functions of the program.

    None if a command can resume the run.
    """
    name = header.data.name
    if header.data.rows:
        return "sl.search" if any(map(_is_function_bound, header.bounds)) else None
    if name.startswith(ARTIFICIAL_PREFIX):
        return None
    return "sl.ask_and_tell" if name == "ask_and_tell" else "sl.search"


def _uses_of_pipeline(run: "StoredRun", moved: str | None, trusted: Collection[str]) -> Iterator[NextStep]:
    header, store = run.header, quote_for_shell(str(run.path))
    if WEIGHTS_SETTING in header.settings and WEIGHTS_SETTING not in header.data_options:
        return  # only the program has the weights with which pipelines are fitted
    ranked = " --rank 1" if stored_objective_names(header) else ""
    on, fitted = (_data_option(header, option, moved) for option in ("--data", "--fitted-on"))
    allowed = _allow_options(allowed_packages(header), trusted)
    yield NextStep("export", f"spacelang export {store}{on}{allowed}{ranked} -o {_new_file('pipeline', '.py')}")
    if run.requested_ensemble_votes and _has_ensemble(run):
        file = _new_file("ensemble", ".py")
        yield NextStep("export the ensemble", f"spacelang export {store}{on}{allowed} --ensemble -o {file}")
    rows = quote_for_shell(stored_data_options(header).test_file or _data(header, moved))
    file = _new_file("predictions", ".csv")
    yield NextStep("predict", f"spacelang predict {store} --data {rows}{fitted}{allowed}{ranked} -o {file}")


def _has_ensemble(run: "StoredRun") -> bool:
    """Return True if a trial can be a member of an ensemble: the best one succeeded on all rows within all bounds."""
    size, records = run.header.training_size, (run.record(number) for number in run.best_trial_numbers(1))
    trials = [each.trial for each in records if each is not None]
    return any(each.is_feasible and (each.request.fidelity or size) >= size for each in trials)


def _data(header: "RunHeader", moved: str | None) -> str:
    """Return the path of the data: the stored one if it is found, else `moved`, the path that the user gave.

    For data that a program passed, it is `moved` or the placeholder `FILE`.
    """
    if was_data_passed_by_program(header):
        return moved or FILE
    return readable_data(header) or moved or data_reference(header)


def _data_option(header: "RunHeader", option: str, moved: str | None) -> str:
    """Return ` OPTION PATH`, which names the data of a run; "" if the data is found by what the store says."""
    is_found = readable_data(header) is not None and not was_data_passed_by_program(header)
    return "" if is_found else f" {option} {quote_for_shell(_data(header, moved))}"


def _new_file(stem: str, suffix: str) -> str:
    """Return `stem` and `suffix` as a file name, with a number if the file exists already."""
    taken = {each.stem for each in Path.cwd().glob(f"{stem}*{suffix}")}
    return f"{unique_name(stem, taken)}{suffix}"


def has_tried_whole_space(run: "StoredRun") -> bool:
    """Return True if the last session ended because every configuration was tried; False for a run of `tabulate`."""
    sessions = run.sessions
    return bool(sessions) and sessions[-1].ending == EXHAUSTED and run.header.optimizer != TABULATE


def _is_function_bound(bound: str) -> bool:
    try:
        return isinstance(parse_bound(bound), FunctionBound)
    except (ValueError, LookupError):
        return False  # the store may be a foreign file with any text in it
