"""Measure how often the 95 % intervals of ranks contain the true value.

    python tests/benchmarks/rank_intervals.py [--comparisons 2000] [--tables 6 10 20]

The script simulates comparisons of 2, 4 and 8 optimizers with three seeds. The loss of optimizer k on a table is a
random number of the optimizer and the table, plus one of the seed, minus `skill * k / optimizers`. The truth is the
result of many tables. The first and the last optimizer are compared, by the ranks of their mean losses. For each kind
of interval of this difference, the script prints the coverage (the share of comparisons whose interval contains the
truth), followed by the mean width in ranks:

- `bootstrap`: quantiles of the resamples;
- `widened`: their distance from the mean is multiplied as for a mean with Student's t;
- `at least`: this distance is also at least the share of tables on which an effect may be that no resample shows;
- `added`: this share is added to the distance, as spacelang 0.2 did.

`spacelang.bench.comparison.ranks.estimate_ranks` uses `at least`.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from spacelang.bench.comparison.ranks import (
    TAIL_PROBABILITY,
    Array,
    BootstrapScheme,
    BootstrapUnit,
    IntervalEstimate,
    bootstrap_estimate,
    rank_losses,
    resample_counts,
)

OPTIMIZERS: Final = (2, 4, 8)
SKILLS: Final = (0.0, 1.0, 3.0, 6.0)
SEEDS: Final = 3
MANY_TABLES: Final = 50_000  # The number of tables that define the truth
KINDS: Final = ("bootstrap", "widened", "at least", "added")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each number of optimizers, skill and number of tables."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--comparisons", type=int, default=2_000, help="number of simulated comparisons per line")
    options.add_argument("--tables", type=int, nargs="+", default=[6, 10, 20], help="numbers of tables")
    chosen = options.parse_args(arguments)
    print(f"{'optimizers':>10} {'skill':>6} {'tables':>6}" + "".join(f"{kind:>14}" for kind in KINDS))
    for optimizers in OPTIMIZERS:
        for skill in SKILLS:
            truth = float(simulate_differences(1, MANY_TABLES, optimizers, skill).mean())
            for tables in chosen.tables:
                found = simulate_differences(chosen.comparisons, tables, optimizers, skill)
                cells = (f"{coverage(each, truth):.3f} {width(each):5.2f}" for each in intervals(found, optimizers))
                print(f"{optimizers:>10} {skill:>6g} {tables:>6}" + "".join(f"{cell:>14}" for cell in cells))


def simulate_differences(comparisons: int, tables: int, optimizers: int, skill: float) -> Array:
    """Return ranks of the first optimizer minus those of the last, of shape (comparisons, tables)."""
    rng = np.random.default_rng([tables, optimizers])
    effects = rng.normal(size=(comparisons, tables, optimizers, 1))
    noise = rng.normal(size=(comparisons, tables, optimizers, SEEDS))
    losses = (effects + noise).mean(axis=-1) - skill * np.arange(optimizers) / optimizers
    found = rank_losses(losses, axis=2, tolerance=0.0)
    difference: Array = found[..., 0] - found[..., -1]
    return difference


def intervals(differences: Array, optimizers: int) -> Iterator[IntervalEstimate]:
    """Yield the intervals of each kind in the order of `KINDS`, from differences by comparison and table."""
    tables = differences.shape[1]
    value = differences.mean(axis=1)
    drawn = differences @ resample_counts(tables) / tables
    bounds = (1.0 - optimizers, optimizers - 1.0)
    share = 2 * BootstrapScheme(BootstrapUnit.DATA, tables).largest_undetected_share
    yield IntervalEstimate(value, *np.quantile(drawn, (TAIL_PROBABILITY, 1 - TAIL_PROBABILITY), axis=1))
    widened = bootstrap_estimate(value, drawn, tables, bounds=bounds)
    yield widened
    yield bootstrap_estimate(value, drawn, tables, share, bounds)
    yield IntervalEstimate(
        value, np.maximum(widened.low - share, bounds[0]), np.minimum(widened.high + share, bounds[1])
    )


def coverage(found: IntervalEstimate, truth: float) -> float:
    """Return the share of intervals that contain the truth."""
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


def width(found: IntervalEstimate) -> float:
    """Return the mean width of intervals."""
    return float(np.mean(found.high - found.low))


if __name__ == "__main__":
    main()
