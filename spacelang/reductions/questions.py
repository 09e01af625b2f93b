"""A space as named questions (choices and values to draw); every combination of answers is a configuration.

A fork with several cases is a choice. A free hyperparameter is one value to draw, or a choice between the pieces of its
domain and one value for each piece. Nothing is asked where there is only one possibility. The same part of the space is
the same question wherever it occurs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Simple, part_of
from spacelang.ir.space import Choice, Hyperparameter
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment
from spacelang.reductions.domains import Accepts, Reduction, reduction, simple_pieces
from spacelang.reductions.naming import VariableNames
from spacelang.reductions.unfolding import Fork, Free, Parts, UnfoldedPart, all_parts, combinations, route
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import nearest_admissible


@dataclass(frozen=True, slots=True)
class Only:
    """A piece of a domain with a single value, so that nothing is drawn."""

    value: Value

    @property
    def part(self) -> Simple:
        """The set that contains only the value."""
        return Categorical((self.value,))


@dataclass(frozen=True, slots=True)
class Slot:
    """A named piece of a domain with several values, drawn in the form that its reduction gives it."""

    name: str
    reduction: Reduction

    @property
    def part(self) -> Simple:
        """The piece before the reduction."""
        return self.reduction.part

    @property
    def domain(self) -> Simple:
        """The accepted domain that is drawn from."""
        return self.reduction.domain


Piece: TypeAlias = Only | Slot


@dataclass(frozen=True, slots=True)
class Draw:
    """The questions of a free hyperparameter: one of its pieces, and a value in that piece.

    If there are several pieces, `choice` is the name of the question that selects one; else it is empty.
    """

    choice: str
    pieces: tuple[Piece, ...]

    @property
    def questions(self) -> dict[str, "Question"]:
        """The questions by name, the choice of the piece first."""
        choice: dict[str, Question] = {self.choice: self} if self.choice else {}
        return choice | {piece.name: piece for piece in self.pieces if isinstance(piece, Slot)}

    def encode(self, value: Value) -> dict[str, Any]:
        """Return the answers that lead to a value."""
        place = part_of([piece.part for piece in self.pieces], value)
        piece = self.pieces[place]
        found: dict[str, Any] = {self.choice: place} if self.choice else {}
        return found | {piece.name: piece.reduction.encode(value)} if isinstance(piece, Slot) else found

    def ask(self, answer: "Answer") -> Value:
        """Return the value to which the answers lead; `answer` is called for each question."""
        piece = self.pieces[int(answer(self.choice, self)) if self.choice else 0]
        return piece.reduction.decode(answer(piece.name, piece)) if isinstance(piece, Slot) else piece.value


Question: TypeAlias = Fork | Draw | Slot
"""A question; the answer is the index of a case, the index of a piece, or a member of the domain of a `Slot`."""
Answer: TypeAlias = Callable[[str, Question], Any]
"""A function that returns the answer to a question, given its name; raises LookupError if it has none."""


class Questions:
    """The questions of a space; `encode` and `decode` convert between configurations and answers."""

    def __init__(self, structures: Structures, unfolded: Parts, accepts: Accepts) -> None:
        """Create the questions for the unfolded parts of a space.

        `accepts` returns True for the domains that may be drawn from.
        """
        self.structures = structures
        self.space = space = structures.space
        self.parts = unfolded
        self.forks: dict[int, str] = {}
        self.draws: dict[int, Draw] = {}
        self.by_name: dict[str, Question] = {}
        self._accepts = accepts
        self.names = VariableNames(space)
        for part in self.all:
            if isinstance(part, Fork) and len(part.cases) > 1:
                self.forks[id(part)] = name = self.names.new(self.called(part))
                self.by_name[name] = part
            elif isinstance(part, Free):
                self.draws[id(part)] = draw = self._drawn(part)
                self.by_name |= draw.questions

    @cached_property
    def all(self) -> tuple[UnfoldedPart, ...]:
        """Every part once, forks before their contents."""
        return tuple(all_parts(self.parts))

    @cached_property
    def domains(self) -> Mapping[str, Simple]:
        """The possible answers to every question by name: the indices of a choice, or the domain to draw from."""
        return {name: _answers_to(question) for name, question in self.by_name.items()}

    @cached_property
    def products(self) -> int:
        """The number of products of free hyperparameters that cover the space."""
        return combinations(self.parts)

    @cached_property
    def default(self) -> Configuration:
        """The default configuration of the space, or the nearest valid one if a constraint excludes it."""
        return nearest_admissible(self.structures)[1]

    def called(self, part: Fork | Free) -> str:
        """Return the name of a part before it is made unique: a key, or an address if two variables share the key."""
        if part.node is None:
            return "rule:case"
        name = self.names.of(part.node)
        return f"{name}:case" if isinstance(part, Fork) and isinstance(part.node, Hyperparameter) else name

    def encode(self, configuration: Configuration) -> dict[str, Any]:
        """Return the answers that lead to a configuration, by question name; raise LookupError if it is not valid."""
        lookup = Assignment.of(self.space, configuration)
        found: dict[str, Any] = {}
        for part, place in route(self.parts, lookup):
            if isinstance(part, Fork) and id(part) in self.forks:
                found[self.forks[id(part)]] = place
            elif isinstance(part, Free):
                found |= self.draws[id(part)].encode(lookup(part.node.address))  # type: ignore[arg-type]
        return found

    def ask(self, answer: Answer) -> dict[str, Value]:
        """Return the values to which answers lead, by configuration key.

        `answer` is called for each question, after the questions that lead to it.
        """
        found: dict[str, Value] = {}
        self._ask(self.parts, answer, found)
        return found

    def decode(self, answers: Mapping[str, Any]) -> Configuration:
        """Return the configuration for answers by question name; raise LookupError if one is missing."""
        return Configuration(self.ask(lambda name, _: answers[name]))

    def are_answered(self, answers: Mapping[str, Any]) -> bool:
        """Return True if the answers belong to exactly the questions that they lead to."""
        asked: set[str] = set()

        def answer(name: str, _: Question) -> Any:
            asked.add(name)
            return answers[name]

        try:
            self.ask(answer)
        except LookupError:
            return False
        return asked == answers.keys()

    def slots(self) -> Iterator[tuple[Free, Slot]]:
        """Yield every drawn piece with the hyperparameter that it belongs to."""
        for part in self.all:
            if isinstance(part, Free):
                yield from ((part, piece) for piece in self.draws[id(part)].pieces if isinstance(piece, Slot))

    def _ask(self, several: Parts, answer: Answer, found: dict[str, Value]) -> None:
        for part in several:
            if isinstance(part, Fork):
                name = self.forks.get(id(part))
                case = part.cases[0 if name is None else int(answer(name, part))]
                if isinstance(part.node, Choice) and case.branch is not None:
                    found[part.node.key] = case.branch
                self._ask(case.parts, answer, found)
            elif isinstance(part, Free):
                found[part.node.key] = self.draws[id(part)].ask(answer)

    def _drawn(self, free: Free) -> Draw:
        pieces = simple_pieces(free.domain)
        name = self.called(free)
        choice = self.names.new(f"{name}:part") if len(pieces) > 1 else ""
        return Draw(choice, tuple(self._piece(piece, name) for piece in pieces))

    def _piece(self, part: Simple, name: str) -> Piece:
        if part.size == 1:
            return Only(part.at(0))
        if isinstance(part, Real) and part.least == part.greatest:
            return Only(part.least)
        return Slot(self.names.new(name), reduction(part, self._accepts))


def _answers_to(question: Question) -> Simple:
    match question:
        case Fork():
            return Grid(0, len(question.cases) - 1)
        case Draw():
            return Grid(0, len(question.pieces) - 1)
        case Slot():
            return question.domain
