"""The interface of targets: `Target`, the compiled space `LoweringResult`, and the report on every construct."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from spacelang.deprecation import renamed_attributes
from spacelang.errors import PicklableError
from spacelang.grouping import group_by_key
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, parts
from spacelang.ir.domain_properties import FLOAT_LIMIT_REASON, unencodable_domains
from spacelang.ir.space import Space, operators
from spacelang.serialization.definition import VERSION, space_to_json
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import is_always_decidable
from spacelang.targets._checked_decoding import checked_decoder
from spacelang.text import NO_SPAN, Span

if TYPE_CHECKING:
    from numpy.random import Generator


class Construct(StrEnum):
    """A construct of the language on which every target gives a verdict; the value is its name in reports."""

    DECISIONS = "decisions"
    NESTED = "nested decisions"
    ORDERS = "orders of permuted steps"
    FLOATS = "float ranges"
    INTEGERS = "integer ranges"
    LOG = "log scales"
    STEPS = "steps"
    OPEN = "excluded ends"
    SETS = "sets"
    ORDERED = "ordered sets"
    UNIONS = "unions"
    CONDITIONS = "conditions"
    RULES_ON_DECISIONS = "constraints over decisions"
    RULES_ON_VALUES = "constraints over hyperparameters"
    DEFAULTS = "defaults"
    FIRST = "`@first`"
    WEIGHTS = "`@weight`"
    PRIORS = "`@prior`"
    SPLITS = "`@split`"
    BOUNDS = "bounds on trials"
    COMPUTED = "computed values"
    TUPLES = "tuples"
    TESTED = "constraints tested after each draw"


class Preservation(StrEnum):
    """A degree to which a form preserves a construct of the space.

    - EXACT: as written.
    - REWRITTEN: by other means; nothing is lost.
    - APPROXIMATED: the form has no configurations beyond those of the space, but it does not search all of them,
      or it ignores weights or priors.
    - REFUSED: the form cannot represent the construct.
    """

    EXACT = "exact"
    REWRITTEN = "rewritten"
    APPROXIMATED = "approximated"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement of what a target does with a construct; `message` is lowercase, without a full stop."""

    status: Preservation
    message: str


def exact(message: str) -> Verdict:
    """Return the verdict that the form preserves the construct as written."""
    return Verdict(Preservation.EXACT, message)


def rewritten(message: str) -> Verdict:
    """Return the verdict that the form preserves the construct by other means."""
    return Verdict(Preservation.REWRITTEN, message)


def approximated(message: str) -> Verdict:
    """Return the verdict that not all configurations are searched, or that weights or priors are ignored.

    The form must have no configurations beyond those of the space.
    """
    return Verdict(Preservation.APPROXIMATED, message)


def refused(message: str) -> Verdict:
    """Return the verdict that the form cannot represent the construct."""
    return Verdict(Preservation.REFUSED, message)


OVERSIZED: Final = refused(FLOAT_LIMIT_REASON)
"""The refusal of integers that floats cannot represent exactly, shared by all targets that encode values as floats."""
PreservationTable: TypeAlias = Mapping[Construct, tuple[Verdict, ...]]
"""The possible verdicts of a target on each construct; the first one is the usual verdict."""
GUIDANCE: Final[PreservationTable] = {
    Construct.DEFAULTS: (approximated("not included; evaluate the default configuration first if you want it"),),
    Construct.FIRST: (approximated("`@first` is ignored: decisions have no order"),),
    Construct.WEIGHTS: (approximated("weights are ignored: all alternatives have the same weight"),),
    Construct.PRIORS: (approximated("priors are ignored: values are drawn without them"),),
    Construct.SPLITS: (approximated("`@split` is ignored: hyperparameters are not split"),),
    Construct.BOUNDS: (approximated("not included; check them when you evaluate configurations"),),
}
"""The verdicts on guidance (defaults, annotations, bounds) of a form that cannot represent any of it."""


ALWAYS: Final[PreservationTable] = {
    Construct.COMPUTED: (rewritten("left out; computed from the configuration afterwards"),),
    Construct.TUPLES: (rewritten("a length and elements, of which the tuple is made afterwards"),),
    Construct.TESTED: (
        refused("too complex to be decided exactly; the form would contain configurations that break it"),
    ),
}
"""The verdicts on what is part of no configuration and therefore the same for every target, unless it has its own."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A construct at one place of the text whose verdict differs from the usual verdict of the target."""

    construct: Construct
    verdict: Verdict
    span: Span


MAX_LISTED_LINES: Final = 4  # The maximum number of source lines that are listed for one construct


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """A line of a report: the verdict on a construct, with its places in the order of the text.

    An entry without places may be about the form as a whole. Then `construct` names a property of it, such as `names`.
    """

    construct: str
    status: Preservation
    message: str
    spans: tuple[Span, ...] = ()

    @property
    def is_about_form(self) -> bool:
        """True if the entry is about the form as a whole, not about a construct of the space."""
        return self.construct not in {*Construct}

    @property
    def line(self) -> int | None:
        """The first line of the construct, counted from 1; None if the construct has no source text."""
        return next(iter(self.lines), None)

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the construct that have source text, without duplicates."""
        return tuple(dict.fromkeys(span.line for span in self.spans if span.source is not NO_SPAN.source))

    @property
    def lines_text(self) -> str:
        """The lines in parentheses, preceded by a space, like `" (lines 3, 5)"`; an empty string if there are none."""
        shown = ", ".join(map(str, self.lines[:MAX_LISTED_LINES])) + ", …" * (len(self.lines) > MAX_LISTED_LINES)
        return f" (line{'s' * (len(self.lines) > 1)} {shown})" if self.lines else ""

    def to_json(self) -> dict[str, object]:
        """Return the entry as a dictionary that the `json` module can write."""
        place = {"line": self.line, "lines": list(self.lines)}
        return {"construct": self.construct, "status": self.status.value, **place, "message": self.message}


def make_report(space: Space, keeps: PreservationTable, findings: Iterable[Finding] = ()) -> tuple[ReportEntry, ...]:
    """Return the report on a space: one entry for each construct and verdict.

    Each occurrence of a construct has the first verdict in `keeps`, except at the places for which `findings` has
    another one. Raises RefusedError if any verdict is a refusal, and ValueError if `keeps` lacks a construct of the
    space.
    """
    keeps = {**ALWAYS, **keeps}
    differing = group_by_key((finding.construct, finding) for finding in findings)
    there = constructs_of(space)
    if (missing := next((construct for construct in there if not keeps.get(construct)), None)) is not None:
        raise missing_verdict_error(missing)
    entries = [
        entry
        for construct, spans in there.items()
        for entry in _entries(construct, spans, keeps[construct][0], differing.get(construct, ()))
    ]
    if any(entry.status is Preservation.REFUSED for entry in entries):
        raise RefusedError(tuple(entries))
    return tuple(entries)


_CHOSEN: Final = (Construct.UNIONS, Construct.CONDITIONS, Construct.RULES_ON_DECISIONS, Construct.RULES_ON_VALUES)
REMOVED_BY: Final[Mapping[Construct, str]] = {
    **dict.fromkeys((Construct.STEPS, Construct.SETS, Construct.ORDERED), "MemberIndexReduction"),
    **dict.fromkeys(_CHOSEN, "the nested choices of `build_questions`"),
    Construct.FLOATS: "GridReduction",
    Construct.LOG: "LogarithmReduction",
    Construct.OPEN: "ClosedRangeReduction",
}
"""What removes a construct from a space, for the error of a target that does not cover it."""


def missing_verdict_error(construct: Construct, missing: str = "verdict") -> ValueError:
    """Return the error for a target whose `preserves` lacks a verdict on a construct."""
    which_removes_them = f", with which {REMOVED_BY[construct]} removes them" if construct in REMOVED_BY else ""
    return ValueError(
        f"`preserves` has no {missing} on {construct.value}: set `Construct.{construct.name}` in it, or begin it with "
        f"`**preserved_by_reductions(accepts)`{which_removes_them}"
    )


def refuse_oversized_integers(space: Space, keeps: PreservationTable) -> None:
    """Raise RefusedError if the space has integers, or indices of steps, that are too large to be exact as floats."""
    findings = []
    for node, part in unencodable_domains(space):
        is_integral = isinstance(part, Grid) and part.is_integral
        findings.append(Finding(Construct.INTEGERS if is_integral else Construct.STEPS, OVERSIZED, node.span))
    if findings:
        make_report(space, keeps, findings)


def _entries(
    construct: Construct, spans: Sequence[Span], usual: Verdict, differing: Sequence[Finding]
) -> Iterable[ReportEntry]:
    if not differing:
        yield ReportEntry(construct.value, usual.status, usual.message, tuple(spans))
        return
    findings = group_by_key((_span_key(finding.span), finding) for finding in differing)
    told: list[tuple[Verdict, Span]] = []
    for key, places in group_by_key((_span_key(span), span) for span in spans).items():
        here = findings.get(key, ())
        # A group that is included several times has several constructs at one place. There, a finding holds for all.
        verdict = here[-1].verdict if here and places[0].source is not NO_SPAN.source else usual
        told += [(verdict, span) for span in places[len(here) :]]
    verdicts = group_by_key((*told, *((finding.verdict, finding.span) for finding in differing)))
    for verdict, mine in verdicts.items():
        yield ReportEntry(construct.value, verdict.status, verdict.message, tuple(mine))


def _span_key(span: Span) -> tuple[str, int, int] | int:
    """Return a key that identifies a place in the text; without source text, the identity of the span is the key."""
    return id(span) if span.source is NO_SPAN.source else (span.source.name, span.start, span.end)


class RefusedError(PicklableError):
    """An error for a space that a form cannot represent; `report` says which constructs are refused, and where."""

    def __init__(self, report: tuple[ReportEntry, ...]) -> None:
        refusals = [entry for entry in report if entry.status is Preservation.REFUSED]
        super().__init__("; ".join(f"{entry.construct}: {entry.message}" for entry in refusals))
        self.report = report


class Form(Protocol):
    """A protocol for compiled spaces: the structures to which targets compile a space."""

    def to_json(self) -> dict[str, object]:
        """Return the keys that the form adds to the JSON document of `compile`."""

    def to_text(self) -> str:
        """Return a description for the terminal, without a final newline."""

    def to_dot(self) -> str:
        """Return a graph in the DOT language."""


@runtime_checkable
class SourceForm(Protocol):
    """A protocol for forms that can be written as a Python module for their library."""

    def to_python(self) -> str:
        """Return the source of a module that imports nothing but the library, without a final newline."""


@runtime_checkable
class TextFileForm(Protocol):
    """A protocol for forms whose `to_text` is an input file of a tool; text added to it must be marked as comment."""

    comment_sign: ClassVar[str]
    """The sign that starts a comment in the file."""


def first_line_of_text(form: Form) -> str:
    """Return the first line of a form's text, which has the name of the space and some counts."""
    return form.to_text().partition("\n")[0].removeprefix("# ")


class FormWithTextRepr:
    """A base class of forms whose `repr` shows the first line of their text."""

    def __repr__(self: Form) -> str:
        return f"<{type(self).__name__} {first_line_of_text(self)}>"


F_co = TypeVar("F_co", bound=Form, covariant=True)
E = TypeVar("E")


@renamed_attributes(reaches="accepts")
@dataclass(frozen=True, slots=True, repr=False)
class LoweringResult(Generic[F_co, E]):
    """A compiled space: the form of a target, its encoding and decoding functions, and the report.

    `encode` turns a member of the space into an encoding of the form, and `decode` turns an encoding into a
    configuration: `decode(encode(configuration)) == configuration` for every member. `accepts` returns True if the form
    accepts an encoding by its own rules, which are those of the library if the form belongs to one. `sample(count,
    rng)` draws encodings as the library does. Every encoding that is drawn or accepted decodes to a member.

    If `origin` is given, the object is pickled as its target and the structures, and compiled again when unpickled.
    """

    form: F_co
    encode: Callable[[Configuration], E]
    decode: Callable[[E], Configuration]
    accepts: Callable[[E], bool]
    sample: Callable[[int, "Generator"], Sequence[E]]
    report: tuple[ReportEntry, ...]
    origin: "tuple[Target, Structures] | None" = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        name = "" if self.origin is None else f"{type(self.origin[0]).__name__.lower()}: "
        return f"<compiled space, {name}{first_line_of_text(self.form)}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{_html(each.construct + each.lines_text)}</td>"
            f"<td>{_html(each.status)}</td><td style='text-align:left'>{_html(each.message)}</td></tr>"
            for each in self.report
        )
        head = "<tr><th style='text-align:left'>construct</th><th>preserved</th><th></th></tr>"
        return f"<div><code>{_html(repr(self)[1:-1])}</code>{f'<table>{head}{rows}</table>' if rows else ''}</div>"

    def __reduce__(self) -> Any:
        return object.__reduce_ex__(self, 2) if self.origin is None else (compile_picklable, self.origin)


def _html(text: str) -> str:
    # Names of a space may have characters that hide or reorder text; this package must not import `diagnostics`.
    return escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text))


def compile_picklable(target: "Target", structures: Structures) -> LoweringResult[Any, Any]:
    """Compile structures and return a result that can be pickled, and whose `decode` explains its errors.

    Its report also says whether random draws of the library follow the distribution of the space. Raise the errors of
    `Target.lower`.
    """
    found = target.lower(structures)
    decode = checked_decoder(found.encode, found.decode, structures)
    draws = getattr(type(target), "random_draws", None)
    report = found.report if draws is None else (*found.report, *draws.report_entries(found.form))
    return replace(found, decode=decode, report=report, origin=(target, structures))


class Target(Protocol):
    """A protocol for targets: frozen dataclasses whose fields are their options.

    `preserves` declares the possible verdicts on each construct.
    """

    preserves: ClassVar[PreservationTable]

    def lower(self, structures: Structures) -> LoweringResult[Any, Any]:
        """Compile the space of the structures, which must not be empty.

        Raises RefusedError if the form cannot represent the space, and OptionError if the options do not fit the space.
        """


def compiled_document(
    target: str,
    space: Space,
    lowered: LoweringResult[Any, Any],
    options: Mapping[str, object] | None = None,
    bound: Mapping[str, int | None] | None = None,
    random_draws: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return the document that `compile --format json` prints (see `grammars/compiled.schema.json`).

    It contains the form, the report, and the definition of the space, from which the space can be loaded again. `bound`
    has the number of each symbol of the data that the text mentions, None if it is not bound. `random_draws` has the
    distances of random draws of the library as a dictionary, if they were measured.
    """
    head = {"target": target, "space": space.name, "version": VERSION, "options": dict(options or {})}
    symbols = {"bound": dict(bound)} if bound else {}
    measured = {} if random_draws is None else {"random_draws": dict(random_draws)}
    report = {"report": [entry.to_json() for entry in lowered.report], **measured}
    return {**head, **symbols, **lowered.form.to_json(), **report, "definition": space_to_json(space)}


def constructs_of(space: Space) -> Mapping[Construct, tuple[Span, ...]]:
    """Return each construct that occurs in a space, with its places in the order of the text."""
    found: dict[Construct, list[Span]] = {construct: [] for construct in Construct}
    for choice in space.decisions:
        kind = Construct.NESTED if space.variables[choice.address].owners else Construct.DECISIONS
        found[Construct.ORDERS if choice.address in space.permutations else kind].append(choice.span)
        found[Construct.DEFAULTS].append(choice.span)
        if choice.first:
            found[Construct.FIRST].append(choice.span)
        found[Construct.WEIGHTS].extend(branch.span for branch in choice.branches if branch.weight != 1.0)
    for node in space.hyperparameters:
        for construct in dict.fromkeys((*constructs_in(node.domain), Construct.DEFAULTS)):
            found[construct].append(node.span)
        if node.prior is not None:
            found[Construct.PRIORS].append(node.span)
        if node.split is not None:
            found[Construct.SPLITS].append(node.span)
        if node.condition is not None:
            found[Construct.CONDITIONS].append(node.condition.span)
    found[Construct.TESTED].extend(_only_tested(space))
    for rule in space.constraints:
        found[Construct.RULES_ON_VALUES if rule.scope else Construct.RULES_ON_DECISIONS].append(rule.span)
    for operator in operators(space.root):
        found[Construct.COMPUTED].extend(each.span for each in operator.computed)
        found[Construct.TUPLES].extend(each.span for each in operator.tuples)
    found[Construct.BOUNDS].extend(bound.span for bound in (space.task.bounds if space.task else ()))
    return {construct: tuple(spans) for construct, spans in found.items() if spans}


def _only_tested(space: Space) -> Iterator[Span]:
    statements = [(condition, condition.span) for condition in space.conditions.values()]
    statements += [(rule.expression, rule.span) for rule in space.constraints]
    if all(is_always_decidable(expression) for expression, _ in statements):
        return
    structures = Structures(space)
    for expression, span in statements:
        if structures.contains_expression_tested_on_draws(expression):
            yield span


def constructs_in(domain: Domain) -> Iterator[Construct]:
    """Yield the constructs of a domain, part by part."""
    if isinstance(domain, Union):
        yield Construct.UNIONS
    for part in parts(domain):
        match part:
            case Ordinal():
                yield Construct.ORDERED
            case Categorical():
                yield Construct.SETS
            case Grid() | Real():
                yield from _of_range(part)


def _of_range(part: Grid | Real) -> Iterator[Construct]:
    yield Construct.INTEGERS if isinstance(part, Grid) and part.is_integral else Construct.FLOATS
    if isinstance(part, Grid) and not part.is_consecutive:
        yield Construct.STEPS
    if isinstance(part, Real) and part.is_open:
        yield Construct.OPEN
    if part.log:
        yield Construct.LOG
