"""Weights of cases (see `case_splits`), so that random choices give the distribution of the space."""

from fractions import Fraction
from math import prod
from typing import TypeAlias

from spacelang.ir.domain import Domain, parts
from spacelang.ir.space import Choice, Hyperparameter
from spacelang.reductions.case_splits import (
    CaseSplit,
    IndependentHyperparameter,
    UnfoldedPart,
    ValueSwitch,
)
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import probability_of_cell
from spacelang.solver.model import DeclaredAlternativeWeights, WeightedModelSolver

Count: TypeAlias = Fraction | int
Weight: TypeAlias = Count | float


class CaseWeights:
    """The weights of the cases of a space's case splits.

    The weight of an alternative of a decision is the total weight of the structures with it. The weight of any other
    case is the probability of its values. Decisions are chosen before the hyperparameters that constraints connect with
    them.
    """

    def __init__(self, structures: Structures, *, with_annotations: bool = True) -> None:
        """Prepare the weights for a space; `@weight` is ignored if `with_annotations` is false."""
        space = structures.space
        self._alternatives = DeclaredAlternativeWeights(with_annotations=with_annotations)
        if space.chains:
            solver = WeightedModelSolver(structures.structure_model, self._alternatives)
            self._alternatives = self._alternatives.with_even_repetition_counts(solver, space.chains)
        self._structures: dict[int, tuple[Count, ...]] = {}
        self._probabilities: dict[int, tuple[float, ...]] = {}

    def case_probabilities(self, fork: CaseSplit) -> tuple[float, ...] | None:
        """Return the probability of each case, or None if they are equal or one of them would be 0.

        None stands for equal probabilities: a single point of a range has the probability 0, but must be possible.
        """
        weights: tuple[Weight, ...] = self._of_alternatives(fork) if _is_decision(fork) else self._of_values(fork)
        if len(set(weights)) == 1 or not all(weights):
            return None
        return tuple(float(weight / sum(weights)) for weight in weights)

    def _of_alternatives(self, fork: CaseSplit) -> tuple[Count, ...]:
        """Return the total weight of the structures in each case of a decision."""
        if id(fork) not in self._structures:
            choice, found = fork.node, []
            for case in fork.cases:
                inner = (each for each in case.parts if isinstance(each, CaseSplit) and _is_decision(each))
                below = prod(sum(self._of_alternatives(each)) for each in inner)
                if isinstance(choice, Choice) and case.branch is not None:
                    below *= self._alternatives.branch_weight(choice, choice.branch_indices[case.branch])  # type: ignore[assignment]
                found.append(below)
            self._structures[id(fork)] = tuple(found)
        return self._structures[id(fork)]

    def _of_values(self, part: CaseSplit | ValueSwitch) -> tuple[float, ...]:
        """Return for each case the probability that independent draws of its hyperparameters have values in it."""
        if id(part) not in self._probabilities:
            found = [prod(map(self._of_part, case.parts)) for case in part.cases]
            if isinstance(part, ValueSwitch):
                shares = [_probability(part.node, case.domain) for case in part.cases]
                found = [share / (sum(shares) or 1) * inner for share, inner in zip(shares, found, strict=True)]
            self._probabilities[id(part)] = tuple(found)
        return self._probabilities[id(part)]

    def _of_part(self, part: UnfoldedPart) -> float:
        match part:
            case IndependentHyperparameter():
                return _probability(part.node, part.domain)
            case CaseSplit() | ValueSwitch() if not _is_decision(part):
                return sum(self._of_values(part))
            case _:
                return 1.0


def _is_decision(part: UnfoldedPart) -> bool:
    return isinstance(part, CaseSplit) and isinstance(part.node, Choice)


def _probability(node: Hyperparameter, domain: Domain | None) -> float:
    return 1.0 if domain is None else sum(probability_of_cell(cell, node.domain) for cell in parts(domain))
