"""The partition of a space into arms by pieces of its hyperparameters, without listing structures.

Hyperparameters are split into pieces. A configuration belongs to the arm of the pieces that contain its values; an
inactive hyperparameter counts as in its first piece. Hyperparameters of different alternatives of a decision are not
crossed with each other. All alternatives of a decision below which nothing is split form one group. See
spacelang/optimizers/README.md, section "BOASF: arms".
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import prod
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, Union, contains, literal, parts
from spacelang.ir.domain_properties import subgrid
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Expr, In, Or, Reference, is_true, references
from spacelang.ir.partial_evaluation import fold_constants, split_condition_by_activity
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Space
from spacelang.sampling.unit_scale import unit_scale

ArmKey: TypeAlias = tuple[tuple[str, int], ...]
"""The key of an arm: pairs of the address of a variable and the index of the chosen piece or group of branches."""


@dataclass(frozen=True, slots=True)
class SplitHyperparameter:
    """A hyperparameter whose domain is split into two or more pieces."""

    node: Hyperparameter
    pieces: tuple[Domain, ...]


@dataclass(frozen=True, slots=True)
class GroupedDecision:
    """A decision whose branches form groups: each branch with split hyperparameters inside it, and all others together.

    `inside` has the split hyperparameters and grouped decisions of each group.
    """

    node: Choice
    groups: tuple[tuple[str, ...], ...]
    inside: tuple["Cuts", ...]


Cuts: TypeAlias = tuple[SplitHyperparameter | GroupedDecision, ...]
"""The cut hyperparameters below some branches, and the decisions that lead to further cuts."""


@dataclass(slots=True)
class Subspace:
    """A restriction of a space to an arm: branches and domains by address, and additional constraints."""

    branches: dict[str, frozenset[str]] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    rules: list[Constraint] = field(default_factory=list)


MAX_NAMED_ALTERNATIVES: Final = 3
"""The maximum size of a group of alternatives whose names are all listed in the name of an arm."""


class Partition:
    """A partition of a space by pieces of its hyperparameters; each combination of pieces is an arm."""

    def __init__(self, space: Space, pieces_of: Callable[[Hyperparameter], tuple[Domain, ...]]) -> None:
        self._space = space
        self._places: dict[str, SplitHyperparameter | GroupedDecision] = {}
        self.slots = self._find_cuts((), pieces_of)

    @property
    def split_hyperparameters(self) -> tuple[SplitHyperparameter, ...]:
        """The hyperparameters whose domains are split."""
        return tuple(slot for slot in self._places.values() if isinstance(slot, SplitHyperparameter))

    def arm_key_of(self, configuration: Configuration) -> ArmKey:
        """Return the key of the arm of a member."""
        return tuple(_arm_key_items(self.slots, configuration))

    def subspace_of(self, arm_key: ArmKey) -> Subspace | None:
        """Return the branches, domains and constraints of an arm; None if a condition already shows that it is empty.

        The subspace may still be empty.
        """
        part = Subspace()
        active: list[str] = []
        for address, place in arm_key:
            slot = self._places[address]
            if isinstance(slot, GroupedDecision):
                part.branches[address] = frozenset(slot.groups[place])
            else:
                part.domains[address] = slot.pieces[place]
                if place:
                    active.append(address)
        return part if all(_require_active(self._space, address, part) for address in active) else None

    def arm_name(self, arm_key: ArmKey, part: Subspace) -> str:
        """Return the name of an arm: its alternatives and its pieces, without pieces that are never active in it.

        The text of a piece ends with "or inactive" if the arm also has configurations in which it is inactive.
        """
        words: list[str] = []
        names = [self._places[address].node.name for address, _ in arm_key if address in part.domains]
        for address, place in arm_key:
            slot = self._places[address]
            if isinstance(slot, GroupedDecision):
                group = slot.groups[place]
                many = f"one of {len(group)} other alternatives of {slot.node.name}"
                words += [many if len(group) > MAX_NAMED_ALTERNATIVES else " or ".join(group)] * (len(slot.groups) > 1)
                continue
            is_open = place == 0 and not _is_always_active(self._space, address, part)
            copied = Subspace({**part.branches}, {**part.domains}, [*part.rules])
            if is_open and not _require_active(self._space, address, copied):
                continue
            own = slot.node.name if names.count(slot.node.name) == 1 else slot.node.key
            words.append(f"{own} {describe_piece(part.domains[address])}{' or inactive' * is_open}")
        return ", ".join(words)

    def _find_cuts(self, context: Context, pieces_of: Callable[[Hyperparameter], tuple[Domain, ...]]) -> Cuts:
        found: list[SplitHyperparameter | GroupedDecision] = []
        for variable in self._space.by_context.get(context, ()):
            node = variable.node
            if isinstance(node, Hyperparameter):
                pieces = pieces_of(node)
                found += [SplitHyperparameter(node, pieces)] if len(pieces) > 1 else []
                continue
            names = [branch.name for branch in node.branches]
            below = ((name, self._find_cuts((*context, (node.address, name)), pieces_of)) for name in names)
            deeper = {name: slots for name, slots in below if slots}
            if deeper:
                others = tuple(name for name in names if name not in deeper)
                groups = (*([others] if others else ()), *((name,) for name in deeper))
                found.append(GroupedDecision(node, groups, (*([()] if others else ()), *deeper.values())))
        self._places |= {slot.node.address: slot for slot in found}
        return tuple(found)


def max_arm_count(slots: Cuts) -> int:
    """Return the number of arms, including those that turn out to be empty."""
    return prod(
        len(s.pieces) if isinstance(s, SplitHyperparameter) else sum(map(max_arm_count, s.inside)) for s in slots
    )


def iter_arm_keys(slots: Cuts) -> Iterator[ArmKey]:
    """Yield the keys of all arms, including those that turn out to be empty."""
    for joint in product(*map(_slot_arm_keys, slots)):
        yield tuple(item for items in joint for item in items)


def _slot_arm_keys(slot: SplitHyperparameter | GroupedDecision) -> Iterator[ArmKey]:
    if isinstance(slot, SplitHyperparameter):
        yield from (((slot.node.address, place),) for place in range(len(slot.pieces)))
    else:
        for place, inside in enumerate(slot.inside):
            yield from (((slot.node.address, place), *inner) for inner in iter_arm_keys(inside))


def _arm_key_items(slots: Cuts, configuration: Configuration) -> Iterator[tuple[str, int]]:
    for slot in slots:
        if isinstance(slot, SplitHyperparameter):
            key = slot.node.key
            found = (p for p, piece in enumerate(slot.pieces) if contains(piece, configuration[key]))
            yield slot.node.address, next(found) if key in configuration else 0
            continue
        branch = str(configuration[slot.node.key])
        place = next(place for place, group in enumerate(slot.groups) if branch in group)
        yield slot.node.address, place
        yield from _arm_key_items(slot.inside[place], configuration)


def _require_active(space: Space, address: str, part: Subspace) -> bool:
    """Restrict a subspace in place to where a hyperparameter is active; return False if nothing is left."""
    node = space.variables[address].hyperparameter
    for owner, branch in space.variables[address].owners:
        if not _restrict_branches(space, owner, {branch}, part):
            return False
    return node.condition is None or _require_condition(space, node.condition, part)


def _require_condition(space: Space, condition: Expr, part: Subspace) -> bool:
    """Restrict a subspace in place to where a condition is true; return False if nothing is left.

    Tests of decisions and of sets restrict branches and domains; any other test becomes a constraint.
    """
    match condition:
        case Constant(value=value):
            return value is True
        case And(terms=terms):
            return all(_require_condition(space, term, part) for term in terms)
        case Or(terms=(term,)):
            return _require_condition(space, term, part)
        case BranchTest(address=address, branches=branches):
            taken = ((owner, (branch,)) for owner, branch in space.variables[address].owners)
            return all(_restrict_branches(space, a, names, part) for a, names in (*taken, (address, branches)))
        case Reference() | Compare() | In():
            named = references(condition)
            values = _possible_values(space, named[0], part) if len(named) == 1 else None
            if values is not None:
                return _restrict_values(condition, named[0], values, part) and _require_active(space, named[0], part)
        case _:
            pass
    sure = tuple((owner, name) for owner, names in part.branches.items() if len(names) == 1 for name in names)
    for case in split_condition_by_activity(condition, sure, space.variables):
        part.rules.append(Constraint(fold_constants(Or((case.remaining_condition, *case.active))), forbidden=False))
    return True


def _restrict_branches(space: Space, address: str, names: Iterable[str], part: Subspace) -> bool:
    known = part.branches.get(address, frozenset(space.variables[address].choice.branch_indices))
    part.branches[address] = known & frozenset(names)
    return bool(part.branches[address])


def _possible_values(space: Space, address: str, part: Subspace) -> Categorical | None:
    domain = part.domains.get(address, space.variables[address].hyperparameter.domain)
    return domain if isinstance(domain, Categorical) else None


def _restrict_values(test: Expr, address: str, domain: Categorical, part: Subspace) -> bool:
    values = tuple(value for value in domain.values if is_true(test, {address: value}.__getitem__))
    if not values:
        return False
    if len(values) < len(domain.values):
        part.domains[address] = type(domain)(values)
    return True


def _is_always_active(space: Space, address: str, part: Subspace) -> bool:
    variable = space.variables[address]
    condition = variable.condition
    if any(part.branches.get(owner) != frozenset({branch}) for owner, branch in variable.owners):
        return False
    named = () if condition is None else references(condition)
    is_unary = isinstance(condition, Reference | Compare | In) and len(named) == 1
    values = _possible_values(space, named[0], part) if is_unary else None
    if values is None:
        return condition is None
    holds_always = all(is_true(condition, {named[0]: value}.__getitem__) for value in values.values)  # type: ignore[arg-type]
    return holds_always and _is_always_active(space, named[0], part)


DIGITS: Final = 12
"""Ranges are cut at numbers rounded to this many significant digits, so that the bounds of pieces are readable."""


def split_into_pieces(domain: Domain, number: int) -> tuple[Domain, ...]:
    """Return `number` pieces of a domain, or as many as possible.

    - Ranges are split into equal widths, or equal ratios under `log`. All pieces but the last exclude their upper end.
    - Integers, steps and sets are split into runs of neighboring members, longer ones first, whose sizes differ by at
      most one. Consecutive integers under `log` are split into equal ratios.
    - The parts of a union are pieces. If it has more parts than `number`, neighboring parts share a piece; if it has
      fewer, the parts with most members are split.
    """
    match domain:
        case Union():
            return _cut_union(domain, number)
        case Real():
            return tuple(_cut_range(domain, number))
        case Grid(log=True, is_consecutive=True):
            return tuple(_cut_log_integers(domain, number))
        case Grid() | Categorical():
            return tuple(_members_between(domain, first, last) for first, last in _runs(domain.size or 1, number))


def describe_piece(domain: Domain) -> str:
    """Return the text of a piece in the name of an arm, such as `[0.1, 1)` or `3..7`."""
    match domain:
        case Union():
            return " | ".join(map(describe_piece, domain.parts))
        case Categorical():
            values = ", ".join(map(literal, domain.values))
            return values if len(domain.values) == 1 else f"{{{values}}}"
        case Real() if domain.lower != domain.upper:
            opening, closing = "(" if domain.lower_open else "[", ")" if domain.upper_open else "]"
            return f"{opening}{_shown(domain.lower)}, {_shown(domain.upper)}{closing}"
        case Grid() | Real():
            first, last = domain.least, domain.greatest
            step = "" if isinstance(domain, Real) or domain.is_consecutive else f" step {literal(domain.step)}"
            return _shown(first) if first == last else f"{_shown(first)}..{_shown(last)}{step}"


def _shown(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.6g}"


def _cut_range(domain: Real, number: int) -> Iterator[Real]:
    cuts = [*_cut_points(domain, number)]
    if not cuts:
        yield domain
        return
    yield Real(domain.lower, cuts[0], domain.lower_open, True, domain.log)
    for lower, upper in pairwise(cuts):
        yield Real(lower, upper, False, True, domain.log)
    yield Real(cuts[-1], domain.upper, False, domain.upper_open, domain.log)


def _cut_points(domain: Real, number: int) -> Iterator[float]:
    """Yield the numbers between neighboring pieces of a range; each has members on both sides."""
    number_at, before = unit_scale(domain.lower, domain.upper, log=domain.log).from_unit, domain.least
    for place in range(1, number):
        cut = float(f"{number_at(place / number):.{DIGITS}g}")
        if before < cut <= domain.greatest and cut < domain.upper:
            yield cut
            before = cut


def _cut_log_integers(domain: Grid, number: int) -> Iterator[Grid]:
    number = min(number, domain.size)
    number_at, first = unit_scale(domain.lower, domain.upper, log=True).from_unit, int(domain.lower)
    for place in range(1, number):
        wanted = math.ceil(float(f"{number_at(place / number):.{DIGITS}g}"))
        # Leave at least one integer for this piece and for each piece that follows.
        cut = min(max(wanted, first + 1), int(domain.upper) + 1 - (number - place))
        yield Grid(first, cut - 1, domain.log)
        first = cut
    yield Grid(first, domain.upper, domain.log)


def _runs(size: int, number: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of `number` (at most `size`) intervals, as equal as possible."""
    number = min(number, size)
    length, longer = divmod(size, number)
    first = 0
    for place in range(number):
        last = first + length - (place >= longer)
        yield first, last
        first = last + 1


def _members_between(domain: Categorical | Grid, first: int, last: int) -> SimpleDomain:
    if (first, last) == (0, domain.last_index):
        return domain
    return subgrid(domain, first, last) if isinstance(domain, Grid) else type(domain)(domain.values[first : last + 1])


def _cut_union(domain: Union, number: int) -> tuple[Domain, ...]:
    several = domain.parts
    if number <= len(several):
        runs = (several[first : last + 1] for first, last in _runs(len(several), number))
        return tuple(run[0] if len(run) == 1 else Union(run) for run in runs)
    shares = zip(several, _piece_counts(several, number), strict=True)
    return tuple(piece for part, share in shares for piece in split_into_pieces(part, share))


def _piece_counts(several: Sequence[SimpleDomain], number: int) -> list[int]:
    """Return the number of pieces of each part of a union: at least one, and `number` in total if possible.

    Each further piece goes to the part whose pieces have most members at that time.
    """
    shares = [1] * len(several)
    sizes = [math.inf if part.size is None else part.size for part in several]
    for _ in range(number - len(several)):
        open_ = [place for place, size in enumerate(sizes) if shares[place] < size]
        if not open_:
            break
        place = max(open_, key=lambda each: (sizes[each] / shares[each], -shares[each]))
        shares[place] += 1
    return shares


def is_left_in_one_piece(domain: Domain, number: int) -> bool:
    """Return True if `split_into_pieces` would return the whole domain as its only piece."""
    return number == 1 or sum(part.size or number for part in parts(domain)) == 1
