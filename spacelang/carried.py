"""Errors that go from one process to another, and those that a user can put right."""

import re
from typing import Any, Final

OPTION: Final = re.compile(r"`--(?P<set>set )?(?P<name>[a-z][a-z_-]*)(?:[ =](?P<value>[^`]*))?`")
"""An option of the command line as a remedy names it: its name, and the value where there is one."""
FLAGS: Final = frozenset({"resume"})
"""The options that remedies name which have no value."""


class Carried(Exception):  # noqa: N818 - what it is made for, not what went wrong
    """An error that is the same again where it was pickled, whatever it was made with.

    Python makes an error again of its `args`, which are the message: those that are made of anything else, or of more,
    would end whoever waits for them instead of telling what is wrong.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is made again: without being told anew what it was made with."""
        return _again, (type(self), self.args, self.__dict__)


class Correctable(Carried):
    """A mistake in what the user gave: `message` says what is wrong, `help` (may be empty) what to do about it.

    Python shows the help below the message, as a note, with options of the command line as arguments.
    """

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - the word of the house's diagnostics
        super().__init__(message)
        self.message = message
        self.help = help
        if help:
            self.add_note(f"help: {in_python(help)}")


def in_python(remedy: str, settings: str = "") -> str:
    """A remedy with `--test 0.2` as `test=0.2`, `--store` as `store=…`, and words quoted: `optimizer="mosaic"`.

    What `--set` gives is an argument, too, or one of a mapping where an argument for these is named: `--set k=2` is
    `settings={"k": 2}`.
    """
    return OPTION.sub(lambda option: f"`{_argument(option, settings)}`", remedy)


def _argument(option: re.Match[str], settings: str) -> str:
    name, given = option["name"].replace("-", "_"), option["value"] or ""
    value = f'"{given}"' if given.islower() else given or ("True" if name in FLAGS else "…")
    return f'{settings}={{"{name}": {value}}}' if settings and option["set"] else f"{name}={value}"


def _again(kind: type[Carried], args: tuple[object, ...], known: dict[str, object]) -> Carried:
    error = kind.__new__(kind, *args)
    error.__dict__.update(known)
    return error
