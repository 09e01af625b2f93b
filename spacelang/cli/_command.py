"""Turn a function into a command: expand its option groups, and end the program for errors that the user can fix.

An option group is a frozen dataclass of options that several commands share. A command names the group as one argument.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

from spacelang.cli._output import exit_with_diagnostics, fail
from spacelang.cli._shell_completion import BAD_INPUT, WRONG_USAGE


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as the option parser calls it, with every option of its groups as a parameter of its own.

    Errors that the user can fix end the program with a message, so that commands need not catch them.
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
        """Assemble the option groups, run the command, and report errors that the user can fix."""
        said = {**given}
        for name, group in groups.items():
            said[name] = group(**{each.name: said.pop(each.name) for each in fields(group)})
        try:
            command(**said)
        except Exception as error:
            as_json = given.get("json") or given.get("format_") == "json"
            _exit_for_user_error(error, given.get("store") or given.get("run"), as_json=bool(as_json))
            raise

    call.__signature__ = Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in options}
    return call


def _exit_for_user_error(error: Exception, store: Path | None, *, as_json: bool) -> None:
    """End the program if the user can fix the error, with a message; return for all other errors.

    `store` is the file that the command was given for the run. The message names it if it holds another run.
    """
    from spacelang.analysis.context import BindingError
    from spacelang.api.compilation import CompilationError
    from spacelang.api.space import SpaceError
    from spacelang.plugins import OptionError, UnknownPluginError
    from spacelang.runtime.data.read_options import ReadOptionsError
    from spacelang.runtime.errors import InputError, MetricError
    from spacelang.runtime.storage.store_errors import StoreError

    match error:
        case SpaceError() | CompilationError():
            exit_with_diagnostics(error.diagnostics, as_json=as_json)
        case BindingError() | UnknownPluginError() | OptionError() | MetricError() | ReadOptionsError():
            fail(error.message, error.help, status=WRONG_USAGE)
        case StoreError(differences=(_, _, *_)) if store is not None:
            fail(f"`{store}` holds another run", error.help, status=BAD_INPUT, notes=error.differences)
        case StoreError() if store is None:
            fail(error.message, error.help, status=BAD_INPUT, notes=error.differences)
        case InputError():
            fail(error.message, error.help, status=BAD_INPUT)
        case _:
            return
