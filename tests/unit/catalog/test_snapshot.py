"""Snapshots on disk: the round trip, the user's folder, and files that are something else."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spacelang.catalog import snapshot
from spacelang.catalog.snapshot import (
    SnapshotError,
    catalogue_from_json,
    catalogue_to_json,
    load_catalogue,
    user_snapshot_path,
)
from spacelang.errors import installed_version


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    snapshot._load.cache_clear()
    yield tmp_path
    snapshot._load.cache_clear()


def put(text: str, version: str | None = None) -> Path:
    path = user_snapshot_path("sklearn", version or installed_version("scikit-learn") or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_round_trip() -> None:
    shipped = load_catalogue()
    assert catalogue_from_json(catalogue_to_json(shipped)) == shipped
    assert catalogue_to_json(catalogue_from_json(catalogue_to_json(shipped))) == catalogue_to_json(shipped)


def test_loading_twice_reads_once() -> None:
    assert load_catalogue() is load_catalogue()


@pytest.mark.parametrize("name", ["keras", "../sklearn", "sklearn.json", ""])
def test_a_catalogue_that_does_not_exist(name: str) -> None:
    with pytest.raises(LookupError, match="unknown catalogue"):
        load_catalogue(name)


def test_the_users_snapshot_of_the_installed_version_comes_first(home: Path) -> None:
    shipped = load_catalogue()
    snapshot._load.cache_clear()
    installed = installed_version("scikit-learn") or ""
    put(catalogue_to_json(replace(shipped, version=installed, operators={"SVC": shipped.operators["SVC"]})))
    assert list(load_catalogue()) == ["SVC"]


def test_a_snapshot_of_another_version_is_left_alone(home: Path) -> None:
    put("no JSON at all", version="0.24.2")
    assert "SVC" in load_catalogue()


@pytest.mark.parametrize("base", ["", "relative/path"])
def test_without_an_absolute_folder_the_home_is_used(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", base)
    assert snapshot.user_snapshot_folder() == Path.home() / ".local" / "share" / "spacelang" / "catalogues"


HEAD = {"format": 1, "name": "sklearn", "distribution": "scikit-learn", "version": "1", "objects": {}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is not a catalogue of format 1"),
        ('{"format": 2}', "it is not a catalogue of format 1"),
        ('{"format": 1}', "the name, distribution or version is missing"),
        (json.dumps(HEAD), "the operators or objects are missing"),
        (
            json.dumps({**HEAD, "operators": {}, "objects": {"system": "os"}}),
            "the module 'os' is not one of sklearn",
        ),
        (
            json.dumps({**HEAD, "operators": {}, "objects": {"mean": "numpy", "load": "numpy"}}),
            "the module 'numpy' is not one of sklearn",
        ),
        (json.dumps({**HEAD, "operators": {}, "scorers": ["accuracy"]}), "the scorers are damaged"),
        (json.dumps({**HEAD, "operators": {}}), "the file describes sklearn 1, not sklearn"),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(home: Path, text: str, reason: str) -> None:
    path = put(text)
    with pytest.raises(SnapshotError, match=reason) as raised:
        load_catalogue()
    assert raised.value.path == str(path)
    assert reason in raised.value.reason


def test_bytes_that_are_no_text(home: Path) -> None:
    put("").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SnapshotError, match="can't decode"):
        load_catalogue()


GOOD = {"module": "sklearn.svm", "roles": [], "methods": [], "parameters": {}}


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {**GOOD, "module": "os"},
        {**GOOD, "module": 3},
        {**GOOD, "enabled_by": "antigravity"},
        {**GOOD, "roles": ["villain"]},
        {**GOOD, "parameters": {"C": {"accepts": [["integer", "a", None, "both"]]}}},
        {**GOOD, "parameters": {"C": {"accepts": [["imaginary", 0, 1, "both"]]}}},
        {**GOOD, "parameters": {"C": {"accepts": [7]}}},
        {**GOOD, "parameters": {"C": {"default": {"float": "much"}}}},
        {**GOOD, "parameters": {"C": {"default": {"unknown": 1}}}},
        {**GOOD, "parameters": {"C": {"deprecated": ["1.0"]}}},
        {**GOOD, "parameters": {"C": {"default": 1, "part": "whole"}}},
        {**GOOD, "parameters": {"C": {"default": 1, "part": ["whole", "100"]}}},
    ],
)
def test_a_damaged_operator_is_an_error_when_asked_for(entry: object) -> None:
    catalogue = catalogue_from_json(json.dumps({**HEAD, "operators": {"SVC": entry, "PCA": GOOD}}), "there.json")
    assert catalogue.get("PCA") is not None
    with pytest.raises(SnapshotError, match=r"there\.json"):
        catalogue.get("SVC")


def test_a_snapshot_of_before_there_were_scorers_can_be_read() -> None:
    assert catalogue_from_json(json.dumps({**HEAD, "operators": {}})).scorers == {}
