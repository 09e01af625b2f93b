"""Initial configurations of a search: the default one, or those of a file, a program or an archive of runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spacelang.api.space import Space, SpaceError, load, to_configuration
from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace, sort_without_duplicates
from spacelang.diagnostics.other_tools import (
    InitialConfigurationNotInSpace,
    InvalidImportedDeclaration,
    InvalidInitialConfigurationFile,
    RepeatedInitialConfiguration,
)
from spacelang.files import os_error_text
from spacelang.importers._json_positions import PositionedValue, parse_json_documents
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import ExclusionReason, all_exclusions
from spacelang.ir.value import Value
from spacelang.runtime.archives import DistanceNorm
from spacelang.runtime.objective import HasMetaFeatures, ObjectiveInfo
from spacelang.solver.defaults import default_configuration
from spacelang.solver.nearest_configuration import (
    drop_keys_without_meaning,
    member_without_dropped_keys,
    owning_tuple_key,
)
from spacelang.syntax.sources import read_file
from spacelang.text import Source, Span

if TYPE_CHECKING:
    from spacelang.runtime.archives.archive import Archive, ArchiveSuggestions
    from spacelang.runtime.archives.creation import NewArchive, NewPortfolio

Initial: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""Initial configurations: `"default"`, the path of a JSON file, a configuration, or several."""
DEFAULT: Final = "default"
"""The text for the default configuration of the space; a file of this name can be given as `./default`."""
BEST_KEY: Final = "configuration"  # The key of the best configuration in the output of `run --json`


class InitialConfigurationError(SpaceError):
    """An initial configuration is invalid or not in the space; `diagnostics` lists every problem with its position."""


@dataclass(frozen=True, slots=True)
class InitialConfiguration:
    """A configuration as given (None: the default), with positions of it and of its values as far as known."""

    values: Configuration | None
    span: Span
    value_spans: Mapping[str, Span] = field(default_factory=dict)


InitialItem: TypeAlias = InitialConfiguration | InvalidInitialConfigurationFile
"""The result of reading one item: a configuration, or why it is not one."""


def read_initial_configurations(initial: Initial) -> tuple[InitialItem, ...]:
    """Read initial configurations of any space; raise InitialConfigurationError, or TypeError for impossible values."""
    match initial:
        case "default":
            return (InitialConfiguration(None, Span(Source(DEFAULT, ""), 0, 0)),)
        case str() | PathLike():
            return _from_file(fspath(initial))
        case Mapping():
            return _from_values((initial,))
        case Iterable():
            return _from_values(tuple(initial))
        case _:
            raise TypeError(f"`initial` must be a configuration, several, a file or `{DEFAULT}`, not {initial!r}")


def validate_initial_configurations(
    space: Space, given: Iterable[InitialItem], lacks: Callable[[Configuration], str] = lambda _: ""
) -> tuple[Configuration, ...]:
    """Return the configurations as members of the space; raise InitialConfigurationError with all problems.

    `lacks` returns why a member cannot be evaluated, or an empty string if it can.
    """
    found: dict[Configuration, InitialConfiguration] = {}
    shortened: set[Configuration] = set()  # members of configurations that had keys without meaning for the data
    mistakes: list[Diagnostic] = []
    for each in given:
        if isinstance(each, InvalidInitialConfigurationFile):
            mistakes.append(each)
            continue
        member = _member_of(space, each)
        if isinstance(member, ExclusionReason):
            mistakes += _exclusion_diagnostics(space, each)
            continue
        if each.values is not None and space.keys_without_meaning(each.values):
            if member in found:
                continue
            shortened.add(member)
        elif member in shortened:
            shortened.remove(member)
            continue
        if member in found:
            related = (RelatedPlace(found[member].span, "first given here"),)
            mistakes.append(RepeatedInitialConfiguration(primary=each.span, related=related))
        elif reason := lacks(member):
            mistakes.append(InitialConfigurationNotInSpace(primary=each.span, reason=reason))
        else:
            found[member] = each
    if mistakes:
        raise InitialConfigurationError(sort_without_duplicates(mistakes))
    return tuple(found)


def _member_of(space: Space, given: InitialConfiguration) -> Configuration | ExclusionReason:
    if given.values is None:
        return default_configuration(space.checked)  # it satisfies the constraints of a checked space (SL507)
    found = member_without_dropped_keys(space.checked, given.values)
    return found if isinstance(found, ExclusionReason) else found.member


def keys_without_meaning(space: Space, given: Iterable[InitialItem]) -> tuple[str, ...]:
    """Return the sorted keys of the given configurations that the space lost when it was bound to its data."""
    known = (each.values for each in given if isinstance(each, InitialConfiguration) and each.values is not None)
    return tuple(sorted({key for values in known for key in space.keys_without_meaning(values)}))


def _exclusion_diagnostics(space: Space, given: InitialConfiguration) -> Iterator[Diagnostic]:
    assert given.values is not None
    for wrong in all_exclusions(space.checked, drop_keys_without_meaning(space.checked, given.values)[0]):
        is_somewhere = wrong.span.source.text and wrong.span != space.checked.root.span
        related = (
            (RelatedPlace(wrong.span, "this part of the space excludes the configuration"),) if is_somewhere else ()
        )
        spans = given.value_spans
        span = spans.get(wrong.key) or spans.get(owning_tuple_key(wrong.key), given.span)
        yield InitialConfigurationNotInSpace(primary=span, related=related, reason=wrong.reason)


def _from_values(given: tuple[Any, ...]) -> tuple[InitialConfiguration, ...]:
    """Return mappings as configurations, with positions in a new source text that has one configuration per line."""
    strange = next((each for each in given if not isinstance(each, Mapping)), None)
    if strange is not None:
        raise TypeError(f"each initial configuration must be a mapping, not {strange!r}")
    values = [to_configuration(each) for each in given]
    source = Source("initial", "\n".join(each.identity for each in values))
    return tuple(
        InitialConfiguration(each, Span(source, start, start + len(each.identity)))
        for each, start in zip(values, source.line_starts, strict=False)
    )


def _from_file(path: str) -> tuple[InitialItem, ...]:
    source = read_file(path, "give a JSON file with configurations, or `default`")
    if isinstance(source, Diagnostic):
        raise InitialConfigurationError((source,))
    documents = parse_json_documents(source)
    if isinstance(documents, InvalidImportedDeclaration):
        where, problem, expected = documents.primary, documents.problem, documents.expected
        raise InitialConfigurationError(
            (InvalidInitialConfigurationFile(primary=where, problem=problem, expected=expected),)
        )
    # An empty list and any other value are single items.
    several = (each.value if isinstance(each.value, list) and each.value else [each] for each in documents)
    return tuple(_read_configuration(each) for items in several for each in items)


def _read_configuration(document: PositionedValue) -> InitialItem:
    """Return the configuration in a JSON object, or a diagnostic; from `run --json` output, the best configuration."""
    if not isinstance(document.value, dict):
        empty = document.value == []
        problem = "the list of initial configurations is empty" if empty else "a configuration must be a JSON object"
        expected = "" if empty else "not a JSON object"
        return InvalidInitialConfigurationFile(primary=document.span, problem=problem, expected=expected)
    inner = document.value.get(BEST_KEY)
    if inner is not None and inner.value is None:
        problem, remedy = "no trial of this run succeeded", "use the output of a run with a successful trial"
        return InvalidInitialConfigurationFile(primary=inner.span, problem=problem, remedy=remedy)
    if inner is not None and isinstance(inner.value, dict):
        return _read_configuration(inner)
    nested = next((each for each in document.value.values() if _contains_object(each)), None)
    if nested is not None:
        return InvalidInitialConfigurationFile(
            primary=nested.span, problem="a value of a configuration cannot be an object"
        )
    return InitialConfiguration(
        Configuration({key: _value(each) for key, each in document.value.items()}),
        Span(document.span.source, document.span.start, document.span.start + 1),
        {key: each.span for key, each in document.value.items()},
    )


def _contains_object(located: PositionedValue) -> bool:
    if isinstance(located.value, list):
        return any(map(_contains_object, located.value))
    return isinstance(located.value, dict)


def _value(located: PositionedValue) -> Value:
    assert not isinstance(located.value, dict)
    return tuple(map(_value, located.value)) if isinstance(located.value, list) else located.value


def make_run_archive(places: Iterable[str | PathLike[str]], file: str | PathLike[str]) -> "NewArchive":
    """Write an archive file from stores, from folders of stores, and from folders of auto-sklearn results.

    Returns the archive and what was left out of it. Raises the runtime's InputError, including ArchiveError and
    StoreError.
    """
    from spacelang.runtime.archives.archive import write_archive
    from spacelang.runtime.archives.creation import make_archive

    made = make_archive(map(Path, places), str(file), lambda name: load(name).checked)
    write_archive(made.archive, Path(file))
    return made


def make_run_portfolio(places: Iterable[str | PathLike[str]], file: str | PathLike[str], size: int) -> "NewPortfolio":
    """Write to `file` at most `size` configurations that together did best in runs.

    `places` are the stores of the runs, or folders of stores. Returns the portfolio.

    Raises the runtime's InputError, including ArchiveError and StoreError, and ValueError for a size below 1.
    """
    from spacelang.runtime.archives.archive import ArchiveError
    from spacelang.runtime.archives.creation import make_portfolio
    from spacelang.serialization.portfolio import write_portfolio

    if size < 1:
        raise ValueError(f"a portfolio of {size} configurations is empty: give at least 1")
    made = make_portfolio(map(Path, places), size)
    try:
        write_portfolio(made.portfolio, Path(file))
    except OSError as error:
        raise ArchiveError(f"`{file}` cannot be written: {os_error_text(error)}") from error
    return made


def open_archive(file: "str | PathLike[str] | Archive") -> "Archive":
    """Return the archive in a file, or the archive itself if one is given; raises ArchiveError."""
    from spacelang.runtime.archives.archive import Archive, read_archive

    return file if isinstance(file, Archive) else read_archive(Path(file))


def suggest_configurations(
    archive: "Archive", space: Space, objective: "ObjectiveInfo", norm: str = "l1"
) -> "ArchiveSuggestions":
    """Return the configurations that an archive suggests for a search of a space on the data of an objective.

    `norm` is the distance between meta-features: `l1` or `l2`. Raises ArchiveError if the archive is about another
    space or another loss, and ValueError for an unknown norm.
    """
    from spacelang.runtime.archives.archive import UpcomingRun, suggest_from_archive

    assert isinstance(objective, HasMetaFeatures), "an archive needs data with rows"
    target = UpcomingRun(space.checked, objective.facts, objective.metric.formula, objective.meta_features)
    return suggest_from_archive(archive, target, DistanceNorm(norm))
