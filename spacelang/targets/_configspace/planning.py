"""The planning of a space for ConfigSpace.

A network is a group of decisions and hyperparameters that conditions and constraints connect. It stays as it is if
ConfigSpace can express all its conditions and constraints. Otherwise it is unfolded into forks
(`reductions.unfolding`), which become categoricals.
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
"""The minimum share of draws that must satisfy the constraints of a network: ConfigSpace samples by rejection."""


class RefusedConstraintsError(Exception):
    """An error for a network whose conditions or constraints ConfigSpace cannot express at all."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network


def plan_of(structures: Structures, suffix: str) -> Plan:
    """Return the plan of a nonempty space; `suffix` is appended to the names of decisions.

    Raises RefusedConstraintsError and UnholdableRangeError.
    """
    planner = Planner(structures, suffix)
    planner.take(())
    return planner.plan.closed()


class Planner:
    """A builder that adds networks to a plan, one after the other."""

    def __init__(self, structures: Structures, suffix: str) -> None:
        self.plan = OpenPlan(structures, suffix, VariableNames(structures.space))
        self._structures = structures
        self._unfold = unfolder(structures)

    def take(self, context: Context) -> None:
        """Add all networks below a context, whose decisions are already in the plan as categoricals."""
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
        """Return True if it is worth trying to express a network directly.

        The constraints must be satisfied by enough draws, and must not fix a float range to single values.
        """
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
        """Try to add a network as it is; return False and restore the plan if ConfigSpace cannot express it."""
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
    """Weights for the probability that independent draws satisfy the constraints of a network."""

    def branch(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Return the probability of a branch: all branches are equally likely."""
        return 1 / len(choice.branches)

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """Return the share of the values that lie in a cell."""
        return mass(cell, hyperparameter.domain)
