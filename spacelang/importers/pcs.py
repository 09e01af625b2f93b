"""Importer for ConfigSpace's PCS format, in the old and the new style, which may be mixed.

A line declares a hyperparameter (`name categorical {a, b} [a]`, old: `name {a, b} [a]`), a condition (`child | parent
in {a, b} && other == c`) or a forbidden combination (`{name=a, other=b}`).

Characters that ConfigSpace ignores, such as quotes around a word, are reported with a warning. Other quotes are errors:
ConfigSpace would read different words than a reader of the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.other_tools import (
    ContradictoryImportedDeclaration,
    IneffectiveImportedDeclaration,
    InvalidImportedDeclaration,
)
from spacelang.importers import _foreign_space as foreign
from spacelang.text import Source, Span

_DECLARATION: Final = re.compile(
    r"(?P<name>[^\s{}\[\]|,=]+)\s*(?:(?<=\s)(?P<type>categorical|ordinal|integer|real)\s*)?"
    r"(?P<domain>\{[^{}]*\}|\[[^\[\]]*\])\s*\[(?P<default>[^\[\]]*)\]\s*(?P<flags>[A-Za-z]*)"
    r"\s*(?P<stray>[^\w\s{}\[\]|]*)"
)
_TEST: Final = re.compile(
    r"\s*(?P<name>[^\s{}\[\]|,=!<>]+)\s*(?P<sign>==|!=|<|>|(?<=\s)in(?=[\s{]))\s*(?P<values>\{[^{}]*\}|[^\s{}|]+)\s*"
)
_LITERAL: Final = re.compile(r"\s*(?P<name>[^\s{}\[\]|,=]+)\s*==?\s*(?P<value>[^\s{}\[\]|,=]+)\s*")
_TRAILING: Final = re.compile(r"(?:(?<=\})\s*|(?<=\S)\s+|(?=,))(?P<stray>[^\w\s{}\[\]|&<>=!]+)\s*\Z")
_BRACES: Final = re.compile(r"\{[^{}]*\}\s*(?P<stray>\}+)\s*")
_QUOTED: Final = re.compile(r"""(?<![^\s{\[,=])(["'])[^\s{}\[\],|=#"']+(?: +[^\s{}\[\],|=#"']+)*\1(?![^\s}\],])""")
_QUOTE: Final = re.compile("[\"']")
_COMMENT: Final = re.compile(r"[^#]*\|[^#]*\w(?P<comment>#.*)")
"""A comment directly after the last word of a condition, which looks like a part of the word."""
_HEADING: Final = re.compile(r"(conditionals?|conditions|forbidden|parameters?|hyperparameters?)\s*:?", re.IGNORECASE)
_WORDS: Final = "name categorical {a, b} [a]"
_EXAMPLES: Final = {
    "[": "expected `name real [0.1, 10] [1] log`",
    "{": f"expected `{_WORDS}`",
    "|": "expected `child | parent == value`",
}
_Line: TypeAlias = foreign.ForeignParameter | foreign.ForeignCondition | foreign.ForbiddenClause | Diagnostic


@dataclass(frozen=True, slots=True)
class Pcs:
    """An importer of PCS files."""

    endings: ClassVar[tuple[str, ...]] = (".pcs", ".pcs_new")

    def read(self, source: Source) -> foreign.ForeignSpace:
        """Return the contents of a file, with diagnostics for invalid lines; values are words at this point."""
        lines = [line for line in map(_line, _lines(source)) if line is not None]
        return foreign.ForeignSpace(
            "",
            tuple(line for line in lines if isinstance(line, foreign.ForeignParameter)),
            foreign.merge_conditions_of_child([line for line in lines if isinstance(line, foreign.ForeignCondition)]),
            tuple(line for line in lines if isinstance(line, foreign.ForbiddenClause)),
            (*(line for line in lines if isinstance(line, Diagnostic)), *_ignored_characters(source)),
        )


def _lines(source: Source) -> Iterator[Span]:
    for number_, start in enumerate(source.line_starts, start=1):
        text = source.line_text(number_).partition("#")[0]
        if text.strip():
            yield _stripped(text, start, source)


def _line(span: Span) -> _Line | None:
    text = _unquoted(span)
    if (quote := _QUOTE.search(text)) is not None:
        at = Span(span.source, span.start + quote.start(), span.start + quote.end())
        problem = f"the quote `{quote[0]}` has no counterpart at the other end of the word"
        return InvalidImportedDeclaration(at, problem=problem, expected="remove the quote: names and values need none")
    text = text[: _find_trailing(text)[0]].rstrip()
    span = Span(span.source, span.start, span.start + len(text))
    if "|" in text:
        return _conditional(text, span)
    if text.startswith("{"):
        return _clause(text, span)
    return None if _HEADING.fullmatch(text.strip()) else _parameter(text, span)


def _unquoted(line: Span) -> str:
    """Return the text of a line with spaces in place of the quotes around words, so that columns stay the same."""
    return _QUOTED.sub(lambda found: f" {found[0][1:-1]} ", line.text)


def _find_trailing(text: str) -> tuple[int, int]:
    """Return the range of ignored characters after the declaration on a line; an empty range at its end if none."""
    if "|" in text:
        found = _TRAILING.search(text, text.rfind("|"))
    else:
        found = _BRACES.fullmatch(text) if text.startswith("{") else _DECLARATION.fullmatch(text)
    return (len(text), len(text)) if found is None else found.span("stray")


def _ignored_characters(source: Source) -> Iterator[IneffectiveImportedDeclaration]:
    """Yield warnings for characters that ConfigSpace ignores: after declarations, such as a semicolon, and quotes."""
    for span in _lines(source):
        start, end = _find_trailing(_unquoted(span))
        if start < end:
            yield _ignored(source, span.start + start, span.start + end)
        if (quoted := _QUOTED.search(span.text)) is not None:
            yield _ignored(source, span.start + quoted.start(), span.start + quoted.start() + 1)
    for number, start in enumerate(source.line_starts, start=1):
        if (found := _COMMENT.match(source.line_text(number))) is not None:
            yield _ignored(source, start + found.start("comment"), start + found.end("comment"), "`#` starts a comment")


def _ignored(
    source: Source, start: int, end: int, reason: str = "ConfigSpace ignores it"
) -> IneffectiveImportedDeclaration:
    at = Span(source, start, end)
    return IneffectiveImportedDeclaration(at, declaration=f"`{at.text}` has no meaning here", reason=reason)


def _parameter(text: str, span: Span) -> foreign.ForeignParameter | Diagnostic:
    found = _DECLARATION.fullmatch(text.strip())
    if found is None:
        expected = next((example for sign, example in _EXAMPLES.items() if sign in text), _EXAMPLES["{"])
        return InvalidImportedDeclaration(span, problem="this line is not a declaration", expected=expected)
    is_set = found["domain"].startswith("{")
    if is_set != ((found["type"] or "ordinal") in ("categorical", "ordinal")) and found["type"] is not None:
        problem = f"the domain does not match the type `{found['type']}`"
        expected = _EXAMPLES["["] if is_set else _EXAMPLES["{"]
        return InvalidImportedDeclaration(span, problem=problem, expected=expected)
    return _of_set(found, span) if is_set else _of_range(found, span)


def _of_set(found: re.Match[str], span: Span) -> foreign.ForeignParameter | Diagnostic:
    words = tuple(word.strip() for word in found["domain"][1:-1].split(","))
    if not all(words) or found["flags"]:
        return InvalidImportedDeclaration(span, problem="this line is not a declaration", expected=_EXAMPLES["{"])
    domain = foreign.ForeignValues(words, foreign.convert_words_to_values(words), ordered=found["type"] == "ordinal")
    return foreign.ForeignParameter(found["name"], domain, found["default"].strip(), span)


def _of_range(found: re.Match[str], span: Span) -> foreign.ForeignParameter | Diagnostic:
    flags = _flags(found["type"], found["flags"])
    numbers = [foreign.parse_number(text.strip()) for text in (*found["domain"][1:-1].split(","), found["default"])]
    if flags is None or len(numbers) != 3 or None in numbers:
        return InvalidImportedDeclaration(span, problem="this line is not a declaration", expected=_EXAMPLES["["])
    is_integer, is_log = flags
    lower, upper, default = (_as_integer(n) if is_integer else float(n) for n in numbers if n is not None)
    if any(isinstance(n, float) for n in (lower, upper, default)) and is_integer:
        problem = f"`{found['name']}` is an integer, but a bound or the default is not"
        return ContradictoryImportedDeclaration(span, problem=problem)
    return foreign.ForeignParameter(
        found["name"], foreign.ForeignRange("int" if is_integer else "float", lower, upper, is_log), default, span
    )


def _flags(kind: str | None, flags: str) -> tuple[bool, bool] | None:
    """Return the pair (is integer, is logarithmic) of a range, given `log` (new style) or `i` and `l` (old style).

    None for other flags.
    """
    if kind is not None:
        return (kind == "integer", flags == "log") if flags in ("", "log") else None
    return ("i" in flags, "l" in flags) if flags in ("", "i", "l", "il", "li") else None


def _as_integer(value: float) -> float:
    return int(value) if value == int(value) else value


def _conditional(text: str, span: Span) -> foreign.ForeignCondition | Diagnostic:
    child, _, condition = text.partition("|")
    end = span.start + len(child) + 1
    terms = [_conjunction(*part, span.source) for part in _split(condition, "||", end)]
    if len(child.split()) != 1 or any(term is None for term in terms):
        return InvalidImportedDeclaration(span, problem="this condition cannot be read", expected=_EXAMPLES["|"])
    return foreign.ForeignCondition(child.strip(), foreign.disjunction([t for t in terms if t is not None]), span)


def _split(text: str, sign: str, start: int) -> Iterator[tuple[str, int]]:
    for part in text.split(sign):
        yield part, start
        start += len(part) + len(sign)


_SIGNS: Final[dict[str, Literal["in", "!=", "<", ">"]]] = {"==": "in", "in": "in", "!=": "!=", "<": "<", ">": ">"}


def _conjunction(text: str, start: int, source: Source) -> foreign.Condition | None:
    """Return the comparisons joined by `&&` as a condition; None if one of them is invalid."""
    tests: list[foreign.Condition] = []
    for part, begin in _split(text, "&&", start):
        found = _TEST.fullmatch(part.strip())
        if found is None:
            return None
        words = tuple(word.strip() for word in found["values"].strip("{}").split(","))
        is_set = found["values"].startswith("{") and found["sign"] == "in"
        if not all(words) or (len(words) > 1 and not is_set):
            return None
        tests.append(foreign.ValueTest(found["name"], _SIGNS[found["sign"]], words, _stripped(part, begin, source)))
    return foreign.conjunction(tests)


def _stripped(text: str, start: int, source: Source) -> Span:
    return Span(source, start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def _clause(text: str, span: Span) -> foreign.ForbiddenClause | Diagnostic:
    literals: list[foreign.ValueTest | foreign.ParameterComparison] = []
    for part, start in _split(text[1:-1], ",", span.start + 1):
        found = _LITERAL.fullmatch(part)
        if found is None or not text.endswith("}"):
            problem, expected = "this forbidden clause cannot be read", "expected `{name=value, other=value}`"
            return InvalidImportedDeclaration(span, problem=problem, expected=expected)
        literals.append(foreign.ValueTest(found["name"], "in", (found["value"],), _stripped(part, start, span.source)))
    return foreign.ForbiddenClause(tuple(literals), span)
