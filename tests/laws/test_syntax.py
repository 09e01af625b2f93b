"""Laws of the syntax: trees come back from their text, and no text at all raises."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from trying import IS_FULL

from spacelang.files import resource_folder
from spacelang.syntax import ast
from spacelang.syntax.builder import SyntaxTreeBuilder
from spacelang.syntax.parser import ParseResult, parse
from spacelang.syntax.parser_tables import END, LrDriver, Token, lark_parser, load
from spacelang.syntax.printer import format_file
from spacelang.text import Source
from tests.laws import trees
from tests.laws.example import EXAMPLE
from tests.laws.settings import LAW

UNHURRIED = LAW


def read(text: str) -> ParseResult:
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
WORDS = [*sorted(set(FRAGMENTS)), "True", "\ufeff", "\0", "\u00a0", "'", ";"]
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=60).map("".join)


@UNHURRIED
@given(SENTENCES)
def test_any_sequence_of_the_words_of_the_language_is_read(text: str) -> None:
    read(text)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The example with some characters replaced."""
    text = EXAMPLE
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 5)))
        text = text[:start] + draw(st.text(max_size=3) | st.sampled_from(FRAGMENTS)) + text[end:]
    return text


@UNHURRIED
@given(mutated())
def test_a_mutated_file_is_read(text: str) -> None:
    read(text)


@pytest.mark.parametrize("part", range(8))
def test_a_file_that_was_cut_off_has_one_mistake_where_it_ends(part: int) -> None:
    for end in range(part, len(EXAMPLE), 8 if IS_FULL else 8 * 3):
        if EXAMPLE[max(end - 3, 0) : end + 1].isalpha() and not IS_FULL:
            continue  # a word of which two letters are left is as good as one of three
        parsed = read(EXAMPLE[:end])
        assert len(parsed.diagnostics) <= 1, (EXAMPLE[:end], parsed.diagnostics)
        for diagnostic in parsed.diagnostics:
            assert diagnostic.code in ("SL101", "SL102", "SL103")


@cache
def in_the_grammar() -> st.SearchStrategy[str]:
    """Sentences of the grammar; Lark takes seconds to read that, and most of what imports this file needs none."""
    grammar = (resource_folder("grammars") / "spacelang.lark").read_text(encoding="utf-8")
    explicit = {"COMMENT": st.just(" "), "WS": st.sampled_from([" ", "\n"])}
    return from_lark(Lark(grammar, parser="lalr", start="file"), explicit=explicit)


IN_THE_GRAMMAR = st.deferred(lambda: in_the_grammar())  # noqa: PLW0108 - it asks for a plain function


@UNHURRIED
@given(IN_THE_GRAMMAR)
def test_sentences_of_the_grammar_are_read(text: str) -> None:
    read(text)


class _Adapter:
    """The builder as Lark calls it, with tokens of its own."""

    def __init__(self, builder: SyntaxTreeBuilder) -> None:
        self._builder = builder

    def __getattr__(self, rule: str) -> Callable[[list[Any]], Any]:
        if rule.isupper():
            raise AttributeError(rule)
        method = getattr(self._builder, rule)
        return lambda children: method([_own(child) for child in children])


def _own(child: Any) -> Any:
    if not isinstance(child, lark.Token):
        return child
    token = Token(child)
    token.type, token.start_pos, token.end_pos = child.type, child.start_pos or 0, child.end_pos or 0
    return token


BUILDER = SyntaxTreeBuilder()
DRIVER = LrDriver(load(), BUILDER)


@cache
def adapted() -> Lark:
    return lark_parser(_Adapter(BUILDER))


def outcome_by_lark(text: str) -> tuple[str, int | None, frozenset[str]]:
    """The items, where the text ends to be one of the language (None at its end), and what could stand there."""
    try:
        return repr(adapted().parse(text)), None, frozenset()
    except lark.UnexpectedInput as error:
        values = error.interactive_parser.parser_state.value_stack
        items = values[0].children if values and isinstance(values[0], lark.Tree) else []
        ended = isinstance(error, lark.UnexpectedToken) and error.token.type == END
        return repr(items), None if ended else error.pos_in_stream, frozenset(error.interactive_parser.accepts())


@UNHURRIED
@given(st.text() | SENTENCES | mutated() | IN_THE_GRAMMAR | trees.files.map(format_file))
@example("stage e = A {log : bool = true, in = 1, step = 2, x : int[1, 5] log step 2 = 3 when not in == 1}\nlimit")
@example("task t { subject  to a.b > 5e-1 limit t 5m 10 s subject toe }")
@example("pipeline = a->b -> c&d|.5")
def test_lark_reads_the_same(text: str) -> None:
    BUILDER.reset(Source("law", text), 0)
    outcome = DRIVER.parse(text)
    if outcome.error is None:
        assert (repr(outcome.value), None, frozenset()) == outcome_by_lark(text)
    else:
        place = None if outcome.error.token.type == END else outcome.error.token.start_pos
        assert (repr(outcome.value), place, outcome.error.expected) == outcome_by_lark(text)


def test_bundled_spaces_come_back_from_their_text() -> None:
    for path in sorted(Path(resource_folder("spaces")).glob("**/*.space")):
        parsed = read(path.read_text(encoding="utf-8"))
        assert not parsed.diagnostics, path.name
        assert repr(read(format_file(parsed.file)).file) == repr(parsed.file)
