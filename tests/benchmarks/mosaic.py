"""Measure the time of MOSAIC per iteration, the cost of its small forest, and the use of its workers.

    python tests/benchmarks/mosaic.py [--quick] [--seeds N] [--trials N]

The first part is the processor time of an iteration without the trial: a fit of the forest if the data has grown by a
twentieth, selection, expansion and a playout with 1,000 candidates. It is measured on the bundled space `mosaic` with
200 and with 1,000 observations, until the forest was fitted twice; the mean and the maximum are printed. The second
part is the final losses on the artificial objective over its space, compared with 100 trees that use all features, seed
by seed. The third part is the share of their time that eight simulated workers spend on trials that the search uses.
Some trials take fifty times as long as others, and proposals take no time there.
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
from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.search_protocol import LazyRequest, Problem, Search, SearchEvent
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers.mosaic import Mosaic
from spacelang.runtime.black_box.artificial_objective import make_artificial_objective
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import hash_loss

ARTIFICIAL: Final = str(Path(__file__).parents[2] / "examples" / "admm_paper" / "artificial.space")
FULL: Final = Mosaic(trees=100, features=1.0)
QUICK: Final[dict[str, Any]] = {"n_r": 50, "n_s": 5}
"""Options that change only times."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="a few trials, to check only that the benchmark runs")
    options.add_argument("--seeds", type=int, default=10, help="number of seeds")
    options.add_argument("--trials", type=int, default=100, help="number of trials of each run")
    chosen = options.parse_args(arguments)
    seeds, trials, sizes = (1, 43, (20,)) if chosen.quick else (chosen.seeds, chosen.trials, (200, 1_000))
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; processor time")
    for size in sizes:
        times = time_iterations(spacelang.load("mosaic").checked, size, QUICK if chosen.quick else {})
        print(f"  {size:>5,} observations: {fmean(times):.3f} s an iteration, at most {max(times):.3f} s")
    small, full = (
        [find_final_loss(optimizer, spacelang.load(ARTIFICIAL).checked, trials, seed) for seed in range(seeds)]
        for optimizer in (Mosaic(), FULL)
    )
    differences = [one - other for one, other in zip(small, full, strict=True)]
    better, worse = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    print(f"  final loss after {trials} trials: {median(small):.4g}, with 100 full trees {median(full):.4g} (medians)")
    print(f"  better for {better} of {seeds} seeds, worse for {worse}; median difference {median(differences):.2g}")
    share = measure_busy_share(spacelang.load(ARTIFICIAL).checked, 2 * trials)
    print(f"  eight workers spend {share:.1%} of their time on trials that the search uses")


def time_iterations(space: Space, observations: int, options: dict[str, Any]) -> list[float]:
    """Return the seconds of each iteration after so many observations, without those of the initialization."""
    import sklearn.ensemble  # noqa: F401 - importing it takes longer than any iteration

    actions = 16
    optimizer = Mosaic(kappa=observations // actions - 1, **options)
    search = optimizer.search(Problem(space, 100, np.random.default_rng(0)))
    count, times = max(2, observations // 10), []
    try:
        ask = next(search)
        event: SearchEvent | None = SearchEvent(None, 1)
        for number in range(observations + count):
            ask = search.send(event) if event else ask
            (pending,) = ask.requests
            before = time.process_time()
            request = pending.make(np.random.default_rng([0, number])) if isinstance(pending, LazyRequest) else pending
            if isinstance(pending, LazyRequest):
                times.append(time.process_time() - before)
                if pending.on_start is not None:
                    pending.on_start(request)
            event = SearchEvent(make_artificial_objective(space, 0).evaluate(request), 1, request=pending)
    finally:
        search.close()
    return times


def find_final_loss(optimizer: Mosaic, space: Space, trials: int, seed: int) -> float:
    """Return the final loss on the artificial objective."""
    objective = make_artificial_objective(space, seed)
    search: Search = optimizer.search(Problem(space, 100, np.random.default_rng(seed)))
    outcome = run(
        search,
        InProcess(objective.evaluate),
        Budget(trials=trials),
        clock=time.monotonic,
        scale=None,
        seed=seed,
    )
    return min(record.trial.loss for record in outcome.records if record.trial.loss is not None)


def measure_busy_share(space: Space, trials: int, workers: int = 8) -> float:
    """Return the share of their time that workers spend on trials that the search uses."""
    objective = make_artificial_objective(space, 0)

    def evaluate(request: Request) -> Trial:
        return replace(objective.evaluate(request), cost=0.02 + hash_loss(request))

    executor = SimulatedExecutor(evaluate, workers=workers)
    search = Mosaic(**QUICK).search(Problem(space, 100, np.random.default_rng(0)))
    outcome = run(search, executor, Budget(trials=trials), clock=executor.clock, scale=None)
    return sum(each.trial.cost for each in outcome.records if not each.is_speculative) / (workers * outcome.seconds)


if __name__ == "__main__":
    main()
