"""Convert a foreign text to a `.space` text, and configurations in both directions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from spacelang.analysis import check as check_space
from spacelang.catalog import load_catalogue
from spacelang.diagnostics.conditions import AlternativeNeverChosen
from spacelang.diagnostics.diagnostic import Diagnostic, Severity, sort_without_duplicates
from spacelang.diagnostics.other_tools import (
    ContradictoryImportedDeclaration,
    IneffectiveImportedDeclaration,
    InvalidImportedDeclaration,
    UnknownImportFormat,
)
from spacelang.diagnostics.reading import TextTooLarge
from spacelang.importers import IMPORTERS
from spacelang.importers._consistency import ConsistentSpace, check_consistency, remove_value
from spacelang.importers._foreign_space import (
    Declaration,
    ForeignParameter,
    ForeignRange,
    ForeignSpace,
    ForeignValues,
    count_mentioned_values,
    to_identifier,
)
from spacelang.importers._text_writer import write_space_text
from spacelang.importers._tree_builder import NameAssignment, SpaceTree, assign_names, build_space_tree
from spacelang.ir.configuration import Configuration
from spacelang.ir.value import Value, from_json, identity_key, to_python_scalar
from spacelang.syntax.parser import MAX_BYTES, exceeded_limit_diagnostic
from spacelang.text import Source, Span

MAX_DECLARATIONS: Final = 5_000
"""The maximal number of hyperparameters, conditions and forbidden clauses; published spaces have up to 2,000."""
MAX_VALUES: Final = 20_000  # The maximal number of values in sets, conditions and clauses together
_Identity: TypeAlias = tuple[object, ...]
_Steps: TypeAlias = set[tuple[str, _Identity]]  # Foreign decisions, each with the value that it has


@dataclass(frozen=True, slots=True)
class _ParameterMapping:
    """The mapping of one foreign hyperparameter to ours.

    `keys` are pairs: the foreign decisions with their values under which it is active, and the configuration key that
    it then has in our space.
    """

    parameter: ForeignParameter
    is_fixed: bool
    is_decision: bool
    keys: tuple[tuple[frozenset[tuple[str, _Identity]], str], ...]
    foreign_values: dict[_Identity, Value]
    """The foreign values by our values; empty for ranges, whose values are the same on both sides."""
    our_values: dict[_Identity, Value]

    def reached_keys(self, taken: _Steps) -> Iterator[str]:
        """Yield the configuration keys of the hyperparameter that are reached if decisions have the values `taken`."""
        return (key for leading, key in self.keys if leading <= taken)

    def decision_value(self, value: Value) -> _Steps:
        """Return the set of one pair, the decision and its value.

        An empty set if the hyperparameter is not a decision.
        """
        return {(self.parameter.name, identity_key(value))} if self.is_decision else set()

    def translate(self, value: Value, table: dict[_Identity, Value]) -> Value:
        """Return a value of one space as the other space represents it.

        A number within a range stays the same number; other values are looked up in `table` by their `identity_key`.
        Raise ValueError for a value that the hyperparameter does not have.
        """
        domain = self.parameter.domain
        if isinstance(domain, ForeignRange) and value in domain:
            assert isinstance(value, int | float)
            return int(value) if domain.kind == "int" else float(value)
        if (known := identity_key(value)) not in table:
            raise ValueError(f"{value!r} is not a value of `{self.parameter.name}`")
        return table[known]


@dataclass(frozen=True)
class ImportResult:
    """A foreign space as the text of a `.space` file, with a mapping of configurations.

    `decode` converts a foreign configuration to ours, and `encode` is its inverse. A foreign configuration is a mapping
    from names to values. It contains exactly the active hyperparameters, including constants.
    """

    text: str
    tree: SpaceTree = field(repr=False)
    naming: NameAssignment = field(repr=False)

    def encode(self, configuration: Mapping[str, Value]) -> dict[str, Value]:
        """Return the foreign configuration for ours; raise ValueError for a value that the space does not have."""
        found: dict[str, Value] = {}
        taken: _Steps = set()
        for way in self._mappings:
            for key in way.reached_keys(taken):
                if way.is_fixed:
                    found[way.parameter.name] = way.parameter.default
                elif key in configuration:
                    value = way.translate(configuration[key], way.foreign_values)
                    found[way.parameter.name] = value
                    taken |= way.decision_value(value)
        return found

    def decode(self, values: Mapping[str, Any]) -> Configuration:
        """Return our configuration; raise ValueError for unknown names or values, or not exactly the active ones."""
        given = {name: from_json(to_python_scalar(value)) for name, value in values.items()}
        unknown = next((name for name in given if name not in self.tree.space.parameters), None)
        if unknown is not None:
            raise ValueError(f"unknown hyperparameter `{unknown}`")
        found: dict[str, Value] = {}
        taken: _Steps = set()
        for way in self._mappings:
            if way.parameter.name in given:
                value = given[way.parameter.name]
                translated = way.translate(value, way.our_values)
                found.update({} if way.is_fixed else dict.fromkeys(way.reached_keys(taken), translated))
                taken |= way.decision_value(value)
        active = self.encode(found)
        if wrong := sorted(active.keys() ^ given.keys()):
            raise ValueError(f"`{wrong[0]}` is {'missing' if wrong[0] in active else 'not active here'}")
        return Configuration(found)

    @cached_property
    def _mappings(self) -> tuple[_ParameterMapping, ...]:
        """The mappings of all hyperparameters; decisions come before the hyperparameters below them."""
        return tuple(map(self._mapping, self.tree.space.parameters.values()))

    def _mapping(self, parameter: ForeignParameter) -> _ParameterMapping:
        name, domain = parameter.name, parameter.domain
        is_fixed, is_decision = name in self.tree.fixed, name in self.tree.decisions
        keys = tuple(
            (
                frozenset((each, self._value(each, place)) for each, place in path if each),
                self.naming.configuration_key(name, path),
            )
            for path in self.tree.paths[name]
        )
        if isinstance(domain, ForeignRange):
            return _ParameterMapping(parameter, is_fixed, is_decision, keys, {}, {})
        ours = domain.space_values
        if is_decision:
            ours = tuple(self.naming.alternatives[name, place] for place in range(len(domain.values)))
        pairs = [*zip(ours, domain.values, strict=True)]
        foreign = {identity_key(own): value for own, value in pairs}
        back = {identity_key(value): own for own, value in pairs}
        return _ParameterMapping(parameter, is_fixed, is_decision, keys, foreign, back)

    def _value(self, decision: str, place: int | str) -> _Identity:
        domain = self.tree.space.parameters[decision].domain
        assert isinstance(domain, ForeignValues)
        return identity_key(domain.values[int(place)])


def import_space(source: Source) -> tuple[ImportResult | None, tuple[Diagnostic, ...]]:
    """Return the imported space (or None) and all diagnostics for a text of another tool; never raise.

    The extension of the source's name determines the format. The result is None if the imported space would have other
    members than the foreign one, or no members at all.
    """
    file = PurePath(source.name)
    importer = next((one for one in map(IMPORTERS.load, IMPORTERS.names()) if file.suffix.lower() in one.endings), None)
    if importer is None:
        return None, (UnknownImportFormat(Span(source, 0, 0), path=source.name),)
    if len(source.text.encode(errors="surrogatepass")) > MAX_BYTES:
        return None, (TextTooLarge(Span(source, 0, 0), quantity="the file", limit="1 MiB"),)
    foreign = importer().read(source)
    too_many = _exceeded_limit(foreign)
    if too_many is not None:
        return None, (too_many,)
    sound, problems = check_consistency(foreign)
    diagnostics = [*foreign.diagnostics, *problems]
    if sound is None or _has_errors(diagnostics):
        return None, sort_without_duplicates(diagnostics)
    if not sound.parameters:
        empty = InvalidImportedDeclaration(Span(source, 0, 0), problem="the file declares no hyperparameter")
        return None, (*sort_without_duplicates(diagnostics), empty)
    imported, more = _write_checked(sound, source, to_identifier(foreign.name or file.stem), file.name)
    diagnostics += more
    return (None if _has_errors(diagnostics) else imported), sort_without_duplicates(diagnostics)


def _exceeded_limit(foreign: ForeignSpace) -> TextTooLarge | None:
    declarations: tuple[Declaration, ...] = (*foreign.parameters, *foreign.conditionals, *foreign.clauses)
    if len(declarations) > MAX_DECLARATIONS:
        span = declarations[MAX_DECLARATIONS].span
        return TextTooLarge(span, quantity="the number of declarations", limit=f"{MAX_DECLARATIONS:,}")
    left = MAX_VALUES
    for declaration in declarations:
        left -= count_mentioned_values(declaration)
        if left < 0:
            return TextTooLarge(declaration.span, quantity="the number of values", limit=f"{MAX_VALUES:,}")
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
        tree = build_space_tree(sound)
        naming = assign_names(tree, name, load_catalogue(), use_catalogue=use_catalogue)
        text, diagnostics = write_space_text(tree, naming, name, origin)
        too_large = exceeded_limit_diagnostic(Source(origin, text))
        if too_large is not None:
            diagnostics.append(
                TextTooLarge(start, quantity=f"{too_large.quantity} in the imported space", limit=too_large.limit)
            )
        if _has_errors(diagnostics):
            return None, diagnostics
        # Only clauses can exclude alternatives, and only operators of a catalogue can be rejected by the check.
        is_certain = not sound.clauses and not naming.catalogue_paths
        found = () if is_certain else check_space(Source(origin, text)).diagnostics
        wrong = [one for one in found if one.severity is Severity.ERROR]
        dead = [one for one in wrong if isinstance(one, AlternativeNeverChosen)]
        if not wrong:
            return ImportResult(text, tree, naming), left_out + diagnostics
        if (
            len(dead) == len(wrong)
            and (smaller := _remove_dead_alternatives(sound, tree, naming, dead, left_out)) is not None
        ):
            sound = smaller
        elif use_catalogue and naming.catalogue_paths:
            use_catalogue = False
        else:
            return None, [ContradictoryImportedDeclaration(start, problem=one.message) for one in wrong]


def _remove_dead_alternatives(
    sound: ConsistentSpace,
    tree: SpaceTree,
    naming: NameAssignment,
    dead: list[AlternativeNeverChosen],
    left_out: list[Diagnostic],
) -> ConsistentSpace | None:
    """Return the space without alternatives that its clauses always exclude; None if a decision would be empty."""
    names = {
        naming.configuration_key(decision, path): decision
        for decision in tree.decisions
        for path in tree.paths[decision]
    }
    for one in dead:
        parameter = tree.space.parameters[names[one.stage]]
        domain = parameter.domain
        assert isinstance(domain, ForeignValues)
        place = next(i for i in range(len(domain.values)) if naming.alternatives[parameter.name, i] == one.alternative)
        what = f"the value `{domain.values[place]}` of `{parameter.name}` is always forbidden"
        left_out.append(IneffectiveImportedDeclaration(parameter.span, declaration=what))
        if sound.parameters[parameter.name].is_constant:
            return None
        sound = remove_value(sound, parameter.name, domain.values[place])
    return sound


def _has_errors(diagnostics: list[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
