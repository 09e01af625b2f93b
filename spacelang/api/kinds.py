"""What the options of a search take: what is of another kind is refused by the name of its option, before anything."""

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from operator import index
from os import PathLike
from typing import Any, Final


def _is_whole(value: object) -> bool:
    """NumPy's whole numbers are some, too; truth values are none."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    try:
        index(value)
    except TypeError:  # an array of several
        return False
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_time(value: object) -> bool:
    return isinstance(value, (str, Real)) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_place(value: object) -> bool:
    return isinstance(value, (str, PathLike))


def _is_space(value: object) -> bool:
    return _is_place(value) or hasattr(value, "checked")


def _are_several(value: object) -> bool:
    """A text is an iterable of texts, too: of its letters, which nobody means."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(isinstance(each, str) for each in value)
    return _are_several_of_any(value)


def _are_several_of_any(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _are_named(value: object) -> bool:
    return isinstance(value, Mapping)


Is = Callable[[object], bool]

KINDS: Final[Mapping[str, tuple[Is, str]]] = {
    "allow": (_are_several, 'takes names of packages, such as `["xgboost"]`'),
    "batch": (_is_whole, "takes a whole number"),
    "bind": (_are_named, 'takes numbers by the names of symbols, such as `{"n_features": 30}`'),
    "constraints": (_are_several_of_any, "takes several, such as `[sl.Constraint(name, function, limit)]`"),
    "count": (_is_whole, "takes a whole number"),
    "data": (_are_named, 'takes data by their labels, such as `{"credit": "credit.csv"}`'),
    "ensemble": (_is_whole, "takes the number of votes, such as 32"),
    "executor": (_is_text, "takes `dask` or the address of a scheduler"),
    "folder": (_is_place, "takes the path of a folder"),
    "fidelities": (_are_several_of_any, "takes whole numbers, such as `(1, 3, 9)`"),
    "metric": (_is_text, "takes the name of one of scikit-learn's scorers, such as `roc_auc`"),
    "metrics": (_are_several, 'takes names of scikit-learn\'s scorers, such as `["f1", "accuracy"]`'),
    "number": (_is_whole, "takes a whole number"),
    "optimizer": (_is_text, "takes the name of an optimizer, such as `mosaic`"),
    "optimizer_options": (_are_named, 'takes options by their names, such as `{"trees": 10}`'),
    "optimizers": (_are_several, 'takes names of optimizers, such as `["random", "mosaic"]`'),
    "repeats": (_is_whole, "takes a whole number"),
    "scale": (_is_number, "takes a number above 0"),
    "seed": (_is_whole, "takes a whole number, of which all chance comes"),
    "space": (_is_space, "takes a `Space`, or the path, the name or the text of one; features and labels follow it"),
    "store": (_is_place, "takes the path of a file"),
    "text": (_is_text, "takes the text of a space"),
    "time": (_is_time, 'takes seconds, or a text such as `"60s"`'),
    "trial_limit": (_is_text, 'takes a text such as `"300s 4GB"`'),
    "trials": (_is_whole, "takes a whole number"),
    "validate": (_is_text, 'takes a text: `"holdout(0.3)"` or `"cv(5)"`'),
    "workers": (_is_whole, "takes a whole number"),
}
"""What each option takes, and how that is said."""

LIMITS: Final[tuple[Is, str]] = (_are_named, 'takes limits by name, such as `{"latency": 0.1}`')
"""What `constraints` takes where there are no pipelines that functions could measure."""

NEEDED: Final = frozenset(
    [
        "allow",
        "batch",
        "constraints",
        "count",
        "data",
        "metrics",
        "number",
        "optimizers",
        "repeats",
        "seed",
        "space",
        "text",
        "workers",
    ]
)
"""Those that are never None."""


def must_be_of_kind(**given: object) -> None:
    """Raise TypeError for the first option that is of another kind than it takes; None is what is not given."""
    for name, value in given.items():
        if value is not None or name in NEEDED:
            must_be(name, value, KINDS[name])


def must_be(name: str, value: object, kind: tuple[Is, str]) -> None:
    """Raise TypeError, by the name of an option, for a value that is of another kind."""
    is_one, wanted = kind
    if not is_one(value):
        raise TypeError(f"`{name}` {wanted}, not {shown(value)}")


def whole(number: Any) -> int:
    """A whole number as Python has it, of whatever counts as one."""
    return index(number)


def whole_or_none(number: Any) -> int | None:
    """The same where there may be none."""
    return None if number is None else index(number)


def shown(value: object) -> str:
    """What was given, where that is short, else what it is."""
    if value is None or isinstance(value, (str, int, float)):
        return f"`{value!r:.40}`"
    return f"a `{type(value).__name__}`"
