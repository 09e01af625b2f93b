"""Reports on contests: ranks over time, paired differences of test losses, and the parts of a paper's evidence.

Ranks and their intervals are those of `spacelang compare`.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from typing import Any

import numpy as np
from contests import (
    TENTHS,
    Candidate,
    Contest,
    Run,
    find_data_sets,
    get_results_path,
    get_search_options,
    make_runs,
    read_runs,
    select_available,
)
from paired_differences import comparison_lines, find_floors, mann_whitney_lines, select_complete_data, with_ensembles

from spacelang.bench.comparison.ranks import TOLERANCE, RankEstimates, RankingMethod, choose_bootstrap, estimate_ranks


def count_all(_: Run) -> str:
    """Return an empty string: every run counts."""
    return ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a paper's evidence: candidates on a space.

    `base` is the candidate with whose ranks all others are compared, and `compared` are those whose test losses are
    compared in pairs with those of all others. `seeds` is the number of seeds, unless the command line has another one.
    `find_shortfall` returns why a run does not count, and `rule` says when runs count. With `mann_whitney`, the seeds
    of each data set are compared as well.
    """

    space: str
    candidates: tuple[Candidate, ...]
    base: str
    compared: tuple[str, ...]
    seeds: int
    find_shortfall: Callable[[Run], str] = count_all
    rule: str = ""
    mann_whitney: bool = False


def run_part(
    part: Part,
    chosen: argparse.Namespace,
    data: Iterable[str],
    search_options: Mapping[str, Any],
    *,
    folder: Path,
    results: str = "",
) -> list[Run]:
    """Make the missing runs of a part (none with `--report`), print the results, and return the reported runs.

    `data` are the names of the data sets, unless the command line has others. Stores are in `folder`. The name of the
    results file begins with `results`.
    """
    contest = Contest(
        part.space,
        select_available(part.candidates),
        find_data_sets(chosen.datasets, chosen.data or data),
        range(chosen.seeds or part.seeds),
        chosen.seconds,
        {**search_options, **get_search_options(chosen)},
        get_results_path(chosen.results, *filter(None, [results]), seconds=chosen.seconds),
    )
    runs = read_runs(contest, folder) if chosen.report else make_runs(contest, folder, chosen.jobs)
    return report_part(part, contest, runs)


def report_part(part: Part, contest: Contest, runs: Sequence[Run]) -> list[Run]:
    """Report the data sets all of whose runs are complete and count, and return their runs."""
    made = {run.key for run in runs}
    complete = select_complete_data(runs, [each.key for each in contest.run_requests() if each.key not in made])
    included = select_included_data(contest, complete, part.find_shortfall, part.rule) if part.rule else complete
    if included:
        report(contest, included, part.base)
        floors, entered = find_floors(contest.data), with_ensembles(included)
        names = {run.candidate for run in entered}
        for base in (name for name in part.compared if name in names and len(names) > 1):
            print("", *comparison_lines(entered, base, floors), sep="\n")
            if part.mann_whitney:
                print("", *mann_whitney_lines(entered, base), sep="\n")
    return included


def select_included_data(
    contest: Contest, runs: Sequence[Run], find_shortfall: Callable[[Run], str], rule: str
) -> list[Run]:
    """Return the runs on the data sets all of whose runs count; print why the others do not."""
    excluded = [(run, reason) for run in runs if (reason := find_shortfall(run))]
    print(f"\n{contest.space}: {rule}; {len(excluded)} of {len(runs)} runs are excluded")
    for run, reason in excluded:
        print(f"  {run.data}, {run.candidate}, seed {run.seed}: {reason}")
    excluded_data = {run.data for run, _ in excluded}
    if excluded_data:
        print(f"  excluded data sets: {', '.join(sorted(excluded_data))}")
    return [run for run in runs if run.data not in excluded_data]


def report(contest: Contest, runs: Iterable[Run], base: str) -> Mapping[str, RankEstimates]:
    """Print the results of a contest; return the ranks of mean losses `in the search` and `on test rows`."""
    runs = [*runs]
    entered = with_ensembles(runs)
    names = tuple(dict.fromkeys(run.candidate for run in entered))
    data, seeds = tuple(dict.fromkeys(run.data for run in entered)), len(contest.seeds)
    resampling = choose_bootstrap(len(data), seeds)
    resampled = (
        "too few for intervals"
        if resampling is None
        else f"intervals over {resampling.number} {resampling.unit.value}s"
    )
    print(f"\n{contest.space}: {len(data)} data sets, {seeds} seeds, {contest.seconds:g} s each; {resampled}")
    for name in names:
        print_counts(name, [run for run in entered if run.candidate == name])
    without_curve = sum(bool(run.curve) and run.curve[0][0] == contest.seconds for run in runs)
    if without_curve:
        noun = "run has" if without_curve == 1 else "runs have"
        print(f"  {without_curve} {noun} only a final loss: ranks before the end are omitted")
    estimates = {}
    for place, what in enumerate(("in the search", "on test rows")):
        losses = _collect_losses(contest, entered, (data, names), place)
        print_losses(what, losses[..., -1], data, names)
        estimates[what] = estimate_ranks(losses, RankingMethod.MEAN_LOSSES, TOLERANCE, resampling)
        print_ranks(what, estimates[what], names, contest.seconds, base, first=TENTHS - 1 if without_curve else 0)
    return estimates


def _collect_losses(
    contest: Contest, runs: Sequence[Run], names: tuple[Sequence[str], Sequence[str]], place: int
) -> np.ndarray:
    """Return an array of losses: data sets x candidates x seeds x tenths.

    A missing loss is replaced by the largest loss of any run on that data set, and at least by 1.
    """
    by_key = {run.key: run for run in runs}
    ends = [contest.seconds * (tenth + 1) / TENTHS for tenth in range(TENTHS)]
    losses = np.array(
        [
            [
                [[by_key[data, name, seed].losses_at(end)[place] for end in ends] for seed in contest.seeds]
                for name in names[1]
            ]
            for data in names[0]
        ]
    )
    worst = np.fmax(np.nanmax(losses, axis=(1, 2, 3), initial=-inf), 1.0)
    return np.where(np.isnan(losses), worst[:, None, None, None], losses)


def print_counts(name: str, runs: Sequence[Run]) -> None:
    """Print the smallest and largest number of trials, and of the other counts, of a candidate's runs."""
    counts: dict[str, list[float]] = {"trials": [run.trials for run in runs], "failed": [run.failed for run in runs]}
    for run in runs:
        for word, number in run.counts.items():
            counts.setdefault(word, []).append(number)
    print(f"  {name:<26}" + "; ".join(f"{word} {min(each):.6g} to {max(each):.6g}" for word, each in counts.items()))
    for run in runs:
        if run.reason:
            print(f"    {run.data}, seed {run.seed}: {run.reason}")


def print_losses(what: str, losses: np.ndarray, data: Sequence[str], names: Sequence[str]) -> None:
    """Print the mean final loss of each candidate on each data set."""
    print(f"\nmean final loss {what}")
    print(f"  {'':<26}" + "".join(f"{name[:14]:>16}" for name in data))
    for row, name in enumerate(names):
        print(f"  {name:<26}" + "".join(f"{loss:>16.4f}" for loss in losses[:, row].mean(axis=-1)))


def print_ranks(
    what: str, estimates: RankEstimates, names: Sequence[str], seconds: float, base: str, *, first: int = 0
) -> None:
    """Print mean ranks from the tenth `first` on; at the end with intervals, and differences from the base."""
    print(f"\nmean rank {what} by seconds; at the end [95 % bootstrap interval], and difference from {base}")
    print(f"  {'':<26}" + "".join(f"{seconds * (tenth + 1) / TENTHS:>7g}" for tenth in range(first, TENTHS)))
    for row, name in enumerate(names):
        ranks = "".join(f"{rank:>7.2f}" for rank in estimates.ranks.value[row, first:])
        low, high = estimates.ranks.low[row, -1], estimates.ranks.high[row, -1]
        bounds = "" if isnan(low) else f"[{low:.2f}, {high:.2f}]"
        compared = "" if name == base or base not in names else f"  {describe_difference(estimates, names, name, base)}"
        print(f"  {name:<26}{ranks} {bounds:>14}{compared}")


def describe_difference(estimates: RankEstimates, names: Sequence[str], name: str, base: str) -> str:
    """Return a text: the difference of a candidate's final rank from that of the base, and if it is beyond noise."""
    value, low, high = get_rank_difference(estimates, names, name, base)
    if isnan(low):
        return f"{value:+.2f}, within noise"
    beyond = "beyond noise" if low > 0 or high < 0 else "within noise"
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}], {beyond}"


def get_rank_difference(
    estimates: RankEstimates, names: Sequence[str], name: str, other: str
) -> tuple[float, float, float]:
    """Return the final rank of `name` minus that of `other`, with the bounds of the interval."""
    one, two = names.index(name), names.index(other)
    first, second = min(one, two), max(one, two)
    pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    row = pairs.index((first, second))
    each = estimates.differences
    value, low, high = (float(part[row, -1]) for part in (each.value, each.low, each.high))
    return (value, low, high) if one < two else (-value, -high, -low)
