"""Relations by quantiles: related ranges become numbers in [0, 1], and the constraints between them disappear.

A number is the quantile of a value in the distribution of its range, given the values of the ranges before
(`conditional_distributions`), so that independent uniform numbers follow the distribution of the space. The result is a
space that a target compiles like any other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid, Real, affine_integer_coefficients
from spacelang.ir.expr import mentioned_addresses
from spacelang.ir.space import Constraint, Hyperparameter
from spacelang.ir.value import Value
from spacelang.ir.walk import rebuild_tree
from spacelang.reductions.conditional_distributions import RelatedRanges, Row
from spacelang.reductions.range_distributions import FloatRange, GridRange
from spacelang.reductions.relation_groups import RelationGroup, relation_groups
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration, with_nearest_default
from spacelang.solver.fourier_motzkin import Inequality

MAX_MEMBERS: Final = 50_000  # The maximum number of values of one range
SHARES: Final = Real(0.0, 1.0)


@dataclass(frozen=True)
class QuantileGroup:
    """A group of ranges that constraints relate, and their joint distributions (`ranges`), which use keys."""

    group: RelationGroup
    ranges: RelatedRanges

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the ranges, in the order of the text."""
        return tuple(each.key for each in self.group.members)


@dataclass(frozen=True)
class QuantileReduction:
    """A space with relations, and the space with numbers in [0, 1] in place of the related ranges."""

    structures: Structures
    groups: tuple[QuantileGroup, ...]

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints between the related ranges, which every decoded configuration satisfies.

        The reduced space does not have them.
        """
        return tuple(rule for each in self.groups for rule in each.group.constraints)

    @cached_property
    def related_hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """The related hyperparameters, which become numbers in [0, 1], by address."""
        return {each.address: each.hyperparameter for mine in self.groups for each in mine.group.members}

    @cached_property
    def reduced_structures(self) -> Structures:
        """The structures of the space with numbers in [0, 1], or of the same space if there are no groups."""
        if not self.groups:
            return self.structures
        space, dropped = with_nearest_default(self.structures), {*self.constraints}
        default = self.encode(default_configuration(space))

        def change(node: Hyperparameter) -> Hyperparameter:
            if node.address not in self.related_hyperparameters:
                return node
            return replace(node, domain=SHARES, default=default.get(node.key, 0.5), prior=None, named=())

        left = tuple(rule for rule in space.constraints if rule not in dropped)
        return Structures(replace(space, root=rebuild_tree(space.root, change), constraints=left))

    def encode(self, configuration: Configuration) -> Configuration:
        """Return a configuration of the reduced space: the related values become numbers in [0, 1]."""
        if not self.groups:
            return configuration
        found: dict[str, Value] = dict(configuration)
        for each in self.groups:
            found |= each.ranges.shares({key: configuration[key] for key in each.keys if key in configuration})
        return Configuration(found)

    def decode(self, configuration: Configuration) -> Configuration:
        """Return the configuration of the original space for one of the reduced space; the inverse of `encode`."""
        if not self.groups:
            return configuration
        found: dict[str, Value] = dict(configuration)
        for each in self.groups:
            found |= each.ranges.values({key: _share(configuration[key]) for key in each.keys if key in configuration})
        return Configuration(found)


def reduce_to_quantiles(structures: Structures) -> QuantileReduction:
    """Return the reduction of the relations of a space whose conditional distributions can be computed.

    A group of ranges stays as it is if a condition mentions one of them, a grid is too large, or `RelatedRanges` cannot
    express its comparisons. The reduction may have no groups.
    """
    space = structures.space
    tested = {address for condition in space.conditions.values() for address in mentioned_addresses(condition)}
    found: list[QuantileGroup] = []
    for group in relation_groups(space):
        if not any(each.address in tested for each in group.members) and not _is_too_large(group):
            ranges = _related_ranges(group)
            if _have_values(ranges):
                found.append(QuantileGroup(group, ranges))
    return QuantileReduction(structures, tuple(found))


def _share(value: Value) -> float:
    assert isinstance(value, int | float)
    return min(max(float(value), 0.0), 1.0)


def _is_too_large(group: RelationGroup) -> bool:
    return any(isinstance(each, Grid) and each.size > MAX_MEMBERS for each in group.domains.values())


def _related_ranges(group: RelationGroup) -> RelatedRanges:
    keys = {each.address: each.key for each in group.members}
    ranges = {keys[address]: _range_with_weights(domain) for address, domain in group.domains.items()}
    rows = [_whole_row(row, rule.scope, keys) for rule, several in group.rows.items() for row in several]
    return RelatedRanges(ranges, rows)


def _range_with_weights(domain: Grid | Real) -> GridRange | FloatRange:
    if isinstance(domain, Real):
        return FloatRange(domain.least, domain.greatest, is_log=domain.log)
    return GridRange(*affine_integer_coefficients(domain), domain.last_index, is_log=domain.log)


def _whole_row(row: Inequality, scope: Iterable[str], keys: Mapping[str, str]) -> Row:
    """Return an inequality as a row of `RelatedRanges`: with keys for addresses, and with integer factors."""
    below = lcm(row.constant.denominator, *(factor.denominator for factor in row.factors.values()))
    factors = {keys[address]: int(factor * below) for address, factor in row.factors.items()}
    return factors, int(row.constant * below), tuple(keys[address] for address in scope), row.strict


def _have_values(ranges: RelatedRanges) -> bool:
    """Return True if the distributions can be computed, and if values satisfy all comparisons when all are active."""
    try:
        distributions = ranges.distributions(frozenset(ranges.ranges))
    except ValueError:
        return False
    return all(each.is_possible for each in distributions)
