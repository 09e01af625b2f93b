"""Compilation of a space for a target, with diagnostics for the constructs that the target refuses."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from spacelang.diagnostics.diagnostic import Diagnostic, Related
from spacelang.diagnostics.targets import ApproximatedConstruct, RefusedConstruct
from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.errors import PicklableError
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS

if TYPE_CHECKING:
    from spacelang.ir.space import Space
    from spacelang.targets._lowering import LoweringResult, ReportEntry, Target

MAX_RELATED_SPANS: Final = 5
"""The largest number of further places of one construct that a diagnostic shows."""


class CompilationError(PicklableError):
    """A target cannot represent a space; `diagnostics` lists the constructs that it refuses."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def compile_space(
    name: str, structures: Structures, options: Mapping[str, str], *, strict: bool = False
) -> "LoweringResult[Any, Any]":
    """Compile a space for a target, given by its name and its options.

    With `strict`, constructs that the target only approximates are refused as well. Raises CompilationError, and
    UnknownPluginError or OptionError for an unknown target or option.
    """
    target: Target = TARGETS.configure(TARGETS.load(name), options)
    return compile_with_target(name, target, structures, strict=strict)


def compiled_document(
    name: str,
    structures: Structures,
    options: Mapping[str, str],
    bound: Mapping[str, int | None],
    *,
    strict: bool = False,
) -> dict[str, object]:
    """Return the JSON document of the space compiled for a target; raises as `compile_space` does.

    `bound` maps the symbols of the data to their numbers; None means unbound.
    """
    from spacelang.targets._lowering import compiled_document

    target: Target = TARGETS.configure(TARGETS.load(name), options)
    form = compile_with_target(name, target, structures, strict=strict)
    return compiled_document(name, structures.space, form, asdict(target), bound)  # type: ignore[call-overload]


def compile_with_target(
    name: str, target: "Target", structures: Structures, *, strict: bool = False
) -> "LoweringResult[Any, Any]":
    """Compile a space for a configured target; raises CompilationError as `compile_space` does."""
    from spacelang.targets._lowering import Preservation, RefusedError, compile_picklable

    try:
        result = compile_picklable(target, structures)
    except RefusedError as error:
        raise CompilationError(
            _diagnostics(name, error.report, {Preservation.REFUSED, *_refused_if_strict(strict)})
        ) from error
    if found := _diagnostics(name, result.report, _refused_if_strict(strict)):
        raise CompilationError(found)
    return result


def python_module(name: str, lowered: "LoweringResult[Any, Any]", space: "Space") -> str:
    """Return the compiled space as the source of a Python module.

    If the target is for another tool, the module has a function `build(configuration)` that makes pipelines without
    this package. Comments at the end list the constructs that are only approximated.
    """
    from spacelang.targets._lowering import Preservation

    found = lowered.form.to_python()
    if hasattr(type(lowered.form), "native"):
        from spacelang.report.builder_code import module_with_builder

        found = module_with_builder(found, space, is_estimator=name == "sklearn")
    lost = (entry for entry in lowered.report if entry.status is Preservation.APPROXIMATED)
    told = [f"# {make_visible(f'{entry.construct}{entry.lines_text}: {entry.message}')}" for entry in lost]
    return "\n".join([found, *(["", "# Only approximated in this form:", *told] if told else [])])


def _refused_if_strict(strict: bool) -> "set[Any]":
    from spacelang.targets._lowering import Preservation

    return {Preservation.APPROXIMATED} if strict else set()


def _diagnostics(name: str, report: Iterable["ReportEntry"], wanted: "set[Any]") -> tuple[Diagnostic, ...]:
    return tuple(_diagnostic(name, entry) for entry in report if entry.status in wanted)


def _diagnostic(name: str, entry: "ReportEntry") -> Diagnostic:
    from spacelang.targets._lowering import Preservation

    kind = RefusedConstruct if entry.status is Preservation.REFUSED else ApproximatedConstruct
    first, *others = entry.spans
    related = tuple(Related(span, "and here") for span in others[:MAX_RELATED_SPANS])
    return kind(target=name, construct=entry.construct, reason=entry.message, primary=first, related=related)
