"""A syntax tree for Python expressions that can be both written as source and evaluated to objects."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

from spacelang.ir.domain import Grid, affine_integer_coefficients
from spacelang.text import unique_name

WIDTH: Final = 112
"""The maximum line width; longer expressions in brackets are broken into lines."""


@dataclass(frozen=True, slots=True, eq=False)
class LiteralNode:
    """A plain value, written by `repr`."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class NameNode:
    """A name, possibly dotted."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class CallNode:
    """A call of a function, whose name may be dotted; a call in several places is evaluated once."""

    function: str
    arguments: tuple["Code", ...]
    named: tuple[tuple[str, "Code"], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class InfixNode:
    """Two operands with `+`, `-`, `*` or `/` between them."""

    left: "Code"
    sign: str
    right: "Code"


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A list."""

    items: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class TupleNode:
    """A tuple."""

    items: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class DictNode:
    """A dictionary with string keys."""

    items: tuple[tuple[str, "Code"], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ItemNode:
    """A subscript: the element of a list or dictionary at an index or key."""

    container: "Code"
    key: "Code"


Code: TypeAlias = LiteralNode | NameNode | CallNode | InfixNode | ListNode | TupleNode | DictNode | ItemNode

OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2}


def call(function: str, *arguments: object, **named: object) -> CallNode:
    """Return a call; arguments that are not code become literals."""
    return CallNode(
        function, tuple(map(_as_code, arguments)), tuple((name, _as_code(value)) for name, value in named.items())
    )


def infix(left: object, sign: str, right: object) -> InfixNode:
    """Return two operands with a sign between them; operands that are not code become literals."""
    return InfixNode(_as_code(left), sign, _as_code(right))


def _as_code(value: object) -> Code:
    return value if isinstance(value, Code) else LiteralNode(value)


def grid_member_code(grid: Grid, index: Code) -> Code:
    """Return the code of the grid member at an index."""
    start, step, below = affine_integer_coefficients(grid)
    steps: Code = index if step == 1 else infix(step, "*", index)
    total = steps if start == 0 and not grid.is_integral else infix(start, "+", steps)
    # Dividing integers gives the nearest float; a sum of floats does not.
    return total if grid.is_integral else infix(total, "/", below)


def children(code: Code) -> tuple[Code, ...]:
    """Return the direct subexpressions of a piece of code."""
    match code:
        case LiteralNode() | NameNode():
            return ()
        case InfixNode():
            return (code.left, code.right)
        case ItemNode():
            return (code.container, code.key)
        case CallNode() | ListNode() | TupleNode() | DictNode():
            return tuple(item for _, item in _bracket_parts(code)[1])
        case _:
            assert_never(code)


def _bracket_parts(code: CallNode | ListNode | TupleNode | DictNode) -> tuple[str, list[tuple[str, Code]], str]:
    """Return the opening bracket, the items with their prefixes, and the closing bracket."""
    match code:
        case CallNode():
            named = ((f"{name}=", value) for name, value in code.named)
            return f"{code.function}(", [*(("", argument) for argument in code.arguments), *named], ")"
        case ListNode():
            return "[", [("", item) for item in code.items], "]"
        case TupleNode():
            return "(", [("", item) for item in code.items], ")"
        case DictNode():
            return "{", [(f"{literal_source(key)}: ", item) for key, item in code.items], "}"
        case _:
            assert_never(code)


def evaluate(code: Code, names: Mapping[str, Any]) -> Any:
    """Evaluate code, each call object once; names are looked up in `names`, and what follows a dot as an attribute."""
    known: dict[int, Any] = {}

    def value(part: Code) -> Any:
        if id(part) not in known:
            known[id(part)] = _evaluate_node(part, value, names)
        return known[id(part)]

    return value(code)


def _evaluate_node(part: Code, value: Callable[[Code], Any], names: Mapping[str, Any]) -> Any:
    match part:
        case LiteralNode():
            return part.value
        case NameNode():
            return _look_up(part.text, names)
        case CallNode():
            named = {name: value(argument) for name, argument in part.named}
            return _look_up(part.function, names)(*map(value, part.arguments), **named)
        case InfixNode():
            return OPERATORS[part.sign](value(part.left), value(part.right))
        case ListNode():
            return [*map(value, part.items)]
        case TupleNode():
            return tuple(map(value, part.items))
        case DictNode():
            return {key: value(item) for key, item in part.items}
        case ItemNode():
            return value(part.container)[value(part.key)]
        case _:
            assert_never(part)


def _look_up(dotted: str, names: Mapping[str, Any]) -> Any:
    first, *attributes = dotted.split(".")
    found = names[first]
    for attribute in attributes:
        found = getattr(found, attribute)
    return found


def assignment_source(name: str, code: Code) -> str:
    """Return statements that assign the object of the code to `name`, after the calls that it uses repeatedly."""
    shared = _shared_calls(code)
    names: dict[int, str] = {}
    lines = []
    for part in shared:
        names[id(part)] = _shared_name(part, {name, *names.values()})
        lines.append(f"{names[id(part)]} = {_format(part, names, 0, len(names[id(part)]) + 3, top=True)}")
    return "\n".join([*lines, f"{name} = {_format(code, names, 0, top=True)}"])


def expression_source(code: Code, indent: int = 0, before: int = 0) -> str:
    """Return the code as an expression, broken to fit a line with `indent` blanks and `before` characters of text."""
    return _format(code, {}, indent, before, top=True)


def one_line(words: str) -> str:
    """Return text of a user in a form that is safe in a one-line docstring."""
    return " ".join(words.split()).replace("\\", "/").replace('"', "'")


def literal_source(value: object) -> str:
    """Return the literal of a value, with strings in double quotes where that needs no escapes."""
    written = repr(value)
    if isinstance(value, str) and written.startswith("'") and '"' not in written and "\\" not in written:
        return f'"{value}"'
    return written


def names_used(code: Code) -> frozenset[str]:
    """Return the functions that the code calls and the names that it mentions, with their dots."""
    found = set()
    for part in _post_order(code):
        if isinstance(part, CallNode):
            found.add(part.function)
        elif isinstance(part, NameNode):
            found.add(part.text)
    return frozenset(found)


def _post_order(code: Code) -> Iterator[Code]:
    """Yield every subexpression once, children before parents."""
    seen: set[int] = set()
    waiting: list[tuple[Code, bool]] = [(code, False)]
    while waiting:
        part, is_done = waiting.pop()
        if is_done:
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            waiting.append((part, True))
            waiting.extend((inner, False) for inner in reversed(children(part)))


def _shared_calls(code: Code) -> list[CallNode | InfixNode]:
    uses: dict[int, int] = {}
    ordered = list(_post_order(code))
    for part in ordered:
        for inner in children(part):
            uses[id(inner)] = uses.get(id(inner), 0) + 1
    return [part for part in ordered if isinstance(part, CallNode | InfixNode) and uses.get(id(part), 0) > 1]


def _shared_name(part: Code, taken: set[str]) -> str:
    """Return an unused variable name for shared code, made from the first string in it."""
    label = next((each.value for each in _literals(part) if isinstance(each.value, str)), "")
    word = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in label).strip("_") or "shared"
    return unique_name(f"_{word}", taken)


def _literals(part: Code) -> Iterator[LiteralNode]:
    if isinstance(part, LiteralNode):
        yield part
    for inner in children(part):
        yield from _literals(inner)


def _format(code: Code, names: Mapping[int, str], indent: int, before: int = 0, *, top: bool = False) -> str:
    if not top and id(code) in names:
        return names[id(code)]
    flat = _format_flat(code, names, top=top)
    if indent + before + len(flat) <= WIDTH:
        return flat
    if isinstance(code, LiteralNode | NameNode | InfixNode | ItemNode):
        return flat
    opening, items, closing = _bracket_parts(code)
    inner = " " * (indent + 4)
    lines = (f"{inner}{lead}{_format(item, names, indent + 4, len(lead))}," for lead, item in items)
    return "\n".join([opening, *lines, " " * indent + closing])


def _format_flat(code: Code, names: Mapping[int, str], *, top: bool = False) -> str:
    if not top and id(code) in names:
        return names[id(code)]
    match code:
        case LiteralNode():
            return literal_source(code.value)
        case NameNode():
            return code.text
        case InfixNode():
            left, right = (
                _format_operand(code.left, PRECEDENCE[code.sign], names),
                _format_operand(code.right, PRECEDENCE[code.sign] + 1, names),
            )
            return f"{left} {code.sign} {right}"
        case ItemNode():
            return f"{_format_flat(code.container, names)}[{_format_flat(code.key, names)}]"
        case CallNode() | ListNode() | TupleNode() | DictNode():
            opening, items, closing = _bracket_parts(code)
            comma = "," * (isinstance(code, TupleNode) and len(items) == 1)
            return f"{opening}{', '.join(f'{lead}{_format_flat(item, names)}' for lead, item in items)}{comma}{closing}"
        case _:
            assert_never(code)


def _format_operand(code: Code, rank: int, names: Mapping[int, str]) -> str:
    written = _format_flat(code, names)
    is_weaker = isinstance(code, InfixNode) and id(code) not in names and PRECEDENCE[code.sign] < rank
    return f"({written})" if is_weaker else written
