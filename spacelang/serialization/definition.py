"""Convert a space to and from its JSON definition, which every compiled document contains.

`from_json` rebuilds an equal space from the definition, without its text and without a parser. The codecs also describe
the format: `python -m spacelang.api.schemas` generates `compiled.schema.json` in the folder of the grammar, with a
description of every key.

Defaults are left out: the library `sklearn`, the weight 1, the first alternative as the default, a key equal to the
address, and the complete list of orders of a permutation. The key `line` is the source line of a part; a part without
it is on the line of the enclosing part. The texts of all these lines are included for messages.

A document may come from a stranger. Whatever would fail later is rejected here, with its path in the document.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from spacelang.ir.space import Constraint, Space
from spacelang.serialization.codec import (
    NAME,
    TEXT,
    ArrayCodec,
    JsonCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    Parts,
    ScalarCodec,
    UnionCodec,
)
from spacelang.serialization.definition_expressions import EXPRESSION
from spacelang.serialization.definition_nodes import NODE
from spacelang.serialization.definition_task import TASK
from spacelang.serialization.document_context import JsonObject, ReadingContext, WritingContext, read_source_lines
from spacelang.serialization.json_fields import DefinitionError
from spacelang.serialization.validation import validate
from spacelang.text import NO_SPAN

VERSION: Final = 1
"""The version of compiled documents; it is raised by every change that an older reader would misread."""

MAX_NESTING: Final = 400
"""The maximal nesting depth of objects and lists. A text may nest 64 brackets, and each needs about five levels."""


def to_json(space: Space) -> JsonObject:
    """Return the definition of a space as for `json.dump`, with `from_json(to_json(space)) == space`."""
    context = WritingContext((_main_file(space), 0))
    for constraint in space.constraints:
        if constraint.span.source is not NO_SPAN.source:
            # The definition contains the text of the constraint, so all of its lines are recorded.
            context.record_lines(constraint.span, constraint.span.line + _constraint_text(constraint).count("\n"))
    document = _DEFINITION.write(space, context)
    told = {file: {str(line): here[line] for line in sorted(here)} for file, here in sorted(context.lines.items())}
    return {**document, "lines": told} if told else document


def _main_file(space: Space) -> str:
    """Return the source file of the first part that has one; other parts state their file only if it differs."""
    things = chain((space.root,), (variable.node for variable in space.variables.values()), space.constraints)
    return next((each.span.source.name for each in things if each.span.source is not NO_SPAN.source), "")


def from_json(definition: object, path: str = "definition") -> Space:
    """Return the space that a definition describes.

    Raises DefinitionError, whose paths begin with `path`, for an invalid definition. Operators are not looked up in
    catalogues and constraints are not counted; the caller has to do both.
    """
    if _nesting(definition) > MAX_NESTING:
        raise DefinitionError(path, f"is nested more than {MAX_NESTING} levels deep")
    try:
        given = definition if isinstance(definition, dict) else {}
        lines = read_source_lines(given.get("lines", {}), f"{path}.lines")
        context = ReadingContext((TEXT.convert(given.get("file", ""), f"{path}.file"), 0), *lines)
        space = _DEFINITION.read(definition, path, context)
        validate(space, context.paths)
    except RecursionError:
        raise DefinitionError(path, "is nested too deeply") from None
    return space


def _nesting(document: object) -> int:
    """Return the nesting depth of a JSON value; stop counting soon after `MAX_NESTING`."""
    deepest, waiting = 0, [(document, 1)]
    while waiting and deepest <= MAX_NESTING:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner: Iterator[object] = iter(())
        if isinstance(value, dict | list):
            inner = iter(value.values() if isinstance(value, dict) else value)
        waiting.extend((item, depth + 1) for item in inner)
    return deepest


def _constraint_text(constraint: Constraint) -> str:
    """Return the source text of a constraint; empty if it has none."""
    return "" if constraint.span.source is NO_SPAN.source else constraint.span.text.replace("\r\n", "\n")


def _constraint(kind: str, about: str) -> ObjectCodec[Constraint]:
    def make(parts: Parts, path: str, context: ReadingContext) -> Constraint:
        context.paths.expressions.append((f"{path}.{kind}", parts["expression"]))
        span = context.span(parts["said"])
        return Constraint(replace(parts["expression"], span=span), kind == "forbid", span)

    keys = (
        ObjectKey(kind, EXPRESSION, part="expression"),
        ObjectKey("text", TEXT, "The source text of the constraint.", "", "said"),
    )
    return ObjectCodec(about, keys, make, lambda constraint: {"said": _constraint_text(constraint)}, has_span=True)


_CONSTRAINT: Final[JsonCodec[Constraint]] = NamedCodec(
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


def _space(parts: Parts, _: str, __: ReadingContext) -> Space:
    """Return the space; `from_json` has read `file` and `lines` before."""
    return Space(parts["name"], parts["root"], parts["constraints"], parts["title"], parts["task"])


_DEFINITION: Final = ObjectCodec(
    "The whole space after checking, with every name resolved and every bound a number. It can be loaded without "
    "its text.",
    (
        ObjectKey("name", NAME, "The name of the space."),
        ObjectKey("title", TEXT, "The title of the space.", ""),
        ObjectKey("file", TEXT, "The source file of the space, as the user named it.", ""),
        ObjectKey("root", NODE, "The pipeline."),
        ObjectKey("constraints", ArrayCodec(_CONSTRAINT), default=()),
        ObjectKey("task", TASK, default=None),
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

DEFINITION: Final[JsonCodec[Space]] = NamedCodec("definition", lambda: _DEFINITION)
