"""Compare BOASF with TPE on the undivided space, and with other methods of choosing a model.

    python examples/boasf_paper/compare.py DATASETS --output OUTPUT [--part models] [--seconds 180] [--jobs 2]

The script prints tables of ranks and paired differences of test losses. Parts `rf` and `lr` compare sub-spaces of the
hyperparameters of a random forest and of logistic regression with the undivided space. Part `models` compares models
and their hyperparameters with SelectBest, TPE on a random forest, and BOHB. Part `grid` compares BOASF for values of
its options `c` and `rounds`, with one seed (Figure 3 of the paper). The metric is balanced accuracy of 3-fold
cross-validation, with three seeds on each of six data sets of at most 1,000 rows. A run of BOASF counts only if three
arms had more successes than the random start of TPE. Runs are stored in OUTPUT, and the same command resumes
interrupted runs.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contest_reports import Part, run_part
from contests import Candidate, Run, make_parser

import spacelang as sl
from spacelang.runtime.evaluation.objective import DataObjective

DATA: Final = ("credit_g", "diabetes", "credit_approval", "ionosphere", "spectf", "heart_statlog")
"""Data sets that are small enough for the trials that a run of BOASF needs to count, in three minutes."""
STARTUP: Final = 20
"""The number of random trials of an arm before TPE has a model."""
MIN_ARMS: Final = 3
"""The number of arms that must have more successes than that."""
ARMS_WITH_MODEL: Final = "arms that left the start"
RULE: Final = f"a run of BOASF counts if {MIN_ARMS} arms had more than {STARTUP} successes, the start of TPE"
GRID: Final = (2, 3, 4, 5)
"""The values of `c` and of `rounds` in part `grid`: the paper finds no large difference from 2 to 5."""


def count_arms(result: sl.Result, kind: str, space: str) -> Mapping[str, int]:
    """Return the number of arms in the trials of a run, and of arms with enough successes for a model of TPE."""
    assert isinstance(result.objective, DataObjective)
    bound = sl.load(space).bind(**{name: number for name, number in result.objective.size_symbols.items() if number})
    form = bound.compile("boasf", arms=kind)
    tried = Counter(form.encode(record.trial.request.configuration)[0] for record in result.outcome.records)
    successful = [record for record in result.outcome.records if record.trial.loss is not None]
    succeeded = Counter(form.encode(record.trial.request.configuration)[0] for record in successful)
    return {"arms": len(tried), ARMS_WITH_MODEL: sum(count > STARTUP for count in succeeded.values())}


def find_shortfall(run: Run) -> str:
    """Return why a run of BOASF does not count, or an empty string.

    A run with fewer arms is little more than a divided random search.
    """
    is_short = run.counts.get(ARMS_WITH_MODEL, MIN_ARMS) < MIN_ARMS
    return f"{run.counts[ARMS_WITH_MODEL]:g} arms left the start" if is_short else ""


def make_boasf(space: str, kind: str, name: str = "boasf", **options: str) -> Candidate:
    """Return BOASF with arms of this kind."""
    return Candidate(name, "boasf", {"arms": kind, **options}, counts=partial(count_arms, kind=kind, space=space))


def make_part(space: str, candidates: Sequence[Candidate], base: str, compared: str = "boasf", seeds: int = 3) -> Part:
    """Return a part in which runs of BOASF count by the rule."""
    return Part(space, (*candidates,), base, (compared,), seeds, find_shortfall, RULE)


def make_subspace_part(space: str) -> Part:
    """Return a part that compares sub-spaces with the whole space."""
    return make_part(space, (make_boasf(space, "subspaces"), Candidate("tpe", "tpe", {"library": "hyperopt"})), "tpe")


def make_grid_part(space: str) -> Part:
    """Return a part that compares values of `c` and `rounds` with those of the paper."""
    candidates = [
        make_boasf(space, "models", f"c={c} rounds={rounds}", c=str(c), rounds=str(rounds))
        for c, rounds in product(GRID, GRID)
    ]
    return make_part(space, candidates, "c=2 rounds=3", "c=2 rounds=3", seeds=1)


PARTS: Final[Mapping[str, Part]] = {
    "rf": make_subspace_part("boasf_random_forest"),
    "lr": make_subspace_part("boasf_logistic_regression"),
    "models": make_part(
        "boasf_models",
        (
            make_boasf("boasf_models", "models"),
            Candidate("select_best", "select_best"),
            Candidate("random_forest_tpe", "random_forest_tpe"),
            Candidate("bohb", "bohb"),
        ),
        "bohb",
    ),
    "grid": make_grid_part("boasf_models"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    chosen = make_parser(__doc__, seconds=180, parts=PARTS).parse_args(arguments)
    search_options = {"metric": "balanced_accuracy", "validate": "cv(3)"}
    for name in chosen.part or PARTS:
        run_part(PARTS[name], chosen, DATA, search_options, folder=chosen.output / name, results=name)


if __name__ == "__main__":
    main()
