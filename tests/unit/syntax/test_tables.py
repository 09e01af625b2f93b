"""The kept tables are fresh, and anything else than fresh ones is not used."""

import json
from pathlib import Path

import pytest
from lark import Lark

from spacelang.resources import folder
from spacelang.syntax import tables

KEPT = folder("grammars") / tables.TABLES
TEXT = "stage s = A | B"


@pytest.fixture
def grammars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the grammar alone."""
    (tmp_path / tables.GRAMMAR).write_bytes((folder("grammars") / tables.GRAMMAR).read_bytes())
    monkeypatch.setattr(tables, "folder", lambda _: tmp_path)
    return tmp_path


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grammars for which tables were computed."""
    calls: list[str] = []
    compute = tables._compute

    def spy(grammar: str, transformer: None) -> Lark:
        calls.append(grammar)
        return compute(grammar, transformer)

    monkeypatch.setattr(tables, "_compute", spy)
    return calls


def test_the_kept_tables_are_fresh() -> None:
    assert KEPT.read_text(encoding="utf-8") == tables.dump(), "run `python -m spacelang.syntax.tables`"


def test_fresh_tables_are_used_and_read_the_same(computed: list[str]) -> None:
    kept = tables.load()
    assert not computed
    assert kept.parse(TEXT) == tables._compute(tables._grammar(), None).parse(TEXT)


@pytest.mark.parametrize("made_for", ["lark 1.2.2 " + "0" * 64, None, 3])
def test_tables_made_for_something_else_are_not_used(grammars: Path, computed: list[str], made_for: object) -> None:
    document = json.loads(KEPT.read_text(encoding="utf-8")) | {"made_for": made_for}
    (grammars / tables.TABLES).write_text(json.dumps(document), encoding="utf-8")
    assert tables.load().parse(TEXT)
    assert len(computed) == 1


def test_tables_of_another_grammar_are_not_used(grammars: Path, computed: list[str]) -> None:
    (grammars / tables.TABLES).write_bytes(KEPT.read_bytes())
    with (grammars / tables.GRAMMAR).open("a", encoding="utf-8") as grammar:
        grammar.write("// changed\n")
    assert tables.load().parse(TEXT)
    assert len(computed) == 1


def _cut(text: str) -> bytes:
    return text[:1000].encode()


def _without(text: str, key: str) -> bytes:
    document = json.loads(text)
    del document[key]
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        _cut(KEPT.read_text(encoding="utf-8")),
        _without(KEPT.read_text(encoding="utf-8"), "memo"),
        _without(KEPT.read_text(encoding="utf-8"), "data"),
        KEPT.read_text(encoding="utf-8").replace('"states":{', '"states":{"x":3,').encode(),
    ],
)
def test_damaged_tables_are_not_used(grammars: Path, computed: list[str], damaged: bytes) -> None:
    (grammars / tables.TABLES).write_bytes(damaged)
    assert tables.load().parse(TEXT)
    assert len(computed) == 1


def test_without_tables_they_are_computed(grammars: Path, computed: list[str]) -> None:
    assert tables.load().parse(TEXT)
    assert len(computed) == 1
