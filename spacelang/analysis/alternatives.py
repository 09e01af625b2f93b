"""Alternatives of a decision as they are written: what is one of them, and what each is called."""

import re
from collections.abc import Iterator

from spacelang.analysis.report import Report
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.names import DuplicateName
from spacelang.diagnostics.structure import MisplacedAnnotation
from spacelang.diagnostics.syntax import UnexpectedText
from spacelang.facts import fact
from spacelang.ir.domain import RESERVED
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.syntax.titles import title
from spacelang.text import Span, not_in_names


@fact
class Alternative:
    """One of the parts that `|` joins: its name, where that is written, and what it stands for."""

    name: str
    span: Span
    structure: ast.Structure
    annotations: tuple[ast.Annotation, ...] = ()
    alias: ast.Word | None = None
    value: Value = None
    """The plain value that it is of a parameter, where it is no structure."""


def alternatives_of(structure: ast.Structure) -> list[Alternative]:
    """The alternatives of a structure, `none` of every `?` among them, but once.

    `|` joins alike however it is grouped: `(A | B) | C` has three alternatives.
    """
    found: list[Alternative] = []
    optional = False
    for part in _parts(structure):
        if isinstance(part, _Optional):
            if not optional:
                found.append(Alternative("none", part.span, ast.Nothing((), part.span)))
            optional = True
        else:
            found.append(_alternative(part))
    return found


@fact
class _Optional:
    """The `none` of a `?`."""

    span: Span


def _parts(structure: ast.Structure) -> Iterator[ast.Structure | _Optional]:
    match structure:
        case ast.Joined(sign="|", parts=parts):
            for part in parts:
                yield from _parts(part)
        case ast.Parenthesised(part=part, alias=None, annotations=()):
            yield from _parts(part)
        case ast.Maybe(part=part):
            end = structure.span.end
            yield _Optional(Span(structure.span.source, end - 1, end))
            yield from _parts(part)
        case _:
            yield structure


def _alternative(part: ast.Structure) -> Alternative:
    match part:
        case ast.Nothing():
            span = Span(part.span.source, part.span.start, part.span.start + len("none"))
            return Alternative("none", span, part, part.annotations)
        case ast.Operator():
            name, span = _called(part.alias, part.name.text, part.name.span)
            return Alternative(name, span, part, part.annotations, part.alias)
        case ast.Parenthesised():
            name, span = _called(part.alias, title(part.part), part.span)
            return Alternative(name, span, part.part, part.annotations, part.alias)
        case ast.Columns() | ast.Permute():
            return Alternative(title(part), part.span, part, part.annotations)
        case ast.Joined() | ast.Maybe():
            return Alternative(title(part), part.span, part)


def _called(alias: ast.Word | None, name: str, span: Span) -> tuple[str, Span]:
    return (name, span) if alias is None else (alias.text, alias.span)


def mentioned(structure: ast.Structure) -> Iterator[ast.Operator]:
    """The names of a structure, those in structures as values included."""
    match structure:
        case ast.Nothing():
            return
        case ast.Operator():
            yield structure
            for member in structure.body.members if structure.body is not None else ():
                if isinstance(member, ast.Parameter):
                    yield from _mentioned_in(member.domain)
        case ast.Joined(parts=parts) | ast.Permute(parts=parts):
            for part in parts:
                yield from mentioned(part)
        case ast.Columns(parts=columns):
            for _, part in columns:
                yield from mentioned(part)
        case ast.Maybe(part=part) | ast.Parenthesised(part=part):
            yield from mentioned(part)


def _mentioned_in(domain: ast.Domain) -> Iterator[ast.Operator]:
    match domain:
        case ast.Operator() | ast.Parenthesised() | ast.Nothing():
            yield from mentioned(domain)
        case ast.UnionDomain():
            for part in domain.parts:
                yield from _mentioned_in(part)
        case ast.Values(values=values) if any(isinstance(value, ast.OperatorValue) for value in values):
            for value in values:
                if isinstance(value, ast.OperatorValue | ast.Dotted):
                    yield from mentioned(operator_of(value))
        case ast.Range() | ast.Booleans() | ast.Values():
            return


def operator_of(value: ast.OperatorValue | ast.Dotted) -> ast.Operator:
    """The operator that a member of a set stands for."""
    if isinstance(value, ast.Dotted):
        return ast.Operator(value, None, None, (), value.span)
    return ast.Operator(value.name, None, value.body, (), value.span)


def is_word(name: ast.Word) -> bool:
    """Whether a name could stand without quotes."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.text) is not None


def check_step_name(name: ast.Word, report: Report) -> None:
    """Report the name of a step or decision that could not be the beginning of a path."""
    if is_word(name):
        check_name(name, report)
        return
    hint = "only alternatives may have names in quotes"
    report.add(UnexpectedText(primary=name.span, found=f"`{name.span.text}`", expected="a name", hint=hint))


def check_name(name: ast.Word, report: Report) -> None:
    """Report a name that the language has taken, or that cannot be shown: nobody would understand it."""
    character = not_in_names(name.text)
    if character is not None:
        hint = f"leave the character {character} out: it is in no name"
        report.add(UnexpectedText(primary=name.span, found=f"character {character}", expected="a name", hint=hint))
    if name.text in RESERVED:
        hint = f"`{name.text}` is a word of the language: choose another name"
        report.add(UnexpectedText(primary=name.span, found=f"`{name.text}`", expected="a name", hint=hint))


def second_default(mark: Span, first: Span) -> MisplacedAnnotation:
    """That a decision has another default already."""
    related = (Related(first, "the other default"),)
    return MisplacedAnnotation(
        primary=mark, name="default", problem="marks a second alternative", reason="one is enough", related=related
    )


def duplicate(alternative: Alternative, first: Alternative) -> DuplicateName:
    """That a decision has an alternative of this name already."""
    remedy = f"tell them apart: `{alternative.name} as …`"
    several = (alternative, first)
    named = next((each for each in several if not isinstance(each.structure, ast.Nothing)), None)
    if named is None:
        remedy = "remove one of them"
    elif named.alias is not None:
        remedy = "choose another name after `as`"
    elif not isinstance(named.structure, ast.Operator):
        remedy = f"tell them apart: `({alternative.name}) as …`"
    related = (Related(first.span, "first declared here"),)
    name = alternative.name
    return DuplicateName(primary=alternative.span, kind="alternative", name=name, remedy=remedy, related=related)
