"""Idioms of other languages: found where the mistake is, told in words, and never in the way of the rest."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.diagnostics.json_output import possible_replacements
from spacelang.syntax.known_foreign_idioms import IDIOMS, idiom_at
from spacelang.syntax.parser import parse
from spacelang.text import Source
from tests.laws.settings import LAW

FILES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[1] / "errors").glob("SL107*.space"))
}
PIECES = sorted({piece for text in FILES.values() for piece in re.split(r"(\s+)", text)})


@given(text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join), place=st.integers(0, 300))
@LAW
def test_what_is_read_on_is_as_long_as_what_is_written(text: str, place: int) -> None:
    said = idiom_at(text, place)
    if said is None:
        return
    assert said.start <= place < said.end
    assert said.remedy.strip()
    assert "``" not in said.remedy
    rewritten = said.rewrite(text)
    if rewritten is not None:
        assert len(rewritten) == len(text)


@pytest.mark.parametrize("name", FILES)
def test_what_an_editor_offers_takes_the_idiom_away(name: str) -> None:
    text = FILES[name]
    found = [each for each in parse(Source("t", text)).diagnostics if each.code == "SL107"]
    assert found
    for diagnostic in found:
        for fix in possible_replacements(diagnostic):
            cured = text[: fix.span.start] + fix.text + text[fix.span.end :]
            again = [each.primary.start for each in parse(Source("t", cured)).diagnostics if each.code == "SL107"]
            assert fix.span.start not in again


def test_every_idiom_has_a_file() -> None:
    told = {
        id(said.idiom)
        for text in FILES.values()
        for diagnostic in parse(Source("t", text)).diagnostics
        for place in range(diagnostic.primary.start, diagnostic.primary.end)
        if (said := idiom_at(text, place)) is not None and said.start == diagnostic.primary.start
    }
    assert [idiom.pattern.pattern for idiom in IDIOMS if id(idiom) not in told] == []
