"""Compare ADMM with a single Gaussian process on the artificial objective: prints tables of losses and times.

    python examples/admm_paper/artificial.py --output OUTPUT [--seconds 60] [--seeds 10] [--from-seed 0] [--jobs 2]
        [--fixed]

Each seed defines another objective. All optimizers have the same time, one worker, and no data. Runs are stored in
OUTPUT, and the same command resumes interrupted runs. With `--fixed`, constant numbers of calls per iteration are
compared with growing ones.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from admm_paper.evidence import (
    BASE,
    VARIANTS,
    Run,
    RunRequest,
    compute_improvements,
    compute_speedups,
    format_median,
    format_times,
    make_runs,
    write_csv,
)
from contests import make_base_parser

SPACE: Final = Path(__file__).parent / "artificial.space"

JOINT: Final = (BASE, "AdADMM-F16(BO,Ba)", "AdADMM-F16(BO,BO)", "random")
FIXED: Final = ("ADMM16(BO,Ba)", "ADMM128(BO,Ba)", "AdADMM-F16(BO,Ba)")
"""The variants of the paper's Figure 4; the others are compared with the last one."""

F_HAT: Final = "3"
"""A pipeline with at least this loss has no reward. The paper uses 0.7 for losses in [0, 1]; here most are above 1."""

SHARES: Final = (1 / 12, 1 / 6, 1 / 3, 2 / 3, 1)
"""The shares of the time at which losses are printed."""

MIN_ITERATIONS: Final = 2
"""The number of iterations that a run needs for a comparison of iterations."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_base_parser(__doc__, seconds=60, seeds=10)
    options.add_argument("--from-seed", type=int, default=0, help="first seed")
    options.add_argument(
        "--fixed", action="store_true", help="compare constant numbers of calls per iteration with growing ones"
    )
    chosen = options.parse_args(arguments)
    names = FIXED if chosen.fixed else JOINT
    seeds = range(chosen.from_seed, chosen.from_seed + chosen.seeds)
    requests = [_make_request(name, seed, chosen.seconds) for seed in seeds for name in names]
    found = dict(
        zip(list_keys(requests), make_runs(requests, Run.from_stored, chosen.output, chosen.jobs), strict=True)
    )
    runs = {name: [found[name, seed] for seed in seeds] for name in names}
    write_csv(chosen.output / ("fixed.csv" if chosen.fixed else "joint.csv"), make_rows(runs, seeds))
    (report_fixed if chosen.fixed else report)(runs, chosen.seconds)


def _make_request(name: str, seed: int, seconds: float) -> RunRequest:
    _, options = VARIANTS[name]
    options = {**options, "f_hat": F_HAT} if name.endswith("Ba)") else options
    search_options = {"objective": f"artificial:{seed}", "time": seconds, "workers": 0, "optimizer_options": options}
    return RunRequest(name, seed, SPACE, options=search_options)


def list_keys(requests: Sequence[RunRequest]) -> list[tuple[str, int]]:
    """Return the variant and the seed of each requested run."""
    return [(request.variant, request.seed) for request in requests]


def make_rows(runs: Mapping[str, Sequence[Run]], seeds: Sequence[int]) -> list[dict[str, object]]:
    """Return one row per run."""
    return [
        {
            "optimizer": name,
            "seed": seed,
            "trials": run.trials,
            "iterations": run.iterations,
            "loss": run.loss,
            "reaches_jopt": run.seconds_to_reach(runs[BASE][place].loss) if BASE in runs else "",
        }
        for name, own in runs.items()
        for place, (seed, run) in enumerate(zip(seeds, own, strict=True))
    ]


def report(runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print medians over the seeds, and 95 % bootstrap intervals of the differences from the base."""
    base = runs[BASE]
    print(f"{len(base)} objectives, {seconds:g} s each; differences from {BASE} are of the same seed")
    print(
        f"{'optimizer':<20}{'trials':>8}{'loss':>10}  {'less than ' + BASE:<28}{'ahead':>6}{'equal':>6}"
        f"{'reaches it after':>20}  {'times as fast':<20}better by %"
    )
    for name, own in runs.items():
        line = f"{name:<20}{median(each.trials for each in own):>8g}{median(each.loss for each in own):>10.4f}"
        if name != BASE:
            gains = [other.loss - each.loss for each, other in zip(own, base, strict=True)]
            times = [each.seconds_to_reach(other.loss) for each, other in zip(own, base, strict=True)]
            line += (
                f"  {format_median(gains):<28}{sum(each > 0 for each in gains):>6}{sum(each == 0 for each in gains):>6}"
            )
            speedups, improvements = compute_speedups(own, base), compute_improvements(own, base)
            line += f"{format_times(times):>20}  {format_median(speedups, 1):<20}{format_median(improvements, 1):<20}"
        print(line.rstrip())


def report_fixed(runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print median losses over time, of the seeds with enough iterations in all runs, and the final differences."""
    seeds = range(len(next(iter(runs.values()))))
    compared = [seed for seed in seeds if all(own[seed].iterations >= MIN_ITERATIONS for own in runs.values())]
    times = [share * seconds for share in SHARES]
    share = f"{len(compared)} of {len(seeds)}"
    print(f"{share} objectives with at least {MIN_ITERATIONS} iterations in all runs, {seconds:g} s each")
    if not compared:
        return
    heads = "".join(f"{f'{after:g} s':>9}" for after in times)
    print(f"{'optimizer':<20}{'iterations':>11}{heads}  {'more than ' + FIXED[-1]}")
    for name, own in runs.items():
        least = min(own[seed].iterations for seed in compared)
        losses = "".join(f"{median(own[seed].loss_at(after) for seed in compared):>9.4f}" for after in times)
        more = [own[seed].loss - runs[FIXED[-1]][seed].loss for seed in compared]
        print(f"{name:<20}{f'>= {least}':>11}{losses}  {'' if name == FIXED[-1] else format_median(more)}")


if __name__ == "__main__":
    main()
