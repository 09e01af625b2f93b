"""A space as ConfigSpace hyperparameters, conditions and forbidden clauses: the finished plan and its builder."""

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
    """The ConfigSpace hyperparameters, conditions and clauses of a space, with converters of configurations.

    `parameters` has the hyperparameters by name, owners first. `conditions` has the conditions of hyperparameters that
    are not always active. A reader returns the key and the value that a hyperparameter encodes; if several encode one
    value, only the first has a reader. A writer adds the encoded values of some variables of a configuration.
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
        """The index of each hyperparameter, by name."""
        return {name: place for place, name in enumerate(self.parameters)}


class UnholdableRangeError(Exception):
    """An error for a hyperparameter whose range ConfigSpace cannot represent."""

    def __init__(self, node: Hyperparameter) -> None:
        super().__init__()
        self.node = node


@dataclass
class OpenPlan:
    """A plan under construction; `suffix` is appended to the names of decisions."""

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
        """Return an independent copy."""
        held = {name: value.copy() for name, value in vars(self).items() if name not in {"structures", "suffix"}}
        return OpenPlan(self.structures, self.suffix, **held)

    def closed(self) -> Plan:
        """Return the finished plan, without hyperparameters that are never active."""
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
        """Return where a context is reached."""
        if not context:
            return ALWAYS
        owner, branch = context[-1]
        return among(self.decisions[owner], [branch], self.activity)

    def wish(self, node: Choice | Hyperparameter) -> str:
        """Return the preferred name of a variable; that of a decision ends with the suffix."""
        return self.names.of(node) + (self.suffix if isinstance(node, Choice) else "")

    def add(self, parameter: FlatHyperparameter, active: Ways) -> None:
        """Add a hyperparameter, and where it is active."""
        self.parameters[parameter.name] = parameter
        self.activity[parameter.name] = active

    def code(self, node: Hyperparameter, domain: Domain, active: Ways) -> Coded:
        """Add a hyperparameter, or a piece of its domain, encoded as ConfigSpace hyperparameters.

        Raises UnholdableRangeError if ConfigSpace cannot represent its range.
        """
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
        """Return an equivalent condition that does not depend on the order in which ConfigSpace checks conditions.

        ConfigSpace sorts conditions by the shallowest hyperparameter that each of them names. Until the condition of an
        inactive hyperparameter has been checked, its drawn value still counts. Raises UnsayableError if ConfigSpace
        cannot express the condition.
        """
        found = either(tuple(trimmed(way, self.activity) for way in ways))
        depths = {self._depth(name) for way in found for name in names_of(way)}
        if len(depths) > 1:
            found = either(*(completed(way, self.activity) for way in found))
        if any(isinstance(test, PairRelation) for way in found for test in way):
            raise UnsayableError
        return found

    def _depth(self, name: str) -> int:
        """Return the depth of a hyperparameter in the condition graph of ConfigSpace, counted from 1."""
        key = (name, self.activity[name])
        if key not in self._depths:
            named = {other for way in key[1] for other in names_of(trimmed(way, self.activity))}
            self._depths[key] = 1 + max((self._depth(other) for other in named), default=0)
        return self._depths[key]


def _without(ways: Ways, never: set[str]) -> Ways:
    return tuple(way for way in ways if not names_of(way) & never)


def _shares(domain: Domain, whole: Domain) -> tuple[float, ...] | None:
    """Return the share of draws in each part of a domain that was cut, or None if it was not cut."""
    if len(parts(domain)) == 1 or domain == whole:
        return None
    return tuple(share(part, whole) for part in parts(domain))
