"""Print the comparison of a benchmark as Markdown tables: paired differences of log test losses, ranks, and losses.

    python examples/default/analysis.py RESULTS.csv [--seconds 60] [--base auto] [--without TABLE ...]

The base contender is compared with every other one, on the tables and seeds that both have. The difference of a table
is the mean over its seeds of log(loss of the base / loss of the other); negative numbers are in favour of the base. The
mean over tables has a 95 % interval by bootstrap over tables, and the smallest true difference that a test with as many
tables would detect with a probability of 80 %. The first tables are without the tables that parts were tuned on. If
contenders have fewer seeds, a second report compares the base with them, on the seeds that all of them have.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

sys.path.insert(0, str(Path(__file__).parents[1]))

from default.results import read_results
from default.tables import TUNED_ON

from spacelang.bench.comparison.ranks import (
    LEVEL,
    MIN_UNITS,
    IntervalEstimate,
    RankEstimates,
    RankingMethod,
    bootstrap_mean,
    choose_bootstrap,
    estimate_ranks,
)

Array: TypeAlias = npt.NDArray[np.float64]
POWER: Final = 0.8
"""The probability with which the smallest detectable difference would be detected."""
LEAST_ROWS: Final = (5, 10, 20)
"""Numbers of test rows: a second comparison does not tell losses apart that are below the share of so many."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The base contender compared with another one, on the tables that both have.

    `differences` has the mean log ratio of test losses by table. `detectable` is the smallest detectable difference.
    """

    other: str
    differences: "pd.Series[Any]"
    mean: float
    low: float
    high: float
    detectable: float

    @property
    def verdict(self) -> str:
        """Return which of the two is ahead beyond noise; too few tables have no interval."""
        if isnan(self.low):
            return "not known: too few tables"
        return "ahead" if self.high < 0 else "behind" if self.low > 0 else "within noise"


def log_losses(results: pd.DataFrame, column: str = "loss", least_rows: float = 0.5) -> pd.DataFrame:
    """Return the logarithms of test losses, by table and seed (rows) and contender (columns); NaN without a loss.

    A loss counts as at least the share of `least_rows` test rows. The floor of the results is that of half a row.
    """
    losses = np.log(results[column].astype(float).clip(lower=results["floor"] * (least_rows / 0.5)))
    return results.assign(log_loss=losses).pivot(index=["table", "seed"], columns="contender", values="log_loss")


def compare(one: "pd.Series[Any]", other: "pd.Series[Any]", name: str) -> Comparison:
    """Return the comparison of two series of log losses by table and seed; `name` is that of the other one."""
    differences = (one - other).dropna().groupby(level="table").mean()
    values = differences.to_numpy(dtype=np.float64)
    if not len(values):
        return Comparison(name, differences, nan, nan, nan, nan)
    interval = bootstrap_mean(values)
    mean, low, high = (float(each) for each in (interval.value, interval.low, interval.high))
    return Comparison(name, differences, mean, low, high, detectable_difference(values))


def detectable_difference(values: Array, power: float = POWER) -> float:
    """Return the smallest true mean that a t-test of as many values would tell from 0 with this probability.

    It is (t(0.975) + t(power)) * s / sqrt(n), with the quantiles of Student's t for n - 1 degrees of freedom, and the
    standard deviation s of the values. It is NaN for too few values.
    """
    number = len(values)
    if number < MIN_UNITS:
        return nan
    quantiles = stdtrit(number - 1, (1 + LEVEL) / 2) + stdtrit(number - 1, power)
    return float(quantiles * np.std(values, ddof=1) / sqrt(number))


def compare_all(results: pd.DataFrame, base: str, least_rows: float = 0.5) -> list[Comparison]:
    """Return the comparisons of the base with all others, the others with the smallest losses first.

    A loss counts as at least the share of `least_rows` test rows.
    """
    found = log_losses(results, least_rows=least_rows)
    names = [name for name in found.columns if name != base]
    return sorted((compare(found[base], found[name], name) for name in names), key=lambda each: -each.mean)


def compute_ranks(results: pd.DataFrame) -> tuple[list[str], RankEstimates] | None:
    """Return the contenders, and the ranks of their runs; None if no table has all runs.

    Ranks are averaged over seeds and tables. Tables without all runs are left out.
    """
    losses = log_losses(results)
    complete = losses.unstack("seed").dropna()
    if complete.empty:
        return None
    shape = (len(complete), len(losses.columns), results["seed"].nunique(), 1)
    array = complete.to_numpy(dtype=np.float64).reshape(shape)
    return [*losses.columns], estimate_ranks(array, RankingMethod.RUNS, 0.0, choose_bootstrap(shape[0], shape[2]))


def parts_with_equal_seeds(results: pd.DataFrame, base: str) -> list[pd.DataFrame]:
    """Return the results in parts in which each contender has runs with the same seeds.

    The first part has the contenders with all seeds. If there are others, the second part has these and the base
    contender, and the seeds that all of them have. If the base contender lacks seeds, all results are one part.
    """
    seeds = {name: {*part["seed"]} for name, part in results.groupby("contender")}
    everything, common = set.union(*seeds.values()), set.intersection(*seeds.values())
    if common == everything or not common or seeds[base] != everything:
        return [results]
    has_all = results["contender"].isin([name for name, found in seeds.items() if found == everything])
    is_base = results["contender"] == base
    return [results[has_all], results[(~has_all | is_base) & results["seed"].isin(common)]]


def report(results: pd.DataFrame, base: str) -> Iterator[str]:
    """Yield the lines of a report on some results with the same time limit."""
    tables, seeds = results["table"].nunique(), results["seed"].nunique()
    yield f"{tables} tables, {seeds} {'seed' if seeds == 1 else 'seeds'}, {len(results)} runs"
    expected = tables * seeds * results["contender"].nunique()
    if len(results) < expected:
        yield f"{expected - len(results)} runs are missing: every pair is compared on the runs that both have"
    yield ""
    yield from comparison_table(compare_all(results, base), base)
    yield ""
    yield from least_loss_table(results, base)
    yield ""
    yield from contender_table(results)
    yield ""
    yield from loss_table(results)


def comparison_table(comparisons: Iterable[Comparison], base: str) -> Iterator[str]:
    """Yield a table with a row for each other contender."""
    yield from _heading(
        f"`{base}` compared with",
        "mean log ratio of test losses [95 %]",
        "smallest detectable difference",
        "smaller loss on",
        f"`{base}` is",
    )
    for each in comparisons:
        smaller = f"{int((each.differences < 0).sum())} of {len(each.differences)} tables"
        yield _row(
            f"`{each.other}`",
            _interval(each.mean, each.low, each.high),
            _number(each.detectable),
            smaller,
            each.verdict,
        )


def least_loss_table(results: pd.DataFrame, base: str) -> Iterator[str]:
    """Yield a table of the comparisons in which losses below the share of a few test rows count as equal."""
    yield from _heading(
        f"`{base}` compared with", *(f"a loss counts as at least {rows} rows [95 %]" for rows in LEAST_ROWS)
    )
    found = {rows: {each.other: each for each in compare_all(results, base, rows)} for rows in LEAST_ROWS}
    for name in (each.other for each in compare_all(results, base)):
        comparisons = (found[rows][name] for rows in LEAST_ROWS)
        yield _row(f"`{name}`", *(_interval(each.mean, each.low, each.high) for each in comparisons))


def contender_table(results: pd.DataFrame) -> Iterator[str]:
    """Yield a table with the ranks, seconds, trials and failures of each contender, the best first."""
    found = compute_ranks(results)
    order = [*dict.fromkeys(results["contender"])]
    ranks: dict[str, str] = {}
    if found is not None:
        names, estimates = found
        order = [names[place] for place in np.argsort(estimates.ranks.value[:, 0], kind="stable")]
        ranks = {name: _estimate(estimates.ranks, place) for place, name in enumerate(names)}
    yield from _heading(
        "contender", "mean rank [95 %]", "ensemble / best pipeline, log ratio [95 %]", "seconds: median, largest",
        "trials: median", "failures",
    )  # fmt: skip
    for name in order:
        runs = results[results["contender"] == name]
        ensemble = compare(log_losses(runs, "ensemble_loss")[name], log_losses(runs, "best_loss")[name], name)
        seconds, trials = runs["seconds"].dropna(), runs["trials"].dropna()
        yield _row(
            f"`{name}`",
            ranks.get(name, ""),
            "" if isnan(ensemble.mean) else _interval(ensemble.mean, ensemble.low, ensemble.high),
            f"{seconds.median():.1f}, {seconds.max():.1f}" if len(seconds) else "",
            f"{trials.median():.0f}" if len(trials) else "",
            str(int((runs["failure"] != "").sum())),
        )


def loss_table(results: pd.DataFrame) -> Iterator[str]:
    """Yield a table of mean test losses, with a row for each table."""
    losses = results.pivot_table(values="loss", index=["table", "metric"], columns="contender", sort=False)
    yield from _heading("table", "metric", *(f"`{name}`" for name in losses.columns))
    losses = losses.sort_index()
    for (table, metric), row in zip(losses.index.to_list(), losses.to_numpy(dtype=np.float64), strict=True):
        mark = "*" if table in TUNED_ON else ""
        yield _row(f"{table}{mark}", f"1 - {metric}", *("" if isnan(each) else f"{each:.4f}" for each in row))


def _heading(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield _row(*["---"] * len(cells))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return "" if isnan(value) else f"{value:.3f}"


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.3f}" if isnan(low) else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _estimate(found: IntervalEstimate, place: int) -> str:
    value, low, high = (float(part[place, 0]) for part in (found.value, found.low, found.high))
    return f"{value:.2f}" if isnan(low) else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def select_results(results: pd.DataFrame, seconds: float, without: Iterable[str], base: str) -> pd.DataFrame:
    """Return the results with a time limit; exit if there are none, or none of the base contender."""
    selected = results[(results["limit"] == seconds) & ~results["table"].isin([*without])]
    if selected.empty:
        known: Any = sorted(set(results["limit"]))
        limits = ", ".join(f"{each:g}" for each in known) or "none"
        sys.exit(f"there are no runs of {seconds:g} s; seconds of the runs in the file: {limits}")
    if base not in set(selected["contender"]):
        names = ", ".join(dict.fromkeys(selected["contender"]))
        sys.exit(f"there is no run of `{base}` with {seconds:g} s: choose another contender with --base: {names}")
    return selected


def base_has_runs(results: pd.DataFrame, base: str) -> bool:
    """Return True if the base contender is among the results."""
    return bool((results["contender"] == base).any())


def print_reports(results: pd.DataFrame, base: str) -> None:
    """Print a report for each part of the results in which all contenders have the same seeds."""
    print("\n\n".join("\n".join(report(part, base)) for part in parts_with_equal_seeds(results, base)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparison on the tables that no part was tuned on, and then that on all tables, if there are more."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("results", type=Path, help="CSV file of results")
    options.add_argument("--seconds", type=float, default=60, help="time of the runs to compare")
    options.add_argument("--base", default="auto", help="the contender that is compared with all others")
    options.add_argument("--without", action="append", default=[], help="a table to leave out; repeat for several")
    chosen = options.parse_args(arguments)
    results = select_results(read_results(chosen.results), chosen.seconds, chosen.without, chosen.base)
    is_tuned = results["table"].isin([*TUNED_ON])
    if base_has_runs(results[~is_tuned], chosen.base):
        print(f"\n## After {chosen.seconds:g} s, on tables that no part was tuned on\n")
        print_reports(results[~is_tuned], chosen.base)
    if is_tuned.any():
        print(f"\n## After {chosen.seconds:g} s, on all tables; * parts were tuned on it\n")
        print_reports(results, chosen.base)


if __name__ == "__main__":
    main()
