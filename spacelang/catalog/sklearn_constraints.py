"""Translate scikit-learn's declared parameter constraints to rules.

The constraint classes are private to scikit-learn. They are recognised by their names, so this module does not import
scikit-learn. An unknown constraint is an error, because a missing rule would reject legal values.
"""

import math
import numbers
from collections.abc import Iterable
from typing import Any, Final

from spacelang.catalog.rules import AllowedValues, HasMethods, InstanceOf, Interval, NumberKind, Rule
from spacelang.ir.value import Value

_KINDS: Final = {"Integral": NumberKind.INTEGER, "Real": NumberKind.REAL, "RealNotInt": NumberKind.FLOAT}
_KEYWORDS: Final[dict[str, tuple[Rule, ...]]] = {
    "array-like": (InstanceOf(("array-like",)),),
    "sparse matrix": (InstanceOf(("sparse matrix",)),),
    "random_state": (
        Interval(NumberKind.INTEGER, 0, 2**32 - 1, "both"),
        AllowedValues((None,)),
        InstanceOf(("RandomState",)),
    ),
    "boolean": (AllowedValues((True, False)),),
    "verbose": (Interval(NumberKind.INTEGER, 0, math.inf, "left"), AllowedValues((True, False))),
    # An iterable of splits (row numbers) is specific to one data set, so a space cannot set it.
    "cv_object": (Interval(NumberKind.INTEGER, 2, math.inf, "left"), AllowedValues((None,)), InstanceOf(("splitter",))),
    "nan": (InstanceOf(("nan",)),),
}
_TYPES: Final[dict[type, str]] = {numbers.Integral: "int", numbers.Real: "number"}


class UnknownConstraintError(Exception):
    """Exception for a kind of constraint that this version of spacelang does not know."""


def translate_constraints(declared: Iterable[Any] | str | None) -> tuple[Rule, ...] | None:
    """Return the rules for the constraints of one parameter; None if the library does not validate it.

    Hidden constraints are left out, because scikit-learn does not offer them to users. The order of rules is
    deterministic, although scikit-learn's sets of options have no order.
    """
    if declared is None or isinstance(declared, str):
        return None
    return tuple(_merge([rule for constraint in declared for rule in _rules(constraint)]))


def _rules(constraint: Any) -> tuple[Rule, ...]:
    if constraint is None:
        return (AllowedValues((None,)),)
    if constraint is callable:
        return (InstanceOf(("callable",)),)
    if isinstance(constraint, str) and constraint in _KEYWORDS:
        return _KEYWORDS[constraint]
    if isinstance(constraint, float) and math.isnan(constraint):
        return _KEYWORDS["nan"]
    if isinstance(constraint, type):
        return (InstanceOf((_TYPES.get(constraint, constraint.__name__),)),)
    return _from_object(constraint)


def _from_object(constraint: Any) -> tuple[Rule, ...]:
    match type(constraint).__name__:
        case "Hidden":
            return ()
        case "Interval":
            return (_interval(constraint),)
        case "StrOptions" | "Options":
            return _options(constraint)
        case "HasMethods" if constraint.methods == ["__iter__"]:
            return (InstanceOf(("array-like",)),)
        case "HasMethods":
            return (HasMethods(tuple(constraint.methods)),)
        case "MissingValues":
            numeric = InstanceOf(("nan", "number"))
            return (numeric,) if constraint.numeric_only else (numeric, InstanceOf(("str",)), AllowedValues((None,)))
        case other:
            raise UnknownConstraintError(f"spacelang does not know scikit-learn's constraint `{other}`")


def _interval(constraint: Any) -> Interval:
    lower = -math.inf if constraint.left is None else constraint.left
    upper = math.inf if constraint.right is None else constraint.right
    return Interval(_KINDS[constraint.type.__name__], lower, upper, constraint.closed)


def _options(constraint: Any) -> tuple[Rule, ...]:
    return (InstanceOf(("type",)),) if constraint.type is type else (AllowedValues(tuple(constraint.options)),)


def _merge(rules: list[Rule]) -> Iterable[Rule]:
    """Yield intervals and required methods as declared, then one rule of all types and one of all options, sorted."""
    yield from dict.fromkeys(rule for rule in rules if isinstance(rule, Interval | HasMethods))
    names = {name for rule in rules if isinstance(rule, InstanceOf) for name in rule.names}
    if names:
        yield InstanceOf(tuple(sorted(names)))
    values = {(type(value), value) for rule in rules if isinstance(rule, AllowedValues) for value in rule.values}
    if values:
        yield AllowedValues(tuple(sorted((value for _, value in values), key=_sort_key)))


def _sort_key(value: Value) -> tuple[int, str]:
    """Return a sort key: strings first, then numbers, `true`, `false`, and `none` last."""
    kinds: tuple[type, ...] = (str, int, float, bool, type(None))
    text = str(not value) if isinstance(value, bool) else repr(value)
    return kinds.index(type(value)), text
