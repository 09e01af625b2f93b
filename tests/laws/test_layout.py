"""Laws of the layout: no comment is lost or moved, the text says the same, and laying it out again changes nothing."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.files import resource_folder
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_file
from spacelang.syntax.parser import ParseResult, parse
from spacelang.syntax.pretty_printing import lexemes, normalise_line_ends
from spacelang.syntax.printer import format_text
from spacelang.text import Source
from tests.laws import trees
from tests.laws.example import EXAMPLE
from tests.laws.settings import LAW

BUNDLED = sorted(Path(resource_folder("spaces")).glob("**/*.space"))
SPACES = ("", " ", "  ", "\t", "\n", "\n\n", "\n\n\n\n", "\r\n", "\n    ", "\f")
COMMENTS = (
    "#",
    "# one",
    "#two ",
    "  # three",
    '# "four" {',
    "# a\n# b",
    "# a\n      # b",
    "\n# own",
    "\n\n  # own\n\n",
)


def read(text: str) -> ParseResult:
    return parse(Source("law.space", text))


def comments(text: str) -> list[str]:
    """The comments in their order, each with what comes before it among the words and signs but commas."""
    found = re.findall(r'#[^\r\n]*|"(?:[^"\\\r\n]|\\[^\r\n])*"|[^\s#"]', text)
    return [each.rstrip() for each in found if each.startswith("#")]


def words(text: str) -> list[str]:
    """Words and signs without those that a layout may add or leave out."""
    return [lexeme.text for lexeme in lexemes(normalise_line_ends(text)) if lexeme.text not in (",", "|")]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A random tree as a text, with spaces, empty lines and comments anywhere between its words and signs."""
    pieces = [lexeme.text for lexeme in lexemes(spell_file(draw(trees.files)))]
    density = draw(st.sampled_from([0, 1, 4, 12]))
    text = ""
    for before, piece in zip(["", *pieces], pieces, strict=False):
        # A space is needed between words, and whether a word is a keyword may depend on the sign behind it.
        space = draw(st.sampled_from(SPACES)) or " "
        if before == "-" and piece[0] in ".0123456789":
            space = ""  # so it is behind `step`, and may be everywhere
        elif draw(st.integers(0, 15)) < density and piece not in ("=", ":", "(", "to") and before != "step":
            space += draw(st.sampled_from(COMMENTS)) + draw(st.sampled_from(["\n", "\n  ", "\n\n", "\r\n   "]))
        text += space + piece
    return text


def check(text: str) -> None:
    parsed = read(text)
    assert not parsed.diagnostics, text
    laid_out = format_text(text)
    again = read(laid_out)
    assert not again.diagnostics, laid_out
    assert repr(again.file) == repr(parsed.file)
    assert comments(laid_out) == comments(text)
    assert words(laid_out) == words(text)
    assert format_text(laid_out) == laid_out
    assert not re.search(r"[ \t]\n|\n\n\n|\r|\t|\A\n|\n\n\Z", laid_out)


@LAW
@given(texts())
def test_nothing_is_lost_and_again_nothing_changes(text: str) -> None:
    check(text)


@LAW
@given(trees.files, st.data())
def test_the_layout_depends_on_words_alone(file: ast.File, data: st.DataObject) -> None:
    """Without comments and empty lines, whatever line breaks an author had, the lines are the same."""
    pieces = [lexeme.text for lexeme in lexemes(spell_file(file))][:-1]
    ends = {item.span.start for item in read(spell_file(file)).file.items}
    starts = [lexeme.start in ends for lexeme in lexemes(spell_file(file))][:-1]
    spaces = st.sampled_from([" ", "\n", "  \n  "])
    texts = [
        "".join(
            ("\n" if start else "" if before == "-" else data.draw(spaces)) + piece
            for before, piece, start in zip(["", *pieces], pieces, starts, strict=False)
        )
        for _ in range(2)
    ]
    first, second = map(format_text, texts)
    assert first == second


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_bundled_spaces_keep_their_comments(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@LAW
@given(st.data())
def test_the_example_with_more_comments(data: st.DataObject) -> None:
    lines = EXAMPLE.split("\n")
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(lines)))
        lines.insert(place, " " * data.draw(st.integers(0, 9)) + data.draw(st.sampled_from(["# more", "", "#"])))
    check("\n".join(lines))


@LAW
@given(
    st.lists(st.sampled_from(["", "  ", "# a", "    # b ", "#", "\f", "\ufeff"]), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_file_of_comments_alone(lines: list[str], end: str) -> None:
    text = end.join(lines)
    if not read(text).diagnostics:
        check(text)
