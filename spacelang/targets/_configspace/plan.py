"""A space planned as ConfigSpace's hyperparameters, conditions and forbidden clauses.

Decisions and hyperparameters that conditions and constraints tie together stay as they are where ConfigSpace can say
all of what ties them; the others are unfolded into forks (`reductions.unfolding`), which become categoricals.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from spacelang.ir.domain import Domain, Real, Simple, parts
from spacelang.ir.expr import Lookup
from spacelang.ir.space import Choice, Context, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.reductions.naming import VariableNames
from spacelang.reductions.unfolding import unfolder
from spacelang.solver.cells import mass
from spacelang.solver.counting import Sizes, Structures
from spacelang.solver.model import Solver
from spacelang.solver.network import Network, TooTangledError
from spacelang.targets._configspace.codes import UnholdableError, coded
from spacelang.targets._configspace.forks import Forks, share
from spacelang.targets._configspace.kept import Kept
from spacelang.targets._configspace.native import among
from spacelang.targets._configspace.pieces import Coded, FlatHyperparameter, Held
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

RAREST: Final = 0.02
"""Where fewer draws satisfy the constraints of a network than this share, ConfigSpace would draw in vain too long."""

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


class RefusedConstraintsError(Exception):
    """Conditions or constraints of a network that ConfigSpace cannot say in any way."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network


class UnholdableRangeError(Exception):
    """A hyperparameter whose range ConfigSpace cannot hold."""

    def __init__(self, node: Hyperparameter) -> None:
        super().__init__()
        self.node = node


def plan_of(structures: Structures, suffix: str) -> Plan:
    """The plan of a space that is not empty; RefusedConstraintsError, UnholdableRangeError.

    `suffix` is what the names of decisions end with.
    """
    planner = Planner(structures, suffix)
    planner.take(())
    return planner.plan()


class Planner:
    """The plan as far as it is made."""

    def __init__(self, structures: Structures, suffix: str) -> None:
        self.suffix = suffix
        self.space: Space = structures.space
        self.structures = structures
        self.parameters: dict[str, FlatHyperparameter] = {}
        self.activity: dict[str, Ways] = {}
        self.clauses: list[Way] = []
        self.readers: dict[str, Reader] = {}
        self.writers: list[Writer] = []
        self.coded: list[tuple[Choice | Hyperparameter, Coded | FlatHyperparameter]] = []
        self.unfolded: list[Network] = []
        self.decisions: dict[str, FlatHyperparameter] = {}
        self._depths: dict[tuple[str, Ways], int] = {}
        self._unfold = unfolder(structures)
        self.names = VariableNames(self.space)

    def plan(self) -> Plan:
        """All of it, without hyperparameters that are never active."""
        conditions = {name: self._settled(ways) if ways != ALWAYS else ways for name, ways in self.activity.items()}
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

    def take(self, context: Context) -> None:
        """All networks below a context, whose decisions are natively there."""
        for network in self.structures.model.by_context.get(context, ()):
            if not self._is_sayable(network) or not self._kept(network):
                self._unfolded(network, context)
                continue
            for member in network.members:
                if isinstance(member.node, Choice) and self.activity[self.decisions[member.address].name] != NEVER:
                    for branch in self.decisions[member.address].choices:
                        self.take((*member.owners, (member.address, str(branch))))

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

    # ---- networks as they stand

    def _is_sayable(self, network: Network) -> bool:
        """Whether a network is worth trying: few enough clauses, and drawn often enough."""
        if not network.constraints:
            return True
        try:
            if Solver(self.structures.model, _Odds()).solve(network).total < RAREST:
                return False
            supported = self._supported
        except TooTangledError:
            return True
        points = {
            address: frozenset(state for state, cell in enumerate(cells) if cell.size == 1)
            for address, cells in network.cells.items()
            if any(isinstance(cell, Real) and cell.size is None for cell in cells)
        }
        return all((supported[address] - {-1}) - mine or not supported[address] for address, mine in points.items())

    @cached_property
    def _supported(self) -> Mapping[str, frozenset[int]]:
        return self.structures.existence.supported()

    def _kept(self, network: Network) -> bool:
        """Whether the network could be said as it stands; nothing is left of it otherwise."""
        before = (
            self.parameters.copy(),
            self.activity.copy(),
            self.readers.copy(),
            self.decisions.copy(),
            self.names.given.copy(),
            [*self.clauses],
            [*self.writers],
            [*self.coded],
        )
        try:
            Kept(self, network).take()
            for name in [*self.parameters][len(before[0]) :]:
                self._settled(self.activity[name])
        except UnsayableError:
            self.parameters, self.activity, self.readers, self.decisions, self.names.given = before[:5]
            self.clauses, self.writers, self.coded = before[5:]
            return False
        return True

    def _unfolded(self, network: Network, context: Context) -> None:
        self.unfolded.append(network)
        try:
            Forks(self, self._unfold(network), context).take()
        except (UnsayableError, TooTangledError) as error:
            raise RefusedConstraintsError(network) from error

    def _settled(self, ways: Ways) -> Ways:
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


class _Odds(Sizes):
    """How probable it is that independent draws satisfy what ties a network together."""

    def branch(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Each alike."""
        return 1 / len(choice.branches)

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """The share of the values that lie in a cell."""
        return mass(cell, hyperparameter.domain)


def _shares(domain: Domain, whole: Domain) -> tuple[float, ...] | None:
    """How much of the draws lies in each part of a domain that has been cut."""
    if len(parts(domain)) == 1 or domain == whole:
        return None
    return tuple(share(part, whole) for part in parts(domain))
