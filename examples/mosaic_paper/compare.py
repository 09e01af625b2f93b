"""Compare MOSAIC, also with an archive and as an ensemble, with TPE, SMAC and random search.

    python examples/mosaic_paper/compare.py DATASETS --output OUTPUT [--archive FILE] [--part variants] [--seconds 300]

The script prints tables of ranks, and paired differences of test losses. The space is `mosaic`, and the metric is
balanced accuracy on held-out rows. Part `variants` compares the variants of MOSAIC with the others, with three seeds on
the six largest data sets of at most 1,500 rows in the manifest of DATASETS, and has a Mann-Whitney test for each of
them. Part `widening` compares values of `c_ucb` and of the exponent of progressive widening (Figures 5 and 6 of the
paper), and part `draws` values of `n_s`, both with one seed on four data sets. A run of MOSAIC counts only if it made
200 trials. Runs are stored in OUTPUT, and the same command resumes interrupted runs. Without `--archive`, MOSAIC runs
only without an archive.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contest_reports import Part, run_part
from contests import ENSEMBLE, Candidate, Run, choose_small_data_sets, make_parser

SPACE: Final = "mosaic"
ENSEMBLE_SIZE: Final = 50
MIN_TRIALS: Final = 200
"""The number of trials that a run of MOSAIC needs to count."""
RULE: Final = f"a run of MOSAIC counts if it made {MIN_TRIALS} trials"
C_UCB: Final = ("0.3", "1.3", "3")
WIDENING: Final = ("0.3", "0.6", "0.9")
"""The values of the two options in part `widening`: the default of the paper, a smaller and a larger one."""
DRAWS: Final = ("50", "100", "1000")
"""The values of `n_s` in part `draws`: the default of the paper, and the ends of its range."""
DATA_SETS: Final[Mapping[str, int]] = {"variants": 6, "widening": 4, "draws": 4}
"""The number of data sets of each part."""


def find_shortfall(run: Run) -> str:
    """Return why a run of MOSAIC does not count, or an empty string.

    A run with fewer trials shows little more than its initialization.
    """
    is_short = run.candidate.startswith("mosaic") and run.trials < MIN_TRIALS
    return f"{run.trials} trials" if is_short else ""


def make_variants_part(archive: str | None) -> Part:
    """Return the part with the variants of MOSAIC; half of them use the archive if there is one."""
    with_archive = Candidate(
        "mosaic with archive", "mosaic", {"variant": "metalearning"}, ENSEMBLE_SIZE, {"archive": archive}
    )
    candidates = (
        Candidate("mosaic", "mosaic", ensemble_size=ENSEMBLE_SIZE),
        *([with_archive] if archive else []),
        Candidate("tpe", "tpe", {"library": "hyperopt"}),
        Candidate("smac", "smac", extra="smac"),
        Candidate("random", "random"),
    )
    names = ("mosaic", f"mosaic{ENSEMBLE}", with_archive.name, f"{with_archive.name}{ENSEMBLE}")
    return Part(SPACE, candidates, "random", names, 3, find_shortfall, RULE, mann_whitney=True)


def make_options_part(options: Iterable[Mapping[str, str]], default: Mapping[str, str]) -> Part:
    """Return a part that compares other options with the default of the paper."""
    names = {f"mosaic {' '.join(f'{name}={value}' for name, value in each.items())}": each for each in options}
    candidates = tuple(Candidate(name, "mosaic", each) for name, each in names.items())
    base = next(name for name, each in names.items() if each == default)
    return Part(SPACE, candidates, base, (base,), 1, find_shortfall, RULE)


def make_parts(archive: str | None) -> Mapping[str, Part]:
    """Return all parts by their names."""
    combinations = [{"c_ucb": c_ucb, "pw": pw} for c_ucb, pw in product(C_UCB, WIDENING)]
    return {
        "variants": make_variants_part(archive),
        "widening": make_options_part(combinations, {"c_ucb": "1.3", "pw": "0.6"}),
        "draws": make_options_part([{"n_s": each} for each in DRAWS], {"n_s": "100"}),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_parser(__doc__, seconds=300, parts=DATA_SETS)
    options.add_argument("--archive", help="archive file, written by `spacelang archive`")
    chosen = options.parse_args(arguments)
    search_options = {"metric": "balanced_accuracy", "validate": "holdout(0.3)"}
    parts = make_parts(chosen.archive)
    for name in chosen.part or DATA_SETS:
        data = chosen.data or choose_small_data_sets(chosen.datasets, DATA_SETS[name])
        results = "" if name == "variants" else name  # as the results files of earlier versions
        run_part(parts[name], chosen, data, search_options, folder=chosen.output, results=results)


if __name__ == "__main__":
    main()
