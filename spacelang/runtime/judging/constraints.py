"""Constraints: what a user's own function says of a pipeline, and what it must not exceed."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from spacelang.ir.task import FunctionBound, Measure
from spacelang.runtime.errors import InputError


class ConstraintError(InputError):
    """A constraint that nothing can keep to, or whose function failed in a trial."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """`function(pipeline, features, target) <= limit`, under a name of one word.

    The function is given a fitted pipeline and the held-out rows as the pipeline takes them: n x d features (an array,
    a sparse matrix or a DataFrame) and n targets, where a class is its place among the sorted labels, from 0. It must
    change none of them: other trials share the rows and the first steps. It gives a number, the mean of which over the
    folds counts; nan is unknown, and does not keep to the limit. Where it raises, or gives anything else, the trial
    fails with the constraint in its reason. Where trials run in other processes cloudpickle takes the function there.

    As of all black-box constraints (ADMM's appendix 2) the limit is 0 or more: a recall of at least 0.9 is
    `1 - recall <= 0.1`. Raises ConstraintError on construction for what is no such constraint.

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
        """Refuse what cannot be measured or kept to."""
        function_bound(self.name, self.limit)
        if not callable(self.function):
            raise ConstraintError(f"the constraint `{self.name}` has no function, but `{self.function!r}`")

    @property
    def bound(self) -> FunctionBound:
        """The name and the limit, as trials and stores have them."""
        return function_bound(self.name, self.limit)

    def measure(self, pipeline: Any, features: Any, target: Any) -> float:
        """What the function gives; raises ConstraintError where that is no number, and where the function raises."""
        try:
            value = self.function(pipeline, features, target)
        except MemoryError:
            raise  # a trial that ends so has a status of its own
        except Exception as error:
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise ConstraintError(f"the constraint `{self.name}` raised {said}") from error
        number = _number(value)
        if number is None:
            raise ConstraintError(f"the constraint `{self.name}` gave no number, but {value!r}")
        return number


def function_bound(name: str, limit: float) -> FunctionBound:
    """The limit of what is called by a name of one word; raises ConstraintError for what is no name, or no limit."""
    if not _is_word(name):
        raise ConstraintError(f"`{name}` is no name of a constraint", "take one word, such as `leaves`")
    if name in {measure.value for measure in Measure}:
        help_text = f"write `subject to {name} …` in the task, or choose another name for the function"
        raise ConstraintError(f"`{name}` is a measure of the language", help_text)
    number = _number(limit)
    if number is None or not isfinite(number):
        raise ConstraintError(f"the limit of the constraint `{name}` is no number: `{limit!r}`")
    if number < 0:
        help_text = "bound a measure that is 0 or more: `1 - recall` by 0.1 for a recall of at least 0.9"
        raise ConstraintError(f"the limit of the constraint `{name}` is negative: {limit}", help_text)
    return FunctionBound(name, number)


def _is_word(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier()


def _number(value: object) -> float | None:
    """A number of Python or of an array's element as a float, infinity beyond all floats; None for anything else."""
    from numpy import generic

    plain = value.item() if isinstance(value, generic) else value
    if not isinstance(plain, int | float):
        return None
    try:
        return float(plain)
    except OverflowError:
        return float("inf") if plain > 0 else float("-inf")
