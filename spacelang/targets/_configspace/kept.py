"""Networks of variables that ConfigSpace can express directly: their conditions and forbidden clauses."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from spacelang.ir.domain import Domain, Grid, Union, contains, parts
from spacelang.ir.expr import INACTIVE, Active, And, Expr, Inactive, Is, Lookup, Not, Or, holds, nodes, references
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Variable
from spacelang.ir.value import Value
from spacelang.solver.network import Network
from spacelang.targets._configspace.native import among, atom_ways
from spacelang.targets._configspace.pieces import Coded, FlatHyperparameter, finite, weighted
from spacelang.targets._configspace.plan import OpenPlan
from spacelang.targets._configspace.ways import (
    ALWAYS,
    NEVER,
    Among,
    FlatValue,
    PairRelation,
    Threshold,
    UnsayableError,
    Ways,
    both,
    either,
)

MOST_CELLS: Final = 12
"""The maximum number of parts into which a range is cut."""

MOST_CLAUSES: Final = 400
"""The maximum number of clauses: the sampling of ConfigSpace needs memory quadratic in their number."""

MOST_EACH: Final = 50
"""The maximum number of clauses per hyperparameter."""

_SIGNS: Final[tuple[Literal["<", "==", ">"], ...]] = ("<", "==", ">")


class Kept:
    """A conversion of one network, without unfolding it, into entries of a plan."""

    def __init__(self, plan: OpenPlan, network: Network) -> None:
        self.plan = plan
        self.network = network
        self.cells = network.cells
        self.members: Mapping[str, Variable] = {member.address: member for member in network.members}
        self.codes: dict[str, Coded] = {}

    def take(self) -> None:
        """Add the network to the plan; raise UnsayableError if ConfigSpace cannot express it."""
        for address in self.members:
            self._introduce(address)
        clauses = [way for constraint in self.network.constraints for way in self._clauses(constraint)]
        most = min(MOST_CLAUSES, MOST_EACH * len(self.plan.parameters))
        if len(clauses) + len(self.plan.clauses) > most:
            raise UnsayableError
        self.plan.clauses.extend(clauses)
        self.plan.writers.append(self._write)

    def _write(self, lookup: Lookup, values: dict[str, FlatValue]) -> None:
        for address in self.members:
            worth = lookup(address)
            if isinstance(worth, Inactive):
                continue
            if address in self.codes:
                values.update(self.codes[address].encode(worth))
            else:
                assert isinstance(worth, str)
                values[self.plan.decisions[address].name] = worth

    def _introduce(self, address: str) -> None:
        """Add a variable to the plan, after all variables on which it depends."""
        if address in self.codes or address in self.plan.decisions:
            return
        member = self.members[address]
        for owner, _ in member.owners:
            if owner in self.members:
                self._introduce(owner)
        active = self.plan.active(member.owners)
        node = member.node
        if isinstance(node, Choice):
            self._decide(node, active)
            return
        if node.condition is not None:
            active = both(active, self.ways(node.condition, True))
        self.codes[address] = self.plan.code(node, self._cut(node), active)

    def _cut(self, node: Hyperparameter) -> Domain:
        """Return the domain, cut at limits that ConfigSpace could not compare exactly.

        It compares the logarithms of integers, which have rounding errors.
        """
        cells = self.cells[node.address]
        blurred = [part for part in parts(node.domain) if isinstance(part, Grid) and part.log]
        if not blurred or len(cells) > MOST_CELLS:
            return node.domain
        found = [
            cell
            for part in parts(node.domain)
            for cell in ([cell for cell in cells if contains(part, cell.middle)] if part in blurred else [part])
        ]
        return node.domain if len(found) == len(parts(node.domain)) else Union(tuple(found))

    def _decide(self, choice: Choice, active: Ways) -> None:
        plan = self.plan
        owners = self.members[choice.address].owners
        total = plan.structures.existence.total
        living = [each for each in choice.branches if total((*owners, (choice.address, each.name)))]
        if not living:
            plan.clauses.extend(active)
            living, active = [*choice.branches], NEVER
        branches = tuple(branch.name for branch in living)
        weights = tuple(branch.weight for branch in living)
        default = choice.branches[choice.default].name
        usual = default if default in branches else branches[0]
        parameter = finite(plan.names.new(plan.wish(choice)), branches, usual, weighted(weights))
        plan.add(parameter, active)
        plan.decisions[choice.address] = parameter
        plan.coded.append((choice, parameter))
        plan.readers[parameter.name] = lambda values: (choice.key, _branch(parameter, values))

    def _clauses(self, constraint: Constraint) -> Ways:
        """Return the forbidden clauses of a constraint.

        A constraint applies only where all variables that it names are active.
        """
        applies = both(*(self._active(address) for address in constraint.scope))
        found = both(applies, self.ways(constraint.expression, constraint.forbidden))
        if frozenset() in found:
            raise UnsayableError
        return found

    def ways(self, expression: Expr, truth: bool) -> Ways:
        """Return the normal form of the configurations in which an expression has a truth value."""
        match expression:
            case Not():
                return self.ways(expression.term, not truth)
            case And() | Or():
                ways = [self.ways(term, truth) for term in expression.terms]
                return both(*ways) if isinstance(expression, And) is truth else either(*ways)
            case Is():
                return self._branches(expression, truth)
            case Active():
                active = self._active(expression.address)
                return active if truth else self._opposite(active)
            case _:
                return self._atom(expression, truth)

    def _atom(self, atom: Expr, truth: bool) -> Ways:
        named = references(atom)
        if not named:
            return ALWAYS if holds(atom, lambda _: INACTIVE) is truth else NEVER
        if any(isinstance(node, Is | Active) for node in nodes(atom)):
            raise UnsayableError
        for address in named:
            self._introduce(address)
        found = atom_ways(atom, truth, self.codes, self.plan.activity)
        return found if truth else either(*(self._opposite(self._active(address)) for address in named), found)

    def _branches(self, test: Is, truth: bool) -> Ways:
        self._introduce(test.address)
        parameter = self.plan.decisions[test.address]
        branches = [branch for branch in parameter.choices if (branch in test.branches) is truth]
        found = among(parameter, branches, self.plan.activity)
        return found if truth else either(self._opposite(self.plan.activity[parameter.name]), found)

    def _active(self, address: str) -> Ways:
        self._introduce(address)
        known = self.codes[address].parameters[0] if address in self.codes else self.plan.decisions[address]
        return self.plan.activity[known.name]

    def _opposite(self, ways: Ways) -> Ways:
        """Return the negation of a normal form."""
        return both(*(either(*(self._untrue(test) for test in way)) for way in ways))

    def _untrue(self, test: Among | Threshold | PairRelation) -> Ways:
        if not isinstance(test, Among):
            return self._unbound(test)
        parameter = self.plan.parameters[test.name]
        others = among(parameter, [v for v in parameter.choices if v not in test.values], self.plan.activity)
        return either(self._opposite(self.plan.activity[test.name]), others)

    def _unbound(self, test: Threshold | PairRelation) -> Ways:
        if isinstance(test, PairRelation):
            raise UnsayableError
        parameter = self.plan.parameters[test.name]
        signs = [sign for sign in _SIGNS if sign != test.sign]
        others = either(
            *(
                (frozenset((replace(test, sign=sign),)),)
                for sign in signs
                if not (sign == "<" and test.number <= parameter.lower)
                and not (sign == ">" and test.number >= parameter.upper)
            )
        )
        return either(self._opposite(self.plan.activity[test.name]), others)


def _branch(parameter: FlatHyperparameter, values: Mapping[str, FlatValue]) -> Value:
    branch = values[parameter.name]
    if branch not in parameter.choices:
        raise LookupError
    return branch
