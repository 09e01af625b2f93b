"""A syntax tree for Python expressions that can be both written as source and evaluated to objects."""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias

from spacelang.ir.domain import Grid, affine_integer_coefficients
from spacelang.text import unique_name

WIDTH: Final = 112  # The maximum line width; longer expressions in brackets are broken into lines
MAX_NESTED_BRACKETS: Final = 60
"""The maximum nesting of brackets in an expression; deeper calls are assigned first. Python reads at most 200."""


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
class MethodNode:
    """A call of an object's method, without arguments."""

    owner: "Code"
    method: str


@dataclass(frozen=True, slots=True, eq=False)
class InfixNode:
    """Two operands with an arithmetic sign, a comparison, `and` or `or` between them."""

    left: "Code"
    sign: str
    right: "Code"


@dataclass(frozen=True, slots=True, eq=False)
class NotNode:
    """The expression `not operand`; the operand must not be an `InfixNode`, because no parentheses are written."""

    operand: "Code"


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A list of expressions, or a tuple of them if `is_tuple`."""

    items: tuple["Code", ...]
    is_tuple: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class DictNode:
    """A dictionary with string keys."""

    items: tuple[tuple[str, "Code"], ...]


@dataclass(frozen=True, slots=True, eq=False)
class SubscriptNode:
    """A subscript: the element of a list or dictionary at an index or key."""

    container: "Code"
    key: "Code"


Code: TypeAlias = (
    LiteralNode | NameNode | CallNode | MethodNode | InfixNode | NotNode | ListNode | DictNode | SubscriptNode
)

_DIVIDE: Final = {"*": operator.mul, "/": operator.truediv}
_COMPARE: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    **_DIVIDE,
    **_COMPARE,
}
"""The signs that `evaluate` knows; the others of `PRECEDENCE` are only written."""
_TESTS: Final = ("==", "!=", "is", "is not", "in", "not in", *_COMPARE)
PRECEDENCE: Final = {"or": -2, "and": -1, **dict.fromkeys(_TESTS, 0), "+": 1, "-": 1, "*": 2, "/": 2}


def call(function: str, *arguments: object, **named: object) -> CallNode:
    """Return the code of a call; an argument that is not code becomes a literal."""
    flags = tuple((name, _as_code(value)) for name, value in named.items())
    return CallNode(function, tuple(map(_as_code, arguments)), flags)


def infix(left: object, sign: str, right: object) -> InfixNode:
    """Return the code of two operands with a sign between them; an operand that is not code becomes a literal."""
    return InfixNode(_as_code(left), sign, _as_code(right))


def join_operands(sign: str, several: Iterable[Code]) -> Code:
    """Return the code of one or more operands with the same sign between them."""
    return reduce(lambda left, right: InfixNode(left, sign, right), several)


def literal_list(values: Iterable[object]) -> ListNode:
    """Return the code of a list of plain values."""
    return ListNode(tuple(map(LiteralNode, values)))


def literal_dict(values: Mapping[str, object]) -> DictNode:
    """Return the code of a dictionary of plain values."""
    return DictNode(tuple((key, LiteralNode(value)) for key, value in values.items()))


def _as_code(value: object) -> Code:
    return value if isinstance(value, Code) else LiteralNode(value)


def grid_member_code(grid: Grid, index: Code) -> Code:
    """Return the code that computes the member of a grid from the code of its index."""
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
        case NotNode():
            return (code.operand,)
        case MethodNode():
            return (code.owner,)
        case SubscriptNode():
            return (code.container, code.key)
        case CallNode() | ListNode() | DictNode():
            return tuple(item for _, item in _bracket_parts(code)[1])


def _bracket_parts(code: CallNode | ListNode | DictNode) -> tuple[str, list[tuple[str, Code]], str]:
    match code:
        case CallNode():
            named = ((f"{name}=", value) for name, value in code.named)
            return f"{code.function}(", [*(("", argument) for argument in code.arguments), *named], ")"
        case ListNode():
            opening, closing = "()" if code.is_tuple else "[]"
            return opening, [("", item) for item in code.items], closing
        case DictNode():
            return "{", [(f"{literal_source(key)}: ", item) for key, item in code.items], "}"


def evaluate(code: Code, names: Mapping[str, Any]) -> Any:
    """Return the value of code, with each distinct call evaluated once.

    A name is looked up in `names` up to its first dot, and the rest as attributes.
    """
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
        case MethodNode():
            return getattr(value(part.owner), part.method)()
        case InfixNode() | NotNode():
            operands = map(value, children(part))
            return OPERATORS[part.sign](*operands) if isinstance(part, InfixNode) else not next(operands)
        case ListNode():
            return (tuple if part.is_tuple else list)(map(value, part.items))
        case DictNode():
            return {key: value(item) for key, item in part.items}
        case SubscriptNode():
            return value(part.container)[value(part.key)]


def _look_up(dotted: str, names: Mapping[str, Any]) -> Any:
    first, *attributes = dotted.split(".")
    return reduce(getattr, attributes, names[first])


def assignment_source(name: str, code: Code) -> str:
    """Return statements that assign the value of an expression to the variable `name`.

    Calls that occur repeatedly in it, and calls that are nested deeply, are assigned to variables of their own before.
    """
    ordered = list(_post_order(code))
    uses = Counter(id(inner) for part in ordered for inner in children(part))
    shared: list[Code] = []
    nesting: dict[int, int] = {}  # the number of nested brackets, without those inside shared parts
    for part in ordered:
        nesting[id(part)] = 1 + max((nesting[id(inner)] for inner in children(part)), default=0)
        is_deep = isinstance(part, CallNode) and nesting[id(part)] > MAX_NESTED_BRACKETS
        if is_deep or (isinstance(part, CallNode | InfixNode) and uses[id(part)] > 1):
            shared.append(part)
            nesting[id(part)] = 0
    names: dict[int, str] = {}
    lines = []
    for part in shared:
        names[id(part)] = _shared_name(part, {name, *names.values()})
        lines.append(f"{names[id(part)]} = {_format(part, names, 0, len(names[id(part)]) + 3, top=True)}")
    return "\n".join([*lines, f"{name} = {_format(code, names, 0, top=True)}"])


def expression_source(code: Code, indent: int = 0, before: int = 0) -> str:
    """Return the source of an expression, on several lines if it does not fit on one.

    The line has `indent` blanks and `before` characters in front of the expression.
    """
    return _format(code, {}, indent, before, top=True)


def docstring_safe_line(words: str) -> str:
    """Return text on one line, without characters that would end or escape from a docstring."""
    return " ".join(words.split()).replace("\\", "/").replace('"', "'")


def literal_source(value: object) -> str:
    """Return the repr of a plain value, but with double quotes around a string that needs no escapes."""
    written = repr(value)
    if isinstance(value, str) and written.startswith("'") and '"' not in written and "\\" not in written:
        return f'"{value}"'
    return written


def names_used(code: Code) -> frozenset[str]:
    """Return the names of the functions that the code calls and all other names in it, with their dots."""
    parts = (part for part in _post_order(code) if isinstance(part, CallNode | NameNode))
    return frozenset(part.text if isinstance(part, NameNode) else part.function for part in parts)


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


def _shared_name(part: Code, taken: set[str]) -> str:
    """Return an unused variable name for shared code, made from the first string in it."""
    literals = (each.value for each in _post_order(part) if isinstance(each, LiteralNode))
    label = next((value for value in literals if isinstance(value, str)), "")
    word = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in label).strip("_") or "shared"
    return unique_name(f"_{word}", taken)


def _format(code: Code, names: Mapping[int, str], indent: int, before: int = 0, *, top: bool = False) -> str:
    if not top and id(code) in names:
        return names[id(code)]
    flat = _format_flat(code, names, top=top)
    if indent + before + len(flat) <= WIDTH:
        return flat
    if isinstance(code, InfixNode) and code.sign in ("and", "or"):
        inner = " " * (indent + 4)
        first, *others = operands(code, code.sign)
        rank = PRECEDENCE[code.sign] + 1
        terms = [_format_operand(first, rank, names)]
        terms += [f"{code.sign} {_format_operand(other, rank, names)}" for other in others]
        return "\n".join(["(", *(f"{inner}{term}" for term in terms), " " * indent + ")"])
    if not isinstance(code, CallNode | ListNode | DictNode):
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
            rank = PRECEDENCE[code.sign]
            left, right = _format_operand(code.left, rank, names), _format_operand(code.right, rank + 1, names)
            return f"{left} {code.sign} {right}"
        case NotNode():
            return f"not {_format_flat(code.operand, names)}"
        case MethodNode():
            return f"{_format_flat(code.owner, names)}.{code.method}()"
        case SubscriptNode():
            return f"{_format_flat(code.container, names)}[{_format_flat(code.key, names)}]"
        case CallNode() | ListNode() | DictNode():
            opening, items, closing = _bracket_parts(code)
            comma = "," * (isinstance(code, ListNode) and code.is_tuple and len(items) == 1)
            return f"{opening}{', '.join(f'{lead}{_format_flat(item, names)}' for lead, item in items)}{comma}{closing}"


def operands(code: Code, sign: str) -> list[Code]:
    """Return the operands that `sign` joins in a piece of code; only the code itself if it has no such sign on top."""
    if not isinstance(code, InfixNode) or code.sign != sign:
        return [code]
    return [*operands(code.left, sign), *operands(code.right, sign)]


def _format_operand(code: Code, rank: int, names: Mapping[int, str]) -> str:
    written = _format_flat(code, names)
    is_weaker = isinstance(code, InfixNode) and id(code) not in names and PRECEDENCE[code.sign] < rank
    return f"({written})" if is_weaker else written
