"""Compare ADMM with a single Gaussian process and others on data: losses, also on test rows, and times.

    python examples/admm_paper/real_data.py DATASETS --output OUTPUT [--part table1] [--data pc4] [--seconds 160]

Part `table1` has the eight data sets of the paper's Table 1, with two seeds. The other parts have two of them, with one
seed: `theta` compares solvers of theta-min under random pipelines (Figures A1 and A2), `f_hat` and `rho` compare values
of these options (Figures A3 and A6), `ensembles` compares sizes of ensembles (Figure A5), and `selectors` the
optimizers that select the pipeline (Figure 5 of the BLDS paper). A seed draws a fifth of the rows as the test set, and
30 % of the other rows as the held-out rows of the search. Runs are stored in OUTPUT, and the same command resumes
interrupted runs.

The script prints ranks, and the mean log ratios of test losses with a 95 % interval by bootstrap over data sets and the
smallest difference that could have been detected. Part `table1` has the times to JOPT's best loss as well.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from admm_paper.evidence import (
    BASE,
    VARIANTS,
    Run,
    compute_improvements,
    compute_speedups,
    count_iterations,
    estimate_median,
    format_median,
    format_times,
)
from contest_reports import Part, run_part
from contests import Candidate, make_parser
from contests import Run as ContestRun

import spacelang as sl

DATA: Final = ("bank8FM", "cpu_small", "fri_c2_1000_25", "pc4", "pollen", "puma8NH", "sylvine", "wind")
"""The data sets of Table 1; the paper does not say how many columns its fri-c2 has."""
DATA_OF_OTHER_PARTS: Final = ("sylvine", "wind")
SPACE: Final = "admm_table_a3"
BANDIT: Final = "AdADMM-F16(BO,Ba)"
COMPARED: Final = (BANDIT, "AdADMM-F16(BO,BO)")
ITERATIONS: Final = "iterations"
SOLVERS: Final = ("bo", "rbf", "direct", "tpe", "random")
F_HATS: Final = ("0.3", "0.5", "0.9")
RHOS: Final = ("0.001", "0.01", "0.1", "10")
"""The values of the two options that are compared with their defaults, 0.7 and 1, which the variant of Table 1 has."""
SIZES: Final = (1, 2, 4, 8, 16, 32)
"""The numbers of votes of the ensembles, which are all made from the same runs."""


def count_complete_iterations(result: sl.Result) -> Mapping[str, float]:
    """Return a lower bound on the number of complete iterations of a run of ADMM."""
    return {ITERATIONS: count_iterations(result.outcome.records)}


def score_ensembles(result: sl.Result) -> Mapping[str, float]:
    """Return the test losses of ensembles of several sizes, which are selected from the trials of a run."""
    losses = {}
    for votes in SIZES:
        with result.final_fits.new_executor() as executor:
            test = result.final_fits.fit_ensemble(votes, result.predictions, executor).test
        if test is not None and test.loss is not None:
            losses[name_ensemble(votes)] = test.loss
    return losses


def name_ensemble(votes: int) -> str:
    """Return the name of an ensemble of this size."""
    return "1 vote" if votes == 1 else f"{votes} votes"


def make_admm(name: str, **options: str) -> Candidate:
    """Return a variant of ADMM."""
    return Candidate(name, "admm", options, counts=count_complete_iterations)


def make_part(candidates: Sequence[Candidate], base: str, space: str = SPACE) -> Part:
    """Return a part that compares options of ADMM."""
    return Part(space, (*candidates,), base, (base,), seeds=1)


WITH_BANDIT: Final = make_admm(BANDIT, **VARIANTS[BANDIT][1])

PARTS: Final[Mapping[str, Part]] = {
    "table1": Part(
        SPACE,
        (
            Candidate(BASE, *VARIANTS[BASE]),
            WITH_BANDIT,
            make_admm(COMPARED[1], **VARIANTS[COMPARED[1]][1]),
            Candidate("random", *VARIANTS["random"]),
            Candidate("smac", "smac", extra="smac"),
        ),
        BASE,
        COMPARED,
        seeds=2,
    ),
    "theta": make_part(
        [make_admm(f"theta={each} z=random", theta=each, z="random") for each in SOLVERS], "theta=bo z=random"
    ),
    "f_hat": make_part([WITH_BANDIT, *(make_admm(f"f_hat={each}", f_hat=each) for each in F_HATS)], BANDIT),
    "rho": make_part([WITH_BANDIT, *(make_admm(f"rho={each}", rho=each) for each in RHOS)], BANDIT),
    "ensembles": make_part([Candidate("admm", "admm", ensemble_size=max(SIZES), counts=score_ensembles)], "admm"),
    "selectors": make_part(
        [
            *(make_admm(f"ADMM(BO,{each})", preset=f"admm_bo_{each}") for each in ("blds1", "blds2", "cmab", "daub")),
            make_admm("ADMM(BO,random)", preset="admm_bo_cmab", z="random"),
            *(Candidate(f"blds disc={disc}", "blds", {"disc": disc}) for disc in ("1", "2")),
        ],
        "ADMM(BO,blds2)",
        "blds_table1",
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_parser(__doc__, seconds=160, parts=PARTS)
    options.set_defaults(trial_limit="10s 4GB")
    chosen = options.parse_args(arguments)
    search_options = {"metric": "roc_auc", "validate": "holdout(0.3)"}
    for name in chosen.part or PARTS:
        data = DATA if name == "table1" else DATA_OF_OTHER_PARTS
        runs = run_part(PARTS[name], chosen, data, search_options, folder=chosen.output, results=name)
        if runs and name == "table1":
            print("", *speed_lines(runs), sep="\n")
        if runs and name == "ensembles":
            print("", *ensemble_lines(runs), sep="\n")


def speed_lines(runs: Sequence[ContestRun]) -> Iterator[str]:
    """Yield a table of the times to the best loss of JOPT in the search, and of the improvements on it.

    Seeds with which JOPT found nothing are left out. Medians are over the runs of a data set, in the last lines over
    the data sets with a 95 % bootstrap interval.
    """
    found: dict[tuple[str, str], list[Run]] = {}
    for run in sorted(runs, key=lambda each: each.seed):
        found.setdefault((run.data, run.candidate), []).append(as_search_run(run))
    yield (
        f"| data | optimizer | trials | iterations | reaches {BASE}'s best after | times as fast "
        "| better in the search by % |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    medians: dict[str, list[tuple[float, float]]] = {}
    for (data, name), runs_of_name in found.items():
        pairs = [(own, base) for own, base in zip(runs_of_name, found[data, BASE], strict=True) if base.curve]
        if name == BASE or not pairs:
            continue
        own, base = ([pair[place] for pair in pairs] for place in (0, 1))
        times = [each.seconds_to_reach(other.loss) for each, other in pairs]
        counts = [", ".join(str(getattr(each, what)) for each in own) for what in ("trials", "iterations")]
        speedup, improvement = (
            estimate_median(each(own, base))[0] for each in (compute_speedups, compute_improvements)
        )
        medians.setdefault(name, []).append((speedup, improvement))
        yield (
            f"| {data} | {name} | {' | '.join(counts)} | {format_times(times)} | {speedup:.1f} | {improvement:.1f} |"
        )
    for name, values in medians.items():
        speed, better = (format_median(each, 1) for each in zip(*values, strict=True))
        yield f"| median of {len(values)} | {name} | | | | {speed} | {better} |"


def as_search_run(run: ContestRun) -> Run:
    """Return the losses of a run in the search."""
    curve = tuple((seconds, loss) for seconds, loss, _ in run.curve)
    return Run(curve, run.trials, run.failed, int(run.counts.get(ITERATIONS, 0)))


def ensemble_lines(runs: Sequence[ContestRun]) -> Iterator[str]:
    """Yield a table of the test losses of ensembles by their size, with a row for each run."""
    names = [name_ensemble(votes) for votes in SIZES]
    yield f"| data | seed | {' | '.join(names)} |"
    yield f"| --- | --- |{' --- |' * len(names)}"
    for run in runs:
        losses = (f"{run.counts[name]:.4f}" if name in run.counts else "" for name in names)
        yield f"| {run.data} | {run.seed} | {' | '.join(losses)} |"


if __name__ == "__main__":
    main()
