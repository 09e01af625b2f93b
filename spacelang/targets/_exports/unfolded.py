"""What targets for tools without conditions and constraints share: the parts of a space, each under a name of its own.

A fork of several cases is a choice that the tool makes; a free hyperparameter is one or several draws. What leaves
nothing to choose has no name. The same part is the same name wherever it occurs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Real, Simple, part_of, parts
from spacelang.ir.expr import Expr, references
from spacelang.ir.membership import exclusion
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment
from spacelang.solver.compiled import TooTangledError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default, nearest_admissible
from spacelang.solver.unfolding import Fork, Free, Part, Parts, Related, all_parts, combinations, route, unfold
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import Finding, Keeps, Verdict, report_of


@dataclass(frozen=True, slots=True)
class Only:
    """A piece of a domain with a single value: there is nothing to draw."""

    value: Value

    @property
    def part(self) -> Simple:
        """The set of the value."""
        return Categorical((self.value,))


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of a domain with several values, drawn under a name of its own."""

    name: str
    part: Simple


Piece: TypeAlias = Only | Slot


@dataclass(frozen=True, slots=True)
class Draw:
    """How a free hyperparameter is drawn: one of the pieces, chosen under the name `choice` where they are several."""

    choice: str
    pieces: tuple[Piece, ...]

    def find(self, value: Value) -> tuple[int, Piece]:
        """The place and the piece of a member."""
        place = part_of([piece.part for piece in self.pieces], value)
        return place, self.pieces[place]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a configuration takes under a name: the case of a fork, the piece of a draw, the member of a slot."""

    name: str
    of: Fork | Draw | Slot
    place: int = 0
    value: Value = None


class Unfolded:
    """The parts of a space with their names."""

    def __init__(self, structures: Structures, unfolded: Parts) -> None:
        self.structures = structures
        self.space = space = structures.space
        self.parts = unfolded
        self.forks: dict[int, str] = {}
        self.draws: dict[int, Draw] = {}
        self._keys = Counter(variable.key for variable in space.variables.values())
        self._names: set[str] = set()
        for part in self.all:
            if isinstance(part, Fork) and len(part.cases) > 1:
                self.forks[id(part)] = self._new(self.called(part))
            elif isinstance(part, Free):
                self.draws[id(part)] = self._drawn(part)

    @cached_property
    def all(self) -> tuple[Part, ...]:
        """Every part once, forks before what is inside them."""
        return tuple(all_parts(self.parts))

    @cached_property
    def products(self) -> int:
        """How many products of free hyperparameters cover the space."""
        return combinations(self.parts)

    @cached_property
    def default(self) -> Configuration:
        """The default configuration of the space; the member nearest to it where a constraint excludes it."""
        usual = default(self.space)
        return usual if exclusion(self.space, usual) is None else nearest_admissible(self.structures)[1]

    def called(self, part: Fork | Free) -> str:
        """What a part is about: a key, an address where two variables share the key."""
        if part.node is None:
            return "rule:case"
        name = part.node.key if self.has_own_key(part.node) else part.node.address
        return f"{name}:case" if isinstance(part, Fork) and isinstance(part.node, Hyperparameter) else name

    def has_own_key(self, node: Choice | Hyperparameter) -> bool:
        """Whether no other variable of the space has its key."""
        return self._keys[node.key] == 1

    def taken(self, configuration: Configuration) -> Iterator[Taken]:
        """What a member takes under each name that it comes by; raises LookupError for what is no member."""
        lookup = Assignment.of(self.space, configuration)
        for part, place in route(self.parts, lookup):
            if isinstance(part, Fork) and id(part) in self.forks:
                yield Taken(self.forks[id(part)], part, place)
            elif isinstance(part, Free):
                yield from self._values(self.draws[id(part)], lookup(part.node.address))  # type: ignore[arg-type]

    def slots(self) -> Iterator[tuple[Free, Slot]]:
        """Every slot with the hyperparameter that it is a piece of."""
        for part in self.all:
            if isinstance(part, Free):
                yield from ((part, piece) for piece in self.draws[id(part)].pieces if isinstance(piece, Slot))

    @staticmethod
    def _values(draw: Draw, value: Value) -> Iterator[Taken]:
        place, piece = draw.find(value)
        if len(draw.pieces) > 1:
            yield Taken(draw.choice, draw, place)
        if isinstance(piece, Slot):
            yield Taken(piece.name, piece, 0, value)

    def _drawn(self, free: Free) -> Draw:
        pieces = pieces_of(free.domain)
        name = self.called(free)
        choice = self._new(f"{name}:part") if len(pieces) > 1 else ""
        return Draw(choice, tuple(_piece(piece, lambda: self._new(name)) for piece in pieces))

    def _new(self, wanted: str) -> str:
        """A name that no other part has."""
        name, number = wanted, 1
        while name in self._names:
            number += 1
            name = f"{wanted}#{number}"
        self._names.add(name)
        return name


def unfolded(structures: Structures, keeps: Keeps, refusal: Verdict) -> Unfolded:
    """The parts of a space; raises RefusedError, with `refusal`, where there are none without conditions."""
    space = structures.space
    try:
        found = unfold(structures)
    except TooTangledError as error:
        report_of(space, keeps, _refusals(space, error.constraints, refusal))
        raise
    if related := [part for part in all_parts(found) if isinstance(part, Related)]:
        rules = [rule for rule in space.constraints if any(_says(rule.expression, part) for part in related)]
        report_of(space, keeps, _refusals(space, rules, refusal, related))
    return Unfolded(structures, found)


def uniform_priors(space: Space, verdict: Verdict) -> Iterator[Finding]:
    """The priors that ask for what is drawn without any."""
    for node in space.hyperparameters:
        match node.prior:
            case Uniform():
                yield Finding(Construct.PRIORS, verdict, node.span)
            case Normal() | None:
                pass


def weights(fork: Fork) -> tuple[float, ...] | None:
    """The shares of a fork's cases where `@weight` makes some weigh more than others."""
    if not isinstance(fork.node, Choice):
        return None
    branches = {branch.name: branch.weight for branch in fork.node.branches}
    found = [branches[case.branch] if case.branch is not None else 1.0 for case in fork.cases]
    return tuple(weight / sum(found) for weight in found) if len(set(found)) > 1 else None


def pieces_of(domain: Domain) -> tuple[Simple, ...]:
    """The parts of a domain, a range that is wider than the largest float cut at 0."""
    return tuple(piece for part in parts(domain) for piece in _cut(part))


def _cut(part: Simple) -> tuple[Simple, ...]:
    if not isinstance(part, Real) or math.isfinite(part.upper - part.lower):
        return (part,)
    return replace(part, upper=0.0, upper_open=True), replace(part, lower=0.0, lower_open=False)


def _piece(part: Simple, new: Callable[[], str]) -> Piece:
    if part.size != 1:
        return Only(part.least) if isinstance(part, Real) and part.least == part.greatest else Slot(new(), part)
    return Only(part.at(0))


def _says(expression: Expr, part: Related) -> bool:
    return set(references(part.atom)) <= set(references(expression))


def _refusals(
    space: Space, rules: Sequence[Constraint], refusal: Verdict, related: Sequence[Related] = ()
) -> list[Finding]:
    """A finding for each constraint, else for each condition: what ties the variables comes from one of them."""
    if rules:
        return [
            Finding(Construct.RULES_ON_VALUES if rule.scope else Construct.RULES_ON_DECISIONS, refusal, rule.span)
            for rule in rules
        ]
    conditions = [node.condition for node in space.hyperparameters if node.condition is not None]
    own = [each for each in conditions if any(_says(each, part) for part in related)]
    return [Finding(Construct.CONDITIONS, refusal, condition.span) for condition in own or conditions]
