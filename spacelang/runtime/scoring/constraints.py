"""Constraints on fitted pipelines by functions of the user."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from spacelang.ir.task import BoundedMeasure, FunctionBound
from spacelang.runtime.errors import InputError


class ConstraintError(InputError):
    """An invalid constraint, or a constraint whose function failed in a trial."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named constraint on a fitted pipeline: `function(pipeline, features, target) <= limit`.

    The function gets a fitted pipeline and the held-out rows in the form that the pipeline takes. These are n x d
    features (an array, a sparse matrix or a DataFrame) and n targets; classes are encoded as their positions among the
    sorted labels, from 0. The function must not modify any of them, because other trials share the rows and the first
    steps.

    It returns a number; the mean over the folds is compared with the limit. nan means unknown, and violates the limit.
    If the function raises or returns anything else, the trial fails, and the reason names the constraint. If trials run
    in other processes, the function is sent there by cloudpickle.

    As for all black-box constraints (appendix 2 of the ADMM paper) the limit must be 0 or more: write a recall of at
    least 0.9 as `1 - recall <= 0.1`. The constructor raises ConstraintError for an invalid name, function or limit.

    >>> import spacelang as sl
    >>> def missed(pipeline, features, target):
    ...     return float((pipeline.predict(features) != target).mean())
    >>> sl.Constraint("missed", missed, 0.4).bound.name
    'missed'
    """

    name: str
    function: Callable[[Any, Any, Any], float]
    limit: float

    def __post_init__(self) -> None:
        """Raise ConstraintError for an invalid name, function or limit."""
        function_bound(self.name, self.limit)
        if not callable(self.function):
            raise ConstraintError(f"the constraint `{self.name}` needs a function, not `{self.function!r}`")

    @property
    def bound(self) -> FunctionBound:
        """The name and the limit, as trials and stored runs have them."""
        return function_bound(self.name, self.limit)

    def measure(self, pipeline: Any, features: Any, target: Any) -> float:
        """Return the function's value; raise ConstraintError if it raises (except MemoryError) or returns no number."""
        try:
            value = self.function(pipeline, features, target)
        except MemoryError:
            raise  # running out of memory has its own trial status
        except Exception as error:
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise ConstraintError(f"the constraint `{self.name}` raised {text}") from error
        number = _to_float(value)
        if number is None:
            raise ConstraintError(f"the constraint `{self.name}` returned {value!r} instead of a number")
        return number


def function_bound(name: object, limit: float) -> FunctionBound:
    """Return the bound of a function by its name; raise ConstraintError for an invalid name or limit."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise ConstraintError(f"invalid constraint name `{name}`", "use one word, such as `leaves`")
    if name in {measure.value for measure in BoundedMeasure}:
        help_text = f"write `subject to {name} …` in the task, or choose another name for the function"
        raise ConstraintError(f"`{name}` is the name of a built-in measure", help_text)
    number = _to_float(limit)
    if number is None or not isfinite(number):
        raise ConstraintError(f"the limit of the constraint `{name}` is not a finite number: `{limit!r}`")
    if number < 0:
        help_text = "bound a measure that is never negative: for a recall of at least 0.9, bound `1 - recall` by 0.1"
        raise ConstraintError(f"the limit of the constraint `{name}` is negative: {limit}", help_text)
    return FunctionBound(name, number)


def _to_float(value: object) -> float | None:
    """Convert a Python or NumPy number to a float, huge integers to infinity; return None for anything else."""
    from numpy import generic

    plain = value.item() if isinstance(value, generic) else value
    if not isinstance(plain, int | float):
        return None
    try:
        return float(plain)
    except OverflowError:
        return float("inf") if plain > 0 else float("-inf")
