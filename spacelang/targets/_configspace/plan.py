"""A space as ConfigSpace's hyperparameters, conditions and forbidden clauses: as a whole, and as far as it is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from spacelang.ir.domain import Domain, parts
from spacelang.ir.expr import Lookup
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.ir.value import Value
from spacelang.reductions.naming import VariableNames
from spacelang.solver.counting import Structures
from spacelang.solver.network import Network
from spacelang.targets._configspace.codes import UnholdableError, coded
from spacelang.targets._configspace.native import among
from spacelang.targets._configspace.pieces import Coded, FlatHyperparameter, Held, share
from spacelang.targets._configspace.priors import normal_of
from spacelang.targets._configspace.ways import (
    ALWAYS,
    NEVER,
    FlatValue,
    PairRelation,
    UnsayableError,
    Way,
    Ways,
    completed,
    either,
    names_of,
    trimmed,
)

Values = dict[str, FlatValue]
Reader = Callable[[Mapping[str, FlatValue]], tuple[str, Value] | None]
Writer = Callable[[Lookup, Values], None]


@dataclass(frozen=True)
class Plan:
    """The hyperparameters by name, owners first, what they depend on, and how configurations come and go.

    `conditions` holds those that are not always active. A reader gives the key and value that a hyperparameter (the
    first of several that code one value) stands for; a writer writes what it knows of a configuration.
    """

    parameters: dict[str, FlatHyperparameter]
    conditions: dict[str, Ways]
    clauses: tuple[Way, ...]
    readers: Mapping[str, Reader]
    writers: tuple[Writer, ...]
    coded: tuple[tuple[Choice | Hyperparameter, Coded | FlatHyperparameter], ...]
    unfolded: tuple[Network, ...]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each hyperparameter, by its name."""
        return {name: place for place, name in enumerate(self.parameters)}


class UnholdableRangeError(Exception):
    """A hyperparameter whose range ConfigSpace cannot hold."""

    def __init__(self, node: Hyperparameter) -> None:
        super().__init__()
        self.node = node


@dataclass
class OpenPlan:
    """The plan as far as it is made; what decisions are called ends with `suffix`."""

    structures: Structures
    suffix: str
    names: VariableNames
    parameters: dict[str, FlatHyperparameter] = field(default_factory=dict)
    activity: dict[str, Ways] = field(default_factory=dict)
    clauses: list[Way] = field(default_factory=list)
    readers: dict[str, Reader] = field(default_factory=dict)
    writers: list[Writer] = field(default_factory=list)
    coded: list[tuple[Choice | Hyperparameter, Coded | FlatHyperparameter]] = field(default_factory=list)
    decisions: dict[str, FlatHyperparameter] = field(default_factory=dict)
    unfolded: list[Network] = field(default_factory=list)
    _depths: dict[tuple[str, Ways], int] = field(default_factory=dict)

    def copy(self) -> "OpenPlan":
        """The same, to which other things may be added."""
        held = {name: value.copy() for name, value in vars(self).items() if name not in {"structures", "suffix"}}
        return OpenPlan(self.structures, self.suffix, **held)

    def closed(self) -> Plan:
        """All of it, without hyperparameters that are never active."""
        conditions = {name: self.settled(ways) if ways != ALWAYS else ways for name, ways in self.activity.items()}
        while never := {name for name, ways in conditions.items() if ways == NEVER}:
            conditions = {name: _without(ways, never) for name, ways in conditions.items() if name not in never}
        clauses = tuple(dict.fromkeys(trimmed(way, self.activity) for way in self.clauses))
        return Plan(
            {name: self.parameters[name] for name in conditions},
            {name: ways for name, ways in conditions.items() if ways != ALWAYS},
            tuple(way for way in clauses if names_of(way) <= conditions.keys()),
            self.readers,
            tuple(self.writers),
            tuple(self.coded),
            tuple(self.unfolded),
        )

    def active(self, context: Context) -> Ways:
        """Where a context is reached."""
        if not context:
            return ALWAYS
        owner, branch = context[-1]
        return among(self.decisions[owner], [branch], self.activity)

    def wish(self, node: Choice | Hyperparameter) -> str:
        """What a variable should be called: a decision with what the names of all of them end with."""
        return self.names.of(node) + (self.suffix if isinstance(node, Choice) else "")

    def add(self, parameter: FlatHyperparameter, active: Ways) -> None:
        """A hyperparameter with where it is active."""
        self.parameters[parameter.name] = parameter
        self.activity[parameter.name] = active

    def code(self, node: Hyperparameter, domain: Domain, active: Ways) -> Coded:
        """A hyperparameter, or a piece of its domain, as hyperparameters of ConfigSpace."""
        try:
            found = coded(domain, self.wish(node), self.names.new, normal_of(node), _shares(domain, node.domain))
        except UnholdableError as error:
            raise UnholdableRangeError(node) from error
        self.add(found.parameters[0], active)
        for place, piece in enumerate(found.pieces):
            if found.selector is not None and isinstance(piece, Held):
                self.add(piece.parameter, among(found.selector, [found.selector.choices[place]], self.activity))
        self.readers[found.parameters[0].name] = lambda values: (node.key, found.decode(values))
        self.coded.append((node, found))
        return found

    def settled(self, ways: Ways) -> Ways:
        """A condition such that the order does not matter in which ConfigSpace looks at conditions.

        It sorts them by the shallowest of the hyperparameters that each names, and what it has drawn for one that is
        not active counts until the condition of that one has been looked at.
        """
        found = either(tuple(trimmed(way, self.activity) for way in ways))
        depths = {self._depth(name) for way in found for name in names_of(way)}
        if len(depths) > 1:
            found = either(*(completed(way, self.activity) for way in found))
        if any(isinstance(test, PairRelation) for way in found for test in way):
            raise UnsayableError
        return found

    def _depth(self, name: str) -> int:
        """How many hyperparameters ConfigSpace sees above one, and itself."""
        key = (name, self.activity[name])
        if key not in self._depths:
            named = {other for way in key[1] for other in names_of(trimmed(way, self.activity))}
            self._depths[key] = 1 + max((self._depth(other) for other in named), default=0)
        return self._depths[key]


def _without(ways: Ways, never: set[str]) -> Ways:
    return tuple(way for way in ways if not names_of(way) & never)


def _shares(domain: Domain, whole: Domain) -> tuple[float, ...] | None:
    """How much of the draws lies in each part of a domain that has been cut."""
    if len(parts(domain)) == 1 or domain == whole:
        return None
    return tuple(share(part, whole) for part in parts(domain))
