"""What a diagnostic is: data with a stable code, one primary span, related spans and a remedy."""

import string
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, Never, Self, dataclass_transform, get_origin

from spacelang.text import Span


class Severity(StrEnum):
    """Errors keep a space from being used; warnings do not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that has to do with a problem."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement that an editor can apply; without a title its text says all about it."""

    span: Span
    text: str
    title: str = ""


_REQUIRED: Final = object()


def _is_of_class(annotation: object) -> bool:
    origin: object = get_origin(annotation)
    return origin is ClassVar


@dataclass_transform(kw_only_default=True, frozen_default=True)
class _Record:
    """Frozen keyword-only data classes by inheritance, made without compiling methods for each of them.

    The standard library compiles six methods a class, which for all kinds of diagnostics took longer at every start
    than checking a file.
    """

    FIELDS: ClassVar[Mapping[str, object]] = {}
    """The names of the fields with their defaults."""

    def __init_subclass__(cls) -> None:
        own = [name for name, annotation in cls.__annotations__.items() if not _is_of_class(annotation)]
        cls.FIELDS = {**cls.FIELDS, **{name: cls.__dict__.get(name, _REQUIRED) for name in own}}

    def __init__(self, **values: object) -> None:
        known = {**self.FIELDS, **values}
        if len(known) > len(self.FIELDS) or _REQUIRED in known.values():
            wrong = [name for name, value in known.items() if name not in self.FIELDS or value is _REQUIRED]
            raise TypeError(f"{type(self).__name__}: missing or unknown {', '.join(wrong)}")
        self.__dict__.update(known)

    def __setattr__(self, name: str, value: object) -> Never:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class Diagnostic(_Record):
    """One problem; every kind is a class of its own, whose docstring explains it at length.

    A kind's texts are templates over its fields. `HELPS` are tried in order: the first of which all fields are
    there (neither None nor empty) is the help.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    MESSAGE: ClassVar[str]
    LABEL: ClassVar[str] = ""
    HELPS: ClassVar[tuple[str, ...]] = ()

    primary: Span
    related: tuple[Related, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What is wrong: lowercase, no full stop, names in backticks."""
        return self.MESSAGE.format_map(self._fields)

    @property
    def label(self) -> str:
        """A few words for the underlined place; may be empty."""
        return self.LABEL.format_map(self._fields)

    @property
    def help(self) -> str | None:
        """The remedy, where one is known."""
        known = self._fields
        for template in self.HELPS:
            names = [name for _, name, _, _ in string.Formatter().parse(template) if name]
            if all(known[name] not in (None, "") for name in names):
                return template.format_map(known)
        return None

    @property
    def fix(self) -> Fix | None:
        """The replacement of the primary span by a near name, where the help is one; see `fixes` for all there are."""
        near = self._fields.get("near")
        return Fix(self.primary, str(near)) if near and f"`{near}`" in (self.help or "") else None

    def with_related(self, related: Related) -> Self:
        """The same problem with one more place that has to do with it."""
        return type(self)(**{**self.__dict__, "related": (*self.related, related)})

    @property
    def _fields(self) -> dict[str, Any]:
        return self.__dict__


def in_order(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Diagnostics by file and position, each once."""
    unique = dict.fromkeys(diagnostics)
    return tuple(sorted(unique, key=lambda d: (d.primary.source.name, d.primary.start, d.primary.end, d.code)))
