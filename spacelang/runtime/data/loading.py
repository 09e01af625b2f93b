"""Data sets: features with one column of labels, from a file, scikit-learn, OpenML or a program.

A `Table` has been read but not judged; `labels.check_labels` makes a `Dataset` of it, which a run can use.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.task import Given, Kind
from spacelang.runtime.data.files import read_bytes, read_csv, read_text
from spacelang.runtime.data.reading import OF_ARFF, OF_CSV, PLAIN, Reading
from spacelang.runtime.data.sparse import Features, SparseTable, canonical
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.split import Split, given
from spacelang.suggest import suggestion

SKLEARN_SETS: Final = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""The sets that scikit-learn ships, as `sklearn:NAME` names them."""

EXTENSIONS: Final = (*OF_CSV, ".parquet", *OF_ARFF)
"""How the names of files end that can be read."""

UNNAMED: Final = "data"
"""What the data of a program is called, which has no name: other data is called the same."""

FILLED: Final = {"features": "`features.filled(numpy.nan)`", "labels": "the rows that have a label"}
"""What to give instead of a masked array."""

PARTS: Final = "give each of their parts a column of its own, or leave the column out"
ONE_LABEL: Final = "give one number or text a row"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A data set as it was read: `features` are a table with unique text names as columns, or a sparse array.

    `target` has the same rows. `splits` are those that the data itself says, if any, on which trials are then judged,
    and `kind` is the kind of task that it is for, where it says so. `reading` is how its file was read, which is how
    one with test rows is read.
    """

    name: str
    features: Features
    target: pd.Series
    splits: tuple[Split, ...] = ()
    kind: Kind | None = None
    reading: Reading = PLAIN

    @property
    def validation(self) -> Given | None:
        """On which rows trials are judged, where the data itself says so."""
        return given(self.splits, self.name) if self.splits else None


def load_dataset(reference: str, target: str | None = None, reading: Reading = PLAIN) -> Table:
    """Read `sklearn:NAME`, `openml:ID`, `openml-task:ID` or the path of a `.csv`, `.parquet` or `.arff` file.

    Text files may be compressed as `.gz`. The labels are the column `target`; where that is None the one that OpenML
    names, in other data the one named "target", else the last of those that `reading` does not leave out. Raises
    DataError for everything that a user can have got wrong.
    """
    scheme, _, name = reference.partition(":")
    if scheme in {"sklearn", "openml", "openml-task"}:
        _refuse_options(reference, reading.of_text)
    match scheme:
        case "sklearn":
            return _split(reference, _shipped(name), target, reading)
        case "openml" | "openml-task":
            from spacelang.runtime.data.openml import fetch

            fetched = fetch(reference, target)
            found = _split(reference, fetched.table, fetched.target, reading, fetched.left_out)
            return replace(found, splits=fetched.splits, kind=fetched.kind)
        case _:
            return _split(Path(reference).name, _read(reference, reading), target, reading)


def load_rows(reference: str, reading: Reading = PLAIN, words: Collection[str] = ()) -> pd.DataFrame | SparseTable:
    """All columns of the data of a reference, with labels or without; raises DataError as `load_dataset` does.

    Of a `.csv` file the columns `words` are texts, whatever their values look like.
    """
    scheme, _, name = reference.partition(":")
    match scheme:
        case "sklearn":
            return _shipped(name)
        case "openml" | "openml-task":
            from spacelang.runtime.data.openml import fetch

            return fetch(reference).table
        case _:
            return _read(reference, reading, words)


def make_table(features: Any, target: Any, name: str = UNNAMED) -> Table:
    """The table of features and labels that a program holds: n labels, and n rows of d features.

    Labels may be a table or an array of one column. Features are a DataFrame, a sparse matrix or array, which stays
    sparse, or whatever else makes an n x d array. A DataFrame whose columns are all sparse, with zero for what is left
    out, is taken as a sparse array. Columns without names are called x0, x1, ... Raises DataError where the shapes do
    not fit together.
    """
    rows = make_features(features, name)
    labels = _array(target, "labels")
    named = getattr(target, "name", None)
    if labels.ndim == 2 and labels.shape[1] == 1:  # one column, of a table or an array
        labels, (named,) = labels[:, 0], getattr(target, "columns", [named])
    if labels.ndim != 1:
        raise DataError(f"labels must be one column, not an array of shape {labels.shape}")
    if len(labels) != rows.shape[0]:
        raise DataError(f"{rows.shape[0]} rows of features do not fit {len(labels)} labels")
    label_name = str(named or "target")
    return Table(name, _nonempty(rows, name), _plain(pd.Series(labels, name=label_name).infer_objects(), ONE_LABEL))


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


def _read(reference: str, reading: Reading, words: Collection[str] = ()) -> pd.DataFrame | SparseTable:
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
    match next(extension for extension in EXTENSIONS if path.name.lower().endswith(extension)):
        case ".parquet":
            from spacelang.runtime.data.parquet import read_parquet

            _refuse_options(reference, reading.of_text)
            return read_parquet(read_bytes(path, reference), reference)
        case ".arff" | ".arff.gz":
            from spacelang.runtime.data.arff import read_arff

            _refuse_options(reference, {name: told for name, told in reading.of_text.items() if name != "encoding"})
            return read_arff(read_text(path, reference, reading.encoding), reference)
        case _:
            return read_csv(path, reference, reading, words)


def _refuse_options(reference: str, said: Mapping[str, str]) -> None:
    """Raise DataError where it is said how to read a text that is none, or says so by itself."""
    if said:
        option = next(iter(said))
        raise DataError(f"`--{option}` changes nothing of `{reference}`", "leave it out: it is for `.csv` files")


def _where_instead(path: Path) -> str:
    if path.name in SKLEARN_SETS:
        return f"did you mean `sklearn:{path.name}`?"
    if not path.parent.is_dir():
        return f"there is no folder `{path.parent}` either"
    siblings = (other.name for other in path.parent.iterdir() if other.name.lower().endswith(EXTENSIONS))
    return suggestion(path.name, siblings)


def _split(
    name: str, table: pd.DataFrame | SparseTable, target: str | None, reading: Reading, left_out: tuple[str, ...] = ()
) -> Table:
    """The features and labels of a table, of which some columns are neither."""
    named = [*table.columns] if isinstance(table, pd.DataFrame) else [*table.names]
    dropped = reading.drop_columns
    for column in dropped:
        if column not in named:
            raise _missing(name, column, named)
    columns = [column for column in named if column not in dropped]
    if not columns:
        raise DataError(f"of `{name}` all columns are left out", "leave out fewer of them")
    label = target if target is not None else "target" if "target" in columns else columns[-1]
    if label in dropped:
        raise DataError(f"the column `{label}` of labels is to be left out, too", "leave it out of `--drop-columns`")
    if label not in columns:
        raise _missing(name, label, columns)
    others = {label, *left_out, *dropped}
    if isinstance(table, SparseTable):
        features: Features = table.without(frozenset(others))
        return Table(name, _nonempty(features, name), table.column(label), reading=reading)
    features = _nonempty(table.drop(columns=[*others]), name)
    return Table(name, features, _plain(table[label], ONE_LABEL), reading=reading)


def _missing(name: str, column: str, columns: list[str]) -> DataError:
    shown = ", ".join(f"`{column}`" for column in columns[:12]) + (", ..." if len(columns) > 12 else "")
    return DataError(f"`{name}` has no column `{column}`", suggestion(column, columns) or f"its columns are {shown}")


def make_features(features: Any, name: str = UNNAMED) -> Features:
    """The features of `make_table` alone."""
    if isinstance(features, pd.DataFrame):
        if _is_sparse(features):
            return canonical(features.sparse.to_coo())  # type: ignore[attr-defined]
        named = features.set_axis([str(column) for column in features.columns], axis=1).reset_index(drop=True)
        return _marked(_unique(_dense(named).infer_objects(), name))
    if hasattr(features, "tocsr"):
        return canonical(features)
    array = _array(features, "features")
    if array.ndim != 2:
        raise DataError(f"features must have two dimensions (rows, columns), not the shape {array.shape}")
    # Numbers that a program holds as objects are numbers; it may hold others beside them.
    return pd.DataFrame(array, columns=unnamed(array.shape[1])).infer_objects()


def unnamed(count: int) -> list[str]:
    """What columns without names are called."""
    return [f"x{place}" for place in range(count)]


def _array(given: Any, what: str) -> npt.NDArray[Any]:
    """What a program gives as an array; raises DataError for what makes none, and for values that are masked."""
    if np.ma.is_masked(given):
        # Whoever takes the array takes the numbers below the mask with it.
        raise DataError(f"the {what} are a masked array, whose masked values would count", f"give {FILLED[what]}")
    try:
        return np.asarray(given)
    except ValueError as error:
        raise DataError(f"the {what} make no array: {str(error).splitlines()[0]}", "give rows of one length") from error


def _plain(column: "pd.Series[Any]", remedy: str = PARTS) -> "pd.Series[Any]":
    """The column; raises DataError where lists, dictionaries or the like are among its values."""
    values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    if pd.api.types.is_object_dtype(values.dtype) and pd.api.types.infer_dtype(values, skipna=True).startswith("mixed"):
        held = next((value for value in values if not pd.api.types.is_scalar(value)), None)
        if held is not None:
            raise DataError(f"the column `{column.name}` holds values of the type `{type(held).__name__}`", remedy)
    return column


def _is_sparse(table: pd.DataFrame) -> bool:
    """Whether all columns leave out zeros, as those of no column do not."""
    kinds = [dtype for dtype in table.dtypes if isinstance(dtype, pd.SparseDtype)]
    return 0 < len(kinds) == table.shape[1] and all(dtype.fill_value == 0 for dtype in kinds)


def _dense(table: pd.DataFrame) -> pd.DataFrame:
    """The table without sparse columns: beside others they would be of no use."""
    dense = {column: dtype.subtype for column, dtype in table.dtypes.items() if isinstance(dtype, pd.SparseDtype)}
    return table.astype(dense) if dense else table


def _marked(table: pd.DataFrame) -> pd.DataFrame:
    """The table with NaN for missing objects: scikit-learn imputes that, and takes None for a value like others."""
    objects = [column for column in table.columns if pd.api.types.is_object_dtype(table[column].dtype)]
    gaps = {column: table[column].isna() for column in objects}
    return table.assign(**{column: table[column].mask(gap, np.nan) for column, gap in gaps.items() if gap.any()})


def _unique(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    twice = [column for column, count in Counter(frame.columns).items() if count > 1]
    if twice:
        raise DataError(f"`{name}` has more than one column `{twice[0]}`", "give every column a name of its own")
    return frame


def _nonempty(features: Features, name: str) -> Features:
    if features.shape[1] == 0:
        raise DataError(f"`{name}` has no column besides the label", "give at least one column of features")
    if features.shape[0] == 0:
        raise DataError(f"`{name}` has no rows")
    if isinstance(features, pd.DataFrame):
        for place in range(features.shape[1]):
            _plain(features.iloc[:, place])
    return features
