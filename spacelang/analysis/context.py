"""The context of a check: bindings of the symbols of the data, allowed packages, the catalogue, and the files."""

from collections.abc import Mapping
from dataclasses import field
from operator import index
from typing import Any, Final

from spacelang.catalog.catalogue import Catalogue
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.errors import UserError
from spacelang.frozen import frozen
from spacelang.ir.data_binding import DATA_SIZE_NAMES, DataColumn, minimum_data_size
from spacelang.spelling_suggestions import format_suggestion
from spacelang.syntax.parser import ParseResult, parse
from spacelang.syntax.sources import ImportLocation, read_import
from spacelang.text import Source, Span

MAX_NUMBER: Final = 10**15  # The largest number that a symbol of the data can be bound to


class FileReader:
    """A reader of the files of a space, from the disk. An editor replaces it by one that knows unsaved texts."""

    def parse(self, source: Source) -> ParseResult:
        """Return the syntax tree of a file."""
        return parse(source)

    def read_import(self, place: ImportLocation, reference: str, at: Span) -> Source | Diagnostic:
        """Return the text of an imported file, or a diagnostic at the span `at` if it cannot be read."""
        return read_import(place, reference, at)


@frozen
class CheckContext:
    """The settings that the caller of a check gives in addition to the text.

    `bindings` are the numbers that symbols of the data stand for, such as `{"n_features": 30}`. A symbol without a
    number stands for an arbitrarily large number. `allowed` are the packages that `use` may name. If `catalogue` is
    None, the bundled catalogue of scikit-learn is used. `columns` are the columns that pipelines get, if the data is
    known. With `keeps_all`, parts without meaning for the data stay in the space, as in version 0.2. `files` reads and
    parses the text and the files that it imports.
    """

    bindings: Mapping[str, int] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    catalogue: Catalogue | None = None
    columns: tuple[DataColumn, ...] | None = None
    keeps_all: bool = False
    files: FileReader = field(default_factory=FileReader, compare=False, repr=False)


NO_CONTEXT = CheckContext()


class BindingError(UserError, ValueError):
    """A symbol of the data cannot be bound. The attribute `help` says what is allowed."""


def check_bindings(given: Mapping[str, Any]) -> dict[str, int]:
    """Return the bindings as integers from `minimum_data_size` to 10^15; raise `BindingError` for others."""
    return {name: _number(name, value) for name, value in given.items()}


def _number(name: str, value: Any) -> int:
    if name not in DATA_SIZE_NAMES:
        listed = ", ".join(f"`{symbol}`" for symbol in DATA_SIZE_NAMES)
        raise BindingError(
            f"`{name}` is not a symbol for a size of the data",
            format_suggestion(name, DATA_SIZE_NAMES) or f"the symbols are {listed}",
        )
    least = minimum_data_size(name)
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not least <= number <= MAX_NUMBER:
        remedy = "give a whole number greater than 0" if least else "give a whole number of at least 0"
        raise BindingError(f"`{name}` cannot be `{value}`", remedy)
    return number
