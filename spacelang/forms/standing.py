"""The context for reading and writing a document: the source line of each part, and the texts of these lines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spacelang.forms.json_fields import DefinitionError, members, text
from spacelang.forms.soundness import Paths
from spacelang.text import NOWHERE, Source, Span

Object: TypeAlias = dict[str, object]

FileLine: TypeAlias = tuple[str, int]
"""The name of a file and a line in it; line 0 if the source line is unknown."""

MOST_LINES: Final = 2**20
"""The maximal number of lines of all files together; the source file of a space has fewer characters."""


@dataclass(frozen=True, slots=True)
class WritingContext:
    """The context for writing a part: the enclosing source line, and the texts of all lines recorded so far."""

    place: FileLine = ("", 0)
    lines: dict[str, dict[int, str]] = field(default_factory=dict)

    def inside(self, span: Span) -> tuple[Object, "WritingContext"]:
        """Return the keys that state the position of a part, and the context for the parts inside it.

        Keys are left out if they equal the position of the enclosing part.
        """
        if span.source is NOWHERE.source:
            return {}, self
        self.mention(span, span.line)
        place = (span.source.name, span.line)
        if place == self.place:
            return {}, self
        file: Object = {} if place[0] == self.place[0] else {"file": place[0]}
        return {**file, "line": place[1]}, WritingContext(place, self.lines)

    def mention(self, span: Span, last: int) -> None:
        """Record the texts of the lines from the first line of a span to `last`."""
        here = self.lines.setdefault(span.source.name, {})
        for number in range(span.line, last + 1):
            here[number] = span.source.line(number)


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """The context for reading a part: the enclosing source line, and what was read of the document before.

    `known` are the lines whose text is available; `paths` collects the paths of addresses and expressions.
    """

    place: FileLine = ("", 0)
    sources: Mapping[str, Source] = field(default_factory=dict)
    known: frozenset[FileLine] = frozenset()
    paths: Paths = field(default_factory=Paths)

    def inside(self, given: Object, path: str) -> "ReadingContext":
        """Return the context for the parts of an object, whose `file` and `line` default to those of this context.

        Raises DefinitionError for a line whose text is unknown.
        """
        if "file" not in given and "line" not in given:
            return self
        file, number = self.place
        file = text(given["file"], f"{path}.file") if "file" in given else file
        if "line" in given:
            number = line(given["line"], f"{path}.line")
            if (file, number) not in self.known:
                problem = f"is a line of `{file}` whose text is missing in `lines`"
                raise DefinitionError(f"{path}.line", problem, "add its text there, or leave out `line`")
        return ReadingContext((file, number), self.sources, self.known, self.paths)

    def span(self, said: str = "") -> Span:
        """Return the span of the text `said`, which starts in the current line.

        Returns the span of the whole line (without indentation) if the text does not occur there, and NOWHERE if the
        line is unknown.
        """
        if self.place not in self.known:
            return NOWHERE
        source = self.sources[self.place[0]]
        start = source.line_starts[self.place[1] - 1]
        found, whole = source.text.find(said, start), source.line(self.place[1])
        if not said or not start <= found < start + len(whole):
            found, said = start + len(whole) - len(whole.lstrip()), whole.strip()
        return Span(source, found, found + len(said))


def told_lines(value: object, path: str) -> tuple[dict[str, Source], frozenset[FileLine]]:
    """Return the sources (by file) and the known lines from the `lines` of a document.

    Lines that the document does not state are empty in the sources. Raises DefinitionError for an invalid line number
    or a text of more than one line.
    """
    files: dict[str, dict[int, str]] = {}
    for file, written in members(value, path).items():
        here = files[file] = {}
        for number, said in members(written, f"{path}.{file}").items():
            at = f"{path}.{file}.{number}"
            is_number = number.isascii() and number.isdigit() and len(number) < len(str(MOST_LINES * 10))
            told = text(said, at)
            if "\n" in told:
                raise DefinitionError(at, "is more than one line")
            here[line(int(number) if is_number else number, at)] = told
    if sum(max(here, default=0) for here in files.values()) > MOST_LINES:
        raise DefinitionError(path, f"has more than {MOST_LINES:,} lines")
    sources = {
        file: Source(file, "\n".join(here.get(line, "") for line in range(1, max(here, default=0) + 1)))
        for file, here in files.items()
    }
    return sources, frozenset((file, line) for file, here in files.items() for line in here)


def line(value: object, path: str) -> int:
    """Return a value that must be a line number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_LINES:
        return value
    raise DefinitionError(path, f"is not a line number, expected a whole number from 1 to {MOST_LINES}")
