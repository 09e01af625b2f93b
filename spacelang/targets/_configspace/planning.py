"""A space planned as what ConfigSpace can say.

Decisions and hyperparameters that conditions and constraints tie together stay as they are where ConfigSpace can say
all of what ties them; the others are unfolded into forks (`reductions.unfolding`), which become categoricals.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from spacelang.ir.domain import Real, Simple
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.reductions.naming import VariableNames
from spacelang.reductions.unfolding import unfolder
from spacelang.solver.cells import mass
from spacelang.solver.counting import Sizes, Structures
from spacelang.solver.model import Solver
from spacelang.solver.network import Network, TooTangledError
from spacelang.targets._configspace.forks import Forks
from spacelang.targets._configspace.kept import Kept
from spacelang.targets._configspace.plan import OpenPlan, Plan
from spacelang.targets._configspace.ways import NEVER, UnsayableError

RAREST: Final = 0.02
"""Where fewer draws satisfy the constraints of a network than this share, ConfigSpace would draw in vain too long."""


class RefusedConstraintsError(Exception):
    """Conditions or constraints of a network that ConfigSpace cannot say in any way."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network


def plan_of(structures: Structures, suffix: str) -> Plan:
    """The plan of a space that is not empty; RefusedConstraintsError, UnholdableRangeError.

    `suffix` is what the names of decisions end with.
    """
    planner = Planner(structures, suffix)
    planner.take(())
    return planner.plan.closed()


class Planner:
    """Takes networks into a plan, one after the other."""

    def __init__(self, structures: Structures, suffix: str) -> None:
        self.plan = OpenPlan(structures, suffix, VariableNames(structures.space))
        self._structures = structures
        self._unfold = unfolder(structures)

    def take(self, context: Context) -> None:
        """All networks below a context, whose decisions are natively there."""
        for network in self._structures.model.by_context.get(context, ()):
            if not self._is_sayable(network) or not self._kept(network):
                self._unfolded(network, context)
                continue
            for member in network.members:
                decision = self.plan.decisions.get(member.address)
                if decision is not None and self.plan.activity[decision.name] != NEVER:
                    for branch in decision.choices:
                        self.take((*member.owners, (member.address, str(branch))))

    def _is_sayable(self, network: Network) -> bool:
        """Whether a network is worth trying: few enough clauses, and drawn often enough."""
        if not network.constraints:
            return True
        try:
            if Solver(self._structures.model, _Odds()).solve(network).total < RAREST:
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
        return self._structures.existence.supported()

    def _kept(self, network: Network) -> bool:
        """Whether the network could be said as it stands; nothing is left of it otherwise."""
        before = self.plan.copy()
        try:
            Kept(self.plan, network).take()
            for name in [*self.plan.parameters][len(before.parameters) :]:
                self.plan.settled(self.plan.activity[name])
        except UnsayableError:
            self.plan = before
            return False
        return True

    def _unfolded(self, network: Network, context: Context) -> None:
        self.plan.unfolded.append(network)
        try:
            Forks(self.plan, self._unfold(network), context).take()
        except (UnsayableError, TooTangledError) as error:
            raise RefusedConstraintsError(network) from error


class _Odds(Sizes):
    """How probable it is that independent draws satisfy what ties a network together."""

    def branch(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Each alike."""
        return 1 / len(choice.branches)

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """The share of the values that lie in a cell."""
        return mass(cell, hyperparameter.domain)
