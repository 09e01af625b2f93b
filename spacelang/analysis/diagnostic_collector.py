"""The context of a check, and the collector of diagnostics and of symbols of the data, to which all phases add."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import product
from operator import index
from typing import TYPE_CHECKING, Any, Final

from spacelang.catalog.catalogue import Catalogue
from spacelang.deprecation import make_module_getattr
from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace, Severity
from spacelang.diagnostics.domains import UnboundDataSymbol
from spacelang.errors import UserError
from spacelang.frozen import frozen
from spacelang.ir.data_binding import DATA_SIZE_NAMES, DataColumn, minimum_data_size
from spacelang.spelling_suggestions import format_suggestion
from spacelang.syntax.parser import ParseResult, parse
from spacelang.syntax.sources import ImportLocation, read_import
from spacelang.text import Source, Span

if TYPE_CHECKING:
    from spacelang.syntax import ast


class DataSymbols:
    """The numbers of the symbols of the data, and a record of all places that mention one."""

    def __init__(self, bindings: Mapping[str, int] | None = None) -> None:
        self._bindings = dict(bindings or {})
        self._mentions: dict[Source, list[tuple[int, str]]] = {}
        self._domains: dict[Span, ast.Domain] = {}
        self._defaults: set[Span] = set()
        self._counted: set[str] = set()
        self._simplified: set[Span] = set()

    def record_mention(self, name: str, span: Span) -> float:
        """Record that a symbol is mentioned at a place, and return its number, or infinity if it is not bound."""
        mentions = self._mentions.setdefault(span.source, [])
        place = bisect_left(mentions, (span.start, name))
        if mentions[place : place + 1] != [(span.start, name)]:
            mentions.insert(place, (span.start, name))
        return self._bindings.get(name, math.inf)

    def copy_mentions(self, source_span: Span, place: Span) -> None:
        """Record that the text at `place` stands for that at `source_span`, so that it mentions the same symbols."""
        for name in self.symbols_mentioned_in(source_span):
            self.record_mention(name, place)

    @property
    def used_symbols(self) -> dict[str, int | None]:
        """The symbols of the data that the space depends on, sorted, each with its number, or None if it is unbound.

        These are the symbols that the text mentions, and bound ones that count the columns that `columns(…)` selects.
        """
        names = {name for mentions in self._mentions.values() for _, name in mentions} | self._counted
        return {name: self._bindings.get(name) for name in sorted(names)}

    def symbols_mentioned_in(self, span: Span) -> tuple[str, ...]:
        """Return the symbols that are mentioned inside a span, each once."""
        mentions = self._mentions.get(span.source) if self._mentions else None
        if not mentions:
            return ()
        start, end = bisect_left(mentions, (span.start, "")), bisect_left(mentions, (span.end, ""))
        return tuple(dict.fromkeys(name for _, name in mentions[start:end]))

    def unbound_symbols_in(self, span: Span) -> tuple[str, ...]:
        """Return the symbols inside a span that are not bound."""
        return tuple(name for name in self.symbols_mentioned_in(span) if name not in self._bindings)

    def is_fully_bound_in(self, span: Span) -> bool:
        """Return True if a text mentions symbols of the data, and all of them are bound."""
        return bool(self.symbols_mentioned_in(span)) and not self.unbound_symbols_in(span)

    def record_column_count_symbol(self, name: str) -> None:
        """Record that the space depends on a bound symbol that counts the columns of a kind."""
        if name in self._bindings:
            self._counted.add(name)

    def record_simplification(self, span: Span) -> None:
        """Record that the expression at a span was simplified because of the columns of the data."""
        self._simplified.add(span)

    def depends_on_data(self, span: Span) -> bool:
        """Return True if the text at a span mentions symbols of the data, or was simplified because of its columns."""
        return span in self._simplified or bool(self.symbols_mentioned_in(span))

    def first_mention(self, span: Span, names: Iterable[str]) -> Span:
        """Return the first place inside a span that mentions one of the symbols by its name, or the span itself."""
        mentions = (each for each in self._mentions[span.source] if span.start <= each[0] < span.end)
        places = (Span(span.source, start, start + len(name)) for start, name in mentions)
        return next((place for place in places if place.text in names), span)

    def is_bound(self, name: str) -> bool:
        """Return True if a symbol has a number."""
        return name in self._bindings

    def record_domain(self, name: Span, domain: "ast.Domain") -> None:
        """Store, by the span of its name, the written domain of a hyperparameter if it depends on the data."""
        if self.symbols_mentioned_in(domain.span):
            self._domains[name] = domain

    def data_dependent_domain(self, name: Span) -> "ast.Domain | None":
        """Return the written domain of a hyperparameter if it depends on the data, else None."""
        return self._domains.get(name)

    def record_default(self, name: Span, default: Span) -> None:
        """Record, by the span of a hyperparameter's name, that its default (a span) depends on the data, if so."""
        if self.symbols_mentioned_in(default):
            self._defaults.add(name)

    def has_data_dependent_default(self, name: Span) -> bool:
        """Return True if the default of a hyperparameter depends on the data."""
        return name in self._defaults

    def binding_notes(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return a note for each symbol that says what number it stands for."""
        return tuple(
            f"`{name}` is {self._bindings[name]}"
            if name in self._bindings
            else f"`{name}` is not bound and stands for an arbitrarily large number"
            for name in dict.fromkeys(names)
        )

    def bindings_phrase(self, names: Iterable[str]) -> str:
        """Return the numbers of the named symbols as the beginning of a sentence: "for n_features = 20 ".

        A symbol without a number is "arbitrarily large n_samples". Without names, the text is empty.
        """
        bound = [f"{name} = {self._bindings[name]}" for name in names if name in self._bindings]
        free = [f"arbitrarily large {name}" for name in names if name not in self._bindings]
        return f"for {' and '.join((*bound, *free))} " if bound or free else ""


class DiagnosticCollector:
    """The diagnostics found so far, in no particular order, and the symbols of the data that the text mentions."""

    def __init__(self, symbols: DataSymbols | None = None) -> None:
        self.found: list[Diagnostic] = []
        self._brought: set[Diagnostic] = set()
        self._awaiting: set[Span] = set()
        self._by_data: set[Span] = set()
        self.symbols = DataSymbols() if symbols is None else symbols

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic."""
        self.found.append(diagnostic)

    def add_related_place(self, first_diagnostic: int, through: RelatedPlace) -> None:
        """Add the related place `through` to the diagnostics from index `first_diagnostic` on.

        Drop diagnostics that an earlier call of this method has already attributed.
        """
        new = [problem for problem in self.found[first_diagnostic:] if problem not in self._brought]
        self._brought.update(new)
        self.found[first_diagnostic:] = [problem.with_related(through) for problem in new]

    def report_unbound_symbol(self, span: Span, limit: str | None = None) -> None:
        """Report the first unbound symbol in a span.

        `limit` describes what is infinite because of it, for the message.
        """
        free = self.symbols.unbound_symbols_in(span)
        at = self.symbols.first_mention(span, free)
        self.add(UnboundDataSymbol(at, symbol=at.text if at.text in free else free[0], limit=limit))

    @property
    def has_errors(self) -> bool:
        """True if a diagnostic is an error, so that the space cannot be used."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.found)

    def mark_data_dependent(self, first_diagnostic: int) -> None:
        """Record that the diagnostics from index `first_diagnostic` on may disappear for data of another size."""
        self._awaiting.update(problem.primary for problem in self.found[first_diagnostic:])

    def mark_possibly_caused_by_bindings(self, first_diagnostic: int) -> None:
        """Record that diagnostics from index `first_diagnostic` on may be caused by the numbers of bound symbols."""
        self._by_data.update(problem.primary for problem in self.found[first_diagnostic:])

    def discard_data_dependent(self, first_diagnostic: int) -> None:
        """Remove the diagnostics from index `first_diagnostic` on that the size of the data causes."""
        self.found[first_diagnostic:] = [
            problem
            for problem in self.found[first_diagnostic:]
            if not isinstance(problem, UnboundDataSymbol) and problem.primary not in self._by_data | self._awaiting
        ]

    @property
    def has_only_data_dependent_errors(self) -> bool:
        """True if there are errors and all of them may disappear for data of another size."""
        errors = [problem for problem in self.found if problem.severity is Severity.ERROR]
        waiting = [isinstance(problem, UnboundDataSymbol) or problem.primary in self._awaiting for problem in errors]
        return bool(errors) and all(waiting)


LARGE_SIZES: Final[Mapping[str, int]] = {**dict.fromkeys(DATA_SIZE_NAMES, 10**12), "n_classes": 10**4}
"""A number for each symbol that is larger than that of realistic data."""


def extreme_data_sizes(names: Iterable[str]) -> Iterator[Mapping[str, int]]:
    """Yield the smallest and largest numbers of the named symbols, in all combinations.

    Bounds rise or fall with each size, so they have their extreme values at these sizes.
    """
    distinct = tuple(dict.fromkeys(names))
    sizes = ((minimum_data_size(name), minimum_data_size(name) + 1, LARGE_SIZES[name]) for name in distinct)
    return (dict(zip(distinct, each, strict=True)) for each in product(*sizes))


VAST: Final[tuple[Mapping[str, int], ...]] = tuple(
    {**dict.fromkeys(DATA_SIZE_NAMES, columns // 10), "n_classes": 10**4, "n_samples": rows, "n_features": columns}
    for rows, columns in ((10**12, 10**8), (10**8, 10**12))
)
"""The sizes of unrealistically tall and wide data."""


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
class CheckSettings:
    """The settings that the caller of a check gives in addition to the text.

    `bindings` are the numbers that symbols of the data stand for, such as `{"n_features": 30}`. A symbol without a
    number stands for an arbitrarily large number. `allowed` are the packages that `use` may name. If `catalogue` is
    None, the bundled catalogue of scikit-learn is used. `columns` are the columns that pipelines get, if the data is
    known. With `keeps_meaningless_parts`, parts of the space that these columns make meaningless are not removed, as in
    version 0.2. `files` reads and parses the text and the files that it imports.
    """

    bindings: Mapping[str, int] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    catalogue: Catalogue | None = None
    columns: tuple[DataColumn, ...] | None = None
    keeps_meaningless_parts: bool = False
    files: FileReader = field(default_factory=FileReader, compare=False, repr=False)


DEFAULT_CHECK_SETTINGS = CheckSettings()


class BindingError(UserError, ValueError):
    """Exception for a binding that is not allowed: an unknown symbol of the data or an invalid number.

    `help` has the remedy.
    """


def check_bindings(given: Mapping[str, Any]) -> dict[str, int]:
    """Return the bindings as integers from `minimum_data_size` to 10^15; raise `BindingError` for any other binding."""
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


__getattr__ = make_module_getattr(__name__, {"CheckContext": "CheckSettings"})
