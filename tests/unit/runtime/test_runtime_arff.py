import gzip
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.runtime.data.arff import read_arff
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.data.tables import SparseTable
from spacelang.runtime.errors import DataError


def read(*lines: str) -> pd.DataFrame:
    table = read_arff("\n".join(("@relation r", *lines)), "d.arff")
    assert isinstance(table, pd.DataFrame)
    return table


def sparse(*lines: str) -> SparseTable:
    table = read_arff("\n".join(("@relation r", *lines)), "d.arff")
    assert isinstance(table, SparseTable)
    return table


def only(declared: str, *values: str) -> pd.Series:
    return read(f"@attribute x {declared}", "@data", *values)["x"]


def refused(text: str) -> DataError:
    with pytest.raises(DataError) as caught:
        read_arff(text, "d.arff")
    assert "\n" not in caught.value.message + caught.value.help
    return caught.value


def test_a_table_with_everything():
    table = read(
        "% said before",
        "@ATTRIBUTE  number\tREAL % in metres",
        "@attribute 'with space' Integer",
        '@attribute "class{}" {no , "not yet",\'it\\\'s\'}',
        "@attribute note string",
        "@attribute day date yyyy-MM-dd",
        "",
        "@DATA",
        "  1.5 , 2 , 'not yet' , 'a, b' , 2020-02-29",
        "% said between",
        "?,3,no,?,?",
        "-1e3,4,'it\\'s',plain words,1999-12-31",
    )
    assert [*table.columns] == ["number", "with space", "class{}", "note", "day"]
    assert table["number"].fillna(0).tolist() == [1.5, 0, -1000]
    assert table["with space"].tolist() == [2, 3, 4]
    assert table["with space"].dtype == np.int64
    assert table["class{}"].cat.categories.tolist() == ["no", "not yet", "it's"]
    assert table["class{}"].tolist() == ["not yet", "no", "it's"]
    assert table["note"].fillna("").tolist() == ["a, b", "", "plain words"]
    assert table["day"].tolist()[::2] == [pd.Timestamp(2020, 2, 29), pd.Timestamp(1999, 12, 31)]
    assert table["day"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("values", "dtype", "found"),
    [
        (["1", "2.0", "3"], "int64", [1, 2, 3]),
        (["1", "2.5"], "float64", [1, 2.5]),
        (["1", "?"], "float64", [1, None]),
        ([str(2**62 + 1)], "int64", [2**62 + 1]),
        ([str(2**80)], "float64", [2.0**80]),
        (["1", "nan"], "float64", [1, None]),
    ],
)
def test_what_is_declared_integer_loses_nothing(values, dtype, found):
    column = only("integer", *values)
    assert column.dtype == dtype
    assert column.astype(object).where(column.notna(), None).tolist() == found


@pytest.mark.parametrize(
    ("pattern", "text", "moment"),
    [
        ("", "2001-04-03T12:12:12", pd.Timestamp(2001, 4, 3, 12, 12, 12)),
        ("'yyyy-MM-dd HH:mm:ss.SSS'", "'2001-04-03 12:12:12.250'", pd.Timestamp(2001, 4, 3, 12, 12, 12, 250_000)),
        ('"dd. MMM yy"', "'03. Apr 01'", pd.Timestamp(2001, 4, 3)),
        ("\"yyyy-MM-dd'T'HH\"", "2001-04-03T09", pd.Timestamp(2001, 4, 3, 9)),
        ("'yyyy-MM-dd HH:mm Z'", "'2001-04-03 12:00 +0200'", pd.Timestamp(2001, 4, 3, 10, tz="UTC")),
    ],
)
def test_dates_are_read_by_their_own_pattern(pattern, text, moment):
    assert only(f"date {pattern}", text).tolist() == [moment]


def test_values_are_what_their_quotes_and_escapes_say():
    column = only("string", r"'\t\\\'\u00e9'", '"\'"', "'?'", "O'Brien", r"a\n", "''")
    assert column.tolist() == ["\t\\'é", "'", "?", "O'Brien", r"a\n", ""]


def test_sparse_rows_leave_out_zeros_and_first_values():
    declared = ("@attribute a real", "@attribute b integer", "@attribute c {x, y, 'z z'}", "@data")
    table = sparse(*declared, "{0 1.5, 2 'z z'}", "{}", "{ 1 ?,2 y }", "{1 -2}")
    dense = table.as_dataframe
    assert dense["a"].tolist() == [1.5, 0, 0, 0]
    assert dense["b"].fillna(9).tolist() == [0, 0, 9, -2]
    assert dense["c"].tolist() == ["z z", "x", "y", "x"]
    assert table.column("b").fillna(9).tolist() == [0, 0, 9, -2]
    assert table.column("c").cat.categories.tolist() == ["x", "y", "z z"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "line 1 of `d.arff` is not a declaration"),
        ("@relation r\n@attribute a real\n", "has no `@data` line"),
        ("@relation r\n@attribute a real\n@attribute b {x, y", "line 3 of `d.arff` does not close the list of"),
        ("@relation r\n@data\n1\n", "declares no attributes"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n", "line 3 of `d.arff` declares `a` a second time"),
        ("@attribute a relational\n", "line 1 of `d.arff` gives `a` the unknown type `relational`"),
        ("@attribute a real int\n", "gives `a` the unknown type `real int`"),
        ("@attribute a\n", "gives `a` the unknown type ``"),
        ("@attribute ' ' real\n", "declares an attribute without a name"),
        ("@attribute 'a real\n", "declares an attribute without a name or a type"),
        ("@attribute a date 'yyyy-ww'\n", "in which `ww` is not supported"),
        ("@attribute a real\n@data\n% nothing\n", "has a header but no rows"),
        (
            "@attribute a real\n@attribute b real\n@data\n1,2\n1\n",
            "line 5 of `d.arff` has 1 value, but the number of declared attributes is 2",
        ),
        ("@attribute a real\n@data\n1,\n", "has 2 values, but the number of declared attributes is 1"),
        ("@attribute a real\n@data\n1\nx\n", "line 4 of `d.arff` has `x` as `a`, which is declared to be a number"),
        ("@attribute a integer\n@data\n1_0\n", "has `1_0` as `a`"),
        ("@attribute a {x,y}\n@data\nx\ny\nxy\n", "line 5 of `d.arff` has `xy` as `a`, which is none of its declared"),
        ("@attribute a date\n@data\n1.1.2001\n", "line 3 of `d.arff` has `1.1.2001` as `a`, which is declared"),
        ("@attribute a string\n@data\n'ab\n", "line 3 of `d.arff` has a misplaced or unclosed quotation mark"),
        ("@attribute a string\n@data\n'a' b\n", "line 3 of `d.arff` has a misplaced or unclosed quotation mark"),
        ("@attribute a real\n@data\n{0 1}\n{0 1\n", "line 4 of `d.arff` is not a sparse row"),
        ("@attribute a real\n@data\n{0 1}\n1\n", "line 4 of `d.arff` is not a sparse row"),
        ("@attribute a real\n@data\n1\n{0 1}\n", "line 4 of `d.arff` has `{0 1}` as `a`"),
        ("@attribute a real\n@data\n{0 1, 0 2}\n", "gives column 0 twice"),
        ("@attribute a real\n@data\n{1 1}\n", "gives column 1, but the last column is 0"),
        ("@attribute a real\n@data\n{0}\n", "has an entry that is not a column number and a value"),
        ("@attribute a real\n@data\n{0 1,}\n", "has an entry that is not a column number and a value"),
        (
            "@attribute a real\n@data\n{0 one}\n",
            "line 3 of `d.arff` has `one`, where the declaration requires a number",
        ),
        ("@attribute a {x}\n@data\n{}\n{0 y}\n", "line 4 of `d.arff` has `y` as `a`"),
        ("@attribute a string\n@data\n{}\n", "leave out `a`, whose type has no default value"),
    ],
)
def test_what_is_not_as_declared(text, message):
    assert message in refused(text).message


@given(st.text(alphabet="@atribudn {},'\"\\?%0123\n\t", max_size=80))
def test_any_text_is_a_table_or_a_mistake_of_its_author(text):
    for header in ("", "@attribute a real\n@attribute b {x,'0 1'}\n@data\n"):
        with suppress(DataError):
            assert len(read_arff(header + text, "d.arff")) > 0


@pytest.mark.parametrize("values", ["," * 5000, "'a " * 5000, "x, " * 5000, "\\" * 5000, " " * 50_000])
def test_a_cut_declaration_is_told_at_once(values):
    assert refused("@attribute a {" + values).message
    assert refused("@attribute a string\n@data\n'" + values).message


WHOLE = (
    "@relation r\n@attribute a real\n@attribute 'b c' {x, 'y z'}\n@attribute d date \"yyyy-MM\"\n@data\n"
    "1.5,x,2020-01\n?,'y z',2020-02\n"
)


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_wherever_a_file_was_cut_something_is_said_unless_rows_are_whole(length):
    cut = WHOLE[:length]
    if cut.endswith("2020-01") or cut.endswith("2020-02") or cut.endswith("2020-01\n"):
        assert len(read_arff(cut, "d.arff")) == cut.count("2020")
    else:
        assert refused(cut).help


def test_files_may_be_compressed(tmp_path):
    text = "@relation r\r\n@attribute a real\r\n@attribute y {0,1}\r\n@data\r\n1,0\r\n2,1\r\n"
    path = tmp_path / "d.ARFF.gz"
    path.write_bytes(gzip.compress(text.encode()))
    table = load_dataset(str(path))
    assert (table.name, [*table.features], table.target.tolist()) == ("d.ARFF.gz", ["a"], ["0", "1"])
    path.write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(DataError, match="ends in the middle"):
        load_dataset(str(path))


def test_rows_are_read_in_pieces(monkeypatch):
    monkeypatch.setattr("spacelang.runtime.data.arff.CHUNK_ROWS", 3)
    assert only("integer", *map(str, range(10))).tolist() == [*range(10)]
    with pytest.raises(DataError, match="line 10 of"):
        only("integer", *map(str, range(6)), "x")
