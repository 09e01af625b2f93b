"""Symbols of the data: what they are bound to, and where a space asks for them."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Final

from spacelang.text import Source, Span

if TYPE_CHECKING:
    from spacelang.syntax import ast

EXTREMES: Final[tuple[Mapping[str, int], ...]] = tuple(
    {"n_classes": classes, "n_features": columns, "n_samples": rows}
    for classes, columns, rows in product((1, 2, 10**4), (1, 2, 10**12), (1, 2, 10**12))
)
"""The sizes of the smallest data and of larger data than there is: bounds rise or fall with each, and end here."""

VAST: Final[tuple[Mapping[str, int], ...]] = (
    {"n_samples": 10**12, "n_features": 10**8, "n_classes": 10**4},
    {"n_samples": 10**8, "n_features": 10**12, "n_classes": 10**4},
)
"""The sizes of tall and of wide data, larger than there is."""


class Symbols:
    """The numbers of the symbols, and a record of every place that mentions one."""

    def __init__(self, bindings: Mapping[str, int] | None = None) -> None:
        self._bindings = dict(bindings or {})
        self._mentions: dict[Source, list[tuple[int, str]]] = {}
        self._domains: dict[Span, ast.Domain] = {}
        self._defaults: set[Span] = set()

    def mention(self, name: str, span: Span) -> float:
        """The number of a symbol that is mentioned at a place: infinity where it is not bound."""
        mentions = self._mentions.setdefault(span.source, [])
        place = bisect_left(mentions, (span.start, name))
        if mentions[place : place + 1] != [(span.start, name)]:
            mentions.insert(place, (span.start, name))
        return self._bindings.get(name, math.inf)

    def echo(self, said: Span, place: Span) -> None:
        """Take it that a place mentions what is mentioned inside a span: it speaks of what is written there."""
        for name in self.within(said):
            self.mention(name, place)

    @property
    def used(self) -> dict[str, int | None]:
        """The symbols that are mentioned somewhere, each with its number; None where it is not bound."""
        names = {name for mentions in self._mentions.values() for _, name in mentions}
        return {name: self._bindings.get(name) for name in sorted(names)}

    def within(self, span: Span) -> tuple[str, ...]:
        """The symbols that are mentioned inside a span, each once."""
        mentions = self._mentions.get(span.source) if self._mentions else None
        if not mentions:
            return ()
        start, end = bisect_left(mentions, (span.start, "")), bisect_left(mentions, (span.end, ""))
        return tuple(dict.fromkeys(name for _, name in mentions[start:end]))

    def free(self, span: Span) -> tuple[str, ...]:
        """Those of them that have no number."""
        return tuple(name for name in self.within(span) if name not in self._bindings)

    def place(self, span: Span, names: Iterable[str]) -> Span:
        """The first place inside a span that mentions one of the symbols by its name."""
        mentions = (each for each in self._mentions[span.source] if span.start <= each[0] < span.end)
        places = (Span(span.source, start, start + len(name)) for start, name in mentions)
        return next(place for place in places if place.text in names)

    def is_bound(self, name: str) -> bool:
        """Whether the number of a symbol is known."""
        return name in self._bindings

    def record(self, name: Span, domain: "ast.Domain") -> None:
        """Keep the domain of a hyperparameter, known by the place of its name, if the data has a say in it."""
        if self.within(domain.span):
            self._domains[name] = domain

    def domain(self, name: Span) -> "ast.Domain | None":
        """The domain of a hyperparameter as written if it depends on the data; None if it does not."""
        return self._domains.get(name)

    def record_default(self, name: Span, default: Span) -> None:
        """Keep that the data has a say in a default, known by the place of the hyperparameter's name, if it has."""
        if self.within(default):
            self._defaults.add(name)

    def decides_default(self, name: Span) -> bool:
        """Whether the default of a hyperparameter depends on the data."""
        return name in self._defaults

    def notes(self, names: Iterable[str]) -> tuple[str, ...]:
        """What the symbols stand for, a note each."""
        return tuple(
            f"`{name}` is {self._bindings[name]}"
            if name in self._bindings
            else f"`{name}` is not bound and stands for an arbitrarily large number"
            for name in dict.fromkeys(names)
        )

    def premise(self, names: Iterable[str]) -> str:
        """What something follows from, as the beginning of a sentence; empty without symbols."""
        bound = [f"{name} = {self._bindings[name]}" for name in names if name in self._bindings]
        free = [f"arbitrarily large {name}" for name in names if name not in self._bindings]
        return f"for {' and '.join((*bound, *free))} " if bound or free else ""
