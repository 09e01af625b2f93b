"""The planning of a space for ConfigSpace.

A network is a group of decisions and hyperparameters that conditions and constraints connect. It stays as it is if
ConfigSpace can express all its conditions and constraints. Otherwise it is unfolded into forks
(`reductions.unfolding`), which become categoricals.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from spacelang.ir.domain import Real, SimpleDomain
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.reductions.unfolding import network_unfolder
from spacelang.reductions.variable_names import VariableNames
from spacelang.solver.cells import probability_of_cell
from spacelang.solver.counting import CountWeights, Structures
from spacelang.solver.model import Solver
from spacelang.solver.network import Network, TooManyConnectedVariablesError
from spacelang.targets._configspace.direct_networks import DirectNetworkConverter
from spacelang.targets._configspace.forks import ForkConverter
from spacelang.targets._configspace.normal_form import NEVER, InexpressibleError
from spacelang.targets._configspace.plan import Plan, PlanBuilder

MIN_ACCEPTANCE: Final = 0.02
"""The minimum share of draws that must satisfy the constraints of a network: ConfigSpace samples by rejection."""


class RefusedConstraintsError(Exception):
    """An error for a network whose conditions or constraints ConfigSpace cannot express at all."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network


def make_plan(structures: Structures, suffix: str) -> Plan:
    """Return the plan of a nonempty space; `suffix` is appended to the names of decisions.

    Raises RefusedConstraintsError and UnsupportedHyperparameterError.
    """
    planner = Planner(structures, suffix)
    planner.add_networks(())
    return planner.plan.build()


class Planner:
    """A builder that adds networks to a plan, one after the other."""

    def __init__(self, structures: Structures, suffix: str) -> None:
        self.plan = PlanBuilder(structures, suffix, VariableNames(structures.space))
        self._structures = structures
        self._unfold = network_unfolder(structures)

    def add_networks(self, context: Context) -> None:
        """Add all networks below a context, whose decisions are already in the plan as categoricals."""
        for network in self._structures.model.by_context.get(context, ()):
            if not self._is_worth_trying(network) or not self._try_direct(network):
                self._add_unfolded(network, context)
                continue
            for member in network.members:
                decision = self.plan.decisions.get(member.address)
                if decision is not None and self.plan.activity[decision.name] != NEVER:
                    for branch in decision.choices:
                        self.add_networks((*member.owners, (member.address, str(branch))))

    def _is_worth_trying(self, network: Network) -> bool:
        """Return True if it is worth trying to express a network directly.

        The constraints must be satisfied by enough draws, and must not fix a float range to single values.
        """
        if not network.constraints:
            return True
        try:
            if Solver(self._structures.model, _AcceptanceProbability()).solve(network).total < MIN_ACCEPTANCE:
                return False
            supported = self._supported
        except TooManyConnectedVariablesError:
            return True
        points = {
            address: frozenset(state for state, cell in enumerate(cells) if cell.size == 1)
            for address, cells in network.cells.items()
            if any(isinstance(cell, Real) and cell.size is None for cell in cells)
        }
        return all((supported[address] - {-1}) - mine or not supported[address] for address, mine in points.items())

    @cached_property
    def _supported(self) -> Mapping[str, frozenset[int]]:
        return self._structures.existence_solver.supported_states()

    def _try_direct(self, network: Network) -> bool:
        """Try to add a network as it is; return False and restore the plan if ConfigSpace cannot express it."""
        before = self.plan.copy()
        try:
            DirectNetworkConverter(self.plan, network).add_to_plan()
            for name in [*self.plan.parameters][len(before.parameters) :]:
                self.plan.order_independent(self.plan.activity[name])
        except InexpressibleError:
            self.plan = before
            return False
        return True

    def _add_unfolded(self, network: Network, context: Context) -> None:
        self.plan.unfolded.append(network)
        try:
            ForkConverter(self.plan, self._unfold(network), context).add_to_plan()
        except (InexpressibleError, TooManyConnectedVariablesError) as error:
            raise RefusedConstraintsError(network) from error


class _AcceptanceProbability(CountWeights):
    """Weights for the probability that independent draws satisfy the constraints of a network."""

    def branch_weight(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Return the probability of a branch: all branches are equally likely."""
        return 1 / len(choice.branches)

    def cell_weight(self, hyperparameter: Hyperparameter, cell_weight: SimpleDomain) -> float:
        """Return the share of the values that lie in a cell."""
        return probability_of_cell(cell_weight, hyperparameter.domain)
