"""Data of OpenML through its real client, from a server on the loopback address with recorded replies.

Those that OpenML's own suites recorded are found beside a checkout; what scikit-learn ships is there always.
"""

import hashlib
import json
import logging
import os
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arff
import numpy as np
import pandas as pd
import pytest
from commands import TIMEOUT, document, environment, write_spaces
from openml_server import NAMESPACE, RECORDED, Server, refused, serving, with_text
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

import spacelang as sl
from spacelang.ir.trial import Request
from spacelang.ir.validation import PredefinedSplits
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective

KEY = "0123456789abcdef0123456789abcdef"

recorded = pytest.mark.skipif(not RECORDED.is_dir(), reason="../shared/data is absent")


@dataclass
class Place:
    """A user's computer: the server that its client knows, and the folder that this keeps replies in."""

    server: Server
    root: Path
    stop: Callable[[], None]

    def cached(self, kind: str, number: int) -> Path:
        (found,) = self.root.glob(f"*/*/*/*/{kind}/{number}")
        return found

    @property
    def files(self) -> dict[str, bytes]:
        return {str(file.relative_to(self.root)): file.read_bytes() for file in self.root.rglob("*") if file.is_file()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    # Whoever imports the client first in this process makes it look for its configuration and make folders.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "first"))
    import openml

    root = tmp_path / "cache"
    root.mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(serving())
        for name, value in {"server": server.address, "apikey": KEY, "connection_n_retries": 1}.items():
            monkeypatch.setattr(openml.config, name, value)
        before = openml.config.get_config_as_dict()["cachedir"]
        openml.config.set_root_cache_directory(root)
        yield Place(server, root, stack.close)
        assert Path(openml.config.get_config_as_dict()["cachedir"]) == root, "the client is as it was"
        openml.config.set_root_cache_directory(before)


def refusal(reference: str, target: str | None = None) -> DataError:
    """The error, which never holds the key."""
    with pytest.raises(DataError) as caught:
        load_dataset(reference, target)
    error = caught.value
    told = "".join(traceback.format_exception(error)) + error.message + error.help
    assert KEY not in told
    assert "\n" not in error.message + error.help
    assert not error.message.endswith(".")
    return error


# ---- what is fetched


@pytest.mark.parametrize(
    ("number", "rows", "columns", "target", "classes"),
    [
        (61, 150, 4, "class", 3),
        (3, 3196, 36, "class", 2),
        (40945, 1309, 13, "survived", 2),
        pytest.param(2, 898, 38, "class", 5, marks=recorded),
        pytest.param(1, 898, 38, "class", 5, marks=recorded),
        pytest.param(10, 148, 18, "class", 4, marks=recorded),
    ],
)
def test_data_sets(place, number, rows, columns, target, classes):
    table = load_dataset(f"openml:{number}")
    assert (table.name, table.features.shape, table.target.name) == (f"openml:{number}", (rows, columns), target)
    assert (table.validation, table.kind) == (None, None)
    assert len(check_and_encode_labels(table, "classification").classes) == classes
    assert place.server.key == KEY, "a user's key opens what is his own"


def test_columns_are_as_they_are_declared(place):
    table = load_dataset("openml:40945")
    types = {str(name): dtype for name, dtype in table.features.dtypes.items()}
    assert types["age"] == types["fare"] == types["sibsp"] == np.float64
    assert table.features["sex"].cat.categories.tolist() == ["female", "male"]
    assert not isinstance(types["name"], pd.CategoricalDtype)
    assert int(table.features["age"].isna().sum()) == 263
    assert load_dataset("openml:40945", "sex").target.name == "sex"
    assert refusal("openml:40945", "tickets").help == "did you mean `ticket`?"


def test_sparse_data_and_regression(place):
    sparse = load_dataset("openml:292")
    assert sparse.features.shape == (85, 14)
    assert set(check_and_encode_labels(sparse, "classification").classes) == {"-1", "1"}
    assert check_and_encode_labels(load_dataset("openml:561"), "regression").target.dtype == np.float64


def listed(text: str) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """The splits as another reader of ARFF reads them."""
    found: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for kind, row, repeat, fold in arff.loads(text)["data"]:
        found.setdefault((int(repeat), int(fold)), ([], []))[kind == "TEST"].append(int(row))
    return found


@recorded
@pytest.mark.parametrize(("number", "data", "repeats", "folds"), [(59, 61, 1, 10), (1882, 2, 10, 10)])
def test_a_task_brings_its_own_splits(place, number, data, repeats, folds):
    table = load_dataset(f"openml-task:{number}")
    alone = load_dataset(f"openml:{data}")
    pd.testing.assert_frame_equal(table.features, alone.features)
    assert (table.kind, table.target.name, len(table.splits)) == ("classification", "class", repeats * folds)
    expected = listed(place.server.reply(f"/api_splits/get/{number}/x")[1].decode())
    for split, key in zip(table.splits, sorted(expected), strict=True):
        assert split.training.tolist() == sorted(expected[key][0])
        assert split.held_out.tolist() == sorted(expected[key][1])
    assert isinstance(table.validation, PredefinedSplits)
    assert (table.validation.folds, table.validation.source) == (repeats * folds, f"openml-task:{number}")


@recorded
def test_trials_are_judged_on_the_splits_of_the_task(place):
    space = sl.parse("space s\nstage estimator = LogisticRegression { C = 0.1 } | GaussianNB\n")
    dataset = check_and_encode_labels(load_dataset("openml-task:59"), "classification")
    assert dataset.validation is not None
    objective = DataObjective(space.checked, dataset, EvaluationSettings(validation=dataset.validation))
    assert objective.training_size == 135
    found = objective.evaluate(Request(space.default()))
    numbers, labels = dataset.features.to_numpy(), dataset.target.to_numpy()
    scores = []
    for training, held_out in listed(place.server.reply("/api_splits/get/59/x")[1].decode()).values():
        fitted = LogisticRegression(C=0.1).fit(numbers[training], labels[training])
        scores.append(balanced_accuracy_score(labels[held_out], fitted.predict(numbers[held_out])))
    assert found.loss == pytest.approx(1 - np.mean(scores), abs=1e-9)


def task(number: int, kind: int, data: int, procedure: str, splits: list[tuple[str, float, int, int]], **given: Any):
    """The replies about a task that is made up."""
    said = dict.fromkeys(("number_repeats", "number_folds", "percentage", "stratified_sampling"), "") | given
    parameters = "".join(f'<oml:parameter name="{name}">{value}</oml:parameter>' for name, value in said.items())
    text = f"""<oml:task xmlns:oml="{NAMESPACE}"><oml:task_id>{number}</oml:task_id>
    <oml:task_type_id>{kind}</oml:task_type_id><oml:task_type>Made up</oml:task_type>
    <oml:input name="source_data"><oml:data_set><oml:data_set_id>{data}</oml:data_set_id>
    <oml:target_feature>class</oml:target_feature></oml:data_set></oml:input>
    <oml:input name="estimation_procedure"><oml:estimation_procedure><oml:type>{procedure}</oml:type>
    <oml:data_splits_url>http://www.openml.org/api_splits/get/{number}/splits.arff</oml:data_splits_url>
    {parameters}</oml:estimation_procedure></oml:input></oml:task>"""
    names = "".join(f"@attribute {name} numeric\n" for name in ("rowid", "repeat", "fold"))
    rows = "\n".join(",".join(map(str, line)) for line in splits)
    listing = f"@relation s\n\n@attribute type {{TRAIN,TEST}}\n{names}\n@data\n{rows}\n"
    return {
        f"/api/v1/xml/task/{number}": (200, text.encode()),
        f"/api_splits/get/{number}/splits.arff": (200, listing.encode()),
    }


HALVES = [("TRAIN" if row % 2 == 0 else "TEST", row, 0, 0) for row in range(209)]


def test_a_task_of_regression_with_a_holdout(place):
    place.server.more = task(7000, 2, 561, "holdout", HALVES, number_repeats="1", percentage="50")
    table = load_dataset("openml-task:7000")
    assert (table.kind, len(table.splits)) == ("regression", 1)
    assert table.splits[0].held_out.tolist() == [*range(1, 209, 2)]
    with pytest.raises(DataError, match="`openml-task:7000` is a regression task, but the space is for class"):
        check_and_encode_labels(table, "classification")
    dataset = check_and_encode_labels(table, "regression")
    space = sl.parse("space s\nstage estimator = Ridge | LinearRegression\n")
    objective = DataObjective(space.checked, dataset, EvaluationSettings(validation=dataset.validation))
    trial = objective.evaluate(Request(space.default(), 50))
    assert trial.loss is not None
    assert trial.loss < 1


@pytest.mark.parametrize(
    ("procedure", "given", "splits", "message"),
    [
        ("crossvalidation", {"number_repeats": "1", "number_folds": "2"}, HALVES, "1 split instead of 2"),
        ("holdout", {"number_repeats": "1"}, HALVES[:-3], "some splits do not contain all rows"),
        ("holdout", {"number_repeats": "1"}, [*HALVES[:-1], ("TEST", 209, 0, 0)], "row numbers outside the data"),
        ("holdout", {"number_repeats": "1"}, [], "cannot be understood"),
        ("holdout", {"number_repeats": "1"}, [*HALVES, ("TEST", 0.5, 0, 0)], "truncated or damaged"),
        ("customholdout", {}, [*HALVES, ("TEST", 0, 0, 0)], "holds out 1 of its own training rows"),
        ("customholdout", {}, [*HALVES, ("TEST", 1, 0, 0)], "holds out the same row twice"),
        ("leaveoneout", {}, HALVES, "1 split instead of 209"),
    ],
)
def test_splits_that_are_not_those_of_the_task(place, procedure, given, splits, message):
    place.server.more = task(7000, 2, 561, procedure, splits, **given)
    assert message in refusal("openml-task:7000").message


def test_some_rows_may_be_left_out_where_the_task_says_which(place):
    place.server.more = task(7000, 2, 561, "customholdout", HALVES[:100])
    (split,) = load_dataset("openml-task:7000").splits
    assert len(split.training) + len(split.held_out) == 100


@pytest.mark.parametrize("kind", [3, 5, 7])
def test_tasks_of_other_kinds(place, kind):
    place.server.more = task(7000, kind, 61, "crossvalidation", HALVES)
    error = refusal("openml-task:7000")
    assert "of type `Made up`" in error.message or "cannot be understood" in error.message


@recorded
def test_a_task_has_its_own_labels(place):
    assert load_dataset("openml-task:59", "class").target.name == "class"
    error = refusal("openml-task:59", "petalwidth")
    assert error.message == "the label column of `openml-task:59` is `class`, not `petalwidth`"
    assert error.help == "use only its data: `openml:61`"


DESCRIPTION = r"/api/v1/xml/data/\d+$"
TARGET = "<oml:default_target_attribute>class</oml:default_target_attribute>"


def test_columns_that_are_no_features_are_left_out(place):
    more = "<oml:row_id_attribute>vendor</oml:row_id_attribute>" + "".join(
        f"<oml:ignore_attribute>{names}</oml:ignore_attribute>" for names in ("MYCT,MMIN", "CHMIN", "absent")
    )
    place.server.changes[DESCRIPTION] = with_text(TARGET, TARGET + more)
    assert [*load_dataset("openml:561").features] == ["MMAX", "CACH", "CHMAX"]


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        ("", "`openml:561` has no default label column"),
        (TARGET.replace("class", "class,MYCT"), "has several label columns: `class,MYCT`"),
    ],
)
def test_labels_that_are_not_named(place, replacement, message):
    place.server.changes[DESCRIPTION] = with_text(TARGET, replacement)
    error = refusal("openml:561")
    assert message in error.message
    assert error.help == "choose one with `--target-column`"
    assert load_dataset("openml:561", "class").target.name == "class"


# ---- what is kept


@recorded
@pytest.mark.parametrize("reference", ["openml:61", "openml-task:59", "openml-task:1882"])
def test_nothing_is_fetched_twice_and_the_network_is_needed_once(place, reference):
    first = load_dataset(reference)
    assert set(place.server.asked.values()) == {1}
    kept = place.files
    place.server.asked.clear()
    load_dataset(reference)
    assert not place.server.asked
    place.stop()
    again = load_dataset(reference)
    pd.testing.assert_frame_equal(first.features, again.features)
    assert first.validation == again.validation
    assert place.files == kept
    assert {Path(name).suffix for name in kept} == {".xml", ".arff"}, "no pickles, and no folder that is left behind"


def damages(content: bytes) -> dict[str, bytes]:
    # A file whose last lines are missing is sound ARFF with fewer rows.
    return {"cut": content[: content.rindex(b"\n", 0, -200) + 1], "empty": b"", "other": b"\xff\x00<a/>"}


KEPT = [("datasets/61", "description.xml"), ("datasets/61", "features.xml"), ("datasets/61", "dataset.arff")]
KEPT += [("tasks/59", "task.xml"), ("tasks/59", "datasplits.arff")]


@recorded
@pytest.mark.takes_turns("damage")
@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
@pytest.mark.parametrize(("folder", "name"), KEPT, ids=[name for _, name in KEPT])
def test_what_was_damaged_is_fetched_anew(place, folder, name, damage):
    sound = load_dataset("openml-task:59")
    kept = place.files
    file = place.cached(*folder.split("/")) / name
    file.write_bytes(damages(file.read_bytes())[damage])
    again = load_dataset("openml-task:59")
    pd.testing.assert_frame_equal(sound.features, again.features)
    assert sound.validation == again.validation
    assert place.files == kept


@recorded
@pytest.mark.takes_turns("damage")
@pytest.mark.parametrize("damage", ["cut", "empty", "other", "gone"])
@pytest.mark.parametrize(("folder", "name"), KEPT, ids=[name for _, name in KEPT])
def test_without_the_network_what_was_damaged_is_an_error_and_nothing_is_deleted(place, folder, name, damage):
    load_dataset("openml-task:59")
    file = place.cached(*folder.split("/")) / name
    sound = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(damages(sound)[damage])
    place.stop()
    left = place.files
    error = refusal("openml-task:59")
    assert error.message == "`openml-task:59` is not completely in the cache, and `127.0.0.1` cannot be reached"
    assert place.files == left
    file.write_bytes(sound)
    load_dataset("openml-task:59")


def without_checksum(reply: tuple[int, bytes]) -> tuple[int, bytes]:
    return reply[0], re.sub(rb"<oml:md5_checksum>.*?</oml:md5_checksum>", b"", reply[1])


def cut_in_the_rows(reply: tuple[int, bytes]) -> tuple[int, bytes]:
    return reply[0], reply[1][: reply[1].rindex(b"\n", 0, -2000) + 1]


def test_without_a_checksum_rows_are_counted(place):
    place.server.changes[DESCRIPTION] = without_checksum
    place.server.changes["download"] = cut_in_the_rows
    assert re.fullmatch(r"`openml:3`: the data has \d+ rows instead of 3196", refusal("openml:3").message)
    assert not place.files
    del place.server.changes["download"]
    assert len(load_dataset("openml:3").features) == 3196
    file = place.cached("datasets", 3) / "dataset.arff"
    file.write_bytes(cut_in_the_rows((200, file.read_bytes()))[1])
    assert len(load_dataset("openml:3").features) == 3196


def test_where_nothing_is_counted_either_the_data_is_taken(place):
    place.server.changes[DESCRIPTION] = without_checksum
    assert len(load_dataset("openml:292").features) == 85
    place.stop()
    assert len(load_dataset("openml:292").features) == 85


def test_a_cache_that_cannot_be_written_is_done_without(place, monkeypatch):
    import tempfile

    made = tempfile.TemporaryDirectory

    def elsewhere(*arguments: Any, **options: Any) -> Any:
        if "dir" in options:
            raise PermissionError(13, "Permission denied")
        return made(*arguments, **options)

    def denied(*arguments: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", elsewhere)
    monkeypatch.setattr("shutil.move", denied)
    assert len(load_dataset("openml:61").features) == 150
    assert not place.files


class Evil:
    """What a pickle can do."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


@recorded
def test_no_pickle_in_the_cache_is_loaded(place, tmp_path):
    load_dataset("openml-task:59")
    mark = tmp_path / "it was loaded"
    evil = pickle.dumps(Evil(mark))
    pickle.loads(evil)
    mark.unlink()
    data, its_task = place.cached("datasets", 61), place.cached("tasks", 59)
    for name in ("dataset.pkl.py3", "dataset.feather", "dataset.feather.attributes.pkl.py3"):
        (data / name).write_bytes(evil)
    for name in ("features.xml.pkl", "qualities.xml.pkl", "features.pkl", "dataset.pkl"):
        (data / name).write_bytes(evil)
    for name in ("datasplits.pkl.py3", "datasplits.pkl"):
        (its_task / name).write_bytes(evil)
    for file in (data / "features.xml", its_task / "datasplits.arff"):
        load_dataset("openml-task:59")
        file.unlink()
    load_dataset("openml-task:59")
    assert not mark.exists()


# ---- what goes wrong


@pytest.mark.parametrize(
    ("reference", "path", "code", "said", "message"),
    [
        ("openml:99", "data", 111, "Unknown dataset", '`127.0.0.1` has no `openml:99`: it answers "Unknown dataset" ('),
        (
            "openml-task:99",
            "task",
            151,
            "Unknown task",
            'has no `openml-task:99`: it answers "Unknown task" (code 151)',
        ),
        ("openml:61", "data", 112, "No access granted", "`openml:61` is not public on `127.0.0.1`"),
        ("openml:61", "data", 113, "Deactivated", 'has no `openml:61`: it answers "Deactivated" (code 113)'),
        ("openml:61", "data", 102, "Authentication", "`openml:61` is not public on `127.0.0.1`"),
        ("openml:61", "data", 107, "Database\nis busy", 'it answers "Database is busy" (code 107)'),
        ("openml:61", "data", 500, f"your key {KEY} is odd", 'it answers "your key ... is odd" (code 500)'),
        ("openml:61", "download", 600, "No file", 'it answers "No file" (code 600)'),
    ],
)
def test_the_server_says_no(place, reference, path, code, said, message):
    place.server.changes[path] = lambda _: refused(code, said)
    assert message in refusal(reference).message
    assert not place.files


@pytest.mark.parametrize(
    "reply",
    [
        (500, b"<html><p>Sorry"),
        (502, b""),
        (200, b""),
        (200, b"<html/>"),
        (200, b"<oml:data_set_description"),
        (404, b"<a/>"),
    ],
)
def test_the_server_talks_nonsense(place, reply):
    place.server.changes[DESCRIPTION] = lambda _: reply
    error = refusal("openml:61")
    assert error.message == "the answer of `127.0.0.1` for `openml:61` cannot be understood"
    assert "try again later" in error.help


def test_data_that_does_not_match_its_checksum(place):
    place.server.changes["download"] = cut_in_the_rows
    error = refusal("openml:3")
    assert error.message == "the download of `openml:3` from `127.0.0.1` does not match its checksum"
    assert not place.files


def test_data_that_is_not_as_it_declares(place):
    spoilt = b"@relation r\n@attribute class {a,b}\n@attribute x real\n@data\na,1\nc,2\n"
    place.server.changes["download"] = lambda _: (200, spoilt)
    checksum = hashlib.md5(spoilt).hexdigest()
    place.server.changes[DESCRIPTION] = lambda reply: (
        200,
        re.sub(rb"(<oml:md5_checksum>).*?<", rb"\g<1>" + checksum.encode() + b"<", reply[1]),
    )
    assert "line 6 of `openml:561` has `c` as `class`" in refusal("openml:561").message


def test_a_server_that_cannot_be_reached(place):
    place.stop()
    error = refusal("openml:61")
    assert error.message == "`openml:61` is not in the cache, and `127.0.0.1` cannot be reached"
    assert not place.files
    assert "not in the cache" in refusal("openml-task:59").message


@pytest.mark.parametrize("value", [None, "false", "true"])
def test_nothing_is_said_and_all_settings_are_as_they_were(place, capfd, monkeypatch, value):
    monkeypatch.delenv("OPENML_SKIP_PARQUET", raising=False)
    if value is not None:
        monkeypatch.setenv("OPENML_SKIP_PARQUET", value)
    handlers = logging.getLogger().handlers[:]
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    load_dataset("openml:61")
    assert logging.getLogger().handlers == []
    monkeypatch.setattr(logging.getLogger(), "handlers", handlers)
    assert capfd.readouterr() == ("", "")
    assert os.environ.get("OPENML_SKIP_PARQUET") == value
    assert not any("pq" in path for path in place.server.asked), "there are no checksums for Parquet"


# ---- in a process of its own


def run(folder: Path, *arguments: str, code: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    start = ["-m", "spacelang"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[tuple[Server, dict[str, str]]]:
    write_spaces(tmp_path)
    with serving() as server:
        folder = tmp_path / "configuration" / "openml"
        folder.mkdir(parents=True)
        lines = (f"server = {server.address}", f"apikey = {KEY}", "connection_n_retries = 1")
        (folder / "config").write_text("\n".join(lines))
        yield server, {"XDG_CONFIG_HOME": str(folder.parent), "OPENML_CACHE_DIR": str(tmp_path / "cache")}


def test_a_run_on_data_of_openml(configured, tmp_path):
    server, variables = configured
    arguments = ("run", "tiny.space", "--data", "openml:61", "--trials", "3", "--store", "run.db", "--json")
    ended = run(tmp_path, *arguments, **variables)
    assert document(ended)["trials"] == 3
    assert server.key == KEY
    assert KEY not in ended.stdout + ended.stderr
    assert "WARNING" not in ended.stderr
    stored = [file for file in tmp_path.iterdir() if file.name.startswith("run.db")]
    assert stored
    assert all(KEY.encode() not in file.read_bytes() for file in stored)
    kept = [*(tmp_path / "cache").rglob("dataset.arff")]
    assert len(kept) == 1, "the folder that the user names is the one that is used"


@recorded
def test_a_run_on_a_task_is_judged_on_its_own_splits_unless_it_is_told_others(configured, tmp_path):
    _, variables = configured
    arguments = ("run", "tiny.space", "--data", "openml-task:59", "--trials", "2", "--json")
    assert document(run(tmp_path, *arguments, **variables))["validation"].startswith("the 10 splits of openml-task:59")
    other = document(run(tmp_path, *arguments, "--validate", "cv(3)", **variables))
    assert other["validation"] == "cv(3)"


def test_a_configuration_that_cannot_be_read_is_not_shown(configured, tmp_path):
    _, variables = configured
    (tmp_path / "configuration" / "openml" / "config").write_text(f"apikey {KEY}\n")
    ended = run(tmp_path, "run", "tiny.space", "--data", "openml:61", "--trials", "1", **variables)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "the OpenML client cannot start" in ended.stderr
    assert KEY not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_client_is_not_imported_unless_it_is_needed(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,0\n2,1\n")
    code = (
        "import json, sys\n"
        "from spacelang.runtime.data.loading import load_dataset\n"
        "load_dataset('d.csv'); load_dataset('sklearn:iris')\n"
        "json.dump(sorted({'openml', 'requests', 'pyarrow.parquet', 'arff'} & {*sys.modules}), sys.stdout)"
    )
    assert json.loads(run(tmp_path, code=code).stdout) == []
