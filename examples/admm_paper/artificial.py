"""ADMM against one Gaussian process over everything, on the artificial objective: prints tables of losses and times.

    python examples/admm_paper/artificial.py --output OUTPUT [--seconds 60] [--seeds 10] [--from-seed 0] [--jobs 2]
        [--fixed]

Every seed is another objective. All optimizers have the same time, one worker, and no data; every run is kept in
OUTPUT, and what was stopped goes on by the same command. With `--fixed` as many calls in each iteration are compared
with more and more of them.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from admm_paper.evidence import BASE, VARIANTS, Run, Wish, better, faster, made, seconds_shown, shown, write
from contests import keeping

SPACE: Final = Path(__file__).parent / "artificial.space"

JOINT: Final = (BASE, "AdADMM-F16(BO,Ba)", "AdADMM-F16(BO,BO)", "random")
FIXED: Final = ("ADMM16(BO,Ba)", "ADMM128(BO,Ba)", "AdADMM-F16(BO,Ba)")
"""The paper's Figure 4; the last one is whom the others are compared with."""

F_HAT: Final = "3"
"""From which loss on a pipeline earns nothing: 0.7 in the paper, whose losses are in [0, 1]; here most are above."""

SHARES: Final = (1 / 12, 1 / 6, 1 / 3, 2 / 3, 1)
"""Of the time, after which losses are told."""

ENOUGH: Final = 2
"""So many iterations must a run have had to say anything of them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = keeping(__doc__, seconds=60, seeds=10)
    options.add_argument("--from-seed", type=int, default=0, help="the first of the seeds")
    options.add_argument(
        "--fixed", action="store_true", help="compare as many calls in each iteration with more in each"
    )
    chosen = options.parse_args(arguments)
    names = FIXED if chosen.fixed else JOINT
    seeds = range(chosen.from_seed, chosen.from_seed + chosen.seeds)
    wishes = [_wish(name, seed, chosen.seconds) for seed in seeds for name in names]
    found = dict(zip(wishes_of(wishes), made(wishes, Run.of, chosen.output, chosen.jobs), strict=True))
    runs = {name: [found[name, seed] for seed in seeds] for name in names}
    write(chosen.output / ("fixed.csv" if chosen.fixed else "joint.csv"), rows(runs, seeds))
    (report_fixed if chosen.fixed else report)(runs, chosen.seconds)


def _wish(name: str, seed: int, seconds: float) -> Wish:
    _, given = VARIANTS[name]
    chosen = {**given, "f_hat": F_HAT} if name.endswith("Ba)") else given
    options = {"objective": f"artificial:{seed}", "time": seconds, "workers": 0, "optimizer_options": chosen}
    return Wish(name, seed, SPACE, options=options)


def wishes_of(wishes: Sequence[Wish]) -> list[tuple[str, int]]:
    """Which run is which."""
    return [(wish.variant, wish.seed) for wish in wishes]


def rows(runs: Mapping[str, Sequence[Run]], seeds: Sequence[int]) -> list[dict[str, object]]:
    """One a run."""
    return [
        {
            "optimizer": name,
            "seed": seed,
            "trials": run.trials,
            "iterations": run.iterations,
            "loss": run.loss,
            "reaches_jopt": run.reaches(runs[BASE][place].loss) if BASE in runs else "",
        }
        for name, own in runs.items()
        for place, (seed, run) in enumerate(zip(seeds, own, strict=True))
    ]


def report(runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print the table: medians over the seeds, and of the differences to the base a 95 % bootstrap interval."""
    base = runs[BASE]
    print(f"{len(base)} objectives, {seconds:g} s each; losses beside {BASE} are differences of the same seed")
    print(
        f"{'optimizer':<20}{'trials':>8}{'loss':>10}  {'less than ' + BASE:<28}{'ahead':>6}{'alike':>6}"
        f"{'reaches it after':>20}  {'times as fast':<20}better by %"
    )
    for name, own in runs.items():
        line = f"{name:<20}{median(each.trials for each in own):>8g}{median(each.loss for each in own):>10.4f}"
        if name != BASE:
            less = [other.loss - each.loss for each, other in zip(own, base, strict=True)]
            after = [each.reaches(other.loss) for each, other in zip(own, base, strict=True)]
            line += f"  {shown(less):<28}{sum(each > 0 for each in less):>6}{sum(each == 0 for each in less):>6}"
            line += f"{seconds_shown(after):>20}  {shown(faster(own, base), 1):<20}{shown(better(own, base), 1):<20}"
        print(line.rstrip())


def report_fixed(runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print median losses over time of the seeds in which all had enough iterations, and how they end."""
    seeds = range(len(next(iter(runs.values()))))
    told = [seed for seed in seeds if all(own[seed].iterations >= ENOUGH for own in runs.values())]
    times = [share * seconds for share in SHARES]
    print(f"{len(told)} of {len(seeds)} objectives, in which all had {ENOUGH} iterations or more, {seconds:g} s each")
    if not told:
        return
    heads = "".join(f"{f'{after:g} s':>9}" for after in times)
    print(f"{'optimizer':<20}{'iterations':>11}{heads}  {'more than ' + FIXED[-1]}")
    for name, own in runs.items():
        least = min(own[seed].iterations for seed in told)
        losses = "".join(f"{median(own[seed].after(after) for seed in told):>9.4f}" for after in times)
        more = [own[seed].loss - runs[FIXED[-1]][seed].loss for seed in told]
        print(f"{name:<20}{f'>= {least}':>11}{losses}  {'' if name == FIXED[-1] else shown(more)}")


if __name__ == "__main__":
    main()
