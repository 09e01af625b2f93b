"""The sentence in a store on what did not fit into the time of its run, and where it is shown."""

import sqlite3
from pathlib import Path

import pytest
from storing import stored

from spacelang.report.page.rendering import render_page
from spacelang.report.stored_run_output import stored_run_document
from spacelang.runtime.storage.optional_tables import save_time_note
from spacelang.runtime.storage.records import with_digest
from spacelang.runtime.storage.store import Store, StoreError

NOTE = "the ensemble has 12 of 32 members: the time was up"


def note_of(path: Path) -> str:
    with Store.read(path) as run:
        return run.time_note


def test_the_last_sentence_counts(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    assert note_of(path) == ""
    for note in ("", "another sentence", NOTE):
        save_time_note(path, note)
        assert note_of(path) == note
    with Store.read(path) as run:
        assert stored_run_document(run)["time_note"] == NOTE
    save_time_note(path, "")
    assert note_of(path) == "", "a later session had enough time"


def test_a_sentence_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    save_time_note(path, NOTE)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE time_notes SET note = 'everything fitted'")
    connection.close()
    with pytest.raises(StoreError, match="is damaged"):
        note_of(path)
    with sqlite3.connect(path) as connection:
        connection.execute("REPLACE INTO time_notes VALUES (?, ?, ?)", with_digest((0, 5)))
    connection.close()
    with pytest.raises(StoreError, match="is damaged"):
        note_of(path)


def test_the_report_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stored(path)
    save_time_note(path, NOTE)
    with Store.read(path) as run:
        assert f"{NOTE[0].upper()}{NOTE[1:]}." in render_page([run])
