"""The weights that alternatives declare, as weights of structures."""

from collections.abc import Collection, Mapping
from fractions import Fraction

from spacelang.ir.space import Choice
from spacelang.ir.value import to_fraction
from spacelang.solver.model import WeightedModelSolver, Weights
from spacelang.solver.network import UNREACHED


class DeclaredAlternativeWeights(Weights):
    """Weights of structures for the advised law: the product of the weights of their alternatives."""

    def __init__(
        self, factors: Mapping[tuple[str, int], Fraction] | None = None, *, with_annotations: bool = True
    ) -> None:
        """Create the weights; `factors` multiply those of alternatives, given by the address and the index.

        Unless `with_annotations`, `@weight` is ignored.
        """
        self._factors, self._with_annotations = factors or {}, with_annotations

    def with_even_chains(self, solver: WeightedModelSolver, chains: Collection[str]) -> "DeclaredAlternativeWeights":
        """Return weights that make all numbers of uses of a chain equally likely, if no constraint relates chains.

        The total weight of each chain remains the same.
        """
        factors = dict(self._factors)
        for address in chains:
            solved = solver.solve(solver.model.network_by_address[address], last=address)
            (sums,) = next(bucket.weights for bucket in solved.buckets if bucket.variable == address).values()
            reached = {state: Fraction(weight) for state, weight in sums.items() if state != UNREACHED and weight}
            total = sum(reached.values())
            factors |= {(address, state): total / (len(reached) * weight) for state, weight in reached.items()}
        return DeclaredAlternativeWeights(factors, with_annotations=self._with_annotations)

    def branch_weight(self, choice: Choice, place: int) -> float:
        """Return the weight of an alternative as an exact number, since numbers of structures may exceed any float."""
        declared = to_fraction(choice.branches[place].weight) if self._with_annotations else Fraction(1)
        weight = declared * self._factors.get((choice.address, place), 1)
        return weight.numerator if weight.denominator == 1 else weight  # type: ignore[return-value]
