"""The places that a definition in JSON tells: spans of sources of which only the mentioned lines are known."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from spacelang.forms.json_fields import DefinitionError, Fields, text
from spacelang.text import NOWHERE, Source, Span

Place: TypeAlias = tuple[str, int]
"""The name of a file and a line in it; line 0 where no text says a thing."""

PLACE: Final = ("file", "line")
"""The keys that say where a thing stands."""

MOST_LINES: Final = 2**20
"""Of all files together: a file of a space has fewer characters."""


class Lines:
    """The sources that a definition mentions, and places in them."""

    def __init__(self, sources: Mapping[str, Source], known: frozenset[Place]) -> None:
        self._sources = sources
        self._known = known

    def place(self, fields: Fields, around: Place) -> Place:
        """Where a thing stands: what its keys do not say is as for the thing around it."""
        file, line = around
        file = fields.get("file", text, file)
        if "line" not in fields:
            return file, line
        line = fields.need("line", _line)
        if (file, line) not in self._known:
            problem = f"is a line of `{file}` that `lines` does not have"
            raise DefinitionError(f"{fields.path}.line", problem, "add its text there, or leave `line` out")
        return file, line

    def span(self, place: Place, said: str = "") -> Span:
        """The span of what is said, beginning in a line; of the whole line where its text does not say it."""
        if place not in self._known:
            return NOWHERE
        source = self._sources[place[0]]
        start = source.line_starts[place[1] - 1]
        found, whole = source.text.find(said, start), source.line(place[1])
        if not said or not start <= found < start + len(whole):
            found, said = start + len(whole) - len(whole.lstrip()), whole.strip()
        return Span(source, found, found + len(said))


def lines(value: object, path: str) -> Lines:
    """The reader of the texts of lines, by the names of their files; lines that are not there are empty."""
    files: dict[str, dict[int, str]] = {}
    for file, written in _members(value, path):
        here = files[file] = {}
        for number, said in _members(written, f"{path}.{file}"):
            at = f"{path}.{file}.{number}"
            is_number = number.isascii() and number.isdigit() and len(number) < len(str(MOST_LINES * 10))
            line = _line(int(number) if is_number else number, at)
            if "\n" in (told := text(said, at)):
                raise DefinitionError(at, "is more than one line")
            here[line] = told
    if sum(max(here, default=0) for here in files.values()) > MOST_LINES:
        raise DefinitionError(path, f"has more than {MOST_LINES:,} lines")
    sources = {
        file: Source(file, "\n".join(here.get(line, "") for line in range(1, max(here, default=0) + 1)))
        for file, here in files.items()
    }
    return Lines(sources, frozenset((file, line) for file, here in files.items() for line in here))


def _members(value: object, path: str) -> list[tuple[str, object]]:
    if not isinstance(value, dict):
        raise DefinitionError(path, "is no object")
    return [*value.items()]


def _line(value: object, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_LINES:
        return value
    raise DefinitionError(path, f"is no line: a whole number from 1 to {MOST_LINES}")
