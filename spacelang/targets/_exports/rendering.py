"""The base class of forms made of questions, with their text, DOT and JSON output."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import describe
from spacelang.ir.space import Hyperparameter
from spacelang.reductions.questions import DrawnPiece, FixedPiece, Questions
from spacelang.reductions.unfolding import Case, Fork, FreeHyperparameter, Parts, UnfoldedPart
from spacelang.targets._text_and_dot import digraph, quote_dot, wrap_words
from spacelang.text import count_with_noun


class QuestionForm(ABC):
    """A compiled space whose choices and draws are expressed with the functions of a library."""

    def __init__(self, named: Questions) -> None:
        """Take the questions; objects of the library are built when they are first used."""
        self.questions = named

    @abstractmethod
    def encode(self, configuration: Configuration) -> dict[str, Any]:
        """Return the encoding of a member for the library."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a module that needs nothing but the library."""

    @abstractmethod
    def sampling_function_names(self, part: Fork | FreeHyperparameter) -> str:
        """Return the names of the library functions that draw a part."""

    @cached_property
    def default(self) -> dict[str, Any]:
        """The encoding of the default configuration."""
        return self.encode(self.questions.default)

    def to_json(self) -> dict[str, object]:
        """Return the numbered parts, the part numbers of the root and of each case, and the module."""
        numbers = {id(part): number for number, part in enumerate(self.questions.every_part)}
        return {
            "products": self.questions.product_count,
            "root": [numbers[id(part)] for part in self.questions.parts],
            "parts": [self._part_to_json(part, numbers) for part in self.questions.every_part],
            **self.extra_json(),
            "python": self.to_python(),
        }

    def extra_json(self) -> dict[str, object]:
        """Return the additional keys of the JSON document, such as the default."""
        return {"default": self.default}

    def to_text(self) -> str:
        """Return the parts as a text tree; a part that occurs in several places is expanded once."""
        return "\n".join([self._title, *self._part_lines(self.questions.parts, "", set())])

    def to_dot(self) -> str:
        """Return a DOT graph with a node for each part and an edge for each case that leads to it."""
        numbers = {id(part): f"p{number}" for number, part in enumerate(self.questions.every_part)}
        edges = [f"root -> {numbers[id(part)]}" for part in self.questions.parts]
        nodes = ['root [label="", shape=point]']
        for part in self.questions.every_part:
            assert isinstance(part, Fork | FreeHyperparameter)
            shape = "" if isinstance(part, Fork) else ", shape=plaintext"
            nodes.append(f"{numbers[id(part)]} [label={quote_dot(self._part_title(part))}{shape}]")
            if isinstance(part, Fork):
                for place, case in enumerate(part.cases):
                    nodes += _leaf_lines(part, case, f"{numbers[id(part)]}_{place}")
                    edges += _edge_lines(part, case, numbers, f"{numbers[id(part)]}_{place}")
        return digraph(self.questions.space.name, self._title, [*nodes, *edges])

    @property
    def _title(self) -> str:
        """The name of the space with the numbers of choices, hyperparameters and products."""
        draws = sum(1 for _ in self.questions.drawn_pieces())
        forks = count_with_noun(len(self.questions.forks), "choice")
        return (
            f"{self.questions.space.name}: {forks}, {count_with_noun(draws, 'hyperparameter')}, "
            f"{count_with_noun(self.questions.product_count, 'product')} of free hyperparameters"
        )

    def _part_to_json(self, part: UnfoldedPart, numbers: Mapping[int, int]) -> dict[str, object]:
        assert isinstance(part, Fork | FreeHyperparameter)
        address = {} if part.node is None else {"address": part.node.address, "key": part.node.key}
        if isinstance(part, FreeHyperparameter):
            asked = [*self.questions.draws[id(part)].questions]
            said = {"domain": describe(part.domain), "as": self.sampling_function_names(part)}
            return {"kind": "hyperparameter", **address, "names": asked, **said}
        cases = [{"case": case_label(part, c), "parts": [numbers[id(inner)] for inner in c.parts]} for c in part.cases]
        kind = "decision" if part.node is not None and not isinstance(part.node, Hyperparameter) else "case"
        return {"kind": kind, **address, "name": self.questions.forks.get(id(part)), "cases": cases}

    def _part_lines(self, several: Parts, indent: str, seen: set[int]) -> Iterator[str]:
        for part in several:
            assert isinstance(part, Fork | FreeHyperparameter)
            mark, deeper = ("└─ ", "   ") if part is several[-1] else ("├─ ", "│  ")
            is_again = isinstance(part, Fork) and id(part) in seen and any(case.parts for case in part.cases)
            yield f"{indent}{mark}{self._part_title(part)}{', as above' * is_again}"
            if isinstance(part, Fork) and not is_again:
                seen.add(id(part))
                yield from self._case_lines(part, indent + deeper, seen)

    def _case_lines(self, fork: Fork, indent: str, seen: set[int]) -> Iterator[str]:
        if len(fork.cases) == 1:
            yield from self._part_lines(fork.cases[0].parts, indent, seen)
            return
        plain: list[str] = []
        for case in fork.cases:
            if not case.parts:
                plain.append(f"• {case_label(fork, case)}")
                continue
            yield from wrap_words(plain, indent, indent)
            plain = []
            yield f"{indent}• {case_label(fork, case)}"
            # Do not repeat a value that the label of the case already shows.
            inner = tuple(
                part
                for part in case.parts
                if not (isinstance(part, FreeHyperparameter) and self._is_implied_by_label(part, case))
            )
            yield from self._part_lines(inner, indent + "  ", seen)
        yield from wrap_words(plain, indent, indent)

    def _is_implied_by_label(self, part: FreeHyperparameter, case: Case) -> bool:
        pieces = self.questions.draws[id(part)].pieces
        return part.domain == case.domain and all(isinstance(piece, FixedPiece) for piece in pieces)

    def _part_title(self, part: Fork | FreeHyperparameter) -> str:
        name = self.questions.forks.get(id(part), self.questions.base_name(part))
        if isinstance(part, Fork):
            is_settled = len(part.cases) == 1
            return (
                f"{name} = {case_label(part, part.cases[0])}"
                if is_settled
                else f"{name}: {self.sampling_function_names(part)}"
            )
        is_drawn = any(isinstance(piece, DrawnPiece) for piece in self.questions.draws[id(part)].pieces)
        return f"{name} : {describe(part.domain)}" + (f"   {self.sampling_function_names(part)}" if is_drawn else "")


def case_label(fork: Fork, case: Case) -> str:
    """Return the label of a case of a fork."""
    if case.branch is not None:
        return case.branch
    if case.domain is not None:
        return describe(case.domain)
    return f"way {fork.cases.index(case) + 1}" if fork.node is None else "inactive"


def _leaf_lines(fork: Fork, case: Case, name: str) -> list[str]:
    return [] if case.parts else [f"{name} [label={quote_dot(case_label(fork, case))}, shape=plaintext]"]


def _edge_lines(fork: Fork, case: Case, numbers: Mapping[int, str], leaf: str) -> list[str]:
    words = quote_dot(case_label(fork, case))
    inner = [f"{numbers[id(fork)]} -> {numbers[id(part)]} [label={words}]" for part in case.parts]
    return inner or [f"{numbers[id(fork)]} -> {leaf}"]
