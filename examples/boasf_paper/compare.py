"""BOASF against TPE on the undivided space, and against what its paper chooses models with: prints tables of ranks.

    python examples/boasf_paper/compare.py DATASETS --output OUTPUT [--part models] [--seconds 180] [--jobs 2]

Hyperparameters of a random forest and of logistic regression, in sub-spaces and undivided; and models with theirs,
against SelectBest, TPE on a random forest, and BOHB. By balanced accuracy of 3-fold cross-validation, three seeds on
each of six data sets of at most 1,000 rows. A run of BOASF counts only if three arms had more trials than TPE begins
with. Runs are kept in OUTPUT, and what was stopped goes on by the same command.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import Candidate, Contest, Run, able, made, parser, paths, report_those_that_count, rows, told_all

import spacelang as sl
from spacelang.runtime.evaluation.objective import DataObjective

DATA: Final = ("credit_g", "diabetes", "credit_approval", "ionosphere", "spectf", "heart_statlog")
"""Small enough that a random forest has the trials in three minutes that make a run of BOASF count."""
STARTUP: Final = 20
"""So many trials of an arm are at random before TPE has a model."""
ARMS: Final = 3
"""So many arms must have more."""
BEGUN: Final = "arms that left the start"


def arms(result: sl.Result, kind: str, space: str) -> Mapping[str, int]:
    """How many arms there are in the trials of a run, and how many have so many successes that TPE has a model."""
    assert isinstance(result.objective, DataObjective)
    bound = sl.load(space).bind(**{name: number for name, number in result.objective.symbols.items() if number})
    form = bound.compile("boasf", arms=kind)
    tried = Counter(form.encode(record.trial.request.configuration)[0] for record in result.outcome.records)
    told = [record for record in result.outcome.records if record.trial.loss is not None]
    succeeded = Counter(form.encode(record.trial.request.configuration)[0] for record in told)
    return {"arms": len(tried), BEGUN: sum(count > STARTUP for count in succeeded.values())}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the paper's evidence: a space, who is compared on it, and beside whom."""

    space: str
    candidates: tuple[Candidate, ...]
    base: str


def boasf(space: str, kind: str) -> Candidate:
    """BOASF with such arms."""
    return Candidate("boasf", "boasf", {"arms": kind}, counts=partial(arms, kind=kind, space=space))


def undivided(space: str) -> Part:
    """Sub-spaces against the space as a whole."""
    return Part(space, (boasf(space, "subspaces"), Candidate("tpe", "tpe", {"library": "hyperopt"})), "tpe")


PARTS: Final[Mapping[str, Part]] = {
    "rf": undivided("boasf_random_forest"),
    "lr": undivided("boasf_logistic_regression"),
    "models": Part(
        "boasf_models",
        (
            boasf("boasf_models", "models"),
            Candidate("select_best", "select_best"),
            Candidate("random_forest_tpe", "random_forest_tpe"),
            Candidate("bohb", "bohb"),
        ),
        "bohb",
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = parser(__doc__, seconds=180, seeds=3)
    options.add_argument("--part", action="append", choices=PARTS, default=[], help="one of them, again for each")
    chosen = options.parse_args(arguments)
    data = paths(chosen.datasets, chosen.data or DATA)
    told = {"metric": "balanced_accuracy", "validate": "cv(3)", **told_all(chosen)}
    for name in chosen.part or PARTS:
        part = PARTS[name]
        entered = able(part.candidates)
        contest = Contest(
            part.space,
            entered,
            data,
            range(chosen.seeds),
            chosen.seconds,
            told,
            rows(chosen.results, name, seconds=chosen.seconds),
        )
        runs = made(contest, chosen.output / name, chosen.jobs) if entered else []
        if runs:
            rule = f"a run of BOASF counts if {ARMS} arms left the start of TPE, which is {STARTUP} successes"
            report_those_that_count(contest, runs, part.base, lacks, rule)


def lacks(run: Run) -> str:
    """What a run of BOASF lacks; what it shows with fewer arms is random search, divided."""
    is_short = run.counts.get(BEGUN, ARMS) < ARMS
    return f"{run.counts[BEGUN]} arms left the start" if is_short else ""


if __name__ == "__main__":
    main()
