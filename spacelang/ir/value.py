"""Values: the plain literals that hyperparameters take, and the JSON that they print as."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Value: TypeAlias = bool | int | float | str | tuple["Value", ...] | None
"""`none`, `true`/`false`, a number, a word or string, or a tuple of values."""


def same(left: Value, right: Value) -> bool:
    """Whether two values are one and the same to a user: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def identity(value: Value) -> tuple[object, ...]:
    """A hashable that two values share exactly when they are `same`."""
    if isinstance(value, tuple):
        return ("tuple", *map(identity, value))
    return (isinstance(value, bool), value)


def is_number(value: object) -> bool:
    """Whether a value is a number (booleans are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """A value as Python has it: NumPy's numbers are of its own types."""
    return value.item() if hasattr(value, "item") else value


def to_json(value: Value) -> object:
    """A value as the JSON module takes it: tuples become lists."""
    return [to_json(item) for item in value] if isinstance(value, tuple) else value


def from_json(value: object) -> Value:
    """The value that a JSON value stands for; raises TypeError for objects, which no value prints as."""
    if isinstance(value, list | tuple):
        return tuple(from_json(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = "an object" if isinstance(value, dict) else f"{type(value).__name__}"
    raise TypeError(f"{kind} is not a value of a configuration")


def canonical(values: Mapping[str, Value]) -> str:
    """One line of JSON with sorted keys: equal for equal mappings, on every machine."""
    return json.dumps({key: to_json(value) for key, value in values.items()}, sort_keys=True, ensure_ascii=False)
