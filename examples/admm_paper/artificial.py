"""ADMM against one Gaussian process over everything, on the artificial objective: prints a table of losses and times.

    python examples/admm_paper/artificial.py --output OUTPUT [--seconds 60] [--seeds 10] [--jobs 2]

Every seed is another objective. All optimizers have the same time, one worker, and no data; every run is kept in
OUTPUT, and what was stopped goes on by the same command.
"""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

import spacelang as sl

SPACE: Final = Path(__file__).parent / "artificial.space"

OPTIMIZERS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "jopt": ("jopt", {}),
    "AdADMM-F16(BO,Ba)": ("admm", {"preset": "adadmm_f16_bo_ba"}),
    "AdADMM-F16(BO,BO)": ("admm", {"preset": "adadmm_f16_bo_bo"}),
    "random": ("random", {}),
}
"""What is compared: by the papers' names, an optimizer and its options."""

BASE: Final = "jopt"


@dataclass(frozen=True, slots=True)
class Run:
    """The curve of a run: after so many seconds the best loss was so small; and how many trials there were."""

    curve: tuple[tuple[float, float], ...]
    trials: int

    @property
    def loss(self) -> float:
        """The best one."""
        return self.curve[-1][1]

    def reaches(self, loss: float) -> float:
        """After how many seconds it was at most that; infinity if never."""
        return next((seconds for seconds, found in self.curve if found <= loss), inf)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--output", type=Path, required=True, help="the folder in which runs are kept")
    options.add_argument("--seconds", type=float, default=60.0, help="of each run")
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    chosen = options.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    wishes = [(name, seed) for seed in range(chosen.seeds) for name in OPTIMIZERS]
    with ProcessPoolExecutor(chosen.jobs) as pool:
        made = [pool.submit(searched, name, seed, chosen.seconds, chosen.output) for name, seed in wishes]
        runs = {wish: each.result() for wish, each in zip(wishes, made, strict=True)}
    report({name: [runs[name, seed] for seed in range(chosen.seeds)] for name in OPTIMIZERS}, chosen.seconds)


def searched(name: str, seed: int, seconds: float, folder: Path) -> Run:
    """A run, from its store as far as that has it."""
    optimizer, given = OPTIMIZERS[name]
    store = folder / f"{optimizer}-{given.get('preset', 'default')}-{seed}.db"
    result = sl.search(
        SPACE,
        objective=f"artificial:{seed}",
        optimizer=optimizer,
        optimizer_options=given,
        time=seconds,
        workers=0,
        seed=seed,
        store=store,
        resume=store.exists(),
    )
    curve = zip(result.incumbent["seconds"], result.incumbent["loss"], strict=True)
    return Run(tuple((float(after), float(loss)) for after, loss in curve), len(result.trials))


def report(runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print the table: medians over the seeds, and of the differences to the base a 95 % bootstrap interval."""
    base = runs[BASE]
    print(f"{len(base)} objectives, {seconds:g} s each; losses beside {BASE} are differences of the same seed")
    print(f"{'optimizer':<20}{'trials':>8}{'loss':>10}  {'less than ' + BASE:<28}{'ahead':>6}{'reaches it after':>18}")
    for name, own in runs.items():
        line = f"{name:<20}{median(each.trials for each in own):>8g}{median(each.loss for each in own):>10.4f}"
        if name != BASE:
            less = np.array([other.loss - each.loss for each, other in zip(own, base, strict=True)])
            drawn = np.random.default_rng(0).choice(less, (10_000, len(less)))
            low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
            after = median(each.reaches(other.loss) for each, other in zip(own, base, strict=True))
            interval = f"{np.median(less):.4f} [{low:.4f}, {high:.4f}]"
            reached = "never" if after == inf else f"{after:.1f} s"
            line += f"  {interval:<28}{int((less > 0).sum()):>6}{reached:>18}"
        print(line)


if __name__ == "__main__":
    main()
