"""A space as named questions (choices and values to draw); every combination of answers is a configuration.

A case split with several cases is a choice. An independent hyperparameter is one value to draw, or a choice between the
pieces of its domain and one value for each piece. There is no question if only one answer is possible, and none for a
guard or a switch, because previous answers decide it. The same part of the space is the same question wherever it
occurs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain
from spacelang.ir.domain_properties import index_of_containing_domain
from spacelang.ir.expr import INACTIVE, ExpressionValue, Lookup, is_true
from spacelang.ir.repeated_stages import address_to_expression_name
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment
from spacelang.reductions import case_splits
from spacelang.reductions.case_splits import (
    CaseSplit,
    GuardedParts,
    IndependentHyperparameter,
    UnfoldedPart,
    UnfoldedParts,
    ValueSwitch,
)
from spacelang.reductions.case_weights import CaseWeights
from spacelang.reductions.domain_reductions import (
    GRID_POINTS,
    DomainPredicate,
    DomainReduction,
    IdentityReduction,
    reduce_domain,
    split_into_simple,
)
from spacelang.reductions.varying_bounds import PartsWithVaryingBounds
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.text import unique_name


@dataclass(frozen=True, slots=True)
class FixedPiece:
    """A piece of a domain with a single value, so that nothing is drawn."""

    value: Value

    @property
    def part(self) -> SimpleDomain:
        """The set that contains only the value."""
        return Categorical((self.value,))


@dataclass(frozen=True, slots=True)
class DrawnPiece:
    """A named piece of a domain with several values; a library draws a member of its reduced `domain` for it."""

    name: str
    reduction: DomainReduction

    @property
    def part(self) -> SimpleDomain:
        """The piece before the reduction."""
        return self.reduction.part

    @property
    def domain(self) -> SimpleDomain:
        """The domain that the library supports, from which it draws."""
        return self.reduction.domain


Piece: TypeAlias = FixedPiece | DrawnPiece


@dataclass(frozen=True, slots=True)
class IndependentHyperparameterDraw:
    """The questions of a hyperparameter: which of several pieces of its domain, and which value of this piece.

    `choice` is the name of the first of these questions, and is empty if there is only one piece.
    """

    choice: str
    pieces: tuple[Piece, ...]

    @property
    def questions(self) -> dict[str, "Question"]:
        """The questions by name, the choice of the piece first."""
        choice: dict[str, Question] = {self.choice: self} if self.choice else {}
        return choice | {piece.name: piece for piece in self.pieces if isinstance(piece, DrawnPiece)}

    def encode(self, value: Value) -> dict[str, Any]:
        """Return the answers that lead to a value."""
        place = index_of_containing_domain([piece.part for piece in self.pieces], value)
        piece = self.pieces[place]
        found: dict[str, Any] = {self.choice: place} if self.choice else {}
        return found | {piece.name: piece.reduction.encode(value)} if isinstance(piece, DrawnPiece) else found

    def ask_value(self, answer: "Answer") -> Value:
        """Return the value to which the answers lead; `answer` takes the name of a question and the question."""
        piece = self.pieces[int(answer(self.choice, self)) if self.choice else 0]
        return piece.reduction.decode(answer(piece.name, piece)) if isinstance(piece, DrawnPiece) else piece.value


Question: TypeAlias = CaseSplit | IndependentHyperparameterDraw | DrawnPiece
"""A question; the answer is the index of a case, the index of a piece, or a member of the domain of a `DrawnPiece`."""
Answer: TypeAlias = Callable[[str, Question], Any]
"""A function that returns the answer to a question, given its name; raises LookupError if it has none."""
NameSharing: TypeAlias = Literal["none", "options", "answers", "ranges"]
"""Which questions about one variable, or one use of a chain, share a name. They are never asked together.

None; equal ones that lead to equal questions; all equal ones; or also those about all pieces of one range.
"""


@renamed_attributes(
    all="every_unfolded_part",
    every_part="every_unfolded_part",
    products="product_count",
    called="base_name",
    ask="ask_values",
    slots="drawn_pieces",
)
class Questions:
    """The questions of a space; `encode` and `decode` convert between configurations and answers."""

    def __init__(
        self,
        structures: Structures,
        bounded: PartsWithVaryingBounds,
        accepts: DomainPredicate,
        points: int = GRID_POINTS,
        *,
        sharing: NameSharing = "none",
    ) -> None:
        """Create the questions of the parts in `bounded`.

        `accepts` returns True for the domains from which the library can draw. `points` is the number of values of a
        grid that replaces a range. `sharing` says which questions may have the same name (see `NameSharing`).
        """
        self.structures = structures
        self.space = space = structures.space
        self.parts, self.varying_ranges = bounded.parts, bounded.ranges
        self.bounded_constraints = bounded.constraints
        self.forks: dict[int, str] = {}
        self.draws: dict[int, IndependentHyperparameterDraw] = {}
        self.by_name: dict[str, Question] = {}
        self._accepts, self._points = accepts, points
        self._sharing = sharing
        self._shared: dict[tuple[object, ...], str] = {}
        self._signatures: dict[tuple[object, ...], int] = {}
        self._part_signatures: dict[int, int] = {}
        self.names = VariableNames(space)
        wanted = (self.base_name(part) for part in self.every_unfolded_part if isinstance(part, CaseSplit))
        self._fork_counts = Counter(wanted) if sharing == "options" else Counter[str]()
        for part in self.every_unfolded_part:
            if isinstance(part, CaseSplit) and len(part.cases) > 1:
                self.forks[id(part)] = name = self._make_fork_name(part)
                self.by_name[name] = part
            elif isinstance(part, IndependentHyperparameter):
                pieces, name = split_into_simple(part.domain), self.base_name(part)
                choice = self._make_name(f"{name}:part", part.node, pieces) if len(pieces) > 1 else ""
                draw = IndependentHyperparameterDraw(
                    choice, tuple(self._make_piece(part.node, piece, name) for piece in pieces)
                )
                self.draws[id(part)] = draw
                self.by_name |= draw.questions

    @cached_property
    def every_unfolded_part(self) -> tuple[UnfoldedPart, ...]:
        """All parts of the questions without repetitions; case splits precede the parts inside of them."""
        return tuple(case_splits.all_parts(self.parts))

    @cached_property
    def domains(self) -> Mapping[str, SimpleDomain]:
        """The possible answers to every question by name: the indices of a choice, or the domain to draw from."""
        found: dict[str, SimpleDomain] = {}
        for name, asked in self.by_name.items():
            options = (
                asked.cases if isinstance(asked, CaseSplit) else () if isinstance(asked, DrawnPiece) else asked.pieces
            )
            found[name] = asked.domain if isinstance(asked, DrawnPiece) else Grid(0, len(options) - 1)
        return found

    @cached_property
    def guards(self) -> Mapping[str, GuardedParts]:
        """The guard of each hyperparameter that is chosen inside one, by its address."""
        guards = (part for part in self.every_unfolded_part if isinstance(part, GuardedParts))
        return {free.node.address: guard for guard in guards for free in _guarded(guard)}

    @cached_property
    def case_weights(self) -> CaseWeights:
        """The weights with which random answers to the choices follow the distribution of the space."""
        return CaseWeights(self.structures)

    @cached_property
    def product_count(self) -> int:
        """The number of combinations of cases; each of them is a product of independent hyperparameters."""
        return case_splits.count_combinations(self.parts)

    @cached_property
    def default(self) -> Configuration:
        """The default configuration of the space, or the nearest valid one if a constraint excludes it."""
        return member_nearest_to_default(self.structures)[1]

    def base_name(self, part: CaseSplit | IndependentHyperparameter) -> str:
        """Return the name of a part before it is made unique: a key, or an address if two variables share the key.

        It ends with `:case` if the part chooses between cases of a hyperparameter. It is `rule:case` for cases that
        only differ in which constraints hold.
        """
        if part.node is None:
            return "rule:case"
        name = self.names.name_of(part.node, across_uses=self._sharing != "none")
        return f"{name}:case" if isinstance(part, CaseSplit) and isinstance(part.node, Hyperparameter) else name

    def encode(self, configuration: Configuration, *, with_guarded: bool = False) -> dict[str, Any]:
        """Return the answers that lead to a configuration; raise LookupError if the space does not have it.

        If a reduction has dropped members, the answers lead to the nearest values that are left. With `with_guarded`,
        they also lead to the defaults of hyperparameters inside guards whose condition is false, unless an active one
        has the same name.
        """
        lookup = Assignment.from_configuration(self.space, configuration)
        found: dict[str, Any] = {}
        inactive: list[IndependentHyperparameter] = []
        for part, place in case_splits.parts_on_path(self.parts, lookup):
            if isinstance(part, CaseSplit) and id(part) in self.forks:
                found[self.forks[id(part)]] = place
            elif isinstance(part, IndependentHyperparameter):
                found |= self.draws[id(part)].encode(lookup(part.node.address))  # type: ignore[arg-type]
            elif isinstance(part, GuardedParts) and with_guarded and not place:
                inactive += _guarded(part)
        for free in inactive:
            answers = self.draws[id(free)].encode(free.node.default)
            # The same use of a chain may be active under the same names, in a chain with another number of uses.
            if found.keys().isdisjoint(answers):
                found |= answers
        return found

    def ask_values(self, answer: Answer, *, with_guarded: bool = False) -> dict[str, Value]:
        """Return the chosen values by key; `answer` is called with each question that the previous answers lead to.

        Its arguments are the name of the question and the question. With `with_guarded`, it is also called for those
        inside guards whose condition is false, to no effect.
        """
        known: dict[str, Value] = {}
        self._ask_parts(self.parts, answer, known, with_guarded)
        return {self.space.variables[address].key: value for address, value in known.items()}

    def decode(self, answers: Mapping[str, Any]) -> Configuration:
        """Return the configuration for answers by question name; raise LookupError if one is missing."""
        return Configuration(self.ask_values(lambda name, _: answers[name]))

    def are_answered(self, answers: Mapping[str, Any], *, with_guarded: bool = False) -> bool:
        """Return True if there is an answer to each question that the answers lead to, and none to any other.

        With `with_guarded`, these include questions inside guards whose condition is false.
        """
        asked: set[str] = set()

        def answer(name: str, _: Question) -> Any:
            asked.add(name)
            return answers[name]

        try:
            self.ask_values(answer, with_guarded=with_guarded)
        except LookupError:
            return False
        return asked == answers.keys()

    def drawn_pieces(self) -> Iterator[tuple[IndependentHyperparameter, DrawnPiece]]:
        """Yield every drawn piece with the hyperparameter that it belongs to."""
        for part in self.every_unfolded_part:
            if isinstance(part, IndependentHyperparameter):
                yield from ((part, piece) for piece in self.draws[id(part)].pieces if isinstance(piece, DrawnPiece))

    def _ask_parts(self, several: UnfoldedParts, answer: Answer, known: dict[str, Value], with_guarded: bool) -> None:
        """Ask the questions of parts, and add the chosen values to `known` by address."""

        def lookup(address: str) -> ExpressionValue:
            return known.get(address, INACTIVE)

        for part in several:
            match part:
                case CaseSplit():
                    name = self.forks.get(id(part))
                    case = part.cases[0 if name is None else int(answer(name, part))]
                    if isinstance(part.node, Choice) and case.branch is not None:
                        known[part.node.address] = case.branch
                    self._ask_parts(case.parts, answer, known, with_guarded)
                case IndependentHyperparameter():
                    known[part.node.address] = self._limited_draw(part, lookup).ask_value(answer)
                case ValueSwitch():
                    case = part.cases[case_splits.case_index_of_value(part, lookup)]
                    self._ask_parts(case.parts, answer, known, with_guarded)
                case GuardedParts():
                    holds = is_true(part.condition, lookup)
                    if holds or with_guarded:
                        self._ask_parts(part.parts, answer, known if holds else {}, with_guarded)
                case _:
                    raise TypeError("comparisons of ranges must be replaced before questions are built")

    def _limited_draw(self, part: IndependentHyperparameter, lookup: Lookup) -> IndependentHyperparameterDraw:
        """Return the questions of a hyperparameter, whose range may be limited by previous answers."""
        draw = self.draws[id(part)]
        (piece, *_) = draw.pieces
        if part.node.address not in self.varying_ranges or not isinstance(piece, DrawnPiece):
            return draw
        limited = self.varying_ranges[part.node.address].range_within_limits(lookup)
        return replace(draw, pieces=(replace(piece, reduction=IdentityReduction(limited)),))

    def _make_piece(self, node: Hyperparameter, part: SimpleDomain, name: str) -> Piece:
        if part.size == 1:
            return FixedPiece(part.value_at(0))
        if isinstance(part, Real) and part.least == part.greatest:
            return FixedPiece(part.least)
        reduction = reduce_domain(part, self._accepts, self._points)
        is_range = isinstance(reduction, IdentityReduction) and not isinstance(part, Categorical)
        if self._sharing != "ranges" or not is_range:
            return DrawnPiece(self._make_name(name, node, part), reduction)
        place = index_of_containing_domain(split_into_simple(node.domain), part.representative)
        return DrawnPiece(self._make_name(name, node, place), reduction)

    def _make_fork_name(self, fork: CaseSplit) -> str:
        wanted = self.base_name(fork)
        if self._sharing != "options":
            return self._make_name(wanted, fork.node, _answers(fork))
        if self._fork_counts[wanted] == 1:
            return self.names.make_unique(wanted)
        signature: tuple[object, ...] = (self._signature(fork),)
        name = self._make_name(wanted, fork.node, signature)
        first = self.by_name.get(name)  # the fork with whose shares the options of this name are drawn
        if not isinstance(first, CaseSplit):
            return name
        shares, others = map(self.case_weights.case_probabilities, (fork, first))
        return name if shares == others else self._make_name(wanted, fork.node, (*signature, *(shares or ())))

    def _signature(self, part: UnfoldedPart) -> int:
        """Return a number that is equal for parts that ask equal questions about one variable or use of a chain."""
        if id(part) not in self._part_signatures:
            found: tuple[object, ...] = (id(part),)
            if isinstance(part, CaseSplit | IndependentHyperparameter) and part.node is not None:
                about = address_to_expression_name(part.node.address, self.space.chains), part.node.key
                inner = (tuple(map(self._signature, parts)) for parts in case_splits.inner_parts(part))
                asked = _answers(part) if isinstance(part, CaseSplit) else part.domain
                found = (*about, asked, *inner)
            self._part_signatures[id(part)] = self._signatures.setdefault(found, len(self._signatures))
        return self._part_signatures[id(part)]

    def _make_name(self, wanted: str, node: Choice | Hyperparameter | None, asked: object) -> str:
        """Return a name for a question about a variable: `wanted`, with a number if it is taken.

        Unless `_sharing` is "none", questions about one variable with equal `wanted` and `asked` get the same name.
        """
        if self._sharing == "none" or node is None:
            return self.names.make_unique(wanted)
        key = wanted, address_to_expression_name(node.address, self.space.chains), asked
        if key not in self._shared:
            self._shared[key] = self.names.make_unique(wanted)
        return self._shared[key]


def _answers(fork: CaseSplit) -> tuple[object, ...]:
    return tuple((case.branch, case.domain) for case in fork.cases)


def _guarded(guard: GuardedParts) -> Iterator[IndependentHyperparameter]:
    """Yield the hyperparameters inside a guard."""
    return (part for part in guard.parts if isinstance(part, IndependentHyperparameter))


class VariableNames:
    """The names that have been given for the variables of one space, and for the questions about them."""

    def __init__(self, space: Space) -> None:
        self._chains = space.chains
        variables = space.variables.values()
        self._keys = Counter(variable.key for variable in variables)
        uses = {(each.key, address_to_expression_name(each.address, space.chains)) for each in variables}
        self._keys_of_uses = Counter(key for key, _ in uses)
        self.used: set[str] = set()

    def copy(self) -> "VariableNames":
        """Return an independent copy, in which further names may be given."""
        copied = copy(self)
        copied.used = {*self.used}
        return copied

    def has_unique_key(self, node: Choice | Hyperparameter) -> bool:
        """Return True if no other variable of the space has the same key."""
        return self._keys[node.key] == 1

    def name_of(self, node: Choice | Hyperparameter, *, across_uses: bool = False) -> str:
        """Return the key of a variable, or its address if another variable has the same key.

        With `across_uses`, a use of a chain is one variable, whatever the number of uses.
        """
        if across_uses:
            return (
                node.key
                if self._keys_of_uses[node.key] == 1
                else address_to_expression_name(node.address, self._chains)
            )
        return node.key if self.has_unique_key(node) else node.address

    def make_unique(self, wanted: str) -> str:
        """Return `wanted`, or `wanted` with a number if this method returned it before."""
        name = unique_name(wanted, self.used, "#")
        self.used.add(name)
        return name
