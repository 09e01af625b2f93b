"""Forms: each says once what a part of a JSON document looks like, and so writes, reads and describes it.

A record with `Key("weight", ABOVE_ZERO, "How good it is.", 1.0)` leaves a weight of 1 out where it writes, takes 1 for
one that is left out where it reads, and has a property in its JSON schema that need not be there. What a schema cannot
say, such as that a default lies in its domain, is for the function that makes a thing of its parts.
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
"""What is usual of a key that is never left out."""


class DocumentForm(Protocol[T_co]):
    """What a part of a document looks like."""

    def read(self, value: object, path: str, around: ReadingContext, /) -> T_co:
        """What a value stands for; raises DefinitionError, whose paths begin with `path`, for what has another form."""

    def write(self, thing: Any, around: WritingContext, /) -> object:
        """The value that stands for a thing, as the JSON module takes it: read, it is the same thing again."""

    def schema(self, defined: Object, /) -> Object:
        """The JSON schema of what is read; those of parts that have names go into `defined`."""


@dataclass(frozen=True, slots=True)
class Scalar(Generic[T]):
    """A value that has no parts with forms of their own."""

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
    """A form that a schema has under a name, and that may be inside of itself."""

    name: str
    made: Callable[[], DocumentForm[T]]

    @cached_property
    def form(self) -> DocumentForm[T]:
        """The form itself."""
        return self.made()

    def read(self, value: object, path: str, around: ReadingContext) -> T:
        return self.form.read(value, path, around)

    def write(self, thing: Any, around: WritingContext) -> object:
        return self.form.write(thing, around)

    def schema(self, defined: Object) -> Object:
        if self.name not in defined:
            defined[self.name] = {}
            defined[self.name] = self.form.schema(defined)
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(frozen=True, slots=True)
class Via(Generic[T]):
    """What `make` makes of a thing that has a form; `take` leads back."""

    form: DocumentForm[Any]
    make: Callable[[Any], T]
    take: Callable[[T], object]

    def read(self, value: object, path: str, around: ReadingContext) -> T:
        return self.make(self.form.read(value, path, around))

    def write(self, thing: Any, around: WritingContext) -> object:
        return self.form.write(self.take(thing), around)

    def schema(self, defined: Object) -> Object:
        return self.form.schema(defined)


# ---- several of one form


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """A list, a tuple where it is read, of so many things of one form; `called` is what messages call them."""

    form: DocumentForm[T]
    least: int = 0
    most: int | None = None
    called: str = "members"
    distinct: bool = False

    def read(self, value: object, path: str, around: ReadingContext) -> tuple[T, ...]:
        given = of_kind(value, path, list, "a list")
        if not self.least <= len(given) <= (len(given) if self.most is None else self.most):
            at_most = f"at most {self.most}" if self.least != self.most else f"{self.most}"
            wanted = f"{self.least} or more" if len(given) < self.least < (self.most or len(given) + 2) else at_most
            raise DefinitionError(path, f"has {len(given)} {self.called} where {wanted} should be")
        found = _all_read(self.form, ((item, f"{path}[{place}]") for place, item in enumerate(given)), around)
        if self.distinct and (place := twice(found)) is not None:
            raise DefinitionError(f"{path}[{place}]", f"is one more `{found[place]}`")
        return found

    def write(self, thing: Any, around: WritingContext) -> object:
        return [self.form.write(item, around) for item in thing]

    def schema(self, defined: Object) -> Object:
        limits = {"minItems": self.least, "maxItems": self.most, "uniqueItems": self.distinct}
        return {"type": "array", "items": self.form.schema(defined), **{key: n for key, n in limits.items() if n}}


@dataclass(frozen=True, slots=True)
class Members(Generic[T]):
    """An object, pairs where it is read, of things of one form under names that `called` lets pass."""

    form: DocumentForm[T]
    called: Callable[[object, str], str]

    def read(self, value: object, path: str, around: ReadingContext) -> tuple[tuple[str, T], ...]:
        given = members(value, path)
        names = [self.called(name, path) for name in given]
        things = _all_read(self.form, ((each, f"{path}.{name}") for name, each in given.items()), around)
        return tuple(zip(names, things, strict=True))

    def write(self, thing: Any, around: WritingContext) -> object:
        return {name: self.form.write(each, around) for name, each in thing}

    def schema(self, defined: Object) -> Object:
        return {"type": "object", "additionalProperties": self.form.schema(defined)}


def _all_read(form: DocumentForm[T], values: Iterable[tuple[object, str]], around: ReadingContext) -> tuple[T, ...]:
    """The things that values at their paths stand for; what is wrong with any of them is told together."""
    found: list[T] = []
    wrong: list[DefinitionError] = []
    for value, path in values:
        try:
            found.append(form.read(value, path, around))
        except DefinitionError as error:
            wrong.append(error)
    if wrong:
        raise together(wrong)
    return tuple(found)


# ---- objects


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an object: it stands for the part `of`, called as it is if empty, and left out where that is usual."""

    name: str
    form: DocumentForm[Any]
    about: str = ""
    usual: object = NEEDED
    of: str = ""

    def schema(self, defined: Object) -> Object:
        """That of its form, with what it is about."""
        return {**self.form.schema(defined), **({"description": self.about} if self.about else {})}


Parts = dict[str, Any]
"""What the keys of an object stand for; where one is left out, what is usual."""


@dataclass(frozen=True)
class KeyedObject(Generic[T]):
    """An object with these keys and no others; `make` leads from its parts to the thing, `take` to those of its parts
    that are not its attributes. What is `placed` has a span: its last keys are a file and a line.
    """

    about: str
    keys: tuple[Key, ...]
    make: Callable[[Parts, str, ReadingContext], T]
    take: Callable[[T], Mapping[str, Any]] | None = None
    placed: bool = False
    beyond: Object = field(default_factory=dict)
    """What the schema says beside its keys."""

    @cached_property
    def all_keys(self) -> tuple[Key, ...]:
        """The keys, with those of its place."""
        return (*self.keys, *PLACE) if self.placed else self.keys

    @cached_property
    def _known(self) -> dict[str, Key]:
        return {key.name: key for key in self.all_keys}

    def read(self, value: object, path: str, around: ReadingContext) -> T:
        given = members(value, path)
        wrong = [*check_keys(given, path, self._known)]
        if self.placed:
            around = around.inside(given, path)
        parts: Parts = {}
        for key in self.keys:
            name = key.name
            if name in given:
                try:
                    parts[key.of or name] = key.form.read(given[name], f"{path}.{name}", around)
                except DefinitionError as error:
                    wrong.append(error)
            elif key.usual is NEEDED:
                wrong.append(DefinitionError(path, f"has no `{name}`"))
            else:
                parts[key.of or name] = key.usual
        if wrong:
            raise together(wrong)
        return self.make(parts, path, around)

    def write(self, thing: Any, around: WritingContext) -> Object:
        where, around = around.inside(thing.span) if self.placed else ({}, around)
        own = {} if self.take is None else self.take(thing)
        written: Object = {}
        for key in self.keys:
            of = key.of or key.name
            part = own[of] if of in own else getattr(thing, of)
            if key.usual is NEEDED or part != key.usual:
                written[key.name] = key.form.write(part, around)
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
    """Makes things whose attributes are the parts."""
    return lambda parts, _, __: kind(**parts)


def made_there(kind: Callable[..., T]) -> Callable[[Parts, str, ReadingContext], T]:
    """Makes things with a span."""
    return lambda parts, _, around: kind(**parts, span=around.span())


@dataclass(frozen=True, slots=True)
class TaggedUnion(Generic[T]):
    """Objects of several kinds, each with a key of its own; `which` is the key for a thing.

    What is no object is `plain`, and so is what has no such key, if there is something plain.
    """

    about: str
    what: str
    kinds: Mapping[str, DocumentForm[T]]
    which: Callable[[T], str]
    plain: DocumentForm[T] | None = None

    def read(self, value: object, path: str, around: ReadingContext) -> T:
        if self.plain is not None and not isinstance(value, dict):
            return self.plain.read(value, path, around)
        return self.kinds[one_of(value, path, self.kinds, self.what)].read(value, path, around)

    def write(self, thing: Any, around: WritingContext) -> object:
        kind = self.which(thing)
        form = self.kinds[kind] if kind else self.plain
        assert form is not None
        return form.write(thing, around)

    def schema(self, defined: Object) -> Object:
        forms = [*self.kinds.values()] if self.plain is None else [self.plain, *self.kinds.values()]
        about = {"description": self.about} if self.about else {}
        return {**about, "anyOf": [form.schema(defined) for form in forms]}


# ---- what other forms are made of

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
            "description": "A value of a hyperparameter: none, true or false, a number, a word, or a tuple of values "
            "as a list.",
            "anyOf": [
                {"type": ["null", "boolean", "number", "string"]},
                {"type": "array", "items": {"$ref": "#/$defs/value"}},
            ],
        },
    ),
)
PLACE: Final = (
    Key("file", TEXT, "The file that the line is in, where it is not that of what is around.", None),
    Key(
        "line",
        Defined(
            "line",
            lambda: Scalar(
                line,
                {
                    "description": "A line of a file, counted from 1; `lines` has its text.",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_LINES,
                },
            ),
        ),
        "The line where the text has this, where it is not that of what is around.",
        None,
    ),
)


def at_least(least: int) -> Scalar[int]:
    """Integers from a least one on."""
    return Scalar(lambda value, path: whole(value, path, least), {"type": "integer", "minimum": least})


def words(*known: str) -> Scalar[str]:
    """One of some words."""
    return Scalar(lambda value, path: word(value, path, known), {"enum": [*known]})
