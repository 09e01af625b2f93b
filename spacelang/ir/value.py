"""Values of hyperparameters: plain literals and their JSON form."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Value: TypeAlias = bool | int | float | str | tuple["Value", ...] | None
"""A value: `none`, `true` or `false`, a number, a word or string, or a tuple of values."""


def are_same(left: Value, right: Value) -> bool:
    """Return True if two values are the same to a user: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(are_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def identity_key(value: Value) -> tuple[object, ...]:
    """Return a hashable key that two values share exactly if they are `are_same`."""
    if isinstance(value, tuple):
        return ("tuple", *map(identity_key, value))
    return (isinstance(value, bool), value)


def is_number(value: object) -> bool:
    """Return True if a value is a number; booleans are not numbers here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_python_scalar(value: Any) -> Any:
    """Return a NumPy scalar as the Python value, and any other value unchanged."""
    return value.item() if hasattr(value, "item") else value


def to_json(value: Value) -> object:
    """Return a value that the `json` module can serialize: tuples become lists."""
    return [to_json(item) for item in value] if isinstance(value, tuple) else value


def from_json(value: object) -> Value:
    """Return the value that parsed JSON stands for; raise TypeError for objects, which no value serializes to."""
    if isinstance(value, list | tuple):
        return tuple(from_json(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = "an object" if isinstance(value, dict) else f"{type(value).__name__}"
    raise TypeError(f"{kind} is not a value of a configuration")


def canonical_json(values: Mapping[str, Value]) -> str:
    """Return one line of JSON with sorted keys; equal mappings give equal texts on every machine."""
    return json.dumps({key: to_json(value) for key, value in values.items()}, sort_keys=True, ensure_ascii=False)
