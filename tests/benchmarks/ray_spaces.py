"""Try the target `ray` with Ray Tune itself: prints how many proposals of its search algorithms are members.

    python tests/benchmarks/ray_spaces.py SPACE...

This needs the extra `ray`. Each search algorithm proposes 40 configurations by turns and is told a loss for each. The
first proposal must be the default. In November 2026, all proposals of Ray 2.60 were members, for mosaic, boasf_models,
admm_table_a2 and blds_table1_hpo.
"""

import argparse
import logging
import math

import numpy as np
from ray.tune.search.hyperopt import HyperOptSearch
from ray.tune.search.optuna import OptunaSearch

import spacelang as sl
from spacelang.ir.configuration import Configuration

COUNT = 40


def loss(configuration: Configuration) -> float:
    """Return a loss that depends on all numbers of a configuration."""
    numbers = [each for each in configuration.values() if isinstance(each, int | float)]
    return math.fsum(math.atan(number) for number in numbers)


def try_space(name: str) -> str:
    """Return a line about the proposals of the search algorithms, and about independent draws."""
    space = sl.load(name)
    compiled = space.compile("ray")
    native, default = compiled.form.native, compiled.form.default
    rng = np.random.default_rng(0)
    drawn = [{key: each.sample(random_state=rng) for key, each in native.items()} for _ in range(5 * COUNT)]
    words = [f"draws {sum(compiled.decode(each) in space for each in drawn)} of {len(drawn)}"]
    for kind in (OptunaSearch, HyperOptSearch):
        search = kind(space=native, metric="loss", mode="min", points_to_evaluate=[default])
        proposed = []
        for number in range(COUNT):
            proposed.append(compiled.decode(search.suggest(str(number))))
            search.on_trial_complete(str(number), {"loss": loss(proposed[-1])})
        assert proposed[0] == compiled.decode(default)
        words.append(f"{kind.__name__} {sum(each in space for each in proposed)} of {COUNT}")
    return f"{name}: {', '.join(words)}"


def main() -> None:
    """Try the spaces that the command names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spaces", nargs="+", metavar="SPACE", help="the file or the bundled name of a space")
    logging.disable(logging.WARNING)
    for name in parser.parse_args().spaces:
        print(try_space(name), flush=True)


if __name__ == "__main__":
    main()
