"""A table is the same from whatever file it is read.

What formats cannot say differs: CSV knows no categories and no dates (both are text there), ARFF no truth values (they
are categories there), and only Parquet tells whole numbers that are missing in places from others.
"""

import gzip
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from laws.settings import LAW
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.data.tables import data_fingerprint

FORMATS = (".csv", ".csv.gz", ".parquet", ".arff", ".arff.gz")
DECLARED = {"real": "REAL", "whole": "integer", "text": "string", "date": "date 'yyyy-MM-dd HH:mm:ss'"}

TEXTS = st.text(alphabet="aZ09 ,;'\"\\%?{}@\n\té中", max_size=6).map(lambda text: f"x{text}x")
VALUES = {
    "real": st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "text": TEXTS,
    "category": st.sampled_from(["red", "light blue", "it's", "a,b", "?"]),
    "truth": st.booleans(),
    "date": st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
}
WITHOUT_GAPS = {"whole", "truth"}
"""What pandas holds in another type where some values are missing."""


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Kinds of columns and their values by name, None where one is missing; the last column is the label."""
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(TEXTS.filter(lambda name: "\n" not in name), min_size=1, max_size=4, unique=True))
    kinds = {name: draw(st.sampled_from(sorted(VALUES))) for name in names} | {"label": "text"}
    columns = {}
    for name, kind in kinds.items():
        gaps = st.none() if kind not in WITHOUT_GAPS and name != "label" else st.nothing()
        columns[name] = draw(st.lists(VALUES[kind] | gaps, min_size=rows, max_size=rows))
    return kinds, columns


def frame(kinds: dict[str, str], columns: dict[str, list[Any]]) -> pd.DataFrame:
    types = {"real": "float64", "whole": "int64", "truth": "bool", "date": "datetime64[us]"}
    made = {
        name: pd.Categorical(values, categories=["red", "light blue", "it's", "a,b", "?"])
        if kinds[name] == "category"
        else pd.Series(values, dtype=types.get(kinds[name], object))
        for name, values in columns.items()
    }
    return pd.DataFrame(made)


def quoted(value: Any) -> str:
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"'{escaped}'"


def as_arff(kinds: dict[str, str], columns: dict[str, list[Any]]) -> str:
    """Written as its definition says, with no part of the reader."""
    lines = ["@relation drawn"]
    for name, kind in kinds.items():
        nominal = "{False, True}" if kind == "truth" else "{red, 'light blue', 'it\\'s', 'a,b', '?'}"
        lines.append(f"@attribute {quoted(name)} {DECLARED.get(kind, nominal)}")
    lines.append("@data")
    lines += [
        ",".join("?" if value is None else quoted(value) for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def write(path: Path, kinds: dict[str, str], columns: dict[str, list[Any]]) -> None:
    if ".arff" in path.name:
        content = as_arff(kinds, columns).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    elif path.suffix == ".parquet":
        frame(kinds, columns).to_parquet(path)
    else:
        # Without a format pandas leaves the time away where it is midnight in the whole column.
        frame(kinds, columns).to_csv(path, index=False, date_format="%Y-%m-%d %H:%M:%S")


def values(column: pd.Series) -> list[Any]:
    plain = column.astype(object).where(column.notna(), None).tolist()
    return [
        str(value) if (value is not None and not isinstance(value, float | int)) or value is True else value
        for value in plain
    ]


@LAW
@given(tables())
def test_a_table_is_the_same_from_whatever_file(drawn: tuple[dict[str, str], dict[str, list[Any]]]) -> None:
    kinds, columns = drawn
    with TemporaryDirectory() as folder:
        for ending in FORMATS:
            path = Path(folder) / f"d{ending}"
            write(path, kinds, columns)
            table = load_dataset(str(path))
            assert table.target.tolist() == columns["label"]
            assert [*table.features] == [*columns][:-1]
            for name, column in table.features.items():
                wanted = [value if value is None or isinstance(value, float) else str(value) for value in columns[name]]
                found = values(column)
                assert [str(value) if isinstance(value, int) else value for value in found] == wanted, (ending, name)
                check_type(str(kinds[name]), column, ending, has_values=any(value is not None for value in wanted))


def check_type(kind: str, column: pd.Series, ending: str, *, has_values: bool) -> None:
    match kind, ending.removesuffix(".gz"):
        case "real", _:
            assert column.dtype == np.float64
        case "whole", _:
            assert column.dtype == np.int64
        case "category", ".parquet" | ".arff":
            assert column.cat.categories.tolist() == ["red", "light blue", "it's", "a,b", "?"]
        case "truth", ".parquet" | ".csv":
            assert column.dtype == bool
        case "truth", ".arff":
            assert column.cat.categories.tolist() == ["False", "True"]
        case "date", ".parquet" | ".arff":
            assert pd.api.types.is_datetime64_any_dtype(column)
        case _:
            assert not has_values or pd.api.types.is_string_dtype(column)


@LAW
@given(tables())
def test_files_of_the_same_types_have_the_same_fingerprint(drawn: tuple[dict[str, str], dict[str, list[Any]]]) -> None:
    kinds, columns = drawn
    found = set()
    with TemporaryDirectory() as folder:
        for ending in (".parquet", ".arff", ".arff.gz"):
            path = Path(folder) / f"d{ending}"
            write(path, kinds, columns)
            features = load_dataset(str(path)).features
            same = [name for name in features if kinds[str(name)] != "truth" and not features[name].isna().all()]
            found.add(data_fingerprint(features[same], columns["label"]))
    assert len(found) == 1
