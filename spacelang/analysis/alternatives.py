"""The alternatives of a decision as they are written, in structures and in the domains of parameters."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.literal_values import InvalidValue, literal_value
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import DuplicateName, DuplicateValueInDomain
from spacelang.diagnostics.reading import UnexpectedText
from spacelang.diagnostics.structure import MisplacedAnnotation
from spacelang.frozen import frozen
from spacelang.ir.domain import KEYWORDS, contains, literal
from spacelang.ir.space import RANGE_NAME, SKIPPED_STEP, Branch, Hyperparameter
from spacelang.ir.value import Value, are_same_value
from spacelang.ir.walk import unique_value_name
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import structure_title
from spacelang.text import Span, first_forbidden_character


@frozen
class Alternative:
    """An alternative of a decision (a part between `|`): its name, the span of the name, and its structure."""

    name: str
    span: Span
    structure: ast.Structure
    annotations: tuple[ast.Annotation, ...] = ()
    alias: ast.Word | None = None
    value: Value = None  # The plain value of a parameter that the alternative stands for, if it is no structure


def alternatives_of_structure(structure: ast.Structure) -> list[Alternative]:
    """Return the alternatives of a structure; any number of `?` signs adds one alternative `none`.

    Alternatives in brackets without a name or annotations, as in `A | (B | C)`, belong to the decision around them.
    """
    found: list[Alternative] = []
    optional = False
    for part in _parts(structure):
        if isinstance(part, _Optional):
            if not optional:
                found.append(Alternative("none", part.span, ast.NoneStep((), part.span)))
            optional = True
        else:
            found.append(_alternative(part))
    return found


def without_brackets(structure: ast.Structure) -> ast.Structure:
    """Return the structure inside plain brackets, which have neither a name nor annotations.

    Return any other structure unchanged.
    """
    while isinstance(structure, ast.Parenthesised) and structure.alias is None and not structure.annotations:
        structure = structure.part
    return structure


def is_joined_by(structure: ast.Structure, sign: str) -> bool:
    """Return True if a structure, inside its plain brackets, consists of parts joined by `sign` (`|`, `->` or `&`)."""
    structure = without_brackets(structure)
    return isinstance(structure, ast.JoinedStructures) and structure.sign == sign


@frozen
class _Optional:
    span: Span


def _parts(structure: ast.Structure) -> Iterator[ast.Structure | _Optional]:
    match structure:
        case ast.JoinedStructures(sign="|", parts=parts):
            for part in parts:
                yield from _parts(part)
        case ast.Parenthesised(part=part, alias=None, annotations=()):
            yield from _parts(part)
        case ast.OptionalStructure(part=part):
            end = structure.span.end
            yield _Optional(Span(structure.span.source, end - 1, end))
            yield from _parts(part)
        case _:
            yield structure


def _alternative(part: ast.Structure) -> Alternative:
    match part:
        case ast.NoneStep():
            span = Span(part.span.source, part.span.start, part.span.start + len("none"))
            return Alternative("none", span, part, part.annotations)
        case ast.OperatorReference():
            name, span = _name_and_span(part.alias, part.name.text, part.name.span)
            return Alternative(name, span, part, part.annotations, part.alias)
        case ast.Parenthesised():
            name, span = _name_and_span(part.alias, structure_title(part.part), part.span)
            return Alternative(name, span, part.part, part.annotations, part.alias)
        case ast.ColumnSplit() | ast.Permutation() | ast.Repetition():
            return Alternative(structure_title(part), part.span, part, part.annotations)
        case ast.JoinedStructures() | ast.OptionalStructure():
            return Alternative(structure_title(part), part.span, part)


def _name_and_span(alias: ast.Word | None, name: str, span: Span) -> tuple[str, Span]:
    return (name, span) if alias is None else (alias.text, alias.span)


def mentioned_operators(structure: ast.Structure) -> Iterator[ast.OperatorReference]:
    """Yield the operator nodes of a structure, including those in structures that are values of parameters."""
    match structure:
        case ast.NoneStep():
            return
        case ast.OperatorReference():
            yield structure
            for member in structure.body.members if structure.body is not None else ():
                if isinstance(member, ast.Parameter):
                    yield from _operators_in_domain(member.domain)
        case ast.JoinedStructures(parts=parts) | ast.Permutation(parts=parts):
            for part in parts:
                yield from mentioned_operators(part)
        case ast.ColumnSplit(parts=columns):
            for _, part in columns:
                yield from mentioned_operators(part)
        case ast.OptionalStructure(part=part) | ast.Parenthesised(part=part) | ast.Repetition(part=part):
            yield from mentioned_operators(part)


def _operators_in_domain(domain: ast.Domain) -> Iterator[ast.OperatorReference]:
    match domain:
        case ast.OperatorReference() | ast.Parenthesised() | ast.NoneStep():
            yield from mentioned_operators(domain)
        case ast.UnionDomain():
            for part in domain.parts:
                yield from _operators_in_domain(part)
        case ast.ValueSet(values=values) if any(isinstance(value, ast.OperatorValue) for value in values):
            for value in values:
                if isinstance(value, ast.OperatorValue | ast.DottedName):
                    yield from mentioned_operators(to_operator_reference(value))
        case ast.Range() | ast.BooleanDomain() | ast.ValueSet() | ast.TupleDomain():
            return


def to_operator_reference(value: ast.OperatorValue | ast.DottedName) -> ast.OperatorReference:
    """Return the operator node that a member of a set of values stands for."""
    if isinstance(value, ast.DottedName):
        return ast.OperatorReference(value, None, None, (), value.span)
    return ast.OperatorReference(value.name, None, value.body, (), value.span)


def is_valid_identifier(name: ast.Word) -> bool:
    """Return True if a name could be written without quotes."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.text) is not None


def check_step_name(name: ast.Word, report: DiagnosticCollector) -> None:
    """Report a name that a step or decision cannot have, because no dotted name could begin with it, as `"my step"`."""
    if is_valid_identifier(name):
        check_name(name, report)
        return
    hint = "only alternatives may have names in quotes"
    report.add(UnexpectedText(name.span, found=f"`{name.span.text}`", expected="a name", hint=hint))


def check_name(name: ast.Word, report: DiagnosticCollector) -> None:
    """Report a name that is blank, a reserved word of the language, or with characters that cannot be displayed."""
    if not name.text.strip():
        hint = "write a name with at least one letter, such as `as small`"
        report.add(UnexpectedText(name.span, found="blank name", expected="a name", hint=hint))
    character = first_forbidden_character(name.text)
    if character is not None:
        hint = f"remove the character {character}: names cannot contain it"
        report.add(UnexpectedText(name.span, found=f"character {character}", expected="a name", hint=hint))
    if name.text in KEYWORDS:
        hint = f"`{name.text}` is a reserved word: choose another name"
        report.add(UnexpectedText(name.span, found=f"`{name.text}`", expected="a name", hint=hint))


def second_default_diagnostic(mark: Span, first: Span) -> MisplacedAnnotation:
    """Return the diagnostic for the second `@default` of a decision, at `mark`; the first one is at `first`."""
    related = (RelatedPlace(first, "the other default"),)
    return MisplacedAnnotation(
        mark,
        name="default",
        problem="already marks another alternative of this decision",
        reason="one is enough",
        related=related,
    )


def duplicate_diagnostic(alternative: Alternative, first: Alternative) -> DuplicateName:
    """Return the diagnostic that a decision has two alternatives of the same name."""
    remedy = f"give one of the two alternatives another name: `{alternative.name} as …`"
    several = (alternative, first)
    named = next((each for each in several if not isinstance(each.structure, ast.NoneStep)), None)
    if named is None:
        remedy = "remove one of the two alternatives"
    elif named.alias is not None:
        remedy = "choose another name after `as`"
    elif not isinstance(named.structure, ast.OperatorReference):
        remedy = f"give one of the two alternatives another name: `({alternative.name}) as …`"
    related = (RelatedPlace(first.span, "first declared here"),)
    name = alternative.name
    return DuplicateName(alternative.span, kind="alternative", name=name, remedy=remedy, related=related)


IsOperator: TypeAlias = Callable[[ast.Value], bool]  # A function that tells whether a word stands for an operator


def is_choice_of_operators(domain: ast.Domain, known: IsOperator) -> bool:
    """Return True if a domain contains operators, so that it is a decision; `known(value)` is True for an operator."""
    match domain:
        case ast.OperatorReference() | ast.NoneStep() | ast.Parenthesised():
            return True
        case ast.UnionDomain(parts=parts):
            return any(is_choice_of_operators(part, known) for part in parts if not isinstance(part, ast.NoneStep))
        case ast.ValueSet(values=values, ordered=False):
            return any(isinstance(value, ast.OperatorValue) or known(value) for value in values)
        case _:
            return False


def alternatives_of_domain(domain: ast.Domain, known: IsOperator, report: DiagnosticCollector) -> list[Alternative]:
    """Return the alternatives of a domain that is a decision.

    Each value of a set is an alternative; a value that cannot be one is reported. All ranges are one alternative.
    """
    match domain:
        case ast.OperatorReference() | ast.NoneStep() | ast.Parenthesised():
            return alternatives_of_structure(domain)
        case ast.UnionDomain(parts=parts):
            structures = tuple(
                part for part in parts if isinstance(part, ast.OperatorReference | ast.NoneStep | ast.Parenthesised)
            )
            if len(structures) == len(parts):
                return alternatives_of_structure(ast.JoinedStructures("|", structures, domain.span))
            ranges = [part for part in parts if _is_range(part)]
            kept = [part for part in parts if not _is_range(part) or part is ranges[0]]
            return [each for part in kept for each in alternatives_of_domain(part, known, report)]
        case ast.ValueSet(ordered=False):
            return [*_member_alternatives(domain, known, report)]
        case ast.BooleanDomain():
            return [_value_alternative(value, domain.span) for value in (True, False)]
        case _:
            return [Alternative(RANGE_NAME, domain.span, ast.NoneStep((), domain.span))]


def ranges_as_one_domain(domain: ast.Domain) -> ast.Domain | None:
    """Return the ranges and ordered sets among the parts of a union as one domain, or None if there are none."""
    parts = domain.parts if isinstance(domain, ast.UnionDomain) else ()
    ranges = tuple(part for part in parts if _is_range(part))
    return ranges[0] if len(ranges) == 1 else ast.UnionDomain(ranges, domain.span) if ranges else None


def check_duplicate_values(branches: Sequence[Branch], report: DiagnosticCollector) -> None:
    """Report plain values that are listed twice, or listed and also contained in a range."""
    for place, branch in enumerate(branches):
        for other in branches[:place] if branch.value is not None else ():
            if other.value is not None and are_same_value(other.value, branch.value):
                related = (RelatedPlace(other.span, "first listed here"),)
                report.add(DuplicateValueInDomain(branch.span, value=literal(branch.value), related=related))
        for other in branches if branch.node == SKIPPED_STEP else ():
            if isinstance(other.node, Hyperparameter) and contains(other.node.domain, branch.value):
                reason = f"this value also lies in `{other.span.text}`"
                report.add(DuplicateValueInDomain(branch.span, value=literal(branch.value), reason=reason))


def _is_range(part: ast.Domain) -> bool:
    return isinstance(part, ast.Range) or (isinstance(part, ast.ValueSet) and part.ordered)


def _value_alternative(value: Value, span: Span) -> Alternative:
    return Alternative(unique_value_name(value), span, ast.NoneStep((), span), value=value)


def _member_alternatives(
    written: ast.ValueSet, known: IsOperator, report: DiagnosticCollector
) -> Iterator[Alternative]:
    for value in written.values:
        if isinstance(value, ast.OperatorValue) or (isinstance(value, ast.DottedName) and known(value)):
            yield from alternatives_of_structure(to_operator_reference(value))
            continue
        found = literal_value(value, report)
        if not isinstance(found, InvalidValue):
            yield _value_alternative(found, value.span)
