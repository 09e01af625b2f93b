"""Functions that turn nodes of the syntax tree into text on one line, with necessary parentheses, or into a title."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, assert_never

from spacelang.ir.domain import is_bare_word, quoted
from spacelang.syntax import ast

RESERVED_VALUES: Final = frozenset({"true", "false", "none", "True", "False", "None"})
"""Words that are not strings where a value is expected: constants, and their Python spellings, which are errors."""
_NO_REFERENCES: Final = RESERVED_VALUES | {"not"}
_WORD: Final = r"(?!(?:True|False|None)\Z)[A-Za-z_][A-Za-z0-9_]*"
_INDEXED_WORD: Final = rf"{_WORD}(?:\[\d+\])*"
_IMPLIES, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(10)
GROUPED_ITEMS: Final = (
    (ast.Import, ast.CatalogueUse), (ast.AbstractOperator,), (ast.ConstraintStatement,), (ast.Parameter, ast.Let),
)  # fmt: skip
"""Kinds of items between which no blank line is written."""
_STRUCTURE_PRECEDENCE: Final = {"|": 0, "->": 1, "&": 2}
_BINARY: Final = {"implies": _IMPLIES, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


def spell_file(file: ast.File) -> str:
    """Return the text of a file, one item per line, with blank lines between items of different kinds."""
    parts: list[str] = []
    before: ast.Item | None = None
    for item in file.items:
        alike = any(isinstance(before, kinds) and isinstance(item, kinds) for kinds in GROUPED_ITEMS)
        parts.append(("" if alike or before is None else "\n") + spell_item(item) + "\n")
        before = item
    return "".join(parts)


def spell_item(item: ast.Item) -> str:
    """Return the text of an item."""
    match item:
        case ast.SpaceName(name=name, title=title):
            return f"space {name.text}" + (f" {quoted(title.value)}" if title is not None else "")
        case ast.Import(path=path):
            return f"import {quoted(path.value)}{spell_alias(item)}"
        case ast.CatalogueUse(name=dotted):
            return f"use {dotted.text}"
        case ast.ConstraintStatement() | ast.Parameter() | ast.Let():
            return spell_member(item)
        case _:
            return _spell_block(item)


def _spell_block(item: ast.ParameterGroup | ast.AbstractOperator | ast.Stage | ast.Pipeline | ast.Task) -> str:
    match item:
        case ast.ParameterGroup(name=name, body=body):
            return f"params {name.text} {spell_body(body)}"
        case ast.AbstractOperator(name=name, body=inside):
            return f"abstract {name.text}" + (f" {spell_body(inside)}" if inside is not None else "")
        case ast.Stage(name=name, annotations=annotations):
            return f"stage {name.text}{spell_annotations(annotations)} = {spell_structure(item.structure)}"
        case ast.Pipeline(structure=structure):
            return f"pipeline = {spell_structure(structure)}"
        case ast.Task(kind=kind, settings=settings):
            return f"task {kind.text} {{ {' '.join(map(spell_setting, settings))} }}"
        case _:
            assert_never(item)


def spell_setting(setting: ast.TaskSetting) -> str:
    """Return the text of one line of a task block."""
    first, *rest = map(_spell_argument, setting.arguments)
    match setting.keyword:
        case "validate":
            return f"validate {first}({', '.join(rest)})"
        case "fidelity":
            return f"fidelity {first} from {' by '.join(rest)}"
        case "subject to":
            (constraint,) = setting.arguments
            if isinstance(constraint, ast.Word | ast.SplitOption):
                return f"subject to {first}"
            return f"subject to {spell_expression(constraint)}"
        case "minimize" | "maximize":
            return f"{setting.keyword} {', '.join((first, *rest))}"
        case keyword:
            return " ".join((keyword, first, *rest))


def _spell_argument(argument: ast.Expression | ast.Word | ast.SplitOption) -> str:
    match argument:
        case ast.Word(text=text):
            return text
        case ast.SplitOption(name=name, value=value):
            return name.text if value is None else f"{name.text}={spell_name(value)}"
        case _:
            return spell_arithmetic(argument)


# ---- values


def spell_value(value: ast.Value) -> str:
    """Return the text of a value."""
    match value:
        case ast.Number(value=number):
            return spell_number(number)
        case ast.QuotedString(value=text):
            return quoted(text)
        case ast.NamedConstant(value=constant):
            return {True: "true", False: "false", None: "none"}[constant]
        case ast.DottedName(words=words):
            return quoted(value.text) if words[0].text in RESERVED_VALUES else spell_dotted_name(value)
        case ast.TupleLiteral(items=items):
            inside = ", ".join(spell_value(item) for item in items)
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        case ast.OperatorValue(name=name, body=body):
            return f"{name.text} {spell_body(body)}"
        case _:
            assert_never(value)


def spell_dotted_name(dotted: ast.DottedName) -> str:
    """Return the text of a dotted name."""
    return ".".join(map(spell_name, dotted.words))


def spell_name(name: ast.Word) -> str:
    """Return the text of a name, in quotes if it is not a plain word."""
    return name.text if re.fullmatch(_WORD, name.text) else quoted(name.text)


def spell_reference(dotted: ast.DottedName) -> str:
    """Return the text of a dotted name in an expression, in backticks if written so or if its first word needs them."""
    first, *rest = dotted.words
    start = f"`{first.text}`" if first.text in _NO_REFERENCES else _spell_parameter(first)
    return ".".join((start, *(_spell_parameter(word) if word.ticked else _spell_called(word) for word in rest)))


def _spell_called(name: ast.Word) -> str:
    """Return a word of a dotted name after the first one; in quotes unless it is a plain word, maybe with an index."""
    return name.text if re.fullmatch(_INDEXED_WORD, name.text) else quoted(name.text)


def _spell_parameter(name: ast.Word) -> str:
    """Return the name of a parameter, in backticks if it was written so or is no word with or without an index."""
    return name.text if re.fullmatch(_INDEXED_WORD, name.text) and not name.ticked else f"`{name.text}`"


def _spell_tested(operator: ast.DottedName | None) -> str:
    if operator is None:
        return "none"
    return spell_dotted_name(operator) if len(operator.words) > 1 else spell_label(operator.words[0])


def spell_number(number: float) -> str:
    """Return the shortest text of a number, with a power of ten for floats from 1e4 or below 1e-3."""
    plain = repr(number)
    if isinstance(number, int):
        return plain
    sign, digits, places = Decimal(plain).normalize().as_tuple()
    exponent = len(digits) - 1 + int(places)
    if abs(exponent) < 4 and "e" not in plain:
        return plain
    fraction = "".join(map(str, digits[1:]))
    short = f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}e{exponent}"
    return short if len(short) < len(plain) or "e" in plain else plain


def spell_expression(expression: ast.Expression, lowest: int = _IMPLIES) -> str:
    """Return the text of an expression, in parentheses if it binds less tightly than `lowest`."""
    text = _spell_bare(expression)
    return f"({text})" if _precedence(expression) < lowest else text


def spell_arithmetic(expression: ast.Expression) -> str:
    """Return the text of an expression, in parentheses unless it is arithmetic."""
    return spell_expression(expression, _SUM)


def _precedence(expression: ast.Expression) -> int:
    match expression:
        case ast.LogicalOperation(operator=operator):
            return _OR if operator == "or" else _AND
        case ast.UnaryOperation(operator=operator):
            return _NOT if operator == "not" else _MINUS
        case ast.BinaryOperation(operator=operator):
            return _BINARY.get(operator, _COMPARISON)
        case ast.Membership() | ast.IsTest():
            return _COMPARISON
        case ast.Number(value=value) if value < 0:
            return _MINUS
        case ast.Number() | ast.QuotedString() | ast.NamedConstant() | ast.DottedName() | ast.TupleLiteral():
            return _ATOM
        case ast.NumberWithUnit() | ast.FunctionCall():
            return _ATOM
        case _:
            assert_never(expression)


def _spell_bare(expression: ast.Expression) -> str:
    match expression:
        case ast.LogicalOperation(operator=operator, terms=terms):
            tightness = _OR if operator == "or" else _AND
            return f" {operator} ".join(spell_expression(term, tightness + 1) for term in terms)
        case ast.UnaryOperation(operator=operator, term=term):
            return f"not {spell_expression(term, _NOT)}" if operator == "not" else f"-{spell_expression(term, _MINUS)}"
        case ast.BinaryOperation(operator=operator, left=left, right=right):
            tightness = _BINARY.get(operator, _COMPARISON)
            before = tightness if tightness in (_SUM, _PRODUCT) else tightness + 1
            behind = _MINUS if tightness == _POWER else tightness + 1
            return f"{spell_expression(left, before)} {operator} {spell_expression(right, behind)}"
        case ast.Membership(item=item, values=values):
            return f"{spell_arithmetic(item)} in {{{', '.join(map(spell_value, values))}}}"
        case ast.IsTest(decision=decision, operator=operator):
            return f"{spell_arithmetic(decision)} is {_spell_tested(operator)}"
        case _:
            return _spell_atom(expression)


def _spell_atom(
    atom: ast.FunctionCall
    | ast.NumberWithUnit
    | ast.DottedName
    | ast.Number
    | ast.QuotedString
    | ast.NamedConstant
    | ast.TupleLiteral,
) -> str:
    match atom:
        case ast.FunctionCall(function=function, arguments=arguments):
            return f"{function.text}({', '.join(map(spell_expression, arguments))})"
        case ast.NumberWithUnit(number=number, unit=unit):
            return spell_quantity(number, unit)
        case ast.DottedName():
            return spell_reference(atom)
        case _:
            return spell_value(atom)


def spell_quantity(number: float, unit: str) -> str:
    """Return a number with its unit, written without a power of ten."""
    text = format(Decimal(repr(number)), "f")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{unit}"


# ---- structure


def spell_structure(structure: ast.Structure, lowest: int = 0) -> str:
    """Return a structure, in parentheses if below the level `lowest` (`|` 0, `->` 1, `&` 2, step 3)."""
    match structure:
        case ast.NoneStep(annotations=annotations):
            return f"none{spell_annotations(annotations)}"
        case ast.OperatorReference(name=name, body=body):
            inside = f" {spell_body(body)}" if body is not None else ""
            return f"{name.text}{spell_alias(structure)}{inside}{spell_annotations(structure.annotations)}"
        case ast.JoinedStructures(sign=sign, parts=parts):
            text = f" {sign} ".join(spell_structure(part, _STRUCTURE_PRECEDENCE[sign] + 1) for part in parts)
            text = text if len(parts) > 1 else f"| {text}"
            return f"({text})" if _STRUCTURE_PRECEDENCE[sign] < lowest else text
        case ast.OptionalStructure(part=part):
            inner = spell_structure(part, 3)
            return f"({inner})?" if isinstance(part, ast.OptionalStructure) else f"{inner}?"
        case ast.Parenthesised(part=part, annotations=annotations):
            return f"({spell_structure(part)}){spell_alias(structure)}{spell_annotations(annotations)}"
        case ast.ColumnSplit(parts=parts, annotations=annotations):
            text = ", ".join(f"{spell_selector(selector)}: {spell_structure(part)}" for selector, part in parts)
            return f"columns({text}){spell_annotations(annotations)}"
        case ast.Permutation(parts=parts, annotations=annotations):
            labels = structure.labels or (None,) * len(parts)
            text = ", ".join(
                (f"{spell_label(label)}: " if label is not None else "") + spell_structure(part)
                for label, part in zip(labels, parts, strict=True)
            )
            return f"permute({text}){spell_annotations(annotations)}"
        case ast.Repetition(part=part, counts=counts, annotations=annotations):
            inside = ", ".join((spell_structure(part), *map(spell_value, counts)))
            return f"repeat({inside}){spell_annotations(annotations)}"
        case _:
            assert_never(structure)


def spell_label(label: ast.Word) -> str:
    """Return the label of a permuted step. The label `none` is put in quotes, as it would be the keyword."""
    return quoted("none") if label.text == "none" else spell_name(label)


def spell_selector(selector: ast.Word | ast.QuotedString) -> str:
    """Return the selector of a part of `columns`."""
    return selector.text if isinstance(selector, ast.Word) else quoted(selector.value)


def spell_alias(node: ast.OperatorReference | ast.Parenthesised | ast.Import) -> str:
    """Return ` as name`, or an empty string without an alias."""
    return f" as {spell_name(node.alias)}" if node.alias is not None else ""


def spell_annotations(annotations: Sequence[ast.Annotation]) -> str:
    """Return the annotations, each preceded by a space."""
    return "".join(f" @{each.name.text}{_spell_arguments(each.arguments)}" for each in annotations)


def _spell_arguments(arguments: Sequence[ast.Value]) -> str:
    return f"({', '.join(map(spell_value, arguments))})" if arguments else ""


# ---- bodies


def spell_body(body: ast.Body) -> str:
    """Return a body with commas between its members; a line ends after a simplex, whose names have commas."""
    if not body.members:
        return "{}"
    ends = ["\n" if isinstance(member, ast.Simplex) else ", " for member in body.members[:-1]]
    inside = "".join(map("".join, zip(map(spell_member, body.members), [*ends, ""], strict=True)))
    return f"{{ {inside} }}"


def spell_member(member: ast.Member) -> str:
    """Return a member of a body."""
    match member:
        case ast.Parameter(name=name, domain=domain):
            var = "var " if member.is_var else ""
            return f"{var}{_spell_parameter(name)} : {spell_domain(domain)}{spell_after_domain(member)}"
        case ast.FixedParameter(name=name, value=value):
            return f"{_spell_parameter(name)} = {_spell_value_or_arithmetic(value)}{spell_condition(member.condition)}"
        case ast.ParameterFormula(name=name, expression=expression):
            return f"{_spell_parameter(name)} := {spell_expression(expression)}"
        case ast.Let(name=name, expression=expression):
            return f"let {name.text} := {spell_expression(expression)}"
        case ast.Simplex(names=names, default=default):
            shares = "" if default is None else f" = {spell_value(default)}"
            return f"simplex {', '.join(map(_spell_parameter, names))}{shares}"
        case ast.ParameterGroupInclusion(name=name):
            return f"include {name.text}"
        case ast.ConstraintStatement(forbidden=forbidden, expression=expression):
            return f"{'forbid' if forbidden else 'require'} {spell_expression(expression)}"
        case _:
            assert_never(member)


def spell_after_domain(parameter: ast.Parameter) -> str:
    """Return the text of the default, condition and annotations of a parameter.

    Their order ensures that no annotation is read as that of the last operator in the domain.
    """
    default = f" = {_spell_value_or_arithmetic(parameter.default)}" if parameter.default is not None else ""
    condition = spell_condition(parameter.condition)
    annotations = spell_annotations(parameter.annotations)
    if default or not is_last_part_annotatable(parameter.domain):
        return f"{default}{annotations}{condition}"
    return f"{condition}{annotations}"


def _spell_value_or_arithmetic(given: ast.Value | ast.Expression) -> str:
    return spell_value(given) if isinstance(given, ast.OperatorValue) else spell_arithmetic(given)


def spell_condition(condition: ast.Expression | None) -> str:
    """Return ` when E`, or an empty string without a condition."""
    return f" when {spell_expression(condition)}" if condition is not None else ""


def is_last_part_annotatable(domain: ast.Domain) -> bool:
    """Return True if an annotation directly after a domain belongs to the last part of the domain."""
    last = domain.parts[-1] if isinstance(domain, ast.UnionDomain) else domain
    while isinstance(last, ast.TupleDomain):
        last = last.element
    return isinstance(last, ast.OperatorReference | ast.NoneStep | ast.Parenthesised)


def spell_domain(domain: ast.Domain) -> str:
    """Return the text of a domain."""
    match domain:
        case ast.Range():
            return _spell_range(domain)
        case ast.BooleanDomain():
            return "bool"
        case ast.ValueSet(values=values, ordered=ordered):
            return f"{'ordered ' if ordered else ''}{{{', '.join(map(spell_value, values))}}}"
        case ast.UnionDomain(parts=parts):
            return " | ".join(map(spell_domain, parts))
        case ast.TupleDomain(least=least, greatest=greatest, element=element):
            return f"tuple[{spell_arithmetic(least)}, {spell_arithmetic(greatest)}] of {spell_domain(element)}"
        case ast.NoneStep() | ast.OperatorReference() | ast.Parenthesised():
            return spell_structure(domain)
        case _:
            assert_never(domain)


def _spell_range(domain: ast.Range) -> str:
    opening, closing = "(" if domain.lower_open else "[", ")" if domain.upper_open else "]"
    bounds = f"{opening}{spell_arithmetic(domain.lower)}, {spell_arithmetic(domain.upper)}{closing}"
    step = f" step {spell_arithmetic(domain.step)}" if domain.step is not None else ""
    return f"{domain.kind}{bounds}{' log' if domain.log is not None else ''}{step}"


def structure_title(structure: ast.Structure) -> str:
    """Return the title of a structure: its alias or, without one, its text without bodies."""
    match structure:
        case ast.NoneStep():
            return "none"
        case ast.OperatorReference():
            return structure.name.text if structure.alias is None else structure.alias.text
        case ast.Parenthesised():
            return f"({structure_title(structure.part)})" if structure.alias is None else structure.alias.text
        case ast.OptionalStructure():
            return f"{structure_title(structure.part)}?"
        case ast.JoinedStructures():
            return f" {structure.sign} ".join(map(structure_title, structure.parts))
        case ast.ColumnSplit():
            columns = (
                f"{each.span.text or spell_selector(each)}: {structure_title(part)}" for each, part in structure.parts
            )
            return f"columns({', '.join(columns)})"
        case ast.Permutation():
            return f"permute({', '.join(_labelled_steps(structure))})"
        case ast.Repetition(part=part, counts=counts):
            return f"repeat({', '.join((structure_title(part), *map(spell_value, counts)))})"


def name_of_single_step(structure: ast.Structure) -> str | None:
    """Return the alias or the name of a single operator or stage, optional or not; None for any other structure.

    This is the name of an optional member of a list of operators.
    """
    match structure:
        case ast.OperatorReference(alias=ast.Word(text=text)) | ast.Parenthesised(alias=ast.Word(text=text)):
            return text if is_bare_word(text) else None
        case ast.OperatorReference(name=name):
            return name.words[-1].text
        case (
            ast.Parenthesised(part=part)
            | ast.OptionalStructure(part=part)
            | ast.JoinedStructures(sign="|", parts=(ast.NoneStep(), part) | (part, ast.NoneStep()))
        ):
            return name_of_single_step(part)
        case _:
            return None


def step_labels(permutation: ast.Permutation) -> tuple[str, ...]:
    """Return the name of each permuted step as used in the orders: its label or, without one, its title."""
    given = permutation.labels or (None,) * len(permutation.parts)
    return tuple(
        structure_title(p) if label is None else label.text for p, label in zip(permutation.parts, given, strict=True)
    )


def _labelled_steps(permutation: ast.Permutation) -> Iterator[str]:
    given = permutation.labels or (None,) * len(permutation.parts)
    for part, label in zip(permutation.parts, given, strict=True):
        yield (
            f"{label.span.text or spell_label(label)}: {structure_title(part)}"
            if label is not None
            else structure_title(part)
        )
