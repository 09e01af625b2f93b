"""Read the meta-learning files of auto-sklearn 0.15 as rows for the bundled space `mosaic`.

A folder holds `feature_values.arff`. For each metric it holds `METRIC.algorithm_runs.arff`, with the number of the best
configuration on each data set, and `METRIC.configurations.csv`, with these configurations. Those that `mosaic` cannot
represent are left out and counted.
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
from spacelang.runtime.archives._auto_sklearn_translation import UntranslatableError, translate
from spacelang.runtime.archives.archive import ArchiveRow, space_facts
from spacelang.runtime.data.arff import read_arff
from spacelang.runtime.data.csv_files import read_text
from spacelang.runtime.errors import DataError
from spacelang.text import count_with_noun

META_FEATURES_FILE: Final = "feature_values.arff"
RUNS_FILE: Final = "{metric}.algorithm_runs.arff"
CONFIGURATIONS_FILE: Final = "{metric}.configurations.csv"

SPACE_NAME: Final = "mosaic"
"""The bundled space to which the configurations are translated."""

FORMULAS: Final = {
    "accuracy": "1 - accuracy",
    "balanced_accuracy": "1 - balanced_accuracy",
    "roc_auc": "1 - roc_auc",
    "log_loss": "log_loss",
}
"""The formula of the loss for each metric of auto-sklearn."""


@dataclass(frozen=True, slots=True)
class TranslatedRows:
    """The rows of a folder, and one sentence with a count for each reason why others were left out."""

    rows: tuple[ArchiveRow, ...]
    left_out: tuple[str, ...]


def is_auto_sklearn(folder: Path) -> bool:
    """Return True if the folder has meta-learning files of auto-sklearn."""
    return (folder / META_FEATURES_FILE).is_file()


def read_auto_sklearn(folder: Path, space: Space) -> TranslatedRows:
    """Return the rows of all metrics in the folder; `space` is the bundled space `mosaic`.

    Some parameters of auto-sklearn are relative to the number of columns: exponents for shares of columns, and
    multiples for depths. They are converted with the number of columns of the row's own data set. Membership in the
    space is not checked here, as it depends on the data that is searched.

    Raises DataError for invalid files.
    """
    known = _meta_features(folder / META_FEATURES_FILE)
    rows: list[ArchiveRow] = []
    left_out: list[str] = []
    for metric, formula in FORMULAS.items():
        if (folder / RUNS_FILE.format(metric=metric)).is_file():
            reasons: Counter[str] = Counter()
            rows += _rows(folder, metric, formula, known, space, reasons)
            left_out += [
                f"{count_with_noun(count, 'run')} with the metric {metric}: {reason}"
                for reason, count in reasons.most_common()
            ]
    return TranslatedRows(tuple(rows), tuple(left_out))


def _rows(
    folder: Path,
    metric: str,
    formula: str,
    known: Mapping[str, Mapping[str, float]],
    space: Space,
    reasons: Counter[str],
) -> Iterator[ArchiveRow]:
    """Yield the rows of a metric, and count the reasons why others are left out."""
    facts = space_facts(space)
    configurations = _configurations(folder / CONFIGURATIONS_FILE.format(metric=metric))
    for run in _table(folder / RUNS_FILE.format(metric=metric), "instance_id", "algorithm", metric, "runstatus"):
        data, number, loss = str(run["instance_id"]), str(run["algorithm"]), run[metric]
        if run["runstatus"] != "ok" or pd.isna(loss):
            reasons["the loss is unknown"] += 1
        elif data not in known or number not in configurations:
            reasons["the data set or the configuration is missing"] += 1
        else:
            try:
                values = translate(configurations[number], known[data].get("NumberOfFeatures", 0))
            except UntranslatableError as error:
                reasons[str(error)] += 1
                continue
            except (ValueError, OverflowError):
                reasons["a parameter is not a number"] += 1
                continue
            yield ArchiveRow(data, facts, formula, float(loss), Configuration(values), meta_features=known[data])


def _meta_features(path: Path) -> dict[str, dict[str, float]]:
    """Return the finite meta-features of each data set."""
    found = {}
    for row in _table(path, "instance_id"):
        name = str(row.pop("instance_id"))
        row.pop("repetition", None)
        found[name] = {key: float(value) for key, value in row.items() if _is_finite(value)}
    return found


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _table(path: Path, *needed: str) -> list[dict[str, Any]]:
    """Return the rows of an ARFF file; raise DataError if a needed column is missing."""
    table = read_arff(read_text(path, str(path)), str(path))
    if not isinstance(table, pd.DataFrame):
        raise DataError(f"`{path}` has sparse rows, which auto-sklearn's files do not have")
    missing = next((name for name in needed if name not in table.columns), None)
    if missing is not None:
        raise DataError(f"`{path}` has no column `{missing}`", "use auto-sklearn's files unchanged")
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _configurations(path: Path) -> dict[str, dict[str, str]]:
    """Return the active parameters of each configuration, as text, by its number."""
    lines = csv.DictReader(read_text(path, str(path)).splitlines())
    if "idx" not in (lines.fieldnames or ()):
        raise DataError(f"`{path}` has no column `idx`", "use auto-sklearn's files unchanged")
    return {row["idx"]: {key: value for key, value in row.items() if key != "idx" and value} for row in lines}
