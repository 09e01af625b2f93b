"""ADMM that knows of a constraint against ADMM that does not, whose trials are filtered afterwards, on `adult`.

    python examples/admm_paper/constraints.py DATASETS --output OUTPUT [--seconds 40] [--seeds 3] [--jobs 2]

DATASETS has `adult.csv.gz` (OpenML 1590), its label in the column `target`. A seed draws 4,000 rows that are searched
on and 8,000 others that no trial sees. Bounds of the latency are quartiles of random pipelines, those of the disparity
of AUROC between sexes and between races are the paper's. Every run is kept in OUTPUT, and what was stopped goes on by
the same command.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from admm_paper.evidence import Wish, budget, limited, made, shown, write
from contests import keeping

from spacelang.ir.trial import TestScore, Trial, order_of
from spacelang.runtime.storing.stored_run import StoredRun

VARIANT: Final = "AdADMM-F16(BO,Ba)"
ROWS: Final = (4_000, 8_000)
DRAWN: Final = 50
"""Random pipelines whose latencies are the bounds."""
QUARTILES: Final = (0.25, 0.5, 0.75)

LATENCY: Final = "predict_latency"
DISPARITIES: Final = {"sex": "disparity(roc_auc, sex)", "race": "disparity(roc_auc, race)"}
LIMITS: Final = (0.05, 0.1, 0.15)
ANY: Final = (f"{LATENCY} <= 1h", *(f"{measure} <= 1" for measure in DISPARITIES.values()))
"""Bounds that everything keeps to: what they bound is measured, and costs no penalty."""

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
    """A bound by a short name: what is measured, the limit in its unit, and as the language writes it."""

    label: str
    measure: str
    limit: float
    text: str

    @classmethod
    def of_latency(cls, quartile: float, seconds: float) -> "Bound":
        """A quartile of the latency, to a hundredth of a microsecond."""
        micros = f"{1e6 * seconds:.2f}"
        return cls(f"latency_{100 * quartile:.0f}", LATENCY, float(micros) * 1e-6, f"{LATENCY} <= {micros}us")

    @classmethod
    def of_disparity(cls, column: str, limit: float) -> "Bound":
        """Between the groups of a column."""
        measure = DISPARITIES[column]
        return cls(f"{column}_{100 * limit:.0f}", measure, limit, f"{measure} <= {limit}")

    def holds(self, trial: Trial) -> bool:
        """Whether what a trial measured keeps to it; what is unknown does not."""
        return any(each.bound.name == self.measure and each.value <= self.limit for each in trial.constraints)


@dataclass(frozen=True, slots=True)
class Kept:
    """The trials of a run that succeeded, and what its best pipeline achieves on rows that none saw."""

    trials: tuple[Trial, ...]
    test: TestScore | None

    @classmethod
    def of(cls, run: StoredRun) -> "Kept":
        """What is of interest of a run that is kept."""
        succeeded = tuple(each.trial for each in run.records() if each.trial.loss is not None)
        return cls(succeeded, None if run.test is None else run.test.score)

    def feasible(self, bound: Bound) -> list[Trial]:
        """Those that keep to a bound."""
        return [each for each in self.trials if bound.holds(each)]

    def share(self, bound: Bound) -> float:
        """Which share of them that is."""
        return len(self.feasible(bound)) / len(self.trials) if self.trials else nan

    def best(self, bound: Bound) -> Trial | None:
        """The best of these."""
        return min(self.feasible(bound), key=order_of, default=None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = keeping(__doc__, seconds=40, seeds=3)
    limited(options, "2s 3GB")
    chosen = options.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    space, data = _space(chosen.output, "any", ANY), chosen.datasets / "adult.csv.gz"
    wish = Wish(VARIANT, 0, space, "any", data, ROWS, budget(chosen))
    bounds = [*latencies(wish, chosen.output), *(Bound.of_disparity(*each) for each in _pairs())]
    seeds = range(chosen.seeds)
    free = [replace(wish, seed=seed) for seed in seeds]
    bounded = [
        replace(wish, seed=seed, label=bound.label, space=_space(chosen.output, bound.label, [bound.text]))
        for seed in seeds
        for bound in bounds
    ]
    found = made([*free, *bounded], Kept.of, chosen.output, chosen.jobs)
    filtered = found[: len(free)]
    own = {(bound, seed): found[len(free) + place] for place, (seed, bound) in enumerate(_product(seeds, bounds))}
    tested = tests(bounded, _product(seeds, bounds), filtered, chosen.output, chosen.jobs)
    rows = [row(bound, seed, filtered[seed], own[bound, seed], tested.get((bound, seed))) for bound, seed in own]
    write(chosen.output / "constraints.csv", rows)
    report(rows, bounds)


def latencies(wish: Wish, folder: Path) -> list[Bound]:
    """Bounds of the latency: quartiles of random pipelines, those that fail left out."""
    drawn = replace(wish, variant="random", options={**wish.options, "trials": DRAWN, "time": None})
    (kept,) = made([drawn], Kept.of, folder, 1)
    seconds = [found.value for each in kept.trials for found in each.constraints if found.bound.name == LATENCY]
    return [Bound.of_latency(quartile, float(np.quantile(seconds, quartile))) for quartile in QUARTILES]


def tests(
    bounded: Sequence[Wish], which: Sequence[tuple[int, Bound]], filtered: Sequence[Kept], folder: Path, jobs: int
) -> dict[tuple[Bound, int], Kept]:
    """What the best trials that are left by filtering achieve on test rows, each in a run of one trial."""
    wishes: dict[tuple[Bound, int], Wish] = {}
    for wish, (seed, bound) in zip(bounded, which, strict=True):
        best = filtered[seed].best(bound)
        if best is not None:
            once = {**wish.options, "trials": 1, "time": None, "initial": [best.request.configuration.to_dict()]}
            wishes[bound, seed] = replace(wish, variant="random", label=f"filtered_{bound.label}", options=once)
    return dict(zip(wishes, made(list(wishes.values()), Kept.of, folder, jobs), strict=True))


def row(bound: Bound, seed: int, filtered: Kept, own: Kept, tested: Kept | None) -> dict[str, object]:
    """Of a bound and a seed: the run that does not know of the bound, and the one that does."""
    said: dict[str, object] = {"bound": bound.text, "seed": seed}
    later = None if tested is None else tested.test
    for name, run, score in (("filtered", filtered, later), ("bounded", own, own.test)):
        best = run.best(bound)
        reached = None if score is None else next(iter(score.constraints), None)
        said |= {
            f"{name}_trials": len(run.trials),
            f"{name}_share": run.share(bound),
            f"{name}_loss": inf if best is None else best.loss,
            f"{name}_test": nan if best is None or score is None or score.loss is None else score.loss,
            f"{name}_test_value": nan if best is None or reached is None or reached.value is None else reached.value,
            f"{name}_test_holds": best is not None and reached is not None and reached.holds,
        }
    return said


def report(rows: Sequence[Mapping[str, object]], bounds: Sequence[Bound]) -> None:
    """Print medians over the seeds; differences are those of the same seed, with a 95 % bootstrap interval."""
    print(f"{len(rows) // len(bounds)} seeds; filtered: the run that does not know of the bound")
    heads = ("share filtered", "bounded", "loss filtered", "bounded", "test filtered", "bounded", "holds there")
    print(f"{'bound':<36}" + "".join(f"{head:>16}" for head in heads) + "  smaller loss if bounded")
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
            + f"{f'{holds} of {len(own)}':>16}  {shown(_less(own, 'loss'))}"
        )
    print(f"smaller loss, all bounds: {shown(_less(rows, 'loss'))}; on test rows: {shown(_less(rows, 'test'))}")
    print(f"larger share, all bounds: {shown([-each for each in _less(rows, 'share')])}")


def _less(rows: Sequence[Mapping[str, object]], what: str) -> list[float]:
    """By how much it is less with the bound known, where both have it."""
    pairs = [(float(each[f"filtered_{what}"]), float(each[f"bounded_{what}"])) for each in rows]  # type: ignore[arg-type]
    return [one - other for one, other in pairs if abs(one) < inf and abs(other) < inf]


def _space(folder: Path, label: str, bounds: Sequence[str]) -> Path:
    """A file with the space and its task, which says what it is subject to."""
    path = folder / f"{label}.space"
    lines = "\n".join(f"  subject to {bound}" for bound in bounds)
    path.write_text(TASK.format(label=label, bounds=lines), encoding="utf-8")
    return path


def _pairs() -> list[tuple[str, float]]:
    return [(column, limit) for column in DISPARITIES for limit in LIMITS]


def _product(seeds: Sequence[int], bounds: Sequence[Bound]) -> list[tuple[int, Bound]]:
    return [(seed, bound) for seed in seeds for bound in bounds]


if __name__ == "__main__":
    main()
