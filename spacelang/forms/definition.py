"""The whole space as JSON: the definition that every compiled document carries beside the form of its target.

`from_json` rebuilds exactly the same space of it, without the text and without a parser. The forms here describe it;
`python -m spacelang.api.schemas` writes `compiled.schema.json` of them, in the folder of the grammar, which documents
every key. What has a usual value is left out: the library `sklearn`, the weight 1, the first alternative as the
default, a key that is the address, the orders of a permutation where they are all there. A line says where the text has
a thing; one without it stands on the line of what it is in. The texts of these lines are there for messages.

A document is a stranger's: what would fail later is refused here, with its path.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from spacelang.forms.codec import NAME, TEXT, Defined, DocumentForm, Items, Key, KeyedObject, Parts, Scalar, TaggedUnion
from spacelang.forms.definition_expressions import EXPRESSION
from spacelang.forms.definition_nodes import NODE
from spacelang.forms.definition_task import TASK
from spacelang.forms.json_fields import DefinitionError
from spacelang.forms.soundness import check
from spacelang.forms.standing import Object, ReadingContext, WritingContext, told_lines
from spacelang.ir.space import Constraint, Space
from spacelang.text import NOWHERE

VERSION: Final = 1
"""Of compiled documents: what an older reader would misread raises it."""

MOST_NESTED: Final = 400
"""Objects and lists inside each other: some five for each bracket of a text, of which 64 may nest."""


def to_json(space: Space) -> Object:
    """The definition of a space as the JSON module takes it: `from_json(to_json(space)) == space`."""
    around = WritingContext((_file(space), 0))
    for constraint in space.constraints:
        if constraint.span.source is not NOWHERE.source:
            # Its text, which is there as well, is that of all its lines.
            around.mention(constraint.span, constraint.span.line + _said(constraint).count("\n"))
    document = _DEFINITION.write(space, around)
    told = {file: {str(line): here[line] for line in sorted(here)} for file, here in sorted(around.lines.items())}
    return {**document, "lines": told} if told else document


def _file(space: Space) -> str:
    """The file of the first step that a text says; the others mention theirs only where it is another one."""
    things = chain((space.root,), (variable.node for variable in space.variables.values()), space.constraints)
    return next((each.span.source.name for each in things if each.span.source is not NOWHERE.source), "")


def from_json(definition: object, path: str = "definition") -> Space:
    """The space that a definition is of; raises DefinitionError, whose paths begin with `path`, for what is none.

    Operators are not looked up and constraints not counted: that is left to who knows catalogues.
    """
    if _nesting(definition) > MOST_NESTED:
        raise DefinitionError(path, f"is nested more than {MOST_NESTED} deep")
    try:
        given = definition if isinstance(definition, dict) else {}
        lines = told_lines(given.get("lines", {}), f"{path}.lines")
        around = ReadingContext((TEXT.convert(given.get("file", ""), f"{path}.file"), 0), *lines)
        space = _DEFINITION.read(definition, path, around)
        check(space, around.paths)
    except RecursionError:
        raise DefinitionError(path, "is nested too deeply") from None
    return space


def _nesting(document: object) -> int:
    deepest, waiting = 0, [(document, 1)]
    while waiting and deepest <= MOST_NESTED:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner: Iterator[object] = iter(())
        if isinstance(value, dict | list):
            inner = iter(value.values() if isinstance(value, dict) else value)
        waiting.extend((item, depth + 1) for item in inner)
    return deepest


def _said(constraint: Constraint) -> str:
    """The text of a constraint."""
    return "" if constraint.span.source is NOWHERE.source else constraint.span.text.replace("\r\n", "\n")


def _constraint(kind: str, about: str) -> KeyedObject[Constraint]:
    def make(parts: Parts, path: str, around: ReadingContext) -> Constraint:
        around.paths.expressions.append((f"{path}.{kind}", parts["expression"]))
        span = around.span(parts["said"])
        return Constraint(replace(parts["expression"], span=span), kind == "forbid", span)

    keys = (Key(kind, EXPRESSION, of="expression"), Key("text", TEXT, "The constraint as it is written.", "", "said"))
    return KeyedObject(about, keys, make, lambda constraint: {"said": _said(constraint)}, placed=True)


_CONSTRAINT: Final[DocumentForm[Constraint]] = Defined(
    "constraint",
    lambda: TaggedUnion(
        "What no configuration may be, or what every one must; it applies where all hyperparameters that it names are "
        "active.",
        "a constraint",
        {
            "forbid": _constraint("forbid", "What no configuration may be."),
            "require": _constraint("require", "What every configuration must be."),
        },
        lambda constraint: "forbid" if constraint.forbidden else "require",
    ),
)
_LINES: Final[Object] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[0-9]+$"},
        "additionalProperties": {"type": "string"},
    },
}


def _space(parts: Parts, _: str, __: ReadingContext) -> Space:
    """The space; what its file and its lines say has been read before."""
    return Space(parts["name"], parts["root"], parts["constraints"], parts["title"], parts["task"])


_DEFINITION: Final = KeyedObject(
    "The whole space: what was checked, with every name resolved and every bound a number. It can be loaded without "
    "its text.",
    (
        Key("name", NAME, "The name of the space."),
        Key("title", TEXT, "The title of the space.", ""),
        Key("file", TEXT, "The file that the space was written in, as its user named it.", ""),
        Key("root", NODE, "The pipeline."),
        Key("constraints", Items(_CONSTRAINT), usual=()),
        Key("task", TASK, usual=None),
        Key(
            "lines",
            Scalar(lambda value, _: value, _LINES),
            "The texts of all lines that are mentioned, by file and number: messages show them.",
            None,
        ),
    ),
    _space,
    lambda space: {"file": _file(space), "lines": None},
)

DEFINITION: Final[DocumentForm[Space]] = Defined("definition", lambda: _DEFINITION)
