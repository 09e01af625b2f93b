"""Compare BOASF with TPE on the undivided space, and with other methods of choosing a model.

    python examples/boasf_paper/compare.py DATASETS --output OUTPUT [--part models] [--seconds 180] [--jobs 2]

The script prints tables of ranks. Parts `rf` and `lr` compare sub-spaces of the hyperparameters of a random forest and
of logistic regression with the undivided space. Part `models` compares models and their hyperparameters with
SelectBest, TPE on a random forest, and BOHB. The metric is balanced accuracy of 3-fold cross-validation, with three
seeds on each of six data sets of at most 1,000 rows. A run of BOASF counts only if three arms had more successes than
the random start of TPE. Runs are stored in OUTPUT, and the same command resumes interrupted runs.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import (
    Candidate,
    Contest,
    Run,
    find_data_sets,
    get_results_path,
    get_search_options,
    make_parser,
    make_runs,
    report_included_runs,
    select_available,
)

import spacelang as sl
from spacelang.runtime.evaluation.objective import DataObjective

DATA: Final = ("credit_g", "diabetes", "credit_approval", "ionosphere", "spectf", "heart_statlog")
"""Data sets that are small enough for the trials that a run of BOASF needs to count, in three minutes."""
STARTUP: Final = 20
"""The number of random trials of an arm before TPE has a model."""
MIN_ARMS: Final = 3
"""The number of arms that must have more successes than that."""
ARMS_WITH_MODEL: Final = "arms that left the start"


def count_arms(result: sl.Result, kind: str, space: str) -> Mapping[str, int]:
    """Return the number of arms in the trials of a run, and of arms with enough successes for a model of TPE."""
    assert isinstance(result.objective, DataObjective)
    bound = sl.load(space).bind(**{name: number for name, number in result.objective.size_symbols.items() if number})
    form = bound.compile("boasf", arms=kind)
    tried = Counter(form.encode(record.trial.request.configuration)[0] for record in result.outcome.records)
    successful = [record for record in result.outcome.records if record.trial.loss is not None]
    succeeded = Counter(form.encode(record.trial.request.configuration)[0] for record in successful)
    return {"arms": len(tried), ARMS_WITH_MODEL: sum(count > STARTUP for count in succeeded.values())}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the paper's evidence: a space, its candidates, and the one that the others are compared with."""

    space: str
    candidates: tuple[Candidate, ...]
    base: str


def make_boasf(space: str, kind: str) -> Candidate:
    """Return BOASF with arms of this kind."""
    return Candidate("boasf", "boasf", {"arms": kind}, counts=partial(count_arms, kind=kind, space=space))


def make_subspace_part(space: str) -> Part:
    """Return a part that compares sub-spaces with the whole space."""
    return Part(space, (make_boasf(space, "subspaces"), Candidate("tpe", "tpe", {"library": "hyperopt"})), "tpe")


PARTS: Final[Mapping[str, Part]] = {
    "rf": make_subspace_part("boasf_random_forest"),
    "lr": make_subspace_part("boasf_logistic_regression"),
    "models": Part(
        "boasf_models",
        (
            make_boasf("boasf_models", "models"),
            Candidate("select_best", "select_best"),
            Candidate("random_forest_tpe", "random_forest_tpe"),
            Candidate("bohb", "bohb"),
        ),
        "bohb",
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_parser(__doc__, seconds=180, seeds=3)
    options.add_argument(
        "--part",
        action="append",
        choices=PARTS,
        default=[],
        help="part of the comparison; repeat the option for several (default: all)",
    )
    chosen = options.parse_args(arguments)
    data = find_data_sets(chosen.datasets, chosen.data or DATA)
    search_options = {"metric": "balanced_accuracy", "validate": "cv(3)", **get_search_options(chosen)}
    for name in chosen.part or PARTS:
        part = PARTS[name]
        entered = select_available(part.candidates)
        contest = Contest(
            part.space,
            entered,
            data,
            range(chosen.seeds),
            chosen.seconds,
            search_options,
            get_results_path(chosen.results, name, seconds=chosen.seconds),
        )
        runs = make_runs(contest, chosen.output / name, chosen.jobs) if entered else []
        if runs:
            rule = f"a run of BOASF counts if {MIN_ARMS} arms had more than {STARTUP} successes, the start of TPE"
            report_included_runs(contest, runs, part.base, find_shortfall, rule)


def find_shortfall(run: Run) -> str:
    """Return why a run of BOASF does not count, or an empty string.

    A run with fewer arms is little more than a divided random search.
    """
    is_short = run.counts.get(ARMS_WITH_MODEL, MIN_ARMS) < MIN_ARMS
    return f"{run.counts[ARMS_WITH_MODEL]} arms left the start" if is_short else ""


if __name__ == "__main__":
    main()
