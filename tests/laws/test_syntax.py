"""Laws of the syntax: trees come back from their text, and no text at all raises."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark

from spacelang.resources import folder
from spacelang.syntax import ast
from spacelang.syntax.parser import Parsed, parse
from spacelang.syntax.printer import format_file
from spacelang.text import Source
from tests.laws import trees
from tests.laws.example import EXAMPLE
from tests.laws.settings import LAW

UNHURRIED = LAW


def read(text: str) -> Parsed:
    """Parse, checking what holds for every text."""
    parsed = parse(Source("law.space", text))
    for diagnostic in parsed.diagnostics:
        for span in (diagnostic.primary, *(related.span for related in diagnostic.related)):
            assert 0 <= span.start <= span.end <= len(text)
        assert diagnostic.message
        assert "\n" not in diagnostic.message
    return parsed


@UNHURRIED
@given(trees.files)
def test_a_tree_comes_back_from_its_text(file: ast.File) -> None:
    text = format_file(file)
    parsed = read(text)
    assert not parsed.diagnostics, text
    # By their representations, in which 1 and 1.0 differ.
    assert repr(parsed.file) == repr(file), text
    assert format_file(parsed.file) == text


def test_the_example_comes_back_from_its_text() -> None:
    parsed = read(EXAMPLE)
    assert not parsed.diagnostics
    text = format_file(parsed.file)
    again = read(text)
    assert not again.diagnostics
    assert repr(again.file) == repr(parsed.file)
    assert format_file(again.file) == text


@UNHURRIED
@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read(text)


FRAGMENTS = re.findall(r"\w+|\s+|[^\w\s]", EXAMPLE)


@UNHURRIED
@given(st.lists(st.sampled_from([*sorted(set(FRAGMENTS)), "True", "\ufeff", "\0", "\u00a0", "'", ";"]), max_size=60))
def test_any_sequence_of_the_words_of_the_language_is_read(fragments: list[str]) -> None:
    read("".join(fragments))


@UNHURRIED
@given(st.data())
def test_a_mutated_file_is_read(data: st.DataObject) -> None:
    text = EXAMPLE
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 5)))
        text = text[:start] + data.draw(st.text(max_size=3) | st.sampled_from(FRAGMENTS)) + text[end:]
    read(text)


@pytest.mark.parametrize("part", range(8))
def test_a_file_that_was_cut_off_has_one_mistake_where_it_ends(part: int) -> None:
    for end in range(part, len(EXAMPLE), 8):
        parsed = read(EXAMPLE[:end])
        assert len(parsed.diagnostics) <= 1, (EXAMPLE[:end], parsed.diagnostics)
        for diagnostic in parsed.diagnostics:
            assert diagnostic.code in ("SL101", "SL102", "SL103")


GRAMMAR = (folder("grammars") / "spacelang.lark").read_text(encoding="utf-8")
LARK = Lark(GRAMMAR, parser="lalr", start="file")


@UNHURRIED
@given(from_lark(LARK, explicit={"COMMENT": st.just(" "), "WS": st.sampled_from([" ", "\n"])}))
def test_sentences_of_the_grammar_are_read(text: str) -> None:
    read(text)


def test_bundled_spaces_come_back_from_their_text() -> None:
    for path in sorted(Path(folder("spaces")).glob("**/*.space")):
        parsed = read(path.read_text(encoding="utf-8"))
        assert not parsed.diagnostics, path.name
        assert repr(read(format_file(parsed.file)).file) == repr(parsed.file)
