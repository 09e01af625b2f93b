"""Tests of joint draws: the comparisons of ranges, and the expressions that the solver cannot decide."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.ir.domain import Domain
from spacelang.ir.expr import references
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import is_number
from spacelang.sampling.comparison_evaluation import JointValues, evaluate_comparison, evaluate_expression
from spacelang.sampling.value_codes import Array, ValueCodes
from spacelang.solver.network import Network

RAREST_SHARE: Final = 1e-4  # A space is refused if a smaller share of the draws is kept
FIRST_DRAWS: Final = 2_000  # The number of draws after which most shares are known
MEASURED_DRAWS: Final = 30_000  # The maximum number of draws by which a share is measured
ENOUGH_KEPT: Final = 100  # A share is known as soon as this number of draws is kept


@dataclass(frozen=True, slots=True)
class AcceptanceShare:
    """A number of draws, and how many of them were `kept` because they pass all tests."""

    kept: int
    drawn: int

    @property
    def share(self) -> float:
        """The share of the draws that were kept."""
        return self.kept / self.drawn

    @property
    def is_too_small(self) -> bool:
        """True if draws pass the tests so rarely that the space is refused."""
        return self.share < RAREST_SHARE


class DrawTest:
    """A test whether drawn values agree with the truths that the states of a network assume."""

    def __init__(self, network: Network) -> None:
        """Prepare the test; it needs the hyperparameters of the network only."""
        self._ranges, self._tested = network.ranges, network.tested
        self._domains: Mapping[str, Domain] = {
            member.address: member.node.domain for member in network.members if isinstance(member.node, Hyperparameter)
        }
        self._numeric = {a: np.array([is_number(c.representative) for c in mine]) for a, mine in network.cells.items()}

    def passes(self, states: Mapping[str, Array], codes: Mapping[str, ValueCodes], count: int) -> Array:
        """Return a boolean array: True where the values of all active hyperparameters agree with the states."""
        agreeing = np.ones(count, bool)
        for name, atom in self._ranges.items():
            compared = agreeing.copy()
            for address in references(atom):
                compared &= (states[address] >= 0) & self._numeric[address][states[address]]
            rows = np.flatnonzero(compared)
            agreeing[rows] = evaluate_comparison(atom, self._values(references(atom), codes, rows)) == (
                states[name][rows] == 1
            )
        for name, tested in self._tested.items():
            known = agreeing.copy()
            for address in references(tested):
                known &= states[address] >= 0
            rows = np.flatnonzero(known)
            found = evaluate_expression(tested, self._values(references(tested), codes, rows))
            agreeing[rows] = found == (states[name][rows] == 1)
        return agreeing

    def _values(self, addresses: tuple[str, ...], codes: Mapping[str, ValueCodes], rows: Array) -> JointValues:
        return JointValues(self._domains, {address: codes[address].take(rows) for address in addresses}, len(rows))
