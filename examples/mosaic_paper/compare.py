"""MOSAIC, with an archive and as an ensemble, against TPE, SMAC and random search: prints tables of ranks.

    python examples/mosaic_paper/compare.py DATASETS --output OUTPUT [--archive FILE] [--seconds 300] [--jobs 2]

On the space `mosaic`, by balanced accuracy on held-out rows, three seeds on each of the six largest data sets of at
most 1,500 rows in the manifest of DATASETS. A run of MOSAIC counts only if it made 200 trials. Runs are kept in OUTPUT,
and what was stopped goes on by the same command. Without an archive MOSAIC takes part without one only.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import Candidate, Contest, Run, able, made, parser, paths, report_those_that_count, rows, small, told_all

SPACE: Final = "mosaic"
VOTES: Final = 50
ENOUGH: Final = 200
"""So many trials a run of MOSAIC must have."""
RANDOM: Final = "random"


def candidates(archive: str | None) -> tuple[Candidate, ...]:
    """What is compared; MOSAIC with an archive where there is one."""
    begun = {"archive": archive}
    started = Candidate("mosaic with archive", "mosaic", {"variant": "metalearning"}, told=begun)
    return (
        Candidate("mosaic", "mosaic", votes=VOTES),
        *([started] if archive else []),
        Candidate("tpe", "tpe", {"library": "hyperopt"}),
        Candidate("smac", "smac", extra="smac"),
        Candidate(RANDOM, "random"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = parser(__doc__, seconds=300, seeds=3)
    options.add_argument("--archive", help="as `spacelang archive` writes it")
    chosen = options.parse_args(arguments)
    data = paths(chosen.datasets, chosen.data or small(chosen.datasets))
    told = {"metric": "balanced_accuracy", "validate": "holdout(0.3)", **told_all(chosen)}
    entered = able(candidates(chosen.archive))
    contest = Contest(
        SPACE, entered, data, range(chosen.seeds), chosen.seconds, told, rows(chosen.results, seconds=chosen.seconds)
    )
    runs = made(contest, chosen.output, chosen.jobs)
    report_those_that_count(contest, runs, RANDOM, lacks, f"a run of MOSAIC counts if it made {ENOUGH} trials")


def lacks(run: Run) -> str:
    """What a run of MOSAIC lacks; what it shows with fewer trials is hardly more than how it begins."""
    is_short = run.candidate.startswith("mosaic") and run.trials < ENOUGH
    return f"{run.trials} trials" if is_short else ""


if __name__ == "__main__":
    main()
