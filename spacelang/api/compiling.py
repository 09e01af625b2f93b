"""A space in the form of a target, with what it refuses as diagnostics on the space's own lines."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from spacelang.carried import Carried
from spacelang.diagnostics.cells import visible
from spacelang.diagnostics.diagnostic import Diagnostic, Related
from spacelang.diagnostics.targets import ApproximatedConstruct, RefusedConstruct
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS

if TYPE_CHECKING:
    from spacelang.ir.space import Space
    from spacelang.targets._lowered import Lowered, ReportEntry, Target

MOST_PLACES: Final = 5
"""So many further places of one construct are shown."""


class RefusalError(Carried):
    """A target that cannot hold a space; `diagnostics` says what of it."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def compiled(
    name: str, structures: Structures, options: Mapping[str, str], *, strict: bool = False
) -> "Lowered[Any, Any]":
    """The space of the structures in the form of a target.

    With `strict`, what a form only approximates is refused as well. Raises RefusalError; UnknownPluginError and
    OptionError for a target or an option that does not exist.
    """
    target: Target = TARGETS.configure(TARGETS.load(name), options)
    return lowered(name, target, structures, strict=strict)


def document_of(
    name: str,
    structures: Structures,
    options: Mapping[str, str],
    bound: Mapping[str, int | None],
    *,
    strict: bool = False,
) -> dict[str, object]:
    """The JSON document of the same; `bound` are the symbols of the data with their numbers. Raises as `compiled`."""
    from spacelang.targets._lowered import document

    target: Target = TARGETS.configure(TARGETS.load(name), options)
    form = lowered(name, target, structures, strict=strict)
    return document(name, structures.space, form, asdict(target), bound)  # type: ignore[call-overload]


def lowered(name: str, target: "Target", structures: Structures, *, strict: bool = False) -> "Lowered[Any, Any]":
    """The same for a configured target."""
    from spacelang.targets._lowered import Preservation, RefusedError, of_origin

    try:
        result = of_origin(target, structures)
    except RefusedError as error:
        raise RefusalError(_diagnostics(name, error.report, {Preservation.REFUSED, *_if(strict)})) from error
    if found := _diagnostics(name, result.report, _if(strict)):
        raise RefusalError(found)
    return result


def in_python(name: str, lowered: "Lowered[Any, Any]", space: "Space") -> str:
    """The module of a form: where it is for a tool, `build(configuration)` makes pipelines without this package.

    What the form keeps only in part stands at its end.
    """
    from spacelang.targets._lowered import Preservation

    found = lowered.form.to_python()
    if hasattr(type(lowered.form), "native"):
        from spacelang.report.building import module

        found = module(found, space, is_estimator=name == "sklearn")
    lost = (entry for entry in lowered.report if entry.status is Preservation.APPROXIMATED)
    told = [f"# {visible(f'{entry.construct}{entry.place}: {entry.message}')}" for entry in lost]
    return "\n".join([found, *(["", "# This form keeps in part only:", *told] if told else [])])


def _if(strict: bool) -> "set[Any]":
    from spacelang.targets._lowered import Preservation

    return {Preservation.APPROXIMATED} if strict else set()


def _diagnostics(name: str, report: Iterable["ReportEntry"], wanted: "set[Any]") -> tuple[Diagnostic, ...]:
    return tuple(_diagnostic(name, entry) for entry in report if entry.status in wanted)


def _diagnostic(name: str, entry: "ReportEntry") -> Diagnostic:
    from spacelang.targets._lowered import Preservation

    kind = RefusedConstruct if entry.status is Preservation.REFUSED else ApproximatedConstruct
    first, *others = entry.spans
    related = tuple(Related(span, "and here") for span in others[:MOST_PLACES])
    return kind(target=name, construct=entry.construct, reason=entry.message, primary=first, related=related)
