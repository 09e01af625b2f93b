"""The runs of a comparison, executed or read from their stores, and the folder with its plan and its results."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from itertools import product
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote_plus

from spacelang.api.experiment import Experiment, with_fidelity_options
from spacelang.bench.comparison_data import ComparisonDataset, ConfiguredOptimizer, EvaluationCriteria
from spacelang.files import os_error_text, replace_atomically
from spacelang.ir.task import describe_limits
from spacelang.ir.trial import Trial
from spacelang.plugins import plugin_identity
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import EndReason, TrialRecord
from spacelang.runtime.storage.optional_tables import StoredUnseenScore
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.run_header import space_hash
from spacelang.runtime.storage.store_errors import StoreError

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.bench.comparison import ComparisonResults, RunKey, RunResult
    from spacelang.bench.comparison.progress import ComparisonListener

MAX_NAME_LENGTH: Final = 120  # The largest number of bytes of a label in a file name


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run to execute: its key, its data set, its optimizer, and the criteria by which it is judged."""

    key: "RunKey"
    dataset: ComparisonDataset
    configured_optimizer: ConfiguredOptimizer
    criteria: EvaluationCriteria


def plan_runs(
    seeds: Iterable[int],
    datasets: Sequence[tuple[ComparisonDataset, EvaluationCriteria]],
    contestants: Sequence[ConfiguredOptimizer],
) -> tuple[PlannedRun, ...]:
    """Return all runs, ordered by seed, so that an interrupted comparison has every run of some seeds."""
    from spacelang.bench.comparison import RunKey

    return tuple(
        PlannedRun(RunKey(dataset.label, each.label, seed), dataset, each, judged)
        for seed, (dataset, judged), each in product(seeds, datasets, contestants)
    )


def execute_runs(
    wanted: Sequence[PlannedRun], folder: Path | None, listener: "ComparisonListener"
) -> "tuple[tuple[RunResult, ...], tuple[int, ...], bool]":
    """Execute all runs that are not stored in the folder yet.

    Return the runs of all complete seeds, these seeds, and whether the user stopped the comparison. Raises InputError,
    and KeyboardInterrupt if the user stops it before the first seed is complete. Finished runs stay stored.
    """
    found: dict[RunKey, RunResult] = {}
    interrupted = False
    try:
        if folder is not None:
            earlier = ((each.key, _stored_result(each, folder)) for each in wanted)
            found.update((key, run) for key, run in earlier if run is not None)
        listener.runs_planned(len(wanted), len(found))
        for entry in (each for each in wanted if each.key not in found):
            listener.run_started(entry.key)
            run = _execute(entry, folder, listener)
            if run.ended == EndReason.INTERRUPTED.value:
                interrupted = True
                break
            found[entry.key] = run
            listener.run_finished(run)
    except KeyboardInterrupt:
        interrupted = True
    lacking = {each.key.seed for each in wanted if each.key not in found}
    seeds = tuple(seed for seed in dict.fromkeys(each.key.seed for each in wanted) if seed not in lacking)
    if not seeds:
        raise KeyboardInterrupt
    return tuple(run for key, run in found.items() if key.seed not in lacking), seeds, interrupted


def store_file_name(key: "RunKey") -> str:
    """Return the name of the store of a run: a different one for every run, valid on every system."""
    return f"{_file_name_part(key.data)}@{_file_name_part(key.optimizer)}@{key.seed}.db"


def _file_name_part(name: str) -> str:
    text = quote_plus(name, safe="=", errors="surrogatepass")
    if len(text) <= MAX_NAME_LENGTH:
        return text
    return f"{text[: MAX_NAME_LENGTH - 17]}~{sha256(text.encode()).hexdigest()[:16]}"


def _execute(entry: PlannedRun, folder: Path | None, listener: "ComparisonListener") -> "RunResult":
    """Execute one run and return its result; if sampling fails for its optimizer, the result has the reason."""
    from spacelang.sampling.sampler import SamplingFailedError

    place = None if folder is None else folder / store_file_name(entry.key)
    try:
        outcome, test = entry.dataset.execute_run(entry.configured_optimizer, entry.key.seed, place, listener)
    except SamplingFailedError as error:
        return _run_result(entry, (), 0.0, "failed", reason=str(error))
    return _run_result(entry, outcome.records, outcome.seconds, outcome.ended.value, test)


def _stored_result(entry: PlannedRun, folder: Path) -> "RunResult | None":
    """Return the result of a stored run; None if the run has yet to be started, resumed or scored on test rows.

    Raises StoreError.
    """
    from spacelang.runtime.storage.store import Store, is_missing_or_empty

    path = folder / store_file_name(entry.key)
    if is_missing_or_empty(path):
        return None
    with Store.read(path) as run:
        if run.state is not RunState.FINISHED:
            return None
        header, facts = run.header, entry.dataset.data_facts_for_seed(entry.key.seed, entry.criteria)
        there = (header.seed, header.optimizer, header.data.fingerprint)
        if there != (entry.key.seed, entry.configured_optimizer.optimizer.name, facts.fingerprint):
            what = f"`{run.path}` should contain the run of {entry.key}, but contains another run"
            raise StoreError(what, "delete the file to repeat the run")
        test = run.test_score
        if entry.criteria.test and test is None and run.best is not None:
            return None
        return _run_result(entry, tuple(run.records()), run.seconds, run.sessions[-1].ending or "", test)


def _run_result(
    entry: PlannedRun,
    records: Sequence[TrialRecord],
    seconds: float,
    ended: str,
    test: StoredUnseenScore | None = None,
    reason: str = "",
) -> "RunResult":
    from spacelang.bench.comparison import IncumbentKind, RunResult, WinnerScore, incumbent_curve

    limit, winner = entry.dataset.experiment.budget.seconds, None
    until = inf if limit is None else limit
    if test is not None:
        reported = next(each.trial.loss for each in records if each.index == test.trial)
        assert reported is not None
        winner = WinnerScore(test.score, reported)
    trials = [each.trial for each in records]
    scores = [
        (each.request.fidelity, (record.finished, each.loss))
        for record, each in zip(records, trials, strict=True)
        if each.loss is not None and each.is_feasible
    ]
    full = [score for rows, score in scores if rows is None or rows >= entry.criteria.training_size]
    curves = {
        IncumbentKind.FULL: incumbent_curve(full, until),
        IncumbentKind.ANY: incumbent_curve((score for _, score in scores), until),
    }
    why = "" if curves[IncumbentKind.ANY].losses else reason or _reason_without_score(trials)
    failed = sum(each.loss is None for each in trials)
    return RunResult(entry.key, curves, len(trials), failed, seconds, ended, why, winner)


def _reason_without_score(trials: Sequence[Trial]) -> str:
    reasons = Counter(each.reason for each in trials if each.loss is None)
    if not trials or any(each.is_feasible and each.loss is not None for each in trials):
        return "no trial finished within the budget"
    if reasons.total() < len(trials):
        return "no trial satisfies all bounds of the task"
    reason, number = reasons.most_common(1)[0]
    return f"none of {len(trials)} trials succeeded; {number} x {reason}"


PLAN_FILE: Final = "plan.json"
NO_PLOTS_NOTE: Final = (
    "plots need matplotlib: install `spacelang[plots]` and repeat the command; finished runs are stored"
)
CHOOSE_ANOTHER: Final = "choose another folder"


def make_comparison_plan(
    common: Experiment,
    seeds: tuple[int, ...],
    judged: Mapping[str, EvaluationCriteria],
    contestants: Iterable[ConfiguredOptimizer],
) -> "ComparisonPlan":
    """Return the plan of a comparison, by which its folder is recognized: the settings that decide all its runs."""
    task, workers = common.space.task, common.workers
    limits = (*describe_limits(workers.limits), *(["isolated trials"] if workers.isolate else []))
    fidelity = None if task is None else task.fidelity
    optimizers = {each.label: with_fidelity_options(each.optimizer, fidelity) for each in contestants}
    return ComparisonPlan(
        space=common.space.name,
        identity=space_hash(common.space.checked),
        seconds=common.budget.seconds,
        trials=common.budget.trials,
        workers=workers.count,
        limits=", ".join(limits),
        seeds=seeds,
        data={
            label: {
                "content": f"{each.facts.rows} x {each.facts.columns}, {each.facts.fingerprint}",
                "loss": each.formula,
                "validation": each.validation,
                "bounds": ", ".join(each.bounds),
                "training rows": each.training_size,
                # Left out if empty, so that comparisons resume that were started before these entries existed.
                **({"test rows": each.test} if each.test else {}),
                **({"initial": ", ".join(first.identity for first in each.initial)} if each.initial else {}),
                **({"space": each.space} if each.space else {}),
            }
            for label, each in judged.items()
        },
        optimizers={
            label: {"name": each.name, "options": plugin_identity(each.plugin)} for label, each in optimizers.items()
        },
    )


def write_plan_and_make_run_folder(folder: Path, plan: "ComparisonPlan") -> Path:
    """Write the plan to the folder and return the subfolder for the runs.

    The folder must be empty or hold this comparison. Raises InputError if it holds anything else or is not writable,
    and StoreError with the differences if it holds another comparison.
    """
    runs = folder / "runs"
    try:
        _check_folder(folder, plan)
        runs.mkdir(parents=True, exist_ok=True)
        with replace_atomically(folder / PLAN_FILE) as new:
            new.write_bytes(plan.to_json().encode("utf-8", "backslashreplace"))
    except OSError as error:
        message = f"the comparison cannot be stored in `{folder}`: {os_error_text(error)}"
        raise InputError(message, "choose a writable folder") from error
    return runs


def write_results_and_list_problems(
    results: "ComparisonResults", curves: "pd.DataFrame", folder: Path
) -> tuple[str, ...]:
    """Write JSON, CSV and plots to the folder; return notes on what could not be written. Raises InputError."""
    from spacelang.bench.comparison import summary
    from spacelang.bench.comparison.plots import can_draw_plots, render_plot_files

    whole = {**summary.comparison_document(results), "curves": summary.curves_document(results)}
    table = curves.to_csv(index=False, lineterminator="\n")
    drawn = render_plot_files(results) if can_draw_plots() else {}
    files = {
        "comparison.json": json.dumps(whole, allow_nan=False).encode() + b"\n",
        "comparison.csv": table.encode("utf-8", "backslashreplace"),
        **drawn,
    }
    try:
        for name, content in files.items():
            with replace_atomically(folder / name) as new:
                new.write_bytes(content)
    except OSError as error:
        raise InputError(f"`{folder}` cannot be written: {os_error_text(error)}") from error
    return () if drawn else (NO_PLOTS_NOTE,)


def _check_folder(folder: Path, plan: "ComparisonPlan") -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"`{folder}` is not a folder", CHOOSE_ANOTHER)
    if next(folder.iterdir(), None) is None:
        return
    try:
        earlier = ComparisonPlan.from_json((folder / PLAN_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"`{folder}` is not empty and contains no comparison", CHOOSE_ANOTHER) from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"`{folder / PLAN_FILE}` is damaged", CHOOSE_ANOTHER) from error
    differences = earlier.differences_preventing_resume(plan)
    if differences:
        help_text = f"{CHOOSE_ANOTHER}; only optimizers, data and repeats may be added to a comparison"
        raise StoreError(f"`{folder}` contains another comparison", help_text, tuple(differences))


NamedValues: TypeAlias = Mapping[str, object]
PLAN_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Everything that decides the runs of a comparison.

    Two comparisons may share a folder if `differences_preventing_resume` finds nothing. `data` has, by label, what
    identifies each data set and how runs on it are judged. `optimizers` has their names and options by label.
    `identity` is that of the space. Sequences and mappings are as in JSON.
    """

    space: str
    identity: str
    seconds: float | None
    trials: int | None
    workers: int
    limits: str
    seeds: tuple[int, ...]
    data: Mapping[str, NamedValues]
    optimizers: Mapping[str, NamedValues]

    def to_json(self) -> str:
        """Return the plan as JSON, indented, with one value per line."""
        return json.dumps({"version": PLAN_VERSION, **asdict(self)}, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> "ComparisonPlan":
        """Parse a plan; raises ValueError, TypeError or KeyError for any other text."""
        found: dict[str, Any] = json.loads(text)
        if found["version"] != PLAN_VERSION:
            raise ValueError(f"unknown version {found['version']} of a comparison")
        facts = {each.name: found[each.name] for each in fields(ComparisonPlan)}
        return ComparisonPlan(**facts | {"seeds": tuple(facts["seeds"])})

    def differences_preventing_resume(self, later: "ComparisonPlan") -> list[str]:
        """Return a line for each difference that prevents `later` from resuming in the folder of this plan.

        `later` may add seeds, optimizers and data, but must not change or drop any.
        """
        later, found = ComparisonPlan.from_json(later.to_json()), []
        if self.identity != later.identity:
            found.append(
                f"space: `{self.space}` in the folder and `{later.space}` now have different definitions "
                "(see `spacelang diff`)"
            )
        names = {"seconds": "seconds per run", "trials": "trials per run", "workers": "workers", "limits": "limits"}
        for name, label in names.items():
            before, now = getattr(self, name), getattr(later, name)
            if before != now:
                found.append(f"{label}: {_format_value(before)} in the folder, {_format_value(now)} now")
        if not {*self.seeds} <= {*later.seeds}:
            found.append(f"seeds: {_format_seeds(self.seeds)} in the folder, {_format_seeds(later.seeds)} now")
        found += _mapping_differences("data", self.data, later.data)
        found += _mapping_differences("optimizer", self.optimizers, later.optimizers)
        return found


def _mapping_differences(kind: str, there: Mapping[str, NamedValues], now: Mapping[str, NamedValues]) -> Iterator[str]:
    for label, facts in there.items():
        if label not in now:
            yield f"{kind} `{label}`: in the folder, but not given now"
            continue
        for name in dict.fromkeys((*facts, *now[label])):
            before, later = facts.get(name), now[label].get(name)
            if before != later:
                yield f"{kind} `{label}`, {name}: {_format_value(before)} in the folder, {_format_value(later)} now"


def _format_value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={each}" for name, each in value.items()) or "none"
    return "none" if value is None or value == "" else f"{value}"


def _format_seeds(seeds: tuple[int, ...]) -> str:
    whole = seeds == tuple(range(seeds[0], seeds[0] + len(seeds))) and len(seeds) > 1
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
