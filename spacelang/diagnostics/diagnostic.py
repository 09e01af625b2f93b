"""The base class of diagnostics: a stable code, a primary span, related spans and a remedy."""

import string
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal, Never, Self, dataclass_transform, get_origin

from spacelang.text import Span


class Severity(StrEnum):
    """The severity of a diagnostic: a space with errors cannot be used; a warning may be a mistake, a note is none."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """Another place in a text that is related to a problem, with a message."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """A text replacement that an editor can apply. Without a title, the new text describes it."""

    span: Span
    text: str
    title: str = ""


_REQUIRED: Final = object()


def _positional(*, kw_only: Literal[False]) -> Any:  # noqa: ARG001 - read by type checkers
    return _REQUIRED


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(_positional,))
class _Record:
    """A base class of frozen data classes that needs no generated methods. All fields but `primary` are keyword-only.

    The standard library compiles six methods for each data class. For all kinds of diagnostics, that took longer at
    every start than checking a file.
    """

    FIELDS: ClassVar[Mapping[str, object]] = {}  # The names of the fields with their defaults

    def __init_subclass__(cls) -> None:
        origins: dict[str, object] = {name: get_origin(annotation) for name, annotation in cls.__annotations__.items()}
        own = [name for name, origin in origins.items() if origin is not ClassVar]
        cls.FIELDS = {**cls.FIELDS, **{name: cls.__dict__.get(name, _REQUIRED) for name in own}}

    def __init__(self, primary: object = _REQUIRED, **values: object) -> None:
        known = {**self.FIELDS, "primary": primary, **values}
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
    """One problem in a text.

    Every kind of problem is a subclass. Its docstring is the long explanation that `spacelang explain` prints. The
    class attributes `MESSAGE`, `LABEL` and `HELPS` are templates that are filled in with the fields. `HELPS` are tried
    in order: the first one whose fields are all given (neither None nor empty) is the help.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    MESSAGE: ClassVar[str]
    LABEL: ClassVar[str] = ""
    HELPS: ClassVar[tuple[str, ...]] = ()
    primary: Span = _positional(kw_only=False)
    related: tuple[RelatedPlace, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The problem in one line: lowercase, without a full stop, names in backticks."""
        return self.MESSAGE.format_map(self._fields)

    @property
    def label(self) -> str:
        """A few words for the underlined place. May be empty."""
        return self.LABEL.format_map(self._fields)

    @property
    def help(self) -> str | None:
        """The remedy, or None if no template in `HELPS` has all of its fields."""
        known = self._fields
        for template in self.HELPS:
            names = [name for _, name, _, _ in string.Formatter().parse(template) if name]
            if all(known[name] not in (None, "") for name in names):
                return template.format_map(known)
        return None

    @property
    def fix(self) -> TextReplacement | None:
        """The replacement of the primary span by the name that the help suggests, or None."""
        near = self._fields.get("near")
        return TextReplacement(self.primary, str(near)) if near and f"`{near}`" in (self.help or "") else None

    def with_related(self, related: RelatedPlace) -> Self:
        """Return a copy of the diagnostic with one more related place."""
        return type(self)(**{**self.__dict__, "related": (*self.related, related)})

    def with_note(self, note: str) -> Self:
        """Return a copy of the diagnostic with one more note."""
        return type(self)(**{**self.__dict__, "notes": (*self.notes, note)})

    @property
    def _fields(self) -> dict[str, Any]:
        return self.__dict__


def sort_without_duplicates(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics without duplicates, sorted by file and position."""
    unique = dict.fromkeys(diagnostics)
    return tuple(sorted(unique, key=lambda d: (d.primary.source.name, d.primary.start, d.primary.end, d.code)))
