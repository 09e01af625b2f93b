"""The folder of a comparison: its plan, its runs and its results."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spacelang.api.experiment import Experiment, with_fidelity
from spacelang.bench.comparison_data import EvaluationCriteria
from spacelang.bench.configured_optimizers import ConfiguredOptimizer
from spacelang.files import os_error_text, replace_atomically
from spacelang.ir.task import describe_limits
from spacelang.plugins import plugin_identity
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.header import space_identity

if TYPE_CHECKING:
    from spacelang.bench.comparison.plan import ComparisonPlan
    from spacelang.bench.comparison.results import Results

PLAN_FILE: Final = "plan.json"
"""The name of the file with the plan of the comparison."""

RUNS_FOLDER: Final = "runs"
"""The name of the subfolder with a store for every run."""

NO_PLOTS_NOTE: Final = (
    "plots need matplotlib: install `spacelang[plots]` and repeat the command; finished runs are stored"
)

CHOOSE_ANOTHER: Final = "choose another folder"


def plan_of(
    common: Experiment,
    seeds: tuple[int, ...],
    judged: Mapping[str, EvaluationCriteria],
    contestants: Iterable[ConfiguredOptimizer],
) -> "ComparisonPlan":
    """Return the plan of a comparison: everything that decides its runs."""
    from spacelang.bench.comparison.plan import ComparisonPlan

    task, workers = common.space.task, common.workers
    limits = (*describe_limits(workers.limits), *(["isolated trials"] if workers.isolate else []))
    fidelity = None if task is None else task.fidelity
    optimizers = {each.label: with_fidelity(each.optimizer, fidelity) for each in contestants}
    return ComparisonPlan(
        space=common.space.name,
        identity=space_identity(common.space.checked),
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


def claim_folder(folder: Path, plan: "ComparisonPlan") -> Path:
    """Write the plan to the folder and return the subfolder for the runs.

    The folder must be empty or hold this comparison. Raises InputError if it holds anything else or is not writable,
    and StoreError with the differences if it holds another comparison.
    """
    runs = folder / RUNS_FOLDER
    try:
        _check_folder(folder, plan)
        runs.mkdir(parents=True, exist_ok=True)
        with replace_atomically(folder / PLAN_FILE) as new:
            new.write_bytes(plan.to_json().encode("utf-8", "backslashreplace"))
    except OSError as error:
        message = f"the comparison cannot be stored in `{folder}`: {os_error_text(error)}"
        raise InputError(message, "choose a writable folder") from error
    return runs


def write_results(results: "Results", folder: Path) -> tuple[str, ...]:
    """Write `comparison.json`, `comparison.csv` and the plots to the folder.

    Returns notes for the user about what could not be written and why. Raises InputError if the folder is not writable.
    """
    from spacelang.bench.comparison import document, tables
    from spacelang.bench.comparison.plots import is_available, render_plots

    whole = {**document.comparison_document(results), "curves": document.curves_document(results)}
    table = tables.curves(results).to_csv(index=False, lineterminator="\n")
    drawn = render_plots(results) if is_available() else {}
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
    from spacelang.bench.comparison.plan import ComparisonPlan
    from spacelang.runtime.storage.store_errors import StoreError

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
    differences = earlier.differences(plan)
    if differences:
        help_text = f"{CHOOSE_ANOTHER}; only optimizers, data and repeats may be added to a comparison"
        raise StoreError(f"`{folder}` contains another comparison", help_text, tuple(differences))
