"""Codecs that write, read and describe (as JSON schema) the parts of a JSON document.

For example, `ObjectKey("weight", POSITIVE_NUMBER, "How good it is.", 1.0)` is a key with the default 1. It is left out
when a weight of 1 is written, read as 1 when it is missing, and optional in the JSON schema. The function that
constructs an object from its parts checks what a schema cannot express, such as a default outside of its domain.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, Protocol, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.ir.value import to_json as value_to_json
from spacelang.serialization import json_documents
from spacelang.serialization.json_documents import DefinitionError, JsonObject, ReadingContext, WritingContext

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
REQUIRED: Final = object()  # The marker for `default` of a key that must always be present


class JsonCodec(Protocol[T_co]):
    """A codec for one part of a JSON document."""

    def read(self, value: object, path: str, context: ReadingContext, /) -> T_co:
        """Return the object for a JSON value; raise DefinitionError with paths that begin with `path`."""

    def write(self, thing: Any, context: WritingContext, /) -> object:
        """Return the JSON value (as for `json.dump`) that represents an object; reading it gives an equal object."""

    def schema(self, defined: JsonObject, /) -> JsonObject:
        """Return the JSON schema of the values that `read` accepts; add the schemas of named parts to `defined`."""


@dataclass(frozen=True, slots=True)
class ScalarCodec(Generic[T]):
    """A codec for values without parts; `convert` checks a value at a path and converts it."""

    convert: Callable[[object, str], T]
    json_schema: JsonObject

    def read(self, value: object, path: str, _: ReadingContext) -> T:
        return self.convert(value, path)

    def write(self, thing: Any, _: WritingContext) -> object:
        return value_to_json(thing)

    def schema(self, _: JsonObject) -> JsonObject:
        return self.json_schema


@dataclass(frozen=True)
class SchemaDefinitionCodec(Generic[T]):
    """A codec that has a name in the `$defs` of the schema; it is created lazily, so it may contain itself."""

    name: str
    create: Callable[[], JsonCodec[T]]

    @cached_property
    def codec(self) -> JsonCodec[T]:
        """The wrapped codec, created at first use and then stored."""
        return self.create()

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        return self.codec.read(value, path, context)

    def write(self, thing: Any, context: WritingContext) -> object:
        return self.codec.write(thing, context)

    def schema(self, defined: JsonObject) -> JsonObject:
        if self.name not in defined:
            defined[self.name] = {}
            defined[self.name] = self.codec.schema(defined)
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(frozen=True, slots=True)
class ConversionCodec(Generic[T]):
    """A codec that wraps another one: `make` converts after reading, `take` converts back for writing."""

    codec: JsonCodec[Any]
    make: Callable[[Any], T]
    take: Callable[[T], object]

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        return self.make(self.codec.read(value, path, context))

    def write(self, thing: Any, context: WritingContext) -> object:
        return self.codec.write(self.take(thing), context)

    def schema(self, defined: JsonObject) -> JsonObject:
        return self.codec.schema(defined)


@dataclass(frozen=True, slots=True)
class ArrayCodec(Generic[T]):
    """A codec for a JSON array, read as a tuple, of `least` to `most` objects of one codec.

    `noun` is the plural noun for the objects in messages. The objects must be distinct if `distinct` is set.
    """

    codec: JsonCodec[T]
    least: int = 0
    most: int | None = None
    noun: str = "members"
    distinct: bool = False

    def read(self, value: object, path: str, context: ReadingContext) -> tuple[T, ...]:
        given = json_documents.expect_type(value, path, list, "a list")
        if not self.least <= len(given) <= (len(given) if self.most is None else self.most):
            at_most = f"at most {self.most}" if self.least != self.most else f"{self.most}"
            wanted = f"at least {self.least}" if len(given) < self.least < (self.most or len(given) + 2) else at_most
            raise DefinitionError(path, f"has {len(given)} {self.noun}, expected {wanted}")
        found = _read_all(self.codec, ((item, f"{path}[{place}]") for place, item in enumerate(given)), context)
        if self.distinct and (place := json_documents.first_duplicate_index(found)) is not None:
            raise DefinitionError(f"{path}[{place}]", f"repeats `{found[place]}`")
        return found

    def write(self, thing: Any, context: WritingContext) -> object:
        return [self.codec.write(item, context) for item in thing]

    def schema(self, defined: JsonObject) -> JsonObject:
        limits = {"minItems": self.least, "maxItems": self.most, "uniqueItems": self.distinct}
        return {"type": "array", "items": self.codec.schema(defined), **{key: n for key, n in limits.items() if n}}


@dataclass(frozen=True, slots=True)
class MappingCodec(Generic[T]):
    """A codec for a JSON object with any keys that `check_name` accepts, read as a tuple of (key, value) pairs."""

    codec: JsonCodec[T]
    check_name: Callable[[object, str], str]

    def read(self, value: object, path: str, context: ReadingContext) -> tuple[tuple[str, T], ...]:
        given = json_documents.expect_object(value, path)
        names = [self.check_name(name, path) for name in given]
        things = _read_all(self.codec, ((each, f"{path}.{name}") for name, each in given.items()), context)
        return tuple(zip(names, things, strict=True))

    def write(self, thing: Any, context: WritingContext) -> object:
        return {name: self.codec.write(each, context) for name, each in thing}

    def schema(self, defined: JsonObject) -> JsonObject:
        return {"type": "object", "additionalProperties": self.codec.schema(defined)}


def _read_all(form: JsonCodec[T], values: Iterable[tuple[object, str]], context: ReadingContext) -> tuple[T, ...]:
    """Return the objects read from (value, path) pairs.

    Raise a DefinitionError that contains the error of each value.
    """
    found: list[T] = []
    wrong: list[DefinitionError] = []
    for value, path in values:
        try:
            found.append(form.read(value, path, context))
        except DefinitionError as error:
            wrong.append(error)
    if wrong:
        raise json_documents.combine_errors(wrong)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """A key of a JSON object, for the part named `part` (by default as the key).

    A part that equals `default` is not written. The key is required if `default` is `REQUIRED`.
    """

    name: str
    codec: JsonCodec[Any]
    description: str = ""
    default: object = REQUIRED
    part: str = ""

    def schema(self, defined: JsonObject) -> JsonObject:
        """Return the schema of the value, with `description` as its description."""
        return {**self.codec.schema(defined), **({"description": self.description} if self.description else {})}


Parts = dict[str, Any]  # The values read for the keys of an object, with the default for each key that is left out


@dataclass(frozen=True)
class ObjectCodec(Generic[T]):
    """A codec for a JSON object with a fixed set of keys.

    `make` constructs an object from its parts, its path and the context; `take` returns the parts that are not
    attributes of the object. If `has_span`, objects have a source span, which is written as the keys `file` and `line`.
    """

    description: str
    keys: tuple[ObjectKey, ...]
    make: Callable[[Parts, str, ReadingContext], T]
    take: Callable[[T], Mapping[str, Any]] | None = None
    has_span: bool = False
    extra_schema: JsonObject = field(default_factory=dict)  # Further entries of the JSON schema

    @cached_property
    def all_keys(self) -> tuple[ObjectKey, ...]:
        """All keys: `keys`, and if `has_span` also `file` and `line`."""
        return (*self.keys, *POSITION_KEYS) if self.has_span else self.keys

    @cached_property
    def _known(self) -> dict[str, ObjectKey]:
        return {key.name: key for key in self.all_keys}

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        given = json_documents.expect_object(value, path)
        wrong = [*json_documents.check_keys(given, path, self._known)]
        if self.has_span:
            context = context.part_context(given, path)
        parts: Parts = {}
        for key in self.keys:
            name = key.name
            if name in given:
                try:
                    parts[key.part or name] = key.codec.read(given[name], f"{path}.{name}", context)
                except DefinitionError as error:
                    wrong.append(error)
            elif key.default is REQUIRED:
                wrong.append(DefinitionError(path, f"has no `{name}`"))
            else:
                parts[key.part or name] = key.default
        if wrong:
            raise json_documents.combine_errors(wrong)
        return self.make(parts, path, context)

    def write(self, thing: Any, context: WritingContext) -> JsonObject:
        where, context = context.location_keys_and_part_context(thing.span) if self.has_span else ({}, context)
        own = {} if self.take is None else self.take(thing)
        written: JsonObject = {}
        for key in self.keys:
            of = key.part or key.name
            part = own[of] if of in own else getattr(thing, of)
            if key.default is REQUIRED or part != key.default:
                written[key.name] = key.codec.write(part, context)
        return {**written, **where}

    def schema(self, defined: JsonObject) -> JsonObject:
        return {
            "description": self.description,
            "type": "object",
            "properties": {key.name: key.schema(defined) for key in self.all_keys},
            "required": [key.name for key in self.keys if key.default is REQUIRED],
            "additionalProperties": False,
            **self.extra_schema,
        }


def object_codec_with_schema_name(
    name: str,
    description: str,
    keys: tuple[ObjectKey, ...],
    make: Callable[[Parts, str, ReadingContext], T],
    take: Callable[[T], Mapping[str, Any]] | None = None,
    **others: Any,
) -> SchemaDefinitionCodec[T]:
    """Return an `ObjectCodec` that has a name in the `$defs` of the schema."""
    codec = ObjectCodec(description, keys, make, take, **others)
    return SchemaDefinitionCodec(name, lambda: codec)


def call_with_parts(kind: Callable[..., T]) -> Callable[[Parts, str, ReadingContext], T]:
    """Return a function that calls `kind` with the parts as keyword arguments."""
    return lambda parts, _, __: kind(**parts)


def call_with_parts_and_span(kind: Callable[..., T]) -> Callable[[Parts, str, ReadingContext], T]:
    """Return a function that calls `kind` with the parts and the source span as keyword arguments."""
    return lambda parts, _, context: kind(**parts, span=context.span_in_current_line())


@dataclass(frozen=True, slots=True)
class UnionCodec(Generic[T]):
    """A codec for objects of several kinds, each identified by a key of its own.

    `tag_of` returns the key for an object. `untagged`, if given, reads JSON values that are not objects; `tag_of` then
    returns an empty string for what `untagged` writes. `noun` describes an object in messages.
    """

    description: str
    noun: str
    kinds: Mapping[str, JsonCodec[T]]
    tag_of: Callable[[T], str]
    untagged: JsonCodec[T] | None = None

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        if self.untagged is not None and not isinstance(value, dict):
            return self.untagged.read(value, path, context)
        return self.kinds[json_documents.find_kind_key(value, path, self.kinds, self.noun)].read(value, path, context)

    def write(self, thing: Any, context: WritingContext) -> object:
        kind = self.tag_of(thing)
        form = self.kinds[kind] if kind else self.untagged
        assert form is not None
        return form.write(thing, context)

    def schema(self, defined: JsonObject) -> JsonObject:
        forms = [*self.kinds.values()] if self.untagged is None else [self.untagged, *self.kinds.values()]
        about = {"description": self.description} if self.description else {}
        return {**about, "anyOf": [form.schema(defined) for form in forms]}


TEXT: Final = ScalarCodec(json_documents.expect_string, {"type": "string"})
NAME: Final = ScalarCodec(json_documents.expect_name, {"type": "string", "minLength": 1})
PLAIN_WORD: Final = ScalarCodec(json_documents.expect_plain_word, NAME.json_schema)
DECISION_NAME: Final = ScalarCodec(json_documents.expect_decision_name, NAME.json_schema)
PARAMETER_NAME: Final = ScalarCodec(json_documents.expect_parameter_name, NAME.json_schema)
HYPERPARAMETER_NAME: Final = ScalarCodec(json_documents.expect_hyperparameter_name, NAME.json_schema)
BOOLEAN: Final = ScalarCodec(json_documents.expect_boolean, {"type": "boolean"})
FLOAT: Final = ScalarCodec(json_documents.expect_float, {"type": "number"})
POSITIVE_NUMBER: Final = ScalarCodec(json_documents.expect_positive_number, {"type": "number", "exclusiveMinimum": 0})
POSITIVE_FLOAT: Final = ScalarCodec(json_documents.expect_positive_float, POSITIVE_NUMBER.json_schema)
_VALUE: Final = ScalarCodec(
    json_documents.expect_value,
    {
        "description": "A value of a hyperparameter: null, a boolean, a number, a string, or a list that stands "
        "for a tuple of values.",
        "anyOf": [
            {"type": ["null", "boolean", "number", "string"]},
            {"type": "array", "items": {"$ref": "#/$defs/value"}},
        ],
    },
)
VALUE: Final = SchemaDefinitionCodec("value", lambda: _VALUE)
CONFIGURATION: Final = ConversionCodec(
    MappingCodec(VALUE, json_documents.expect_string),
    lambda pairs: Configuration(dict(pairs)),
    lambda each: [*each.items()],
)
_LINE: Final = ScalarCodec(
    json_documents.expect_line_number,
    {
        "description": "A line number, counted from 1; `lines` has the text of the line.",
        "type": "integer", "minimum": 1, "maximum": json_documents.MAX_LINES,
    },
)  # fmt: skip
_LINE_ABOUT: Final = "The source line of this object; by default that of the enclosing object."
POSITION_KEYS: Final = (
    ObjectKey("file", TEXT, "The file that contains the line; by default that of the enclosing object.", None),
    ObjectKey("line", SchemaDefinitionCodec("line", lambda: _LINE), _LINE_ABOUT, None),
)


def integer_codec(least: int) -> ScalarCodec[int]:
    """Return a codec for integers of at least `least`."""
    return ScalarCodec(
        lambda value, path: json_documents.expect_integer(value, path, least), {"type": "integer", "minimum": least}
    )


def kind_codec(kind: str) -> ScalarCodec[str]:
    """Return a codec for the name of the only kind of document that is read."""

    def read(value: object, path: str) -> str:
        if json_documents.expect_string(value, path) != kind:
            raise DefinitionError(path, f"is `{value}`, but must be `{kind}`")
        return kind

    return ScalarCodec(read, {"const": kind})


def version_codec(version: int) -> ScalarCodec[int]:
    """Return a codec for the only version of a document's format that is read."""

    def read(value: object, path: str) -> int:
        if json_documents.expect_integer(value, path, 1) != version:
            what = f"is {value}, but this version of spacelang reads only version {version}"
            raise DefinitionError(path, what, "upgrade spacelang")
        return version

    return ScalarCodec(read, {"const": version})


def word_codec(*known: str) -> ScalarCodec[str]:
    """Return a codec for strings that must be one of some words."""
    return ScalarCodec(lambda value, path: json_documents.expect_one_of(value, path, known), {"enum": [*known]})
