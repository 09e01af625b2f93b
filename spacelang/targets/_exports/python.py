"""A syntax tree for Python expressions that can be both written as source and evaluated to objects."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

from spacelang.ir.domain import Grid, decimals
from spacelang.text import numbered

WIDTH: Final = 112
"""The maximum line width; longer expressions in brackets are broken into lines."""


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A plain value, written by `repr`."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A name, possibly dotted."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """A call of a function, whose name may be dotted.

    A call object that is used in several places is evaluated once.
    """

    function: str
    arguments: tuple["Code", ...]
    named: tuple[tuple[str, "Code"], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Infix:
    """Two operands with `+`, `-`, `*` or `/` between them."""

    left: "Code"
    sign: str
    right: "Code"


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A list."""

    items: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """A tuple."""

    items: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Keyed:
    """A dictionary with string keys."""

    items: tuple[tuple[str, "Code"], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A subscript: the element of a list or dictionary at an index or key."""

    of: "Code"
    at: "Code"


Code: TypeAlias = Literal | Name | Called | Infix | Listed | Paired | Keyed | Item

SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
RANKS: Final = {"+": 1, "-": 1, "*": 2, "/": 2}


def call(function: str, *arguments: object, **named: object) -> Called:
    """Return a call; arguments that are not code become literals."""
    return Called(function, tuple(map(_code, arguments)), tuple((name, _code(value)) for name, value in named.items()))


def infix(left: object, sign: str, right: object) -> Infix:
    """Return two operands with a sign between them; operands that are not code become literals."""
    return Infix(_code(left), sign, _code(right))


def _code(value: object) -> Code:
    return value if isinstance(value, Code) else Literal(value)


def member_of(grid: Grid, index: Code) -> Code:
    """Return the code of the grid member at an index."""
    start, step, below = decimals(grid)
    steps: Code = index if step == 1 else infix(step, "*", index)
    total = steps if start == 0 and not grid.is_integral else infix(start, "+", steps)
    # Dividing integers gives the nearest float; a sum of floats does not.
    return total if grid.is_integral else infix(total, "/", below)


def inside(code: Code) -> tuple[Code, ...]:
    """Return the direct subexpressions of a piece of code."""
    match code:
        case Literal() | Name():
            return ()
        case Infix():
            return (code.left, code.right)
        case Item():
            return (code.of, code.at)
        case Called() | Listed() | Paired() | Keyed():
            return tuple(item for _, item in _bracketed(code)[1])
        case _:
            assert_never(code)


def _bracketed(code: Called | Listed | Paired | Keyed) -> tuple[str, list[tuple[str, Code]], str]:
    """Return the opening bracket, the items with their prefixes, and the closing bracket."""
    match code:
        case Called():
            named = ((f"{name}=", value) for name, value in code.named)
            return f"{code.function}(", [*(("", argument) for argument in code.arguments), *named], ")"
        case Listed():
            return "[", [("", item) for item in code.items], "]"
        case Paired():
            return "(", [("", item) for item in code.items], ")"
        case Keyed():
            return "{", [(f"{text(key)}: ", item) for key, item in code.items], "}"
        case _:
            assert_never(code)


def evaluated(code: Code, names: Mapping[str, Any]) -> Any:
    """Evaluate code to an object; each call object is evaluated once.

    Names are looked up in `names`, and what follows a dot as an attribute.
    """
    known: dict[int, Any] = {}

    def value(part: Code) -> Any:
        if id(part) not in known:
            known[id(part)] = _made(part, value, names)
        return known[id(part)]

    return value(code)


def _made(part: Code, value: Callable[[Code], Any], names: Mapping[str, Any]) -> Any:
    match part:
        case Literal():
            return part.value
        case Name():
            return _looked_up(part.text, names)
        case Called():
            named = {name: value(argument) for name, argument in part.named}
            return _looked_up(part.function, names)(*map(value, part.arguments), **named)
        case Infix():
            return SIGNS[part.sign](value(part.left), value(part.right))
        case Listed():
            return [*map(value, part.items)]
        case Paired():
            return tuple(map(value, part.items))
        case Keyed():
            return {key: value(item) for key, item in part.items}
        case Item():
            return value(part.of)[value(part.at)]
        case _:
            assert_never(part)


def _looked_up(dotted: str, names: Mapping[str, Any]) -> Any:
    first, *attributes = dotted.split(".")
    found = names[first]
    for attribute in attributes:
        found = getattr(found, attribute)
    return found


def source(name: str, code: Code) -> str:
    """Return statements that assign the object of the code to `name`.

    Calls that are used several times are assigned to variables first.
    """
    shared = _shared(code)
    names: dict[int, str] = {}
    lines = []
    for part in shared:
        names[id(part)] = _variable(part, {name, *names.values()})
        lines.append(f"{names[id(part)]} = {_written(part, names, 0, len(names[id(part)]) + 3, top=True)}")
    return "\n".join([*lines, f"{name} = {_written(code, names, 0, top=True)}"])


def expression(code: Code, indent: int = 0, before: int = 0) -> str:
    """Return the code as an expression, broken into lines if it is too long.

    `indent` is the indentation of the line, and `before` is the width of the text before the expression.
    """
    return _written(code, {}, indent, before, top=True)


def one_line(words: str) -> str:
    """Return text of a user in a form that is safe in a one-line docstring."""
    return " ".join(words.split()).replace("\\", "/").replace('"', "'")


def text(value: object) -> str:
    """Return the literal of a value, with strings in double quotes where that needs no escapes."""
    written = repr(value)
    if isinstance(value, str) and written.startswith("'") and '"' not in written and "\\" not in written:
        return f'"{value}"'
    return written


def functions(code: Code) -> frozenset[str]:
    """Return the functions that the code calls and the names that it mentions, with their dots."""
    found = set()
    for part in _all(code):
        if isinstance(part, Called):
            found.add(part.function)
        elif isinstance(part, Name):
            found.add(part.text)
    return frozenset(found)


def _all(code: Code) -> Iterator[Code]:
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
            waiting.extend((inner, False) for inner in reversed(inside(part)))


def _shared(code: Code) -> list[Called | Infix]:
    """Return the calls and operations that are used in several places, children before parents."""
    uses: dict[int, int] = {}
    ordered = list(_all(code))
    for part in ordered:
        for inner in inside(part):
            uses[id(inner)] = uses.get(id(inner), 0) + 1
    return [part for part in ordered if isinstance(part, Called | Infix) and uses.get(id(part), 0) > 1]


def _variable(part: Code, taken: set[str]) -> str:
    """Return an unused variable name for shared code, made from the first string in it."""
    label = next((each.value for each in _literals(part) if isinstance(each.value, str)), "")
    word = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in label).strip("_") or "shared"
    return numbered(f"_{word}", taken)


def _literals(part: Code) -> Iterator[Literal]:
    """Yield the literals in the order of the source."""
    if isinstance(part, Literal):
        yield part
    for inner in inside(part):
        yield from _literals(inner)


def _written(code: Code, names: Mapping[int, str], indent: int, before: int = 0, *, top: bool = False) -> str:
    """Return the source of the code, broken into lines if it does not fit.

    `indent` is the indentation of the line, and `before` is the width of the text before the code.
    """
    if not top and id(code) in names:
        return names[id(code)]
    flat = _flat(code, names, top=top)
    if indent + before + len(flat) <= WIDTH:
        return flat
    if isinstance(code, Literal | Name | Infix | Item):
        return flat
    opening, items, closing = _bracketed(code)
    inner = " " * (indent + 4)
    lines = (f"{inner}{lead}{_written(item, names, indent + 4, len(lead))}," for lead, item in items)
    return "\n".join([opening, *lines, " " * indent + closing])


def _flat(code: Code, names: Mapping[int, str], *, top: bool = False) -> str:
    if not top and id(code) in names:
        return names[id(code)]
    match code:
        case Literal():
            return text(code.value)
        case Name():
            return code.text
        case Infix():
            left, right = _side(code.left, RANKS[code.sign], names), _side(code.right, RANKS[code.sign] + 1, names)
            return f"{left} {code.sign} {right}"
        case Item():
            return f"{_flat(code.of, names)}[{_flat(code.at, names)}]"
        case Called() | Listed() | Paired() | Keyed():
            opening, items, closing = _bracketed(code)
            comma = "," * (isinstance(code, Paired) and len(items) == 1)
            return f"{opening}{', '.join(f'{lead}{_flat(item, names)}' for lead, item in items)}{comma}{closing}"
        case _:
            assert_never(code)


def _side(code: Code, rank: int, names: Mapping[int, str]) -> str:
    written = _flat(code, names)
    is_weaker = isinstance(code, Infix) and id(code) not in names and RANKS[code.sign] < rank
    return f"({written})" if is_weaker else written
