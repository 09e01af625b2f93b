"""Configurations that a search starts from: the default one, those of a file, or those of a program."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Final, TypeAlias

from spacelang.api.space import Space, SpaceError, configuration_of
from spacelang.diagnostics.diagnostic import Diagnostic, Related, in_order
from spacelang.diagnostics.foreign import UnreadableDeclaration
from spacelang.diagnostics.initial import NoConfigurations, NotInSpace, RepeatedConfiguration
from spacelang.importers._located import Located, read_all
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import Exclusion, admit, exclusions
from spacelang.ir.value import Value
from spacelang.solver.defaults import default
from spacelang.syntax.sources import read_file
from spacelang.text import Source, Span

Initial: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""What a search starts from: `"default"`, the path of a JSON file, a configuration, or several."""

DEFAULT: Final = "default"
"""Stands for the default configuration of the space; a file of that name is `./default`."""

FOUND: Final = "configuration"
"""Where `run --json` has the best configuration."""


class InitialError(SpaceError):
    """What a search is to start from is not all in the space; `diagnostics` has all that is wrong, with its place."""


@dataclass(frozen=True, slots=True)
class InitialConfiguration:
    """A configuration as it was given: where it begins, and where each of its values stands, as far as that is known.

    Without `values` it is the default configuration of the space.
    """

    values: Configuration | None
    at: Span
    places: Mapping[str, Span] = field(default_factory=dict)


Read: TypeAlias = InitialConfiguration | NoConfigurations
"""What was read of one: a configuration, or why it is none."""


def read_initial(initial: Initial) -> tuple[Read, ...]:
    """What is given to start from, before it is known which space it shall be in.

    Raises InitialError for a file that cannot be read, and TypeError for a program's value that no configuration can
    have.
    """
    match initial:
        case "default":
            return (InitialConfiguration(None, Span(Source(DEFAULT, ""), 0, 0)),)
        case str() | PathLike():
            return _of_file(fspath(initial))
        case Mapping():
            return _of_program((initial,))
        case Iterable():
            return _of_program(tuple(initial))
        case _:
            raise TypeError(f"what to start from is a configuration, several, a file or `{DEFAULT}`, not {initial!r}")


def members_of(
    space: Space, given: Iterable[Read], lacks: Callable[[Configuration], str] = lambda _: ""
) -> tuple[Configuration, ...]:
    """The configurations as the space writes them; raises InitialError with all that is wrong with any of them.

    `lacks` says why a member cannot be evaluated, and nothing where it can.
    """
    found: dict[Configuration, InitialConfiguration] = {}
    mistakes: list[Diagnostic] = []
    for each in given:
        if isinstance(each, NoConfigurations):
            mistakes.append(each)
            continue
        # The default of a checked space satisfies its constraints (SL507).
        member = default(space.checked) if each.values is None else admit(space.checked, each.values)
        if isinstance(member, Exclusion):
            mistakes += _mistakes(space, each)
        elif member in found:
            mistakes.append(
                RepeatedConfiguration(primary=each.at, related=(Related(found[member].at, "given here already"),))
            )
        elif reason := lacks(member):
            mistakes.append(NotInSpace(primary=each.at, reason=reason))
        else:
            found[member] = each
    if mistakes:
        raise InitialError(in_order(mistakes))
    return tuple(found)


def _mistakes(space: Space, given: InitialConfiguration) -> Iterator[Diagnostic]:
    assert given.values is not None
    for wrong in exclusions(space.checked, given.values):
        is_somewhere = wrong.span.source.text and wrong.span != space.checked.root.span
        related = (Related(wrong.span, "the space says it here"),) if is_somewhere else ()
        yield NotInSpace(primary=given.places.get(wrong.key, given.at), related=related, reason=wrong.reason)


# ---- what programs give


def _of_program(given: tuple[Any, ...]) -> tuple[InitialConfiguration, ...]:
    """Configurations as a program holds them: they are shown one a line."""
    strange = next((each for each in given if not isinstance(each, Mapping)), None)
    if strange is not None:
        raise TypeError(f"a configuration to start from is a mapping, not {strange!r}")
    values = [configuration_of(each) for each in given]
    source = Source("initial", "\n".join(each.identity for each in values))
    return tuple(
        InitialConfiguration(each, Span(source, start, start + len(each.identity)))
        for each, start in zip(values, source.line_starts, strict=False)
    )


# ---- files


def _of_file(path: str) -> tuple[Read, ...]:
    source = read_file(path, "name a JSON file with configurations, or write `default`")
    if isinstance(source, Diagnostic):
        raise InitialError((source,))
    documents = read_all(source)
    if isinstance(documents, UnreadableDeclaration):
        raise InitialError(
            (NoConfigurations(primary=documents.primary, problem=documents.problem, expected=documents.expected),)
        )
    return tuple(_configuration(each) for document in documents for each in _listed(document))


def _listed(document: Located) -> list[Located]:
    """The members of a list; one that is empty is told as a whole."""
    return document.value if isinstance(document.value, list) and document.value else [document]


def _configuration(document: Located) -> Read:
    """A configuration, or the best one of a run."""
    if not isinstance(document.value, dict):
        empty = document.value == []
        problem = "there is no configuration in this list" if empty else "this is no configuration"
        return NoConfigurations(primary=document.span, problem=problem, expected="" if empty else "no object")
    inner = document.value.get(FOUND)
    if inner is not None and inner.value is None:
        return NoConfigurations(
            primary=inner.span,
            problem="this run has found no configuration",
            remedy="take what a run printed of which a trial succeeded",
        )
    if inner is not None and isinstance(inner.value, dict):
        return _configuration(inner)
    nested = next((each for each in document.value.values() if _has_objects(each)), None)
    if nested is not None:
        return NoConfigurations(primary=nested.span, problem="an object is not a value of a configuration")
    return InitialConfiguration(
        Configuration({key: _value(each) for key, each in document.value.items()}),
        Span(document.span.source, document.span.start, document.span.start + 1),
        {key: each.span for key, each in document.value.items()},
    )


def _has_objects(located: Located) -> bool:
    if isinstance(located.value, list):
        return any(map(_has_objects, located.value))
    return isinstance(located.value, dict)


def _value(located: Located) -> Value:
    """A value, without objects in it."""
    assert not isinstance(located.value, dict)
    return tuple(map(_value, located.value)) if isinstance(located.value, list) else located.value
