"""Hover texts (kinds of names, comments, legal values, ranges) and inlay hints with numbers of structures."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from lsprotocol import types

from spacelang.analysis import TextNameIndex
from spacelang.analysis.declarations import all_modules
from spacelang.catalog.catalogue import CatalogueEntry, NamedObjectDefault, NoDefault, OpaqueDefault, Parameter
from spacelang.grouping import group_by_key
from spacelang.ir.domain import describe, literal
from spacelang.ir.space import Choice
from spacelang.ir.tuple_parameters import is_condition_implied_by_tuple
from spacelang.language_server.cursor import token_at
from spacelang.language_server.documents import Document, PositionEncoding
from spacelang.language_server.name_index import Occurrence, SymbolKind, syntax_nodes
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_domain, spell_expression
from spacelang.text import Span, count_with_noun


def hover(document: Document, position: types.Position, encoding: PositionEncoding) -> types.Hover | None:
    """Return a description of the symbol at a position, or None."""
    names, offset = document.names, encoding.to_offset(document.source, position)
    found = document.name_index.occurrences_at(document.source, offset)
    if names is None or not found:
        return _hover_on_keyword(document, offset, encoding)
    texts = dict.fromkeys(text for each in found for text in _describe(each, document, names) if text)
    content = types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(texts))
    return types.Hover(content, encoding.to_range(found[0].span))


_FORMS: Final = {
    "TUPLE": "`tuple[least, greatest] of DOMAIN`: a tuple of variable length; an element is `NAME[1]`, the length "
    "`length(NAME)`",
    "SIMPLEX": "`simplex a, b, c`: numbers in [0, 1] whose sum is 1; the last one is computed from the others",
    "VAR": "`var NAME : DOMAIN`: a hyperparameter for expressions only; it is not passed to the operator",
    "LET": "`let NAME := EXPRESSION`: a name for an expression",
    "IMPLIES": "`a implies b`: `not a or b`",
    "REPEAT": "`repeat(stage, least, most)`: the stage is used from `least` to `most` times in a row, each use with "
    "its own alternative and hyperparameters",
    "PERMUTE": "`permute(a, b, c)`: a decision between all orders of the steps",
    "COLUMNS": "`columns(numeric: a, categorical: b)`: each part transforms some columns, and the "
    "results are concatenated",
}
"""What a keyword begins, by its terminal."""
_FUNCTIONS: Final = {
    "count": "`count(condition, …)`: how many conditions hold; `count(estimators)`: how many members a list has",
    "length": "`length(NAME)`: the number of elements of a tuple",
    "sum": "`sum(a, b, …)`: the sum of numbers",
}
"""What functions that Python does not have, or has by another name, compute."""


def _hover_on_keyword(document: Document, offset: int, encoding: PositionEncoding) -> types.Hover | None:
    """Return a description of the form that a keyword begins, or None."""
    token = token_at(document.source, offset)
    text = None if token is None else _FORMS.get(token.type)
    if token is None or text is None:
        return None
    start = offset
    while start and re.match(r"\w", document.source.text[start - 1]):
        start -= 1
    span = Span(document.source, start, start + len(token))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), encoding.to_range(span))


def _describe(each: Occurrence, document: Document, names: TextNameIndex) -> Iterator[str]:
    symbol = each.symbol
    yield f"**{symbol.kind}** `{symbol.name}`"
    if symbol.kind is SymbolKind.OPERATOR:
        entry = names.catalogues.get(symbol.name)
        if entry is not None:
            yield from _operator(entry)
    if symbol.kind is SymbolKind.PARAMETER and symbol.operator:
        entry = names.catalogues.get(symbol.operator)
        parameter = None if entry is None else entry.parameters.get(symbol.name)
        if parameter is not None:
            yield describe_parameter(parameter, symbol.operator)
    if symbol.kind is SymbolKind.FUNCTION:
        yield _FUNCTIONS.get(symbol.name, "")
    if symbol.kind is SymbolKind.DATA_SIZE:
        number = document.check_settings.bindings.get(symbol.name)
        yield "not bound here" if number is None else f"bound to {number:,}"
    if symbol.definition is not None:
        yield _comment(symbol.definition)
        yield from _variables(symbol.definition, document, names)


def _operator(entry: CatalogueEntry) -> Iterator[str]:
    roles = ", ".join(sorted(entry.roles))
    yield f"{roles} of `{entry.module}`, with {count_with_noun(len(entry.parameters), 'parameter')}"
    if entry.deprecated is not None:
        yield f"deprecated since {entry.deprecated.since}: {entry.deprecated.note}"
    if entry.catalogue == "sklearn":
        page = f"https://scikit-learn.org/stable/modules/generated/{entry.module}.{entry.name}.html"
        yield f"[documentation]({page})"


def describe_parameter(parameter: Parameter, operator: str) -> str:
    """Return the legal values and the default of a parameter, and since when it is deprecated, as one line."""
    text = f"parameter of `{operator}`: {parameter.accepted_values_description}; {_default(parameter)}"
    if parameter.deprecated is not None:
        text += f"; deprecated since {parameter.deprecated.since}"
    return text


def _default(parameter: Parameter) -> str:
    match parameter.default:
        case NoDefault():
            return "must be given"
        case NamedObjectDefault(name):
            return f"default `{name}`"
        case OpaqueDefault(text):
            return f"default `{text}`"
        case value:
            return f"default `{literal(value)}`"


def _comment(definition: Span) -> str:
    """Return the comments on the lines directly above a declaration and at the end of its line."""
    source, lines = definition.source, list[str]()
    number = definition.line
    while (line := source.line_text(number - 1).strip()).startswith("#"):
        lines.insert(0, line.lstrip("# "))
        number -= 1
    _, mark, behind = source.line_text(definition.line).partition("  # ")
    return " ".join([*lines, *([behind] if mark else [])])


def _variables(definition: Span, document: Document, names: TextNameIndex) -> Iterator[str]:
    """Yield the domain of the hyperparameter, or the alternatives of the decision, that is declared at a place."""
    declared = next((node for node in _declarations(names) if node.name.span == definition), None)
    match declared:
        case ast.ParameterFormula(expression=expression) | ast.Let(expression=expression):
            yield f"computed as `{spell_expression(expression)}`"
        case ast.Parameter(domain=domain, default=default) if _has_tuples(domain):
            yield f"`{spell_domain(domain)}`" + ("" if default is None else f", default `{default.span.text}`")
            return
        case _:
            pass
    space = document.check_result.space
    checked = {} if space is None else space.variables
    decisions = [*group_decisions_by_stage_use(document)]
    for address, variable in names.variables.items():
        node = checked.get(address, variable).node  # with its condition, if the text has no errors
        if isinstance(node, Choice):
            if not decisions and node.span == definition:
                yield _decision(node)
        elif node.span == definition:
            yield f"`{describe(node.domain)}`, default `{literal(node.default)}`"
            if node.condition is not None and not (
                space and is_condition_implied_by_tuple(address, node.condition, space)
            ):
                yield f"active when `{node.condition.span.text}`"
    yield from _counted_decisions(decisions, definition, document)


def _declarations(names: TextNameIndex) -> Iterator[ast.NamedMember]:
    files = tuple(module.file.items for module in all_modules(names.module))
    return (node for node in syntax_nodes(files) if isinstance(node, ast.NamedMember))


def _has_tuples(domain: ast.Domain) -> bool:
    return any(isinstance(node, ast.TupleDomain) for node in syntax_nodes(domain))


def _decision(choice: Choice) -> str:
    default = choice.branches[choice.default].name if choice.branches else "none"
    return f"a decision with {count_with_noun(len(choice.branches), 'alternative')}, default `{default}`"


def _counted_decisions(decisions: Iterable[list[Choice]], definition: Span, document: Document) -> Iterator[str]:
    """Yield the decision, or the alternative, that is declared at a place, with the structures of each of its uses."""
    numbers: dict[str, list[int]] = {}
    for choices in decisions:
        first = choices[0]
        places = [branch for branch in first.branches if branch.span == definition]
        if first.span != definition and not places:
            continue
        counts = count_structures_by_branch(document, choices)
        if first.span == definition:
            yield _decision(first)
            if counts:
                numbers.setdefault("in", []).append(counts.total())
        for branch in places:
            if branch.name in counts:
                numbers.setdefault(f"alternative of `{first.name}` in", []).append(counts[branch.name])
    for text, several in numbers.items():
        yield f"{text} {describe_structure_counts(several)}"


MAX_COUNTED_DECISIONS = 50  # The maximum number of decisions that are counted for hints; further ones have none


def count_structures_by_branch(document: Document, choices: Iterable[Choice]) -> Counter[str]:
    """Return the number of structures with each branch of a decision, by the name of the branch.

    `choices` are all occurrences of the decision in the space: the use `step[1]` of a chain, for example, occurs once
    for each number of uses. The counter is empty if the text has errors, or if counting is too expensive.
    """
    found = Counter[str]()
    if document.structures is None:
        return found
    for choice in choices:
        try:
            found.update(document.structures.count_by_branch(choice))
        except TooManyConnectedVariablesError:
            return Counter()
    return found


def group_decisions_by_stage_use(document: Document) -> Iterable[list[Choice]]:
    """Return the decisions of a space without errors, those of the same use of a stage together."""
    decisions = () if document.structures is None else document.structures.space.decisions
    return group_by_key(((choice.key, choice.span), choice) for choice in decisions).values()


def describe_structure_counts(numbers: Sequence[int]) -> str:
    """Return numbers of structures as text: one number, or one for each use of the stage."""
    *first, last = numbers
    return "".join(f"{number:,} | " for number in first) + count_with_noun(last, "structure")


def inlay_hints(document: Document, shown: types.Range, encoding: PositionEncoding) -> list[types.InlayHint]:
    """Return hints with the number of structures of the pipeline and of each alternative of its stages.

    Where a stage is used several times, one hint has the numbers of all uses; that of a chain has those of all numbers
    of uses.
    """
    structures = document.structures
    if structures is None or document.is_compiled_document:
        return []
    source, found = document.source, dict[tuple[int, Span], list[int]]()
    start, end = encoding.to_offset(source, shown.start), encoding.to_offset(source, shown.end)
    for item in document.parse_result.file.items:
        if isinstance(item, ast.Pipeline):
            found[item.span.start + len("pipeline"), item.span] = [structures.count]
    for choices in islice(group_decisions_by_stage_use(document), MAX_COUNTED_DECISIONS):
        branches = choices[0].branches
        if any(branch.span.source is source and start <= branch.span.end <= end for branch in branches):
            counts = count_structures_by_branch(document, choices)
            for branch in branches:
                if branch.name in counts and branch.span.source is source:
                    found.setdefault((branch.span.end, choices[0].span), []).append(counts[branch.name])
    return [
        types.InlayHint(encoding.to_position(source, offset), f" {describe_structure_counts(numbers)}")
        for (offset, _), numbers in found.items()
        if start <= offset <= end
    ]
