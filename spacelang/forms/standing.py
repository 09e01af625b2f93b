"""Where the parts of a document stand: lines of texts, of which those are told that something stands in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spacelang.forms.json_fields import DefinitionError, members, text
from spacelang.forms.soundness import Paths
from spacelang.text import NOWHERE, Source, Span

Object: TypeAlias = dict[str, object]

FileLine: TypeAlias = tuple[str, int]
"""The name of a file and a line in it; line 0 where no text says a thing."""

MOST_LINES: Final = 2**20
"""Of all files together: a file of a space has fewer characters."""


@dataclass(frozen=True, slots=True)
class WritingContext:
    """What is around a part that is written: the place where it stands, and the texts of all lines mentioned so far."""

    place: FileLine = ("", 0)
    lines: dict[str, dict[int, str]] = field(default_factory=dict)

    def inside(self, span: Span) -> tuple[Object, "WritingContext"]:
        """The keys that say where a thing stands, as far as it is not where this is, and what is around its parts."""
        if span.source is NOWHERE.source:
            return {}, self
        self.mention(span, span.line)
        place = (span.source.name, span.line)
        if place == self.place:
            return {}, self
        file: Object = {} if place[0] == self.place[0] else {"file": place[0]}
        return {**file, "line": place[1]}, WritingContext(place, self.lines)

    def mention(self, span: Span, last: int) -> None:
        """Keep the texts of the lines from the first of a span to the last one."""
        here = self.lines.setdefault(span.source.name, {})
        for number in range(span.line, last + 1):
            here[number] = span.source.line(number)


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """What is around a part that is read: the place where it stands, and what has been read of the document."""

    place: FileLine = ("", 0)
    sources: Mapping[str, Source] = field(default_factory=dict)
    known: frozenset[FileLine] = frozenset()
    paths: Paths = field(default_factory=Paths)

    def inside(self, given: Object, path: str) -> "ReadingContext":
        """What is around the parts of an object: what its keys do not say of its place is as for this."""
        if "file" not in given and "line" not in given:
            return self
        file, number = self.place
        file = text(given["file"], f"{path}.file") if "file" in given else file
        if "line" in given:
            number = line(given["line"], f"{path}.line")
            if (file, number) not in self.known:
                problem = f"is a line of `{file}` that `lines` does not have"
                raise DefinitionError(f"{path}.line", problem, "add its text there, or leave `line` out")
        return ReadingContext((file, number), self.sources, self.known, self.paths)

    def span(self, said: str = "") -> Span:
        """The span of what is said, beginning in this line; of the whole line where its text does not say it."""
        if self.place not in self.known:
            return NOWHERE
        source = self.sources[self.place[0]]
        start = source.line_starts[self.place[1] - 1]
        found, whole = source.text.find(said, start), source.line(self.place[1])
        if not said or not start <= found < start + len(whole):
            found, said = start + len(whole) - len(whole.lstrip()), whole.strip()
        return Span(source, found, found + len(said))


def told_lines(value: object, path: str) -> tuple[dict[str, Source], frozenset[FileLine]]:
    """The sources that lines are told of, those that are not told being empty, and the places that are."""
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
    """The number of a line."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_LINES:
        return value
    raise DefinitionError(path, f"is no line: a whole number from 1 to {MOST_LINES}")
