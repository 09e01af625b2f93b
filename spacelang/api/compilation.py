"""Compilation of a space for a target, and checks that the result preserves the meaning of the space."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spacelang.api.option_checks_and_signatures import make_random_generator
from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace
from spacelang.diagnostics.other_tools import ConstructApproximatedByTarget, ConstructRefusedByTarget
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.errors import PicklableError
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Real
from spacelang.ir.membership import first_exclusion
from spacelang.solver.counting import Structures

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.ir.space import Space
    from spacelang.targets._draw_distances import DrawDistances
    from spacelang.targets._lowering import LoweringResult, Preservation, ReportEntry, Target

MAX_LINES_PER_VARIABLE: Final = 10  # The lines of a generated function beyond which it counts as long
ROUNDING: Final = 1e-9  # The part of a range by which the rounding of quantiles may change a decoded float
MAX_RELATED_SPANS: Final = 5  # The largest number of further places of one construct that a diagnostic shows


class CompilationError(PicklableError):
    """A target cannot represent a space; `diagnostics` lists the constructs that it refuses."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def compile_with_target(
    name: str, target: "Target", structures: Structures, *, strict: bool = False
) -> "LoweringResult[Any, Any]":
    """Compile a space for a configured target.

    With `strict`, constructs that the target only approximates are refused as well. Raises CompilationError.
    """
    from spacelang.targets._lowering import Preservation, RefusedError, compile_picklable

    refused = {Preservation.APPROXIMATED} if strict else set()
    try:
        result = compile_picklable(target, structures)
    except RefusedError as error:
        refused.add(Preservation.REFUSED)
        raise CompilationError(_diagnostics(name, error.report, refused)) from error
    if found := _diagnostics(name, result.report, refused):
        raise CompilationError(found)
    return result


def python_module_source(name: str, lowered: "LoweringResult[Any, Any]", space: "Space") -> str:
    """Return the compiled space as the source of a Python module.

    If the target is for another tool, the module has a function `build(configuration)` that makes pipelines without
    this package. Comments at the end list the constructs that are only approximated.
    """
    from spacelang.targets._lowering import Preservation

    found = lowered.form.to_python()
    if hasattr(type(lowered.form), "native"):
        from spacelang.report.pipeline_module import module_with_builder

        found = module_with_builder(found, space, is_estimator=name == "sklearn")
    lost = (entry for entry in lowered.report if entry.status is Preservation.APPROXIMATED)
    losses = [f"# {replace_unprintable(f'{entry.construct}{entry.lines_text}: {entry.message}')}" for entry in lost]
    return "\n".join([found, *(["", "# Only approximated in this form:", *losses] if losses else [])])


def code_length_warning(lowered: "LoweringResult[Any, Any]", space: "Space") -> str:
    """Return a warning if the generated function has very many lines for the size of the space, else an empty text."""
    lines, variables = getattr(lowered.form, "function_line_count", 0), len(space.variables)
    if lines <= MAX_LINES_PER_VARIABLE * variables:
        return ""
    return (
        f"the function has {lines:,} lines for {variables:,} decisions and hyperparameters, because constraints are "
        "unfolded into cases: `--set relations=quantiles` and `--set relations=rejection` need fewer where they are "
        "possible"
    )


def _diagnostics(name: str, report: Iterable["ReportEntry"], wanted: "set[Preservation]") -> tuple[Diagnostic, ...]:
    from spacelang.targets._lowering import Preservation

    found: list[Diagnostic] = []
    for entry in (each for each in report if each.status in wanted):
        kind = ConstructRefusedByTarget if entry.status is Preservation.REFUSED else ConstructApproximatedByTarget
        first, *others = entry.spans
        related = tuple(RelatedPlace(span, "and here") for span in others[:MAX_RELATED_SPANS])
        found.append(kind(target=name, construct=entry.construct, reason=entry.message, primary=first, related=related))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class LawCheck:
    """A property that compilation must preserve, the number of cases tried, and a text on the first violation or ""."""

    name: str
    tried: int
    broken_by: str = ""

    @property
    def holds(self) -> bool:
        """True if no case violated the property."""
        return not self.broken_by


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking all properties (`laws`) that compilation must preserve.

    `is_all` is True if every configuration of the space was tried. `structures` holds two
    numbers: the different structures among the structures that the compiled space drew, and all structures of the
    space. `distances` are those between the distribution of a library's random draws and the distribution of the space;
    None if the target has no library that draws. `preserved` maps `exact`, `rewritten` and `approximated` to the
    constructs of the space that were preserved in that way.
    """

    laws: tuple[LawCheck, ...]
    is_all: bool
    structures: tuple[int, int]
    preserved: Mapping[str, tuple[str, ...]]
    distances: "DrawDistances | None" = None

    @property
    def holds(self) -> bool:
        """True if no property was violated."""
        return all(law.holds for law in self.laws)


def verify(
    form: "LoweringResult[Any, Any]", structures: "Structures", *, count: int = 200, seed: int = 0, draws: int = 3_000
) -> Verification:
    """Check on a compiled space (`form`) that encoding, decoding and drawing preserve the original space.

    All configurations are tried if there are at most `count` and they can be numbered, otherwise the default one and
    `count` - 1 random ones.
    Each configuration must equal the decoding of its encoding, and the form must accept the encoding. Each of `count`
    encodings that the form draws must decode to a member, and the form must accept it. If a library draws for the
    target, `draws` of its random draws are compared with the distribution of the space, unless `draws` is 0. Raises
    ValueError for a count below 1, and SamplingFailedError as a sampler does.
    """
    from spacelang.sampling.sampler import Sampler
    from spacelang.solver.defaults import default_configuration
    from spacelang.solver.numbering import ConfigurationNumbers

    if count < 1:
        raise ValueError(f"cannot verify on {count} configurations: give at least 1")
    space, rng, number = structures.space, make_random_generator(seed), structures.configuration_count
    if is_all := number is not None and number <= count and structures.model.can_number_values:
        members = [*map(ConfigurationNumbers(structures).configuration_at, range(number or 0))]
    else:
        members = [default_configuration(space), *Sampler(structures).configurations(count - 1, rng)]
    drawn = form.sample(count, rng)
    laws = [*_check_members(form, space, members), *_check_encodings(form, space, drawn)]
    distances = None
    if draws and all(law.holds for law in laws):
        distances, of_draws = _check_random_draws(form, structures, draws, rng)
        laws += of_draws
    number_drawn = _count_structures(form, space, drawn)
    kept: dict[str, tuple[str, ...]] = {}
    for entry in form.report:
        kept[entry.status.value] = (*kept.get(entry.status.value, ()), f"{entry.construct}{entry.lines_text}")
    return Verification(tuple(laws), is_all, (number_drawn, structures.count), kept, distances)


def _check_members(
    form: "LoweringResult[Any, Any]", space: "Space", members: Sequence[Configuration]
) -> Iterator[LawCheck]:
    """Yield the checks that members keep their meaning when they are encoded."""
    from spacelang.targets._relations import A_FLOAT_QUANTILE

    is_rounded = any(entry.message == A_FLOAT_QUANTILE.message for entry in form.report)

    def roundtrip(member: Configuration) -> str:
        found = form.decode(form.encode(member))
        return (
            ""
            if found == member or (is_rounded and _are_nearly_equal(found, member, space))
            else f"{_case_text(member)} is decoded as {_case_text(found)}"
        )

    yield _check_law("encoding and decoding a configuration returns the same configuration", members, roundtrip)
    yield _check_law(
        "the compiled space accepts the encoding of each configuration",
        members,
        lambda each: "" if form.accepts(form.encode(each)) else _case_text(each),
    )


def _check_encodings(form: "LoweringResult[Any, Any]", space: "Space", drawn: Sequence[Any]) -> Iterator[LawCheck]:
    """Yield the checks that encodings which the compiled space draws are those of members."""

    def membership(encoding: Any) -> str:
        found = form.decode(encoding)
        why = first_exclusion(space, found)
        return "" if why is None else f"{_case_text(found)}: {why.reason}"

    yield _check_law("each configuration that the compiled space draws is a member of the space", drawn, membership)
    yield _check_law(
        "the compiled space accepts each encoding that it draws",
        drawn,
        lambda each: "" if form.accepts(each) else _case_text(each),
    )


def _are_nearly_equal(found: Configuration, member: Configuration, space: "Space") -> bool:
    """Return True if configurations are equal up to rounding of floats by a tiny part of their range."""
    widths = {n.key: n.domain.upper - n.domain.lower for n in space.hyperparameters if isinstance(n.domain, Real)}

    def is_near(key: str) -> bool:
        one, other = found[key], member[key]
        if key in widths and isinstance(one, float) and isinstance(other, float):
            return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING * widths[key])
        return one == other

    return found.keys() == member.keys() and all(map(is_near, member))


def _check_random_draws(
    form: "LoweringResult[Any, Any]", structures: "Structures", draws: int, rng: "Generator"
) -> "tuple[DrawDistances | None, list[LawCheck]]":
    """Compare a library's random draws with the distribution of the space; return the distances and at most one check.

    Return None and no check if no library draws for the target. If draws differ, but only where the target declares a
    reason for it, return the distances and no check.
    """
    from spacelang.targets._draw_distances import measure_draw_distances

    found = measure_draw_distances(form, structures, draws, rng)
    if found is None:
        return None, []
    undeclared = found.undeclared_distances
    if found.large_distances and not undeclared:
        return found, []
    apart = ", ".join(f"the shares of {key} differ by {by:.3f}" for key, by in undeclared.items())
    return found, [LawCheck("draws of the library follow the distribution of the space's random draws", draws, apart)]


def measure_draw_distances(
    form: "LoweringResult[Any, Any]", draws: int = 3_000, *, seed: int = 0
) -> "DrawDistances | None":
    """Compare random draws of the library of a compiled space with the distribution of the space's random draws.

    Return None if no library draws at random for the target. Raises SamplingFailedError as a sampler does, and
    ValueError for a number of draws below 1.
    """
    from spacelang.targets._draw_distances import measure_draw_distances

    if draws < 1:
        raise ValueError(f"cannot compare {draws} draws: give at least 1")
    generator = make_random_generator(seed)
    return None if form.origin is None else measure_draw_distances(form, form.origin[1], draws, generator)


def _count_structures(form: "LoweringResult[Any, Any]", space: "Space", encodings: Iterable[Any]) -> int:
    """Return the number of different structures among encoded configurations.

    Those that cannot be decoded are skipped.
    """
    decisions, found = {decision.key for decision in space.decisions}, set()
    for encoding in encodings:
        with suppress(Exception):  # the laws report it
            configuration = form.decode(encoding)
            found.add(tuple(sorted((key, configuration[key]) for key in decisions & configuration.keys())))
    return len(found)


def _check_law(name: str, cases: Sequence[Any], broken_by: Callable[[Any], str]) -> LawCheck:
    """Check a property on all cases.

    `broken_by` returns a text on a violation or "", and an error is a violation, too.
    """
    for tried, case in enumerate(cases, start=1):
        try:
            breach = broken_by(case)
        except Exception as error:  # noqa: BLE001 - a target of another package may raise anything
            breach = f"{_case_text(case)}: {type(error).__name__}: {error}"
        if breach:
            return LawCheck(name, tried, breach)
    return LawCheck(name, len(cases))


def _case_text(case: Any) -> str:
    if isinstance(case, Configuration):
        return case.identity
    return json.dumps(case, default=str) if isinstance(case, Mapping | Sequence) else str(case)
