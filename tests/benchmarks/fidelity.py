"""Measure whether compiled forms are searched as well as forms that an expert writes by hand.

    python tests/benchmarks/fidelity.py [--tools optuna ...] [--spaces ordered ...] [--seeds 30] [--part 1/2]
    python tests/benchmarks/fidelity.py --relations rejection quantiles     (instead of the default of each tool)
    python tests/benchmarks/fidelity.py --table

The eight spaces are in `fidelity_spaces.py` and `fidelity_pipelines.py`. Each tool searches a space twice with each
seed, by its hand-written form and by its compiled form, for 80 or 100 trials. The regret is the smallest loss, since
the loss of the optimum is 0. `--table` prints the mean paired difference (compiled less hand-written) with a 95 %
bootstrap interval, and the smallest mean difference that as many pairs detect with a power of 80 %.

Some spaces are also searched by the forms of commit b675031 (`forms_of_b675031`), which were searched worse: the
benchmark must detect their difference. Rows are added to `fidelity.csv` (`--output`) as they come. What is in the file
is not repeated: interrupt the script at will, and start it again. `--part 1/2` runs every second search, so that two
processes can write to one file.
"""

import argparse
import csv
import gzip
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final, NamedTuple

import numpy as np
from fidelity_pipelines import TASKS
from fidelity_spaces import Task, Values

import spacelang
from spacelang.targets import TARGETS

RESULTS: Final = Path(__file__).with_suffix(".csv")
FORMS: Final = Path(__file__).with_name("forms_of_b675031")
RESAMPLES: Final = 10_000
LIMIT: Final = 0.02  # The upper end of the interval of a form that is searched as well as a hand-written one
MIN_PAIRS: Final = 10  # Fewer differences say nothing about their mean
POWER: Final = 1.96 + 0.84  # Standard errors in a difference that a test of 5 % detects with a power of 80 %
TOOLS: Final[Mapping[str, tuple[str, int]]] = {
    "optuna": ("Optuna TPE", 30),
    "hyperopt": ("hyperopt TPE", 30),
    "configspace": ("SMAC", 10),
}
"""The target, and the name and number of seeds of the tool that searches its forms."""


class Search(NamedTuple):
    """A search of a space by a form; `relations` is empty where forms have none."""

    tool: str
    space: str
    form: str
    relations: str
    seed: int


class Form(NamedTuple):
    """A form in the tool's own terms, and the function that makes values by short names of its answer."""

    native: Any
    values: Callable[[Any], Values]


Rows = Mapping[Search, Mapping[str, str]]
COLUMNS: Final = (*Search._fields, "trials", "regret", "seconds")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the searches that the results do not contain, or print the table."""
    options = parse(arguments)
    if options.table:
        print_table(read_rows(options.output))
        return
    logging.getLogger("smac").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    share, parts = map(int, options.part.split("/"))
    known = read_rows(options.output)
    for place, search in enumerate(searches(options)):
        if place % parts == share - 1 and search not in known:
            start = process_time()
            trials = options.trials or TASKS[search.space].trials
            try:
                regret = run(search, trials)
            except spacelang.SpaceError as error:
                print(*search, error.diagnostics[0].message)
                continue
            row = (*search, trials, f"{regret:.6f}", f"{process_time() - start:.2f}")
            add_row(options.output, row)
            print(*row, flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=[*TOOLS], help="targets whose tools search")
    parser.add_argument("--spaces", nargs="+", choices=TASKS, default=[*TASKS], help="spaces to search")
    parser.add_argument("--seeds", type=int, help="number of seeds; by default 30, and 10 for SMAC")
    parser.add_argument(
        "--trials", type=int, help="number of trials of a search, for a file of its own; by default 80 or 100"
    )
    parser.add_argument("--relations", nargs="+", help="how relations are compiled; by default as each target does")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="run only the K-th of N parts of the searches")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--table", action="store_true", help="print the results as a table in Markdown")
    return parser.parse_args(arguments)


def searches(options: argparse.Namespace) -> Iterator[Search]:
    """Yield all searches, pair by pair."""
    for tool in options.tools:
        for space in options.spaces:
            task = TASKS[space]
            if tool == "configspace" and task.configuration_space is None:
                continue
            related = (options.relations or [default_relations(tool, task)]) if task.has_relations else [""]
            old = ["b675031"] if old_form_path(tool, space).exists() else []
            for seed in range(options.seeds or TOOLS[tool][1]):
                yield Search(tool, space, "hand", "", seed)
                yield from (Search(tool, space, "compiled", each, seed) for each in related)
                yield from (Search(tool, space, each, "", seed) for each in old)


def default_relations(tool: str, task: Task) -> str:
    """Return how a target expresses the relations of a space unless an option says otherwise."""
    space = spacelang.load(task.reference)
    for each in getattr(TARGETS.load(tool), "default_relations", ()):
        with suppress(spacelang.SpaceError):
            space.compile(tool, relations=each)
            return str(each)
    return "cases"


# ---- forms


def form_of(search: Search) -> Form:
    """Return the form of a search."""
    if search.form == "hand":
        return hand_written_form(search.tool, TASKS[search.space])
    if search.form == "compiled":
        return compiled_form(search.tool, TASKS[search.space], search.relations)
    return old_form(search.tool, search.space)


def hand_written_form(tool: str, task: Task) -> Form:
    """Return the form that an expert writes."""
    if tool == "optuna":
        return Form(task.suggest, dict)
    if tool == "hyperopt":
        from hyperopt import hp

        return Form(task.hyperopt_space(hp), task.hyperopt_values)
    import ConfigSpace

    assert task.configuration_space is not None
    return Form(task.configuration_space(ConfigSpace), dict)


def compiled_form(tool: str, task: Task, relations: str) -> Form:
    """Return the form that spacelang compiles, used as the page of the targets says."""
    space = spacelang.load(task.reference)
    is_only_way = relations == "cases" and not hasattr(TARGETS.load(tool), "default_relations")
    settings = {"relations": relations} if relations and not is_only_way else {}
    form: Any = space.compile(tool, **settings).form
    decode = {"optuna": dict, "hyperopt": getattr(form, "configuration", None), "configspace": form.decode}[tool]
    assert decode is not None
    return Form(form.native, lambda answer: short_names(decode(answer)))


def old_form_path(tool: str, space: str) -> Path:
    """Return the file with the module that commit b675031 generated; it exists for few spaces."""
    return FORMS / f"{space}_{tool}.py.gz"


def old_form(tool: str, space: str) -> Form:
    """Return the form in the module that commit b675031 generated."""
    module: dict[str, Any] = {}
    exec(gzip.decompress(old_form_path(tool, space).read_bytes()), module)
    if tool == "optuna":
        return Form(module["suggest"], short_names)
    return Form(module["space"], lambda sample: short_names(module["configuration"](sample)))


def short_names(values: Values) -> dict[str, Any]:
    """Return values by the part of their names after the last dot."""
    return {name.rpartition(".")[2]: value for name, value in values.items()}


# ---- searches


class Evaluations:
    """Evaluations of a form's answers, with the smallest loss so far."""

    def __init__(self, form: Form, loss: Callable[[Values], float]) -> None:
        self._form, self._loss = form, loss
        self.least, self.count = inf, 0

    def loss(self, answer: Any) -> float:
        """Return the loss of an answer."""
        found = self._loss(self._form.values(answer))
        self.least, self.count = min(self.least, found), self.count + 1
        return found


def run(search: Search, trials: int) -> float:
    """Return the smallest loss of a search."""
    form = form_of(search)
    evaluations = Evaluations(form, TASKS[search.space].loss)
    search_with = {"optuna": search_with_optuna, "hyperopt": search_with_hyperopt, "configspace": search_with_smac}
    search_with[search.tool](form.native, evaluations, search.seed, trials)
    return evaluations.least


def search_with_optuna(native: Any, evaluations: Evaluations, seed: int, trials: int) -> None:
    """Run a study with the default sampler of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    while (left := trials - evaluations.count) > 0:  # trials that a form prunes are not evaluated
        study.optimize(lambda trial: evaluations.loss(native(trial)), n_trials=left)


def search_with_hyperopt(native: Any, evaluations: Evaluations, seed: int, trials: int) -> None:
    """Run `fmin` with TPE."""
    from hyperopt import fmin, tpe

    settings = {"rstate": np.random.default_rng(seed), "show_progressbar": False, "verbose": False}
    fmin(evaluations.loss, native, tpe.suggest, trials, **settings)


def search_with_smac(native: Any, evaluations: Evaluations, seed: int, trials: int) -> None:
    """Run SMAC's facade for hyperparameters."""
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.main.exceptions import ConfigurationSpaceExhaustedException

    with TemporaryDirectory() as folder:
        settings = {"deterministic": True, "n_trials": trials, "seed": seed, "output_directory": Path(folder)}
        facade = HyperparameterOptimizationFacade(
            Scenario(native, **settings),
            lambda config, seed=0: evaluations.loss(config),  # noqa: ARG005 - SMAC passes a seed by this name
            overwrite=True,
            logging_level=False,
        )
        with suppress(ConfigurationSpaceExhaustedException):  # a small space without further configurations
            facade.optimize()


# ---- results


def read_rows(path: Path) -> dict[Search, dict[str, str]]:
    """Return all rows of the results; none without a file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    return {
        Search(each["tool"], each["space"], each["form"], each["relations"], int(each["seed"])): each for each in rows
    }


def add_row(path: Path, row: Sequence[object]) -> None:
    """Append a row to the results, after the names of the columns if the file is new."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, row] if is_new else [row])


def paired_differences(rows: Rows, tool: str, space: str, form: str, relations: str) -> list[float]:
    """Return the regret of a form less that of the hand-written form, for each seed with both."""
    return [
        float(row["regret"]) - float(rows[other]["regret"])
        for search, row in sorted(rows.items())
        if search[:4] == (tool, space, form, relations)
        and (other := Search(tool, space, "hand", "", search.seed)) in rows
    ]


def bootstrap_interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(np.array(differences), (RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def compared_forms(rows: Rows) -> list[tuple[str, str, str, str]]:
    """Return the tool, space, form and relations of each form that can be compared, in the order of the table."""
    tools, spaces = [*TOOLS], [*TASKS]
    keys = {search[:4] for search in rows if search.form != "hand" and paired_differences(rows, *search[:4])}
    return sorted(keys, key=lambda key: (key[2] != "compiled", tools.index(key[0]), spaces.index(key[1]), key[3]))


def print_table(rows: Rows) -> None:
    """Print a Markdown table with a line for each form."""
    print("| tool | space | form | pairs | regret by hand | regret | difference [95 %] | detectable | below 0.02 |")
    print("|" + " --- |" * 9)
    for key in compared_forms(rows):
        tool, space, form, relations = key
        found = paired_differences(rows, *key)
        searched = {search.seed for search in rows if search[:4] == key}
        by_hand = [
            row for search, row in rows.items() if search[:3] == (tool, space, "hand") and search.seed in searched
        ]
        hand, difference = float(np.mean([float(row["regret"]) for row in by_hand])), float(np.mean(found))
        low, high = bootstrap_interval(found)
        detectable = POWER * float(np.std(found, ddof=1)) / sqrt(len(found)) if len(found) > 1 else inf
        cells = (
            TOOLS[tool][0],
            space,
            f"{form}, {relations}" if relations else form,
            str(len(found)),
            f"{hand:.4f}",
            f"{hand + difference:.4f}",
            f"{difference:+.4f} [{low:+.4f}, {high:+.4f}]",
            f"{detectable:.4f}",
            "too few pairs" if len(found) < MIN_PAIRS else "yes" if high < LIMIT else "no",
        )
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
