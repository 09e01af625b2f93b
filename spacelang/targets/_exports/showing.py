"""The base class of forms made of questions, with their text, DOT and JSON output."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import describe
from spacelang.ir.space import Hyperparameter
from spacelang.reductions.questions import Only, Questions, Slot
from spacelang.reductions.unfolding import Case, Fork, Free, Parts, UnfoldedPart
from spacelang.targets._shown import digraph, quoted, wrapped
from spacelang.text import counted


class QuestionForm(ABC):
    """A compiled space whose choices and draws are expressed with the functions of a library."""

    def __init__(self, named: Questions) -> None:
        """Take the questions; objects of the library are built when they are first used."""
        self.named = named

    @abstractmethod
    def encode(self, configuration: Configuration) -> dict[str, Any]:
        """Return the encoding of a member for the library."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a module that needs nothing but the library."""

    @abstractmethod
    def says(self, part: Fork | Free) -> str:
        """Return the names of the library functions that draw a part."""

    @cached_property
    def default(self) -> dict[str, Any]:
        """The encoding of the default configuration."""
        return self.encode(self.named.default)

    def to_json(self) -> dict[str, object]:
        """Return the numbered parts, the part numbers of the root and of each case, and the module."""
        numbers = {id(part): number for number, part in enumerate(self.named.all)}
        return {
            "products": self.named.products,
            "root": [numbers[id(part)] for part in self.named.parts],
            "parts": [self._entry(part, numbers) for part in self.named.all],
            **self.particulars(),
            "python": self.to_python(),
        }

    def particulars(self) -> dict[str, object]:
        """Return the additional keys of the JSON document, such as the default."""
        return {"default": self.default}

    def to_text(self) -> str:
        """Return the parts as a text tree; a part that occurs in several places is expanded once."""
        return "\n".join([self._title, *self._lines(self.named.parts, "", set())])

    def to_dot(self) -> str:
        """Return a DOT graph with a node for each part and an edge for each case that leads to it."""
        numbers = {id(part): f"p{number}" for number, part in enumerate(self.named.all)}
        edges = [f"root -> {numbers[id(part)]}" for part in self.named.parts]
        nodes = ['root [label="", shape=point]']
        for part in self.named.all:
            assert isinstance(part, Fork | Free)
            shape = "" if isinstance(part, Fork) else ", shape=plaintext"
            nodes.append(f"{numbers[id(part)]} [label={quoted(self._head(part))}{shape}]")
            if isinstance(part, Fork):
                for place, case in enumerate(part.cases):
                    nodes += _leaf(part, case, f"{numbers[id(part)]}_{place}")
                    edges += _edges(part, case, numbers, f"{numbers[id(part)]}_{place}")
        return digraph(self.named.space.name, self._title, [*nodes, *edges])

    @property
    def _title(self) -> str:
        """The name of the space with the numbers of choices, hyperparameters and products."""
        draws = sum(1 for _ in self.named.slots())
        return (
            f"{self.named.space.name}: {counted(len(self.named.forks), 'choice')}, {counted(draws, 'hyperparameter')}, "
            f"{counted(self.named.products, 'product')} of free hyperparameters"
        )

    def _entry(self, part: UnfoldedPart, numbers: Mapping[int, int]) -> dict[str, object]:
        assert isinstance(part, Fork | Free)
        address = {} if part.node is None else {"address": part.node.address, "key": part.node.key}
        if isinstance(part, Free):
            asked = [*self.named.draws[id(part)].questions]
            said = {"domain": describe(part.domain), "as": self.says(part)}
            return {"kind": "hyperparameter", **address, "names": asked, **said}
        cases = [{"case": case_words(part, c), "parts": [numbers[id(inner)] for inner in c.parts]} for c in part.cases]
        kind = "decision" if part.node is not None and not isinstance(part.node, Hyperparameter) else "case"
        return {"kind": kind, **address, "name": self.named.forks.get(id(part)), "cases": cases}

    def _lines(self, several: Parts, indent: str, seen: set[int]) -> Iterator[str]:
        for part in several:
            assert isinstance(part, Fork | Free)
            mark, deeper = ("└─ ", "   ") if part is several[-1] else ("├─ ", "│  ")
            is_again = isinstance(part, Fork) and id(part) in seen and any(case.parts for case in part.cases)
            yield f"{indent}{mark}{self._head(part)}{', as above' * is_again}"
            if isinstance(part, Fork) and not is_again:
                seen.add(id(part))
                yield from self._cases(part, indent + deeper, seen)

    def _cases(self, fork: Fork, indent: str, seen: set[int]) -> Iterator[str]:
        if len(fork.cases) == 1:
            yield from self._lines(fork.cases[0].parts, indent, seen)
            return
        plain: list[str] = []
        for case in fork.cases:
            if not case.parts:
                plain.append(f"• {case_words(fork, case)}")
                continue
            yield from wrapped(plain, indent, indent)
            plain = []
            yield f"{indent}• {case_words(fork, case)}"
            # Do not repeat a value that the label of the case already shows.
            inner = tuple(part for part in case.parts if not (isinstance(part, Free) and self._is_said(part, case)))
            yield from self._lines(inner, indent + "  ", seen)
        yield from wrapped(plain, indent, indent)

    def _is_said(self, part: Free, case: Case) -> bool:
        pieces = self.named.draws[id(part)].pieces
        return part.domain == case.domain and all(isinstance(piece, Only) for piece in pieces)

    def _head(self, part: Fork | Free) -> str:
        name = self.named.forks.get(id(part), self.named.called(part))
        if isinstance(part, Fork):
            is_settled = len(part.cases) == 1
            return f"{name} = {case_words(part, part.cases[0])}" if is_settled else f"{name}: {self.says(part)}"
        is_drawn = any(isinstance(piece, Slot) for piece in self.named.draws[id(part)].pieces)
        return f"{name} : {describe(part.domain)}" + (f"   {self.says(part)}" if is_drawn else "")


def case_words(fork: Fork, case: Case) -> str:
    """Return the label of a case of a fork."""
    if case.branch is not None:
        return case.branch
    if case.domain is not None:
        return describe(case.domain)
    return f"way {fork.cases.index(case) + 1}" if fork.node is None else "inactive"


def _leaf(fork: Fork, case: Case, name: str) -> list[str]:
    return [] if case.parts else [f"{name} [label={quoted(case_words(fork, case))}, shape=plaintext]"]


def _edges(fork: Fork, case: Case, numbers: Mapping[int, str], leaf: str) -> list[str]:
    words = quoted(case_words(fork, case))
    inner = [f"{numbers[id(fork)]} -> {numbers[id(part)]} [label={words}]" for part in case.parts]
    return inner or [f"{numbers[id(fork)]} -> {leaf}"]
