"""The canonical text of a syntax tree: `parse(format_file(file)).file == file`."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, assert_never

from spacelang.syntax import ast
from spacelang.syntax.spelling import (
    spell_alias,
    spell_annotations,
    spell_arithmetic,
    spell_body,
    spell_domain,
    spell_expression,
    spell_member,
    spell_rest,
    spell_selector,
    spell_structure,
    spell_text,
)

WIDTH: Final = 120
"""Lines are broken before this many characters where there is a place to break them."""

_INDENT: Final = 2


def format_file(file: ast.File) -> str:
    """The text of a tree; ends with a newline, or is empty.

    Every tree that a text can say comes back from its own text. Comments are not in the tree.
    """
    if not file.items:
        return ""
    parts = [_item(file.items[0])]
    for before, item in pairwise(file.items):
        parts.append(("\n" if _belong_together(before, item) else "\n\n") + _item(item))
    return "".join(parts) + "\n"


def _belong_together(before: ast.Item, item: ast.Item) -> bool:
    """Whether no empty line stands between two items."""
    alike = (ast.Import | ast.Use, ast.Abstract, ast.Rule)
    return any(isinstance(before, kinds) and isinstance(item, kinds) for kinds in alike)


def _item(item: ast.Item) -> str:
    match item:
        case ast.Header(name=name, title=title):
            return f"space {name.text}" + (f" {spell_text(title.value)}" if title is not None else "")
        case ast.Import(path=path):
            return f"import {spell_text(path.value)}{spell_alias(item)}"
        case ast.Use(name=dotted):
            return f"use {dotted.text}"
        case ast.Rule():
            return _member(item, 0)
        case _:
            return _block(item)


def _block(item: ast.Params | ast.Abstract | ast.Stage | ast.Pipeline | ast.Task) -> str:
    """An item that may take more lines than one."""
    match item:
        case ast.Params(name=name, body=body):
            return f"params {name.text} {_broken_body(body, 0)}"
        case ast.Abstract(name=name, body=inside):
            head = f"abstract {name.text}"
            return f"{head} {_body(inside, 0, len(head))}" if inside is not None else head
        case ast.Stage():
            return _stage(item)
        case ast.Pipeline(structure=structure):
            return _assigned("pipeline =", structure)
        case ast.Task():
            return _task(item)
        case _:
            assert_never(item)


def _stage(stage: ast.Stage) -> str:
    head = f"stage {stage.name.text}{spell_annotations(stage.annotations)} ="
    structure = stage.structure
    if isinstance(structure, ast.Joined) and structure.sign == "|":
        lines = (f"{' ' * _INDENT}| {_structure(part, 2 * _INDENT, 1)}" for part in structure.parts)
        return "\n".join([head, *lines])
    return _assigned(head, structure)


def _assigned(head: str, structure: ast.Structure) -> str:
    """A structure behind `=`: on the same line, unless its joints have to be broken."""
    if isinstance(structure, ast.Joined) and not _fits(structure, len(head) + 1):
        return f"{head}\n{' ' * _INDENT}{_structure(structure, _INDENT)}"
    return f"{head} {_structure(structure, 0, column=len(head) + 1)}"


# ---- structure


def _fits(structure: ast.Structure | ast.Domain, column: int) -> bool:
    """Whether a structure may stand on one line from a column on."""
    flat = spell_structure(structure) if not isinstance(structure, _OnlyDomain) else spell_domain(structure)
    return column + len(flat) <= WIDTH and not _has_long_body(structure)


_OnlyDomain: Final = (ast.Range, ast.Booleans, ast.Values, ast.UnionDomain)


def _has_long_body(node: ast.Structure | ast.Domain) -> bool:
    """Whether a body of more than one member is in a structure."""
    match node:
        case ast.Operator(body=body):
            return body is not None and _is_long(body)
        case ast.Joined(parts=parts) | ast.Permute(parts=parts):
            return any(map(_has_long_body, parts))
        case ast.Columns(parts=pairs):
            return any(_has_long_body(part) for _, part in pairs)
        case ast.Maybe(part=part) | ast.Group(part=part):
            return _has_long_body(part)
        case ast.UnionDomain(parts=domains):
            return any(map(_has_long_body, domains))
        case ast.Nothing() | ast.Range() | ast.Booleans() | ast.Values():
            return False
        case _:
            assert_never(node)


def _is_long(body: ast.Body) -> bool:
    return len(body.members) > 1 or any(
        isinstance(member, ast.Parameter) and _has_long_body(member.domain) for member in body.members
    )


def _structure(structure: ast.Structure, indent: int, lowest: int = 0, column: int | None = None) -> str:
    """A structure whose first line begins at a column (by default the indent); further lines begin at the indent."""
    column = indent if column is None else column
    if _fits(structure, column):
        return spell_structure(structure, lowest)
    match structure:
        case ast.Nothing():
            return spell_structure(structure)
        case ast.Operator(name=name, body=body, annotations=annotations):
            head = f"{name.text}{spell_alias(structure)}"
            inside = f" {_body(body, indent, column + len(head))}" if body is not None else ""
            return f"{head}{inside}{spell_annotations(annotations)}"
        case ast.Joined():
            return _joined(structure, indent, lowest)
        case ast.Maybe(part=part):
            inner = _structure(part, indent, 3, column)
            return f"({inner})?" if isinstance(part, ast.Maybe) else f"{inner}?"
        case ast.Group(part=part, annotations=annotations):
            inner = _structure(part, indent + _INDENT)
            return f"{_enclosed('(', [inner], indent)}{spell_alias(structure)}{spell_annotations(annotations)}"
        case ast.Columns(parts=parts, annotations=annotations):
            inners = [_column(selector, part, indent + _INDENT) for selector, part in parts]
            return f"{_enclosed('columns(', inners, indent)}{spell_annotations(annotations)}"
        case ast.Permute(parts=steps, annotations=annotations):
            inners = [_structure(step, indent + _INDENT) for step in steps]
            return f"{_enclosed('permute(', inners, indent)}{spell_annotations(annotations)}"
        case _:
            assert_never(structure)


def _joined(structure: ast.Joined, indent: int, lowest: int) -> str:
    tightness = {"|": 0, "->": 1, "&": 2}[structure.sign]
    if tightness < lowest:
        return _enclosed("(", [_joined(structure, indent + _INDENT, 0)], indent)
    inside = len(structure.sign) + 1
    parts = [_structure(part, indent, tightness + 1, indent + inside) for part in structure.parts]
    return f"\n{' ' * indent}{structure.sign} ".join(parts)


def _column(selector: ast.Word | ast.Text, part: ast.Structure, indent: int) -> str:
    head = f"{spell_selector(selector)}: "
    return head + _structure(part, indent, column=indent + len(head))


def _enclosed(opening: str, parts: Sequence[str], indent: int) -> str:
    inside = ",\n".join(" " * (indent + _INDENT) + part for part in parts)
    return f"{opening}\n{inside}\n{' ' * indent})"


# ---- bodies


def _body(body: ast.Body, indent: int, column: int) -> str:
    """A body; what stands before it ends at the column, and its closing brace at the indent if it is broken."""
    if not _is_long(body):
        flat = spell_body(body)
        if column + 1 + len(flat) <= WIDTH or not body.members:
            return flat
    return _broken_body(body, indent)


def _broken_body(body: ast.Body, indent: int) -> str:
    if not body.members:
        return "{}"
    lines = [" " * (indent + _INDENT) + _member(member, indent + _INDENT) for member in body.members]
    for place, member in enumerate(body.members[1:]):
        lines[place] += "," * _needs_comma(member)
    return "\n".join(["{", *lines, f"{' ' * indent}}}"])


def _needs_comma(member: ast.Member) -> bool:
    """Whether a line break would not do: `log =` gives a range its default and `pipeline =` begins an item."""
    return isinstance(member, ast.Fixed) and member.name.text in ("log", "pipeline")


def _member(member: ast.Member, indent: int) -> str:
    flat = spell_member(member)
    fits = indent + len(flat) <= WIDTH
    match member:
        case ast.Parameter(name=name, domain=domain) if not fits or _has_long_body(domain):
            return f"{name.text} : {_domain(domain, indent, indent + len(name.text) + 3)}{spell_rest(member)}"
        case ast.Rule(forbidden=forbidden, expression=ast.Logical(operator=operator, terms=terms)) if not fits:
            lines = (spell_expression(term, 1 if operator == "or" else 2) for term in terms)
            head = "forbid" if forbidden else "require"
            return f"{head} " + f"\n{' ' * (indent + _INDENT)}{operator} ".join(lines)
        case _:
            return flat


def _domain(domain: ast.Domain, indent: int, column: int) -> str:
    match domain:
        case ast.UnionDomain(parts=parts):
            inner = indent + _INDENT
            columns = (column, *[inner + 2] * len(parts))
            return f"\n{' ' * inner}| ".join(map(_domain, parts, [inner] * len(parts), columns))
        case ast.Nothing() | ast.Operator() | ast.Group():
            return _structure(domain, indent, column=column)
        case ast.Range() | ast.Booleans() | ast.Values():
            return spell_domain(domain)
        case _:
            assert_never(domain)


# ---- the task block


def _task(task: ast.Task) -> str:
    lines = (f"{' ' * _INDENT}{_setting(setting)}" for setting in task.settings)
    return "\n".join([f"task {task.kind.text} {{", *lines, "}"])


def _setting(setting: ast.Setting) -> str:
    """One line of the block; the grammar says which arguments a keyword has."""
    first, *rest = (_argument(argument) for argument in setting.arguments)
    match setting.keyword:
        case "validate":
            return f"validate {first}({', '.join(rest)})"
        case "fidelity":
            return f"fidelity {first} from {' by '.join(rest)}"
        case "subject to":
            (constraint,) = setting.arguments
            return f"subject to {constraint.text if isinstance(constraint, ast.Word) else spell_expression(constraint)}"
        case keyword:
            return " ".join((keyword, first, *rest))


def _argument(argument: ast.Expression | ast.Word) -> str:
    return argument.text if isinstance(argument, ast.Word) else spell_arithmetic(argument)
