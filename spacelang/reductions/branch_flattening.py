"""Flattening: conditions inside a branch of a stage become further alternatives of that stage.

The decisions inside a branch are fixed, and so are the hyperparameters that its conditions mention. Each combination is
an alternative of its own. Values that no condition distinguishes stay together in one piece of the domain.
See spacelang/optimizers/README.md, section "Unit interval".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final

from spacelang.grouping import group_by_key
from spacelang.ir.domain import Domain, describe, literal
from spacelang.ir.expr import (
    INACTIVE,
    ActivityTest,
    Expr,
    ExpressionValue,
    decisions_in_tests,
    is_true,
    nodes,
    references,
)
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.value import Value
from spacelang.solver.domain_cells import (
    can_be_split,
    hyperparameter_atoms,
    is_multivariate,
    join_cells,
    split_at_atoms,
)

MAX_ALTERNATIVES: Final = 256  # The maximum number of alternatives to which one branch of a stage is flattened


@dataclass(frozen=True)
class BranchCase:
    """One case of a flattened branch: nested decisions are fixed, and domains of hyperparameters restricted.

    `branches` has the branch of each nested decision by address, and `domains` the values that are left to a
    hyperparameter; None stands for a variable that is not active in this case. `absent` has the addresses of all
    variables that are not active in this case, fixed or not. `decided_conditions` has the addresses of the
    hyperparameters whose conditions are true or false throughout the case.
    """

    label: str = ""
    branches: Mapping[str, str | None] = field(default_factory=dict)
    domains: Mapping[str, Domain | None] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    decided_conditions: frozenset[str] = frozenset()

    @cached_property
    def fixed_values(self) -> dict[str, Value]:
        """The values of the hyperparameters that are restricted to a single one."""
        return {a: kept.representative for a, kept in self.domains.items() if kept is not None and kept.size == 1}


@dataclass(frozen=True, slots=True)
class FlattenedBranch:
    """The cases of a branch, and the variables in it whose values still decide what is active.

    The conditions of the hyperparameters in `not_local` depend on variables outside of the branch, or compare several
    variables. Fixing the variables in `over_limit` too would make more than `MAX_ALTERNATIVES` cases.
    """

    cases: tuple[BranchCase, ...]
    not_local: tuple[Hyperparameter, ...]
    over_limit: tuple[Hyperparameter | Choice, ...]


def flatten_branch(space: Space, stage: Choice, branch: str, orders: frozenset[str]) -> FlattenedBranch:
    """Return the cases of a branch of a stage, in which the decisions and conditions inside the branch are decided.

    The decisions with the addresses in `orders`, which are orders of steps, are not decided.
    """
    return _Flattening(space, stage, branch, orders).run()


@dataclass(frozen=True, slots=True)
class _VariableState:
    """One state of a fixed variable: a branch or a piece of its domain, a representative value, and a label."""

    value: ExpressionValue
    branch: str | None = None
    domain: Domain | None = None
    label: str = ""


class _Flattening:
    def __init__(self, space: Space, stage: Choice, branch: str, orders: frozenset[str]) -> None:
        self._stage, self._branch, self._orders = stage, branch, orders
        inside = (each for each in space.variables.values() if each.owners[:1] == ((stage.address, branch),))
        self._inside: dict[str, Variable] = {variable.address: variable for variable in inside}
        self._conditions: dict[str, Expr] = {}
        self._fixed: dict[str, None] = {}

    def run(self) -> FlattenedBranch:
        elsewhere: list[Hyperparameter] = []
        many: list[Hyperparameter | Choice] = []
        for variable in self._inside.values():
            node = variable.node
            if isinstance(node, Choice):
                if node.address not in self._orders and not self._try_to_fix([node.address], {}):
                    many.append(node)
            elif node.condition is not None:
                found = self._dependencies_of(node)
                if found is None:
                    elsewhere.append(node)
                elif not self._try_to_fix(found[0], found[1]):
                    many.append(node)
        return FlattenedBranch(tuple(map(self._make_case, self._joint_states())), tuple(elsewhere), tuple(many))

    def _dependencies_of(self, node: Hyperparameter) -> tuple[list[str], dict[str, Expr]] | None:
        """Return the addresses on which a hyperparameter's condition depends, and the conditions that were followed.

        The variables on which it depends may have conditions, which are followed too; the dictionary has all of these
        conditions, its own included, by address. Return None if one of them is not local (see `_is_local`).
        """
        asked: dict[str, None] = {}
        conditions: dict[str, Expr] = {}
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.condition is None or each.address in conditions:
                continue
            conditions[each.address] = each.condition
            if not self._is_local(each.condition):
                return None
            for address in (*references(each.condition), *decisions_in_tests(each.condition)):
                if address == self._stage.address:
                    continue
                asked[address] = None
                inner = self._inside[address].node
                if isinstance(inner, Hyperparameter):
                    waiting.append(inner)
        return list(asked), conditions

    def _is_local(self, condition: Expr) -> bool:
        """Return True if a condition only mentions variables of this branch, and each of its atoms a single variable.

        The stage itself may be mentioned. Return False for tests of orders of steps, tests of activity, and atoms that
        do not cut a domain into pieces.
        """
        asked = (*references(condition), *decisions_in_tests(condition))
        if any(address not in self._inside and address != self._stage.address for address in asked):
            return False
        if any(address in self._orders for address in asked) or any(
            isinstance(n, ActivityTest) for n in nodes(condition)
        ):
            return False
        return all(
            not is_multivariate(atom) and can_be_split(self._inside[references(atom)[0]].hyperparameter.domain, atom)
            for atom in hyperparameter_atoms(condition)
        )

    def _try_to_fix(self, asked: Sequence[str], conditions: Mapping[str, Expr]) -> bool:
        """Fix these variables and their owners; return False and change nothing if that makes too many cases."""
        owners = [owner for address in asked for owner, _ in self._inside[address].owners[1:]]
        before = dict(self._fixed), dict(self._conditions)
        self._fixed |= dict.fromkeys((*owners, *asked))
        self._conditions |= conditions
        if len([*islice(self._joint_states(), MAX_ALTERNATIVES + 1)]) <= MAX_ALTERNATIVES:
            return True
        self._fixed, self._conditions = before
        return False

    @property
    def _in_dependency_order(self) -> tuple[str, ...]:
        """The addresses of the fixed variables, each after those on which its activity depends."""
        found: dict[str, None] = {}

        def visit(address: str) -> None:
            for owner, _ in self._inside[address].owners[1:]:
                visit(owner)
            if address in self._conditions:
                for asked in (*references(self._conditions[address]), *decisions_in_tests(self._conditions[address])):
                    if asked != self._stage.address:
                        visit(asked)
            found[address] = None

        for address in self._inside:
            if address in self._fixed:
                visit(address)
        return tuple(found)

    def _joint_states(self) -> Iterator[dict[str, _VariableState]]:
        """Yield the joint states of the fixed variables, by address."""
        ordered = self._in_dependency_order
        states = {address: tuple(self._states_of(self._inside[address])) for address in ordered}
        waiting: list[dict[str, _VariableState]] = [{}]
        while waiting:
            known = waiting.pop()
            if len(known) == len(ordered):
                yield known
                continue
            address = ordered[len(known)]
            active = self._is_active(self._inside[address], known)
            options = states[address] if active else (_VariableState(INACTIVE),)
            waiting.extend({**known, address: option} for option in reversed(options))

    def _states_of(self, variable: Variable) -> Iterator[_VariableState]:
        node = variable.node
        name = node.key.removeprefix(f"{self._stage.key}.")
        if isinstance(node, Choice):
            for branch in node.branch_indices:
                label = f"{name}={branch}" if len(node.branches) > 1 else ""
                yield _VariableState(branch, branch=branch, label=label)
            return
        every = dict.fromkeys(
            atom for condition in self._conditions.values() for atom in hyperparameter_atoms(condition)
        )
        found = [*_distinguished_pieces(node, [atom for atom in every if references(atom) == (node.address,)])]
        for domain, worth in found:
            label = f"{name}={literal(worth)}" if domain.size == 1 else f"{name} in {describe(domain)}"
            yield _VariableState(worth, domain=domain, label=label if len(found) > 1 else "")

    def _is_active(self, variable: Variable, known: Mapping[str, _VariableState]) -> bool:
        """Return True unless the states in `known` imply that a variable is not reached or that its condition is false.

        The variables that its condition mentions must be in `known`.
        """
        for owner, branch in variable.owners[1:]:
            if owner in known and known[owner].branch != branch:
                return False
        condition = self._conditions.get(variable.address)

        def worth(address: str) -> ExpressionValue:
            return self._branch if address == self._stage.address else known[address].value

        return condition is None or is_true(condition, worth)

    def _make_case(self, known: Mapping[str, _VariableState]) -> BranchCase:
        nested = {a: o.branch for a, o in known.items() if isinstance(self._inside[a].node, Choice)}
        domains = {a: o.domain for a, o in known.items() if a not in nested}
        gone = (a for a, variable in self._inside.items() if not self._is_active(variable, known))
        label = ",".join(option.label for option in known.values() if option.label)
        return BranchCase(label, nested, domains, frozenset(gone), frozenset(self._conditions))


def _distinguished_pieces(node: Hyperparameter, atoms: Sequence[Expr]) -> Iterator[tuple[Domain, Value]]:
    """Yield the pieces of the domain on which all atoms are constant, each with one value in it."""

    def signature(value: Value) -> tuple[bool, ...]:
        return tuple(is_true(atom, lambda _: value) for atom in atoms)

    cells = split_at_atoms(node.domain, atoms)
    for mine in group_by_key((signature(cell.representative), cell) for cell in cells).values():
        yield join_cells(node.domain, mine), mine[0].representative
