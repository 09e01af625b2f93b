"""Conflicts: small sets of lines that together exclude everything, and constraints that remove words of a union."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from spacelang.analysis.diagnostic_collector import DataSymbols, DiagnosticCollector
from spacelang.analysis.domains import widest_domain
from spacelang.analysis.space_drafts import ConstraintWithBranches
from spacelang.analysis.truth_values import ORDER_OPERATORS
from spacelang.diagnostics.conditions import ConstraintRemovesUnmentionedValue
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.frozen import frozen
from spacelang.ir.domain import BOOLEANS, Categorical, literal, parts
from spacelang.ir.domain_properties import contains_numbers
from spacelang.ir.expr import (
    NEGATED_SIGNS,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
    map_children,
    mentioned_addresses,
    nodes,
    references,
)
from spacelang.ir.partial_evaluation import UNKNOWN, partially_evaluate
from spacelang.ir.space import Constraint, Hyperparameter, Product, ProductKind, Space
from spacelang.ir.tuple_parameters import name_in_expressions
from spacelang.ir.value import Value, are_same_value, is_number
from spacelang.ir.walk import rebuild_tree, with_dependencies
from spacelang.solver.satisfiability import is_unsatisfiable
from spacelang.text import Span

MAX_CANDIDATES: Final = 32
"""The maximum number of candidate constraints, and of constraints whose conditions are examined."""
MAX_ATTEMPTS: Final = 200
"""The maximum number of attempts, in one text, to find a smaller conflict than an irreducible one."""
MAX_MINIMUM_SIZE: Final = 4  # The maximum number of lines in a conflict that is guaranteed to be a smallest one
BranchKey = tuple[str, str]  # A branch: the address of its decision and its name


@frozen
class Conflict:
    """Constraints that together exclude everything, and `others`: the conditions and domains that contribute."""

    constraints: tuple[Constraint, ...]
    others: tuple[RelatedPlace, ...]
    by_data: bool


def find_conflict(
    space: Space,
    candidates: tuple[Constraint, ...],
    symbols: DataSymbols,
    checks: Iterator[int],
    branch: BranchKey | None = None,
) -> Conflict:
    """Return a small set of the candidates that together exclude the branch (None: the whole space).

    `checks` counts the attempts to find a smaller set, over several calls; at most `MAX_ATTEMPTS` are made.
    """
    constraints = _conflicting_constraints(space, candidates, checks, branch)
    needed = [*_needed_conditions(space, constraints, symbols, branch)] if len(constraints) <= MAX_CANDIDATES else []
    lines = [*(constraint.span for constraint in constraints), *(related.span for related in needed)]
    return Conflict(constraints, tuple(needed), any(map(symbols.depends_on_data, lines)))


def _conflicting_constraints(
    space: Space, candidates: tuple[Constraint, ...], checks: Iterator[int], branch: BranchKey | None
) -> tuple[Constraint, ...]:
    """Return one constraint that conflicts alone; else a few of the first `MAX_CANDIDATES` that conflict; else all."""
    for constraint in candidates if branch is None else candidates[:MAX_CANDIDATES]:
        if is_unsatisfiable(space, (constraint,), branch):
            return (constraint,)
    several = (candidates[: 2**power] for power in range(1, MAX_CANDIDATES.bit_length()))
    needed = next((some for some in several if is_unsatisfiable(space, some, branch)), None)
    if needed is None:
        return candidates
    for constraint in needed:
        others = tuple(other for other in needed if other is not constraint)
        if is_unsatisfiable(space, others, branch):
            needed = others
    most = min(len(needed) - 1, MAX_MINIMUM_SIZE)
    fewer = _smallest_conflict(
        candidates[:MAX_CANDIDATES], most, checks, lambda some: is_unsatisfiable(space, some, branch)
    )
    return needed if fewer is None else fewer


def _smallest_conflict(
    candidates: Sequence[Constraint],
    most: int,
    checks: Iterator[int],
    conflicts: Callable[[tuple[Constraint, ...]], bool],
) -> tuple[Constraint, ...] | None:
    """Return the smallest conflict of at most `most` constraints, or None.

    None means that there is no such conflict, or that the attempts are used up. This is an implicit hitting set
    algorithm. A removal set is a set of constraints without which no conflict is left, so every conflict contains a
    member of each removal set. The smallest hitting set of the known removal sets is tried. If it is no conflict, it
    leads to a new removal set.
    """
    removals: list[frozenset[int]] = []
    while (chosen := _smallest_hitting_set(removals, most)) is not None:
        if conflicts(tuple(candidates[place] for place in sorted(chosen))):
            return tuple(candidates[place] for place in sorted(chosen))
        kept, removed = set(chosen), set[int]()
        for place in range(len(candidates)):
            if next(checks) > MAX_ATTEMPTS:
                return None
            if place in kept:
                continue
            if conflicts(tuple(candidates[other] for other in sorted({*kept, place}))):
                removed.add(place)
            else:
                kept.add(place)
        removals.append(frozenset(removed))
    return None


def _smallest_hitting_set(sets: Sequence[frozenset[int]], most: int) -> frozenset[int] | None:
    return next((found for size in range(most + 1) if (found := _hitting_set(sets, size)) is not None), None)


def _hitting_set(sets: Sequence[frozenset[int]], size: int) -> frozenset[int] | None:
    if not sets:
        return frozenset()
    if not size:
        return None
    shortest: frozenset[int] = min(sets, key=len)
    for number in sorted(shortest):
        found = _hitting_set([each for each in sets if number not in each], size - 1)
        if found is not None:
            return found | {number}
    return None


# ---- what else the conflict needs


def _needed_conditions(
    space: Space, constraints: Sequence[Constraint], symbols: DataSymbols, branch: BranchKey | None
) -> Iterator[RelatedPlace]:
    loose: dict[str, Hyperparameter] = {}
    for node, loosened, related in _relaxations(space, constraints, symbols):
        # For each hyperparameter, the condition is relaxed before the domain.
        both = replace(loosened, condition=loose[node.address].condition) if node.address in loose else loosened
        changes = {**loose, node.address: both}
        if is_unsatisfiable(_changed_space(space, changes), constraints, branch):
            loose = changes
        else:
            yield related


def _relaxations(
    space: Space, constraints: Sequence[Constraint], symbols: DataSymbols
) -> Iterator[tuple[Hyperparameter, Hyperparameter, RelatedPlace]]:
    """Yield (hyperparameter, its relaxed copy, what was relaxed) for each hyperparameter of the conflict.

    A copy has no condition, or the domain that is the widest for data of any size.
    """
    named = [address for constraint in constraints for address in mentioned_addresses(constraint.expression)]
    nodes = (space.variables[address].node for address in with_dependencies(space.variables, named))
    for node in (each for each in nodes if isinstance(each, Hyperparameter)):
        if node.condition is not None:
            free = replace(node, condition=Reference(_activity_flag_name(node.address)))
            yield node, free, RelatedPlace(node.condition.span, f"the condition of `{name_in_expressions(node.name)}`")
        written = symbols.data_dependent_domain(node.span)
        wide = None if written is None else widest_domain(written)
        if written is not None and wide is not None and wide != node.domain:
            for_bindings = symbols.bindings_phrase(symbols.symbols_mentioned_in(written.span)).rstrip()
            message = f"the domain of `{name_in_expressions(node.name)}` {for_bindings}"
            yield node, replace(node, domain=wide, default=wide.representative), RelatedPlace(written.span, message)


def data_dependent_addresses(space: Space, symbols: DataSymbols) -> frozenset[str]:
    """Return the addresses of hyperparameters whose domain or condition depends on the data, even indirectly."""
    dependent: dict[str, list[str]] = {}
    waiting: list[str] = []
    for node in space.hyperparameters:
        for address in mentioned_addresses(node.condition) if node.condition is not None else ():
            dependent.setdefault(address, []).append(node.address)
        by_condition = node.condition is not None and symbols.depends_on_data(node.condition.span)
        if by_condition or symbols.data_dependent_domain(node.span) is not None:
            waiting.append(node.address)
    found: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address not in found:
            found.add(address)
            waiting.extend(dependent.get(address, ()))
    return frozenset(found)


def depends_on_data(expression: Expr, span: Span, symbols: DataSymbols, of_data: Container[str]) -> bool:
    """Return True if an expression (at `span`) depends on the data, as the addresses in `of_data` do."""
    return symbols.depends_on_data(span) or any(address in of_data for address in mentioned_addresses(expression))


def _changed_space(space: Space, changes: Mapping[str, Hyperparameter]) -> Space:
    """Return the space with the hyperparameters at the addresses of `changes` replaced.

    A changed condition that names `_activity_flag_name(address)` gets a Boolean hyperparameter of that name, which is
    added to the space, so that the hyperparameter may be active or not.
    """
    flags = [
        Hyperparameter(name, name, name, BOOLEANS, True)
        for address, node in changes.items()
        for name in (_activity_flag_name(address),)
        if node.condition == Reference(name)
    ]
    root = rebuild_tree(space.root, lambda node: changes.get(node.address, node))
    return Space("", Product(ProductKind.SEQUENCE, (root, *flags)))


def _activity_flag_name(address: str) -> str:
    # Addresses have no spaces, so this name is free.
    return f"{address} is active"


def check_accidentally_excluded_strings(
    space: Space, written: Sequence[ConstraintWithBranches], report: DiagnosticCollector
) -> None:
    """Warn about each constraint that excludes all string values of a hyperparameter without mentioning one of them."""
    for constraint, as_written in zip(space.constraints, written, strict=False):
        for address in constraint.scope:
            words = [*_words(space, address)]
            if not words or any(_mentions(as_written.expression, address, word) for word in words):
                continue
            left = {_with_word(as_written.expression, address, word) for word in words}
            if address in _ordered_names(as_written.expression) and left == {Constant(constraint.forbidden)}:
                _report(constraint, as_written.expression, address, words[0], report)


def _words(space: Space, address: str) -> Iterator[Value]:
    """Yield the values that are no numbers of a hyperparameter that also has numbers; nothing for any other."""
    domain = space.variables[address].hyperparameter.domain
    if contains_numbers(domain):
        for part in parts(domain):
            yield from (v for v in (part.values if isinstance(part, Categorical) else ()) if not is_number(v))


def _with_word(expression: Expr, address: str, word: Value) -> Expr:
    """Return the expression simplified for the case that the hyperparameter at `address` has the string value `word`.

    Its tests by `<`, `<=`, `>` and `>=` are false, because strings have no order here.
    """

    def with_false_orders(part: Expr) -> Expr:
        if isinstance(part, And | Or | Not):
            return map_children(part, with_false_orders)
        is_order = isinstance(part, Compare) and part.relation in ORDER_OPERATORS
        return Constant(False) if is_order and address in references(part) else part

    return partially_evaluate(with_false_orders(expression), lambda each: word if each == address else UNKNOWN)


def _mentions(expression: Expr, address: str, word: Value) -> bool:
    for node in nodes(expression):
        if isinstance(node, In) and node.item == Reference(address):
            return True
        if isinstance(node, Compare) and Reference(address) in (node.left, node.right):
            sides = (node.left, node.right)
            if any(isinstance(side, Constant) and are_same_value(side.value, word) for side in sides):
                return True
    return False


def _ordered_names(expression: Expr) -> set[str]:
    """Return the hyperparameters that are used as numbers: in arithmetic, or compared by `<`, `<=`, `>` or `>=`."""
    found: set[str] = set()
    for node in nodes(expression):
        if isinstance(node, Arithmetic | Call) or (isinstance(node, Compare) and node.relation in ORDER_OPERATORS):
            found.update(references(node))
    return found


def _report(constraint: Constraint, expression: Expr, address: str, word: Value, report: DiagnosticCollector) -> None:
    opposite = None
    if isinstance(expression, Compare) and expression.relation in ORDER_OPERATORS and not constraint.forbidden:
        opposite = f"{expression.left.span.text} {NEGATED_SIGNS[expression.relation]} {expression.right.span.text}"
    name = next(node.span.text for node in nodes(expression) if node == Reference(address))
    report.add(ConstraintRemovesUnmentionedValue(constraint.span, name=name, value=literal(word), opposite=opposite))
