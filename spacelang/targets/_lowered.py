"""What every target returns: its form, the way down, the way back, and what it could not keep."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.text import NOWHERE, Span


class Status(StrEnum):
    """How well a form keeps a construct of the space.

    Exact: as it stands; rewritten: by other means, nothing is lost; approximated: the form denotes the same set but
    does not search all of it, or not as the author advises; refused: the form cannot say it.
    """

    EXACT = "exact"
    REWRITTEN = "rewritten"
    APPROXIMATED = "approximated"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a report: what became of a construct, with the place where it first stands."""

    construct: str
    status: Status
    message: str
    span: Span = NOWHERE

    @property
    def line(self) -> int | None:
        """The line of the construct, counted from 1; None where no text says it."""
        return None if self.span.source is NOWHERE.source else self.span.line

    def to_json(self) -> dict[str, object]:
        """The entry as the JSON module takes it."""
        return {
            "construct": self.construct,
            "status": self.status.value,
            "line": self.line,
            "message": self.message,
        }


class Form(Protocol):
    """The structure that a target compiles a space to."""

    def to_json(self) -> dict[str, object]:
        """Its keys of the JSON document of `compile`."""
        ...

    def to_text(self) -> str:
        """What a terminal shows, without a line end at its end."""
        ...

    def to_dot(self) -> str:
        """A graph in the DOT language."""
        ...


F_co = TypeVar("F_co", bound=Form, covariant=True)
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Lowered(Generic[F_co, E]):
    """A space in the form of a target.

    `encode` takes a member down to the form's own encoding, `decode` takes an encoding back:
    `decode(encode(configuration)) == configuration` for every member.
    """

    form: F_co
    encode: Callable[[Configuration], E]
    decode: Callable[[E], Configuration]
    report: tuple[Entry, ...]


class Target(Protocol):
    """A target: a frozen dataclass whose fields are its options."""

    def lower(self, space: Space) -> Lowered[Any, Any]:
        """The space in the target's form; raises UndecidableError where its constraints cannot be decided."""
        ...


def document(target: str, space: Space, lowered: Lowered[Any, Any]) -> dict[str, object]:
    """What `compile --format json` prints: the name of the target and of the space, the form and the report."""
    return {
        "target": target,
        "space": space.name,
        **lowered.form.to_json(),
        "report": [entry.to_json() for entry in lowered.report],
    }


def entries(construct: str, status: Status, message: str, spans: Iterable[Span]) -> tuple[Entry, ...]:
    """The entry of a construct that stands at the spans, the first one first; none where there are no spans."""
    found = tuple(spans)
    first = next((span for span in found if span.source is not NOWHERE.source), NOWHERE)
    return (Entry(construct, status, message, first),) if found else ()
