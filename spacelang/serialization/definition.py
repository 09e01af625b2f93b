"""Convert a space to and from its JSON definition, which every compiled document contains.

`space_from_json` rebuilds an equal space from the definition, without its text and without a parser. The codecs also
describe the format: `python -m spacelang.api.schemas` generates `compiled.schema.json` in the folder of the grammar,
with a description of every key.

Defaults are left out: the library `sklearn`, the weight 1, the first alternative as the default, a key equal to the
address, and the complete list of orders of a permutation. The key `line` is the source line of a part; a part without
it is on the line of the enclosing part. The texts of all these lines are included for messages.

A document may come from a stranger. Whatever would fail later is rejected here, with its path in the document.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from spacelang.ir import task
from spacelang.ir.space import Constraint, DroppedVariable, Space
from spacelang.ir.validation import DeclaredValidation, SplitOptionError, kind_and_number, make_validation
from spacelang.serialization import codec, json_documents
from spacelang.serialization.codec import (
    ArrayCodec,
    JsonCodec,
    ObjectCodec,
    ObjectKey,
    ScalarCodec,
    SchemaDefinitionCodec,
    UnionCodec,
)
from spacelang.serialization.definition_hyperparameters import EXPRESSION
from spacelang.serialization.definition_nodes import NODE
from spacelang.serialization.json_documents import DefinitionError, JsonObject, ReadingContext, WritingContext
from spacelang.text import NO_SPAN

VERSION: Final = 1  # The version of compiled documents; it is raised by every change that an older reader would misread
MAX_NESTING: Final = 400
"""The maximal nesting depth of objects and lists. A text may nest 64 brackets, and each needs about five levels."""


def _bound(parts: codec.Parts, path: str, context: ReadingContext) -> task.Bound:
    parts["measure"] = measure = task.BoundedMeasure(parts["measure"])
    for key in ("scorer", "column"):
        if measure is task.BoundedMeasure.DISPARITY and not parts[key]:
            raise DefinitionError(path, f"has no `{key}`")
        if measure is not task.BoundedMeasure.DISPARITY and parts[key]:
            raise DefinitionError(
                path, f"gives a scorer or a column, which only `{task.BoundedMeasure.DISPARITY}` takes"
            )
    if parts["limit"] < 0 or (
        parts["limit"] == 0 and (measure is not task.BoundedMeasure.DISPARITY or parts["strict"])
    ):
        raise DefinitionError(f"{path}.limit", "is a bound that no trial can satisfy")
    return task.Bound(**parts, span=context.span_in_current_line())


_BOUND: Final[JsonCodec[task.Bound]] = codec.object_codec_with_schema_name(
    "bound",
    "A bound that trials should satisfy.",
    (
        ObjectKey("measure", codec.word_codec(*(measure.value for measure in task.BoundedMeasure))),
        ObjectKey(
            "limit",
            ScalarCodec(json_documents.expect_float, {"type": "number", "minimum": 0}),
            "The limit: seconds per row, bytes, or the unit of the score.",
        ),
        ObjectKey("strict", codec.BOOLEAN, "True if the limit itself is excluded.", False),
        ObjectKey("scorer", codec.NAME, "The scorer of a disparity.", ""),
        ObjectKey("column", codec.TEXT, "The column of a disparity, whose values define the groups.", ""),
    ),
    _bound,
    has_span=True,
)


def _goal(direction: Any, about: str) -> ObjectCodec[task.ScorerGoal]:
    from_one = ObjectKey("from_one", codec.BOOLEAN, f"True if 1 minus the scorer is {direction}d.", False)
    return ObjectCodec(
        about,
        (ObjectKey(direction, codec.NAME, part="scorer"), from_one),
        lambda parts, _, context: task.ScorerGoal(direction, **parts, span=context.span_in_current_line()),
        has_span=True,
    )


def _goal_key(goal: task.AnyGoal) -> str:
    match goal:
        case task.CostGoal():
            return "measure"
        case task.FunctionGoal():
            return "returned"
        case task.ScorerGoal():
            return goal.direction


_GOALS: Final[Mapping[str, ObjectCodec[Any]]] = {
    "minimize": _goal("minimize", "A scorer to minimise."),
    "maximize": _goal("maximize", "A scorer to maximise."),
    "returned": ObjectCodec(
        "A number that the objective function of the user returns.",
        (
            ObjectKey("returned", codec.NAME, "The name of the number.", part="name"),
            ObjectKey("direction", codec.word_codec("minimize", "maximize")),
            ObjectKey("is_negated", codec.BOOLEAN, "True if the goal is minus the number.", False),
        ),
        codec.call_with_parts_and_span(task.FunctionGoal),
        has_span=True,
    ),
}
_GOAL: Final[JsonCodec[task.ScorerGoal | task.FunctionGoal]] = UnionCodec(
    "What to minimise or maximise.", "a goal", _GOALS, _goal_key
)


def _task(parts: codec.Parts, path: str, context: ReadingContext) -> task.Task:
    if parts["further_goals"] and parts["goal"] is None:
        raise DefinitionError(f"{path}.further_goals", "needs a `goal`, which is the first objective")
    made = task.Task(**parts, span=context.span_in_current_line())
    for place, goal in enumerate(made.goals):
        if (wrong := task.function_goal_problem(goal, made.goals)) is not None:
            where = f"further_goals[{place - 1}]" if place else "goal"
            raise DefinitionError(f"{path}.{where}", f"is not a valid goal: {wrong[0]}", wrong[1])
    return made


_COST: Final = ObjectCodec(
    "A cost to minimise.",
    (ObjectKey("measure", codec.word_codec(*(each.value for each in task.Cost))),),
    lambda parts, _, context: task.CostGoal(task.Cost(parts["measure"]), context.span_in_current_line()),
    has_span=True,
)
_FURTHER_GOAL: Final[JsonCodec[task.AnyGoal]] = UnionCodec(
    "A further objective of a task with several.",
    "a goal",
    {**_GOALS, "measure": _COST},
    _goal_key,
)


def _share(value: object, path: str) -> float:
    share = json_documents.expect_positive_float(value, path)
    if share >= 1:
        raise DefinitionError(path, "is not a fraction between 0 and 1")
    return share


def _factor(value: object, path: str) -> float:
    factor = json_documents.expect_float(value, path)
    if factor <= 1:
        raise DefinitionError(path, "is not a number above 1")
    return factor


_SHARE: Final = ScalarCodec(_share, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
_GROUP: Final = ObjectKey("group", codec.TEXT, "The column whose equal values keep rows together.", None)
_BY: Final = ObjectKey("by", codec.TEXT, "The column that orders the rows: later ones are held out.", None)
_KEEP: Final = ObjectKey("keep", codec.BOOLEAN, "True if the column of `by` is also a feature.", False)


def _validation(kind: str) -> Callable[[codec.Parts, str, ReadingContext], DeclaredValidation]:
    """Return the function that makes a validation of this kind from its parts."""

    def read(parts: codec.Parts, path: str, _: ReadingContext) -> DeclaredValidation:
        number = parts.pop("share" if kind == "holdout" else "folds")
        columns = [(name, parts[name]) for name in ("group", "by") if parts.get(name) is not None]
        try:
            return make_validation(kind, number, [*columns, *([("keep", None)] if parts.get("keep") else [])])
        except SplitOptionError as error:
            raise DefinitionError(path, f"has invalid options: {error.problem}") from None

    return read


_VALIDATION: Final[JsonCodec[DeclaredValidation]] = UnionCodec(
    "How trials are validated.",
    "a validation",
    {
        "holdout": ObjectCodec(
            "A single split.",
            (
                ObjectKey("holdout", _SHARE, "The fraction of the rows that is held out.", part="share"),
                _GROUP,
                _BY,
                _KEEP,
            ),
            _validation("holdout"),
        ),
        "cv": ObjectCodec(
            "Cross-validation.",
            (ObjectKey("cv", codec.integer_codec(2), "The number of folds.", part="folds"), _GROUP),
            _validation("cv"),
        ),
        "time": ObjectCodec(
            "Splits in the order of a column: each period is held out, and earlier rows train.",
            (
                ObjectKey("time", codec.integer_codec(2), "The number of periods.", part="folds"),
                replace(_BY, default=codec.REQUIRED),
                _KEEP,
            ),
            _validation("time"),
        ),
    },
    lambda validation: kind_and_number(validation)[0],
)
_FIDELITY: Final = ObjectCodec(
    "The number of training rows as the fidelity.",
    (
        ObjectKey("first", codec.integer_codec(1), "The number of rows of the first training."),
        ObjectKey(
            "factor",
            ScalarCodec(_factor, {"type": "number", "exclusiveMinimum": 1}),
            "The factor by which the number of rows grows from one training to the next.",
        ),
    ),
    codec.call_with_parts_and_span(task.FidelitySchedule),
    has_span=True,
)
_LIMITS: Final = ObjectCodec(
    "The limits of a single trial and of a whole run.",
    tuple(
        ObjectKey(name, codec.POSITIVE_FLOAT, default=None) for name in ("trial_seconds", "trial_bytes", "run_seconds")
    ),
    codec.call_with_parts(task.Limits),
)
TASK: Final[JsonCodec[task.Task]] = codec.object_codec_with_schema_name(
    "task",
    "The task of a search: its goal, the validation of trials, and limits.",
    (
        ObjectKey("kind", codec.word_codec("classification", "regression")),
        ObjectKey("goal", _GOAL, default=None),
        ObjectKey("further_goals", ArrayCodec(_FURTHER_GOAL), default=()),
        ObjectKey("bounds", ArrayCodec(_BOUND), default=()),
        ObjectKey("validation", _VALIDATION, default=None),
        ObjectKey("fidelity", _FIDELITY, default=None),
        ObjectKey("limits", _LIMITS, default=task.UNLIMITED),
    ),
    _task,
    has_span=True,
)


def space_to_json(space: Space) -> JsonObject:
    """Return the definition of a space as for `json.dump`, with `space_from_json(space_to_json(space)) == space`."""
    context = WritingContext((_main_file(space), 0))
    for constraint in space.constraints:
        if constraint.span.source is not NO_SPAN.source:
            # The definition contains the text of the constraint, so all of its lines are recorded.
            context.record_lines(constraint.span, constraint.span.line + _constraint_text(constraint).count("\n"))
    document = _DEFINITION.write(space, context)
    lines = {file: {str(line): here[line] for line in sorted(here)} for file, here in sorted(context.lines.items())}
    return {**document, "lines": lines} if lines else document


def _main_file(space: Space) -> str:
    """Return the source file of the first part that has one; other parts state their file only if it differs."""
    things = chain((space.root,), (variable.node for variable in space.variables.values()), space.constraints)
    return next((each.span.source.name for each in things if each.span.source is not NO_SPAN.source), "")


def space_from_json(definition: object, path: str = "definition") -> Space:
    """Return the space that a definition describes.

    Raises DefinitionError, whose paths begin with `path`, for an invalid definition. Operators are not looked up in
    catalogues and constraints are not counted; the caller has to do both.
    """
    if _nesting(definition) > MAX_NESTING:
        raise DefinitionError(path, f"is nested more than {MAX_NESTING} levels deep")
    try:
        given = definition if isinstance(definition, dict) else {}
        lines = json_documents.read_source_lines(given.get("lines", {}), f"{path}.lines")
        context = ReadingContext((codec.TEXT.convert(given.get("file", ""), f"{path}.file"), 0), *lines)
        space = _DEFINITION.read(definition, path, context)
        json_documents.validate_space(space, context.paths)
    except RecursionError:
        raise DefinitionError(path, "is nested too deeply") from None
    return space


def _nesting(document: object) -> int:
    """Return the nesting depth of a JSON value; stop counting soon after `MAX_NESTING`."""
    deepest, waiting = 0, [(document, 1)]
    while waiting and deepest <= MAX_NESTING:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(value, dict | list):
            waiting += [(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value)]
    return deepest


def _constraint_text(constraint: Constraint) -> str:
    return "" if constraint.span.source is NO_SPAN.source else constraint.span.text.replace("\r\n", "\n")


def _constraint(kind: str, about: str) -> ObjectCodec[Constraint]:
    def make(parts: codec.Parts, path: str, context: ReadingContext) -> Constraint:
        context.paths.expressions.append((f"{path}.{kind}", parts["expression"]))
        span = context.span_in_current_line(parts["source_text"])
        return Constraint(replace(parts["expression"], span=span), kind == "forbid", span, parts["bound"])

    keys = (
        ObjectKey(kind, EXPRESSION, part="expression"),
        ObjectKey("text", codec.TEXT, "The source text of the constraint.", "", "source_text"),
        ObjectKey(
            "bound",
            codec.word_codec("lower", "upper"),
            "The end of a range at which the constraint is written as a bound, as in `hi : int[lo, 100]`.",
            "",
        ),
    )
    return ObjectCodec(about, keys, make, lambda each: {"source_text": _constraint_text(each)}, has_span=True)


_CONSTRAINT: Final[JsonCodec[Constraint]] = SchemaDefinitionCodec(
    "constraint",
    lambda: UnionCodec(
        "A condition that every configuration must satisfy (`require`) or that none may satisfy (`forbid`). It applies "
        "if all hyperparameters that it names are active.",
        "a constraint",
        {
            "forbid": _constraint("forbid", "A condition that no configuration may satisfy."),
            "require": _constraint("require", "A condition that every configuration must satisfy."),
        },
        lambda constraint: "forbid" if constraint.forbidden else "require",
    ),
)
_LINES: Final[JsonObject] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[0-9]+$"},
        "additionalProperties": {"type": "string"},
    },
}


_OWNER: Final[JsonCodec[tuple[str, str]]] = ObjectCodec(
    "A decision that takes an alternative.",
    (
        ObjectKey("decision", codec.NAME, "The address of the decision."),
        ObjectKey("alternative", codec.NAME, "The name of the alternative."),
    ),
    lambda parts, _, __: (parts["decision"], parts["alternative"]),
    lambda owner: {"decision": owner[0], "alternative": owner[1]},
)
_DROPPED: Final[JsonCodec[DroppedVariable]] = codec.object_codec_with_schema_name(
    "dropped",
    "A decision or hyperparameter that was removed when the space was bound to data for which it has no meaning.",
    (
        ObjectKey("address", codec.NAME),
        ObjectKey("key", codec.NAME),
        ObjectKey("owners", ArrayCodec(_OWNER), "The alternatives inside which it lay, outermost first.", ()),
        ObjectKey(
            "alternatives",
            ArrayCodec(codec.NAME),
            "The alternatives that the decision lost; absent for a hyperparameter.",
            None,
        ),
    ),
    codec.call_with_parts(DroppedVariable),
)


def _space(parts: codec.Parts, _: str, __: ReadingContext) -> Space:
    """Return the space; `space_from_json` has read `file` and `lines` before."""
    names = ("name", "root", "constraints", "title", "task", "dropped")
    return Space(**{name: parts[name] for name in names})


_DEFINITION: Final = ObjectCodec(
    "The whole space after checking, with every name resolved and every bound a number. It can be loaded without "
    "its text.",
    (
        ObjectKey("name", codec.NAME, "The name of the space."),
        ObjectKey("title", codec.TEXT, "The title of the space.", ""),
        ObjectKey("file", codec.TEXT, "The source file of the space, as the user named it.", ""),
        ObjectKey("root", NODE, "The pipeline."),
        ObjectKey("constraints", ArrayCodec(_CONSTRAINT), default=()),
        ObjectKey("task", TASK, default=None),
        ObjectKey(
            "dropped",
            ArrayCodec(_DROPPED),
            "The decisions and hyperparameters that were removed when the space was bound to its data.",
            (),
        ),
        ObjectKey(
            "lines",
            ScalarCodec(lambda value, _: value, _LINES),
            "The texts of all source lines that are referred to, by file and line number; messages show them.",
            None,
        ),
    ),
    _space,
    lambda space: {"file": _main_file(space), "lines": None},
)
DEFINITION: Final[JsonCodec[Space]] = SchemaDefinitionCodec("definition", lambda: _DEFINITION)
