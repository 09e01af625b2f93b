"""The form of tasks in the JSON of a space."""

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


def _bound(parts: Parts, path: str, around: ReadingContext) -> Bound:
    parts["measure"] = measure = Measure(parts["measure"])
    for key in ("scorer", "column"):
        if measure is Measure.DISPARITY and not parts[key]:
            raise DefinitionError(path, f"has no `{key}`")
        if measure is not Measure.DISPARITY and parts[key]:
            raise DefinitionError(path, f"has a scorer or a column, which only `{Measure.DISPARITY}` has")
    if parts["limit"] < 0 or (parts["limit"] == 0 and (measure is not Measure.DISPARITY or parts["strict"])):
        raise DefinitionError(f"{path}.limit", "is a bound that allows nothing")
    return Bound(**parts, span=around.span())


_BOUND: Final[DocumentForm[Bound]] = Defined(
    "bound",
    lambda: KeyedObject(
        "A bound that trials should keep to.",
        (
            Key("measure", words(*(measure.value for measure in Measure))),
            Key(
                "limit",
                Scalar(real, {"type": "number", "minimum": 0}),
                "In seconds for a row, bytes, or the unit of the score.",
            ),
            Key("strict", FLAG, "Whether the limit itself is excluded.", False),
            Key("scorer", NAME, "Of a disparity.", ""),
            Key("column", TEXT, "Of a disparity: whose values form the groups.", ""),
        ),
        _bound,
        placed=True,
    ),
)


def _goal(direction: Any, about: str) -> KeyedObject[Goal]:
    from_one = Key("from_one", FLAG, f"Whether it is 1 minus the scorer that is {direction}d.", False)
    return KeyedObject(
        about,
        (Key(direction, NAME, of="scorer"), from_one),
        lambda parts, _, around: Goal(direction, **parts, span=around.span()),
        placed=True,
    )


_GOAL: Final[DocumentForm[Goal]] = TaggedUnion(
    "A scorer that is minimised or maximised.",
    "a goal",
    {"minimize": _goal("minimize", "To minimise."), "maximize": _goal("maximize", "To maximise.")},
    lambda goal: goal.direction,
)


def _share(value: object, path: str) -> float:
    share = positive(value, path)
    if share >= 1:
        raise DefinitionError(path, "is no share between 0 and 1")
    return share


def _factor(value: object, path: str) -> float:
    factor = real(value, path)
    if factor <= 1:
        raise DefinitionError(path, "is no factor above 1")
    return factor


_SHARE: Final = Scalar(_share, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})

_VALIDATION: Final[DocumentForm[Declared]] = TaggedUnion(
    "How trials are validated.",
    "a validation",
    {
        "holdout": KeyedObject(
            "One split.",
            (Key("holdout", _SHARE, "The share of the rows that is held out.", of="share"),),
            made(Holdout),
        ),
        "cv": KeyedObject(
            "Cross-validation.", (Key("cv", at_least(2), "The number of folds.", of="folds"),), made(CrossValidation)
        ),
    },
    lambda validation: "holdout" if isinstance(validation, Holdout) else "cv",
)
_FIDELITY: Final = KeyedObject(
    "Training rows as a resource.",
    (
        Key("first", at_least(1), "The rows of a first training."),
        Key(
            "factor",
            Scalar(_factor, {"type": "number", "exclusiveMinimum": 1}),
            "By which they grow from one training to the next.",
        ),
    ),
    made_there(Fidelity),
    placed=True,
)
_LIMITS: Final = KeyedObject(
    "What a single trial and a whole run may take.",
    tuple(Key(name, POSITIVE, usual=None) for name in ("trial_seconds", "trial_bytes", "run_seconds")),
    made(Limits),
)

TASK: Final[DocumentForm[Task]] = Defined(
    "task",
    lambda: KeyedObject(
        "What a search is to reach, how it judges trials, and what it may spend.",
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
