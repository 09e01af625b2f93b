"""How long hyperopt's TPE takes for a proposal, alone and with what stands around it: prints milliseconds.

    python tests/benchmarks/proposals.py [--quick] [--spaces NAME ...]

Processor time of one proposal after so many trials, the median of several. `alone` is `tpe.suggest` and `space_eval`
over trials that hyperopt holds already; `ours` is what the optimizers `tpe` and `boasf` do: the whole history is told,
of which the last trial is new, and what comes back is checked against the constraints. `first` is what is made once:
the nested choices and hyperopt's graph of them.
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
from spacelang.draws.sampling import Sampler
from spacelang.optimizers._hyperopt import HyperoptTpe
from spacelang.optimizers._proposing import ObservedLoss
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
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few trials: that it runs, not how long it takes")
    options.add_argument("--spaces", nargs="*", default=SPACES, metavar="NAME")
    chosen = options.parse_args(arguments)
    sizes, repeats = ((25,), 1) if chosen.quick else (SIZES, 5)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; processor time in ms")
    print(f"  {'space':<28}{'labels':>8}{'first':>8}   " + "".join(f"{n:>6} trials: alone, ours" for n in sizes))
    for name in chosen.spaces:
        print(f"  {name:<28}{measured(name, sizes, repeats)}", flush=True)


def measured(name: str, sizes: Sequence[int], repeats: int) -> str:
    """One line of figures."""
    structures = spacelang.load(name).counted
    rng = np.random.default_rng(0)
    history: list[ObservedLoss] = [
        (each, float(rng.random())) for each in Sampler(structures).configurations(max(sizes), rng)
    ]
    proposer = HyperoptTpe(structures)
    first = timed(proposer.propose, [], np.random.default_rng(0))
    form = Hyperopt().lower(structures).form
    domain = base.Domain(None, form.native)
    found = ""
    for size in sizes:
        documents = [form.document(number, form.encode(each)) for number, (each, _) in enumerate(history[:size])]
        for document, (_, loss) in zip(documents, history, strict=False):
            document.update(state=2, result={"status": "ok", "loss": loss})
        trials = base.trials_from_docs(documents, validate=False)
        proposer.propose(history[: size - 1], np.random.default_rng(0))
        alone = [timed(suggested, domain, trials, form.native, seed) for seed in range(repeats)]
        ours = [timed(proposer.propose, history[:size], np.random.default_rng(seed)) for seed in range(repeats)]
        found += f"{median(alone):>16.1f}{median(ours):>9.1f}"
    return f"{len(form.labels):>8}{first:>8.1f}   {found}"


def suggested(domain: Any, trials: Any, space: Any, seed: int) -> Any:
    """What somebody does who uses the library by hand."""
    (document,) = tpe.suggest([len(trials)], domain, trials, seed, verbose=False)
    values = {label: found[0] for label, found in document["misc"]["vals"].items() if len(found)}
    return hyperopt.space_eval(space, values)


def timed(work: Callable[..., object], *told: object) -> float:
    """The milliseconds of processor time that some work takes."""
    before = time.process_time()
    work(*told)
    return (time.process_time() - before) * 1000


if __name__ == "__main__":
    main()
