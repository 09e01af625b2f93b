"""Convert a foreign text to a `.space` text: run all steps of an import."""

from pathlib import Path
from typing import Final

from spacelang.analysis import check as check_space
from spacelang.catalog import load
from spacelang.diagnostics.conditions import DeadAlternative
from spacelang.diagnostics.diagnostic import Diagnostic, Severity, in_order
from spacelang.diagnostics.files import TooLarge
from spacelang.diagnostics.foreign import (
    ContradictoryDeclaration,
    NothingToImport,
    UnknownFormat,
    UnreadableDeclaration,
)
from spacelang.importers import IMPORTERS
from spacelang.importers._checking import Sound, check, without
from spacelang.importers._foreign import Declaration, ForeignSpace, ForeignValues, size_of
from spacelang.importers._imported import Imported
from spacelang.importers._names import identifier
from spacelang.importers._naming import Naming, name_all
from spacelang.importers._shape import Shape, find_shape
from spacelang.importers._writing import write
from spacelang.syntax.limits import MAX_BYTES, beyond_limits
from spacelang.text import Source, Span

MAX_DECLARATIONS: Final = 5_000
"""The maximal number of hyperparameters, conditions and forbidden clauses; published spaces have up to 2,000."""

MAX_VALUES: Final = 20_000
"""The maximal number of values in sets, conditions and clauses together."""


def to_space(source: Source) -> tuple[Imported | None, tuple[Diagnostic, ...]]:
    """Return the imported space (or None) and all diagnostics for a text of another tool; never raise.

    The extension of the source's name determines the format. The result is None if the imported space would have other
    members than the foreign one, or no members at all.
    """
    file = Path(source.name)
    importer = next((one for one in map(IMPORTERS.load, IMPORTERS.names()) if file.suffix.lower() in one.endings), None)
    if importer is None:
        return None, (UnknownFormat(primary=Span(source, 0, 0), path=source.name),)
    if len(source.text.encode(errors="surrogatepass")) > MAX_BYTES:
        return None, (TooLarge(primary=Span(source, 0, 0), what="the file", limit="1 MiB"),)
    foreign = importer().read(source)
    too_many = _beyond_limits(foreign)
    if too_many is not None:
        return None, (too_many,)
    sound, problems = check(foreign)
    diagnostics = [*foreign.diagnostics, *problems]
    if sound is None or _has_errors(diagnostics):
        return None, in_order(diagnostics)
    if not sound.parameters:
        empty = UnreadableDeclaration(primary=Span(source, 0, 0), problem="the file declares no hyperparameter")
        return None, (*in_order(diagnostics), empty)
    imported, more = _write(sound, source, identifier(foreign.name or file.stem), file.name)
    diagnostics += more
    return (None if _has_errors(diagnostics) else imported), in_order(diagnostics)


def _beyond_limits(foreign: ForeignSpace) -> TooLarge | None:
    """Return an error for the first declaration that exceeds the limit on declarations or values, or None."""
    declarations: tuple[Declaration, ...] = (*foreign.parameters, *foreign.conditionals, *foreign.clauses)
    if len(declarations) > MAX_DECLARATIONS:
        span = declarations[MAX_DECLARATIONS].span
        return TooLarge(primary=span, what="the number of declarations", limit=f"{MAX_DECLARATIONS:,}")
    left = MAX_VALUES
    for declaration in declarations:
        left -= size_of(declaration)
        if left < 0:
            return TooLarge(primary=declaration.span, what="the number of values", limit=f"{MAX_VALUES:,}")
    return None


def _write(sound: Sound, source: Source, name: str, origin: str) -> tuple[Imported | None, list[Diagnostic]]:
    """Return the imported space and all diagnostics.

    Operators of the catalogue are used if the resulting text passes the check of the language; otherwise all operators
    are abstract. Alternatives that the clauses always exclude are removed.
    """
    left_out: list[Diagnostic] = []
    use_catalogue = True
    start = Span(source, 0, 0)
    while True:
        shape = find_shape(sound)
        naming = name_all(shape, name, load(), use_catalogue=use_catalogue)
        text, diagnostics = write(shape, naming, name, origin)
        too_large = beyond_limits(Source(origin, text))
        if too_large is not None:
            diagnostics.append(
                TooLarge(primary=start, what=f"in the imported space {too_large.what}", limit=too_large.limit)
            )
        if _has_errors(diagnostics):
            return None, diagnostics
        # Only clauses can exclude alternatives, and only operators of a catalogue can be rejected by the check.
        is_certain = not sound.clauses and not naming.known
        found = () if is_certain else check_space(Source(origin, text)).diagnostics
        wrong = [one for one in found if one.severity is Severity.ERROR]
        dead = [one for one in wrong if isinstance(one, DeadAlternative)]
        if not wrong:
            return Imported(text, shape, naming), left_out + diagnostics
        if len(dead) == len(wrong) and (smaller := _without(sound, shape, naming, dead, left_out)) is not None:
            sound = smaller
        elif use_catalogue and naming.known:
            use_catalogue = False
        else:
            return None, [ContradictoryDeclaration(primary=start, problem=one.message) for one in wrong]


def _without(
    sound: Sound, shape: Shape, naming: Naming, dead: list[DeadAlternative], left_out: list[Diagnostic]
) -> Sound | None:
    """Return the space without alternatives that its clauses always exclude; None if a decision would be empty."""
    names = {naming.key(decision, path): decision for decision in shape.decisions for path in shape.paths[decision]}
    for one in dead:
        parameter = shape.space.parameters[names[one.stage]]
        domain = parameter.domain
        assert isinstance(domain, ForeignValues)
        place = next(i for i in range(len(domain.values)) if naming.alternatives[parameter.name, i] == one.alternative)
        what = f"the value `{domain.values[place]}` of `{parameter.name}` is always forbidden"
        left_out.append(NothingToImport(primary=parameter.span, what=what))
        if sound.parameters[parameter.name].is_constant:
            return None
        sound = without(sound, parameter.name, domain.values[place])
    return sound


def _has_errors(diagnostics: list[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
