"""Describe the accepted values of a set of rules in words, for diagnostics."""

import math
from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from spacelang.catalog.rules import SEQUENCES, AllowedValues, HasMethods, InstanceOf, Interval, NumberKind, Rule
from spacelang.ir.domain import literal
from spacelang.ir.value import Value

MAX_LISTED: Final = 12
"""The maximal number of words in a list; longer lists (such as 60 names of scorers) are shortened."""

_TYPES: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a float",
    "number": "a number",
    "Kernel": "a kernel",
    "ClusterMixin": "a clusterer",
    "SMOTE": "an operator `SMOTE`",
    "EditedNearestNeighbours": "an operator `EditedNearestNeighbours`",
    "TomekLinks": "an operator `TomekLinks`",
}
_KINDS: Final = {NumberKind.INTEGER: "an integer", NumberKind.REAL: "a number", NumberKind.FLOAT: "a float"}


def describe_rules(rules: Iterable[Rule], named: tuple[str, ...]) -> str:
    """Return a description of the accepted values, such as "an integer from 1 or `none`"."""
    rules = tuple(rules)
    constants = [spell_value(value) for rule in rules if isinstance(rule, AllowedValues) for value in rule.values]
    phrases = [phrase for rule in rules for phrase in _phrases(rule)]
    phrases += _one_of([*named, *constants])
    distinct = list(dict.fromkeys(phrases))
    if not distinct:
        return "no value that a space can express"
    return distinct[0] if len(distinct) == 1 else f"{', '.join(distinct[:-1])} or {distinct[-1]}"


def spell_value(value: Value) -> str:
    """Return a value as it is written in a `.space` file."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"({', '.join(map(spell_value, value))})"
    return literal(value) if isinstance(value, str) else _number(value)


def _phrases(rule: Rule) -> Iterator[str]:
    match rule:
        case Interval():
            yield _interval(rule)
        case InstanceOf():
            yield from (_TYPES[name] for name in rule.names if name in _TYPES)
            if SEQUENCES.intersection(rule.names):
                yield "a tuple"
        case HasMethods():
            methods = " and ".join(f"`{method}`" for method in rule.methods)
            yield f"an operator with {methods}"
        case AllowedValues():
            return
        case _:
            assert_never(rule)


def _interval(rule: Interval) -> str:
    kind = _KINDS[rule.numbers]
    if math.isinf(rule.lower) and math.isinf(rule.upper):
        return kind
    if math.isinf(rule.upper):
        # Whether infinity itself is accepted does not matter in an error message.
        return f"{kind} {'above' if rule.lower_open else 'from'} {_number(rule.lower)}"
    if math.isinf(rule.lower):
        return f"{kind} {'below' if rule.upper_open else 'up to'} {_number(rule.upper)}"
    opening, closing = "(" if rule.lower_open else "[", ")" if rule.upper_open else "]"
    return f"{kind} in {opening}{_number(rule.lower)}, {_number(rule.upper)}{closing}"


def _one_of(words: list[str]) -> list[str]:
    quoted = [f"`{word}`" for word in words]
    if len(quoted) <= 2:
        return quoted
    if len(quoted) <= MAX_LISTED:
        return [f"one of {', '.join(quoted)}"]
    return [f"one of {', '.join(quoted[:MAX_LISTED])} and {len(quoted) - MAX_LISTED} more"]


def _number(number: float) -> str:
    # A bound of 0.0 reads as 0; beyond 2**53 the integers of a float are no longer exact.
    if abs(number) < 2**53 and number == int(number):
        return str(int(number))
    return repr(number)
