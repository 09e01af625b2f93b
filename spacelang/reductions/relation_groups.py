"""Relations: constraints that are linear comparisons of ranges, in groups that no other constraint mentions.

A group such as `lo <= hi` can be expressed without cases: see `varying_bounds`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import Compare, conjuncts, mentioned_addresses
from spacelang.ir.space import Constraint, Space, Variable
from spacelang.solver.bucket_elimination import UnionFind
from spacelang.solver.counting import Structures
from spacelang.solver.fourier_motzkin import Inequality
from spacelang.solver.linear_inequalities import inequalities_for, linear_difference


@dataclass(frozen=True)
class RelationGroup:
    """Ranges that comparisons connect, in the order of the text, and the constraints that make these comparisons.

    `rows` has the inequalities of each constraint, over the addresses of the ranges.
    """

    members: tuple[Variable, ...]
    rows: Mapping[Constraint, tuple[Inequality, ...]]

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the group."""
        return (*self.rows,)

    @cached_property
    def inequalities(self) -> tuple[Inequality, ...]:
        """The inequalities of all constraints."""
        return tuple(row for several in self.rows.values() for row in several)

    @property
    def domains(self) -> dict[str, Grid | Real]:
        """The domain of each range by address."""
        return {each.address: range_of_variable(each) for each in self.members}


def relation_groups(space: Space) -> tuple[RelationGroup, ...]:
    """Return the groups of ranges that linear comparisons connect, if no other constraint mentions any of them."""
    rows = {rule: several for rule in space.constraints if (several := inequalities_of(rule, space)) is not None}
    ties = UnionFind(space.variables)
    for rule in rows:
        ties.union(rule.scope)
    others = {
        ties.find(address)
        for rule in space.constraints
        if rule not in rows
        for address in mentioned_addresses(rule.expression)
    }
    related = {ties.find(rule.scope[0]) for rule, mine in rows.items() if any(len(row.factors) > 1 for row in mine)}
    found: list[RelationGroup] = []
    keys = Counter(variable.key for variable in space.variables.values())
    for root in related - others:
        members = tuple(each for each in space.variables.values() if ties.find(each.address) == root)
        if all(keys[each.key] == 1 for each in members):
            own = {rule: mine for rule, mine in rows.items() if ties.find(rule.scope[0]) == root}
            found.append(RelationGroup(members, own))
    places = {address: place for place, address in enumerate(space.variables)}
    return tuple(sorted(found, key=lambda group: places[group.members[0].address]))


def without_constraints(structures: Structures, constraints: tuple[Constraint, ...]) -> Structures:
    """Return the structures of the same space without the given constraints."""
    if not constraints:
        return structures
    left = tuple(each for each in structures.space.constraints if each not in {*constraints})
    return Structures(replace(structures.space, constraints=left))


def range_of_variable(variable: Variable) -> Grid | Real:
    """Return the domain of a variable in a relation group, which is always a range."""
    domain = variable.hyperparameter.domain
    assert isinstance(domain, Grid | Real)
    return domain


def inequalities_of(rule: Constraint, space: Space) -> tuple[Inequality, ...] | None:
    """Return the inequalities that a constraint stands for, or None if it is no conjunction of inequalities."""
    if not rule.scope or {*mentioned_addresses(rule.expression)} != {*rule.scope}:
        return None
    if not all(isinstance(space.variables[a].hyperparameter.domain, Grid | Real) for a in rule.scope):
        return None
    found: list[Inequality] = []
    for atom, truth in conjuncts(rule.expression, is_true=not rule.forbidden):
        form = linear_difference(atom) if isinstance(atom, Compare) else None
        if not isinstance(atom, Compare) or form is None:
            return None
        systems = inequalities_for(atom.relation, form, truth)
        if len(systems) != 1:
            return None
        found += systems[0]
    return tuple(found)
