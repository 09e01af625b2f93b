"""Functions that create parts of a syntax tree without a source text."""

from collections.abc import Sequence
from typing import assert_never

from spacelang.ir.domain import DATA_SIZE_NAMES, is_bare_word
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.text import NO_SPAN


def make_word(text: str) -> ast.Word:
    """Return a single name. If it is not a plain word, it is marked as written in backticks."""
    return ast.Word(text, NO_SPAN, ticked=not is_bare_word(text))


def make_dotted_name(text: str) -> ast.DottedName:
    """Return a dotted name from its text."""
    return ast.DottedName(tuple(map(make_word, text.split("."))), NO_SPAN)


def make_value(given: Value) -> ast.Number | ast.Text | ast.NamedConstant | ast.Tuple | ast.DottedName:
    """Return a value as a tree node. A string that is a plain word is written without quotes."""
    match given:
        case None | bool():
            return ast.NamedConstant(given, NO_SPAN)
        case int() | float():
            return ast.Number(given, NO_SPAN)
        case str():
            return make_dotted_name(given) if is_bare_word(given) else ast.Text(given, NO_SPAN)
        case tuple():
            return ast.Tuple(tuple(map(make_value, given)), NO_SPAN)
        case _:
            assert_never(given)


def make_fixed_parameter(name: str, written: ast.Value) -> ast.FixedParameter:
    """Return a parameter that is fixed to a value; a word such as `n_features` is put in quotes."""
    if isinstance(written, ast.DottedName) and written.text in DATA_SIZE_NAMES:
        written = ast.Text(written.text, NO_SPAN)
    return ast.FixedParameter(make_word(name), written, NO_SPAN)


def make_choice_test(decision: ast.DottedName, alternatives: Sequence[str]) -> ast.Expression:
    """Return the expression that a decision chooses one of the alternatives. It is `false` if there are none."""
    if not alternatives:
        return ast.NamedConstant(value=False, span=NO_SPAN)
    if len(alternatives) == 1:
        (only,) = alternatives
        return ast.IsTest(decision, None if only == "none" else ast.DottedName((make_word(only),), NO_SPAN), NO_SPAN)
    return ast.Membership(decision, tuple(make_value(None if a == "none" else a) for a in alternatives), NO_SPAN)
