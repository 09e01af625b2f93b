"""What a person sees: the look of rustc and ruff, aligned and safe whatever stands in the source."""

import subprocess
import sys
from typing import ClassVar

import pytest
from trying import IS_FULL

from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace, Severity
from spacelang.diagnostics.names import DuplicateName, UnreachableStage
from spacelang.diagnostics.parameters import UnknownParameter
from spacelang.diagnostics.reading import NoPipelineOrStage, UnreadableFile
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.diagnostics.terminal_cells import MAX_CELLS, cell_width
from spacelang.text import NO_SPAN, Source, Span


class Sample(Diagnostic):
    code = "SL999"
    MESSAGE = "something is wrong"
    LABEL = "{about}"
    HELPS = ("{remedy}",)

    about: str = "here"
    remedy: str | None = None


class Caution(Sample):
    severity: ClassVar[Severity] = Severity.WARNING


def place(source: Source, text: str) -> Span:
    start = source.text.index(text)
    return Span(source, start, start + len(text))


def shown(*diagnostics: Diagnostic) -> str:
    return render_diagnostics(diagnostics, color=False)


def lines(text: str, marked: str, **fields: str) -> list[str]:
    """The source line and the underline for one marked place of a text."""
    source = Source("a.space", text)
    return shown(Sample(primary=place(source, marked), **fields)).splitlines()[2:4]


def test_example_of_the_house() -> None:
    text = "\n" * 13 + "      max_depht : int[2, 50] = 10\n"
    source = Source("credit.space", text)
    unknown = UnknownParameter(
        primary=place(source, "max_depht"), parameter="max_depht", operator="RandomForestClassifier", near="max_depth"
    )
    assert shown(unknown) == (
        "error[SL301]: `max_depht` is not a parameter of `RandomForestClassifier`\n"
        "  --> credit.space:14:7\n"
        "14 |       max_depht : int[2, 50] = 10\n"
        "   |       ^^^^^^^^^ unknown parameter\n"
        "   = help: did you mean `max_depth`?\n"
        "\n"
        "1 error in 1 file"
    )


def test_nothing_to_say() -> None:
    assert shown() == ""


def test_notes_stand_below_the_help() -> None:
    source = Source("a.space", "abc")
    found = Sample(primary=place(source, "b"), remedy="do that", notes=("first", "second\nin two lines"))
    assert shown(found).splitlines()[4:8] == [
        "  = help: do that",
        "  = note: first",
        "  = note: second",
        "          in two lines",
    ]


def test_counts() -> None:
    first, second = Source("a.space", "abc"), Source("b.space", "abc")
    found = [Sample(primary=place(source, "b")) for source in (first, first, second)]
    caution = Caution(primary=place(second, "b"))
    assert shown(*found).splitlines()[-1] == "3 errors in 2 files"
    assert shown(*found[:2], caution).splitlines()[-1] == "2 errors, 1 warning in 2 files"
    assert shown(caution, caution).splitlines()[-1] == "2 warnings in 1 file"
    assert shown(caution).startswith("warning[SL999]: something is wrong\n")


def test_blocks_are_apart() -> None:
    source = Source("a.space", "abc")
    assert shown(Sample(primary=place(source, "b")), Sample(primary=place(source, "c"))) == (
        "error[SL999]: something is wrong\n --> a.space:1:2\n1 | abc\n  |  ^ here\n\n"
        "error[SL999]: something is wrong\n --> a.space:1:3\n1 | abc\n  |   ^ here\n\n"
        "2 errors in 1 file"
    )


# ---- places


def test_empty_span_has_one_caret() -> None:
    assert shown(Sample(primary=Span(Source("a", "abc"), 1, 1))).splitlines()[1:4] == [
        " --> a:1:2",
        "1 | abc",
        "  |  ^ here",
    ]


@pytest.mark.parametrize(
    ("text", "head", "line", "carets"),
    [
        ("abc", "a:1:4", "1 | abc", "  |    ^ here"),
        ("abc\n", "a:2:1", "2 |", "  | ^ here"),
        ("abc\r\n", "a:2:1", "2 |", "  | ^ here"),
    ],
)
def test_end_of_file(text: str, head: str, line: str, carets: str) -> None:
    end = Span(Source("a", text), len(text), len(text))
    assert shown(Sample(primary=end)).splitlines()[1:4] == [f" --> {head}", line, carets]


def test_span_beyond_the_text_is_shown_at_its_end() -> None:
    assert shown(Sample(primary=Span(Source("a", "abc"), 7, 9))).splitlines()[1:4] == [
        " --> a:1:4",
        "1 | abc",
        "  |    ^ here",
    ]


def test_line_end_alone() -> None:
    source = Source("a", "abc\r\ndef")
    assert shown(Sample(primary=Span(source, 3, 5))).splitlines()[2:4] == ["1 | abc", "  |    ^ here"]


def test_span_of_several_lines_underlines_the_first() -> None:
    source = Source("a", "  stage one =   \n    | A\n")
    assert shown(Sample(primary=Span(source, 2, len(source.text)))).splitlines()[2:4] == [
        "1 |   stage one =",
        "  |   ^^^^^^^^^^^ here",
    ]


def test_label_may_be_empty() -> None:
    assert lines("abc", "b", about="") == ["1 | abc", "  |  ^"]


@pytest.mark.parametrize("source", [Source("missing.space", ""), Source("empty.space", "")])
def test_file_without_text_has_no_snippet(source: Source) -> None:
    unreadable = UnreadableFile(primary=Span(source, 0, 0), path=source.name, reason="no such file")
    assert shown(unreadable).splitlines()[:3] == [
        f"error[SL001]: cannot read `{source.name}`: no such file",
        f" --> {source.name}",
        "  = help: give a `.space` file or the name of a bundled space (`spacelang spaces`)",
    ]


def test_no_file_at_all() -> None:
    nameless = Span(Source("", ""), 0, 0)
    assert shown(NoPipelineOrStage(primary=nameless)).splitlines()[:2] == [
        "error[SL004]: the file declares no stage",
        "  = help: write for example `stage estimator = LogisticRegression | GaussianNB`",
    ]
    assert shown(NoPipelineOrStage(primary=NO_SPAN)).splitlines()[1] == " --> <made>"


# ---- related places


def test_related_place_on_the_same_line() -> None:
    source = Source("a", "weights : {uniform, distance, uniform}")
    first, second = Span(source, 11, 18), Span(source, 30, 37)
    found = Sample(primary=second, related=(RelatedPlace(first, "first named here"),))
    assert shown(found).splitlines()[1:5] == [
        " --> a:1:31",
        "1 | weights : {uniform, distance, uniform}",
        "  |            ------- first named here",
        "  |                               ^^^^^^^ here",
    ]


def test_related_place_near_by() -> None:
    source = Source("a", "stage scaler = A\n\nstage scaler = B\n")
    found = DuplicateName(
        primary=Span(source, 24, 30), kind="stage", name="scaler", related=(RelatedPlace(Span(source, 6, 12), "first"),)
    )
    assert shown(found).splitlines()[1:7] == [
        " --> a:3:7",
        "1 | stage scaler = A",
        "  |       ------ first",
        "2 |",
        "3 | stage scaler = B",
        "  |       ^^^^^^ second declaration",
    ]


def test_related_places_far_away_and_in_another_file() -> None:
    source, other = Source("a", "abc\n" + "\n" * 98 + "def\n"), Source("b", "ghi\n")
    found = Sample(
        primary=place(source, "def"),
        related=(RelatedPlace(place(source, "b"), "far"), RelatedPlace(place(other, "i"), "in another file")),
        remedy="move it",
    )
    assert shown(found).splitlines()[1:11] == [
        "   --> a:100:1",
        "100 | def",
        "    | ^^^ here",
        "   ::: a:1:2",
        "  1 | abc",
        "    |  - far",
        "   ::: b:1:3",
        "  1 | ghi",
        "    |   - in another file",
        "    = help: move it",
    ]


def test_related_place_far_away_in_a_long_line() -> None:
    source = Source("a", "first" + "." * 500 + "second")
    found = Sample(primary=place(source, "second"), related=(RelatedPlace(place(source, "first"), "far"),))
    head, line, carets, related, start, dashes = shown(found).splitlines()[1:7]
    assert (head, related) == (" --> a:1:506", " ::: a:1:1")
    assert line.startswith("1 | …")
    assert line.endswith(".second")
    assert carets.index("^") == line.index("second")
    assert start.startswith("1 | first...")
    assert start.endswith("…")
    assert dashes == "  | ----- far"


# ---- characters


def test_tabs_keep_the_carets_aligned() -> None:
    assert lines("\tC\t: float", "float") == ["1 |     C    : float", "  |            ^^^^^ here"]


@pytest.mark.parametrize("wide", ["日本", "🚀🚀", "Ａ한"])
def test_wide_characters_keep_the_carets_aligned(wide: str) -> None:
    assert lines(f'"{wide}" abc', "abc") == [f'1 | "{wide}" abc', "  |        ^^^ here"]
    assert lines(f'"{wide}" abc', wide) == [f'1 | "{wide}" abc', "  |  ^^^^ here"]


def test_combining_characters_take_no_cell() -> None:
    assert lines("e\u0301 abc", "abc") == ["1 | e\u0301 abc", "  |   ^^^ here"]


def test_control_characters_are_made_visible() -> None:
    assert lines("a\x1b[31m \x07\x7f abc", "abc") == ["1 | a␛[31m ␇␡ abc", "  |           ^^^ here"]
    assert lines("a\rb", "b") == ["1 | a␍b", "  |   ^ here"]


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u00a0", "\ufeff", "\u2028", "\x9b", "\ud800", "\U000e0041"])
def test_hidden_characters_are_named(hidden: str) -> None:
    sign = f"<U+{ord(hidden):04X}>"
    assert lines(f"a{hidden} abc", "abc") == [f"1 | a{sign} abc", f"  | {' ' * (len(sign) + 2)}^^^ here"]
    assert lines(f"a{hidden} abc", hidden)[1] == f"  |  {'^' * len(sign)} here"


def test_no_text_of_a_file_reaches_the_terminal_raw() -> None:
    evil = "\x1b]0;title\x07\x9b2J\u202e\r"
    source = Source(f"{evil}.space", f'space a "{evil}"\n')
    found = Sample(
        primary=place(source, evil),
        about=evil,
        remedy=evil,
        notes=(evil,),
        related=(RelatedPlace(Span(source, 0, 5), evil),),
    )
    named = UnreadableFile(primary=Span(Source(evil, ""), 0, 0), path=evil, reason=evil)
    assert shown(found, named).replace("\n", "").isprintable()
    assert "\x1b]" not in render_diagnostics((found, named), color=True)


# ---- long lines


def test_long_line_is_cut_around_the_place() -> None:
    line, carets = lines("x" * 5_000 + " abc " + "y" * 5_000, "abc")
    assert line.startswith("1 | …xxx")
    assert line.endswith("yyy…")
    assert carets.index("^") == line.index("abc")
    assert cell_width(line) <= MAX_CELLS + 6


def test_long_line_keeps_its_beginning_where_the_place_is_there() -> None:
    line, carets = lines("abc " + "y" * 5_000, "abc")
    assert line.startswith("1 | abc yyy")
    assert line.endswith("yyy…")
    assert carets == "  | ^^^ here"


def test_long_line_keeps_its_end_where_the_place_is_there() -> None:
    line, carets = lines("y" * 5_000 + " abc", "abc")
    assert len(line) == MAX_CELLS + 5
    assert line.startswith("1 | …yyy")
    assert line.endswith("yyy abc")
    assert carets.index("^") == line.index("abc")


def test_long_wide_line_is_cut_and_stays_aligned() -> None:
    line, carets = lines("日" * 900 + "abc" + "本" * 900, "abc")
    assert cell_width(line) <= MAX_CELLS + 6
    assert carets.index("^") == cell_width(line[: line.index("abc")])


def test_place_longer_than_the_line_shown() -> None:
    line, carets = lines("x" + "y" * 5_000, "y" * 5_000)
    assert line.endswith("yyy…")
    assert carets.count("^") == len(line) - len("1 | x…")


def test_long_label_has_a_line_of_its_own() -> None:
    source = Source("a", "x" * 100)
    found = shown(Sample(primary=Span(source, 10, 90), about="a label that is longer than a few words"))
    assert found.splitlines()[3:5] == [
        f"  | {' ' * 10}{'^' * 80}",
        f"  | {' ' * 10}a label that is longer than a few words",
    ]
    found = shown(Sample(primary=Span(source, 95, 100), about="l" * 100))
    assert found.splitlines()[3:5] == [f"  | {' ' * 95}^^^^^", f"  | {' ' * 15}{'l' * 100}"]
    found = shown(Sample(primary=Span(source, 95, 100), about="l" * 300))
    assert found.splitlines()[4] == f"  | {'l' * 300}"


def test_quoted_text_is_cut() -> None:
    source = Source("a", "abc")
    found = shown(Sample(primary=Span(source, 0, 3), about="x" * 5_000, remedy="y" * 5_000, notes=("z" * 5_000,)))
    assert all(len(line) < 500 for line in found.splitlines())
    assert f"{'x' * 200}…{'x' * 200}" in found


@pytest.mark.parametrize("filler", ["y", "\u0301", "\x1b", "日"])
def test_longest_line_is_instant(filler: str) -> None:
    length = 2**18 if IS_FULL else 2**16
    source = Source("a", filler * length)
    found = [Sample(primary=Span(source, start, start + 1)) for start in range(0, length, 2**8)]
    assert len(shown(*found)) < 10**6


# ---- colour


def test_color() -> None:
    source = Source("a", "abc\n")
    found = Sample(primary=place(source, "b"), remedy="do that", related=(RelatedPlace(place(source, "c"), "there"),))
    assert render_diagnostics((found,), color=True).splitlines()[:6] == [
        "\x1b[1;31merror[SL999]\x1b[0m\x1b[1m: something is wrong\x1b[0m",
        " \x1b[1;36m-->\x1b[0m a:1:2",
        "\x1b[1;36m1 |\x1b[0m abc",
        "\x1b[1;36m  |\x1b[0m  \x1b[1;31m^ here\x1b[0m",
        "\x1b[1;36m  |\x1b[0m   \x1b[36m- there\x1b[0m",
        "  \x1b[1;36m=\x1b[0m \x1b[1mhelp\x1b[0m: do that",
    ]


def test_warnings_are_yellow() -> None:
    source = Source("a", "abc\n")
    unused = UnreachableStage(primary=place(source, "b"), name="b")
    assert "\x1b[1;33mwarning[SL221]\x1b[0m" in render_diagnostics((unused,), color=True)
    assert "\x1b[1;33m^ never used\x1b[0m" in render_diagnostics((unused,), color=True)


def test_without_its_colors_the_text_is_the_plain_one() -> None:
    source = Source("a", "abc\n")
    found = (Sample(primary=place(source, "b"), remedy="do that"), Caution(primary=place(source, "c")))
    colored = render_diagnostics(found, color=True)
    for style in ("1;31", "1;33", "1;36", "36", "1", "0"):
        colored = colored.replace(f"\x1b[{style}m", "")
    assert colored == render_diagnostics(found, color=False)


def test_rich_is_not_imported() -> None:
    code = "import sys, spacelang.diagnostics.terminal, spacelang.diagnostics.registry; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
