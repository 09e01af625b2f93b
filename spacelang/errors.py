"""Base classes of errors: errors that survive pickling, and user errors with a remedy."""

import re
from typing import Any, Final

QUOTED_OPTIONS_PATTERN: Final = re.compile(r"`(--[a-z][^`]*)`")
"""Matches command-line options in a remedy, separated by spaces."""
OPTION_PATTERN: Final = re.compile(r"--(?P<set>set )?(?P<name>[a-z][a-z_-]*)(?:[ =](?P<value>.*))?")
"""Matches one of these options: its name and its value, if it has one."""
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
    instead: `settings={"k": 2}`. After an optimizer that is `optimizer_options`: `--optimizer a --set k=2` becomes
    `optimizer="a", optimizer_options={"k": 2}`.
    """
    return QUOTED_OPTIONS_PATTERN.sub(lambda quoted: f"`{_arguments(quoted[1], settings)}`", remedy)


def split_options(options: str) -> list[re.Match[str]]:
    """Return a match of each option in a text of options that are separated by spaces."""
    return [
        match for each in options.split(" --") if (match := OPTION_PATTERN.fullmatch(f"--{each.removeprefix('--')}"))
    ]


def _arguments(options: str, settings: str) -> str:
    if not (found := split_options(options)):
        return options
    if found[0]["name"] == "optimizer":
        settings = "optimizer_options"
    return ", ".join(_argument(each, settings) for each in found)


def _argument(option: re.Match[str], settings: str) -> str:
    name, given = option["name"].replace("-", "_"), option["value"] or ""
    is_in_mapping = bool(settings and option["set"])
    is_word = given.islower() or (is_in_mapping and given.isidentifier())
    if is_word and given[:1] not in {"'", '"'}:
        value = f'"{given}"'
    else:
        value = given or ("True" if name in OPTIONS_WITHOUT_VALUE else "…")
    if name == "allow":
        value = f"[{value}]"
    return f'{settings}={{"{name}": {value}}}' if is_in_mapping else f"{name}={value}"


def _rebuild(kind: type[PicklableError], args: tuple[object, ...], known: dict[str, object]) -> PicklableError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(known)
    return error
