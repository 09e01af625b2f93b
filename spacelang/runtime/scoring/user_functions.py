"""Scorers and constraints that a program gives as objects and functions."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spacelang.ir.task import NEGATED_PREFIX, BoundedMeasure, FunctionBound
from spacelang.runtime.black_box.function_objective import function_fingerprint, function_name
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.run_header import SHOWN_DIGITS

if TYPE_CHECKING:
    from spacelang.runtime.scoring.metric import LossFunction, Metric

Scorer: TypeAlias = Callable[[Any, Any, Any], Any]
"""A scorer of scikit-learn: called with a fitted estimator, features and labels."""
SCORER_FIELDS: Final = ("_score_func", "_sign", "_kwargs", "_response_method")  # What `make_scorer` was called with


def scorer_metric(scorer: Scorer, classes: tuple[Any, ...]) -> "Metric":
    """Return the loss of a scorer: that of its name if scikit-learn has it, otherwise 1 - score, or the error.

    A score is the greater, the better, as everywhere in scikit-learn; `make_scorer(f, greater_is_better=False)` is the
    negated error `f`. The scorer gets labels as the user wrote them: `classes` are the labels, sorted, or empty for a
    regression.
    """
    from spacelang.runtime.scoring.metric import Metric, ScorerLoss, named_metric  # It imports pandas

    if (known := sklearn_scorer_name(scorer)) is not None:
        return named_metric(known)
    name = _name_unlike_scorers(_word(scorer))
    loss: LossFunction = _LabelledScorer(scorer, classes) if classes else scorer
    if getattr(scorer, "_sign", 1) < 0:
        return Metric(f"{NEGATED_PREFIX}{name}", name, ScorerLoss(loss, -1.0))
    return Metric(name, f"1 - {name}", ScorerLoss(loss, -1.0, 1.0))


def scorer_fingerprint(scorer: Scorer) -> str:
    """Return a text that is equal for equal scorers, by which a run is resumed; empty for a scorer with a name."""
    if sklearn_scorer_name(scorer) is not None:
        return ""
    # A scorer of `make_scorer` has its function as an attribute, of which the scorer's identity has only the source.
    inner = getattr(scorer, "_score_func", None)
    identities = (function_fingerprint(each) for each in (scorer, inner) if each is not None)
    return f"{_word(scorer)}, content {sha256(' '.join(identities).encode()).hexdigest()[:SHOWN_DIGITS]}"


def sklearn_scorer_name(scorer: Any) -> str | None:
    """Return the name under which scikit-learn has a scorer, or None."""
    from sklearn.metrics import get_scorer, get_scorer_names

    fields = _fields(scorer)
    if fields is None:
        return None
    return next((name for name in get_scorer_names() if _fields(get_scorer(name)) == fields), None)


def _fields(scorer: Any) -> tuple[Any, ...] | None:
    if not all(hasattr(scorer, name) for name in SCORER_FIELDS):
        return None
    return tuple(getattr(scorer, name) for name in SCORER_FIELDS)


def _word(scorer: Any) -> str:
    """Return the name of a scorer's function as one word."""
    name = function_name(getattr(scorer, "_score_func", scorer)).rpartition(".")[2]
    return re.sub(r"\W+", "_", name).strip("_") or "scorer"


def _name_unlike_scorers(word: str) -> str:
    """Return `word`, or `own_` and the word if scikit-learn has a scorer, or the error of one, with this name."""
    from sklearn.metrics import get_scorer_names

    return f"own_{word}" if {word, f"{NEGATED_PREFIX}{word}"} & {*get_scorer_names()} else word


@dataclass(frozen=True, slots=True)
class _LabelledScorer:
    """A scorer of classifications for pipelines that were fitted on class codes."""

    scorer: Scorer
    classes: tuple[Any, ...]

    def __call__(self, pipeline: Any, features: Any, target: Any) -> float:
        labels = np.asarray(self.classes)
        return float(self.scorer(_LabelPredictor(pipeline, labels), features, labels[np.asarray(target)]))


class _LabelPredictor:
    """A stand-in for a pipeline that was fitted on class codes, which predicts the labels themselves."""

    def __init__(self, pipeline: Any, labels: Any) -> None:
        self._pipeline, self._labels = pipeline, labels

    @property
    def classes_(self) -> Any:
        return self._labels[np.asarray(self._pipeline.classes_, dtype=np.int64)]

    def predict(self, features: Any) -> Any:
        return self._labels[np.asarray(self._pipeline.predict(features), dtype=np.int64)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)


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
        make_function_bound(self.name, self.limit)
        if not callable(self.function):
            raise ConstraintError(f"the constraint `{self.name}` needs a function, not `{self.function!r}`")

    @property
    def bound(self) -> FunctionBound:
        """The name and the limit, as trials and stored runs have them."""
        return make_function_bound(self.name, self.limit)

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


def protect_from_changes(table: Any) -> Any:
    """Return rows that a user's function may not change: a read-only view of an array, a copy of any other table."""
    if not isinstance(table, np.ndarray):
        return table.copy()
    view = table.view()
    view.flags.writeable = False
    return view


def make_function_bound(name: object, limit: float) -> FunctionBound:
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
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, int | float):
        return None
    try:
        return float(plain)
    except OverflowError:
        return float("inf") if plain > 0 else float("-inf")
