"""The JSON codec of tasks."""

from typing import Any, Final

from spacelang.forms.codec import (
    FLAG,
    NAME,
    POSITIVE,
    TEXT,
    Defined,
    DocumentForm,
    Items,
    Key,
    KeyedObject,
    Parts,
    Scalar,
    TaggedUnion,
    at_least,
    made,
    made_there,
    words,
)
from spacelang.forms.json_fields import DefinitionError, positive, real
from spacelang.forms.standing import ReadingContext
from spacelang.ir.task import (
    UNLIMITED,
    Bound,
    CrossValidation,
    Declared,
    Fidelity,
    Goal,
    Holdout,
    Limits,
    Measure,
    Task,
)


def _bound(parts: Parts, path: str, context: ReadingContext) -> Bound:
    parts["measure"] = measure = Measure(parts["measure"])
    for key in ("scorer", "column"):
        if measure is Measure.DISPARITY and not parts[key]:
            raise DefinitionError(path, f"has no `{key}`")
        if measure is not Measure.DISPARITY and parts[key]:
            raise DefinitionError(path, f"gives a scorer or a column, which only `{Measure.DISPARITY}` takes")
    if parts["limit"] < 0 or (parts["limit"] == 0 and (measure is not Measure.DISPARITY or parts["strict"])):
        raise DefinitionError(f"{path}.limit", "is a bound that no trial can satisfy")
    return Bound(**parts, span=context.span())


_BOUND: Final[DocumentForm[Bound]] = Defined(
    "bound",
    lambda: KeyedObject(
        "A bound that trials should satisfy.",
        (
            Key("measure", words(*(measure.value for measure in Measure))),
            Key(
                "limit",
                Scalar(real, {"type": "number", "minimum": 0}),
                "The limit: seconds per row, bytes, or the unit of the score.",
            ),
            Key("strict", FLAG, "True if the limit itself is excluded.", False),
            Key("scorer", NAME, "The scorer of a disparity.", ""),
            Key("column", TEXT, "The column of a disparity, whose values define the groups.", ""),
        ),
        _bound,
        placed=True,
    ),
)


def _goal(direction: Any, about: str) -> KeyedObject[Goal]:
    from_one = Key("from_one", FLAG, f"True if 1 minus the scorer is {direction}d.", False)
    return KeyedObject(
        about,
        (Key(direction, NAME, of="scorer"), from_one),
        lambda parts, _, context: Goal(direction, **parts, span=context.span()),
        placed=True,
    )


_GOAL: Final[DocumentForm[Goal]] = TaggedUnion(
    "A scorer to minimise or maximise.",
    "a goal",
    {"minimize": _goal("minimize", "A scorer to minimise."), "maximize": _goal("maximize", "A scorer to maximise.")},
    lambda goal: goal.direction,
)


def _share(value: object, path: str) -> float:
    share = positive(value, path)
    if share >= 1:
        raise DefinitionError(path, "is not a fraction between 0 and 1")
    return share


def _factor(value: object, path: str) -> float:
    factor = real(value, path)
    if factor <= 1:
        raise DefinitionError(path, "is not a number above 1")
    return factor


_SHARE: Final = Scalar(_share, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})

_VALIDATION: Final[DocumentForm[Declared]] = TaggedUnion(
    "The validation of trials.",
    "a validation",
    {
        "holdout": KeyedObject(
            "A single split.",
            (Key("holdout", _SHARE, "The fraction of the rows that is held out.", of="share"),),
            made(Holdout),
        ),
        "cv": KeyedObject(
            "Cross-validation.", (Key("cv", at_least(2), "The number of folds.", of="folds"),), made(CrossValidation)
        ),
    },
    lambda validation: "holdout" if isinstance(validation, Holdout) else "cv",
)
_FIDELITY: Final = KeyedObject(
    "The number of training rows as the fidelity.",
    (
        Key("first", at_least(1), "The number of rows of the first training."),
        Key(
            "factor",
            Scalar(_factor, {"type": "number", "exclusiveMinimum": 1}),
            "The factor by which the number of rows grows from one training to the next.",
        ),
    ),
    made_there(Fidelity),
    placed=True,
)
_LIMITS: Final = KeyedObject(
    "The limits of a single trial and of a whole run.",
    tuple(Key(name, POSITIVE, usual=None) for name in ("trial_seconds", "trial_bytes", "run_seconds")),
    made(Limits),
)

TASK: Final[DocumentForm[Task]] = Defined(
    "task",
    lambda: KeyedObject(
        "The task of a search: its goal, the validation of trials, and limits.",
        (
            Key("kind", words("classification", "regression")),
            Key("goal", _GOAL, usual=None),
            Key("bounds", Items(_BOUND), usual=()),
            Key("validation", _VALIDATION, usual=None),
            Key("fidelity", _FIDELITY, usual=None),
            Key("limits", _LIMITS, usual=UNLIMITED),
        ),
        made_there(Task),
        placed=True,
    ),
)
