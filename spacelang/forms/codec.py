"""Codecs that write, read and describe (as JSON schema) the parts of a JSON document.

For example, `Key("weight", ABOVE_ZERO, "How good it is.", 1.0)` is a key with the default 1. It is left out when a
weight of 1 is written, read as 1 when it is missing, and optional in the JSON schema. The function that constructs an
object from its parts checks what a schema cannot express, such as a default outside of its domain.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, Protocol, TypeVar

from spacelang.forms.json_fields import (
    DefinitionError,
    above_zero,
    check_keys,
    flag,
    members,
    name,
    of_kind,
    one_of,
    parameter,
    plain,
    positive,
    real,
    term,
    text,
    together,
    twice,
    whole,
    word,
)
from spacelang.forms.standing import MOST_LINES, Object, ReadingContext, WritingContext, line
from spacelang.ir.value import to_json as value_to_json

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NEEDED: Final = object()
"""The marker for `usual` of a key that must always be present."""


class DocumentForm(Protocol[T_co]):
    """A codec for one part of a JSON document."""

    def read(self, value: object, path: str, context: ReadingContext, /) -> T_co:
        """Return the object that a JSON value represents.

        Raises DefinitionError, whose paths begin with `path`, for an invalid value.
        """

    def write(self, thing: Any, context: WritingContext, /) -> object:
        """Return the JSON value (as for `json.dump`) that represents an object; reading it gives an equal object."""

    def schema(self, defined: Object, /) -> Object:
        """Return the JSON schema of the values that `read` accepts; add the schemas of named parts to `defined`."""


@dataclass(frozen=True, slots=True)
class Scalar(Generic[T]):
    """A codec for values without parts; `convert` checks a value at a path and converts it."""

    convert: Callable[[object, str], T]
    described: Object

    def read(self, value: object, path: str, _: ReadingContext) -> T:
        return self.convert(value, path)

    def write(self, thing: Any, _: WritingContext) -> object:
        return value_to_json(thing)

    def schema(self, _: Object) -> Object:
        return self.described


@dataclass(frozen=True)
class Defined(Generic[T]):
    """A codec that has a name in the `$defs` of the schema; it is created lazily, so it may contain itself."""

    name: str
    made: Callable[[], DocumentForm[T]]

    @cached_property
    def form(self) -> DocumentForm[T]:
        """The codec itself, created at first use."""
        return self.made()

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        return self.form.read(value, path, context)

    def write(self, thing: Any, context: WritingContext) -> object:
        return self.form.write(thing, context)

    def schema(self, defined: Object) -> Object:
        if self.name not in defined:
            defined[self.name] = {}
            defined[self.name] = self.form.schema(defined)
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(frozen=True, slots=True)
class Via(Generic[T]):
    """A codec that wraps another one: `make` converts after reading, `take` converts back for writing."""

    form: DocumentForm[Any]
    make: Callable[[Any], T]
    take: Callable[[T], object]

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        return self.make(self.form.read(value, path, context))

    def write(self, thing: Any, context: WritingContext) -> object:
        return self.form.write(self.take(thing), context)

    def schema(self, defined: Object) -> Object:
        return self.form.schema(defined)


# ---- arrays and mappings


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """A codec for a JSON array, read as a tuple, of `least` to `most` objects of one codec.

    `called` is the plural noun for the objects in messages. The objects must be distinct if `distinct` is set.
    """

    form: DocumentForm[T]
    least: int = 0
    most: int | None = None
    called: str = "members"
    distinct: bool = False

    def read(self, value: object, path: str, context: ReadingContext) -> tuple[T, ...]:
        given = of_kind(value, path, list, "a list")
        if not self.least <= len(given) <= (len(given) if self.most is None else self.most):
            at_most = f"at most {self.most}" if self.least != self.most else f"{self.most}"
            wanted = f"at least {self.least}" if len(given) < self.least < (self.most or len(given) + 2) else at_most
            raise DefinitionError(path, f"has {len(given)} {self.called}, expected {wanted}")
        found = _all_read(self.form, ((item, f"{path}[{place}]") for place, item in enumerate(given)), context)
        if self.distinct and (place := twice(found)) is not None:
            raise DefinitionError(f"{path}[{place}]", f"repeats `{found[place]}`")
        return found

    def write(self, thing: Any, context: WritingContext) -> object:
        return [self.form.write(item, context) for item in thing]

    def schema(self, defined: Object) -> Object:
        limits = {"minItems": self.least, "maxItems": self.most, "uniqueItems": self.distinct}
        return {"type": "array", "items": self.form.schema(defined), **{key: n for key, n in limits.items() if n}}


@dataclass(frozen=True, slots=True)
class Members(Generic[T]):
    """A codec for a JSON object with arbitrary keys, read as a tuple of pairs of name and value.

    `called` checks a name and raises DefinitionError for an invalid one.
    """

    form: DocumentForm[T]
    called: Callable[[object, str], str]

    def read(self, value: object, path: str, context: ReadingContext) -> tuple[tuple[str, T], ...]:
        given = members(value, path)
        names = [self.called(name, path) for name in given]
        things = _all_read(self.form, ((each, f"{path}.{name}") for name, each in given.items()), context)
        return tuple(zip(names, things, strict=True))

    def write(self, thing: Any, context: WritingContext) -> object:
        return {name: self.form.write(each, context) for name, each in thing}

    def schema(self, defined: Object) -> Object:
        return {"type": "object", "additionalProperties": self.form.schema(defined)}


def _all_read(form: DocumentForm[T], values: Iterable[tuple[object, str]], context: ReadingContext) -> tuple[T, ...]:
    """Return the objects read from values at their paths; raise one DefinitionError for all invalid values."""
    found: list[T] = []
    wrong: list[DefinitionError] = []
    for value, path in values:
        try:
            found.append(form.read(value, path, context))
        except DefinitionError as error:
            wrong.append(error)
    if wrong:
        raise together(wrong)
    return tuple(found)


# ---- objects


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a JSON object.

    Its value is the part `of` of the object (by default the part with the name of the key). The key is left out if the
    part equals `usual`; a key whose `usual` is `NEEDED` is required.
    """

    name: str
    form: DocumentForm[Any]
    about: str = ""
    usual: object = NEEDED
    of: str = ""

    def schema(self, defined: Object) -> Object:
        """Return the schema of the value, with `about` as its description."""
        return {**self.form.schema(defined), **({"description": self.about} if self.about else {})}


Parts = dict[str, Any]
"""The values read for the keys of an object, with the default for each key that is left out."""


@dataclass(frozen=True)
class KeyedObject(Generic[T]):
    """A codec for a JSON object with a fixed set of keys.

    `make` constructs an object from its parts, its path and the context. `take` returns the parts that are not
    attributes of the object. If `placed` is set, objects have a source span, which is written as the keys `file` and
    `line`.
    """

    about: str
    keys: tuple[Key, ...]
    make: Callable[[Parts, str, ReadingContext], T]
    take: Callable[[T], Mapping[str, Any]] | None = None
    placed: bool = False
    beyond: Object = field(default_factory=dict)
    """Further entries of the JSON schema."""

    @cached_property
    def all_keys(self) -> tuple[Key, ...]:
        """The keys, including those of the source position."""
        return (*self.keys, *PLACE) if self.placed else self.keys

    @cached_property
    def _known(self) -> dict[str, Key]:
        """The keys by name."""
        return {key.name: key for key in self.all_keys}

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        given = members(value, path)
        wrong = [*check_keys(given, path, self._known)]
        if self.placed:
            context = context.inside(given, path)
        parts: Parts = {}
        for key in self.keys:
            name = key.name
            if name in given:
                try:
                    parts[key.of or name] = key.form.read(given[name], f"{path}.{name}", context)
                except DefinitionError as error:
                    wrong.append(error)
            elif key.usual is NEEDED:
                wrong.append(DefinitionError(path, f"has no `{name}`"))
            else:
                parts[key.of or name] = key.usual
        if wrong:
            raise together(wrong)
        return self.make(parts, path, context)

    def write(self, thing: Any, context: WritingContext) -> Object:
        where, context = context.inside(thing.span) if self.placed else ({}, context)
        own = {} if self.take is None else self.take(thing)
        written: Object = {}
        for key in self.keys:
            of = key.of or key.name
            part = own[of] if of in own else getattr(thing, of)
            if key.usual is NEEDED or part != key.usual:
                written[key.name] = key.form.write(part, context)
        return {**written, **where}

    def schema(self, defined: Object) -> Object:
        return {
            "description": self.about,
            "type": "object",
            "properties": {key.name: key.schema(defined) for key in self.all_keys},
            "required": [key.name for key in self.keys if key.usual is NEEDED],
            "additionalProperties": False,
            **self.beyond,
        }


def made(kind: Callable[..., T]) -> Callable[[Parts, str, ReadingContext], T]:
    """Return a function that calls `kind` with the parts as keyword arguments."""
    return lambda parts, _, __: kind(**parts)


def made_there(kind: Callable[..., T]) -> Callable[[Parts, str, ReadingContext], T]:
    """Return a function that calls `kind` with the parts and the source span as keyword arguments."""
    return lambda parts, _, context: kind(**parts, span=context.span())


@dataclass(frozen=True, slots=True)
class TaggedUnion(Generic[T]):
    """A codec for objects of several kinds, each identified by a key of its own.

    `which` returns the key for an object. `plain`, if given, reads JSON values that are not objects; `which` then
    returns an empty string for what `plain` writes. `what` describes an object in messages.
    """

    about: str
    what: str
    kinds: Mapping[str, DocumentForm[T]]
    which: Callable[[T], str]
    plain: DocumentForm[T] | None = None

    def read(self, value: object, path: str, context: ReadingContext) -> T:
        if self.plain is not None and not isinstance(value, dict):
            return self.plain.read(value, path, context)
        return self.kinds[one_of(value, path, self.kinds, self.what)].read(value, path, context)

    def write(self, thing: Any, context: WritingContext) -> object:
        kind = self.which(thing)
        form = self.kinds[kind] if kind else self.plain
        assert form is not None
        return form.write(thing, context)

    def schema(self, defined: Object) -> Object:
        forms = [*self.kinds.values()] if self.plain is None else [self.plain, *self.kinds.values()]
        about = {"description": self.about} if self.about else {}
        return {**about, "anyOf": [form.schema(defined) for form in forms]}


# ---- building blocks of other codecs

TEXT: Final = Scalar(text, {"type": "string"})
NAME: Final = Scalar(name, {"type": "string", "minLength": 1})
TERM: Final = Scalar(term, NAME.described)
PARAMETER: Final = Scalar(parameter, NAME.described)
FLAG: Final = Scalar(flag, {"type": "boolean"})
REAL: Final = Scalar(real, {"type": "number"})
ABOVE_ZERO: Final = Scalar(above_zero, {"type": "number", "exclusiveMinimum": 0})
POSITIVE: Final = Scalar(positive, ABOVE_ZERO.described)
VALUE: Final = Defined(
    "value",
    lambda: Scalar(
        plain,
        {
            "description": "A value of a hyperparameter: null, a boolean, a number, a string, or a list that stands "
            "for a tuple of values.",
            "anyOf": [
                {"type": ["null", "boolean", "number", "string"]},
                {"type": "array", "items": {"$ref": "#/$defs/value"}},
            ],
        },
    ),
)
PLACE: Final = (
    Key("file", TEXT, "The file that contains the line; by default that of the enclosing object.", None),
    Key(
        "line",
        Defined(
            "line",
            lambda: Scalar(
                line,
                {
                    "description": "A line number, counted from 1; `lines` has the text of the line.",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_LINES,
                },
            ),
        ),
        "The source line of this object; by default that of the enclosing object.",
        None,
    ),
)


def at_least(least: int) -> Scalar[int]:
    """Return a codec for integers of at least `least`."""
    return Scalar(lambda value, path: whole(value, path, least), {"type": "integer", "minimum": least})


def words(*known: str) -> Scalar[str]:
    """Return a codec for strings that must be one of some words."""
    return Scalar(lambda value, path: word(value, path, known), {"enum": [*known]})
