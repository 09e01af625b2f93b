"""Measure how long a proposal of hyperopt's TPE takes, alone and in the optimizers: prints milliseconds.

    python tests/benchmarks/proposals.py [--quick] [--spaces NAME ...]

The script prints the processor time of one proposal after a number of trials, the median of several. `alone` is
`tpe.suggest` and `space_eval` over trials that hyperopt already stores. `ours` is the code of the optimizers `tpe` and
`boasf`: it gets the whole history, whose last trial is new, and checks the proposal against the constraints. `first` is
the time of the first proposal, which creates the nested choices and hyperopt's graph.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

import hyperopt
import numpy as np
from hyperopt import base, tpe

import spacelang
from spacelang.optimizers._libraries import HyperoptTpe
from spacelang.optimizers._proposer_search import ObservedLoss
from spacelang.sampling.sampler import Sampler
from spacelang.targets.hyperopt import Hyperopt

SPACES: Final = (
    "boasf_random_forest",
    "boasf_logistic_regression",
    "blds_table1",
    "admm_table_a3",
    "boasf_models",
    "admm_table_a2",
    "mosaic",
)
SIZES: Final = (100, 300, 1_000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few trials, to check only that the benchmark runs")
    options.add_argument("--spaces", nargs="*", default=SPACES, metavar="NAME", help="names of bundled spaces")
    chosen = options.parse_args(arguments)
    sizes, repeats = ((25,), 1) if chosen.quick else (SIZES, 5)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; processor time in ms")
    print(f"  {'space':<28}{'labels':>8}{'first':>8}   " + "".join(f"{n:>6} trials: alone, ours" for n in sizes))
    for name in chosen.spaces:
        print(f"  {name:<28}{measure(name, sizes, repeats)}", flush=True)


def measure(name: str, sizes: Sequence[int], repeats: int) -> str:
    """Return one line of the table."""
    structures = spacelang.load(name).counted
    rng = np.random.default_rng(0)
    history: list[ObservedLoss] = [
        (each, float(rng.random())) for each in Sampler(structures).configurations(max(sizes), rng)
    ]
    proposer = HyperoptTpe(structures)
    first = time_call(proposer.propose, [], np.random.default_rng(0))
    form = Hyperopt().lower(structures).form
    domain = base.Domain(None, form.native)
    columns = ""
    for size in sizes:
        documents = [form.trial_document(number, form.encode(each)) for number, (each, _) in enumerate(history[:size])]
        for document, (_, loss) in zip(documents, history, strict=False):
            document.update(state=2, result={"status": "ok", "loss": loss})
        trials = base.trials_from_docs(documents, validate=False)
        proposer.propose(history[: size - 1], np.random.default_rng(0))
        alone = [time_call(suggest_by_hand, domain, trials, form.native, seed) for seed in range(repeats)]
        ours = [time_call(proposer.propose, history[:size], np.random.default_rng(seed)) for seed in range(repeats)]
        columns += f"{median(alone):>16.1f}{median(ours):>9.1f}"
    return f"{len(form.labels):>8}{first:>8.1f}   {columns}"


def suggest_by_hand(domain: Any, trials: Any, space: Any, seed: int) -> Any:
    """Return a proposal as code that uses the library by hand would make it."""
    (document,) = tpe.suggest([len(trials)], domain, trials, seed, verbose=False)
    values = {label: value[0] for label, value in document["misc"]["vals"].items() if len(value)}
    return hyperopt.space_eval(space, values)


def time_call(work: Callable[..., object], *arguments: object) -> float:
    """Return the milliseconds of processor time of a call."""
    before = time.process_time()
    work(*arguments)
    return (time.process_time() - before) * 1000


if __name__ == "__main__":
    main()
