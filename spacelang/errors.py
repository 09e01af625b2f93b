"""Base classes of errors: errors that survive pickling, and user errors with a remedy."""

import re
from typing import Any, Final

OPTION_PATTERN: Final = re.compile(r"`--(?P<set>set )?(?P<name>[a-z][a-z_-]*)(?:[ =](?P<value>[^`]*))?`")
"""Matches a command-line option in a remedy: its name and its value, if it has one."""
OPTIONS_WITHOUT_VALUE: Final = frozenset({"resume"})


class PicklableError(Exception):
    """An error that pickling preserves, whatever arguments its constructor takes.

    Python would call it with `args`, which raises a TypeError in the receiving process and hides the real cause.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a recipe that rebuilds the error without calling its constructor."""
        return _rebuild, (type(self), self.args, self.__dict__)


class UserError(PicklableError):
    """A mistake in the user's input: `message` says what is wrong, `help` (may be empty) what to do about it.

    In tracebacks Python shows the help below the message as a note. Command-line options in it are rewritten as Python
    arguments (see `remedy_in_python`).
    """

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - the word used in diagnostics
        super().__init__(message)
        self.message = message
        self.help = help
        if help:
            self.add_note(f"help: {remedy_in_python(help)}")


def remedy_in_python(remedy: str, settings: str = "") -> str:
    """Return a remedy text with its command-line options rewritten as Python arguments.

    `--test 0.2` becomes `test=0.2`, `--store` becomes `store=…`, and words are quoted: `optimizer="mosaic"`.

    `--set k=2` becomes `k=2`. If `settings` names an argument that takes a mapping, it becomes an entry of that mapping
    instead: `settings={"k": 2}`.
    """
    return OPTION_PATTERN.sub(lambda option: f"`{_argument(option, settings)}`", remedy)


def _argument(option: re.Match[str], settings: str) -> str:
    name, given = option["name"].replace("-", "_"), option["value"] or ""
    is_quoted = given[:1] in {"'", '"'}
    value = (
        f'"{given}"'
        if given.islower() and not is_quoted
        else given or ("True" if name in OPTIONS_WITHOUT_VALUE else "…")
    )
    return f'{settings}={{"{name}": {value}}}' if settings and option["set"] else f"{name}={value}"


def _rebuild(kind: type[PicklableError], args: tuple[object, ...], known: dict[str, object]) -> PicklableError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(known)
    return error
