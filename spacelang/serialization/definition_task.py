"""The JSON codec of tasks."""

from typing import Any, Final

from spacelang.ir.task import (
    UNLIMITED,
    Bound,
    CrossValidation,
    DeclaredValidation,
    Fidelity,
    Goal,
    Holdout,
    Limits,
    Measure,
    Task,
)
from spacelang.serialization.codec import (
    BOOLEAN,
    NAME,
    POSITIVE_FLOAT,
    TEXT,
    ArrayCodec,
    JsonCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    Parts,
    ScalarCodec,
    UnionCodec,
    from_parts,
    from_parts_with_span,
    integer_from,
    one_of_words,
)
from spacelang.serialization.document_context import ReadingContext
from spacelang.serialization.json_fields import DefinitionError, expect_float, expect_positive_float


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


_BOUND: Final[JsonCodec[Bound]] = NamedCodec(
    "bound",
    lambda: ObjectCodec(
        "A bound that trials should satisfy.",
        (
            ObjectKey("measure", one_of_words(*(measure.value for measure in Measure))),
            ObjectKey(
                "limit",
                ScalarCodec(expect_float, {"type": "number", "minimum": 0}),
                "The limit: seconds per row, bytes, or the unit of the score.",
            ),
            ObjectKey("strict", BOOLEAN, "True if the limit itself is excluded.", False),
            ObjectKey("scorer", NAME, "The scorer of a disparity.", ""),
            ObjectKey("column", TEXT, "The column of a disparity, whose values define the groups.", ""),
        ),
        _bound,
        has_span=True,
    ),
)


def _goal(direction: Any, about: str) -> ObjectCodec[Goal]:
    from_one = ObjectKey("from_one", BOOLEAN, f"True if 1 minus the scorer is {direction}d.", False)
    return ObjectCodec(
        about,
        (ObjectKey(direction, NAME, part="scorer"), from_one),
        lambda parts, _, context: Goal(direction, **parts, span=context.span()),
        has_span=True,
    )


_GOAL: Final[JsonCodec[Goal]] = UnionCodec(
    "A scorer to minimise or maximise.",
    "a goal",
    {"minimize": _goal("minimize", "A scorer to minimise."), "maximize": _goal("maximize", "A scorer to maximise.")},
    lambda goal: goal.direction,
)


def _share(value: object, path: str) -> float:
    share = expect_positive_float(value, path)
    if share >= 1:
        raise DefinitionError(path, "is not a fraction between 0 and 1")
    return share


def _factor(value: object, path: str) -> float:
    factor = expect_float(value, path)
    if factor <= 1:
        raise DefinitionError(path, "is not a number above 1")
    return factor


_SHARE: Final = ScalarCodec(_share, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})

_VALIDATION: Final[JsonCodec[DeclaredValidation]] = UnionCodec(
    "The validation of trials.",
    "a validation",
    {
        "holdout": ObjectCodec(
            "A single split.",
            (ObjectKey("holdout", _SHARE, "The fraction of the rows that is held out.", part="share"),),
            from_parts(Holdout),
        ),
        "cv": ObjectCodec(
            "Cross-validation.",
            (ObjectKey("cv", integer_from(2), "The number of folds.", part="folds"),),
            from_parts(CrossValidation),
        ),
    },
    lambda validation: "holdout" if isinstance(validation, Holdout) else "cv",
)
_FIDELITY: Final = ObjectCodec(
    "The number of training rows as the fidelity.",
    (
        ObjectKey("first", integer_from(1), "The number of rows of the first training."),
        ObjectKey(
            "factor",
            ScalarCodec(_factor, {"type": "number", "exclusiveMinimum": 1}),
            "The factor by which the number of rows grows from one training to the next.",
        ),
    ),
    from_parts_with_span(Fidelity),
    has_span=True,
)
_LIMITS: Final = ObjectCodec(
    "The limits of a single trial and of a whole run.",
    tuple(ObjectKey(name, POSITIVE_FLOAT, default=None) for name in ("trial_seconds", "trial_bytes", "run_seconds")),
    from_parts(Limits),
)

TASK: Final[JsonCodec[Task]] = NamedCodec(
    "task",
    lambda: ObjectCodec(
        "The task of a search: its goal, the validation of trials, and limits.",
        (
            ObjectKey("kind", one_of_words("classification", "regression")),
            ObjectKey("goal", _GOAL, default=None),
            ObjectKey("bounds", ArrayCodec(_BOUND), default=()),
            ObjectKey("validation", _VALIDATION, default=None),
            ObjectKey("fidelity", _FIDELITY, default=None),
            ObjectKey("limits", _LIMITS, default=UNLIMITED),
        ),
        from_parts_with_span(Task),
        has_span=True,
    ),
)
