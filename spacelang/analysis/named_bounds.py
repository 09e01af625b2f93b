"""Bounds that name hyperparameters: replace each one by a number and a constraint.

`hi : int[lo, 100]` becomes the range from the smallest possible value of `lo` to 100, together with the constraint
`require lo <= hi`. In a union, the constraint holds for the values of this range only.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from graphlib import TopologicalSorter
from typing import Final, Literal

from spacelang.analysis.arithmetic import VERY_LARGE, replace_infinities_by_integers
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.expressions import ExpressionReader
from spacelang.analysis.name_resolution import NameResolver
from spacelang.analysis.ranges import is_named_bound
from spacelang.analysis.ranges_with_named_bounds import (
    align_upper_end_with_step,
    default_between_ends,
    evaluate_bound,
    tests_of_other_parts,
    to_plain_number,
)
from spacelang.analysis.space_drafts import PendingConstraint, PendingRange, SpaceDraft
from spacelang.analysis.value_intervals import IntervalEnd, interval_of
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.domains import BoundCycle, EmptyDomain, InvalidRangeBound
from spacelang.diagnostics.names import UnknownName
from spacelang.diagnostics.reading import ConstructNotSupportedYet
from spacelang.frozen import frozen
from spacelang.grouping import find_cycles
from spacelang.ir import expr
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import Categorical, Domain, describe, literal, parts
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.tuple_parameters import name_in_expressions
from spacelang.ir.value import is_number, to_number
from spacelang.ir.walk import rebuild_tree
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast

Side = Literal["lower", "upper"]
SIDES: Final[tuple[Side, Side]] = ("lower", "upper")


@frozen
class _NamedBound:
    """A bound that names hyperparameters: its place in the domain, its text and its meaning."""

    part: int
    side: Side
    written: ast.Expression
    expression: expr.Expr


@dataclass(slots=True, eq=False)
class _BoundedParameter:
    """A hyperparameter whose range has bounds that name other hyperparameters.

    `needs` are the addresses that its bounds name. `ends` has the most extreme number of each bound: the smallest
    possible number of a lower bound, the greatest possible number of an upper bound.
    """

    pending: PendingRange
    bounds: tuple[_NamedBound, ...]
    needs: frozenset[str]
    ends: dict[tuple[int, Side], IntervalEnd] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.pending.written.name.text


class NamedBoundReader:
    """A reader of the ranges of a draft whose bounds name hyperparameters."""

    def __init__(
        self,
        declared: Mapping[str, Variable],
        draft: SpaceDraft,
        names: NameResolver,
        expressions: ExpressionReader,
        report: DiagnosticCollector,
    ) -> None:
        self._variables = dict(declared)
        self._draft = draft
        self._names = names
        self._expressions = expressions
        self._report = report
        self._waiting = {pending.address for pending in draft.ranges}
        self._ranges: dict[str, _BoundedParameter] = {}
        self._found: dict[str, Hyperparameter | None] = {}

    def read(self) -> dict[str, Hyperparameter | None]:
        """Return the hyperparameters whose bounds name others, by address; add the bounds to the draft as constraints.

        A hyperparameter with a mistake is None; the mistake is reported.
        """
        for pending in self._draft.ranges:
            before = len(self._report.found)
            self._ranges |= {pending.address: found} if (found := self._bounded_parameter(pending)) is not None else {}
            self._attribute_to_import(before, pending)
            if found is None:
                self._discard(pending)
        for cycle in self._cycles():
            self._report_cycle(cycle)
        for address in self._in_order():
            before = len(self._report.found)
            self._read_range(self._ranges[address])
            self._attribute_to_import(before, self._ranges[address].pending)
        return self._found

    def _attribute_to_import(self, before: int, pending: PendingRange) -> None:
        if pending.scope.through is not None:
            self._report.add_related_place(before, pending.scope.through)

    def _discard(self, pending: PendingRange) -> None:
        self._found[pending.address] = None
        pending.scope.dubious.add(pending.written.name.text)
        self._draft.dubious.add(pending.address)

    # ---- bounds

    def _bounded_parameter(self, pending: PendingRange) -> _BoundedParameter | None:
        found: list[_NamedBound | None] = []
        for place, part in enumerate(ast.domain_parts(pending.written.domain)):
            if isinstance(part, ast.Range):
                written: tuple[tuple[Side, ast.Expression], ...] = (("lower", part.lower), ("upper", part.upper))
                found += [self._named_bound(pending, place, *each) for each in written if is_named_bound(each[1])]
        known = tuple(each for each in found if each is not None)
        if len(known) < len(found):
            return None
        needs = frozenset(address for each in known for address in expr.references(each.expression))
        return _BoundedParameter(pending, known, needs)

    def _named_bound(self, pending: PendingRange, part: int, side: Side, written: ast.Expression) -> _NamedBound | None:
        if not all(self._is_known(name, pending) for name in _names(written)):
            return None
        found = self._expressions.read_operand(written, pending.scope)
        if isinstance(found, Choice):
            self._refuse(written, f"`{written.span.text}` is a decision, not a number")
            return None
        if found is None:
            return None
        for address in _operands(found):
            word = None if address in self._waiting else _word(self._variables[address].hyperparameter.domain)
            if word is not None:
                self._refuse(written, f"`{self._variables[address].node.name}` can be {word}, which is not a number")
                return None
        finite = replace_infinities_by_integers(found)
        if finite is None:
            self._report.report_unbound_symbol(written.span)
            return None
        return _NamedBound(part, side, written, finite)

    def _is_known(self, name: ast.DottedName, pending: PendingRange) -> bool:
        """Return False after reporting an unknown name that looks like a misspelled symbol of the data, else True."""
        near = nearest_name(name.text, DATA_SIZE_NAMES)
        if near is None or self._names.is_known(name.text, pending.scope) or name.text in DATA_SIZE_NAMES:
            return True
        reason = "bounds may use numbers, symbols of the data and hyperparameters"
        self._report.add(UnknownName(name.span, name=name.text, reason=reason, near=near))
        return False

    def _refuse(self, written: ast.Expression, expected: str) -> None:
        remedy = "a bound is a number in every configuration with the range; relate other values by `forbid`"
        self._report.add(
            InvalidRangeBound(written.span, bound=written.span.text, domain="a range", expected=expected, remedy=remedy)
        )

    # ---- the order in which ranges can be read

    def _cycles(self) -> list[tuple[str, ...]]:
        return find_cycles({address: [*each.needs] for address, each in self._ranges.items()})

    def _report_cycle(self, cycle: Sequence[str]) -> None:
        several = [self._ranges[address] for address in cycle]
        words = [each.name for each in several]
        names = words if len(set(words)) == len(words) else list(cycle)
        path = f"`{names[0]}` needs " + ", which needs ".join(f"`{name}`" for name in (*names[1:], names[0]))
        spans = [
            next(bound.written.span for bound in each.bounds if after in expr.references(bound.expression))
            for each, after in zip(several, (*cycle[1:], cycle[0]), strict=True)
        ]
        related = tuple(
            RelatedPlace(span, f"a bound of `{name}`") for span, name in zip(spans[1:], names[1:], strict=True)
        )
        self._report.add(BoundCycle(spans[0], name=names[0], path=path, related=related))
        for each in several:
            self._discard(each.pending)
            del self._ranges[each.pending.address]

    def _in_order(self) -> Iterable[str]:
        needs = {address: each.needs & self._ranges.keys() for address, each in self._ranges.items()}
        return TopologicalSorter(needs).static_order()

    # ---- ranges

    def _read_range(self, each: _BoundedParameter) -> None:
        found = None
        if not any(self._found.get(address, 0) is None for address in each.needs):
            domain = self._with_numbers(each)
            found = None if domain is None else each.pending.read(replace(each.pending.written, domain=domain))
        if found is None or each.pending.address in self._draft.dubious:
            self._discard(each.pending)
            self._found[each.pending.address] = found
            return
        if not self._add_constraints(each, found.domain):
            self._discard(each.pending)
            return
        if each.pending.written.default is None:
            found = replace(
                found, default=default_between_ends(found.domain, found.default, [*self._default_ends(each)])
            )
        self._found[found.address] = found
        self._variables[found.address] = replace(self._variables[found.address], node=found)

    def _default_ends(self, each: _BoundedParameter) -> Iterator[tuple[int, bool, bool, Fraction]]:
        """Yield the ends that a range has where all hyperparameters in its bounds have their defaults.

        The tuples are those that `default_between_ends` takes.
        """
        for bound in each.bounds:
            number = to_number(expr.evaluate(bound.expression, self._default_of))
            part = ast.domain_parts(each.pending.written.domain)[bound.part]
            if isinstance(number, int | Fraction) and isinstance(part, ast.Range):
                is_lower = bound.side == "lower"
                yield bound.part, is_lower, part.lower_open if is_lower else part.upper_open, Fraction(number)

    def _default_of(self, address: str) -> expr.ExpressionValue:
        node = self._variables[address].node
        return node.branches[node.default].name if isinstance(node, Choice) else node.default

    def _with_numbers(self, each: _BoundedParameter) -> ast.Domain | None:
        """Return the domain with each bound replaced by its most extreme number, or None after reporting a mistake."""
        for bound in each.bounds:
            end = self._end(bound)
            if end is None:
                return None
            each.ends[bound.part, bound.side] = end
        several = [
            self._hull(part, place, each) if isinstance(part, ast.Range) else part
            for place, part in enumerate(ast.domain_parts(each.pending.written.domain))
        ]
        known = tuple(part for part in several if part is not None)
        if len(known) < len(several):
            return None
        written = each.pending.written.domain
        return replace(written, parts=known) if isinstance(written, ast.UnionDomain) else known[0]

    def _end(self, bound: _NamedBound) -> IntervalEnd | None:
        interval = interval_of(bound.expression, self._variables)
        if interval is None:
            self._refuse(bound.written, "this expression has no smallest and greatest value")
            return None
        end = interval.lower if bound.side == "lower" else interval.upper
        if abs(end.number) >= VERY_LARGE**0.5 and self._report.symbols.unbound_symbols_in(bound.written.span):
            before = len(self._report.found)
            function = "max" if bound.side == "lower" else "min"
            self._report.report_unbound_symbol(bound.written.span, limit=f"{function}(…, {bound.written.span.text})")
            self._report.mark_data_dependent(before)
            return None
        return end

    def _hull(self, written: ast.Range, place: int, each: _BoundedParameter) -> ast.Range | None:
        sides: dict[Side, ast.Expression] = {"lower": written.lower, "upper": written.upper}
        found = written
        for side in SIDES:
            end = each.ends.get((place, side))
            if end is not None:
                is_open = end.is_open or (written.lower_open if side == "lower" else written.upper_open)
                number: int | float
                if written.kind == "int":
                    number = math.ceil(end.number) if side == "lower" else math.floor(end.number)
                    is_open = is_open and number == end.number
                else:
                    number = float(end.number)
                node = ast.Number(number, sides[side].span)
                found = (
                    replace(found, lower=node, lower_open=is_open)
                    if side == "lower"
                    else replace(found, upper=node, upper_open=is_open)
                )
        return self._check_is_not_empty(align_upper_end_with_step(found), written, place, each)

    def _check_is_not_empty(
        self, found: ast.Range, written: ast.Range, place: int, each: _BoundedParameter
    ) -> ast.Range | None:
        """Return the range, or None after reporting that it is empty even with the most extreme bounds."""
        lower, upper = evaluate_bound(found.lower), evaluate_bound(found.upper)
        if lower is None or upper is None or lower <= upper:
            return found
        bounds = [bound for bound in each.bounds if bound.part == place]
        named = [bound.side for bound in bounds]
        low = f"{'at least ' if 'lower' in named else ''}{literal(to_plain_number(lower))}"
        high = f"{'at most ' if 'upper' in named else ''}{literal(to_plain_number(upper))}"
        self._report.add(
            EmptyDomain(
                bounds[0].written.span,
                domain=f"`{written.span.text}`",
                reason=f"the lower bound is {low}, and the upper bound is {high}",
                related=tuple(self._domains_of_named(each)),
            )
        )
        return None

    def _domains_of_named(self, each: _BoundedParameter) -> Iterator[RelatedPlace]:
        """Yield notes on the domains of all hyperparameters on which the bounds of a range depend, even indirectly."""
        waiting, seen = [*sorted(each.needs)], {each.pending.address}
        while waiting:
            address = waiting.pop(0)
            if address not in seen:
                seen.add(address)
                node = self._variables[address].hyperparameter
                yield RelatedPlace(node.span, f"`{name_in_expressions(node.name)}` lies in `{describe(node.domain)}`")
                waiting += sorted(self._ranges[address].needs) if address in self._ranges else []

    # ---- constraints

    def _add_constraints(self, each: _BoundedParameter, domain: Domain) -> bool:
        """Add the constraint of each bound to the draft; return False after reporting a bound that is not supported."""
        written = ast.domain_parts(each.pending.written.domain)
        for bound in each.bounds:
            if not expr.mentioned_addresses(bound.expression):
                continue  # a number, which is the end of the range already
            span = bound.written.span
            name = ast.DottedName((each.pending.written.name,), span)
            others = [*tests_of_other_parts(domain, bound.part, name)]
            if None in others:
                construct = "a range with a named bound that overlaps another range"
                instead = "write a single range, or relate the values by `require`"
                self._report.add(
                    ConstructNotSupportedYet(written[bound.part].span, construct=construct, instead=instead)
                )
                return False
            range_ = written[bound.part]
            assert isinstance(range_, ast.Range)
            is_open = range_.lower_open if bound.side == "lower" else range_.upper_open
            left, right = (bound.written, name) if bound.side == "lower" else (name, bound.written)
            if isinstance(each.pending.written.domain, ast.UnionDomain):
                excluded = ast.BinaryOperation(">=" if is_open else ">", left, right, span)
                apart = [ast.UnaryOperation("not", test, span) for test in others if test is not None]
                rule = ast.ConstraintStatement(True, ast.LogicalOperation("and", (excluded, *apart), span), span)
            else:
                rule = ast.ConstraintStatement(
                    False, ast.BinaryOperation("<" if is_open else "<=", left, right, span), span
                )
            self._draft.rules.append(PendingConstraint(rule, each.pending.scope, bound.side))
        return True


def replace_bound_placeholders(space: Space, draft: SpaceDraft, found: Mapping[str, Hyperparameter | None]) -> Space:
    """Return the space with hyperparameters in place of their placeholders, and change the draft in the same way.

    A placeholder whose hyperparameter is None is removed.
    """

    def replacement(leaf: Hyperparameter) -> Hyperparameter | None:
        return found.get(leaf.address, leaf)

    draft.declared = [rebuild_tree(node, replacement) for node in draft.declared]
    return replace(space, root=rebuild_tree(space.root, replacement))


def _names(written: ast.Expression) -> Iterator[ast.DottedName]:
    match written:
        case ast.DottedName():
            yield written
        case ast.BinaryOperation():
            yield from _names(written.left)
            yield from _names(written.right)
        case ast.UnaryOperation():
            yield from _names(written.term)
        case ast.FunctionCall(arguments=arguments) if written.function.text != "count":
            for argument in arguments:
                yield from _names(argument)
        case _:
            return


def _operands(expression: expr.Expr) -> Iterator[str]:
    """Yield the addresses of the hyperparameters that an expression uses as numbers, that is, outside of `count`."""
    if isinstance(expression, expr.Reference):
        yield expression.address
    elif not (isinstance(expression, expr.Call) and expression.function == "count"):
        for each in expr.children(expression):
            yield from _operands(each)


def _word(domain: Domain) -> str | None:
    """Return the first value of a domain that is no number, as text."""
    values = (value for part in parts(domain) if isinstance(part, Categorical) for value in part.values)
    return next((f"`{literal(value)}`" for value in values if not is_number(value)), None)
