"""Measure what optimizers and the loop cost beside short trials: processor time of the process by number of trials.

    python tests/benchmarks/short_trials.py [--trials 1000] [--seconds 0.1] [--space NAME] [OPTIMIZER ...]

The objective sleeps, so all processor time of the process is overhead: imports, proposals, models and the loop. It is
printed as a share of the seconds that the trials slept. `auto` gets a time budget, since its models take a share of it.
"""

import argparse
import time
from collections.abc import Sequence
from zlib import crc32

import spacelang as sl


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each optimizer."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("optimizers", nargs="*", default=["auto", "random"], metavar="OPTIMIZER")
    options.add_argument("--trials", type=int, default=1_000)
    options.add_argument("--seconds", type=float, default=0.1, help="seconds of a trial")
    options.add_argument("--space", default="tabular_classification")
    chosen = options.parse_args(arguments)
    space = sl.load(chosen.space)

    def objective(configuration: sl.Configuration) -> float:
        """Sleep, and return a loss that depends on the configuration in no learnable way."""
        time.sleep(chosen.seconds)
        return crc32(repr(sorted(configuration.items())).encode()) / 2**32

    for name in chosen.optimizers:
        start = time.process_time()
        limit = 10 * chosen.trials * chosen.seconds + 60
        result = sl.search(space, objective=objective, optimizer=name, trials=chosen.trials, time=limit)
        spent, slept = time.process_time() - start, len(result.trials) * chosen.seconds
        share = f"{spent / slept:.1%} of the trials' time"
        print(f"{name:<20} {len(result.trials):>7,} trials  {spent:7.2f} s of overhead  {share}", flush=True)


if __name__ == "__main__":
    main()
