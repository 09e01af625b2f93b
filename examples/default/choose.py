"""Which optimizer `run` should take where none is named: candidates on data sets, in two rounds.

    python examples/default/choose.py DATASETS --output OUTPUT [--jobs 2]

First all candidates have two minutes on each of three data sets with one seed. Then the best four of them by their mean
rank on test rows, random search being one of these in any case, have five minutes on each of six others with three
seeds. One worker a run, on `admm_table_a2`, a fifth of the rows for testing. Runs are kept in OUTPUT, and what was
stopped goes on by the same command; with `--results examples/default/results` the runs whose rows are there are not
made again.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import Candidate, Contest, able, difference, made, parser, paths, report, rows, told_all

from spacelang.bench.comparison.noise import RankEstimates

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
"""The simpler ones first: of equals the first is chosen."""

FIRST: Final = ("pc4", "credit_g", "wind")
THEN: Final = ("fri_c2_1000_25", "spectf", "vehicle", "sylvine", "bank8FM", "telco_churn")
"""None of those by which the four were chosen."""
LEFT: Final = 4


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = parser(__doc__, seconds=300, seeds=3)
    options.add_argument("--first", action="append", default=[], help="a data set of the first round, again for each")
    options.add_argument("--first-seconds", type=float, default=120, help="of each run of the first round")
    chosen = options.parse_args(arguments)
    told = told_all(chosen)
    sets = paths(chosen.datasets, chosen.first or FIRST), paths(chosen.datasets, chosen.data or THEN)
    entered = able(CANDIDATES)
    of_first = rows(chosen.results, "first", seconds=chosen.first_seconds)
    first = Contest(SPACE, entered, sets[0], range(1), chosen.first_seconds, told, of_first)
    ranks = report(first, made(first, chosen.output / "first", chosen.jobs), RANDOM)["on test rows"]
    left = best(entered, ranks)
    print(f"\ngo on: {', '.join(each.name for each in left)}")
    of_then = rows(chosen.results, "then", seconds=chosen.seconds)
    then = Contest(SPACE, left, sets[1], range(chosen.seeds), chosen.seconds, told, of_then)
    found = report(then, made(then, chosen.output / "then", chosen.jobs), RANDOM)
    conclude(left, found)


def best(entered: Sequence[Candidate], ranks: RankEstimates) -> tuple[Candidate, ...]:
    """Those with the least mean rank at the end of the first round, in the order in which they were entered."""
    order = sorted(range(len(entered)), key=lambda row: (ranks.ranks.value[row, -1], row))
    others = [row for row in order if entered[row].name != RANDOM][: LEFT - 1]
    return tuple(each for row, each in enumerate(entered) if row in others or each.name == RANDOM)


def conclude(left: Sequence[Candidate], found: Mapping[str, RankEstimates]) -> None:
    """Print what `run` should take: who is beyond random search on test rows, and none of the simpler ones equals."""
    names, ranks = [each.name for each in left], found["on test rows"]
    beyond = [each for each in left if each.name != RANDOM and difference(ranks, names, each.name, RANDOM)[2] < 0]
    core = [each for each in beyond if not each.extra]
    print(f"\nahead of random search on test rows beyond noise: {', '.join(each.name for each in beyond) or 'nobody'}")
    if not core:
        print("of what the core installs nobody is: nothing speaks for another default than the present one")
        return
    leader = min(core, key=lambda each: ranks.ranks.value[names.index(each.name), -1])
    equal = [each for each in core if each is leader or difference(ranks, names, each.name, leader.name)[1] <= 0]
    print(f"of what the core installs {leader.name} leads")
    print(f"the simplest that is not behind it beyond noise, and so the default: {equal[0].name}")


if __name__ == "__main__":
    main()
