"""Load a `Table` of features and unchecked labels; `labels.check_and_encode_labels` makes it a `Dataset` for a run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from spacelang.ir.task import Kind
from spacelang.ir.validation import PredefinedSplits
from spacelang.runtime.data.read_options import ARFF_EXTENSIONS, CSV_EXTENSIONS, DEFAULT_OPTIONS, ReadOptions
from spacelang.runtime.data.table_files import check_unique_names, read_bytes, read_csv, read_parquet, read_text
from spacelang.runtime.data.tables import Features, SparseTable, canonical_csr, suggest_column
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.splits import UNRELATED, RowRelations, Split, predefined_splits
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import unique_name

SKLEARN_DATA_SETS: Final = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""The data sets that scikit-learn ships, as in `sklearn:NAME`."""
EXTENSIONS: Final = (*CSV_EXTENSIONS, ".parquet", *ARFF_EXTENSIONS)  # The file extensions that can be read
DEFAULT_NAME: Final = "data"
"""The name of data from a program, which has no name of its own. It does not identify the data."""
MASKED_REMEDIES: Final = {
    "features": "give `features.filled(numpy.nan)`",
    "labels": "give only the rows that have a label",
}
"""What to give instead of a masked array."""
SCALAR_COLUMNS_REMEDY: Final = "give each part of these values a column of its own, or drop the column"
SCALAR_LABELS_REMEDY: Final = "give one number or text per row"


TargetColumns: TypeAlias = pd.Series | pd.DataFrame
"""The labels of n rows: a column, or a table with a column for each of several targets."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A data set as it was read: features and labels that have not been checked yet.

    `features` are a table with unique column names or a sparse array. `target` holds the labels of the same rows.
    `splits` are the splits that the data defines, on which trials are then scored; `split_source` says where they come
    from, if not from the data itself. `kind` is the kind of task, if the data defines one. `reading` holds the read
    options of the file, which a file of test rows uses, too. `relations` are the groups and times of the rows.
    `weights` are the sample weights of a program, or None.
    """

    name: str
    features: Features
    target: TargetColumns
    splits: tuple[Split, ...] = ()
    kind: Kind | None = None
    reading: ReadOptions = DEFAULT_OPTIONS
    split_source: str = ""
    relations: RowRelations = UNRELATED
    weights: npt.NDArray[np.float64] | None = None

    @property
    def validation(self) -> PredefinedSplits | None:
        """The predefined splits on which trials are scored; None if the data defines none."""
        return predefined_splits(self.splits, self.split_source or self.name) if self.splits else None


def load_dataset(
    reference: str, target: str | Sequence[str] | None = None, reading: ReadOptions = DEFAULT_OPTIONS
) -> Table:
    """Read `sklearn:NAME`, `openml:ID`, `openml-task:ID` or the path of a `.csv`, `.parquet` or `.arff` file.

    Text files may be compressed as `.gz`. The column `target` holds the labels, or several columns do. If it is None,
    OpenML's own target is used, or for other data the column named "target", or else the last column that is not
    dropped. Raises DataError for every mistake that a user can make.
    """
    scheme, _, name = reference.partition(":")
    if scheme in {"sklearn", "openml", "openml-task"}:
        _refuse_options(reference, reading.non_default_text_file_options)
    match scheme:
        case "sklearn":
            return _split(reference, _load_sklearn(name), target, reading)
        case "openml" | "openml-task":
            from spacelang.runtime.data.openml import fetch_openml

            fetched = fetch_openml(reference, target if target is None or isinstance(target, str) else target[0])
            several = target is not None and not isinstance(target, str)
            found = _split(reference, fetched.table, target if several else fetched.target, reading, fetched.left_out)
            return replace(found, splits=fetched.splits, kind=fetched.kind)
        case _:
            return _split(Path(reference).name, _read_file(reference, reading), target, reading)


def load_rows(
    reference: str, reading: ReadOptions = DEFAULT_OPTIONS, text_columns: Collection[str] = ()
) -> pd.DataFrame | SparseTable:
    """Return all columns of the data, those in `text_columns` as text if it is a `.csv` file; raise DataError."""
    scheme, _, name = reference.partition(":")
    match scheme:
        case "sklearn":
            return _load_sklearn(name)
        case "openml" | "openml-task":
            from spacelang.runtime.data.openml import fetch_openml

            return fetch_openml(reference).table
        case _:
            return _read_file(reference, reading, text_columns)


def make_table(features: Any, target: Any, name: str = DEFAULT_NAME) -> Table:
    """Return the table of features (n rows, d columns) and n labels that a program holds.

    Labels may also be a table or an array with a column for each target. Features may be a DataFrame, a sparse matrix
    or array, or anything that converts to an n x d array. A sparse matrix stays sparse. A DataFrame whose columns are
    all sparse with fill value 0 becomes a sparse array. Columns without names are called x0, x1, ... and targets
    target1, target2, ... Labels with the name of a feature get another one. Raises DataError if the shapes do not
    match.
    """
    rows = make_features(features, name)
    labels = _array(target, "labels")
    named = getattr(target, "name", None)
    if labels.ndim == 2 and labels.shape[1] == 1:  # a table or an array with one column
        labels, (named,) = labels[:, 0], getattr(target, "columns", [named])
    if labels.ndim not in (1, 2) or 0 in labels.shape[1:]:
        raise DataError(f"labels must be a column for each target, not an array of shape {labels.shape}")
    if len(labels) != rows.shape[0]:
        raise DataError(f"the features have {rows.shape[0]} rows, but there are {len(labels)} labels")
    taken = {*map(str, rows.columns)} if isinstance(rows, pd.DataFrame) else set[str]()
    if labels.ndim == 2:
        return Table(name, _check_nonempty(rows, name), _several_targets(target, labels, name, taken))
    column = pd.Series(labels, name=unique_name(str(named or "target"), taken)).infer_objects()
    return Table(name, _check_nonempty(rows, name), _check_scalars(column, SCALAR_LABELS_REMEDY))


def _several_targets(target: Any, labels: npt.NDArray[Any], name: str, taken: Collection[str]) -> pd.DataFrame:
    named = getattr(target, "columns", None)
    columns = [f"target{place}" for place in range(1, labels.shape[1] + 1)] if named is None else map(str, named)
    table = pd.DataFrame(labels, columns=[unique_name(each, taken) for each in columns]).infer_objects()
    check_unique_names(table.columns, name)
    for column in table.columns:
        _check_scalars(table[column], SCALAR_LABELS_REMEDY)
    return table


def _load_sklearn(name: str) -> pd.DataFrame:
    if name not in SKLEARN_DATA_SETS:
        known = ", ".join(f"`sklearn:{known}`" for known in SKLEARN_DATA_SETS)
        help_text = (
            format_suggestion(name, SKLEARN_DATA_SETS).replace("`", "`sklearn:", 1)
            or f"the data sets of scikit-learn are {known}"
        )
        raise DataError(f"scikit-learn has no data set `{name}`", help_text)
    loader: Callable[..., Any] = getattr(import_module("sklearn.datasets"), f"load_{name}")
    frame: pd.DataFrame = loader(as_frame=True).frame
    return frame


def _read_file(reference: str, reading: ReadOptions, words: Collection[str] = ()) -> pd.DataFrame | SparseTable:
    path = Path(reference)
    if path.is_dir():
        raise DataError(f"`{reference}` is a folder", "give a file in this folder")
    if not path.exists():
        raise DataError(f"the file `{reference}` does not exist", _suggest_file(path))
    if not path.is_file():
        raise DataError(f"`{reference}` is not a regular file", "give a data file")
    if not path.name.lower().endswith(EXTENSIONS):
        what = f"`{reference}`: files of type `{path.suffix or path.name}` are not supported"
        raise DataError(what, f"save the data as one of {', '.join(f'`{extension}`' for extension in EXTENSIONS)}")
    match next(extension for extension in EXTENSIONS if path.name.lower().endswith(extension)):
        case ".parquet":
            _refuse_options(reference, reading.non_default_text_file_options)
            return read_parquet(read_bytes(path, reference), reference)
        case ".arff" | ".arff.gz":
            from spacelang.runtime.data.arff import read_arff

            options = reading.non_default_text_file_options
            _refuse_options(reference, {name: options[name] for name in options if name != "encoding"})
            return read_arff(read_text(path, reference, reading.encoding), reference)
        case _:
            return read_csv(path, reference, reading, words)


def _refuse_options(reference: str, said: Mapping[str, str]) -> None:
    if said:
        option = next(iter(said))
        raise DataError(f"`--{option}` has no effect on `{reference}`", "omit this option, which is for `.csv` files")


def _suggest_file(path: Path) -> str:
    if path.name in SKLEARN_DATA_SETS:
        return f"did you mean `sklearn:{path.name}`?"
    if not path.parent.is_dir():
        return f"the folder `{path.parent}` does not exist either"
    siblings = (other.name for other in path.parent.iterdir() if other.name.lower().endswith(EXTENSIONS))
    return format_suggestion(path.name, siblings)


def _split(
    name: str,
    table: pd.DataFrame | SparseTable,
    target: str | Sequence[str] | None,
    reading: ReadOptions,
    left_out: tuple[str, ...] = (),
) -> Table:
    named = [*table.columns] if isinstance(table, pd.DataFrame) else [*table.names]
    dropped = reading.drop_columns
    for column in dropped:
        if column not in named:
            raise _missing_column(name, column, named)
    columns = [column for column in named if column not in dropped]
    if not columns:
        raise DataError(f"all columns of `{name}` are dropped", "drop fewer columns")
    default = "target" if "target" in columns else columns[-1]
    labels = [default] if target is None else [target] if isinstance(target, str) else [*dict.fromkeys(target)]
    for label in labels:
        if label in dropped:
            raise DataError(f"the label column `{label}` cannot be dropped", f"remove `{label}` from `--drop-columns`")
        if label not in columns:
            raise _missing_column(name, label, columns)
    others = {*labels, *left_out, *dropped}
    if isinstance(table, SparseTable):
        features: Features = table.features_without(frozenset(others))
        found = [table.column(label) for label in labels]
        return Table(name, _check_nonempty(features, name), _one_or_several(found), reading=reading)
    features = _check_nonempty(table.drop(columns=[*others]), name)
    found = [_check_scalars(table[label], SCALAR_LABELS_REMEDY) for label in labels]
    return Table(name, features, _one_or_several(found), reading=reading)


def _one_or_several(columns: "Sequence[pd.Series[Any]]") -> TargetColumns:
    return columns[0] if len(columns) == 1 else pd.concat(columns, axis=1)


def _missing_column(name: str, column: str, columns: list[str]) -> DataError:
    return DataError(f"`{name}` has no column `{column}`", suggest_column(column, columns))


def make_features(features: Any, name: str = DEFAULT_NAME) -> Features:
    """Return the features alone, converted as in `make_table`."""
    if isinstance(features, pd.DataFrame):
        if _is_sparse(features):
            return canonical_csr(features.sparse.to_coo())  # type: ignore[attr-defined]
        named = features.set_axis([str(column) for column in features.columns], axis=1).reset_index(drop=True)
        dense = _densify(named).infer_objects()
        check_unique_names(dense.columns, name)
        return _mark_missing(dense)
    if hasattr(features, "tocsr"):
        return canonical_csr(features)
    array = _array(features, "features")
    if array.ndim != 2:
        raise DataError(f"features must have two dimensions (rows, columns), not the shape {array.shape}")
    # An array of objects may hold numbers in some columns; these become numeric.
    return pd.DataFrame(array, columns=default_column_names(array.shape[1])).infer_objects()


def default_column_names(count: int) -> list[str]:
    """Return default names for columns without names."""
    return [f"x{place}" for place in range(count)]


def _array(given: Any, part: str) -> npt.NDArray[Any]:
    """Return the values as an array; raise DataError if that is impossible or if some values are masked."""
    if np.ma.is_masked(given):
        # A conversion to an array would expose the numbers below the mask.
        raise DataError(
            f"the {part} are a masked array, and masked values would be used like the others", MASKED_REMEDIES[part]
        )
    try:
        return np.asarray(given)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the {part} cannot be made an array: {reason}", "give rows of equal length") from error


def _check_scalars(column: "pd.Series[Any]", remedy: str = SCALAR_COLUMNS_REMEDY) -> "pd.Series[Any]":
    values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    if pd.api.types.is_object_dtype(values.dtype) and pd.api.types.infer_dtype(values, skipna=True).startswith("mixed"):
        held = next((value for value in values if not pd.api.types.is_scalar(value)), None)
        if held is not None:
            raise DataError(f"the column `{column.name}` holds values of the type `{type(held).__name__}`", remedy)
    return column


def _is_sparse(table: pd.DataFrame) -> bool:
    """Return True if all columns, and at least one, are sparse with fill value 0."""
    kinds = [dtype for dtype in table.dtypes if isinstance(dtype, pd.SparseDtype)]
    return 0 < len(kinds) == table.shape[1] and all(dtype.fill_value == 0 for dtype in kinds)


def _densify(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its sparse columns made dense: they have no advantage beside dense ones."""
    dense = {column: dtype.subtype for column, dtype in table.dtypes.items() if isinstance(dtype, pd.SparseDtype)}
    return table.astype(dense) if dense else table


def _mark_missing(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with NaN for missing objects: scikit-learn imputes NaN, but treats None as a value."""
    objects = [column for column in table.columns if pd.api.types.is_object_dtype(table[column].dtype)]
    gaps = {column: table[column].isna() for column in objects}
    return table.assign(**{column: table[column].mask(gap, np.nan) for column, gap in gaps.items() if gap.any()})


def _check_nonempty(features: Features, name: str) -> Features:
    if features.shape[1] == 0:
        raise DataError(f"`{name}` has no column besides the label", "give at least one column of features")
    if features.shape[0] == 0:
        raise DataError(f"`{name}` has no rows")
    if isinstance(features, pd.DataFrame):
        for place in range(features.shape[1]):
            _check_scalars(features.iloc[:, place])
    return features
