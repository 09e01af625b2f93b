"""The JSON codec of expressions."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, assert_never

from spacelang.ir.expr import (
    COMPARISON_FUNCTIONS,
    VARIADIC_FUNCTIONS,
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Not,
    Or,
    Reference,
)
from spacelang.ir.rationals import ARITHMETIC_OPERATIONS, NUMERIC_FUNCTIONS
from spacelang.serialization.codec import (
    NAME,
    TEXT,
    VALUE,
    ArrayCodec,
    ConversionCodec,
    JsonCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    UnionCodec,
    from_parts,
)
from spacelang.serialization.document_context import JsonObject

EXPRESSION: Final[JsonCodec[Expr]] = NamedCodec("expression", lambda: _EXPRESSION)


def _key_of_expression(expression: Expr) -> str:  # noqa: PLR0911 - one for each kind
    match expression:
        case Constant():
            return ""
        case Reference():
            return "hyperparameter"
        case Is():
            return "is"
        case Active():
            return "active"
        case In():
            return "in"
        case Not():
            return "not"
        case And():
            return "and"
        case Or():
            return "or"
        case Compare(relation=sign) | Arithmetic(operation=sign) | Call(function=sign):
            return sign
        case _:
            assert_never(expression)


def _binary_codec(kind: Callable[..., Expr], sign: str, about: str) -> ObjectCodec[Expr]:
    """Return the codec of a binary expression, written as `{sign: [left, right]}`."""
    sides = ObjectKey(sign, ArrayCodec(EXPRESSION, 2, 2, "sides"), part="sides")
    return ObjectCodec(about, (sides,), lambda parts, _, __: kind(sign, *parts["sides"]), _sides)


def _sides(expression: Any) -> JsonObject:
    return {"sides": (expression.left, expression.right)}


def _function_codec(function: Any) -> ObjectCodec[Expr]:
    several = function in VARIADIC_FUNCTIONS
    arguments = ArrayCodec(EXPRESSION, 2 if several else 1, None if several else 1, "arguments")
    about = "A function of several numbers." if several else "A function of a number."
    return ObjectCodec(
        about, (ObjectKey(function, arguments, part="arguments"),), lambda parts, _, __: Call(function, **parts)
    )


def _object_codec(about: str, kind: Callable[..., Expr], *keys: ObjectKey) -> ObjectCodec[Expr]:
    return ObjectCodec(about, keys, from_parts(kind))


_ADDRESS: Final = "Its address."
_TERMS: Final = ArrayCodec(EXPRESSION)

_EXPRESSION: Final[JsonCodec[Expr]] = UnionCodec(
    "An expression; a plain value is a constant. A comparison with an inactive hyperparameter is false.",
    "an expression",
    {
        "hyperparameter": _object_codec(
            "The value of a hyperparameter.", Reference, ObjectKey("hyperparameter", NAME, _ADDRESS, part="address")
        ),
        "is": _object_codec(
            "True if a decision takes one of these alternatives; false if the decision is not reached.",
            Is,
            ObjectKey("decision", NAME, _ADDRESS, part="address"),
            ObjectKey("is", ArrayCodec(TEXT), part="branches"),
        ),
        "active": _object_codec(
            "True if a hyperparameter is active.", Active, ObjectKey("active", NAME, _ADDRESS, part="address")
        ),
        "in": _object_codec(
            "True if a value is one of several.",
            In,
            ObjectKey("item", EXPRESSION),
            ObjectKey("in", ArrayCodec(VALUE), part="values"),
        ),
        "not": _object_codec("Negation.", Not, ObjectKey("not", EXPRESSION, part="term")),
        "and": _object_codec("All of the terms.", And, ObjectKey("and", _TERMS, part="terms")),
        "or": _object_codec("At least one of the terms.", Or, ObjectKey("or", _TERMS, part="terms")),
        **{sign: _binary_codec(Compare, sign, "A comparison of two values.") for sign in COMPARISON_FUNCTIONS},
        **{
            sign: _binary_codec(Arithmetic, sign, "An arithmetic operation on two numbers.")
            for sign in ARITHMETIC_OPERATIONS
        },
        **{function: _function_codec(function) for function in NUMERIC_FUNCTIONS},
    },
    _key_of_expression,
    untagged=ConversionCodec(VALUE, Constant, attrgetter("value")),
)
