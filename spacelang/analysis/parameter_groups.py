"""Members that stand for others: each `include` is replaced by the members of a group, a simplex by its shares."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Final, TypeAlias

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.imported_modules import Module, index_by_name
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import (
    AmbiguousInclude,
    InvalidSimplexDefault,
    RecursiveInclude,
    SimplexWithSingleName,
    UnknownParameterGroup,
)
from spacelang.diagnostics.reading import TextTooLarge
from spacelang.frozen import frozen
from spacelang.ir.standalone_arithmetic import to_exact_decimal
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast

MAX_CHAIN: Final = 64  # The maximum length of a chain of groups that include each other
MAX_DEPTH: Final = 16
MAX_MEMBERS: Final = 20_000
"""The maximum number of included members in a space. Without it, a few lines could include millions."""


@frozen
class BodyMember:
    """A member of a body, and the module whose text contains it.

    `through` is the `include` or the use that added the member to the body; None if the body itself contains it.
    """

    member: ast.NamedMember | ast.ConstraintStatement
    home: Module
    through: RelatedPlace | None = None

    @property
    def name(self) -> str | None:
        """The name of the member, or None for a constraint."""
        return None if isinstance(self.member, ast.ConstraintStatement) else self.member.name.text


@dataclass(slots=True)
class _Body:
    own: dict[str, ast.NamedMember]
    brought: dict[str, tuple[ast.ParameterGroupInclusion, BodyMember]] = field(default_factory=dict)
    rules: set[int] = field(default_factory=set)


class ParameterGroupExpander:
    """An expander of the groups that bodies include. Each group is expanded once and cached."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._opened: dict[int, tuple[BodyMember, ...]] = {}
        self._open: list[ast.ParameterGroup] = []
        self._reading: list[ast.NamedMember | ast.ConstraintStatement] = []
        self._depth = 0
        self._endless: set[int] = set()
        self._brought = 0

    def members_of_body(self, body: ast.Body, module: Module) -> tuple[BodyMember, ...]:
        """Return the members of a body in order, each name once, groups expanded; own ones replace included ones."""
        return tuple(self._members(body, module))

    def members_of_abstract_operator_use(
        self, declaration: ast.AbstractOperator, home: Module, body: ast.Body | None, module: Module, used: RelatedPlace
    ) -> tuple[BodyMember, ...]:
        """Return the members of a use of an abstract operator: those of the declaration and those of the use's body.

        A member of the use replaces the member of the same name in the declaration.
        """
        own = () if body is None else self.members_of_body(body, module)
        names = {given.name for given in own if given.name is not None}
        declared = [given for given in self.declared_members(declaration, home) if given.name not in names]
        return (*(replace(given, through=used) for given in self._within_limit(declared, used)), *own)

    def declared_members(self, declaration: ast.AbstractOperator, home: Module) -> tuple[BodyMember, ...]:
        """Return the members in the declaration of an abstract operator, groups expanded; empty if it has no body."""
        if id(declaration) not in self._opened:
            body = declaration.body
            self._opened[id(declaration)] = () if body is None else self.members_of_body(body, home)
        return self._opened[id(declaration)]

    def group_members(self, group: ast.ParameterGroup, home: Module) -> tuple[BodyMember, ...]:
        """Return the members of a group, including those of the groups that it includes."""
        if id(group) not in self._opened:
            self._open.append(group)
            self._opened[id(group)] = self.members_of_body(group.body, home)
            self._open.pop()
        return self._opened[id(group)]

    def check_recursion_and_depth(self, given: BodyMember) -> bool:
        """Return True if a member can be read; False after reporting that it contains itself or is too deep."""
        span = given.member.span if given.through is None else given.through.span
        if any(given.member is other for other in self._reading):
            if id(given.member) not in self._endless:
                self._endless.add(id(given.member))
                name, cycle = given.name or "", f"`include` adds `{given.name}` to its own body"
                self._report.add(RecursiveInclude(span, kind="parameter", name=name, cycle=cycle))
            return False
        if given.through is not None and self._depth >= MAX_DEPTH:
            what = "the nesting depth of `include`"
            self._report.add(TextTooLarge(span, quantity=what, limit=str(MAX_DEPTH)))
            return False
        return True

    @contextmanager
    def attribute_diagnostics_to_include(self, given: BodyMember) -> Iterator[None]:
        """Let diagnostics in the `with` block point at the `include` of their member, each reported once."""
        before = len(self._report.found)
        self._reading.append(given.member)
        self._depth += given.through is not None
        yield
        self._depth -= given.through is not None
        self._reading.pop()
        if given.through is not None:
            self._report.add_related_place(before, given.through)

    def _members(self, body: ast.Body, module: Module) -> Iterator[BodyMember]:
        members = [each for member in body.members for each in expand_simplex(member, self._report)]
        named = [member for member in members if isinstance(member, ast.NamedMember)]
        here = _Body(index_by_name("parameter", named, self._report))
        for member in members:
            match member:
                case ast.ParameterGroupInclusion():
                    yield from self._included_members(member, module, here)
                case ast.ConstraintStatement():
                    yield BodyMember(member, module)
                case ast.Parameter() | ast.FixedParameter() | ast.ParameterFormula() | ast.Let():
                    if here.own[member.name.text] is member:
                        yield BodyMember(member, module)

    def _included_members(
        self, include: ast.ParameterGroupInclusion, module: Module, here: _Body
    ) -> Iterator[BodyMember]:
        """Yield the members that an `include` adds to a body, once even if the group is reached on two paths."""
        through = RelatedPlace(include.span, "included here")
        for given in self._within_limit(self._group(include, module), through):
            if isinstance(given.member, ast.ConstraintStatement):
                is_new = id(given.member) not in here.rules
                here.rules.add(id(given.member))
            else:
                name = given.member.name.text
                first = here.brought.setdefault(name, (include, given))
                is_new = first[1] is given and name not in here.own
                if first[1].member is not given.member and name not in here.own:
                    self._report_ambiguous(include, given.member, first)
            if is_new:
                yield replace(given, through=through)

    def _within_limit(
        self, brought: tuple[BodyMember, ...] | list[BodyMember], through: RelatedPlace
    ) -> Iterator[BodyMember]:
        self._brought += len(brought)
        if self._brought <= MAX_MEMBERS:
            yield from brought
        elif self._brought - len(brought) <= MAX_MEMBERS:
            what, limit = "the number of members that `include` adds", f"{MAX_MEMBERS:,}"
            self._report.add(TextTooLarge(through.span, quantity=what, limit=limit))

    def _group(self, include: ast.ParameterGroupInclusion, module: Module) -> tuple[BodyMember, ...]:
        home, name = module.resolve_module_prefix(include.name)
        group = home.groups.get(name)
        if group is None:
            self._report_unknown(include.name, module, home, name)
            return ()
        if any(group is other for other in self._open):
            self._report_cycle(include, group)
            return ()
        if len(self._open) == MAX_CHAIN and id(group) not in self._opened:
            self._report.add(
                TextTooLarge(
                    include.span,
                    quantity="the length of a chain of groups, each of which includes the next one,",
                    limit=f"{MAX_CHAIN} groups",
                )
            )
            return ()
        return self.group_members(group, home)

    def _report_unknown(self, written: ast.DottedName, module: Module, home: Module, name: str) -> None:
        if home.is_possibly_declared(name) and (home is not module or name in home.damaged):
            return
        before = written.text.removesuffix(name)
        elsewhere = {group: f"{called}.{group}" for called, other in module.imports.items() for group in other.groups}
        near = nearest_name(name, home.groups)
        near = elsewhere.get(written.words[-1].text) if near is None else f"{before}{near}"
        word = name if home is module and "." not in name else None
        self._report.add(UnknownParameterGroup(written.span, name=written.text, word=word, near=near))

    def _report_cycle(self, include: ast.ParameterGroupInclusion, group: ast.ParameterGroup) -> None:
        place = next(place for place, other in enumerate(self._open) if other is group)
        names = [f"`{other.name.text}`" for other in (*self._open[place:], group)]
        cycle = f"{names[0]} includes " + ", which includes ".join(names[1:])
        related = (RelatedPlace(group.name.span, "the group"),)
        self._report.add(
            RecursiveInclude(include.span, kind="group", name=group.name.text, cycle=cycle, related=related)
        )

    def _report_ambiguous(
        self,
        include: ast.ParameterGroupInclusion,
        member: ast.NamedMember,
        first: tuple[ast.ParameterGroupInclusion, BodyMember],
    ) -> None:
        other, given = first
        assert not isinstance(given.member, ast.ConstraintStatement)
        self._report.add(
            AmbiguousInclude(
                include.span,
                name=member.name.text,
                first=other.name.text,
                second=include.name.text,
                related=(
                    RelatedPlace(other.span, "included first"),
                    RelatedPlace(given.member.name.span, f"declared in `{other.name.text}`"),
                    RelatedPlace(member.name.span, f"declared in `{include.name.text}`"),
                ),
            )
        )


SimpleMember: TypeAlias = ast.NamedMember | ast.ParameterGroupInclusion | ast.ConstraintStatement


def expand_simplex(member: ast.Member, report: DiagnosticCollector) -> Iterator[SimpleMember]:
    """Yield the members that a member of a body stands for: one for each share of a simplex, or the member itself.

    All shares but the last are ranges, and their sum is at most 1. The last is the rest, so that rounding cannot make
    the sum differ from 1.
    """
    if not isinstance(member, ast.Simplex):
        yield member
        return
    *free, last = member.names
    if not free:
        report.add(SimplexWithSingleName(member.span, name=last.text))
        return
    shares = _shares(member, report)
    for name, share in zip(free, shares, strict=False):
        ends = ast.Number(0, name.span), ast.Number(1, name.span)
        domain = ast.Range("float", *ends, lower_open=False, upper_open=False, log=None, step=None, span=name.span)
        yield ast.Parameter(name, domain, share, None, (), name.span)
    if len(free) > 1:
        total = reduce(lambda left, right: ast.BinaryOperation("+", left, right, member.span), map(_value, free))
        yield ast.ConstraintStatement(
            False, ast.BinaryOperation("<=", total, ast.Number(1, member.span), member.span), member.span
        )
    rest: ast.Expression = ast.Number(1, last.span)
    for name in free:
        rest = ast.BinaryOperation("-", rest, _value(name), last.span)
    yield ast.ParameterFormula(last, rest, last.span)


def _shares(simplex: ast.Simplex, report: DiagnosticCollector) -> list[ast.Number]:
    """Return the default shares of a simplex: the written ones, or equal ones if none or invalid ones are written."""
    count, default = len(simplex.names), simplex.default
    equal = [ast.Number(1 / count, name.span) for name in simplex.names]
    if default is None:
        return equal
    given = [item for item in default.items if isinstance(item, ast.Number)]
    total = sum((to_exact_decimal(item.value) for item in given), Fraction(0))
    reason = None
    if len(given) != len(default.items) or any(not 0 <= item.value <= 1 for item in given):
        reason = "shares are numbers in [0, 1]"
    elif len(given) != count:
        reason = f"{count} names have {count} shares, not {len(given)}"
    elif total != 1:
        reason = f"the sum of the shares is {float(total)!r}, not 1"
    if reason is None:
        return given
    report.add(InvalidSimplexDefault(default.span, reason=reason))
    return equal


def _value(name: ast.Word) -> ast.Expression:
    return ast.DottedName((name,), name.span)
