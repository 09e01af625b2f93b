"""Compare the processor time of `SpaceSearchCV` with that of `sl.search` for the same number of trials.

    python tests/benchmarks/search_cv.py [SPACE] [--data sklearn:breast_cancer] [--trials 60] [--repeats 3]

Both evaluate in this process, with five folds and the same score, and fit the best pipeline at the end. They sample the
same configurations, but split the data differently. The repeats alternate, and the smallest time of each is used. The
script asserts nothing.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import spacelang as sl
from spacelang.runtime.data.loading import load_dataset


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the ratio of the times, for a table and for an array of the same numbers."""
    options = parse(arguments)
    table = load_dataset(options.data)
    warnings.simplefilter("ignore")
    for name, features in (("a table", table.features), ("an array", table.features.to_numpy(dtype=float))):
        compare(options, name, features, table.target)


def compare(options: argparse.Namespace, name: str, features: Any, labels: Any) -> None:
    """Print the times of both for the same rows."""
    shared: dict[str, Any] = {"optimizer": "random", "trials": options.trials}

    def by_estimator() -> object:
        search = sl.SpaceSearchCV(options.space, cv=5, scoring="accuracy", random_state=0, **shared)
        return search.fit(features, labels)

    def by_function() -> object:
        settings = {"metric": "accuracy", "validate": "cv(5)", "workers": 0, "progress": False}
        return sl.search(options.space, features, labels, seed=0, **settings, **shared).best_pipeline

    by_function()  # imports and caches are warm for both
    pairs = [(measure_seconds(by_function), measure_seconds(by_estimator)) for _ in range(options.repeats)]
    function, estimator = map(min, zip(*pairs, strict=True))
    print(f"{name:9} sl.search {function:6.2f} s, SpaceSearchCV {estimator:6.2f} s, {estimator / function:5.2f} times")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space", nargs="?", default="blds_table1", help="a bundled space or a file")
    parser.add_argument("--data", default="sklearn:breast_cancer", help="data to search on")
    parser.add_argument("--trials", type=int, default=60, help="number of trials of each search")
    parser.add_argument("--repeats", type=int, default=3, help="number of repeats of each measurement")
    return parser.parse_args(arguments)


def measure_seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    before = process_time()
    work()
    return process_time() - before


if __name__ == "__main__":
    main()
