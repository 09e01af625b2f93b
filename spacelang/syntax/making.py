"""Functions that create parts of a syntax tree without a source text."""

from collections.abc import Sequence
from typing import assert_never

from spacelang.ir.domain import SYMBOLS, is_word
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.text import NOWHERE


def named(text: str) -> ast.Word:
    """Return a single name. If it is not a plain word, it is marked as written in backticks."""
    return ast.Word(text, NOWHERE, ticked=not is_word(text))


def dotted(text: str) -> ast.Dotted:
    """Return a dotted name from its text."""
    return ast.Dotted(tuple(map(named, text.split("."))), NOWHERE)


def value(given: Value) -> ast.Number | ast.Text | ast.Keyword | ast.Tuple | ast.Dotted:
    """Return a value as a tree node. A string that is a plain word is written without quotes."""
    match given:
        case None | bool():
            return ast.Keyword(given, NOWHERE)
        case int() | float():
            return ast.Number(given, NOWHERE)
        case str():
            return dotted(given) if is_word(given) else ast.Text(given, NOWHERE)
        case tuple():
            return ast.Tuple(tuple(map(value, given)), NOWHERE)
        case _:
            assert_never(given)


def fixed(name: str, written: ast.Value) -> ast.Fixed:
    """Return a parameter that is fixed to a value.

    A word such as `n_features` would mean the size of the data, so it is put in quotes.
    """
    if isinstance(written, ast.Dotted) and written.text in SYMBOLS:
        written = ast.Text(written.text, NOWHERE)
    return ast.Fixed(named(name), written, NOWHERE)


def takes(decision: ast.Dotted, alternatives: Sequence[str]) -> ast.Expression:
    """Return the expression that a decision chooses one of the alternatives. It is `false` if there are none."""
    if not alternatives:
        return ast.Keyword(value=False, span=NOWHERE)
    if len(alternatives) == 1:
        (only,) = alternatives
        return ast.IsTest(decision, None if only == "none" else ast.Dotted((named(only),), NOWHERE), NOWHERE)
    return ast.Membership(decision, tuple(value(None if each == "none" else each) for each in alternatives), NOWHERE)
