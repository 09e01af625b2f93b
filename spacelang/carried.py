"""Errors that go from one process to another."""

from typing import Any


class Carried(Exception):  # noqa: N818 - what it is made for, not what went wrong
    """An error that is the same again where it was pickled, whatever it was made with.

    Python makes an error again of its `args`, which are the message: those that are made of anything else, or of more,
    would end whoever waits for them instead of telling what is wrong.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is made again: without being told anew what it was made with."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[Carried], args: tuple[object, ...], known: dict[str, object]) -> Carried:
    error = kind.__new__(kind, *args)
    error.__dict__.update(known)
    return error
