"""The kept tables are fresh, and anything else than fresh ones is not used."""

from functools import cache
from pathlib import Path

import pytest

from spacelang.files import resource_folder
from spacelang.syntax import parser_tables

KEPT = resource_folder("grammars") / parser_tables.TABLES
TEXT = KEPT.read_text(encoding="utf-8")
COMPUTED = cache(parser_tables._compute)
"""Those of each grammar once: tests ask whether they are computed, not again how."""


@pytest.fixture
def grammars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the grammar alone."""
    (tmp_path / parser_tables.GRAMMAR).write_bytes((resource_folder("grammars") / parser_tables.GRAMMAR).read_bytes())
    monkeypatch.setattr(parser_tables, "resource_folder", lambda _: tmp_path)
    return tmp_path


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grammars for which tables were computed."""
    calls: list[str] = []

    def spy(grammar: str) -> parser_tables.ParserTables:
        calls.append(grammar)
        return COMPUTED(grammar)

    monkeypatch.setattr(parser_tables, "_compute", spy)
    return calls


def test_the_kept_tables_are_fresh() -> None:
    assert parser_tables.dump() == TEXT, "run `python -m spacelang.syntax.parser_tables`"


def test_fresh_tables_are_used(computed: list[str]) -> None:
    assert parser_tables.load().states
    assert not computed


def test_tables_of_another_grammar_are_not_used(grammars: Path, computed: list[str]) -> None:
    (grammars / parser_tables.TABLES).write_text(TEXT, encoding="utf-8")
    with (grammars / parser_tables.GRAMMAR).open("a", encoding="utf-8") as grammar:
        grammar.write("// changed\n")
    assert parser_tables.load().states
    assert len(computed) == 1


@pytest.mark.parametrize(
    "damaged",
    [b"", b"[]", b"\xff\xfe", TEXT[:1000].encode(), TEXT.replace(":12", ":13", 1).encode(), TEXT[1:].encode()],
)
def test_damaged_tables_are_not_used(grammars: Path, computed: list[str], damaged: bytes) -> None:
    (grammars / parser_tables.TABLES).write_bytes(damaged)
    assert parser_tables.load().states
    assert len(computed) == 1


def test_without_tables_they_are_computed(grammars: Path, computed: list[str]) -> None:
    assert parser_tables.load().states
    assert len(computed) == 1


def test_a_rule_that_the_driver_would_read_otherwise_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        parser_tables._compute('?file: "a" "b"')
