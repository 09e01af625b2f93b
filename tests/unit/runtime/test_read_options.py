"""How files are read that are not written as most are, and what is said where they are read wrongly."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.report.code_writer import fit_statement
from spacelang.runtime.data.column_suspicions import ColumnSuspicion
from spacelang.runtime.data.loading import Table, load_dataset
from spacelang.runtime.data.profile import column_warnings
from spacelang.runtime.data.read_options import (
    DEFAULT_OPTIONS,
    ReadOptions,
    ReadOptionsError,
    format_drop_columns_option,
    make_read_options,
)
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.unseen_rows import read_test_rows

ROWS = [(f"{row}", f"{row},5", "größe" if row % 2 else "höhe", f"{row % 3}") for row in range(30)]
NAMES = ("nr", "preis", "maß", "target")


def european(folder: Path, name: str = "d.csv", *, sep: str = ";", encoding: str = "cp1252") -> str:
    path = folder / name
    path.write_text("\n".join(sep.join(row) for row in (NAMES, *ROWS)), encoding=encoding)
    return str(path)


def refused(reference: str, target: str | None = None, **options: Any) -> DataError:
    with pytest.raises(DataError) as raised:
        load_dataset(reference, target, make_read_options(**options))
    return raised.value


def test_a_file_as_it_is_written(tmp_path: Path) -> None:
    said = make_read_options(sep=";", encoding="cp1252", decimal=",", drop_columns=["nr"])
    table = load_dataset(european(tmp_path), None, said)
    assert isinstance(table.features, pd.DataFrame)
    assert [*table.features.columns] == ["preis", "maß"]
    assert table.features["preis"].tolist() == [row + 0.5 for row in range(30)]
    assert set(table.features["maß"]) == {"größe", "höhe"}
    assert table.reading == said


@pytest.mark.parametrize(("sep", "typed"), [(";", "';'"), ("\t", r"'\t'"), ("|", "'|'")])
def test_another_separator_is_told_with_the_one_that_fits(tmp_path: Path, sep: str, typed: str) -> None:
    error = refused(european(tmp_path, sep=sep), encoding="cp1252", sep=None if sep != ";" else ":")
    assert "its header is a single field" in error.message
    assert f"give `--sep {typed}`, or `sep=`" in error.help


def test_a_separator_that_does_not_fit_a_plain_file(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    assert refused(str(path), sep=";").help.startswith("the separator seems to be `,`: give `--sep ,`")


@pytest.mark.parametrize(
    ("encoding", "given", "said"),
    [
        ("cp1252", None, "the encoding may be `cp1252`: give `--encoding cp1252`, or `encoding=`"),
        ("utf-16", None, "the encoding may be `utf-16`: give `--encoding utf-16`, or `encoding=`"),
        ("cp1252", "ascii", "the encoding may be `cp1252`"),
    ],
)
def test_another_encoding_is_told_with_one_to_try(tmp_path: Path, encoding: str, given: str | None, said: str) -> None:
    error = refused(european(tmp_path, encoding=encoding), encoding=given, sep=";")
    assert "is not a text file in" in error.message
    assert said in error.help


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sep": "ab"}, "`ab` is not a separator"),
        ({"sep": ""}, "`` is not a separator"),
        ({"sep": '"'}, "is not a separator"),
        ({"encoding": "utf9"}, "unknown text encoding `utf9`"),
        ({"encoding": "hex"}, "unknown text encoding `hex`"),
        ({"decimal": ";"}, "`;` is not a decimal sign"),
        ({"drop_columns": "id"}, "`id` is a text, not a list of columns"),
    ],
)
def test_options_that_read_no_file(options: Any, said: str) -> None:
    with pytest.raises(ReadOptionsError, match=said) as raised:
        make_read_options(**options)
    assert raised.value.help


def test_columns_that_are_left_out_are_there_and_hold_no_labels(tmp_path: Path) -> None:
    path = european(tmp_path, encoding="utf-8")
    assert refused(path, sep=";", drop_columns=["pries"]).help == "did you mean `preis`?"
    assert "the label column `nr` cannot be dropped" in refused(path, "nr", sep=";", drop_columns=["nr"]).message
    # Without the last column of all the one before it has the labels.
    assert load_dataset(path, None, make_read_options(sep=";", drop_columns=["target"])).target.name == "maß"


@pytest.mark.parametrize("reference", ["sklearn:iris", "openml:1"])
def test_what_is_no_text_is_read_in_one_way(reference: str) -> None:
    assert "`--sep` has no effect on" in refused(reference, sep=";").message
    assert "`--encoding` has no effect on" in refused(reference, encoding="cp1252").message


def test_columns_of_other_data_are_left_out() -> None:
    table = load_dataset("sklearn:iris", None, make_read_options(drop_columns=["petal width (cm)"]))
    assert table.features.shape == (150, 3)


def test_test_rows_are_read_like_the_others(tmp_path: Path) -> None:
    said = make_read_options(sep=";", encoding="cp1252", decimal=",", drop_columns=["nr"])
    table = load_dataset(european(tmp_path), None, said)
    other = read_test_rows(european(tmp_path, "other.csv"), table)
    assert isinstance(other, Table)
    assert [*other.features.columns] == ["preis", "maß"]
    bare = tmp_path / "bare.csv"
    bare.write_text("preis;maß;target\n1,5;höhe;2\n2,5;höhe;1\n", encoding="cp1252")
    found = read_test_rows(str(bare), table)
    assert isinstance(found, Table)
    assert found.features["preis"].tolist() == [1.5, 2.5]


def test_the_line_that_fits_reads_the_file_so(tmp_path: Path) -> None:
    said = make_read_options(sep=";", encoding="cp1252", decimal=",", drop_columns=["nr"])
    path = european(tmp_path)
    line = fit_statement(path, ["target"], reading=said)
    assert line is not None
    seen: list[Any] = []
    pipeline = type("Pipeline", (), {"fit": staticmethod(lambda *given: seen.extend(given))})
    exec(line, {"pipeline": pipeline})
    table = load_dataset(path, None, said)
    assert seen[0].equals(table.features)
    assert seen[1].tolist() == table.target.tolist()


def test_numbers_with_commas_are_named_with_the_remedy(tmp_path: Path) -> None:
    table = load_dataset(european(tmp_path), None, make_read_options(sep=";", encoding="cp1252"))
    identifier, commas = column_warnings(table.features)
    assert commas == ColumnSuspicion.COMMAS.message(["preis"])
    assert commas.endswith("read the file with `--decimal ,`")
    assert identifier.endswith("drop it with `--drop-columns nr`")


@pytest.mark.parametrize("written", [["1,234", "5,678"], ["1.234,5", "2.345,6"], ["1,234.5", "1.5"]])
def test_commas_between_thousands_are_no_decimal_ones(written: list[str]) -> None:
    expected = ColumnSuspicion.NUMBERS.message(["income"], written[0])
    assert column_warnings(pd.DataFrame({"income": written * 10})) == [expected]


@given(st.lists(st.text(st.sampled_from('ab, "'), min_size=1).filter(lambda name: name == name.strip()), max_size=4))
def test_names_are_listed_such_that_they_are_read_again(names: list[str]) -> None:
    import csv

    assert next(csv.reader([format_drop_columns_option(names)]), []) == names


@given(st.lists(st.lists(st.sampled_from(["", "1", "x", '"a,b"']), min_size=1, max_size=3), min_size=1, max_size=4))
def test_rows_are_counted_alike_by_the_reader_and_without(rows: list[list[str]]) -> None:
    from spacelang.runtime.data.table_files import _check_shape, _is_regular

    text = "\n".join(",".join(row) for row in [["c", "d"], *rows])
    if _is_regular(text, ","):
        _check_shape(text.replace("c", '"c"', 1), "d.csv", ",")


def test_what_is_said_comes_back_as_options() -> None:
    said = ReadOptions("\t", "cp1252", ",", ("a b", "c,d"))
    assert said.command_options == " --sep '\\t' --encoding cp1252 --decimal , --drop-columns 'a b,\"c,d\"'"
    assert DEFAULT_OPTIONS.command_options == ""
