"""Statistics of a space: numbers of stages, structures, hyperparameters, conditions and constraints."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spacelang.ir.domain_properties import is_finite
from spacelang.ir.repeated_stages import keep_uses_only_in_longest_alternative, merge_constraints_across_uses
from spacelang.ir.space import Hyperparameter, Node, Operator, children_of
from spacelang.ir.walk import operator_and_fixed_operators
from spacelang.solver.counting import Structures


@dataclass(frozen=True, slots=True)
class HyperparameterCounts:
    """The numbers of continuous and of discrete hyperparameters."""

    continuous: int = 0
    discrete: int = 0

    def with_hyperparameter(self, hyperparameter: Hyperparameter) -> "HyperparameterCounts":
        """Return the counts with one more hyperparameter; a union with a continuous part is continuous."""
        if is_finite(hyperparameter.domain):
            return HyperparameterCounts(self.continuous, self.discrete + 1)
        return HyperparameterCounts(self.continuous + 1, self.discrete)


@dataclass(frozen=True, slots=True)
class CountEstimate:
    """An estimate of a number of configurations: `value`, with an interval from `low` to `high`, both included.

    The interval covers the number with the probability `confidence`. `kept` of `draws` random draws passed the tests.
    If none did, `value` is 1, and only `high` says something about the number.
    """

    value: int
    low: int
    high: int
    confidence: float
    draws: int
    kept: int

    def to_json(self) -> dict[str, object]:
        """Return the document of the estimate in `stats --json`."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        return {**ends, "confidence": self.confidence, "draws": self.draws, "kept": self.kept}


@dataclass(frozen=True, slots=True)
class Statistics:
    """The exact counts of a space; `configurations` is None with a continuous hyperparameter or if not counted.

    If it is finite and not counted, `configurations_estimate` is an estimate, where there is one.
    """

    space: str
    stages: tuple[tuple[str, int], ...]
    structures: int
    hyperparameters: HyperparameterCounts
    by_algorithm: dict[str, HyperparameterCounts]
    conditions: int
    constraints: int
    configurations: int | None
    configurations_estimate: CountEstimate | None = None

    def to_json(self) -> dict[str, object]:
        """Return the document that `stats --json` prints."""
        total, estimate = self.hyperparameters, self.configurations_estimate
        return {
            "space": self.space,
            "stages": [{"name": name, "alternatives": count} for name, count in self.stages],
            "structures": self.structures,
            "algorithms": len(self.by_algorithm),
            "hyperparameters": {
                "total": total.continuous + total.discrete,
                "continuous": total.continuous,
                "discrete": total.discrete,
            },
            "by_algorithm": {
                name: {"continuous": tally.continuous, "discrete": tally.discrete}
                for name, tally in self.by_algorithm.items()
            },
            "conditions": self.conditions,
            "constraints": self.constraints,
            "configurations": self.configurations,
            **({} if estimate is None else {"configurations_estimate": estimate.to_json()}),
        }


def statistics(structures: Structures) -> Statistics:
    """Return the statistics of a space.

    The hyperparameters of a fixed operator count for the operator that contains the fixed one. A `var` of the whole
    space counts in the total only.
    """
    space = structures.space
    space = replace(
        space, root=keep_uses_only_in_longest_alternative(space.root), constraints=merge_constraints_across_uses(space)
    )
    by_algorithm: dict[str, HyperparameterCounts] = {}
    total = HyperparameterCounts()
    for child in children_of(space.root):
        if isinstance(child, Hyperparameter):
            total = total.with_hyperparameter(child)
    for operator, hyperparameters in _algorithms(space.root):
        tally = by_algorithm.get(operator, HyperparameterCounts())
        for hyperparameter in hyperparameters:
            tally, total = tally.with_hyperparameter(hyperparameter), total.with_hyperparameter(hyperparameter)
        by_algorithm[operator] = tally
    stages = tuple((stage.name, len(stage.branches)) for stage in space.stages)
    statements = len(space.conditions), len(space.constraints)
    counts = structures.count, total, by_algorithm, *statements, structures.configuration_count
    return Statistics(space.name, stages, *counts)


def _algorithms(node: Node) -> Iterator[tuple[str, list[Hyperparameter]]]:
    below: list[Node] = [*children_of(node)]
    if isinstance(node, Operator):
        below = [child for body in operator_and_fixed_operators(node) for child in body.children]
        yield node.name, [child for child in below if isinstance(child, Hyperparameter)]
    for child in below:
        yield from _algorithms(child)
