"""What `SpaceSearchCV` takes of the processor, as a multiple of `sl.search` with as many trials of the same search.

    python tests/benchmarks/search_cv.py [SPACE] [--data sklearn:breast_cancer] [--trials 60] [--repeats 3]

Both evaluate in this process, by five folds and the same score, and fit the best pipeline at the end. They draw the
same configurations, on splits of their own; of several repeats, which take turns, the smallest counts. Nothing is
asserted.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import spacelang as sl
from spacelang.runtime.data.loading import load_dataset


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how many times the one is the other, for a table and for an array of the same numbers."""
    options = parse(arguments)
    table = load_dataset(options.data)
    warnings.simplefilter("ignore")
    for name, features in (("a table", table.features), ("an array", table.features.to_numpy(dtype=float))):
        compare(options, name, features, table.target)


def compare(options: argparse.Namespace, name: str, features: Any, labels: Any) -> None:
    """Print what both take for the same rows."""
    told: dict[str, Any] = {"optimizer": "random", "trials": options.trials}

    def by_estimator() -> object:
        search = sl.SpaceSearchCV(options.space, cv=5, scoring="accuracy", random_state=0, **told)
        return search.fit(features, labels)

    def by_function() -> object:
        how = {"metric": "accuracy", "validate": "cv(5)", "workers": 0, "progress": False}
        return sl.search(options.space, features, labels, seed=0, **how, **told).best_pipeline

    by_function()  # what is imported and cached is so for both
    pairs = [(seconds(by_function), seconds(by_estimator)) for _ in range(options.repeats)]
    function, estimator = map(min, zip(*pairs, strict=True))
    print(f"{name:9} sl.search {function:6.2f} s, SpaceSearchCV {estimator:6.2f} s, {estimator / function:5.2f} times")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space", nargs="?", default="blds_table1", help="a bundled space or a file")
    parser.add_argument("--data", default="sklearn:breast_cancer", help="what it is searched on")
    parser.add_argument("--trials", type=int, default=60, help="of each search")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement")
    return parser.parse_args(arguments)


def seconds(work: Callable[[], object]) -> float:
    """The processor's seconds that something takes."""
    before = process_time()
    work()
    return process_time() - before


if __name__ == "__main__":
    main()
