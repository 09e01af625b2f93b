"""Alternatives of a decision, be it a stage or an operator as a value."""

from collections.abc import Callable, Iterator

from spacelang.analysis import annotations
from spacelang.analysis.places import Place
from spacelang.analysis.report import Report
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.names import DuplicateName
from spacelang.diagnostics.structure import MisplacedAnnotation
from spacelang.diagnostics.syntax import NotSupportedYet, UnexpectedText
from spacelang.ir import space as ir
from spacelang.ir.domain import RESERVED
from spacelang.syntax import ast
from spacelang.text import Span

ReadOperator = Callable[[ast.Dotted, ast.Body | None, Place], ir.Operator]


def read(
    structure: ast.Structure, place: Place, read_operator: ReadOperator, report: Report
) -> tuple[tuple[ir.Branch, ...], int]:
    """The branches of a decision and the number of the default one; what cannot be a branch is reported."""
    branches: list[ir.Branch] = []
    names: dict[str, Span] = {}
    default: tuple[int, Span] | None = None
    for part in _parts(structure):
        alternative = _unwrapped(part)
        if alternative is None:
            instead = "declare a stage for each decision and join the stages by `->`"
            report.add(NotSupportedYet(primary=part.span, construct="a structure as an alternative", instead=instead))
            continue
        name, span = name_of(alternative)
        if name in names:
            report.add(_duplicate(alternative, names[name]))
            continue
        names[name] = span
        if isinstance(alternative, ast.Operator) and alternative.alias is not None:
            check_name(alternative.alias, report)
        advice = annotations.read(alternative.annotations, "alternatives", report)
        if advice.default:
            mark = annotations.place_of("default", alternative.annotations)
            if default is not None:
                report.add(_second_default(mark, default[1]))
            default = default or (len(branches), mark)
        node = _node(alternative, place.alternative(name), read_operator)
        branches.append(ir.Branch(name, node, advice.weight, span))
    return tuple(branches), 0 if default is None else default[0]


def name_of(alternative: ast.Nothing | ast.Operator) -> tuple[str, Span]:
    """What an alternative is called, and where that is written."""
    if isinstance(alternative, ast.Nothing):
        return "none", Span(alternative.span.source, alternative.span.start, alternative.span.start + len("none"))
    if alternative.alias is not None:
        return alternative.alias.text, alternative.alias.span
    return alternative.name.text, alternative.name.span


def _parts(structure: ast.Structure) -> Iterator[ast.Structure]:
    if isinstance(structure, ast.Joined) and structure.sign == "|":
        yield from structure.parts
    else:
        yield structure


def _unwrapped(part: ast.Structure) -> ast.Nothing | ast.Operator | None:
    while isinstance(part, ast.Group) and part.alias is None and not part.annotations:
        part = part.part
    return part if isinstance(part, ast.Nothing | ast.Operator) else None


def _node(alternative: ast.Nothing | ast.Operator, place: Place, read_operator: ReadOperator) -> ir.Node:
    if isinstance(alternative, ast.Nothing):
        return ir.NOTHING
    return read_operator(alternative.name, alternative.body, place)


def check_name(name: ast.Word, report: Report) -> None:
    """Report a name that the language has taken: it would never be understood where it is used."""
    if name.text in RESERVED:
        hint = f"`{name.text}` is a word of the language: choose another name"
        report.add(UnexpectedText(primary=name.span, found=f"`{name.text}`", expected="a name", hint=hint))


def _second_default(mark: Span, first: Span) -> MisplacedAnnotation:
    related = (Related(first, "the other default"),)
    return MisplacedAnnotation(
        primary=mark, name="default", problem="marks a second alternative", reason="one is enough", related=related
    )


def _duplicate(alternative: ast.Nothing | ast.Operator, first: Span) -> DuplicateName:
    name, span = name_of(alternative)
    remedy = f"tell them apart: `{name} as …`"
    if isinstance(alternative, ast.Nothing):
        remedy = "remove one of them"
    elif alternative.alias is not None:
        remedy = "choose another name after `as`"
    related = (Related(first, "first declared here"),)
    return DuplicateName(primary=span, kind="alternative", name=name, remedy=remedy, related=related)
