"""Conversion of syntax errors of the parser into diagnostics with hints."""

import re
import unicodedata
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace
from spacelang.diagnostics.reading import ForeignSyntax, UnclosedString, UnexpectedEnd, UnexpectedText
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax.parser_tables import END, UnexpectedToken
from spacelang.text import Source, Span

if TYPE_CHECKING:
    from spacelang.syntax.foreign_idiom import ForeignIdiomMatch


_STRING = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"')
_TICKED = re.compile(r"`[^`\r\n]*`")
_BEFORE_HYPHEN, _AFTER_HYPHEN = re.compile(r"[A-Za-z_]\w*$"), re.compile(r"(?:-[A-Za-z_]\w*)+")
_BRACKET = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"?|`[^`\r\n]*`?|[\[\](){}]')
_SIGNS: Final = frozenset("=!<>|&?-+*/.,:@#\"`'()[]{}")
"""Characters that the language uses, apart from letters, digits and `_`."""
WHITESPACE: Final = " \t\r\n\f"  # Whitespace of the language. Unicode has more
_BEFORE_EXPRESSIONS: Final = frozenset({"when", "forbid", "require", "and", "or", "not", "implies", ":="})
_LOOKBACK_CHARACTERS: Final = 2000
_MAX_SHOWN_CHARACTERS: Final = 60
_LOG_OF_SET: Final = re.compile(r"\{(?P<values>[^{}:=]+)\}[ \t]*(?P<log>log)$")
"""A set of values with `log` behind it, which is read as the name of the next parameter."""
_UNITS: Final = ("us", "ms", "s", "min", "m", "h", "kB", "KB", "MB", "GB", "TB")
_UNFINISHED = re.compile(
    r"(?P<sign>->|:=|[:=|&,]|\b(?:when|forbid|require|include|and|or|not|implies|in|is|as)\b)\s*?\n\s*[A-Za-z_][\w.]*\s*$"
)


@dataclass(frozen=True, slots=True)
class SyntaxMistake:
    """A syntax error within an item. All places are offsets in `text`, the text of the item."""

    text: str
    shift: int
    place: int
    previous_end: int
    found: str
    expected: frozenset[str]
    unfinished: bool = False
    """True if `found` is the sign at which a line stops early, so that the next line was read as its rest."""

    def relative_to(self, begin: int, end: int) -> "SyntaxMistake":
        """Return the same mistake with its places relative to the piece `[begin, end)` of the text."""
        text = self.text[begin:end]
        return replace(
            self, text=text, shift=begin, place=self.place - begin, previous_end=max(self.previous_end - begin, 0)
        )

    @property
    def is_at_end(self) -> bool:
        """True if the text ends where more was expected, so that there is no wrong token."""
        return not self.found

    @property
    def idiom(self) -> "ForeignIdiomMatch | None":
        """The idiom of another language that the mistake is, or None; patterns are compiled on first use."""
        from spacelang.syntax.known_foreign_idioms import idiom_at

        return None if self.is_at_end or self.unfinished else idiom_at(self.text, self.place)

    @property
    def is_foreign_character(self) -> bool:
        """True if the found text is a character that occurs nowhere in the language."""
        first = self.found[:1]
        return bool(first) and first not in _SIGNS and not re.match(r"\w", first)


def locate_mistake(error: UnexpectedToken, text: str, shift: int = 0) -> SyntaxMistake:
    """Return the mistake that a parser error describes, with offsets in `text`, which must not contain comments.

    `shift` is the offset of `text` in the source.
    """
    place, accepted = error.token.start_pos, error.expected
    if error.token.type == END or not text[place:].strip(WHITESPACE):
        end = len(text.rstrip(WHITESPACE))
        return SyntaxMistake(text, shift, end, end, "", accepted)
    found = first_token(text[place:])
    unfinished = _UNFINISHED.search(text, max(place - _LOOKBACK_CHARACTERS, 0), place) if found in (":", "=") else None
    if unfinished:
        return SyntaxMistake(
            text, shift, unfinished.start(), unfinished.end("sign"), unfinished["sign"], accepted, True
        )
    return SyntaxMistake(text, shift, place, len(text[:place].rstrip(WHITESPACE)), found, accepted)


def diagnose(mistake: SyntaxMistake, source: Source) -> Diagnostic:
    """Return the diagnostic for a syntax mistake, with a hint if a likely intention is known."""
    text, place, start = mistake.text, mistake.place, mistake.place + mistake.shift
    if mistake.is_at_end:
        return _incomplete_item(mistake, source)
    for sign, whole, what in (('"', _STRING, "string"), ("`", _TICKED, "name in backticks")):
        if text[place] == sign and not whole.match(text, place):
            end = re.compile(r"[\r\n]|$").search(text, place)
            span = Span(source, start, mistake.shift + (end.start() if end else len(text)))
            return UnclosedString(span, construct=what, sign=f"`{sign}`" if sign != "`" else "a backtick")
    if mistake.unfinished:
        return _unfinished_line(mistake, source)
    if (idiom := mistake.idiom) is not None:
        span = Span(source, idiom.start + mistake.shift, idiom.end + mistake.shift)
        found = _quoted(_abbreviated(span.text))
        return ForeignSyntax(span, found=found, remedy=idiom.remedy, instead=idiom.replacement)
    if (misplaced := _LOG_OF_SET.search(text, 0, mistake.previous_end)) is not None:
        span = Span(source, misplaced.start("log") + mistake.shift, misplaced.end("log") + mistake.shift)
        return ForeignSyntax(span, found="`log`", remedy=_remedy_for_log_of_set(misplaced["values"]))
    expected, opened = mistake.expected, _still_open(mistake, source)
    known = keywords(expected) if "NAME" not in expected else []
    near = nearest_name(mistake.found, known) if mistake.found.isidentifier() else None
    return UnexpectedText(
        Span(source, start, start + len(mistake.found)),
        found=_quoted(mistake.found),
        expected=describe_expected(expected),
        near=near,
        hint=_hint(mistake) or _hint_in_braces(mistake, is_open=bool(opened)),
        related=opened,
    )


def _remedy_for_log_of_set(values: str) -> str:
    """Return the remedy for `{1, 10, 100} log`, given the text `1, 10, 100`.

    It is to remove `log`, or, if all values are numbers, to write a range with the same ends.
    """
    numbers = [each.strip() for each in values.split(",") if each.strip()]
    try:
        ends = sorted(numbers, key=float)
    except ValueError:
        return "only ranges have a scale: remove `log`"
    kind = "int" if all(re.fullmatch(r"-?\d+", each) for each in numbers) else "float"
    return f"only ranges have a scale: remove `log`, or write `{kind}[{ends[0]}, {ends[-1]}] log`"


def _hint_in_braces(mistake: SyntaxMistake, *, is_open: bool) -> str | None:
    """Return a hint for a mistake inside of braces, or None.

    If `is_open`, the brace of a body is not closed before the next alternative. Otherwise a set has values without a
    comma between them, or arithmetic.
    """
    found, expected = mistake.found, mistake.expected
    if is_open:
        return "close the body before the next alternative" if found == "|" else None
    in_set = {"COMMA", "RBRACE"} <= expected and not {"NAME", "FORBID"} & expected
    if in_set and found in ("+", "-", "*", "/"):
        start = mistake.previous_end
        before = _BEFORE_HYPHEN.search(mistake.text, max(start - _LOOKBACK_CHARACTERS, 0), start)
        after = _AFTER_HYPHEN.match(mistake.text, start)
        if before and after:
            return f'write words with a hyphen in quotes: `"{before[0]}{after[0]}"`'
        return "sets do not take arithmetic, write the result; only bounds, steps, defaults and fixed values take it"
    return "separate the values of a set with `,`" if in_set and re.match(r'[\w."(]', found) else None


def _abbreviated(text: str) -> str:
    """Return the text on one line, with its middle left out if it is long."""
    line = " ".join(text.split())
    if len(line) <= _MAX_SHOWN_CHARACTERS:
        return line
    return f"{line[: _MAX_SHOWN_CHARACTERS // 2]} … {line[-_MAX_SHOWN_CHARACTERS // 4 :]}"


def _unfinished_line(mistake: SyntaxMistake, source: Source) -> UnexpectedText:
    sign, start = mistake.found, mistake.place + mistake.shift
    expected = {":": "a domain", "=": "a value"}.get(sign, "an expression" if sign in _BEFORE_EXPRESSIONS else "a name")
    span = Span(source, start, start + len(sign))
    return UnexpectedText(span, found=f"end of the line after `{sign}`", expected=f"{expected} after it")


def _incomplete_item(mistake: SyntaxMistake, source: Source) -> UnexpectedEnd:
    """Return the diagnostic of an item that ends too early, at its last character, with the bracket still open."""
    text, end = mistake.text, mistake.place + mistake.shift
    place = _open_bracket(text, len(text))
    related = () if place is None else (_opened_here(source, place + mistake.shift, "opened here and never closed"),)
    span, item = Span(source, max(end - 1, 0), end), (text.split() or ["file"])[0]
    return UnexpectedEnd(span, item=item, expected=describe_expected(mistake.expected), related=related)


def _open_bracket(text: str, end: int) -> int | None:
    opened: list[int] = []
    for lexeme in _BRACKET.finditer(text, 0, end):
        if lexeme[0] in ("]", ")", "}"):
            opened = opened[:-1]
        elif lexeme[0] in ("[", "(", "{"):
            opened.append(lexeme.start())
    return opened[-1] if opened else None


def _still_open(mistake: SyntaxMistake, source: Source) -> tuple[RelatedPlace, ...]:
    """Return the opening bracket on an earlier line that seems to lack its closing one, as a related place, or nothing.

    It is the bracket of a list, or the brace of a body that is followed by `|`.
    """
    text, place = mistake.text, _open_bracket(mistake.text, mistake.place)
    begins = text.rfind("\n", 0, mistake.place) + 1
    if place is None or place >= begins or text[begins : mistake.place].strip(WHITESPACE):
        return ()
    in_list = "COMMA" in mistake.expected and not {"NAME", "FORBID"} & mistake.expected
    if not in_list and (mistake.found != "|" or text[place] != "{"):
        return ()
    return (_opened_here(source, place + mistake.shift, "opened here and not closed"),)


def _opened_here(source: Source, place: int, label: str) -> RelatedPlace:
    return RelatedPlace(Span(source, place, place + 1), label)


def _quoted(found: str) -> str:
    """Return a text in backticks, for messages; an invisible character is described by its code point and name."""
    if found.isprintable() and not found.isspace():
        return f"`{found}`"
    name = unicodedata.name(found[0], "a control character").lower()
    return f"character U+{ord(found[0]):04X} ({name})"


def _hint(mistake: SyntaxMistake) -> str | None:
    found, before, expected = mistake.found, mistake.text[: mistake.previous_end], mistake.expected
    previous = re.search(r"[\w.]+$|\S$", before)
    last = previous[0] if previous else ""
    if "VBAR" in expected and "RBRACE" not in expected and re.match(r"\w+[ \t]*[:=]", mistake.text[mistake.place :]):
        return "write hyperparameters in braces after their operator: `Operator { … }`"
    if re.search(r"\bsimplex\b[\w \t,`]+=?$", before):
        return "`simplex` takes names with commas (numbers in [0, 1] with sum 1), and defaults: `= (0.5, 0.3, 0.2)`"
    if "QUANTITY" in expected and "NUMBER" not in expected and found[0].isdigit():
        return f"write a unit directly after the number, such as `{found}s`"
    return (
        _hint_by_text(found, before, expected)
        or _hint_on_domain(found, last, expected)
        or _hint_by_pattern(found, before, expected)
        or _hint_by_place(found, last, expected)
    )


def _hint_by_text(found: str, before: str, expected: frozenset[str]) -> str | None:
    fixed = {
        ";": "lines need no sign at the end; separate members on one line with `,`",
        "&&": "write `and`",
        "||": "write `or`",
        "!": "write `not`",
        "True": "write `true`",
        "False": "write `false`",
        "None": "write `none`",
        "^": "write powers as `**`",
        "\ufeff": "a byte order mark is allowed only at the very beginning",
    }
    if found == ";" and "MAXIMIZE" in expected:
        return "lines of a task need no sign at the end; write each on a line of its own"
    if found in fixed:
        return fixed[found]
    if found[0] == "'" or (unicodedata.category(found[0]) in ("Pi", "Pf", "Ps") and found[0] not in "([{"):
        return 'write strings in double quotes: `"…"`'
    if found in _UNITS and before[-1:].isdigit():
        return "write the unit directly after the number"
    return "replace this character with a plain space" if found.isspace() and not found.isascii() else None


def _hint_on_domain(found: str, last: str, expected: frozenset[str]) -> str | None:
    domain = {"FLOAT", "INT"} <= expected
    if found == "[" and (domain or {"NUMBER", "NAME"} <= expected):
        return "write a set of values as `{…}` and a tuple as `(…)`"
    if (found in ("[", "(") and last in ("int", "float")) or (found == "{" and last == "="):
        return "a domain follows `:`; `=` fixes a value or gives a default"
    if domain and (re.match(r'[-.\d"]', found) or found in ("true", "false")):
        return "`name = value` fixes a value, `name : {value, …}` lets it vary"
    return None


_FOREIGN_NOTATIONS: Final = (
    ("(", r"\bsimplex$", set[str](), "write the names without brackets: `simplex a, b, c`"),
    (
        "[",
        r":\s*simplex$",
        set[str](),
        "shares have a line of their own: `simplex a, b, c` (numbers in [0, 1] with sum 1)",
    ),
    ("simplex", r"", {"$END"}, "`simplex` stands in the body of an operator or a group"),
    ("->", r"", {"AND", "OR"}, "write implication as `… implies …`"),
    ("(", r"\b[A-Z]\w*$", {"LBRACE"}, "write parameters in braces: `{ … }`"),
    ("{", r"(?:[=!]=|\bis)\s*[\w.]+$", {"OR"}, "conditions refer to operators by name: remove the body"),
    ("pipeline", r"", set[str](), "write `pipeline = …`"),
    (
        "when",
        r":=[^:=]*$",
        {"AND", "OR"},
        "a computed value has no condition: it is not set where a hyperparameter that it names is not active",
    ),
    ("as", r"\bnone$", {"VBAR"}, "`none` cannot have another name"),
    ("as", r"\}$", {"VBAR"}, "write the name before the body: `A as name { … }`"),
    ("?", r"", {"VBAR"}, "write `… | none`"),
    (")", r"\(\s*[^\s,()]+$", {"COMMA"}, "write a tuple of one value as `(…,)`"),
    ("%", r"\bholdout\s*\(\s*[\d.]+$", {"RPAR"}, "write a share, such as `holdout(0.3)`"),
    ("%", r"", set[str](), "the remainder is not supported; use a range with a `step`"),
)
"""Notations of other languages: the sign, the text before it, terminals that could follow, and the hint."""


def _hint_by_pattern(found: str, before: str, expected: frozenset[str]) -> str | None:
    for sign, pattern, needed, remedy in _FOREIGN_NOTATIONS:
        if found == sign and needed <= expected and re.search(pattern, before):
            return remedy
    return None


def _hint_by_place(found: str, last: str, expected: frozenset[str]) -> str | None:
    if found == "=" and "COMPARE" in expected:
        return "compare with `==`"
    if found in ("<", "<=", ">", ">=", "==", "!=") and {"AND", "OR"} <= expected:
        return "join comparisons with `and`"
    if last == "not" and found == "in":
        return "write `not … in …`"
    if last == "is" and re.match(r"[-.\d]", found):
        return "`is` tests for an alternative: compare values with `==`"
    if found == last and found in ("=", "|", "&"):
        return f"write one `{found}`"
    if expected == {"COLON", "EQUAL", "ASSIGN"}:
        return _hint_behind_word(found, last)
    return "separate alternatives with `|`" if "VBAR" in expected and re.match(r"[A-Za-z_]", found) else None


def _hint_behind_word(found: str, last: str) -> str | None:
    if found in ("}", ","):
        return f"`{last} : …` lets it vary, `{last} = …` fixes it, `include {last}` includes a group"
    meant = nearest_name(last, ("when", "include", "forbid", "require"))
    return f"did you mean `{meant} {found}`?" if meant else None


_DESCRIPTIONS = {
    "NAME": "a name", "NUMBER": "a number", "QUANTITY": "a quantity with a unit", "STRING": "a string",
    "COMPARE": "a comparison", "ARROW": "`->`", "AT": "an annotation", "LSQB": "`[`", "RSQB": "`]`", "LPAR": "`(`",
    "RPAR": "`)`", "LBRACE": "`{`", "RBRACE": "`}`", "COMMA": "`,`", "COLON": "`:`", "EQUAL": "`=`", "VBAR": "`|`",
    "AMPERSAND": "`&`", "QMARK": "`?`", "DOT": "`.`", "PLUS": "`+`", "MINUS": "`-`", "STAR": "`*`", "SLASH": "`/`",
    "ASSIGN": "`:=`", "POWER": "`**`",
    "SUBJECT": "`subject to`", "$END": "the end of the file",
}  # fmt: skip
_ITEMS = {
    "SPACE", "IMPORT", "USE", "PARAMS", "ABSTRACT", "STAGE", "PIPELINE", "TASK", "FORBID", "REQUIRE", "VAR", "LET",
    "$END",
}  # fmt: skip
_ARITHMETIC_SIGNS = {"PLUS", "MINUS", "STAR", "SLASH", "POWER"}
_VALUES = {"TRUE", "FALSE", "NONE", "STRING", "NUMBER", "NAME"}
_DOMAINS = {"FLOAT", "INT", "BOOL", "ORDERED", "TUPLE"}
_GROUPS = ((_DOMAINS, "a domain (`float int bool {…} ordered tuple`)"), (_VALUES, "a value"), (_ITEMS, "a new item"))
_MOST = 7
_TOKEN = re.compile(
    r"'[^'\r\n]*'|" r'"(?:[^"\\\r\n]|\\[^\r\n])*"|`[^`\r\n]*`|@?[^\W\d]\w*|\d[\w.]*|->|[:=!<>]=|&&|\|\||\*\*|.',
    re.DOTALL,
)


def first_token(text: str) -> str:
    """Return the first token of a text. The text may be invalid."""
    found = _TOKEN.match(text)
    return found[0] if found else ""


def keywords(terminals: Set[str]) -> list[str]:
    """Return the keywords among the terminals, as they are written."""
    words = [name.lower() for name in terminals if name.isalpha() and name not in _DESCRIPTIONS]
    return [*words, *(["subject"] if "SUBJECT" in terminals else [])]


def describe_expected(terminals: Set[str]) -> str:
    """Return the expected terminals in words, the likely ones first: "a name, a value or `{`".

    `…` if there are many.
    """
    # A plain name is allowed wherever a name in backticks is, and most names have no index.
    left = set(terminals) - {"TICKED", "INDEX"}
    words: list[str] = []
    for group, name in _GROUPS:
        if group <= left:
            left -= group
            words.append(name)
    if "PLUS" in left:  # All of them are allowed after a term, even if the parser expects only a sum by now.
        left -= _ARITHMETIC_SIGNS
        words.append("an arithmetic sign")
    ordered = sorted(left, key=lambda name: (name not in _DESCRIPTIONS, name))
    words = [*(_DESCRIPTIONS.get(name, f"`{name.lower()}`") for name in ordered), *words]
    if len(words) > _MOST:
        words = [*words[:_MOST], "…"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1] if words else "something else"
