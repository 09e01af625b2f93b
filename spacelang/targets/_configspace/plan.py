"""A space as ConfigSpace hyperparameters, conditions and forbidden clauses: the finished plan and its builder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from spacelang.ir.domain import Domain, parts
from spacelang.ir.expr import Lookup
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.ir.value import Value
from spacelang.reductions.questions import VariableNames
from spacelang.solver.counting import Structures
from spacelang.solver.network import Network
from spacelang.targets._configspace.normal_form import (
    ALWAYS,
    NEVER,
    Conjunction,
    InexpressibleError,
    NormalForm,
    PairRelation,
    disjunction,
    membership_form,
    tested_names,
    with_activity_conditions,
    without_implied_tests,
)
from spacelang.targets._configspace.pieces import (
    EncodedDomain,
    FlatHyperparameter,
    FlatValue,
    HyperparameterPiece,
    UnsupportedRangeError,
    draw_share,
    encode_domain,
    normal_of,
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
    conditions: dict[str, NormalForm]
    clauses: tuple[Conjunction, ...]
    readers: Mapping[str, Reader]
    writers: tuple[Writer, ...]
    coded: tuple[tuple[Choice | Hyperparameter, EncodedDomain | FlatHyperparameter], ...]
    unfolded: tuple[Network, ...]

    @cached_property
    def indices(self) -> Mapping[str, int]:
        """The index of each hyperparameter, by name."""
        return {name: place for place, name in enumerate(self.parameters)}


class UnsupportedHyperparameterError(Exception):
    """An error for a hyperparameter whose range ConfigSpace cannot represent."""

    def __init__(self, node: Hyperparameter) -> None:
        super().__init__()
        self.node = node


@dataclass
class PlanBuilder:
    """A plan under construction; `suffix` is appended to the names of decisions."""

    structures: Structures
    suffix: str
    names: VariableNames
    parameters: dict[str, FlatHyperparameter] = field(default_factory=dict)
    activity: dict[str, NormalForm] = field(default_factory=dict)
    clauses: list[Conjunction] = field(default_factory=list)
    readers: dict[str, Reader] = field(default_factory=dict)
    writers: list[Writer] = field(default_factory=list)
    coded: list[tuple[Choice | Hyperparameter, EncodedDomain | FlatHyperparameter]] = field(default_factory=list)
    decisions: dict[str, FlatHyperparameter] = field(default_factory=dict)
    unfolded: list[Network] = field(default_factory=list)
    _depths: dict[tuple[str, NormalForm], int] = field(default_factory=dict)

    def copy(self) -> "PlanBuilder":
        """Return an independent copy."""
        held = {name: value.copy() for name, value in vars(self).items() if name not in {"structures", "suffix"}}
        return PlanBuilder(self.structures, self.suffix, **held)

    def build(self) -> Plan:
        """Return the finished plan, without hyperparameters that are never active."""
        conditions = {
            name: self.order_independent(ways) if ways != ALWAYS else ways for name, ways in self.activity.items()
        }
        while never := {name for name, ways in conditions.items() if ways == NEVER}:
            conditions = {name: _without(ways, never) for name, ways in conditions.items() if name not in never}
        clauses = tuple(dict.fromkeys(without_implied_tests(way, self.activity) for way in self.clauses))
        return Plan(
            {name: self.parameters[name] for name in conditions},
            {name: ways for name, ways in conditions.items() if ways != ALWAYS},
            tuple(way for way in clauses if tested_names(way) <= conditions.keys()),
            self.readers,
            tuple(self.writers),
            tuple(self.coded),
            tuple(self.unfolded),
        )

    def reached_form(self, context: Context) -> NormalForm:
        """Return where a context is reached."""
        if not context:
            return ALWAYS
        owner, branch = context[-1]
        return membership_form(self.decisions[owner], [branch], self.activity)

    def preferred_name(self, node: Choice | Hyperparameter) -> str:
        """Return the preferred name of a variable; that of a decision ends with the suffix."""
        return self.names.name_of(node) + (self.suffix if isinstance(node, Choice) else "")

    def add_hyperparameter(self, parameter: FlatHyperparameter, active: NormalForm) -> None:
        """Add a hyperparameter, and where it is active."""
        self.parameters[parameter.name] = parameter
        self.activity[parameter.name] = active

    def add_domain(self, node: Hyperparameter, domain: Domain, active: NormalForm) -> EncodedDomain:
        """Add a hyperparameter, or a piece of its domain, encoded as ConfigSpace hyperparameters.

        Raises UnsupportedHyperparameterError if ConfigSpace cannot represent its range.
        """
        try:
            found = encode_domain(
                domain,
                self.preferred_name(node),
                self.names.make_unique,
                normal_of(node),
                _part_shares(domain, node.domain),
            )
        except UnsupportedRangeError as error:
            raise UnsupportedHyperparameterError(node) from error
        self.add_hyperparameter(found.parameters[0], active)
        for place, piece in enumerate(found.pieces):
            if found.selector is not None and isinstance(piece, HyperparameterPiece):
                self.add_hyperparameter(
                    piece.parameter, membership_form(found.selector, [found.selector.choices[place]], self.activity)
                )
        self.readers[found.parameters[0].name] = lambda values: (node.key, found.decode(values))
        self.coded.append((node, found))
        return found

    def order_independent(self, ways: NormalForm) -> NormalForm:
        """Return an equivalent condition that does not depend on the order in which ConfigSpace checks conditions.

        ConfigSpace sorts conditions by the shallowest hyperparameter that each of them names. Until the condition of an
        inactive hyperparameter has been checked, its drawn value still counts. Raises InexpressibleError if ConfigSpace
        cannot express the condition.
        """
        found = disjunction(tuple(without_implied_tests(way, self.activity) for way in ways))
        depths = {self._depth(name) for way in found for name in tested_names(way)}
        if len(depths) > 1:
            found = disjunction(*(with_activity_conditions(way, self.activity) for way in found))
        if any(isinstance(test, PairRelation) for way in found for test in way):
            raise InexpressibleError
        return found

    def _depth(self, name: str) -> int:
        """Return the depth of a hyperparameter in the condition graph of ConfigSpace, counted from 1."""
        key = (name, self.activity[name])
        if key not in self._depths:
            named = {other for way in key[1] for other in tested_names(without_implied_tests(way, self.activity))}
            self._depths[key] = 1 + max((self._depth(other) for other in named), default=0)
        return self._depths[key]


def _without(ways: NormalForm, never: set[str]) -> NormalForm:
    return tuple(way for way in ways if not tested_names(way) & never)


def _part_shares(domain: Domain, whole: Domain) -> tuple[float, ...] | None:
    """Return the share of draws in each part of a domain that was cut, or None if it was not cut."""
    if len(parts(domain)) == 1 or domain == whole:
        return None
    return tuple(draw_share(part, whole) for part in parts(domain))
