"""The layout of the ADMM variables: one-hot blocks of z, orders, and theta with its owners.

See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Final

import numpy as np

from spacelang.encodings.mixed_integer_encoding import MixedIntegerEncoding
from spacelang.grouping import group_by_key
from spacelang.ir.domain import Categorical, Domain, NotFound, members, parts
from spacelang.ir.expr import ActivityTest, And, BranchTest, Expr, decisions_in_tests, is_true, nodes
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable, name_of_step_order
from spacelang.ir.value import identity_key
from spacelang.reductions.branch_flattening import BranchCase
from spacelang.sampling.batch_builder import encode_values
from spacelang.sampling.value_codes import Array
from spacelang.serialization.syntax_nodes import expression_speller, format_expression
from spacelang.targets._admm.points import Owner, ThetaCoordinate, ThetaCoordinates

MAX_ENUMERATED_MEMBERS: Final = 4_096
"""The maximum size of a domain part from which members that a constraint excludes are removed from D."""


@dataclass(frozen=True)
class StepOrderDecision:
    """A decision on the order of permuted steps; `branches` are the names of the allowed orders.

    `labels` are the steps.
    """

    labels: tuple[str, ...]
    branches: tuple[str, ...]
    stage: str = ""
    address: str = ""
    owner: Owner = None
    default: int = 0

    @property
    def size(self) -> int:
        """The number of steps, T."""
        return len(self.labels)

    @cached_property
    def matrices(self) -> Array:
        """The permutation matrix of each allowed order: shape (branches, T, T), entries 0 and 1."""
        by_name = {name_of_step_order(labels): labels for labels in permutations(self.labels)}
        return np.stack([self.matrix_of(by_name[name]) for name in self.branches])

    def matrix_of(self, order: Sequence[str]) -> Array:
        """Return the permutation matrix of an order of the steps, shape (T, T)."""
        found = np.zeros((self.size, self.size), np.int8)
        found[[self.labels.index(label) for label in order], np.arange(self.size)] = 1
        return found

    def nearest_order_indices(self, matrices: Array) -> Array:
        """Return, for each of n matrices, the index of the allowed order nearest to it.

        This is the order for which the matrix has the largest sum of entries where the order's matrix has ones. NaN
        counts as 0.
        """
        given = np.asarray(matrices, float).reshape(len(matrices), -1)
        sums = np.nan_to_num(given) @ self.matrices.reshape(len(self.branches), -1).T.astype(float)
        return np.asarray(sums.argmax(axis=1))

    @property
    def missing_orders(self) -> tuple[tuple[str, ...], ...]:
        """The orders of the steps that are not allowed."""
        known = set(self.branches)
        return tuple(order for order in permutations(self.labels) if name_of_step_order(order) not in known)


@dataclass(frozen=True, slots=True)
class ThetaColumns:
    """The columns of theta_d and theta_c that encode one hyperparameter or one decision nested in an alternative."""

    address: str
    coding: MixedIntegerEncoding
    integer_column: int | None
    number_columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IndicatorVariable:
    """One 0-1 variable of a block of z: an alternative, which is a branch of a stage or one case of it.

    `case` says what flattening decides in addition to the branch.
    """

    name: str
    branch: str
    branch_index: int
    case: BranchCase
    columns: tuple[ThetaColumns, ...]
    restrictions: tuple[tuple[str, MixedIntegerEncoding | None], ...] = ()
    """The restricted domains of hyperparameters in it, by address; None for those that are not active."""


@dataclass(frozen=True)
class OneHotBlock:
    """A stage: the columns of z from `start` on, of which exactly one is 1."""

    stage: str
    address: str
    start: int
    alternatives: tuple[IndicatorVariable, ...]

    @property
    def columns(self) -> slice:
        """The columns of the block in z."""
        return slice(self.start, self.start + len(self.alternatives))

    @cached_property
    def alternatives_by_branch(self) -> dict[int, tuple[int, ...]]:
        """The indices of the alternatives of each branch, by the index of the branch."""
        found: dict[int, tuple[int, ...]] = {}
        for number, alternative in enumerate(self.alternatives):
            found[alternative.branch_index] = (*found.get(alternative.branch_index, ()), number)
        return found


@dataclass(frozen=True)
class VariableLayout:
    """All variables of a space: blocks of z, orders, theta_c and theta_d; `always` belong to every pipeline."""

    blocks: tuple[OneHotBlock, ...]
    orders: tuple[StepOrderDecision, ...]
    always: tuple[ThetaColumns, ...]
    theta_c: ThetaCoordinates
    theta_d: ThetaCoordinates

    @property
    def width(self) -> int:
        """The number of variables of z."""
        return sum(len(block.alternatives) for block in self.blocks)


def make_layout(space: Space, variants: Mapping[tuple[str, str], tuple[BranchCase, ...]]) -> VariableLayout:
    """Return the layout of the variables of a space.

    `variants` has the cases of each flattened branch, one or more, by (address of the stage, name of the branch). Each
    case is an alternative of z. A branch that is not in it is a single alternative.
    """
    products = space.permutations
    writer = _LayoutBuilder(space, frozenset(products))
    always = writer.add_columns((), None, BranchCase())
    blocks: list[OneHotBlock] = []
    for stage in (stage for stage in space.stages if stage.address not in products):
        start = blocks[-1].columns.stop if blocks else 0
        blocks.append(OneHotBlock(stage.key, stage.address, start, tuple(writer.alternatives(stage, variants))))
    orders: list[StepOrderDecision] = []
    for choice in (choice for choice in space.decisions if choice.address in products):
        outer = space.variables[choice.address].owners[:1]
        owner = next(((space.variables[address].key, branch) for address, branch in outer), None)
        labels, branches = products[choice.address].labels, tuple(choice.branch_indices)
        orders.append(StepOrderDecision(labels, branches, choice.key, choice.address, owner, choice.default))
    theta_c, theta_d = (
        ThetaCoordinates(tuple(writer.numbers), integral=False),
        ThetaCoordinates(tuple(writer.integers), integral=True),
    )
    return VariableLayout(tuple(blocks), tuple(orders), always, theta_c, theta_d)


class _LayoutBuilder:
    def __init__(self, space: Space, orders: frozenset[str]) -> None:
        self._space, self._orders = space, orders
        variables = space.variables.values()
        self._variables_by_context = group_by_key((v.owners[0] if v.owners else None, v) for v in variables)
        self._excluded = dict(_excluded_values(space))
        self.numbers: list[ThetaCoordinate] = []
        self.integers: list[ThetaCoordinate] = []

    def alternatives(
        self, stage: Choice, variants: Mapping[tuple[str, str], tuple[BranchCase, ...]]
    ) -> Iterator[IndicatorVariable]:
        for place, branch in enumerate(stage.branches):
            context = (stage.address, branch.name)
            for settled in variants.get(context, (BranchCase(),)):
                name = f"{branch.name}[{settled.label}]" if settled.label else branch.name
                slots = self.add_columns(context, (stage.key, name), settled)
                whole = {a: self._space.variables[a].hyperparameter.domain for a in settled.domains}
                kept = (
                    (a, None if d is None else MixedIntegerEncoding(d, whole[a])) for a, d in settled.domains.items()
                )
                yield IndicatorVariable(name, branch.name, place, settled, slots, tuple(kept))

    def add_columns(
        self, context: tuple[str, str] | tuple[()], owner: Owner, settled: BranchCase
    ) -> tuple[ThetaColumns, ...]:
        found = []
        for variable in self._variables_by_context.get(context or None, ()):
            if variable.address in settled.absent or variable.address in settled.fixed_values:
                continue
            if isinstance(variable.node, Hyperparameter):
                domain = settled.domains.get(variable.address) or variable.node.domain
                condition = self._condition_text(variable, settled)
                found.append(self._add_hyperparameter(variable.node, owner, domain, condition))
            elif context and variable.address not in settled.branches and variable.address not in self._orders:
                found.append(self._add_decision(variable.node, owner, self._condition_text(variable, settled)))
        return tuple(found)

    def _add_decision(self, choice: Choice, owner: Owner, condition: str) -> ThetaColumns:
        domain = Categorical(tuple(choice.branch_indices))
        coding = MixedIntegerEncoding(domain, domain)
        found = ThetaCoordinate(choice.key, choice.address, owner, coding.pieces, choice.default, condition=condition)
        self.integers.append(found)
        return ThetaColumns(choice.address, coding, len(self.integers) - 1, ())

    def _add_hyperparameter(self, node: Hyperparameter, owner: Owner, domain: Domain, condition: str) -> ThetaColumns:
        coding, integer = MixedIntegerEncoding(domain, node.domain), None
        given = domain.find(node.default)
        default = domain.representative if isinstance(given, NotFound) else given
        whole, numbers = coding.encode(encode_values(node.domain, [default]))
        if coding.needs_integer:
            integer, code = len(self.integers), int(whole[0])
            excluded = self._excluded_codes(node.address, coding)
            self.integers.append(
                ThetaCoordinate(node.key, node.address, owner, coding.pieces, code, excluded, condition)
            )
        first = len(self.numbers)
        for place, (piece, (given,)) in enumerate(zip(coding.continuous_pieces, numbers, strict=True)):
            name = node.key if len(coding.continuous_pieces) == 1 else f"{node.key} ({place + 1})"
            start = piece.part.representative if np.isnan(given) else float(given)
            assert isinstance(start, float)
            self.numbers.append(ThetaCoordinate(name, node.address, owner, (piece,), start, frozenset(), condition))
        return ThetaColumns(node.address, coding, integer, tuple(range(first, len(self.numbers))))

    def _condition_text(self, variable: Variable, settled: BranchCase) -> str:
        """Return the condition of a variable within its alternative; empty if it is always active there."""
        owners = variable.owners[1:]
        tests: list[Expr] = [BranchTest(owner, (branch,)) for owner, branch in owners if owner not in settled.branches]
        if variable.condition is not None:
            tests += [] if variable.address in settled.decided_conditions else [variable.condition]
        return (
            "" if not tests else format_expression(self._to_syntax(tests[0] if len(tests) == 1 else And(tuple(tests))))
        )

    @cached_property
    def _to_syntax(self) -> Callable[[Expr], Expr]:
        return expression_speller(self._space)

    def _excluded_codes(self, address: str, coding: MixedIntegerEncoding) -> frozenset[int]:
        """Return the codes that constraints on this hyperparameter alone exclude.

        Return no codes at all if they exclude every value.
        """
        excluded = self._excluded.get(address)
        if not excluded:
            return frozenset()
        finite = (
            (p, code) for p in coding.pieces if not p.is_continuous for code in range(p.first, p.last_integer + 1)
        )
        found = {code for piece, code in finite if identity_key(piece.value_of(code)) in excluded}
        return frozenset(found) if len(found) <= coding.upper - coding.lower else frozenset()


def _excluded_values(space: Space) -> Iterable[tuple[str, frozenset[tuple[object, ...]]]]:
    """Return, for each hyperparameter with such constraints, the values that constraints on it alone exclude."""
    found: dict[str, set[tuple[object, ...]]] = {}
    for rule in space.constraints:
        test = rule.expression
        if len(rule.scope) != 1 or decisions_in_tests(test) or any(isinstance(n, ActivityTest) for n in nodes(test)):
            continue
        node = space.variables[rule.scope[0]].hyperparameter
        for part in parts(node.domain):
            if part.size is not None and part.size <= MAX_ENUMERATED_MEMBERS:
                for value in members(part):
                    if is_true(test, lambda _, value=value: value) == rule.forbidden:  # type: ignore[misc]
                        found.setdefault(node.address, set()).add(identity_key(value))
    return ((address, frozenset(values)) for address, values in found.items())
