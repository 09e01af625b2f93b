"""The JSON codec of expressions."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, assert_never

from spacelang.forms.codec import (
    NAME,
    TEXT,
    VALUE,
    Defined,
    DocumentForm,
    Items,
    Key,
    KeyedObject,
    TaggedUnion,
    Via,
    made,
)
from spacelang.forms.standing import Object
from spacelang.ir.expr import (
    RELATIONS,
    VARIADIC,
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
from spacelang.ir.rationals import FUNCTIONS, OPERATIONS

EXPRESSION: Final[DocumentForm[Expr]] = Defined("expression", lambda: _EXPRESSION)


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


def _signed(kind: Callable[..., Expr], sign: str, about: str) -> KeyedObject[Expr]:
    """Return the codec of a binary expression, written as `{sign: [left, right]}`."""
    sides = Key(sign, Items(EXPRESSION, 2, 2, "sides"), of="sides")
    return KeyedObject(about, (sides,), lambda parts, _, __: kind(sign, *parts["sides"]), _sides)


def _sides(expression: Any) -> Object:
    return {"sides": (expression.left, expression.right)}


def _called(function: Any) -> KeyedObject[Expr]:
    several = function in VARIADIC
    arguments = Items(EXPRESSION, 2 if several else 1, None if several else 1, "arguments")
    about = "A function of several numbers." if several else "A function of a number."
    return KeyedObject(about, (Key(function, arguments, of="arguments"),), lambda parts, _, __: Call(function, **parts))


def _one(about: str, kind: Callable[..., Expr], *keys: Key) -> KeyedObject[Expr]:
    return KeyedObject(about, keys, made(kind))


_ADDRESS: Final = "Its address."
_TERMS: Final = Items(EXPRESSION)

_EXPRESSION: Final[DocumentForm[Expr]] = TaggedUnion(
    "An expression; a plain value is a constant. A comparison with an inactive hyperparameter is false.",
    "an expression",
    {
        "hyperparameter": _one(
            "The value of a hyperparameter.", Reference, Key("hyperparameter", NAME, _ADDRESS, of="address")
        ),
        "is": _one(
            "True if a decision takes one of these alternatives; false if the decision is not reached.",
            Is,
            Key("decision", NAME, _ADDRESS, of="address"),
            Key("is", Items(TEXT), of="branches"),
        ),
        "active": _one("True if a hyperparameter is active.", Active, Key("active", NAME, _ADDRESS, of="address")),
        "in": _one(
            "True if a value is one of several.", In, Key("item", EXPRESSION), Key("in", Items(VALUE), of="values")
        ),
        "not": _one("Negation.", Not, Key("not", EXPRESSION, of="term")),
        "and": _one("All of the terms.", And, Key("and", _TERMS, of="terms")),
        "or": _one("At least one of the terms.", Or, Key("or", _TERMS, of="terms")),
        **{sign: _signed(Compare, sign, "A comparison of two values.") for sign in RELATIONS},
        **{sign: _signed(Arithmetic, sign, "An arithmetic operation on two numbers.") for sign in OPERATIONS},
        **{function: _called(function) for function in FUNCTIONS},
    },
    _key_of_expression,
    plain=Via(VALUE, Constant, attrgetter("value")),
)
