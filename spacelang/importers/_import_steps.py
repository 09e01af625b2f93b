"""Convert a foreign text to a `.space` text: run all steps of an import."""

from pathlib import Path
from typing import Final

from spacelang.analysis import check as check_space
from spacelang.catalog import load
from spacelang.diagnostics.conditions import DeadAlternative
from spacelang.diagnostics.diagnostic import Diagnostic, Severity, sorted_unique
from spacelang.diagnostics.files import TooLarge
from spacelang.diagnostics.foreign_files import (
    ContradictoryDeclaration,
    IneffectiveDeclaration,
    UnknownFormat,
    UnreadableDeclaration,
)
from spacelang.importers import IMPORTERS
from spacelang.importers._consistency import ConsistentSpace, check_consistency, remove_value
from spacelang.importers._foreign_space import Declaration, ForeignSpace, ForeignValues, count_values
from spacelang.importers._import_result import ImportResult
from spacelang.importers._name_assignment import NameAssignment, assign_names
from spacelang.importers._text_writer import write_text
from spacelang.importers._tree_builder import SpaceTree, build_tree
from spacelang.importers._unique_names import to_identifier
from spacelang.syntax.text_limits import MAX_BYTES, exceeded_limit
from spacelang.text import Source, Span

MAX_DECLARATIONS: Final = 5_000
"""The maximal number of hyperparameters, conditions and forbidden clauses; published spaces have up to 2,000."""

MAX_VALUES: Final = 20_000
"""The maximal number of values in sets, conditions and clauses together."""


def import_space(source: Source) -> tuple[ImportResult | None, tuple[Diagnostic, ...]]:
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
    too_many = _exceeded_limit(foreign)
    if too_many is not None:
        return None, (too_many,)
    sound, problems = check_consistency(foreign)
    diagnostics = [*foreign.diagnostics, *problems]
    if sound is None or _has_errors(diagnostics):
        return None, sorted_unique(diagnostics)
    if not sound.parameters:
        empty = UnreadableDeclaration(primary=Span(source, 0, 0), problem="the file declares no hyperparameter")
        return None, (*sorted_unique(diagnostics), empty)
    imported, more = _write_checked(sound, source, to_identifier(foreign.name or file.stem), file.name)
    diagnostics += more
    return (None if _has_errors(diagnostics) else imported), sorted_unique(diagnostics)


def _exceeded_limit(foreign: ForeignSpace) -> TooLarge | None:
    """Return an error for the first declaration that exceeds the limit on declarations or values, or None."""
    declarations: tuple[Declaration, ...] = (*foreign.parameters, *foreign.conditionals, *foreign.clauses)
    if len(declarations) > MAX_DECLARATIONS:
        span = declarations[MAX_DECLARATIONS].span
        return TooLarge(primary=span, what="the number of declarations", limit=f"{MAX_DECLARATIONS:,}")
    left = MAX_VALUES
    for declaration in declarations:
        left -= count_values(declaration)
        if left < 0:
            return TooLarge(primary=declaration.span, what="the number of values", limit=f"{MAX_VALUES:,}")
    return None


def _write_checked(
    sound: ConsistentSpace, source: Source, name: str, origin: str
) -> tuple[ImportResult | None, list[Diagnostic]]:
    """Return the imported space and all diagnostics.

    Operators of the catalogue are used if the resulting text passes the check of the language; otherwise all operators
    are abstract. Alternatives that the clauses always exclude are removed.
    """
    left_out: list[Diagnostic] = []
    use_catalogue = True
    start = Span(source, 0, 0)
    while True:
        shape = build_tree(sound)
        naming = assign_names(shape, name, load(), use_catalogue=use_catalogue)
        text, diagnostics = write_text(shape, naming, name, origin)
        too_large = exceeded_limit(Source(origin, text))
        if too_large is not None:
            diagnostics.append(
                TooLarge(primary=start, what=f"in the imported space {too_large.what}", limit=too_large.limit)
            )
        if _has_errors(diagnostics):
            return None, diagnostics
        # Only clauses can exclude alternatives, and only operators of a catalogue can be rejected by the check.
        is_certain = not sound.clauses and not naming.catalogue_paths
        found = () if is_certain else check_space(Source(origin, text)).diagnostics
        wrong = [one for one in found if one.severity is Severity.ERROR]
        dead = [one for one in wrong if isinstance(one, DeadAlternative)]
        if not wrong:
            return ImportResult(text, shape, naming), left_out + diagnostics
        if (
            len(dead) == len(wrong)
            and (smaller := _remove_dead_alternatives(sound, shape, naming, dead, left_out)) is not None
        ):
            sound = smaller
        elif use_catalogue and naming.catalogue_paths:
            use_catalogue = False
        else:
            return None, [ContradictoryDeclaration(primary=start, problem=one.message) for one in wrong]


def _remove_dead_alternatives(
    sound: ConsistentSpace,
    shape: SpaceTree,
    naming: NameAssignment,
    dead: list[DeadAlternative],
    left_out: list[Diagnostic],
) -> ConsistentSpace | None:
    """Return the space without alternatives that its clauses always exclude; None if a decision would be empty."""
    names = {naming.key(decision, path): decision for decision in shape.decisions for path in shape.paths[decision]}
    for one in dead:
        parameter = shape.space.parameters[names[one.stage]]
        domain = parameter.domain
        assert isinstance(domain, ForeignValues)
        place = next(i for i in range(len(domain.values)) if naming.alternatives[parameter.name, i] == one.alternative)
        what = f"the value `{domain.values[place]}` of `{parameter.name}` is always forbidden"
        left_out.append(IneffectiveDeclaration(primary=parameter.span, what=what))
        if sound.parameters[parameter.name].is_constant:
            return None
        sound = remove_value(sound, parameter.name, domain.values[place])
    return sound


def _has_errors(diagnostics: list[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
