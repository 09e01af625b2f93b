"""Compile variables and constraints into networks: split domains into cells, tabulate expressions as factors."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final, TypeGuard

from spacelang.grouping import group_by_key
from spacelang.ir import expr
from spacelang.ir.domain import SimpleDomain
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate
from spacelang.ir.space import Choice, Constraint, Variable
from spacelang.ir.value import is_number
from spacelang.ir.walk import expressions_of
from spacelang.solver import constraint_network, domain_cells, fourier_motzkin, linear_inequalities
from spacelang.solver.bucket_elimination import (
    EXISTS,
    Factor,
    FactorGraph,
    State,
    Table,
    UnionFind,
    VariableGroup,
    eliminate,
)
from spacelang.solver.summed_ranges import countable_relations

MAX_JOINT_VALUES: Final = 100_000
"""The maximum number of joint values of the hyperparameters of one atom that are enumerated."""
MAX_ROWS: Final = 2_000_000
"""The maximum number of joint states to tabulate for the constraints of one network; takes some seconds."""
MAX_JOINT_STATES: Final = 4_096
"""The maximum number of joint states for which connected comparisons of large ranges are decided."""
MAX_SUMMED_VALUES: Final = 500_000
"""The maximum number of values in sums that decide whether large ranges have a joint value."""
MAX_DIRECT_BRANCHES: Final = 8
"""A decision with more branches than this is tested through one truth variable per branch."""
MAX_TABLE: Final = 4_096
"""The maximum number of joint states in one table for an expression; larger expressions are halved."""
MAX_EXACT_RANGES: Final = 4
"""The maximum number of tied ranges whose draws are always exact; more ranges need too many boxes to cover them."""
MAX_PAIR_TABLE: Final = 50_000
"""The same limit for expressions over two variables, where halving would not reduce the number of states."""


class ConstraintNetworkCompiler:
    """A compiler of one network: splits domains into cells and tabulates conditions and constraints.

    The solver decides no expression in `tested`, even if it could. `tabulated` are the atoms over several
    hyperparameters whose joint values it enumerates.
    """

    def __init__(self, tied: VariableGroup, tested: Collection[expr.Expr]) -> None:
        self.tied = tied
        self.left_to_draws = tested
        self.tabulated: dict[expr.Expr, None] = {}
        self.depth = len(tied.context)
        self.members = {member.address: member for member in tied.members}
        self.constraints = tuple(map(self._inside_context, tied.constraints))
        expressions = (*expressions_of((), self.constraints), *expressions_of(tied.members, ()))
        self.atoms = tuple(
            dict.fromkeys(atom for expression in expressions for atom in domain_cells.hyperparameter_atoms(expression))
        )
        self.literals: dict[expr.Expr, expr.Expr] = {}
        self.ranges: dict[str, expr.Compare] = {}
        self.tested: dict[str, expr.Expr] = {}
        self.truths: list[str] = []
        self.cells: dict[str, tuple[SimpleDomain, ...]] = {}
        self.states: dict[str, tuple[State, ...]] = {}
        self.factors: list[Factor] = []

    def compile(self) -> constraint_network.ConstraintNetwork:
        """Return the network. Raise UndecidableError or TooManyConnectedVariablesError."""
        related = [atom for atom in self.atoms if not self._is_decided_by_cells(atom)]
        self.tabulated = self._enumerated_atoms(related)
        for atom in related:
            if atom not in self.tabulated:
                literal = self.literals[atom] = self._new_truth()
                if self._is_range(atom):
                    self.ranges[literal.address] = atom
                else:
                    self.tested[literal.address] = atom
        self._add_states({address for atom in self.tabulated for address in expr.references(atom)})
        for atom in self.tabulated:
            self.literals[atom] = self._define_truth(atom)
        for name, atom in self.tested.items():
            self._add_tested(name, atom)
        for member in self.members.values():
            self._add_activity(member)
        self._add_constraints()
        truths = tuple(self.truths)
        plain = constraint_network.ConstraintNetwork(
            self.states, tuple(self.factors), *self.tied, self.cells, truths, self.ranges, self.tested
        )
        relations = countable_relations(plain)
        if relations is not None and relations.size <= MAX_SUMMED_VALUES:
            # Sums along the ranges are quicker than a system of many inequalities.
            return plain if relations.is_satisfiable else plain.without_joint_states()
        self.factors.extend(self._feasibility_factor(names) for names in group_connected_comparisons(self.ranges))
        if relations is None:
            return replace(plain, factors=tuple(self.factors))
        possible = eliminate(FactorGraph(self.states, tuple(self.factors)), (self.states, EXISTS)).total
        return plain if possible else plain.without_joint_states()

    def _inside_context(self, constraint: Constraint) -> Constraint:
        """Return a constraint simplified by the branches that the context of the network takes."""
        known = {owner: branch for owner, branch in self.tied.context if owner not in self.members}
        if known.keys().isdisjoint(expr.mentioned_addresses(constraint.expression)):
            return constraint
        left = partially_evaluate(constraint.expression, lambda address: known.get(address, UNKNOWN))
        return replace(constraint, expression=left)

    def _is_decided_by_cells(self, atom: expr.Expr) -> bool:
        """Return True if an atom depends on one hyperparameter whose domain can be split where its truth changes."""
        first, *_ = expr.references(atom)
        return not domain_cells.is_multivariate(atom) and domain_cells.can_be_split(
            self.members[first].hyperparameter.domain, atom
        )

    def _is_range(self, atom: expr.Expr) -> TypeGuard[expr.Compare]:
        return _is_linear(atom) and atom not in self.left_to_draws

    def _enumerated_atoms(self, related: Sequence[expr.Expr]) -> dict[expr.Expr, None]:
        """Return the atoms whose joint values are enumerated.

        A comparison of large ranges is decided for each joint state of the hyperparameters that it names. Where these
        have too many enumerated values together, the linear atoms that name them are compared as ranges, too.
        """
        found = dict.fromkeys(atom for atom in related if self._is_enumerable(atom))
        while True:
            ranges = {str(i): atom for i, atom in enumerate(related) if atom not in found and self._is_range(atom)}
            whole = {address for atom in found for address in expr.references(atom)}
            moved: set[expr.Expr] = set()
            for names in group_connected_comparisons(ranges):
                own = {address for name in names for address in expr.references(ranges[name])} & whole
                if prod(self._size_of(address) for address in own) > MAX_JOINT_STATES:
                    moved |= {a for a in found if self._is_range(a) and not own.isdisjoint(expr.references(a))}
            if not moved:
                return found
            found = {atom: None for atom in found if atom not in moved}

    def _size_of(self, address: str) -> int:
        return self.members[address].hyperparameter.domain.size or 1

    def _is_enumerable(self, atom: expr.Expr) -> bool:
        domains = [self.members[address].hyperparameter.domain for address in expr.references(atom)]
        sizes = [domain.size for domain in domains if domain.size is not None]
        few = len(sizes) == len(domains) and prod(sizes) <= MAX_JOINT_VALUES
        return few and max(sizes) <= domain_cells.MAX_ENUMERATED and atom not in self.left_to_draws

    def _new_truth(self) -> expr.BranchTest:
        name = f"truth {len(self.truths)}"  # cannot clash with an address, since these contain no blanks
        self.truths.append(name)
        self.states[name] = (0, 1)
        return expr.BranchTest(name, ("true",))

    def _add_states(self, whole: set[str]) -> None:
        alone = group_by_key((expr.references(atom)[0], atom) for atom in self.atoms if self._is_decided_by_cells(atom))
        several = (*self.ranges.values(), *self.tested.values())
        compared = {address for atom in several for address in expr.references(atom)}
        for address, member in self.members.items():
            unreached = len(member.owners) > self.depth
            if isinstance(member.node, Choice):
                count = len(member.node.branches)
            else:
                node, mine = member.node, alone.get(address, [])
                is_compared = address in compared
                found = (
                    domain_cells.singleton_cells(node.domain)
                    if address in whole
                    else domain_cells.split_at_atoms(node.domain, mine, by_value=is_compared)
                )
                self.cells[address], count = found, len(found)
                unreached = unreached or node.condition is not None
            self.states[address] = (*range(count), *((constraint_network.UNREACHED,) if unreached else ()))

    def _add_activity(self, member: Variable) -> None:
        """Add a factor that makes a variable reached exactly if its owners are taken and its condition holds."""
        states = self.states[member.address]
        if constraint_network.UNREACHED not in states:
            return
        condition = member.condition
        owners = tuple(self._owner_test(owner, branch) for owner, branch in member.owners[self.depth :])
        test = self._split_large(expr.And(owners if condition is None else (*owners, self._replace_atoms(condition))))
        if self._joint_size(test) * len(states) > MAX_TABLE:
            test = self._define_truth(test)

        active = expr.ActivityTest(member.address)
        names = (*dict.fromkeys(expr.mentioned_addresses(test)), member.address)
        self._tabulate(names, [expr.Or((expr.And((test, active)), expr.Not(expr.Or((test, active)))))])

    def _add_tested(self, name: str, atom: expr.Expr) -> None:
        """Add factors that make the truth of a tested expression false where one of its hyperparameters is inactive."""
        for address in expr.references(atom):
            states = self.states[address]
            if constraint_network.UNREACHED in states:
                table: Table = dict.fromkeys(product(states, (0, 1)), 1)
                del table[constraint_network.UNREACHED, 1]
                self.factors.append(Factor((address, name), table))

    def _owner_test(self, owner: str, branch: str) -> expr.Expr:
        """Return a test that a branch is taken.

        For a decision with many branches, all its variables share one truth variable for the test. Otherwise each of
        them would need a table with a row for every unrelated branch.
        """
        test = expr.BranchTest(owner, (branch,))
        if len(self.states[owner]) <= MAX_DIRECT_BRANCHES:
            return test
        if test not in self.literals:
            self.literals[test] = self._define_truth(test)
        return self.literals[test]

    def _add_constraints(self) -> None:
        sizes = {
            frozenset(expr.mentioned_addresses(c.expression)): self._joint_size(c.expression) for c in self.constraints
        }
        if sum(min(size, MAX_PAIR_TABLE if len(names) <= 2 else MAX_TABLE) for names, size in sizes.items()) > MAX_ROWS:
            raise constraint_network.TooManyConnectedVariablesError(self.tied.constraints)
        tests_of = map(self._constraint_test, self.constraints)
        for names, tests in group_by_key(
            (tuple(sorted(set(expr.mentioned_addresses(test)))), test) for test in tests_of
        ).items():
            self._tabulate(names, tests)

    def _constraint_test(self, constraint: Constraint) -> expr.Expr:
        """Return an expression that is true in the joint states that a constraint admits."""
        conditional = [address for address in constraint.scope if constraint_network.UNREACHED in self.states[address]]
        applies = expr.And(tuple(map(expr.ActivityTest, conditional)))
        expression = self._replace_atoms(constraint.expression)
        kept: expr.Expr = expr.Not(expression) if constraint.forbidden else expression
        return self._split_large(expr.Or((expr.Not(applies), kept)))

    def _replace_atoms(self, expression: expr.Expr) -> expr.Expr:
        """Return an expression in which atoms over several variables are replaced by tests of their truth variables."""
        if expression in self.literals:
            return self.literals[expression]
        if isinstance(expression, expr.And | expr.Or | expr.Not):
            return expr.map_children(expression, self._replace_atoms)
        return expression

    def _split_large(self, expression: expr.Expr) -> expr.Expr:
        """Return an expression small enough to tabulate; large ones are halved, each half with a truth variable."""
        if self._joint_size(expression) <= (
            MAX_TABLE if len(set(expr.mentioned_addresses(expression))) > 2 else MAX_PAIR_TABLE
        ):
            return expression
        match expression:
            case expr.Not():
                return expr.Not(self._split_large(expression.term))
            case expr.And() | expr.Or() if len(expression.terms) == 1:
                return self._split_large(expression.terms[0])
            case expr.And() | expr.Or():
                half = len(expression.terms) // 2
                halves = (expression.terms[:half], expression.terms[half:])
                return type(expression)(
                    tuple(self._define_truth(self._split_large(type(expression)(terms))) for terms in halves)
                )
            case _:
                return expression

    def _joint_size(self, expression: expr.Expr) -> int:
        return prod(len(self.states[name]) for name in set(expr.mentioned_addresses(expression)))

    def _define_truth(self, expression: expr.Expr) -> expr.Expr:
        literal = self._new_truth()
        names = tuple(dict.fromkeys(expr.mentioned_addresses(expression)))
        table: Table = {}
        for joint, truth in self._truth_blocks(expression, names):
            for states in product(*joint, (int(truth),)):
                table[states] = 1
        self.factors.append(Factor((*names, literal.address), table))
        return literal

    def _tabulate(self, names: Sequence[str], tests: Sequence[expr.Expr]) -> None:
        """Add a factor that admits the joint states in which all tests hold."""
        table: Table = dict.fromkeys(product(*(self.states[name] for name in names)), 1)
        for test in tests:
            for joint, truth in self._truth_blocks(test, names):
                if not truth:
                    for states in product(*joint):
                        table.pop(states, None)
        self.factors.append(Factor(tuple(names), table))

    def _truth_blocks(
        self, expression: expr.Expr, names: Sequence[str]
    ) -> Iterator[tuple[tuple[Sequence[State], ...], bool]]:
        """Return blocks of joint states (sets of equivalent states of each variable) with the expression's truth."""
        alone: dict[str, list[expr.Expr]] = {name: [] for name in names}
        whole: set[str] = set()
        for leaf in expr.logical_atoms(expression):
            named = dict.fromkeys(expr.mentioned_addresses(leaf))
            if len(named) == 1:
                alone[next(iter(named))].append(leaf)
            else:
                whole.update(named)
        blocks = [self._equivalent_states(name, alone[name], apart=name in whole) for name in names]
        options = {n: [self._value_of_state(n, s[0]) for s in found] for n, found in zip(names, blocks, strict=True)}
        return zip(product(*blocks), linear_inequalities.evaluate_combinations(expression, options), strict=True)

    def _equivalent_states(self, name: str, leaves: Sequence[expr.Expr], *, apart: bool) -> list[Sequence[State]]:
        """Return the states of a variable in blocks on which all `leaves` agree; with `apart`, one block per state."""
        blocks: dict[tuple[object, ...], list[State]] = {}
        for state in self.states[name]:
            worth = self._value_of_state(name, state)
            signature = tuple([expr.is_true(leaf, lambda _, worth=worth: worth) for leaf in leaves])  # type: ignore[misc]
            blocks.setdefault((*signature, state if apart else None), []).append(state)
        return [*blocks.values()]

    def _joint_states(
        self, names: Sequence[str]
    ) -> Iterable[tuple[tuple[State, ...], Mapping[str, expr.ExpressionValue]]]:
        options = [[(state, self._value_of_state(name, state)) for state in self.states[name]] for name in names]
        for joint in product(*options):
            yield (
                tuple(state for state, _ in joint),
                {name: worth for name, (_, worth) in zip(names, joint, strict=True)},
            )

    def _value_of_state(self, name: str, state: State) -> expr.ExpressionValue:
        if state == constraint_network.UNREACHED:
            return expr.INACTIVE
        if name not in self.members:
            return "true" if state else "false"
        node = self.members[name].node
        return node.branches[state].name if isinstance(node, Choice) else self.cells[name][state].representative

    def _feasibility_factor(self, truths: Sequence[str]) -> Factor:
        """Return a factor of the joint states of cells and truths for which some values in the cells exist."""
        addresses = tuple(dict.fromkeys(address for name in truths for address in expr.references(self.ranges[name])))
        required = {atom: truth for constraint in self.constraints for atom, truth in self._required(constraint)}
        table: Table = {}
        free = [name for name in truths if self.ranges[name] not in required]
        if prod(len(self.states[name]) for name in (*addresses, *free)) > MAX_JOINT_STATES:
            large = (atom for name in truths if not self._is_enumerable(atom := self.ranges[name]))
            raise constraint_network.UndecidableError(next(large, self.ranges[truths[0]]))
        for states, worths in self._joint_states(addresses):
            inside = {
                address: self.cells[address][state]
                for address, state in zip(addresses, states, strict=True)
                if is_number(worths[address])
            }
            for values in product(*(self._possible_truths(self.ranges[name], worths, required) for name in truths)):
                needed = [
                    constraint_network.inequality_systems_for_truth(self.ranges[name], bool(value))
                    for name, value in zip(truths, values, strict=True)
                    if inside.keys() >= set(expr.references(self.ranges[name]))
                ]
                if self._is_feasible(inside, needed, self.ranges[truths[0]]):
                    table[*states, *values] = 1
        return Factor((*addresses, *truths), table)

    def _required(self, constraint: Constraint) -> Iterator[tuple[expr.Expr, bool]]:
        """Yield the comparisons that a constraint requires to be true, or false, wherever their ranges are active."""
        conditional = {address for address in constraint.scope if constraint_network.UNREACHED in self.states[address]}
        for atom, truth in expr.implied_atom_truths(constraint.expression, is_true=not constraint.forbidden):
            if conditional <= set(expr.references(atom)):
                yield atom, truth

    def _possible_truths(
        self,
        atom: expr.Compare,
        worths: Mapping[str, expr.ExpressionValue],
        required: Mapping[expr.Expr, bool],
    ) -> tuple[State, ...]:
        """Return the possible truths of a comparison: both if it compares numbers and nothing requires one of them."""
        if all(is_number(worths[address]) for address in expr.references(atom)):
            return (int(required[atom]),) if atom in required else (0, 1)
        return (int(expr.is_true(atom, worths.__getitem__)),)

    def _is_feasible(
        self,
        inside: Mapping[str, SimpleDomain],
        needed: Sequence[tuple[linear_inequalities.InequalitySystem, ...]],
        atom: expr.Compare,
    ) -> bool:
        try:
            return not needed or linear_inequalities.is_feasible_system(inside, needed)
        except fourier_motzkin.SearchTooLongError as error:
            raise constraint_network.UndecidableError(atom) from error


def _is_linear(atom: expr.Expr) -> TypeGuard[expr.Compare]:
    """Return True if an atom compares several hyperparameters by linear arithmetic, which the solver decides."""
    return (
        domain_cells.is_multivariate(atom)
        and isinstance(atom, expr.Compare)
        and linear_inequalities.linear_difference(atom) is not None
    )


def group_connected_comparisons(ranges: Mapping[str, expr.Compare]) -> Iterable[Sequence[str]]:
    """Return the names of the comparisons, grouped by shared hyperparameters (directly or through others)."""
    ties = UnionFind(address for atom in ranges.values() for address in expr.references(atom))
    for atom in ranges.values():
        ties.union(expr.references(atom))
    return ties.groups((expr.references(atom)[0], name) for name, atom in ranges.items())
