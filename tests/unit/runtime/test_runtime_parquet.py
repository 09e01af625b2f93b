import datetime
import io
import sys

import numpy as np
import pandas as pd
import pytest

from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.data.table_files import read_parquet
from spacelang.runtime.errors import DataError

FRAME = pd.DataFrame(
    {
        "whole": [1, 2, 3],
        "real": [0.1, np.nan, 1e300],
        "flag": [True, False, True],
        "town": ["a", None, "b"],
        "size": pd.Categorical(["s", "l", None], categories=["s", "m", "l"], ordered=True),
        "count": pd.array([1, None, 3], dtype="Int64"),
        "number": pd.array([1, 2, 3], dtype="Int64"),
        "sure": pd.array([True, True, False], dtype="boolean"),
        "known": pd.array([True, None, False], dtype="boolean"),
        "moment": pd.to_datetime(["2020-01-01 10:00", None, "2021-01-01 00:00"]),
        "day": [datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)],
    }
)


def content(frame: pd.DataFrame, **options: object) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, **options)
    return buffer.getvalue()


def test_types_are_those_of_pandas():
    found = read_parquet(content(FRAME), "d.parquet")
    types = {name: str(dtype) for name, dtype in found.dtypes.items()}
    assert types | {"town": "", "moment": "", "day": ""} == {
        "whole": "int64",
        "real": "float64",
        "flag": "bool",
        "town": "",
        "size": "category",
        "count": "float64",
        "number": "int64",
        "sure": "bool",
        "known": "object",
        "moment": "",
        "day": "",
    }
    assert all(pd.api.types.is_datetime64_any_dtype(found[name]) for name in ("moment", "day"))
    assert found["size"].cat.categories.tolist() == ["s", "m", "l"]
    assert found["known"].tolist() == [True, None, False]
    assert found["day"][0] == pd.Timestamp(2020, 1, 1)
    same = [*FRAME.columns.drop(["count", "number", "sure", "known", "day", "moment"])]
    pd.testing.assert_frame_equal(found[same], FRAME[same])


def test_an_index_is_no_column_and_names_are_text():
    frame = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]}, index=pd.Index([7, 9], name="id"))
    frame.columns = frame.columns.astype(str)
    found = read_parquet(content(frame), "d.parquet")
    assert ([*found.columns], [*found.index]) == (["0", "1"], [0, 1])


WHOLE = content(FRAME)


@pytest.mark.parametrize(
    "damaged",
    [
        b"PAR1",
        WHOLE[:-1],
        WHOLE[: len(WHOLE) // 2],
        WHOLE[4:],
        b"a,b\n1,2\n",
        bytes(100),
        b"PAR1" + bytes(60) + b"PAR1",
    ],
    ids=["beginning", "cut by a byte", "cut in half", "beheaded", "csv", "zeros", "hollow"],
)
def test_damaged_files(damaged):
    with pytest.raises(DataError, match="is not a valid Parquet file") as caught:
        read_parquet(damaged, "d.parquet")
    assert "truncated or damaged" in caught.value.help


def test_every_cut_is_noticed():
    for length in range(0, len(WHOLE), 97):
        with pytest.raises(DataError):
            read_parquet(WHOLE[:length], "d.parquet")


def test_pages_with_checksums_are_checked():
    import pyarrow as arrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(arrow.table({"a": [*range(1000)], "y": [0.5] * 1000}), buffer, **options)
    spoilt = bytearray(buffer.getvalue())
    spoilt[500] ^= 1
    with pytest.raises(DataError, match="not a valid Parquet file"):
        read_parquet(bytes(spoilt), "d.parquet")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME[:0], "has no rows"),
        (FRAME[[]], "has no columns"),
        (FRAME.rename(columns={"town": " "}), "column 4 of `d.parquet` has no name"),
    ],
)
def test_files_that_are_no_table(frame, message):
    with pytest.raises(DataError, match=message):
        read_parquet(content(frame), "d.parquet")


def test_a_name_that_stands_twice():
    import pyarrow as arrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays([arrow.array([1]), arrow.array([2])], ["a", "a"]), buffer)
    with pytest.raises(DataError, match="several columns `a`"):
        read_parquet(buffer.getvalue(), "d.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "d.parquet"
    path.write_bytes(WHOLE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match="cannot be read without pyarrow") as caught:
        load_dataset(str(path))
    assert caught.value.help == "install it with `pip install 'spacelang[parquet]'`"
    assert caught.value.__cause__ is None


def test_a_file_is_read_by_its_name(tmp_path):
    path = tmp_path / "d.parquet"
    path.write_bytes(WHOLE)
    table = load_dataset(str(path), "flag")
    assert (table.name, table.target.tolist(), len(table.features.columns)) == ("d.parquet", [True, False, True], 10)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        load_dataset(str(path))
