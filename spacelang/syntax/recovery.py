"""Finding the mistakes after the first.

The text behind the last item that could be read is cut into items, at the words that begin lines outside of brackets,
and each is read by itself. Within an item a mistake is taken out and the rest read again: a misplaced sign by itself,
anything else with its line. What could be read is analysed, so that one mistake does not hide another.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.syntax.driver import Unexpected
from spacelang.syntax.mistakes import SPACE, Mistake, diagnose, locate
from spacelang.syntax.reading import ReadItems, read
from spacelang.text import Source

MISTAKES_AN_ITEM: Final = 20
MOST_MISTAKES: Final = 500
"""In a text; what follows is not looked at."""

MOST_CHARACTERS: Final = 60_000
"""How much text is read again at most, once mistakes are taken out; dense text takes half a second for as much."""

_LEXEME = re.compile(r'#[^\r\n]*|"(?:[^"\\\r\n]|\\[^\r\n])*"?|`[^`\r\n]*`?|[\[\](){}]|^[A-Za-z_]\w*', re.MULTILINE)
_CERTAIN = re.compile(
    r"(?:space|params|stage|task|abstract)\s+\w|use\s+\w+[^\S\n]*$|import\s*\"|(?:pipeline)\s*=", re.MULTILINE
)
"""How an item begins even where a bracket before it is still open."""

_GOES_ON = ("=", "|", "&", ">", ",", ":", "(")
"""Signs behind which an item goes on, whatever begins the next line."""

_NAMED = re.compile(r"\s*(?:(?!forbid|require|use|import)\w+\s+(\w+)|(pipeline)|import\b.*\bas\s+(\w+)|(\w+)\s*[=:])")
_CAPITALS = re.compile(r"(?:True|False|None)\b")


@dataclass(slots=True)
class _Progress:
    """What has been read so far."""

    source: Source
    readings: list[ReadItems]
    mistakes: list[Diagnostic] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)
    left: int = MOST_CHARACTERS


def recover(
    source: Source, reading: ReadItems, error: Unexpected
) -> tuple[ReadItems, tuple[Diagnostic, ...], frozenset[str]]:
    """What can be read of a text whose reading ended with `error`, all mistakes, and the names of what is damaged."""
    text = _without_comments(source.text)
    start = reading.items[-1].span.end if reading.items else 0
    progress = _Progress(source, [reading])
    first = locate(error, text)
    for begin, end in _items(text, start):
        if len(progress.mistakes) >= MOST_MISTAKES:
            break
        here = begin == start and (first.place < end or (first.at_end and end == len(text)))
        _read_item(progress, text[begin:end], begin, first.within(begin, end) if here else None)
    return _together(progress.readings, error), tuple(progress.mistakes), frozenset(progress.damaged)


def _together(readings: Sequence[ReadItems], error: Unexpected) -> ReadItems:
    return ReadItems(
        tuple(item for reading in readings for item in reading.items),
        tuple(body for reading in readings for body in reading.bodies),
        max((reading.deepest for reading in readings if reading.deepest is not None), default=None),
        error,
    )


def _without_comments(text: str) -> str:
    return _LEXEME.sub(lambda found: " " * len(found[0]) if found[0].startswith("#") else found[0], text)


def _items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The ends of the pieces that are items, whole or not."""
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
            while before >= begin and text[before] in SPACE:
                before -= 1
            free = depth == 0 and text[before] not in _GOES_ON
            if before >= begin and (free or _CERTAIN.match(text, lexeme.start())):
                yield begin, lexeme.start()
                begin, depth = lexeme.start(), 0
    if text[begin:].strip(SPACE):
        yield begin, len(text)


def _read_item(progress: _Progress, text: str, shift: int, known: Mistake | None) -> None:
    """Read a piece, whose first mistake may be known, as often as there are mistakes in it."""
    mistakes: list[Mistake] = []
    while len(mistakes) < MISTAKES_AN_ITEM:
        mistake = known if known is not None and not mistakes else _next_mistake(progress, text, shift)
        if mistake is None or (mistakes and mistake.at_end and not text[mistakes[-1].place :].strip(SPACE)):
            break  # A text that was cut off in its last line has open brackets as well: that is the same mistake.
        again = bool(mistakes) and mistake.behind == mistakes[-1].behind
        if not again:
            mistakes.append(mistake)
        repaired = _without_line(text, mistake.behind - 1, torn=True) if again else _repaired(text, mistake)
        progress.left -= len(text)
        if repaired is None or progress.left < 0:
            break
        text = repaired
    if mistakes:
        progress.mistakes.extend(diagnose(mistake, progress.source) for mistake in mistakes)
        progress.damaged.update(_names(text))


def _next_mistake(progress: _Progress, text: str, shift: int) -> Mistake | None:
    """The first mistake of a piece; where it has none, what it says is kept."""
    reading = read(progress.source, text, shift)
    if reading.error is not None:
        return locate(reading.error, text, shift)
    progress.readings.append(reading)
    return None


def _names(text: str) -> list[str]:
    found = _NAMED.match(text)
    return [name for name in found.groups() if name] if found else []


def _repaired(text: str, mistake: Mistake) -> str | None:
    """The text with a mistake taken out, of the same length; None where nothing can be done about it."""
    place = mistake.place
    if mistake.at_end:
        return None
    if (said := mistake.said) is not None and (rewritten := said.rewritten(text)) is not None:
        return rewritten
    capital = _CAPITALS.match(text, place)
    if capital:
        return text[:place] + capital[0].lower() + text[capital.end() :]
    if mistake.foreign:
        return text[:place] + " " * len(mistake.found) + text[place + len(mistake.found) :]
    return _without_line(text, place)


def _without_line(text: str, place: int, torn: bool = False) -> str | None:
    """The text with the line of a mistake blanked out; None where that would tear a pair of braces apart.

    `torn` allows to take out a bracket without its other half, provided that it is no brace.
    """
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    line = re.sub(r'"(?:[^"\\]|\\.)*"|`[^`]*`', "", text[start:end])
    whole = _open_brackets(line) == 0 or _open_brackets(text[:start]) == 0
    if not text[:start].strip(SPACE) or not line.strip(SPACE) or line.count("{") != line.count("}"):
        return None
    return text[:start] + " " * (end - start) + text[end:] if torn or whole else None


def _open_brackets(text: str) -> int:
    """How many round and square brackets are open behind a text; what opens and closes on one line tears nothing."""
    return sum(text.count(sign) for sign in "[(") - sum(text.count(sign) for sign in ")]")
