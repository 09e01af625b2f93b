"""Data sets: a table of features with one column of labels, from a file or from those that scikit-learn ships.

A `Table` has been read but not judged; `labels.check_labels` makes a `Dataset` of it, which a run can use.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from spacelang.runtime.errors import DataError, suggestion
from spacelang.runtime.files import read_csv

SKLEARN_SETS: Final = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""The sets that scikit-learn ships, as `sklearn:NAME` names them."""

EXTENSIONS: Final = (".csv", ".csv.gz")


@dataclass(frozen=True, slots=True)
class Table:
    """A data set as it was read: `features` has unique text names as columns, `target` the same rows."""

    name: str
    features: pd.DataFrame
    target: pd.Series


def load_dataset(reference: str, target: str | None = None) -> Table:
    """Read `sklearn:NAME` or the path of a `.csv` or `.csv.gz` file.

    The labels are the column `target`; where that is None the one named "target", else the last. Raises DataError
    for everything that a user can have got wrong.
    """
    scheme, _, name = reference.partition(":")
    match scheme:
        case "sklearn":
            return _split(reference, _shipped(name), target)
        case "openml" | "openml-task":
            raise DataError(
                f"`{reference}`: OpenML is not supported by this version",
                "save the data set as a `.csv` file with the label in the last column",
            )
        case _:
            return _split(Path(reference).name, _read(reference), target)


def make_table(features: Any, target: Any, name: str = "data") -> Table:
    """The table of features and labels that a program holds: a DataFrame or whatever makes an n x d array; n labels.

    Columns without names are called x0, x1, ... Raises DataError where the shapes do not fit together.
    """
    frame = _frame(features)
    labels = np.asarray(target)
    if labels.ndim != 1:
        raise DataError(f"labels must be one column, not an array of shape {labels.shape}")
    if len(labels) != len(frame):
        raise DataError(f"{len(frame)} rows of features do not fit {len(labels)} labels")
    label_name = str(getattr(target, "name", None) or "target")
    return Table(name, _nonempty(_unique(frame, name), name), pd.Series(labels, name=label_name))


def _shipped(name: str) -> pd.DataFrame:
    if name not in SKLEARN_SETS:
        known = ", ".join(f"`sklearn:{known}`" for known in SKLEARN_SETS if known != "linnerud")
        help_text = suggestion(name, SKLEARN_SETS).replace("`", "`sklearn:", 1) or f"there are {known}"
        raise DataError(f"scikit-learn ships no data set `{name}`", help_text)
    if name == "linnerud":
        raise DataError("`sklearn:linnerud` has three outputs a row", "choose a data set with one label column")
    loader: Callable[..., Any] = getattr(import_module("sklearn.datasets"), f"load_{name}")
    frame: pd.DataFrame = loader(as_frame=True).frame
    return frame


def _read(reference: str) -> pd.DataFrame:
    path = Path(reference)
    if path.is_dir():
        raise DataError(f"`{reference}` is a folder", "name one file in it")
    if not path.exists():
        raise DataError(f"there is no file `{reference}`", _where_instead(path))
    if not path.is_file():
        raise DataError(f"`{reference}` is no regular file", "name a file of data")
    if not path.name.lower().endswith(EXTENSIONS):
        raise DataError(
            f"`{reference}`: files of the kind `{path.suffix or path.name}` are not supported by this version",
            f"save the data as one of {', '.join(f'`{extension}`' for extension in EXTENSIONS)}",
        )
    return read_csv(path, reference)


def _where_instead(path: Path) -> str:
    if path.name in SKLEARN_SETS:
        return f"did you mean `sklearn:{path.name}`?"
    if not path.parent.is_dir():
        return f"there is no folder `{path.parent}` either"
    siblings = (other.name for other in path.parent.iterdir() if other.name.lower().endswith(EXTENSIONS))
    return suggestion(path.name, siblings)


def _split(name: str, frame: pd.DataFrame, target: str | None) -> Table:
    columns = list(frame.columns)
    label = target if target is not None else "target" if "target" in columns else columns[-1]
    if label not in columns:
        shown = ", ".join(f"`{column}`" for column in columns[:12]) + (", ..." if len(columns) > 12 else "")
        raise DataError(f"`{name}` has no column `{label}`", suggestion(label, columns) or f"its columns are {shown}")
    return Table(name, _nonempty(frame.drop(columns=label), name), frame[label])


def _frame(features: Any) -> pd.DataFrame:
    if isinstance(features, pd.DataFrame):
        return (
            features.set_axis([str(column) for column in features.columns], axis=1)
            .reset_index(drop=True)
            .infer_objects()
        )
    if hasattr(features, "toarray"):
        raise DataError("sparse features are not supported", "give `features.toarray()`")
    array = np.asarray(features)
    if array.ndim != 2:
        raise DataError(f"features must have two dimensions (rows, columns), not the shape {array.shape}")
    return pd.DataFrame(array, columns=[f"x{place}" for place in range(array.shape[1])])


def _unique(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    twice = [column for column, count in Counter(frame.columns).items() if count > 1]
    if twice:
        raise DataError(f"`{name}` has more than one column `{twice[0]}`", "give every column a name of its own")
    return frame


def _nonempty(features: pd.DataFrame, name: str) -> pd.DataFrame:
    if features.shape[1] == 0:
        raise DataError(f"`{name}` has no column besides the label", "give at least one column of features")
    if features.shape[0] == 0:
        raise DataError(f"`{name}` has no rows")
    return features
