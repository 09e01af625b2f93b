"""The folder of a comparison: its plan, its runs and its results."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spacelang.api.experiment import Experiment, with_fidelity
from spacelang.bench.arenas import Criteria
from spacelang.bench.contestants import Contestant
from spacelang.files import replacing, said_by
from spacelang.ir.task import describe_limits
from spacelang.plugins import facts
from spacelang.runtime.errors import InputError
from spacelang.runtime.storing.header import identity

if TYPE_CHECKING:
    from spacelang.bench.comparison.plan import ComparisonPlan
    from spacelang.bench.comparison.results import Results

PLAN: Final = "plan.json"
"""The name of the file with the plan of the comparison."""

RUNS: Final = "runs"
"""The name of the subfolder with a store for every run."""

PLOTS: Final = "plots need matplotlib: install `spacelang[plots]` and repeat the command; finished runs are stored"

ANOTHER: Final = "choose another folder"


def plan_of(
    common: Experiment, seeds: tuple[int, ...], judged: Mapping[str, Criteria], contestants: Iterable[Contestant]
) -> "ComparisonPlan":
    """Return the plan of a comparison: everything that decides its runs."""
    from spacelang.bench.comparison.plan import ComparisonPlan

    task, workers = common.space.task, common.workers
    limits = (*describe_limits(workers.limits), *(["isolated trials"] if workers.isolate else []))
    fidelity = None if task is None else task.fidelity
    optimizers = {each.label: with_fidelity(each.optimizer, fidelity) for each in contestants}
    return ComparisonPlan(
        space=common.space.name,
        identity=identity(common.space.checked),
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
        optimizers={label: {"name": each.name, "options": facts(each.plugin)} for label, each in optimizers.items()},
    )


def claim(folder: Path, plan: "ComparisonPlan") -> Path:
    """Write the plan to the folder and return the subfolder for the runs.

    The folder must be empty or hold this comparison. Raises InputError if it holds anything else or is not writable,
    and StoreError with the differences if it holds another comparison.
    """

    runs = folder / RUNS
    try:
        _check(folder, plan)
        runs.mkdir(parents=True, exist_ok=True)
        with replacing(folder / PLAN) as new:
            new.write_bytes(plan.text().encode("utf-8", "backslashreplace"))
    except OSError as error:
        message = f"the comparison cannot be stored in `{folder}`: {said_by(error)}"
        raise InputError(message, "choose a writable folder") from error
    return runs


def write(results: "Results", folder: Path) -> tuple[str, ...]:
    """Write `comparison.json`, `comparison.csv` and the plots to the folder.

    Returns notes for the user about what could not be written and why. Raises InputError if the folder is not writable.
    """
    from spacelang.bench.comparison import document, tables
    from spacelang.bench.comparison.plots import is_available, plots

    whole = {**document.document(results), "curves": document.curves(results)}
    table = tables.curves(results).to_csv(index=False, lineterminator="\n")
    drawn = plots(results) if is_available() else {}
    files = {
        "comparison.json": json.dumps(whole, allow_nan=False).encode() + b"\n",
        "comparison.csv": table.encode("utf-8", "backslashreplace"),
        **drawn,
    }
    try:
        for name, content in files.items():
            with replacing(folder / name) as new:
                new.write_bytes(content)
    except OSError as error:
        raise InputError(f"`{folder}` cannot be written: {said_by(error)}") from error
    return () if drawn else (PLOTS,)


def _check(folder: Path, plan: "ComparisonPlan") -> None:
    from spacelang.bench.comparison.plan import ComparisonPlan
    from spacelang.runtime.storing.store_faults import StoreError

    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"`{folder}` is not a folder", ANOTHER)
    if next(folder.iterdir(), None) is None:
        return
    try:
        earlier = ComparisonPlan.read((folder / PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"`{folder}` is not empty and contains no comparison", ANOTHER) from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"`{folder / PLAN}` is damaged", ANOTHER) from error
    differences = earlier.differences(plan)
    if differences:
        help_text = f"{ANOTHER}; only optimizers, data and repeats may be added to a comparison"
        raise StoreError(f"`{folder}` contains another comparison", help_text, tuple(differences))
