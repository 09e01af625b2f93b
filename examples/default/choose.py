"""Choose the default optimizer of `run`: candidates on data sets, in two rounds.

    python examples/default/choose.py DATASETS --output OUTPUT [--jobs 2]

In the first round, each candidate has two minutes on each of three data sets with one seed. Random search and the three
other candidates with the best mean ranks on test rows enter the second round. It has five minutes on each of six other
data sets with three seeds. A run has one worker on `admm_table_a2`; a fifth of the rows is the test set. Runs are
stored in OUTPUT, and the same command resumes interrupted runs. With `--results examples/default/results`, the runs
whose rows are in these files are not repeated.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import (
    Candidate,
    Contest,
    find_data_sets,
    get_rank_difference,
    get_results_path,
    get_search_options,
    make_parser,
    make_runs,
    report,
    select_available,
)

from spacelang.bench.comparison.ranks import RankEstimates

SPACE: Final = "admm_table_a2"
RANDOM: Final = "random"
CANDIDATES: Final = (
    Candidate(RANDOM, "random"),
    Candidate("hyperband", "hyperband", {"hyperparameters": "sample"}),
    Candidate("blds", "blds"),
    Candidate("tpe hyperopt", "tpe", {"library": "hyperopt"}),
    Candidate("tpe optuna", "tpe", {"library": "optuna"}, extra="optuna"),
    Candidate("boasf", "boasf"),
    Candidate("mosaic", "mosaic"),
    Candidate("admm", "admm", {"preset": "adadmm_f16_bo_ba"}),
)
"""The candidates, the simplest first: of equal candidates the first is chosen."""

FIRST_ROUND: Final = ("pc4", "credit_g", "wind")
SECOND_ROUND: Final = ("fri_c2_1000_25", "spectf", "vehicle", "sylvine", "bank8FM", "telco_churn")
"""Data sets of the second round; none of them is in the first round."""
FINALISTS: Final = 4
"""The number of candidates in the second round."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_parser(__doc__, seconds=300, seeds=3)
    options.add_argument(
        "--first",
        action="append",
        default=[],
        help="name of a data set of the first round; repeat the option for several",
    )
    options.add_argument("--first-seconds", type=float, default=120, help="time limit of a run of the first round")
    chosen = options.parse_args(arguments)
    search_options = get_search_options(chosen)
    sets = (
        find_data_sets(chosen.datasets, chosen.first or FIRST_ROUND),
        find_data_sets(chosen.datasets, chosen.data or SECOND_ROUND),
    )
    entered = select_available(CANDIDATES)
    first_results = get_results_path(chosen.results, "first", seconds=chosen.first_seconds)
    first = Contest(SPACE, entered, sets[0], range(1), chosen.first_seconds, search_options, first_results)
    ranks = report(first, make_runs(first, chosen.output / "first", chosen.jobs), RANDOM)["on test rows"]
    finalists = select_finalists(entered, ranks)
    print(f"\nsecond round: {', '.join(each.name for each in finalists)}")
    second_results = get_results_path(chosen.results, "then", seconds=chosen.seconds)
    second = Contest(SPACE, finalists, sets[1], range(chosen.seeds), chosen.seconds, search_options, second_results)
    found = report(second, make_runs(second, chosen.output / "then", chosen.jobs), RANDOM)
    print_conclusion(finalists, found)


def select_finalists(entered: Sequence[Candidate], ranks: RankEstimates) -> tuple[Candidate, ...]:
    """Return the candidates with the smallest mean ranks after the first round, in their original order."""
    order = sorted(range(len(entered)), key=lambda row: (ranks.ranks.value[row, -1], row))
    others = [row for row in order if entered[row].name != RANDOM][: FINALISTS - 1]
    return tuple(each for row, each in enumerate(entered) if row in others or each.name == RANDOM)


def print_conclusion(finalists: Sequence[Candidate], found: Mapping[str, RankEstimates]) -> None:
    """Print the default: the simplest candidate ahead of random search and not behind the best, beyond noise."""
    names, ranks = [each.name for each in finalists], found["on test rows"]
    beyond = [
        each
        for each in finalists
        if each.name != RANDOM and get_rank_difference(ranks, names, each.name, RANDOM)[2] < 0
    ]
    core = [each for each in beyond if not each.extra]
    print(f"\nahead of random search on test rows beyond noise: {', '.join(each.name for each in beyond) or 'none'}")
    if not core:
        print("no candidate that the core installs is ahead of random search: keep the present default")
        return
    leader = min(core, key=lambda each: ranks.ranks.value[names.index(each.name), -1])
    equal = [
        each for each in core if each is leader or get_rank_difference(ranks, names, each.name, leader.name)[1] <= 0
    ]
    print(f"best candidate that the core installs: {leader.name}")
    print(f"default, the simplest candidate not behind it beyond noise: {equal[0].name}")


if __name__ == "__main__":
    main()
