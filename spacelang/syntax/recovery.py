"""Error recovery: finds the syntax errors after the first one.

The text after the last readable item is split into items, at words that begin lines outside of brackets. Each item is
read by itself. After an error within an item, the rest is read again without it: a misplaced sign is removed alone,
anything else with its line. Everything readable is analysed, so that one mistake does not hide another.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.syntax.builder import ParsedItems, parse_items
from spacelang.syntax.parser_tables import UnexpectedToken
from spacelang.syntax.syntax_errors import WHITESPACE, SyntaxMistake, diagnose, locate_mistake
from spacelang.text import Source

MAX_MISTAKES_PER_ITEM: Final = 20
MAX_MISTAKES: Final = 500  # The most mistakes that are reported for one text. The rest of the text is not checked
MAX_REREAD_CHARACTERS: Final = 60_000
"""The most characters that are read again after mistakes. Dense text of this length takes half a second."""
_LEXEME = re.compile(r'#[^\r\n]*|"(?:[^"\\\r\n]|\\[^\r\n])*"?|`[^`\r\n]*`?|[\[\](){}]|^[A-Za-z_]\w*', re.MULTILINE)
_CERTAIN_ITEM_START = re.compile(
    r"(?:space|params|stage|task|abstract)\s+\w|use\s+\w+[^\S\n]*$|import\s*\"|(?:pipeline)\s*=", re.MULTILINE
)
"""Text that begins a new item even if an earlier bracket is still open."""
_CONTINUATIONS = ("=", "|", "&", ">", ",", ":", "(")
"""Signs after which an item continues on the next line, whatever that begins with."""
_DECLARED_NAME = re.compile(
    r"\s*(?:(?!forbid|require|use|import)\w+\s+(\w+)|(pipeline)|import\b.*\bas\s+(\w+)|(\w+)\s*[=:])"
)
_WORD = re.compile(r"[^\W\d]\w*")
_CAPITALS = re.compile(r"(?:True|False|None)\b")


@dataclass(slots=True)
class _Progress:
    """The items, diagnostics, damaged names and words of removed lines that have been found so far."""

    source: Source
    readings: list[ParsedItems]
    mistakes: list[Diagnostic] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    left: int = MAX_REREAD_CHARACTERS


def recover(
    source: Source, reading: ParsedItems, error: UnexpectedToken
) -> tuple[ParsedItems, tuple[Diagnostic, ...], frozenset[str], frozenset[str]]:
    """Return the readable part of a text, all its syntax errors, and two sets of names.

    These are the names of stages and groups with errors, and all words of the lines that were removed. `reading` is
    the part before the first error, `error` that first error.
    """
    text = _blank_out_comments(source.text)
    start = reading.items[-1].span.end if reading.items else 0
    progress = _Progress(source, [reading])
    first = locate_mistake(error, text)
    for begin, end in split_items(text, start):
        if len(progress.mistakes) >= MAX_MISTAKES:
            break
        here = begin == start and (first.place < end or (first.is_at_end and end == len(text)))
        _read_item(progress, text[begin:end], begin, first.relative_to(begin, end) if here else None)
    found = _merge(progress.readings, error)
    return found, tuple(progress.mistakes), frozenset(progress.damaged), frozenset(progress.removed)


def _merge(readings: Sequence[ParsedItems], error: UnexpectedToken) -> ParsedItems:
    return ParsedItems(
        tuple(item for reading in readings for item in reading.items),
        tuple(body for reading in readings for body in reading.bodies),
        max((each.highest_expression for each in readings if each.highest_expression is not None), default=None),
        error,
    )


def _blank_out_comments(text: str) -> str:
    return _LEXEME.sub(lambda found: " " * len(found[0]) if found[0].startswith("#") else found[0], text)


def split_items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each piece of text that is an item, complete or not."""
    depth = 0
    begin = start
    for lexeme in _LEXEME.finditer(text, start):
        word = lexeme[0]
        if word in ("[", "(", "{"):
            depth += 1
        elif word in ("]", ")", "}"):
            depth = max(depth - 1, 0)
        elif word[0] not in '"`':
            before = lexeme.start() - 1
            while before >= begin and text[before] in WHITESPACE:
                before -= 1
            free = depth == 0 and text[before] not in _CONTINUATIONS
            if before >= begin and (free or _CERTAIN_ITEM_START.match(text, lexeme.start())):
                yield begin, lexeme.start()
                begin, depth = lexeme.start(), 0
    if text[begin:].strip(WHITESPACE):
        yield begin, len(text)


def _read_item(progress: _Progress, text: str, shift: int, known: SyntaxMistake | None) -> None:
    """Read a piece of text, repair its first mistake, and read it again, until it has none; add all to `progress`.

    `known` is the first mistake if it is known already.
    """
    mistakes: list[SyntaxMistake] = []
    while len(mistakes) < MAX_MISTAKES_PER_ITEM:
        mistake = known if known is not None and not mistakes else _next_mistake(progress, text, shift)
        if mistake is None or (mistakes and mistake.is_at_end and not text[mistakes[-1].place :].strip(WHITESPACE)):
            break  # A text that ends in the middle of a line also has open brackets. That is the same mistake.
        again = bool(mistakes) and mistake.previous_end == mistakes[-1].previous_end
        if not again:
            mistakes.append(mistake)
        repaired = _blank_out_line(text, mistake.previous_end - 1, torn=True) if again else _repair(text, mistake)
        progress.left -= len(text)
        if repaired is None or progress.left < 0:
            break
        progress.removed.update(_removed_words(text, repaired))
        text = repaired
    if mistakes:
        progress.mistakes.extend(diagnose(mistake, progress.source) for mistake in mistakes)
        if declared := _DECLARED_NAME.match(text):
            progress.damaged.update(filter(None, declared.groups()))


def _removed_words(text: str, repaired: str) -> Iterator[str]:
    """Yield the words of the lines that a repair has replaced by spaces."""
    for before, after in zip(text.split("\n"), repaired.split("\n"), strict=True):
        if before != after and not after.strip(WHITESPACE):
            yield from _WORD.findall(before)


def _next_mistake(progress: _Progress, text: str, shift: int) -> SyntaxMistake | None:
    """Return the first mistake in a piece of text, or store its items and return None if there is none."""
    reading = parse_items(progress.source, text, shift)
    if reading.error is not None:
        return locate_mistake(reading.error, text, shift)
    progress.readings.append(reading)
    return None


def _repair(text: str, mistake: SyntaxMistake) -> str | None:
    """Return the text, in its old length, with a mistake corrected or replaced by spaces.

    None if that is impossible.
    """
    place = mistake.place
    if mistake.is_at_end:
        return None
    if (idiom := mistake.idiom) is not None and (rewritten := idiom.rewrite(text)) is not None:
        return rewritten
    capital = _CAPITALS.match(text, place)
    if capital:
        return text[:place] + capital[0].lower() + text[capital.end() :]
    if mistake.is_foreign_character:
        return text[:place] + " " * len(mistake.found) + text[place + len(mistake.found) :]
    return _blank_out_line(text, place)


def _blank_out_line(text: str, place: int, torn: bool = False) -> str | None:
    """Return the text with the line at `place` replaced by spaces, or None if the rest would be unreadable.

    The line must not be the first one and must have as many `{` as `}`; unless `torn`, also `(` or `[` must match.
    """
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    line = re.sub(r'"(?:[^"\\]|\\.)*"|`[^`]*`', "", text[start:end])
    whole = _open_brackets(line) == 0 or _open_brackets(text[:start]) == 0
    if not text[:start].strip(WHITESPACE) or not line.strip(WHITESPACE) or line.count("{") != line.count("}"):
        return None
    return text[:start] + " " * (end - start) + text[end:] if torn or whole else None


def _open_brackets(text: str) -> int:
    """Return the number of opening minus closing round and square brackets of a text."""
    return sum(text.count(sign) for sign in "[(") - sum(text.count(sign) for sign in ")]")
