"""A JSON parser that keeps the source span of every value, which the standard library does not provide."""

import json
import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from spacelang.diagnostics.other_tools import InvalidImportedDeclaration
from spacelang.importers._foreign_space import MAX_DIGITS, parse_number
from spacelang.text import Source, Span

MAX_NESTING: Final = 64
_TOKEN: Final = re.compile(
    r'[ \t\r\n]*(?P<token>"(?:[^"\\\x00-\x1f]|\\.)*"|[\[\]{},:]|-?\d[-+.\deE]*|true\b|false\b|null\b|\Z|(?P<wrong>.))',
    re.DOTALL,
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class PositionedValue:
    """A JSON value with its span; objects are dictionaries and arrays lists of further instances."""

    value: "dict[str, PositionedValue] | list[PositionedValue] | str | int | float | bool | None"
    span: Span


Tokens: TypeAlias = list[tuple[str, int, int]]


class _MalformedError(Exception):
    """Exception for text that is not valid JSON at the current token."""


def parse_json(source: Source) -> PositionedValue | InvalidImportedDeclaration:
    """Return the JSON document in a text, or an error at the place where it is invalid."""
    documents = parse_json_documents(source, most=1)
    return documents if isinstance(documents, InvalidImportedDeclaration) else documents[0]


def parse_json_documents(source: Source, most: int | None = None) -> list[PositionedValue] | InvalidImportedDeclaration:
    """Return the JSON documents that follow each other in a text (at least one), or an error at the invalid place."""
    tokens: Tokens = []
    for found in _TOKEN.finditer(source.text):
        start, end = found.span("token")
        tokens.append((found["token"], start, end))
        if found["wrong"] is not None or start == len(source.text):
            break
    reader = _JsonParser(source, tokens)
    try:
        documents = [reader.value(0)]
        while len(documents) != most and not reader.is_at_end:
            documents.append(reader.value(0))
        reader.expect("", "the end of the file")
    except _MalformedError as error:
        _, start, end = tokens[min(reader.place, len(tokens) - 1)]
        return InvalidImportedDeclaration(Span(source, start, end), problem="this is not JSON", expected=str(error))
    return documents


class _JsonParser:
    def __init__(self, source: Source, tokens: Tokens) -> None:
        self._source = source
        self._tokens = tokens
        self.place = 0

    @property
    def is_at_end(self) -> bool:
        """True if no token follows."""
        return not self._tokens[self.place][0]

    def value(self, depth: int) -> PositionedValue:
        """Return the next value; raise _MalformedError for invalid JSON."""
        if depth > MAX_NESTING:
            raise _MalformedError(f"nested more than {MAX_NESTING} levels deep")
        text, start, end = self._tokens[self.place]
        if text == "{":
            return self._object(depth)
        if text == "[":
            return self._array(depth)
        scalar = self._scalar(text)
        self.place += 1
        return PositionedValue(scalar, Span(self._source, start, end))

    def expect(self, text: str, meaning: str) -> int:
        """Consume the given token and return its end offset; raise _MalformedError for any other token."""
        found, _, end = self._tokens[self.place]
        if found != text:
            raise _MalformedError(f"expected {meaning}")
        self.place += bool(text)
        return end

    def _object(self, depth: int) -> PositionedValue:
        start = self._tokens[self.place][1]
        self.place += 1
        members: dict[str, PositionedValue] = {}
        while self._tokens[self.place][0] != "}":
            if members:
                self.expect(",", "`,` or `}`")
            text = self._tokens[self.place][0]
            if not text.startswith('"'):
                raise _MalformedError("expected a name in double quotes")
            name = self._scalar(text)
            assert isinstance(name, str)
            if name in members:
                raise _MalformedError("this key is given twice in one object")
            self.place += 1
            self.expect(":", "`:`")
            members[name] = self.value(depth + 1)
        return PositionedValue(members, Span(self._source, start, self.expect("}", "`}`")))

    def _array(self, depth: int) -> PositionedValue:
        start = self._tokens[self.place][1]
        self.place += 1
        items: list[PositionedValue] = []
        while self._tokens[self.place][0] != "]":
            if items:
                self.expect(",", "`,` or `]`")
            items.append(self.value(depth + 1))
        return PositionedValue(items, Span(self._source, start, self.expect("]", "`]`")))

    def _scalar(self, text: str) -> str | int | float | bool | None:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if text.startswith('"') and len(text) > 1:
            try:
                return str(json.loads(text))
            except ValueError:
                raise _MalformedError("invalid escape in this string") from None
        read = parse_number(text)
        if read is None:
            is_number = text[:1].isdigit() or text[:1] == "-"
            raise _MalformedError(
                f"expected a number of at most {MAX_DIGITS} digits" if is_number else "expected a value"
            )
        return read
