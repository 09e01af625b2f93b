"""Type checks of the arguments of public functions, with messages that name the argument."""

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from operator import index
from os import PathLike
from typing import Final

TypeCheck = Callable[[object], bool]
ArgumentCheck = tuple[TypeCheck, str]
"""A check of the type of a value, and the description of valid values for messages."""


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


def is_validation(value: object) -> bool:
    """Return True if the value is a text, or has the methods of a splitter of scikit-learn."""
    is_splitter = all(callable(getattr(value, name, None)) for name in ("split", "get_n_splits"))
    return isinstance(value, str) or (is_splitter and not isinstance(value, type))


def is_iterable(value: object) -> bool:
    """Return True if the value is an iterable; a string is not one here."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def is_iterable_of_strings(value: object) -> bool:
    """Return True if the value is an iterable of strings; a single string is not, although it is an iterable."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(isinstance(each, str) for each in value)
    return is_iterable(value)


def is_scorer(value: object) -> bool:
    """Return True if the value is the name of a scorer, or something that can be called."""
    return isinstance(value, str) or callable(value)


def is_iterable_of_functions(value: object) -> bool:
    """Return True if the value is a list or another collection of functions."""
    return isinstance(value, (list, tuple, set, frozenset)) and all(map(callable, value))


INTEGER: Final[ArgumentCheck] = (_is_integer, "takes a whole number")
TEXT, MAPPING, NUMBER = _one_of(str), _one_of(Mapping), _one_of(Real)
PATH, TIME = _one_of(str, PathLike), _one_of(str, Real)
ARGUMENT_CHECKS: Final[Mapping[str, ArgumentCheck]] = {
    "allow": (is_iterable_of_strings, 'takes names of packages, such as `["xgboost"]`'),
    "bind": (MAPPING, 'takes numbers by symbol name, such as `{"n_features": 30}`'),
    "count": INTEGER,
    "data": (MAPPING, 'takes data by label, such as `{"credit": "credit.csv"}`'),
    "number": INTEGER,
    "optimizers": (is_iterable_of_strings, 'takes names of optimizers, such as `["random", "mosaic"]`'),
    "space": (_is_space, "takes a `Space`, or the path, name or text of one; give features and labels after it"),
    "text": (TEXT, "takes the text of a space"),
}
"""The checks of arguments other than the options of runs (see `run_options`). Only `bind` may be None."""


def check_argument_types(**given: object) -> None:
    """Raise TypeError for the first argument of a wrong type."""
    for name, value in given.items():
        if value is not None or name != "bind":
            check_argument(name, value, ARGUMENT_CHECKS[name])


def check_argument(name: str, value: object, check: ArgumentCheck) -> None:
    """Raise TypeError, naming the argument, if its value has a wrong type."""
    is_valid, wanted = check
    if not is_valid(value):
        raise TypeError(f"`{name}` {wanted}, not {describe_value(value)}")


def describe_value(value: object) -> str:
    """Return a short description of a value for messages: the value itself, or its type."""
    if value is None or isinstance(value, (str, int, float)):
        return f"`{value!r:.40}`"
    return f"a `{type(value).__name__}`"
