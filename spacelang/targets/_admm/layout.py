"""The layout of the ADMM variables: one-hot blocks of z, orders, and theta with its owners.

See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from spacelang.codings.indexed import Indexed
from spacelang.draws.tabulating import coded
from spacelang.forms.printer import show_expression
from spacelang.grouping import grouped
from spacelang.ir.domain import Categorical, Domain, Missing, members, parts
from spacelang.ir.expr import Active, And, Expr, Is, decisions, holds, nodes
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.value import identity
from spacelang.reductions.flattening import Settled
from spacelang.reductions.permutations import Permutation
from spacelang.targets._admm.boxes import Coordinate, Owner, ThetaBox

FEW: Final = 4_096
"""The maximum size of a domain part from which members that a constraint excludes are removed from D."""


@dataclass(frozen=True, slots=True)
class ThetaColumns:
    """The columns of theta_d and theta_c that encode one hyperparameter or one decision nested in an alternative."""

    address: str
    coding: Indexed
    integer: int | None
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Indicator:
    """One variable of a block of z, which is 1 if its alternative is taken.

    `settled` is what the alternative fixes in addition to its branch: nothing, unless conditions are flattened.
    """

    name: str
    branch: str
    place: int
    settled: Settled
    slots: tuple[ThetaColumns, ...]
    asked: tuple[tuple[str, Indexed | None], ...] = ()
    """The restricted domains of hyperparameters in it, by address; None for those that are not active."""


@dataclass(frozen=True)
class Block:
    """A stage: the columns of z from `start` on, of which exactly one is 1."""

    stage: str
    address: str
    start: int
    alternatives: tuple[Indicator, ...]

    @property
    def columns(self) -> slice:
        """The columns of the block in z."""
        return slice(self.start, self.start + len(self.alternatives))

    @cached_property
    def variants(self) -> dict[int, tuple[int, ...]]:
        """The indices of the alternatives of each branch, by the index of the branch."""
        found: dict[int, tuple[int, ...]] = {}
        for number, alternative in enumerate(self.alternatives):
            found[alternative.place] = (*found.get(alternative.place, ()), number)
        return found


@dataclass(frozen=True)
class StepOrder(Permutation):
    """The order of permuted steps."""

    stage: str
    address: str
    owner: Owner
    default: int


@dataclass(frozen=True)
class Layout:
    """All variables of a space: blocks of z, orders, theta_c and theta_d.

    The hyperparameters in `always` belong to every pipeline.
    """

    blocks: tuple[Block, ...]
    orders: tuple[StepOrder, ...]
    always: tuple[ThetaColumns, ...]
    theta_c: ThetaBox
    theta_d: ThetaBox

    @property
    def width(self) -> int:
        """The number of variables of z."""
        return sum(len(block.alternatives) for block in self.blocks)


def layout_of(space: Space, variants: Mapping[tuple[str, str], tuple[Settled, ...]]) -> Layout:
    """Return the layout of the variables of a space.

    `variants` has the cases of each flattened branch, by the address of its stage and its name, one or more. Each case
    is an alternative of z. A branch that is not in it is a single alternative.
    """
    products = space.permutations
    writer = _Writer(space, frozenset(products))
    always = writer.slots((), None, Settled())
    blocks: list[Block] = []
    for stage in (stage for stage in space.stages if stage.address not in products):
        start = blocks[-1].columns.stop if blocks else 0
        blocks.append(Block(stage.key, stage.address, start, tuple(writer.alternatives(stage, variants))))
    orders = tuple(
        StepOrder(
            products[choice.address].labels,
            tuple(choice.places),
            choice.key,
            choice.address,
            _owner(space, space.variables[choice.address]),
            choice.default,
        )
        for choice in space.decisions
        if choice.address in products
    )
    return Layout(tuple(blocks), orders, always, writer.numbers(), writer.integers())


def _owner(space: Space, variable: Variable) -> Owner:
    if not variable.owners:
        return None
    address, branch = variable.owners[0]
    return space.variables[address].key, branch


class _Writer:
    """A builder of the columns of theta, in the order in which they are requested."""

    def __init__(self, space: Space, orders: frozenset[str]) -> None:
        self._space = space
        self._orders = orders
        self._inside = grouped((each.owners[0] if each.owners else None, each) for each in space.variables.values())
        self._excluded = dict(_excluded(space))
        self._numbers: list[Coordinate] = []
        self._integers: list[Coordinate] = []

    def numbers(self) -> ThetaBox:
        return ThetaBox(tuple(self._numbers), integral=False)

    def integers(self) -> ThetaBox:
        return ThetaBox(tuple(self._integers), integral=True)

    def alternatives(
        self, stage: Choice, variants: Mapping[tuple[str, str], tuple[Settled, ...]]
    ) -> Iterator[Indicator]:
        for place, branch in enumerate(stage.branches):
            context = (stage.address, branch.name)
            for settled in variants.get(context, (Settled(),)):
                name = f"{branch.name}[{settled.label}]" if settled.label else branch.name
                slots = self.slots(context, (stage.key, name), settled)
                yield Indicator(name, branch.name, place, settled, slots, tuple(self._asked(settled)))

    def _asked(self, settled: Settled) -> Iterator[tuple[str, Indexed | None]]:
        for address, domain in settled.domains.items():
            node = self._space.variables[address].hyperparameter
            yield address, None if domain is None else Indexed(domain, node.domain)

    def slots(self, context: tuple[str, str] | tuple[()], owner: Owner, settled: Settled) -> tuple[ThetaColumns, ...]:
        found = []
        for variable in self._inside.get(context or None, ()):
            if variable.address in settled.absent or variable.address in settled.values:
                continue
            if isinstance(variable.node, Hyperparameter):
                domain = settled.domains.get(variable.address) or variable.node.domain
                found.append(self._slot(variable.node, owner, domain, self._condition(variable, settled)))
            elif context and variable.address not in settled.branches and variable.address not in self._orders:
                found.append(self._nested(variable.node, owner, self._condition(variable, settled)))
        return tuple(found)

    def _nested(self, choice: Choice, owner: Owner, condition: str) -> ThetaColumns:
        domain = Categorical(tuple(choice.places))
        coding = Indexed(domain, domain)
        self._integers.append(
            Coordinate(choice.key, choice.address, owner, coding.pieces, choice.default, condition=condition)
        )
        return ThetaColumns(choice.address, coding, len(self._integers) - 1, ())

    def _slot(self, node: Hyperparameter, owner: Owner, domain: Domain, condition: str) -> ThetaColumns:
        coding, integer = Indexed(domain, node.domain), None
        given = domain.find(node.default)
        default = domain.middle if isinstance(given, Missing) else given
        whole, numbers = coding.encode(coded(node.domain, [default]))
        if coding.is_discrete:
            integer, code = len(self._integers), int(whole[0])
            excluded = self._holes(node.address, coding)
            self._integers.append(Coordinate(node.key, node.address, owner, coding.pieces, code, excluded, condition))
        first = len(self._numbers)
        for place, (piece, (given,)) in enumerate(zip(coding.ranges, numbers, strict=True)):
            name = node.key if len(coding.ranges) == 1 else f"{node.key} ({place + 1})"
            start = piece.part.middle if np.isnan(given) else float(given)
            assert isinstance(start, float)
            self._numbers.append(Coordinate(name, node.address, owner, (piece,), start, frozenset(), condition))
        return ThetaColumns(node.address, coding, integer, tuple(range(first, len(self._numbers))))

    def _condition(self, variable: Variable, settled: Settled) -> str:
        """Return the condition of a variable within its alternative as text.

        The text is empty if the variable is active whenever the alternative is taken.
        """
        owners = variable.owners[1:]
        tests: list[Expr] = [Is(owner, (branch,)) for owner, branch in owners if owner not in settled.branches]
        if variable.condition is not None:
            tests += [] if variable.address in settled.told else [variable.condition]
        return "" if not tests else show_expression(self._said(tests[0] if len(tests) == 1 else And(tuple(tests))))

    @cached_property
    def _said(self) -> Callable[[Expr], Expr]:
        # Imported here because it loads the syntax tree, which spaces without conditions do not need.
        from spacelang.forms.wording import saying

        return saying(self._space)

    def _holes(self, address: str, coding: Indexed) -> frozenset[int]:
        """Return the codes that constraints on this hyperparameter alone exclude.

        If they exclude all codes, none are returned.
        """
        excluded = self._excluded.get(address)
        if not excluded:
            return frozenset()
        found = {
            code
            for piece in coding.pieces
            if not piece.is_continuous
            for code in range(piece.first, piece.last + 1)
            if identity(piece.value(code)) in excluded
        }
        return frozenset(found) if len(found) <= coding.upper - coding.lower else frozenset()


def _excluded(space: Space) -> Iterable[tuple[str, frozenset[tuple[object, ...]]]]:
    """Return, for each hyperparameter, the values that constraints on it alone exclude."""
    found: dict[str, set[tuple[object, ...]]] = {}
    for rule in space.constraints:
        if len(rule.scope) != 1 or decisions(rule.expression):
            continue
        if any(isinstance(node, Active) for node in nodes(rule.expression)):
            continue
        node = space.variables[rule.scope[0]].hyperparameter
        for part in parts(node.domain):
            if part.size is not None and part.size <= FEW:
                for value in members(part):
                    if holds(rule.expression, lambda _, value=value: value) == rule.forbidden:  # type: ignore[misc]
                        found.setdefault(node.address, set()).add(identity(value))
    return ((address, frozenset(values)) for address, values in found.items())
