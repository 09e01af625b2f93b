import gzip
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spacelang.runtime.data import table_files
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import Table, load_dataset, make_table
from spacelang.runtime.errors import DataError

REAL = Path(__file__).parents[4] / "shared" / "data" / "datasets"
TEXT = "a,b,label\n" + "".join(f"{row},{row * 2},{'yes' if row % 2 else 'no'}\n" for row in range(20))


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def refused(reference: str, target: str | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        load_dataset(reference, target)
    error = caught.value
    assert error.message[0] in "`abcdefghijklmnopqrstuvwxyz123456789"
    assert not error.message.endswith(".")
    assert "\n" not in error.message + error.help
    return error


def test_the_last_column_is_the_label(tmp_path):
    table = load_dataset(written(tmp_path, "d.csv", TEXT))
    assert (table.name, list(table.features), table.target.name) == ("d.csv", ["a", "b"], "label")
    assert len(table.features) == len(table.target) == 20


def test_a_column_named_target_comes_before_the_last_one_and_the_wish_before_both(tmp_path):
    path = written(tmp_path, "d.csv", "a,target,b\n1,2,3\n")
    assert load_dataset(path).target.name == "target"
    assert load_dataset(path, "a").target.name == "a"


def test_compressed_files_byte_order_marks_blank_lines_and_other_line_ends_are_read(tmp_path):
    text = "\ufeff" + TEXT.replace("\n", "\r\n") + "\r\n\r\n"
    table = load_dataset(written(tmp_path, "d.CSV.gz", gzip.compress(text.encode())))
    assert list(table.features) == ["a", "b"]
    assert len(table.features) == 20


@pytest.mark.parametrize("name", ["breast_cancer", "iris", "wine", "digits", "diabetes"])
def test_the_sets_of_scikit_learn(name):
    table = load_dataset(f"sklearn:{name}")
    kind = "regression" if name == "diabetes" else "classification"
    assert len(check_and_encode_labels(table, kind).target) == len(table.features) >= 150


def test_a_missing_file_names_the_nearest_one(tmp_path):
    written(tmp_path, "credit.csv", TEXT)
    error = refused(str(tmp_path / "credti.csv"))
    assert error.message.startswith("the file `")
    assert error.help == "did you mean `credit.csv`?"


@pytest.mark.parametrize(
    ("reference", "message", "help_text"),
    [
        ("nowhere/x.csv", "the file `nowhere/x.csv` does not exist", "the folder `nowhere` does not exist either"),
        ("iris", "the file `iris` does not exist", "did you mean `sklearn:iris`?"),
        ("sklearn:irsi", "scikit-learn has no data set `irsi`", "did you mean `sklearn:iris`?"),
        (
            "sklearn:zzz",
            "scikit-learn has no data set `zzz`",
            "the data sets of scikit-learn are `sklearn:breast_cancer`",
        ),
        ("openml:iris", "`openml:iris` is not an OpenML ID", "give a number, as in `openml:31`"),
        ("openml-task:", "`openml-task:` is not an OpenML ID", "give a number, as in `openml-task:31`"),
        ("openml:0", "is not an OpenML ID", "give a number"),
        ("openml:٣", "is not an OpenML ID", "give a number"),
    ],
)
def test_references_that_lead_nowhere(reference, message, help_text):
    error = refused(reference)
    assert message in error.message
    assert help_text in error.help


def test_a_folder(tmp_path):
    assert "is a folder" in refused(str(tmp_path)).message


WHOLE = gzip.compress(TEXT.encode(), mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.xlsx", b"PK", "files of type `.xlsx` are not supported"),
        ("d", b"1", "files of type `d` are not supported"),
        ("binary.csv", b"\0\1\2\3" * 20, "is a binary file"),
        ("pickled.csv", pickle.dumps(list(range(300))), "is not a text file in UTF-8"),
        ("latin.csv", "größe,y\n1,2\n".encode("latin-1"), "is not a text file in UTF-8 (byte 2)"),
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b"\n \n", "is empty"),
        ("empty.csv.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("header.csv", b"a,b\n", "has a header but no rows"),
        ("cut.csv.gz", WHOLE[: len(WHOLE) // 2], "ends in the middle of its compressed data"),
        ("plain.csv.gz", TEXT.encode(), "is not a valid gzip file"),
        ("damaged.csv.gz", WHOLE[:20] + b"\xff\xff" + WHOLE[22:], "is not a valid gzip file"),
        ("cut.csv", TEXT.rsplit(",", 1)[0], "line 21 of"),
        ("ragged.csv", "a,b\n1,2\n1,2,3\n", "line 3 of"),
        ("quote.csv", 'a,b\n1,"2\n', "cannot be read"),
        ("mixed.csv", "a,b\n1,2\r3,4\n", "a carriage return stands within a field without quotes"),
        ("long.csv", f'a,b\n1,"{"x" * 200_000}"\n', "a field is longer than 131,072 characters"),
        ("twice.csv", "a,a,b\n1,2,3\n", "several columns `a`"),
        ("unnamed.csv", ",a,b\n0,1,2\n", "column 1 of"),
        ("semicolons.csv", "a;b\n1;2\n", "is not separated by commas"),
        ("single.csv", "a\n1\n", "has no column besides the label"),
    ],
)
def test_files_that_are_no_table(tmp_path, name, content, message):
    assert message in refused(written(tmp_path, name, content)).message


def test_a_file_of_one_huge_line(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "MAX_HEADER_LENGTH", 100)
    error = refused(written(tmp_path, "one.csv", "1.5," * 100))
    assert "one.csv` has more than 100 characters, too many for column names" in error.message
    assert "line ends" in error.help


def test_lines_may_end_in_carriage_returns(tmp_path):
    plain = load_dataset(written(tmp_path, "plain.csv", TEXT))
    old = load_dataset(written(tmp_path, "old.csv", TEXT.replace("\n", "\r")))
    assert old.features.equals(plain.features)
    assert old.target.equals(plain.target)


def test_an_unreadable_file(tmp_path, monkeypatch):
    def deny(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path, "d.csv", TEXT)
    monkeypatch.setattr(Path, "read_bytes", deny)
    assert "cannot be read: permission denied" in refused(path).message


def test_a_missing_label_column(tmp_path):
    path = written(tmp_path, "d.csv", TEXT)
    assert refused(path, "lable").help == "did you mean `label`?"
    assert refused(path, "zzz").help == "the columns are `a`, `b`, `label`"
    assert refused(path, "zzz").message == "`d.csv` has no column `zzz`"


def test_tables_of_programs():
    table = make_table(np.ones((3, 2)), [0, 1, 0])
    assert (list(table.features), list(table.target), table.target.name) == (["x0", "x1"], [0, 1, 0], "target")
    frame = pd.DataFrame({0: [1, 2], "b": [3, 4]}, index=[7, 9])
    table = make_table(frame, pd.Series([1.5, 2.5], index=[7, 9], name="y"), "mine")
    assert (table.name, list(table.features), table.target.name) == ("mine", ["0", "b"], "y")
    assert list(table.features.index) == list(table.target.index) == [0, 1]


@pytest.mark.parametrize(
    ("target", "name"),
    [(np.ones((3, 1)), "target"), (pd.DataFrame({"y": [1.0] * 3}), "y"), (pd.Series([1.0] * 3, name="z"), "z")],
)
def test_labels_are_one_column_of_whatever(target: object, name: str) -> None:
    table = make_table(np.ones((3, 1)), target)
    assert (table.target.name, table.target.tolist()) == (name, [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("features", "target", "message"),
    [
        (np.ones(3), [1, 2, 3], "two dimensions"),
        (np.ones((3, 1)), np.ones((3, 2, 2)), "labels must be a column for each target"),
        (np.ones((3, 1)), [1, 2], "the features have 3 rows, but there are 2 labels"),
        (np.ones((0, 1)), [], "has no rows"),
        (np.ones((2, 0)), [1, 2], "no column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), [1], "several columns `a`"),
        (pd.DataFrame({"a": [1, 2], "b": [{"c": 1}, None]}), [1, 2], "column `b` holds values of the type `dict`"),
        (pd.DataFrame({"a": [1, "2", [3]]}), [1, 2, 3], "column `a` holds values of the type `list`"),
        (pd.DataFrame({"a": [np.arange(2), np.arange(2)]}), [1, 2], "column `a` holds values of the type `ndarray`"),
        (pd.DataFrame({"a": pd.Categorical([(1, 2), (3,)])}), [1, 2], "column `a` holds values of the type `tuple`"),
        (np.array([[{1}], [{2}]], dtype=object), [1, 2], "column `x0` holds values of the type `set`"),
        (np.ones((2, 1)), [{"a": 1}, {"a": 2}], "column `target` holds values of the type `dict`"),
        (np.ones((2, 1)), pd.Series([[1], [2]], name="y"), "column `y` holds values of the type `list`"),
        ([[1, 2], [3]], [1, 2], "the features cannot be made an array"),
        (np.ones((2, 1)), [[1, 2], [3]], "the labels cannot be made an array"),
        (np.ma.masked_array([[1.0], [2.0]], mask=[[True], [False]]), [1, 2], "the features are a masked array"),
        (np.ones((2, 1)), np.ma.masked_array([1, 2], mask=[True, False]), "the labels are a masked array"),
    ],
)
def test_tables_of_programs_that_do_not_fit(features, target, message):
    with pytest.raises(DataError, match=message):
        make_table(features, target)


def test_an_array_of_which_nothing_is_masked_is_one_like_others():
    table = make_table(np.ma.masked_array([[1.0], [2.0]]), np.ma.masked_array([1, 2]))
    assert (table.features["x0"].tolist(), table.target.tolist()) == ([1.0, 2.0], [1, 2])


def test_a_column_of_lists_in_a_file(tmp_path):
    path = tmp_path / "lists.parquet"
    pd.DataFrame({"a": [[1], [2]], "b": [1, 2]}).to_parquet(path)
    with pytest.raises(DataError, match="column `a` holds values of the type `ndarray`"):
        load_dataset(str(path))


def table_of(labels: list[object]) -> Table:
    return make_table(np.arange(len(labels), dtype=float).reshape(-1, 1), pd.Series(labels, name="y"))


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        (["b", "a", "b", "a"], ("a", "b"), [1, 0, 1, 0]),
        ([True, False, True, False], (False, True), [1, 0, 1, 0]),
        ([7, 3, 5, 7, 3, 5], (3, 5, 7), [2, 0, 1, 2, 0, 1]),
        ([1.0, 2.0, 1.0, 2.0], (1.0, 2.0), [0, 1, 0, 1]),
        ([-1.0, 1.0, -1.0, 1.0], (-1.0, 1.0), [0, 1, 0, 1]),
    ],
)
def test_classes_are_coded_in_sorted_order_and_kept(labels, classes, codes):
    dataset = check_and_encode_labels(table_of(labels), "classification")
    assert dataset.classes == classes
    assert dataset.target.tolist() == codes
    assert dataset.original_labels.tolist() == labels


def test_regression_keeps_its_numbers():
    dataset = check_and_encode_labels(table_of([1, 2, 4]), "regression")
    assert dataset.target.tolist() == dataset.original_labels.tolist() == [1.0, 2.0, 4.0]
    assert dataset.classes == ()


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (["a", None, "b", None], "classification", "2 rows have no label in the column `y` (first in row 2)"),
        ([1.0, float("nan"), 2.0], "regression", "1 row has no label"),
        (["a", "a", "a"], "classification", "all labels in the column `y` are `a`"),
        (["a", "b", "b"], "classification", "the class `a` in the column `y` has 1 row, but the split needs"),
        ([place + 0.5 for place in range(30)], "classification", "30 distinct numbers with fractions"),
        ([0.5, 1.0] * 30, "classification", "2 distinct numbers with fractions"),
        (["a", 1, "a", 1], "classification", "mixes text and other labels"),
        (["a", "b", "c"], "regression", "labels such as `a`"),
        ([1.0, float("inf")], "regression", "infinite"),
    ],
)
def test_labels_that_cannot_be_learnt(labels, kind, message):
    with pytest.raises(DataError) as caught:
        check_and_encode_labels(table_of(labels), kind)
    assert message in caught.value.message
    assert caught.value.help


def test_fewer_rows_than_folds():
    table = table_of(["a"] * 10 + ["b"] * 4)
    check_and_encode_labels(table, "classification", folds=4)
    with pytest.raises(DataError, match="4 rows, but the split needs at least 5"):
        check_and_encode_labels(table, "classification", folds=5)


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is absent")
@pytest.mark.parametrize(("name", "rows", "columns"), [("adult", 48842, 14), ("jm1", 10885, 21), ("sonar", 208, 60)])
def test_real_data(name, rows, columns):
    table = load_dataset(str(REAL / f"{name}.csv.gz"))
    assert table.features.shape == (rows, columns)
    assert len(check_and_encode_labels(table, "classification").classes) == 2
