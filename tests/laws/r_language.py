"""The part of the language R that the target `irace` writes, with its logic of three values: None is NA."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

TOKEN: Final = re.compile(r'\s*("[^"]*"|%in%|[<>=!]=|[-+*/^()<>!&|,]|[A-Za-z][\w.]*|\d[\w.]*(?:e[-+]\d+)?)')
OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow,
}  # fmt: skip
LEVELS: Final = (("|",), ("&",), ("!",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"), ("%in%",), ("^",))
"""Operators, the weakest first; `!` is a prefix."""
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "is.na": lambda value: value is None,
    "round": lambda value: None if value is None else round(value),
    "c": lambda *values: values,
}


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression; parameters without a value are NA."""
    tokens = TOKEN.findall(text)
    assert "".join(tokens) == re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text), text
    found, rest = _level(tokens, 0, values)
    assert not rest, text
    return found


def _level(tokens: list[str], level: int, values: Mapping[str, Any]) -> tuple[Any, list[str]]:
    if level == len(LEVELS):
        return _primary(tokens, values)
    if LEVELS[level] == ("!",) and tokens[0] == "!":
        found, tokens = _level(tokens[1:], level, values)
        return (None if found is None else not found), tokens
    found, tokens = _level(tokens, level + 1, values)
    while tokens and tokens[0] in LEVELS[level]:
        sign = tokens[0]
        other, tokens = _level(tokens[1:], level + 1, values)
        found = _apply(sign, found, other)
    return found, tokens


def _apply(sign: str, left: Any, right: Any) -> Any:
    if sign == "%in%":
        return left in (right if isinstance(right, tuple) else (right,))
    if sign in "&|":
        decisive = sign == "|"
        if decisive in (left, right):
            return decisive
        return None if left is None or right is None else not decisive
    return None if left is None or right is None else OPERATORS[sign](left, right)


def _primary(tokens: list[str], values: Mapping[str, Any]) -> tuple[Any, list[str]]:
    first, *rest = tokens
    if first == "(":
        found, rest = _level(rest, 0, values)
        assert rest[0] == ")"
        return found, rest[1:]
    if first == "-":
        found, rest = _primary(rest, values)
        return -found, rest
    if rest[:1] == ["("]:
        arguments, rest = [], ["(", *rest[1:]]
        while rest[0] != ")":
            argument, rest = _level(rest[1:], 0, values)
            arguments.append(argument)
        return FUNCTIONS[first](*arguments), rest[1:]
    if first.startswith('"'):
        return first[1:-1], rest
    if first in ("TRUE", "FALSE"):
        return first == "TRUE", rest
    return (values.get(first) if first[0].isalpha() else float(first)), rest
