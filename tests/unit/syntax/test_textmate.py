"""The grammar for editors agrees with the one that the parser is made from: same keywords, same kinds of words."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from lark import Lark, Token, Tree

from spacelang.files import resource_folder
from spacelang.syntax.parser_tables import highlight, lark_parser, load
from spacelang.syntax.pretty_printing import lexemes, normalise_line_ends
from tests.laws.example import EXAMPLE

LARK = (resource_folder("grammars") / "spacelang.lark").read_text(encoding="utf-8")
TEXTMATE = json.loads((resource_folder("grammars") / "spacelang.tmLanguage.json").read_text(encoding="utf-8"))
KEYWORDS = {
    name: re.match(r"\w+", pattern)[0] for name, pattern in re.findall(r"^([A-Z]+)\.2:\s+/([a-z].*)/$", LARK, re.M)
}  # type: ignore[index]
"""The terminals that are keywords, with their words; `subject to` goes by its first."""

BUNDLED = sorted(Path(resource_folder("spaces")).glob("*.space"))
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in BUNDLED} | {
    "example": EXAMPLE,
    "names": "stage e = A {\n  in = 1, as : bool, when = 2\n  from : {a, none}\n  params = {}.x\n}\n".replace(
        " = {}.x", " = y"
    ),
    "ticked": "abstract e { `a-b # 1` : bool, `c` = 3 when `a-b # 1`, forbid e.`a-b # 1`.f is none }\n",
    "tuples": "abstract e { a : tuple[1, 3] of int[1, 2] log = (2,), of : tuple [0, 1] of bool, tuple = 3\n"
    "  `a-b` : {none} | tuple[1, 2] of {x, y} when a[1] == of[ 1 ] and length(a) < 2 or `a-b`[2] == x }\n",
    "more": "stage e = A {\n  log = 1, step : int[1, 9] log step 2 = 3\n"
    "  x : int[1, 2]log = 1 when not (in == 2 or log > 3)\n}\n",
    "rest": "var b : int[1, 9]\nlet c := 2 ** b + 1\nstage e = permute(A, B)\n"
    "pipeline = repeat(e, 0, 2)\nforbid e[1] is A\n"
    "abstract A {\n  x : ordered {a, b}\n  simplex p, q\n  forbid x == a implies b > 2\n}\n"
    "task classification { maximize accuracy }\n",
}
SCOPES = {
    "NUMBER": "constant.numeric.space",
    "QUANTITY": "constant.numeric.quantity.space",
    "STRING": "string.quoted.double.space",
    "AT": "entity.name.function.decorator.space",
    "COMMENT": "comment.line.number-sign.space",
}
OF_NAMES = ("variable.", "support.")
OF_KEYWORDS = ("keyword.declaration", "keyword.control", "keyword.operator.word", "storage.", "constant.language")


def patterns(node: dict[str, object]) -> Iterator[tuple[str, str]]:
    """The names and expressions of all patterns in the order in which an editor tries them."""
    for each in node["patterns"]:  # type: ignore[attr-defined]
        if "include" in each:
            yield from patterns(TEXTMATE["repository"][each["include"].removeprefix("#")])
        else:
            yield each["name"], each["match"]


PATTERNS = [(name, re.compile(match)) for name, match in patterns(TEXTMATE)]


def scopes(text: str) -> dict[int, tuple[str, str]]:
    """What an editor makes of a text, line by line: the scope and the text of every token, by its offset.

    Of the expressions the one that matches first in the line is taken, of several the first in the list.
    """
    found: dict[int, tuple[str, str]] = {}
    start = 0
    for line in text.splitlines(keepends=True):
        place = 0
        while True:
            matches = [(name, match) for name, each in PATTERNS if (match := each.search(line, place))]
            if not matches:
                break
            name, match = min(matches, key=lambda pair: pair[1].start())
            assert match.end() > match.start()
            found[start + match.start()] = name, match[0]
            place = match.end()
        start += len(line)
    return found


@cache
def parser() -> Lark:
    """It takes longer to make than to use."""
    return lark_parser()


def terminals(text: str) -> Iterator[tuple[int, str, str]]:
    """What the parser makes of a text: the offset, the terminal and the text of every token, comments included."""
    tree = parser().parse(text)
    assert isinstance(tree, Tree)
    for token in tree.scan_values(lambda value: isinstance(value, Token)):
        yield token.start_pos, token.type, str(token)
    for comment in re.finditer(r'"(?:[^"\\\n]|\\[^\n])*"|`[^`\n]*`|(#[^\n]*)', text):
        if comment[1]:
            yield comment.start(), "COMMENT", comment[0]


def test_keywords_are_the_same() -> None:
    words = {
        word
        for name, match in patterns(TEXTMATE["repository"]["keywords"])
        for word in re.match(r"\\b\(\?:([a-z|]+)\)", match)[1].split("|")  # type: ignore[index]
    }
    assert words == set(KEYWORDS.values())


@pytest.mark.parametrize("name", TEXTS)
def test_words_are_of_the_same_kind(name: str) -> None:
    text = normalise_line_ends(TEXTS[name])
    found = scopes(text)
    for offset, terminal, word in terminals(text):
        if terminal == "INDEX":
            continue  # an editor shows its brackets and its number, each by itself
        scope, shown = found[offset]
        assert shown == word, (word, shown)
        where = text[max(0, offset - 30) : offset + 30]
        if terminal in ("NAME", "TICKED"):
            assert scope.startswith(OF_NAMES), (word, scope, where)
        elif terminal in KEYWORDS:
            assert scope.startswith(OF_KEYWORDS), (word, scope, where)
        else:
            assert scope == SCOPES.get(terminal, scope), (word, scope, where)


@pytest.mark.parametrize("name", TEXTS)
def test_everything_but_space_has_a_scope(name: str) -> None:
    text = normalise_line_ends(TEXTS[name])
    found = scopes(text)
    covered = {place for start, (_, shown) in found.items() for place in range(start, start + len(shown))}
    assert all(text[place].isspace() for place in set(range(len(text))) - covered)
    assert {lexeme.start for lexeme in lexemes(text) if lexeme.text not in ("", "to")} <= found.keys()


def test_expressions_are_in_what_python_and_oniguruma_share() -> None:
    for _, match in patterns(TEXTMATE):
        assert not re.search(r"\(\?P|\(\?\(|\\[ABZzGKk]|\(\?>|[*+?]\+", match)


def test_every_terminal_of_the_grammar_is_in_the_texts_that_are_compared() -> None:
    tables = load()
    seen = {kind for text in TEXTS.values() for _, kind, _ in terminals(normalise_line_ends(text))}
    assert not {*tables.terminals} - {"WS"} - seen


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_the_colours_are_those_of_reports(path: Path) -> None:
    text = normalise_line_ends(path.read_text(encoding="utf-8"))
    found, place = scopes(text), 0
    starts = {
        "keyword": OF_KEYWORDS,
        "comment": ("comment.",),
        "string": ("string.", *OF_NAMES),
        "number": ("constant.numeric",),
        "annotation": ("entity.name.function.decorator",),
    }
    for kind, piece in highlight(text):
        if kind:
            assert found[place][0].startswith(starts[kind]), (kind, piece)
        place += len(piece)
