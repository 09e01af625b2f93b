"""Compare MOSAIC, also with an archive and as an ensemble, with TPE, SMAC and random search.

    python examples/mosaic_paper/compare.py DATASETS --output OUTPUT [--archive FILE] [--seconds 300] [--jobs 2]

The script prints tables of ranks. The space is `mosaic`, the metric is balanced accuracy on held-out rows, and there
are three seeds on each data set. The data sets are the six largest of at most 1,500 rows in the manifest of DATASETS. A
run of MOSAIC counts only if it made 200 trials. Runs are stored in OUTPUT, and the same command resumes interrupted
runs. Without `--archive`, MOSAIC runs only without an archive.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import (
    Candidate,
    Contest,
    Run,
    choose_small_data_sets,
    find_data_sets,
    get_results_path,
    get_search_options,
    make_parser,
    make_runs,
    report_included_runs,
    select_available,
)

SPACE: Final = "mosaic"
ENSEMBLE_SIZE: Final = 50
MIN_TRIALS: Final = 200
"""The number of trials that a run of MOSAIC needs to count."""
RANDOM: Final = "random"


def candidates(archive: str | None) -> tuple[Candidate, ...]:
    """Return the candidates; one of them uses the archive if there is one."""
    options = {"archive": archive}
    with_archive = Candidate("mosaic with archive", "mosaic", {"variant": "metalearning"}, search_options=options)
    return (
        Candidate("mosaic", "mosaic", ensemble_size=ENSEMBLE_SIZE),
        *([with_archive] if archive else []),
        Candidate("tpe", "tpe", {"library": "hyperopt"}),
        Candidate("smac", "smac", extra="smac"),
        Candidate(RANDOM, "random"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_parser(__doc__, seconds=300, seeds=3)
    options.add_argument("--archive", help="archive file, written by `spacelang archive`")
    chosen = options.parse_args(arguments)
    data = find_data_sets(chosen.datasets, chosen.data or choose_small_data_sets(chosen.datasets))
    search_options = {"metric": "balanced_accuracy", "validate": "holdout(0.3)", **get_search_options(chosen)}
    entered = select_available(candidates(chosen.archive))
    contest = Contest(
        SPACE,
        entered,
        data,
        range(chosen.seeds),
        chosen.seconds,
        search_options,
        get_results_path(chosen.results, seconds=chosen.seconds),
    )
    runs = make_runs(contest, chosen.output, chosen.jobs)
    report_included_runs(
        contest, runs, RANDOM, find_shortfall, f"a run of MOSAIC counts if it made {MIN_TRIALS} trials"
    )


def find_shortfall(run: Run) -> str:
    """Return why a run of MOSAIC does not count, or an empty string.

    A run with fewer trials shows little more than its initialization.
    """
    is_short = run.candidate.startswith("mosaic") and run.trials < MIN_TRIALS
    return f"{run.trials} trials" if is_short else ""


if __name__ == "__main__":
    main()
