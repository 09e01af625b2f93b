"""Resuming a stored run: its space, its data and its options, all taken from its store."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from spacelang.api.experiment import EvaluationData, stored_header
from spacelang.api.option_checks_and_signatures import INTEGER, run_options_by_name
from spacelang.api.run_options import ResumeOptions, RunOptions, SearchResumeOptions
from spacelang.api.search_data import DefaultSpace, TabularData
from spacelang.api.space import Space, SpaceError, parse_for_data
from spacelang.ir.trial import LossName
from spacelang.ir.validation import KINDS
from spacelang.report.next_steps import (
    LIMITS,
    TABULATE,
    RunLimits,
    has_tried_whole_space,
    read_run_limits,
    resume_call_in_python,
    resume_command_line,
)
from spacelang.report.stored_run_output import parse_optimizer_options
from spacelang.runtime.budget import parse_duration
from spacelang.runtime.ensembles import DEFAULT_VOTES
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.executors import EXECUTORS
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.run_header import GROUP_NAME, UNNAMED_SPACE, RunHeader
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError
from spacelang.runtime.storage.stored_run import (
    TABLE_PREFIX,
    StoredRun,
    data_reference,
    has_test_file,
    python_arguments_to_repeat,
    readable_data,
    readable_test_file,
    stored_data_options,
    was_data_passed_by_program,
)
from spacelang.serialization.definition import VERSION
from spacelang.text import Source, SourceFileLocation, count_with_noun, quote_for_shell

if TYPE_CHECKING:
    from spacelang.runtime.scoring.user_functions import Scorer


@dataclass(frozen=True, slots=True)
class ResumableRun:
    """A stored run that can be resumed, with the command that resumes it, to be shown to the user."""

    store: Path
    header: RunHeader
    state: RunState
    command: str
    seconds: float
    trials: int
    limits: RunLimits
    last_workers: int
    votes: int | None
    is_exhausted: bool

    @property
    def is_tabulation(self) -> bool:
        """True if the run is one of `tabulate`, which evaluates all configurations to make a loss table."""
        return self.header.optimizer == TABULATE

    @property
    def space_choice_reason(self) -> str:
        """The reason why the space was chosen, if the user gave no space; otherwise empty."""
        is_unnamed = UNNAMED_SPACE in (self.header.asked or {})
        return f"`{self.header.space}`, as stored in `{self.store}`" if is_unnamed else ""

    @property
    def target_column(self) -> str | tuple[str, ...] | None:
        """The column of labels, or several columns; None without rows."""
        return None if uses_loss_table(self.header) else stored_data_options(self.header).target

    def load_space(self, allow: Iterable[str]) -> Space:
        """Return the space. Raises InputError if packages of the run are not allowed, and SpaceError for other errors.

        The store may be foreign, so that the user has to allow packages again.
        """
        allowed = tuple(allow)
        try:
            return stored_space(self.header, self.store, allowed)
        except SpaceError as error:
            packages = [name for name in (self.header.asked or {}).get("allow", ()) if name not in allowed]
            if not packages:
                raise
            names = ", ".join(f"`{name}`" for name in packages)
            what = f"the space of the run in `{self.store}` imports {names}, which you have not allowed"
            options = " ".join(f"--allow {quote_for_shell(name)}" for name in packages)
            raise InputError(what, f"if you trust these packages, add `{options}`") from error

    def data_reference(self, given: str | None) -> str:
        """Return the reference of the data: the given one, or that of the store. Raises DataError if it is unknown."""
        found = readable_data(self.header) if given is None else given
        if found is None:
            if was_data_passed_by_program(self.header):
                what = f"the data of the run in `{self.store}` came from a Python program, and a store contains no data"
                call = f"`sl.resume({str(self.store)!r}, features, target)`"
                raise DataError(what, f"resume it in Python by {call}, or give a file of the same rows by `--data`")
            named = data_reference(self.header)
            what = f"the run was on {self.header.data}, and `{named}` is not in this folder or below"
            raise DataError(what, f"say where it is: add `--data {quote_for_shell(named)}`, or its new path")
        return found

    def given_or_stored_test_rows(self, given: str | None) -> str | float | None:
        """Return the option `test`: the given one, or the share or file in the store.

        Raises DataError if no file is found.
        """
        if given is not None or not has_test_file(self.header):
            return given or stored_data_options(self.header).test
        if (found := readable_test_file(self.header)) is None:
            named = stored_data_options(self.header).test_file or "FILE"
            rows = self.header.settings["test"]
            what = f"the test rows of the run ({rows}) are those of `{named}`, which is not in this folder or below"
            raise DataError(what, f"say where they are: add `--test {quote_for_shell(named)}`, or the new path")
        return found

    def add_stored_row_information(self, data: EvaluationData) -> EvaluationData:
        """Return the data with the groups, times, weights and splits that the store has for the rows of a program.

        What the data already has is not replaced. Raises DataError if its rows are not those of the run.
        """
        from spacelang.runtime.data.row_relations import attach_stored_relations, stored_splitter

        if not isinstance(data, TabularData):
            return data
        table = attach_stored_relations(data.table, self.header)
        name = self.header.data_options.get(GROUP_NAME) if data.group_name is None else data.group_name
        splitter = stored_splitter(self.header) if data.splitter is None else data.splitter
        return replace(data, table=table, group_name=name, splitter=splitter)

    def budget_options(self, given: ResumeOptions) -> dict[str, Any]:
        """Return the options that limit the whole run: the given ones, and the original values of the others.

        Limits count from the start of the run. A limit that the run has used up is left out if another one is given.
        Unless an ensemble is requested, raises StoreError if a limit is used up and no limit is given, or if a used-up
        limit is one of the task that is not replaced.
        """
        chosen: dict[str, Any] = {name: given[name] for name in LIMITS if given[name] is not None}
        if self.is_tabulation:  # a search of a table that has no limit is complete
            return dict.fromkeys(LIMITS) | chosen
        stored, of_task = self._stored_limits(chosen), _task_limits(self.header)
        limits: dict[str, Any] = dict.fromkeys(LIMITS) | of_task | stored | chosen
        if given["ensemble"] is not None:
            return limits
        if self.is_exhausted and not chosen:
            what = f"the run in `{self.store}` has tried its whole space ({count_with_noun(self.trials, 'trial')})"
            raise StoreError(what, "its results are complete; look at them with `spacelang show`")
        used_up = [name for name in self._used_up_limits(limits) if name not in chosen]
        lasting = used_up if not chosen else [name for name in used_up if name in of_task]
        if lasting:
            used = f"{count_with_noun(self.trials, 'trial')} in {self.seconds:.1f} s"
            options = run_options_by_name(RunOptions)
            flags = " and ".join(f"`{options[name].command_line_flag(name)}`" for name in lasting)
            what = f"the run in `{self.store}` has used up its budget of {flags}: {used}"
            raise StoreError(what, f"allow more: `{self.command}`")
        return limits | dict.fromkeys(used_up)

    def _stored_limits(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the limits that the user gave when the run was started.

        If the user gave none then, and `chosen` has no new ones, return the limits that the run had anyway.
        """
        if self.limits.options or chosen:
            return dict(self.limits.options)
        return {"time": self.limits.seconds, "trials": self.limits.trials}

    def _used_up_limits(self, limits: Mapping[str, Any]) -> list[str]:
        """Return the names of those of the given limits that the run has reached already."""
        trials, before = limits["trials"], self.limits.trials
        # The search ends before the time is up, because final fits follow. Then it has fewer trials than allowed.
        ended_by_time = self.state is RunState.FINISHED and not self.is_exhausted
        ended_by_time &= before is None or self.trials < before
        found = ["trials"] if trials is not None and self.trials >= trials else []
        for name in ("time", "search_time"):
            if (limit := limits[name]) is not None and (ended_by_time or self.seconds >= _seconds(limit)):
                found.append(name)
        return found

    def given_or_stored_options(self, given: ResumeOptions) -> RunOptions:
        """Return the values of all options of a run, by name: those of the store, and those that the user gives."""
        header = self.header
        read = stored_data_options(header)
        stored = _stored_values(header)
        found = {name: option.default for name, option in run_options_by_name(RunOptions).items()} | stored
        found |= {
            "store": self.store,
            "resume": True,
            "seed": header.seed,
            "optimizer": header.optimizer,
            "optimizer_options": _optimizer_options(header),
            "allow": given["allow"],
            "metric": self._metric(given, stored.get("metric")),
            "validate": stored.get("validate") or self._stored_validation(),
            "metrics": _metrics(header),
            "training_score": header.settings.get("training_score") == "true",
            "predictions": header.settings.get("predictions") == "true",
            "test": self.given_or_stored_test_rows(given["test"]),
            "drop_columns": read.reading.drop_columns,
            **read.reading.non_default_text_file_options,
            "workers": self._workers(stored) if given["workers"] is None else given["workers"],
            "executor": self._executor(stored) if given["executor"] is None else given["executor"],
            "ensemble": self._votes,
            **self.budget_options(given),
        }
        found |= {name: given[name] for name in ("trial_limit", "ensemble") if given[name] is not None}
        return cast(RunOptions, found)

    def _workers(self, stored: Mapping[str, Any]) -> int:
        """Return the last session's number of workers, as `--workers` takes it: 0 means in the process of the run."""
        return 0 if stored.get("workers") == 0 and self.last_workers == 1 else self.last_workers

    def _executor(self, stored: Mapping[str, Any]) -> str | None:
        """Return the name of the run's executor, None for the default one; raises InputError for a scheduler's address.

        The store may be foreign, and must not decide which address is contacted.
        """
        name = stored.get("executor")
        if name is None or name in EXECUTORS.names():
            return name
        what = f"the run in `{self.store}` used the cluster at `{name}`, which is not contacted without your consent"
        raise InputError(what, f"if you trust this address, add `--executor {quote_for_shell(name)}`")

    @property
    def _votes(self) -> int | None:
        """The number of votes of the ensemble as `--ensemble` takes it (0: none).

        None if the run had the default number.
        """
        if self.space_choice_reason:
            return None if self.votes == DEFAULT_VOTES else self.votes or 0
        return self.votes

    def _metric(self, given: ResumeOptions, stored: str | None) -> "str | Scorer | None":
        """Return the metric: the given one, else the stored name or scorer, else that of the stored loss, or None."""
        from spacelang.runtime.scoring.stored_scorers import stored_scorer

        if (metric := cast(SearchResumeOptions, given).get("metric")) is not None:
            return metric
        return stored or stored_scorer(self.header, (*given["allow"],)) or self._metric_of_formula()

    def _metric_of_formula(self) -> str | None:
        """Return the name of the metric in the stored loss if the user must have chosen it.

        None if the task has this goal, if the losses come from no rows or from a table, or if it is `roc_auc`, the
        default.
        """
        header, goal = self.header, _task(self.header).get("goal")
        scorers = {each for each in goal.values() if isinstance(each, str)} if isinstance(goal, dict) else set()
        name = LossName.of_formula(header.metric).name
        is_said = {name, LossName.of_formula(header.metric).score_name} & scorers
        return None if is_said or not header.data.rows or uses_loss_table(header) or name == "roc_auc" else name

    def _stored_validation(self) -> str | None:
        """Return the validation in a store of an earlier version, which lacks the options.

        None for a store with options.
        """
        validation = self.header.validation
        is_declared = validation.partition("(")[0] in KINDS
        is_earlier = stored_data_options(self.header).reference is None
        return validation if is_earlier and is_declared and not uses_loss_table(self.header) else None


def open_resumable_run(store: Path, given: Collection[str] = ()) -> ResumableRun:
    """Return a run to be resumed; `given` are the names of arguments that a program passes again.

    Raises StoreError if the file is no store, or if the run needs more of its program.
    """
    with Store.read(store) as run:
        call, missing = resume_call_in_python(run), python_arguments_to_repeat(run.header)
        absent = [each for each in missing if each.partition("=")[0] not in given]
        if call is not None and not (missing or was_data_passed_by_program(run.header)):
            what = f"the run in `{store}` used Python functions of a program, which the store does not contain"
            raise StoreError(what, f"resume it in Python by {call}")
        if absent:
            names = {"metric": "the scorer", "sample_weight": "the sample weights"}
            shown = " and ".join(names[each.partition("=")[0]] for each in absent)
            what = f"the run in `{store}` used {shown} of a Python program, which the store does not contain"
            raise StoreError(what, f"resume it in Python by {call}")
        return _resumable(store, run)


def _resumable(store: Path, run: StoredRun) -> ResumableRun:
    workers = [each.workers for each in run.sessions if each.workers]
    return ResumableRun(
        store=store,
        header=run.header,
        state=run.state,
        command=resume_command_line(run),
        seconds=run.seconds,
        trials=run.count,
        limits=read_run_limits(run),
        last_workers=workers[-1] if workers else 1,
        votes=run.requested_ensemble_votes,
        is_exhausted=has_tried_whole_space(run),
    )


def _stored_values(header: RunHeader) -> dict[str, Any]:
    """Return the values of the options that a store holds as texts, without options that are restored separately.

    Packages must be allowed again, the stored space is bound already, and `_optimizer_options` has those of the
    optimizer.
    """
    found = {}
    for name, option in run_options_by_name(RunOptions).items():
        texts = (header.asked or {}).get(option.command_line_flag(name).removeprefix("--"))
        if option.is_stored and option.form == "text" and (texts or (texts is not None and option.default is False)):
            value: Any = texts[0] if texts else True
            if option.check is not None and option.check[0] is INTEGER[0]:
                if not str(value).isdecimal():
                    continue  # the store may be a foreign file with any text in it
                value = int(value)
            found[name] = value
    return found


def _seconds(limit: str | float) -> float:
    return parse_duration(limit) if isinstance(limit, str) else limit


def _task_limits(header: RunHeader) -> dict[str, float]:
    """Return the limit of the task on the time of a run, which applies if no `time` is given; empty without one."""
    limits = _task(header).get("limits")
    seconds = limits.get("run_seconds") if isinstance(limits, dict) else None
    return {"time": float(seconds)} if isinstance(seconds, int | float) and seconds > 0 else {}


def uses_loss_table(header: RunHeader) -> bool:
    """Return True if the losses of the run were looked up in a loss table and no pipeline was trained."""
    return data_reference(header).startswith(TABLE_PREFIX)


def _metrics(header: RunHeader) -> tuple[str, ...]:
    try:
        found = json.loads(header.settings.get("metrics", "[]"))
    except (ValueError, RecursionError):
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _optimizer_options(header: RunHeader) -> dict[str, str]:
    """Return the options of the optimizer as texts: those that differ from the defaults, or all in earlier stores."""
    if header.asked is not None:
        pairs = (text.partition("=") for text in header.asked.get("set", ()))
        return {name: value for name, _, value in pairs}
    return {name: _option_text(value) for name, value in parse_optimizer_options(header.options).items()}


def _option_text(value: Any) -> str:
    """Return a stored value of an option as the command line takes it, nested plug-ins as `blds(disc=2)`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{name}={_option_text(each)}" for name, each in value.get("options", {}).items())
        return f"{value.get('name')}({inner})"
    return value if isinstance(value, str) else json.dumps(value)


def _task(header: RunHeader) -> dict[str, Any]:
    try:
        document = json.loads(header.definition)
    except (ValueError, RecursionError):
        return {}
    task = document.get("task") if isinstance(document, dict) else None
    return task if isinstance(task, dict) else {}


def stored_default_space(store: str | PathLike[str] | None, allow: Iterable[str]) -> DefaultSpace | None:
    """Return the space in the store of a run that used a default space; None if there is no such store.

    The default spaces of another version may differ. Raises SpaceError if the space is invalid for this version.
    """
    header = None if store is None else stored_header(Path(store))
    if store is None or header is None or UNNAMED_SPACE not in (header.asked or {}):
        return None
    return DefaultSpace(stored_space(header, Path(store), allow), f"`{header.space}`, as stored in `{store}`")


def stored_space(header: RunHeader, store: Path, allow: Iterable[str]) -> Space:
    """Return the space of a stored run, which is bound to the data of the run.

    Raises SpaceError if it is invalid for this version, or uses a package that is not in `allow`.
    """
    # Built as text, so that an invalid definition is reported like that of any compiled space.
    document = f'{{"version": {VERSION}, "target": "", "definition": {header.definition}}}'
    # The store does not know the folder of the space, where its local packages are; try the current folder.
    here = Path.cwd()
    return parse_for_data(
        Source(f"the space stored in {store.name}", document, SourceFileLocation(here / store.name, here)), allow, None
    )
