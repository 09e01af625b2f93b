"""Which lines of a space conflict: as few as can be found that together leave nothing."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from spacelang.analysis.domains import widest
from spacelang.analysis.symbols import Symbols
from spacelang.diagnostics.diagnostic import Related
from spacelang.facts import fact
from spacelang.ir.domain import BOOLEANS
from spacelang.ir.expr import Expr, Reference, scope
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Constraint, Hyperparameter, Kind, Product, Space
from spacelang.ir.walk import depended
from spacelang.solver.satisfiability import leaves_nothing
from spacelang.text import Span

MOST_WEIGHED: Final = 32
"""Among so many constraints it is looked for those that are to blame, and among so many conditions."""

MOST_CHECKS: Final = 200
"""So often in one text it is tried whether fewer lines conflict than those of which none can be left out."""

FEW: Final = 4
"""Of so many lines at most it is shown that no fewer conflict."""

Taken = tuple[str, str]
"""A branch: the address of its decision and its name."""


@fact
class Conflict:
    """Constraints that together leave nothing, and what else must be as it is for that: conditions, bounds by data."""

    constraints: tuple[Constraint, ...]
    others: tuple[Related, ...]
    by_data: bool
    """Whether it takes what the data is."""


def conflict(
    space: Space,
    candidates: tuple[Constraint, ...],
    symbols: Symbols,
    checks: Iterator[int],
    branch: Taken | None = None,
) -> Conflict:
    """As few constraints as can be found that leave the branch (or the space) nothing.

    `checks` counts, for all conflicts of a text together, how often something was tried.
    """
    constraints = _culprits(space, candidates, checks, branch)
    needed = [*_needed(space, constraints, symbols, branch)] if len(constraints) <= MOST_WEIGHED else []
    lines = [*(constraint.span for constraint in constraints), *(related.span for related in needed)]
    return Conflict(constraints, tuple(needed), any(symbols.within(line) for line in lines))


def _culprits(
    space: Space, candidates: tuple[Constraint, ...], checks: Iterator[int], branch: Taken | None
) -> tuple[Constraint, ...]:
    """One constraint alone where there is one, else few.

    Looked for among the first of many candidates only; where it is not these, it is all of them.
    """
    for constraint in candidates if branch is None else candidates[:MOST_WEIGHED]:
        if leaves_nothing(space, (constraint,), branch):
            return (constraint,)
    several = (candidates[: 2**power] for power in range(1, MOST_WEIGHED.bit_length()))
    needed = next((some for some in several if leaves_nothing(space, some, branch)), None)
    if needed is None:
        return candidates
    for constraint in needed:
        others = tuple(other for other in needed if other is not constraint)
        if leaves_nothing(space, others, branch):
            needed = others
    most = min(len(needed) - 1, FEW)
    fewer = _fewest(candidates[:MOST_WEIGHED], most, checks, lambda some: leaves_nothing(space, some, branch))
    return needed if fewer is None else fewer


def _fewest(
    candidates: Sequence[Constraint],
    most: int,
    checks: Iterator[int],
    conflicts: Callable[[tuple[Constraint, ...]], bool],
) -> tuple[Constraint, ...] | None:
    """The smallest conflict of at most so many constraints; None where there is none, or none is found soon.

    Every conflict has a constraint of each set whose removal ends all conflicts. So it is enough to try the smallest
    choices from all such sets that are known; one that is no conflict leads to another such set.
    """
    removals: list[frozenset[int]] = []
    while (chosen := _choice(removals, most)) is not None:
        if conflicts(tuple(candidates[place] for place in sorted(chosen))):
            return tuple(candidates[place] for place in sorted(chosen))
        kept, removed = set(chosen), set[int]()
        for place in range(len(candidates)):
            if next(checks) > MOST_CHECKS:
                return None
            if place in kept:
                continue
            if conflicts(tuple(candidates[other] for other in sorted({*kept, place}))):
                removed.add(place)
            else:
                kept.add(place)
        removals.append(frozenset(removed))
    return None


def _choice(sets: Sequence[frozenset[int]], most: int) -> frozenset[int] | None:
    """As few numbers as possible, at most so many, with one of each set."""
    return next((found for size in range(most + 1) if (found := _of_each(sets, size)) is not None), None)


def _of_each(sets: Sequence[frozenset[int]], size: int) -> frozenset[int] | None:
    if not sets:
        return frozenset()
    if not size:
        return None
    shortest: frozenset[int] = min(sets, key=len)
    for number in sorted(shortest):
        found = _of_each([each for each in sets if number not in each], size - 1)
        if found is not None:
            return found | {number}
    return None


# ---- what else it takes


def _needed(
    space: Space, constraints: Sequence[Constraint], symbols: Symbols, branch: Taken | None
) -> Iterator[Related]:
    """The conditions and the bounds by data without which the constraints would not conflict."""
    loose: dict[str, Hyperparameter] = {}
    for node, loosened, related in _loosened(space, constraints, symbols):
        # Of one hyperparameter the condition comes first, then the domain.
        both = replace(loosened, condition=loose[node.address].condition) if node.address in loose else loosened
        changes = {**loose, node.address: both}
        if leaves_nothing(_with(space, changes), constraints, branch):
            loose = changes
        else:
            yield related


def _loosened(
    space: Space, constraints: Sequence[Constraint], symbols: Symbols
) -> Iterator[tuple[Hyperparameter, Hyperparameter, Related]]:
    """Each hyperparameter that matters, as it would be without its condition or without the limits of the data."""
    named = [address for constraint in constraints for address in scope(constraint.expression)]
    nodes = (space.variables[address].node for address in depended(space.variables, named))
    for node in (each for each in nodes if isinstance(each, Hyperparameter)):
        if node.condition is not None:
            free = replace(node, condition=Reference(_switch(node.address)))
            yield node, free, Related(node.condition.span, f"the condition of `{node.name}`")
        written = symbols.domain(node.span)
        wide = None if written is None else widest(written)
        if written is not None and wide is not None and wide != node.domain:
            premise = symbols.premise(symbols.within(written.span)).rstrip()
            message = f"the domain of `{node.name}` {premise}"
            yield node, replace(node, domain=wide, default=wide.middle), Related(written.span, message)


def of_data(space: Space, symbols: Symbols) -> frozenset[str]:
    """The addresses of the hyperparameters whose values or activity depend on the data, directly or through others."""
    if not symbols.used:
        return frozenset()
    dependent: dict[str, list[str]] = {}
    waiting: list[str] = []
    for node in space.hyperparameters:
        for address in scope(node.condition) if node.condition is not None else ():
            dependent.setdefault(address, []).append(node.address)
        by_condition = node.condition is not None and bool(symbols.within(node.condition.span))
        if by_condition or symbols.domain(node.span) is not None:
            waiting.append(node.address)
    found: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address not in found:
            found.add(address)
            waiting.extend(dependent.get(address, ()))
    return frozenset(found)


def is_of_data(expression: Expr, span: Span, symbols: Symbols, of_data: Container[str]) -> bool:
    """Whether the data has a say in an expression that stands at a span; `of_data` are what it decides."""
    return bool(symbols.within(span)) or any(address in of_data for address in scope(expression))


def _with(space: Space, changes: Mapping[str, Hyperparameter]) -> Space:
    """The space with some hyperparameters changed, and a switch for each that is active as one likes."""
    switches = [
        Hyperparameter(name, name, name, BOOLEANS, True)
        for address, node in changes.items()
        for name in (_switch(address),)
        if node.condition == Reference(name)
    ]
    root = rebuilt(space.root, lambda node: changes.get(node.address, node))
    return Space("", Product(Kind.SEQUENCE, (root, *switches)))


def _switch(address: str) -> str:
    # No address has a space in it.
    return f"{address} is active"
