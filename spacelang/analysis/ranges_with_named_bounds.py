"""Ranges between bounds that name hyperparameters: numbers, steps, defaults, tests of union parts, and a check."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from spacelang.analysis.arithmetic import evaluate, read_arithmetic
from spacelang.analysis.diagnostic_collector import DataSymbols, DiagnosticCollector
from spacelang.diagnostics.domains import BoundMayBeInactive
from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Domain, Grid, Real, parts
from spacelang.ir.domain_properties import subgrid
from spacelang.ir.range_bounds import bounded_address
from spacelang.ir.space import Space, Variable
from spacelang.ir.tuple_parameters import is_condition_implied_by_tuple, name_in_expressions
from spacelang.ir.value import Value, is_number, to_fraction
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.satisfiability import ExpressionInContext, possible_truths
from spacelang.syntax import ast
from spacelang.text import Span


def evaluate_bound(written: ast.Expression) -> Fraction | None:
    """Return the number that the bound of a range stands for.

    None if it depends on the data or names a hyperparameter.
    """
    found = read_arithmetic(written, DiagnosticCollector(DataSymbols()), "", lambda _: None)
    number = None if found is None else evaluate(found)
    return number if isinstance(number, Fraction) else None


def to_plain_number(number: Fraction) -> int | float:
    """Return an integer if the number is whole, else the nearest float."""
    return int(number) if number.denominator == 1 else float(number)


def align_upper_end_with_step(written: ast.Range) -> ast.Range:
    """Return a range whose upper end is lowered to the last number that its step reaches; unchanged without a step."""
    if written.step is None:
        return written
    lower, upper, step = evaluate_bound(written.lower), evaluate_bound(written.upper), evaluate_bound(written.step)
    if lower is None or upper is None or step is None or step <= 0 or upper < lower:
        return written
    reached = lower + (upper - lower) // step * step
    number = int(reached) if written.kind == "int" and reached.denominator == 1 else float(reached)
    is_open = written.upper_open and reached == upper
    return replace(written, upper=ast.Number(number, written.upper.span), upper_open=is_open)


def tests_of_other_parts(domain: Domain, place: int, name: ast.DottedName) -> Iterator[ast.Expression | None]:
    """Yield, for each part of a union other than the one at `place`, the test that `name` is a number in that part.

    Yield None for a part that cannot be told apart, such as an overlapping range. Yield nothing for a set without
    numbers.
    """
    several = parts(domain)
    own = several[place]
    assert not isinstance(own, Categorical)
    for other in (*several[:place], *several[place + 1 :]):
        match other:
            case Categorical():
                numbers = tuple(ast.Number(value, name.span) for value in other.values if is_number(value))
                if numbers:
                    yield ast.Membership(name, numbers, name.span)
            case Grid() | Real() if other.lower > own.upper or other.upper < own.lower:
                ends = (ast.Number(other.lower, name.span), ast.Number(other.greatest, name.span))
                least = ast.BinaryOperation(">=", name, ends[0], name.span)
                yield ast.LogicalOperation(
                    "and", (least, ast.BinaryOperation("<=", name, ends[1], name.span)), name.span
                )
            case _:
                yield None


def default_between_ends(domain: Domain, usual: Value, ends: Sequence[tuple[int, bool, bool, Fraction]]) -> Value:
    """Return the default `usual` if it lies between the ends of its part, else the middle of the range between them.

    Each end is a tuple: the index of its part, True for a lower end, True for an open end, and its number. `usual` is
    also returned if the range between the ends is empty.
    """
    for place, part in enumerate(parts(domain)):
        own = [end[1:] for end in ends if end[0] == place]
        if isinstance(part, Categorical) or not own or part.find(usual) != usual:
            continue
        left = _between(part, own)
        return usual if left is None or left.find(usual) == usual else left.representative
    return usual


def check_bound_activity(space: Space, report: DiagnosticCollector) -> None:
    """Report each bound with a hyperparameter that can be inactive while the range of the bound is active."""
    seen: set[Span] = set()
    for constraint in space.constraints:
        owner = bounded_address(constraint)
        if owner is None or owner not in space.variables or constraint.span in seen:
            continue
        for address in constraint.scope:
            reason = None if address == owner else _inactive_reason(space, space.variables[owner], address)
            if reason is not None:
                seen.add(constraint.span)
                name, parameter = (name_in_expressions(space.variables[each].node.name) for each in (address, owner))
                report.add(BoundMayBeInactive(constraint.span, name=name, parameter=parameter, reason=reason))
                break


def _between(part: Grid | Real, ends: Sequence[tuple[bool, bool, Fraction]]) -> Grid | Real | None:
    """Return the part of a range that lies between the given ends, or None if it is empty.

    Each end is a tuple: True for a lower end, True for an open end, and its number.
    """
    for is_lower, is_open, number in ends:
        end = (number, is_lower, is_open)
        found = _clip_grid(part, *end) if isinstance(part, Grid) else _clip_interval(part, *end)
        if found is None:
            return None
        part = found
    return part


def _clip_grid(part: Grid, number: Fraction, is_lower: bool, is_open: bool) -> Grid | None:
    place = part.position(number)
    if is_lower:
        first = max(0, floor(place) + 1 if is_open else ceil(place))
        return subgrid(part, first, part.last_index) if first <= part.last_index else None
    last = min(part.last_index, ceil(place) - 1 if is_open else floor(place))
    return subgrid(part, 0, last) if last >= 0 else None


def _clip_interval(part: Real, number: Fraction, is_lower: bool, is_open: bool) -> Real | None:
    if is_lower and number >= to_fraction(part.lower):
        part = replace(part, lower=float(number), lower_open=is_open or (part.lower_open and number == part.lower))
    elif not is_lower and number <= to_fraction(part.upper):
        part = replace(part, upper=float(number), upper_open=is_open or (part.upper_open and number == part.upper))
    is_empty = part.lower > part.upper or (part.lower == part.upper and part.is_open)
    return None if is_empty else part


def _inactive_reason(space: Space, ranged: Variable, address: str) -> str | None:
    """Return why `address` can be inactive while the hyperparameter `ranged` is active, or None if it cannot."""
    named = space.variables[address]
    name, taken = name_in_expressions(named.node.name), dict(ranged.owners)
    for owner, branch in named.owners:
        decision = space.variables[owner].choice
        if taken.get(owner, branch) != branch:
            return f"`{name}` and `{ranged.node.name}` belong to different alternatives of `{decision.name}`"
        if owner not in taken and len(decision.branches) > 1:
            return f"`{name}` belongs to the alternative `{branch}` of `{decision.name}`"
    if named.condition is None or named.condition == ranged.condition:
        return None
    statement = ExpressionInContext(expr.ActivityTest(address), ranged.owners, (ranged.address,))
    try:
        _, can_be_inactive = possible_truths(space, statement)
    except TooManyConnectedVariablesError:
        can_be_inactive = True
    return _activity(space, named, named.condition) if can_be_inactive else None


def _activity(space: Space, named: Variable, condition: expr.Expr) -> str:
    """Return a sentence that says where a hyperparameter is active.

    It quotes the condition as written. The added condition of a length or element of a tuple is put in words instead.
    """
    name = name_in_expressions(named.node.name)
    if not is_condition_implied_by_tuple(named.address, condition, space):
        return f"`{name}` is active only `when {' '.join(condition.span.text.split())}`"
    parameter = space.tuples[named.address]
    if parameter.length in expr.references(condition):
        return f"`{name}` is active only where `{parameter.name}` has enough elements to contain this one"
    return f"`{name}` is active only where `{parameter.name}` is a tuple"
