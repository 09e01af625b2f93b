"""How long MOSAIC thinks, and whether its small forest costs anything: prints figures.

    python tests/benchmarks/mosaic.py [--quick] [--seeds N] [--trials N]

First the processor time of its own work for an iteration (a fit of the forest where the data have grown by a twentieth,
selection, expansion and a playout with 1,000 candidates) on the bundled space `mosaic`, with 200 and with 1,000
observations: the mean and the longest of those until the forest was fitted twice. Then the best losses that it finds
on the artificial objective over its space, beside those with 100 trees that look at all features, seed by seed. At last
how much of their time eight simulated workers spend with trials that are told, some of which take fifty times as long
as others; proposals take no time there.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

import numpy as np

import spacelang
from spacelang.bench.simulated import Simulated
from spacelang.ir.asking import Later, Search, Told
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers.mosaic import Mosaic
from spacelang.runtime.boxes.artificial import artificial
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.here import Here
from spacelang.runtime.loop import run
from spacelang.testing.driving import arbitrary

ARTIFICIAL: Final = str(Path(__file__).parents[2] / "examples" / "admm_paper" / "artificial.space")
FULL: Final = Mosaic(trees=100, features=1.0)
QUICK: Final[dict[str, Any]] = {"n_r": 50, "n_s": 5}
"""Options that change no figure but times."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="a few trials: that it runs, not how fast")
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--trials", type=int, default=100)
    chosen = options.parse_args(arguments)
    seeds, trials, sizes = (1, 43, (20,)) if chosen.quick else (chosen.seeds, chosen.trials, (200, 1_000))
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; processor time")
    for size in sizes:
        times = thinking(spacelang.load("mosaic").checked, size, QUICK if chosen.quick else {})
        print(f"  {size:>5,} observations: {fmean(times):.3f} s an iteration, {max(times):.3f} s the longest")
    small, full = (
        [least(optimizer, spacelang.load(ARTIFICIAL).checked, trials, seed) for seed in range(seeds)]
        for optimizer in (Mosaic(), FULL)
    )
    differences = [one - other for one, other in zip(small, full, strict=True)]
    better, worse = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    print(f"  least loss after {trials} trials: {median(small):.4g}, with 100 full trees {median(full):.4g} (medians)")
    print(f"  of {seeds} seeds better for {better}, worse for {worse}; median difference {median(differences):.2g}")
    share = busy(spacelang.load(ARTIFICIAL).checked, 2 * trials)
    print(f"  eight workers are busy {share:.1%} of the time with trials that are told")


def thinking(space: Space, observations: int, options: dict[str, Any]) -> list[float]:
    """The seconds of each of the next iterations after so many observations, those that are drawn at the beginning."""
    import sklearn.ensemble  # noqa: F401 - it takes longer than any iteration

    actions = 16
    optimizer = Mosaic(kappa=observations // actions - 1, **options)
    search = optimizer.search(Problem(space, 100, np.random.default_rng(0)))
    count, times = max(2, observations // 10), []
    try:
        ask = next(search)
        told: Told | None = Told(None, 1)
        for number in range(observations + count):
            ask = search.send(told) if told else ask
            (wish,) = ask.begin
            before = time.process_time()
            request = wish.make(np.random.default_rng([0, number])) if isinstance(wish, Later) else wish
            if isinstance(wish, Later):
                times.append(time.process_time() - before)
                if wish.begun is not None:
                    wish.begun(request)
            told = Told(artificial(space, 0).evaluate(request), 1, asked=wish)
    finally:
        search.close()
    return times


def least(optimizer: Mosaic, space: Space, trials: int, seed: int) -> float:
    """The least artificial loss that it finds."""
    objective = artificial(space, seed)
    search: Search = optimizer.search(Problem(space, 100, np.random.default_rng(seed)))
    outcome = run(search, Here(objective.evaluate), Budget(trials=trials), clock=time.monotonic, scale=None, seed=seed)
    return min(record.trial.loss for record in outcome.records if record.trial.loss is not None)


def busy(space: Space, trials: int, workers: int = 8) -> float:
    """The share of their time that workers spend with trials that are told within so many."""
    objective = artificial(space, 0)

    def timed(request: Request) -> Trial:
        return replace(objective.evaluate(request), cost=0.02 + arbitrary(request))

    crew = Simulated(timed, workers=workers)
    search = Mosaic(**QUICK).search(Problem(space, 100, np.random.default_rng(0)))
    outcome = run(search, crew, Budget(trials=trials), clock=crew.clock, scale=None)
    return sum(each.trial.cost for each in outcome.records if not each.is_early) / (workers * outcome.seconds)


if __name__ == "__main__":
    main()
