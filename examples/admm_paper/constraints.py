"""Compare ADMM with a constraint and ADMM without it, whose trials are filtered afterwards, on `adult`.

    python examples/admm_paper/constraints.py DATASETS --output OUTPUT [--seconds 40] [--seeds 3] [--jobs 2]

DATASETS contains `adult.csv.gz` (OpenML 1590), with labels in the column `target`. A seed draws 4,000 search rows and
8,000 test rows. Bounds of the latency are quartiles of random pipelines. Bounds of the disparity of AUROC between sexes
and between races are those of the paper. Runs are stored in OUTPUT, and the same command resumes interrupted runs.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from admm_paper.evidence import RunRequest, add_search_options, format_median, get_search_options, make_runs, write_csv
from contests import make_base_parser

from spacelang.ir.trial import TestScore, Trial, sort_key
from spacelang.runtime.storage.stored_run import StoredRun

VARIANT: Final = "AdADMM-F16(BO,Ba)"
SAMPLE_SIZES: Final = (4_000, 8_000)
RANDOM_PIPELINES: Final = 50
"""The number of random pipelines whose latencies define the bounds."""
QUARTILES: Final = (0.25, 0.5, 0.75)

LATENCY: Final = "predict_latency"
DISPARITIES: Final = {"sex": "disparity(roc_auc, sex)", "race": "disparity(roc_auc, race)"}
DISPARITY_LIMITS: Final = (0.05, 0.1, 0.15)
SATISFIED_BOUNDS: Final = (f"{LATENCY} <= 1h", *(f"{measure} <= 1" for measure in DISPARITIES.values()))
"""Bounds that every pipeline satisfies: their quantities are measured, and there is no penalty."""

TASK: Final = """\
space adult_{label}
import "admm_table_a3" as table
pipeline = table
task classification {{
  validate holdout(0.3)
{bounds}
}}
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound with a short name: a measure, its limit, and the text of the bound in the language."""

    label: str
    measure: str
    limit: float
    text: str

    @classmethod
    def from_latency(cls, quartile: float, seconds: float) -> "Bound":
        """Return a bound of the latency, rounded to a hundredth of a microsecond."""
        micros = f"{1e6 * seconds:.2f}"
        return cls(f"latency_{100 * quartile:.0f}", LATENCY, float(micros) * 1e-6, f"{LATENCY} <= {micros}us")

    @classmethod
    def from_disparity(cls, column: str, limit: float) -> "Bound":
        """Return a bound of the disparity between the groups of a column."""
        measure = DISPARITIES[column]
        return cls(f"{column}_{100 * limit:.0f}", measure, limit, f"{measure} <= {limit}")

    def is_satisfied(self, trial: Trial) -> bool:
        """Return True if the trial satisfies the bound; an unknown measurement does not."""
        return any(each.bound.name == self.measure and each.value <= self.limit for each in trial.constraints)


@dataclass(frozen=True, slots=True)
class RunTrials:
    """The successful trials of a run, and the test score of its best pipeline."""

    trials: tuple[Trial, ...]
    test: TestScore | None

    @classmethod
    def from_stored(cls, run: StoredRun) -> "RunTrials":
        """Return the successful trials and the test score of a stored run."""
        succeeded = tuple(each.trial for each in run.records() if each.trial.loss is not None)
        return cls(succeeded, None if run.test_score is None else run.test_score.score)

    def feasible(self, bound: Bound) -> list[Trial]:
        """Return the trials that satisfy a bound."""
        return [each for each in self.trials if bound.is_satisfied(each)]

    def share(self, bound: Bound) -> float:
        """Return the share of trials that satisfy a bound."""
        return len(self.feasible(bound)) / len(self.trials) if self.trials else nan

    def best(self, bound: Bound) -> Trial | None:
        """Return the best trial that satisfies a bound, or None."""
        return min(self.feasible(bound), key=sort_key, default=None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_base_parser(__doc__, seconds=40, seeds=3)
    add_search_options(options, "2s 3GB")
    chosen = options.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    space, data = _write_space(chosen.output, "any", SATISFIED_BOUNDS), chosen.datasets / "adult.csv.gz"
    request = RunRequest(VARIANT, 0, space, "any", data, SAMPLE_SIZES, get_search_options(chosen))
    bounds = [*measure_latency_bounds(request, chosen.output), *(Bound.from_disparity(*each) for each in _pairs())]
    seeds = range(chosen.seeds)
    unbounded = [replace(request, seed=seed) for seed in seeds]
    bounded = [
        replace(request, seed=seed, label=bound.label, space=_write_space(chosen.output, bound.label, [bound.text]))
        for seed in seeds
        for bound in bounds
    ]
    found = make_runs([*unbounded, *bounded], RunTrials.from_stored, chosen.output, chosen.jobs)
    filtered = found[: len(unbounded)]
    own = {(bound, seed): found[len(unbounded) + place] for place, (seed, bound) in enumerate(_product(seeds, bounds))}
    tested = score_filtered(bounded, _product(seeds, bounds), filtered, chosen.output, chosen.jobs)
    rows = [make_row(bound, seed, filtered[seed], own[bound, seed], tested.get((bound, seed))) for bound, seed in own]
    write_csv(chosen.output / "constraints.csv", rows)
    report(rows, bounds)


def measure_latency_bounds(request: RunRequest, folder: Path) -> list[Bound]:
    """Return bounds of the latency: quartiles of random pipelines without failed ones."""
    random_run = replace(
        request, variant="random", options={**request.options, "trials": RANDOM_PIPELINES, "time": None}
    )
    (run,) = make_runs([random_run], RunTrials.from_stored, folder, 1)
    seconds = [found.value for each in run.trials for found in each.constraints if found.bound.name == LATENCY]
    return [Bound.from_latency(quartile, float(np.quantile(seconds, quartile))) for quartile in QUARTILES]


def score_filtered(
    bounded: Sequence[RunRequest],
    which: Sequence[tuple[int, Bound]],
    filtered: Sequence[RunTrials],
    folder: Path,
    jobs: int,
) -> dict[tuple[Bound, int], RunTrials]:
    """Return runs of one trial each, which score the best filtered trials on the test rows."""
    requests: dict[tuple[Bound, int], RunRequest] = {}
    for request, (seed, bound) in zip(bounded, which, strict=True):
        best = filtered[seed].best(bound)
        if best is not None:
            options = {**request.options, "trials": 1, "time": None, "initial": [best.request.configuration.to_dict()]}
            requests[bound, seed] = replace(request, variant="random", label=f"filtered_{bound.label}", options=options)
    return dict(zip(requests, make_runs(list(requests.values()), RunTrials.from_stored, folder, jobs), strict=True))


def make_row(
    bound: Bound, seed: int, filtered: RunTrials, own: RunTrials, tested: RunTrials | None
) -> dict[str, object]:
    """Return the row of a bound and a seed: the run without the bound, and the run with it."""
    row: dict[str, object] = {"bound": bound.text, "seed": seed}
    filtered_test = None if tested is None else tested.test
    for name, run, score in (("filtered", filtered, filtered_test), ("bounded", own, own.test)):
        best = run.best(bound)
        reached = None if score is None else next(iter(score.constraints), None)
        row |= {
            f"{name}_trials": len(run.trials),
            f"{name}_share": run.share(bound),
            f"{name}_loss": inf if best is None else best.loss,
            f"{name}_test": nan if best is None or score is None or score.loss is None else score.loss,
            f"{name}_test_value": nan if best is None or reached is None or reached.value is None else reached.value,
            f"{name}_test_holds": best is not None and reached is not None and reached.holds,
        }
    return row


def report(rows: Sequence[Mapping[str, object]], bounds: Sequence[Bound]) -> None:
    """Print medians over the seeds; differences are of the same seed, with a 95 % bootstrap interval."""
    print(f"{len(rows) // len(bounds)} seeds; filtered: the run without the bound")
    heads = ("share filtered", "bounded", "loss filtered", "bounded", "test filtered", "bounded", "holds there")
    print(f"{'bound':<36}" + "".join(f"{head:>16}" for head in heads) + "  loss is smaller with the bound by")
    for bound in bounds:
        own = [each for each in rows if each["bound"] == bound.text]
        numbers = [
            float(np.median([float(each[f"{name}_{what}"]) for each in own]))  # type: ignore[arg-type]
            for what in ("share", "loss", "test")
            for name in ("filtered", "bounded")
        ]
        holds = "/".join(str(sum(bool(each[f"{name}_test_holds"]) for each in own)) for name in ("filtered", "bounded"))
        print(
            f"{bound.text:<36}"
            + "".join(f"{number:>16.4f}" for number in numbers)
            + f"{f'{holds} of {len(own)}':>16}  {format_median(_compute_gains(own, 'loss'))}"
        )
    losses, test_losses = (format_median(_compute_gains(rows, name)) for name in ("loss", "test"))
    print(f"smaller loss, all bounds: {losses}; on test rows: {test_losses}")
    print(f"larger share, all bounds: {format_median([-each for each in _compute_gains(rows, 'share')])}")


def _compute_gains(rows: Sequence[Mapping[str, object]], what: str) -> list[float]:
    """Return by how much the values of the bounded runs are smaller, where both runs have a value."""
    pairs = [(float(each[f"filtered_{what}"]), float(each[f"bounded_{what}"])) for each in rows]  # type: ignore[arg-type]
    return [one - other for one, other in pairs if abs(one) < inf and abs(other) < inf]


def _write_space(folder: Path, label: str, bounds: Sequence[str]) -> Path:
    """Write the space with a task that has these bounds; return the path of the file."""
    path = folder / f"{label}.space"
    lines = "\n".join(f"  subject to {bound}" for bound in bounds)
    path.write_text(TASK.format(label=label, bounds=lines), encoding="utf-8")
    return path


def _pairs() -> list[tuple[str, float]]:
    return [(column, limit) for column in DISPARITIES for limit in DISPARITY_LIMITS]


def _product(seeds: Sequence[int], bounds: Sequence[Bound]) -> list[tuple[int, Bound]]:
    return [(seed, bound) for seed in seeds for bound in bounds]


if __name__ == "__main__":
    main()
