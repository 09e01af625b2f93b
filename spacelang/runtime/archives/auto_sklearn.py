"""What auto-sklearn 0.15 has learnt of earlier data sets, in the words of the bundled space `mosaic`.

A folder has `feature_values.arff`, and for each metric `METRIC.algorithm_runs.arff`, which says the number of the best
configuration on each data set, and `METRIC.configurations.csv`, which has that. What the space cannot say is left out
and counted.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

import pandas as pd

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.runtime.archives._auto_sklearn_words import CannotBeSaidError, in_our_words
from spacelang.runtime.archives.archive import ArchiveRow, space_facts
from spacelang.runtime.data.arff import read_arff
from spacelang.runtime.data.files import read_text
from spacelang.runtime.errors import DataError

FEATURES: Final = "feature_values.arff"
RUNS: Final = "{metric}.algorithm_runs.arff"
CONFIGURATIONS: Final = "{metric}.configurations.csv"

SPACE: Final = "mosaic"
"""The bundled space in whose words the configurations are said."""

FORMULAS: Final = {
    "accuracy": "1 - accuracy",
    "balanced_accuracy": "1 - balanced_accuracy",
    "roc_auc": "1 - roc_auc",
    "log_loss": "log_loss",
}
"""What losses are called here that are judged by a metric of theirs."""


@dataclass(frozen=True, slots=True)
class Translated:
    """The rows of a folder, and what is none, each as a sentence for people with its count."""

    rows: tuple[ArchiveRow, ...]
    left_out: tuple[str, ...]


def is_auto_sklearn(folder: Path) -> bool:
    """Whether a folder has what auto-sklearn has learnt."""
    return (folder / FEATURES).is_file()


def read_auto_sklearn(folder: Path, space: Space) -> Translated:
    """The rows of all metrics that the folder has, for the bundled space `mosaic`.

    A share of columns that is an exponent there, and a depth that is a multiple of their number, are taken at the
    number of columns of the data set on which they were the best. Whether a configuration is a member depends on the
    data that is searched, and is not asked. Raises DataError for files that are not what they should be.
    """
    known = _meta_features(folder / FEATURES)
    rows: list[ArchiveRow] = []
    left_out: list[str] = []
    for metric, formula in FORMULAS.items():
        if (folder / RUNS.format(metric=metric)).is_file():
            reasons: Counter[str] = Counter()
            rows += _rows(folder, metric, formula, known, space, reasons)
            left_out += [f"{count} of {metric}: {reason}" for reason, count in reasons.most_common()]
    return Translated(tuple(rows), tuple(left_out))


def _rows(
    folder: Path,
    metric: str,
    formula: str,
    known: Mapping[str, Mapping[str, float]],
    space: Space,
    reasons: Counter[str],
) -> Iterator[ArchiveRow]:
    """The rows of a metric; why others are none is counted."""
    facts = space_facts(space)
    configurations = _configurations(folder / CONFIGURATIONS.format(metric=metric))
    for run in _table(folder / RUNS.format(metric=metric), "instance_id", "algorithm", metric, "runstatus"):
        data, number, loss = str(run["instance_id"]), str(run["algorithm"]), run[metric]
        if run["runstatus"] != "ok" or pd.isna(loss):
            reasons["no loss is known"] += 1
        elif data not in known or number not in configurations:
            reasons["the data set or the configuration is not described"] += 1
        else:
            try:
                values = in_our_words(configurations[number], known[data].get("NumberOfFeatures", 0))
            except CannotBeSaidError as error:
                reasons[str(error)] += 1
                continue
            except (ValueError, OverflowError):
                reasons["a parameter is no number"] += 1
                continue
            yield ArchiveRow(data, facts, formula, float(loss), Configuration(values), meta_features=known[data])


def _meta_features(path: Path) -> dict[str, dict[str, float]]:
    """The meta-features of each data set that are finite numbers."""
    found = {}
    for row in _table(path, "instance_id"):
        name = str(row.pop("instance_id"))
        row.pop("repetition", None)
        found[name] = {key: float(value) for key, value in row.items() if _is_finite(value)}
    return found


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _table(path: Path, *needed: str) -> list[dict[str, Any]]:
    """The rows of an ARFF file; raises DataError where a column that is needed is missing."""
    table = read_arff(read_text(path, str(path)), str(path))
    if not isinstance(table, pd.DataFrame):
        raise DataError(f"`{path}` has sparse rows, which auto-sklearn's files do not have")
    missing = next((name for name in needed if name not in table.columns), None)
    if missing is not None:
        raise DataError(f"`{path}` has no column `{missing}`", "take auto-sklearn's files as they are")
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _configurations(path: Path) -> dict[str, dict[str, str]]:
    """Each configuration by its number: what is active in it, as text."""
    lines = csv.DictReader(read_text(path, str(path)).splitlines())
    if "idx" not in (lines.fieldnames or ()):
        raise DataError(f"`{path}` has no column `idx`", "take auto-sklearn's files as they are")
    return {row["idx"]: {key: value for key, value in row.items() if key != "idx" and value} for row in lines}
