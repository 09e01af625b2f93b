"""Mistakes are found where they are, each once, with the remedy; limits hold."""

import threading

import pytest

from spacelang.syntax import ast
from spacelang.syntax.parser import parse
from spacelang.text import Source
from tests.unit.syntax.reading import codes, read

FRAME = "stage s =\n  | A {{\n      x : bool\n      {}\n      y : bool\n    }}\n  | B\nstage t = C\n"


@pytest.mark.parametrize(
    ("line", "found", "help_text"),
    [
        ("forbid x = y", "=", "compare with `==`"),
        ("z : bool = True", "True", "write `true`"),
        ("z : {None}", "None", "write `none`"),
        ("z : bool = true;", ";", "lines need no sign at the end; separate members on one line with `,`"),
        ("z : [1, 2, 3]", "[", "write a set of values as `{…}` and a tuple as `(…)`"),
        ("z = int[1, 2]", "[", "a domain follows `:`; `=` fixes a value or gives a default"),
        ("z = {a, b}", "{", "a domain follows `:`; `=` fixes a value or gives a default"),
        ("z : 3", "3", "`name = value` fixes a value, `name : {value, …}` lets it vary"),
        ("forbid a < x < b", "<", "join comparisons with `and`"),
        ("forbid x not in {a}", "in", "write `not … in …`"),
        ("z : bool wehn x", "x", "did you mean `when x`?"),
        ("includ q", "q", "did you mean `include q`?"),
        ("z :\u00a0bool", "\u00a0", "replace this character with a plain space"),
        ("z == 3", "=", "write one `=`"),
    ],
)
def test_a_mistake_on_a_line_says_what_to_write(line: str, found: str, help_text: str) -> None:
    parsed = read(FRAME.format(line))
    (diagnostic,) = [each for each in parsed.diagnostics if each.code == "SL101" and each.primary.text == found]
    assert diagnostic.help == help_text
    assert len(parsed.diagnostics) <= 2
    assert len(parsed.file.items) == 2, "the rest is read"
    assert parsed.damaged == {"s"}


@pytest.mark.parametrize(
    ("line", "found", "help_text"),
    [
        ("z = 'a'", "'a'", 'write strings in double quotes: `"…"`'),
        ("z = “a”", "“a”", 'write strings in double quotes: `"…"`'),
        ("forbid x && y", "&&", "write `and`"),
        ("z : loguniform(1e-3, 10)", "loguniform(1e-3, 10)", "write `float[1e-3, 10] log`"),
        ("z : bool if x", "if x", "write `when x`"),
    ],
)
def test_what_other_languages_say_is_translated(line: str, found: str, help_text: str) -> None:
    parsed = read(FRAME.format(line))
    (diagnostic,) = parsed.diagnostics
    assert (diagnostic.code, diagnostic.primary.text, diagnostic.help) == ("SL107", found, help_text)
    assert len(parsed.file.items) == 2, "the rest is read"


@pytest.mark.parametrize(
    ("line", "help_text"), [("z : int[1, 9] step=2", "write `step 2`"), ("z : bool default=true", "write `= true`")]
)
def test_what_a_range_takes_without_a_sign(line: str, help_text: str) -> None:
    (diagnostic,) = read(FRAME.format(line)).diagnostics
    assert (diagnostic.code, diagnostic.help) == ("SL104", help_text)


def test_a_habit_is_told_once() -> None:
    parsed = read("stage s = A { x : {\u2018a\u2019, “b”, \"it is // fine\"} // one\n  y : {'c'} // two\n}")
    assert [each.help for each in parsed.diagnostics] == [
        'write strings in double quotes: `"…"`',
        "comments begin with `#`",
    ]


@pytest.mark.parametrize("line", ["z : int(1,10", "z : int[1 10]", "z :", "z =", "z : bool when", "forbid", "$"])
def test_one_cause_is_one_mistake(line: str) -> None:
    parsed = read(FRAME.format(line))
    assert len(parsed.diagnostics) == 1
    assert parsed.file.items[-1].span.text == "stage t = C"


def test_a_line_that_stops_at_a_sign_is_named_itself() -> None:
    (diagnostic,) = read(FRAME.format("z :")).diagnostics
    assert diagnostic.message == "unexpected end of the line after `:`"
    assert diagnostic.primary.line == 4


@pytest.mark.parametrize(
    "text", ["stage s = A B", "stage s =\n  | A\n  B\n  | C", "stage s = A {}\n  B {\n x : bool\n}"]
)
def test_a_missing_bar(text: str) -> None:
    (diagnostic,) = read(text).diagnostics
    assert diagnostic.primary.text == "B"
    assert diagnostic.help == "separate alternatives with `|`"


def test_a_misspelt_keyword() -> None:
    parsed = read("use a\nstagee s =\n  | A\n  | B\nstage t = C")
    (diagnostic,) = parsed.diagnostics
    assert (diagnostic.primary.text, diagnostic.help) == ("stagee", "did you mean `stage`?")
    assert parsed.damaged == {"s"}
    assert [type(item) for item in parsed.file.items] == [ast.CatalogueUse, ast.Stage]


def test_every_item_and_several_lines_of_one_tell_their_mistakes() -> None:
    text = FRAME.format("z : 3\n      w = {a}\n      v : bool") + "forbid a = b\nuse\nstage u = A ! B\nstage v = A"
    parsed = read(text)
    assert [each.primary.line for each in parsed.diagnostics] == [4, 5, 11, 12, 13]
    assert isinstance(parsed.file.items[-1], ast.Stage)
    assert parsed.damaged == {"s", "u"}


def test_an_open_brace_points_back() -> None:
    parsed = read("stage s = A {\n  x : bool\n\nstage t = B")
    (diagnostic,) = parsed.diagnostics
    assert diagnostic.code == "SL102"
    assert diagnostic.message == "`stage` is not complete"
    assert diagnostic.related[0].span.text == "{"
    assert [item.span.text for item in parsed.file.items] == ["stage t = B"]


def test_strings_without_an_end_and_strings_out_of_place() -> None:
    assert codes('import "a\nuse b') == ["SL103"]
    assert codes('use "a"') == ["SL101"]


def test_members_on_a_line_need_a_comma() -> None:
    parsed = read("stage s = A { x : bool y = B { a = 1 b = 2 } forbid x }")
    assert [each.code for each in parsed.diagnostics] == ["SL104"] * 3
    assert [each.primary.text for each in parsed.diagnostics] == ["b", "y", "forbid"]
    assert codes("stage s = A { x : bool,, y : bool }") == ["SL101"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("#" + " " * 2**20, "the file"),
        ("#" + "é" * (2**19), "the file"),
        ("forbid x == " + "1" * 401, "this number"),
        ("forbid x == 1e999", "this number"),
        ("forbid x == " + "9" * 399, "this number"),
        ("forbid " + "(" * 65, "the nesting depth of brackets"),
        ("pipeline = " + "(" * 65 + "A" + ")" * 65, "the nesting depth of brackets"),
        ("pipeline = " + "((" * 40 + "A" + ")?)?" * 40, "the nesting depth of brackets"),
        ("forbid " + "not " * 10_000 + "a", "the nesting depth of this expression"),
        ("forbid " + "- " * 10_000 + "a", "the nesting depth of this expression"),
        ("forbid " + " + ".join(["a"] * 10_000), "the nesting depth of this expression"),
        ("stage s = " + "|".join(["a"] * 100_000), "the number of words and signs"),
    ],
)
def test_limits(text: str, what: str) -> None:
    (diagnostic,) = read(text).diagnostics
    assert diagnostic.code == "SL003"
    assert diagnostic.message.startswith(what)


@pytest.mark.parametrize(
    "text",
    [
        "forbid " + " and ".join(["a"] * 10_000),
        "forbid " + " or ".join(["not a"] * 10_000),
        "forbid " + "(" * 64 + "a" + ")" * 64,
        "pipeline = " + "(" * 64 + "A" + ")?" * 64,
        "forbid " + " + ".join(["a"] * 100),
        "forbid x == " + "0." + "1" * 300,
        "forbid n" + "1" * 1000,
        "forbid " + ")" * 10,
        "forbid " + "-" * 99 + "5",
    ],
)
def test_below_the_limits_nothing_is_too_large(text: str) -> None:
    parsed = read(text)
    assert "SL003" not in [each.code for each in parsed.diagnostics]
    assert parsed.file == read(text).file


@pytest.mark.parametrize("character", ["\0", "\x0b", "\u2028", "\x1b", "é", "$", "\ud800"])
def test_foreign_characters_are_named_visibly(character: str) -> None:
    (diagnostic,) = read(f"use a\n{character}\nuse b").diagnostics
    assert diagnostic.primary.text == character
    assert diagnostic.message.isprintable() or character == "é"


def test_reading_is_the_same_from_several_threads() -> None:
    texts = [f"stage s{place} = " + " | ".join(f"A{place}" for _ in range(200)) for place in range(4)]
    found: dict[int, ast.File] = {}

    def work(place: int) -> None:
        for _ in range(5):
            found[place] = parse(Source("t", texts[place])).file

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[place] == read(texts[place]).file for place in range(4))
    assert all(found[place].items[0].span.text == texts[place] for place in range(4))
