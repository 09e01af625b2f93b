"""How a function becomes a command: each option of its groups by itself, and how it ends where something is wrong.

A group is a frozen dataclass of options that several commands have, which these name as one argument.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

from spacelang.cli._shared import end, fail
from spacelang.cli._shell import BAD_INPUT, WRONG_USAGE


def parsed(command: Callable[..., None]) -> Callable[..., None]:
    """The command as the option parser calls it.

    What the user can put right in what it was given ends the program: nothing that raises need be caught in a command.
    """
    known = signature(command).parameters.values()
    groups: dict[str, Any] = {each.name: each.annotation for each in known if is_dataclass(each.annotation)}
    options = [
        option.replace(kind=Parameter.KEYWORD_ONLY)
        for each in known
        for option in (signature(groups[each.name]).parameters.values() if each.name in groups else (each,))
    ]

    @wraps(command)
    def call(**given: Any) -> None:
        said = {**given}
        for name, group in groups.items():
            said[name] = group(**{each.name: said.pop(each.name) for each in fields(group)})
        try:
            command(**said)
        except Exception as error:
            as_json = given.get("json") or given.get("format_") == "json"
            _end(error, given.get("store") or given.get("run"), as_json=bool(as_json))
            raise

    call.__signature__ = Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in options}
    return call


def _end(error: Exception, store: Path | None, *, as_json: bool) -> None:
    """End the program for what the user can put right, the store of a run among that; return for all else."""
    from spacelang.analysis.surroundings import BindingError
    from spacelang.api.compiling import RefusalError
    from spacelang.api.space import SpaceError
    from spacelang.plugins import OptionError, UnknownPluginError
    from spacelang.runtime.data.reading import ReadingError
    from spacelang.runtime.errors import InputError, MetricError
    from spacelang.runtime.storing.store_faults import StoreError

    match error:
        case SpaceError() | RefusalError():
            end(error.diagnostics, as_json=as_json)
        case BindingError() | UnknownPluginError() | OptionError() | MetricError() | ReadingError():
            fail(error.message, error.help, status=WRONG_USAGE)
        case StoreError(differences=(_, _, *_)) if store is not None:
            fail(f"`{store}` is of another run", error.help, status=BAD_INPUT, notes=error.differences)
        case StoreError() if store is None:
            fail(error.message, error.help, status=BAD_INPUT, notes=error.differences)
        case InputError():
            fail(error.message, error.help, status=BAD_INPUT)
        case _:
            return
