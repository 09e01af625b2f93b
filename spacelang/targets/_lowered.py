"""What every target returns: its form, the way down, the way back, and what it could not keep."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from spacelang.carried import Carried
from spacelang.codings.limits import BEYOND, unheld
from spacelang.forms.definition import VERSION, to_json
from spacelang.grouping import grouped
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid
from spacelang.ir.space import Space
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct, constructs_of
from spacelang.text import NOWHERE, Span

if TYPE_CHECKING:
    from numpy.random import Generator


class Preservation(StrEnum):
    """How well a form keeps a construct of the space.

    Exact: as it stands; rewritten: by other means, nothing is lost; approximated: the form denotes no other
    configurations, but does not search all of them, or not as the author advises; refused: the form cannot say it.
    """

    EXACT = "exact"
    REWRITTEN = "rewritten"
    APPROXIMATED = "approximated"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a target makes of a construct; the message is lowercase, without a full stop."""

    status: Preservation
    message: str


def exact(message: str) -> Verdict:
    """The form keeps the construct as it stands."""
    return Verdict(Preservation.EXACT, message)


def rewritten(message: str) -> Verdict:
    """The form keeps the construct by other means."""
    return Verdict(Preservation.REWRITTEN, message)


def approximated(message: str) -> Verdict:
    """The form denotes no other configurations, but not all of them, or advice is lost."""
    return Verdict(Preservation.APPROXIMATED, message)


def refused(message: str) -> Verdict:
    """The form cannot say the construct."""
    return Verdict(Preservation.REFUSED, message)


GIANT: Final = refused(BEYOND)
"""What every form says that needs numbers for values."""

Keeps: TypeAlias = Mapping[Construct, tuple[Verdict, ...]]
"""What a target may make of each construct, what it usually makes of it first."""

ADVICE: Final[Keeps] = {
    Construct.DEFAULTS: (approximated("it says none: whoever searches may try the default configuration first"),),
    Construct.FIRST: (approximated("no decision comes before another"),),
    Construct.WEIGHTS: (approximated("alternatives are alike"),),
    Construct.PRIORS: (approximated("values are drawn as if there were no prior"),),
    Construct.SPLITS: (approximated("nothing is split"),),
    Construct.BOUNDS: (approximated("whoever evaluates configurations measures them"),),
}
"""What becomes of advice in a form that says what may be, and nothing else."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a target makes of a construct where it does not make the usual of it."""

    construct: Construct
    verdict: Verdict
    span: Span


FEW: Final = 4
"""So many lines of one construct are named."""


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One line of a report: what became of a construct, with the places where it stands in the order of the text."""

    construct: str
    status: Preservation
    message: str
    spans: tuple[Span, ...] = ()

    @property
    def line(self) -> int | None:
        """The first line of the construct, counted from 1; None where no text says it."""
        return next(iter(self.lines), None)

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the construct that a text says, each once."""
        return tuple(dict.fromkeys(span.line for span in self.spans if span.source is not NOWHERE.source))

    @property
    def place(self) -> str:
        """The lines in brackets, a blank before them; empty where there are none."""
        shown = ", ".join(map(str, self.lines[:FEW])) + (", …" if len(self.lines) > FEW else "")
        return f" (line{'s' * (len(self.lines) > 1)} {shown})" if self.lines else ""

    def to_json(self) -> dict[str, object]:
        """The entry as the JSON module takes it."""
        return {
            "construct": self.construct,
            "status": self.status.value,
            "line": self.line,
            "lines": list(self.lines),
            "message": self.message,
        }


def report_of(space: Space, keeps: Keeps, findings: Iterable[Finding] = ()) -> tuple[ReportEntry, ...]:
    """What became of each construct of a space: the usual (first) verdict, but for what was found to differ.

    Raises RefusedError where that is a refusal.
    """
    differing = grouped((finding.construct, finding) for finding in findings)
    entries = [
        entry
        for construct, spans in constructs_of(space).items()
        for entry in _entries(construct, spans, keeps[construct][0], differing.get(construct, ()))
    ]
    if any(entry.status is Preservation.REFUSED for entry in entries):
        raise RefusedError(tuple(entries))
    return tuple(entries)


def refuse_giants(space: Space, keeps: Keeps) -> None:
    """Raise RefusedError for a space with integers, or places on a grid, that no coding holds."""
    findings = [
        Finding(
            Construct.INTEGERS if isinstance(part, Grid) and part.is_integral else Construct.STEPS, GIANT, node.span
        )
        for node, part in unheld(space)
    ]
    if findings:
        report_of(space, keeps, findings)


def _entries(
    construct: Construct, spans: Sequence[Span], usual: Verdict, differing: Sequence[Finding]
) -> Iterable[ReportEntry]:
    other = Counter(_place(finding.span) for finding in differing)
    told: list[tuple[Verdict, Span]] = []
    for span in spans:
        if not other[_place(span)]:
            told.append((usual, span))
        elif span.source is NOWHERE.source:
            other[_place(span)] -= 1
    verdicts = grouped((*told, *((finding.verdict, finding.span) for finding in differing)))
    for verdict, mine in verdicts.items():
        yield ReportEntry(construct.value, verdict.status, verdict.message, tuple(mine))


def _place(span: Span) -> tuple[str, int, int] | int:
    """What tells spans apart; those without a text, of which many may be the same, are counted."""
    return id(span) if span.source is NOWHERE.source else (span.source.name, span.start, span.end)


class RefusedError(Carried):
    """A space that a form cannot hold; `report` says which constructs it refuses, and where they stand."""

    def __init__(self, report: tuple[ReportEntry, ...]) -> None:
        refusals = [entry for entry in report if entry.status is Preservation.REFUSED]
        super().__init__("; ".join(f"{entry.construct}: {entry.message}" for entry in refusals))
        self.report = report


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


@runtime_checkable
class WithSource(Protocol):
    """A form that can be written as Python source of the tool that it is for."""

    def to_python(self) -> str:
        """A module that needs nothing but the tool, without a line end at its end."""
        ...


F_co = TypeVar("F_co", bound=Form, covariant=True)
E = TypeVar("E")


@runtime_checkable
class WithNative(Protocol):
    """A form that is for a tool, whose own object it can make."""

    @property
    def native(self) -> Any:
        """What the tool takes; raises MissingLibraryError where it is not installed."""
        ...


@dataclass(frozen=True, slots=True)
class Lowered(Generic[F_co, E]):
    """A space in the form of a target.

    `encode` takes a member down to the form's own encoding, `decode` takes an encoding back:
    `decode(encode(configuration)) == configuration` for every member. `reaches` says whether the form itself, by its
    own rules (those of its library, where it is one's), takes an encoding; `sample` draws encodings by the form's own
    means. All that it draws and reaches decode to members. One that was compiled by its target's name is pickled as
    its `origin`, the target and what it compiled, and is compiled again where it arrives.
    """

    form: F_co
    encode: Callable[[Configuration], E]
    decode: Callable[[E], Configuration]
    reaches: Callable[[E], bool]
    sample: Callable[[int, "Generator"], Sequence[E]]
    report: tuple[ReportEntry, ...]
    origin: "tuple[Target, Structures] | None" = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> Any:
        return object.__reduce_ex__(self, 2) if self.origin is None else (of_origin, self.origin)


def of_origin(target: "Target", structures: Structures) -> Lowered[Any, Any]:
    """What a target makes of structures, which can be pickled; raises as `Target.lower` does."""
    return replace(target.lower(structures), origin=(target, structures))


class Target(Protocol):
    """A target: a frozen dataclass whose fields are its options, with what it makes of each construct."""

    keeps: ClassVar[Keeps]

    def lower(self, structures: Structures) -> Lowered[Any, Any]:
        """The space of the structures, which is not empty, in the target's form.

        Raises RefusedError for a space that the form cannot hold, and OptionError for options that do not suit it.
        """
        ...


def document(
    target: str,
    space: Space,
    lowered: Lowered[Any, Any],
    options: Mapping[str, object] | None = None,
    bound: Mapping[str, int | None] | None = None,
) -> dict[str, object]:
    """What `compile --format json` prints, which `grammars/compiled.schema.json` describes.

    The form with the report, and the definition of the space, of which it can be loaded again. `options` are those of
    the target, `bound` the symbols of the data that the text mentions, each with its number (None: it is not bound).
    """
    return {
        "target": target,
        "space": space.name,
        "version": VERSION,
        "options": dict(options or {}),
        **({"bound": dict(bound)} if bound else {}),
        **lowered.form.to_json(),
        "report": [entry.to_json() for entry in lowered.report],
        "definition": to_json(space),
    }
