"""Type checks of the arguments of public functions, with messages that name the argument."""

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from operator import index
from os import PathLike
from typing import Any, Final

TypeCheck = Callable[[object], bool]


def _one_of(*types: type) -> TypeCheck:
    """Return a check for instances of the types; booleans are not numbers here."""
    return lambda value: isinstance(value, types) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    """Return True if the value is an integer, also one of NumPy; booleans are not integers here."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    try:
        index(value)
    except TypeError:  # an array of several
        return False
    return True


def _is_space(value: object) -> bool:
    return isinstance(value, (str, PathLike)) or hasattr(value, "checked")


def _is_iterable(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _is_iterable_of_strings(value: object) -> bool:
    """Return True if the value is an iterable of strings; a single string is not, although it is an iterable."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(isinstance(each, str) for each in value)
    return _is_iterable(value)


ARGUMENT_CHECKS: Final[Mapping[str, tuple[TypeCheck, str]]] = {
    "allow": (_is_iterable_of_strings, 'takes names of packages, such as `["xgboost"]`'),
    "batch": (_is_integer, "takes a whole number"),
    "bind": (_one_of(Mapping), 'takes numbers by symbol name, such as `{"n_features": 30}`'),
    "constraints": (_is_iterable, "takes a list of constraints, such as `[sl.Constraint(name, function, limit)]`"),
    "count": (_is_integer, "takes a whole number"),
    "data": (_one_of(Mapping), 'takes data by label, such as `{"credit": "credit.csv"}`'),
    "ensemble": (_is_integer, "takes the number of votes, such as 32"),
    "executor": (_one_of(str), "takes `dask` or the address of a scheduler"),
    "folder": (_one_of(str, PathLike), "takes the path of a folder"),
    "fidelities": (_is_iterable, "takes whole numbers, such as `(1, 3, 9)`"),
    "metric": (_one_of(str), "takes the name of one of scikit-learn's scorers, such as `roc_auc`"),
    "metrics": (_is_iterable_of_strings, 'takes names of scikit-learn\'s scorers, such as `["f1", "accuracy"]`'),
    "number": (_is_integer, "takes a whole number"),
    "optimizer": (_one_of(str), "takes the name of an optimizer, such as `mosaic`"),
    "optimizer_options": (_one_of(Mapping), 'takes options by name, such as `{"trees": 10}`'),
    "optimizers": (_is_iterable_of_strings, 'takes names of optimizers, such as `["random", "mosaic"]`'),
    "repeats": (_is_integer, "takes a whole number"),
    "scale": (_one_of(Real), "takes a number above 0"),
    "seed": (_is_integer, "takes a whole number, from which all random draws derive"),
    "space": (_is_space, "takes a `Space`, or the path, name or text of one; give features and labels after it"),
    "store": (_one_of(str, PathLike), "takes the path of a file"),
    "text": (_one_of(str), "takes the text of a space"),
    "time": (_one_of(str, Real), 'takes seconds, or a text such as `"60s"`'),
    "trial_limit": (_one_of(str), 'takes a text such as `"300s 4GB"`'),
    "trials": (_is_integer, "takes a whole number"),
    "validate": (_one_of(str), 'takes a text: `"holdout(0.3)"` or `"cv(5)"`'),
    "workers": (_is_integer, "takes a whole number"),
}
"""The check of each option, and the description of valid values for messages."""
LIMITS_CHECK: Final[tuple[TypeCheck, str]] = (_one_of(Mapping), 'takes limits by name, such as `{"latency": 0.1}`')
"""The check of `constraints` for objectives without pipelines, which functions could measure."""
REQUIRED: Final = frozenset(
    ("allow", "batch", "constraints", "count", "data", "metrics", "number", "optimizers", "repeats", "seed", "space")
) | {"text", "workers"}
"""The options that may not be None."""


def check_argument_types(**given: object) -> None:
    """Raise TypeError for the first argument of a wrong type; None is accepted for optional arguments."""
    for name, value in given.items():
        if value is not None or name in REQUIRED:
            check_argument_type(name, value, ARGUMENT_CHECKS[name])


def check_argument_type(name: str, value: object, kind: tuple[TypeCheck, str]) -> None:
    """Raise TypeError, naming the argument, if its value has a wrong type."""
    is_one, wanted = kind
    if not is_one(value):
        raise TypeError(f"`{name}` {wanted}, not {describe_value(value)}")


def to_int(number: Any) -> int:
    """Return a number as a Python `int`."""
    return index(number)


def to_int_or_none(number: Any) -> int | None:
    """Return a number as a Python `int`, or None for None."""
    return None if number is None else index(number)


def describe_value(value: object) -> str:
    """Return a short description of a value for messages: the value itself, or its type."""
    if value is None or isinstance(value, (str, int, float)):
        return f"`{value!r:.40}`"
    return f"a `{type(value).__name__}`"
