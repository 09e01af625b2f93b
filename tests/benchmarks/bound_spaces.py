"""Count the structures and hyperparameters of the general-purpose spaces, before and after they are bound to data.

`python tests/benchmarks/bound_spaces.py FILE.csv.gz …` prints a row for each file, with labels in the column `target`.
"""

import sys
from pathlib import Path

from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData, choose_default_space
from spacelang.runtime.data.loading import load_dataset
from spacelang.solver.statistics import Statistics


def counts(found: Statistics) -> str:
    """The structures and the hyperparameters, as two cells of the table."""
    searched = found.hyperparameters
    return f"{found.structures:,} | {searched.continuous + searched.discrete}"


def main(files: list[str]) -> None:
    sizes = ("numeric", "categorical", "text", "datetime", "missing")
    counted = ("structures", "hyperparameters", "structures, bound", "hyperparameters, bound")
    print(f"| data | {' | '.join((*sizes, *counted))} |")
    print(f"|{' --- |' * 10}")
    for file in files:
        table = load_dataset(file, "target")
        data, space = TabularData(table), choose_default_space(table).space
        bound, objective = data.bind_space(Experiment(space=space, data=data))
        numbers = " | ".join(str(objective.size_symbols[f"n_{size}"]) for size in sizes)
        name = Path(file).name.partition(".")[0]
        print(f"| {name} | {numbers} | {counts(space.statistics)} | {counts(bound.statistics)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
