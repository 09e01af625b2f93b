"""What a user can put right before a run starts: the data, the metric, or a space that cannot be built."""

from collections.abc import Iterable

from spacelang.suggest import nearest


class InputError(Exception):
    """A mistake in what the user gave: `message` says what is wrong, `help` (may be empty) what to do about it."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - the word of the house's diagnostics
        super().__init__(message)
        self.message = message
        self.help = help


class DataError(InputError):
    """The data cannot be read, or no pipeline could be fitted to it."""


class MetricError(InputError):
    """The metric is unknown, or cannot be computed on this data."""


class BuildError(InputError):
    """No pipeline can be made of a configuration: it does not belong to the space, or nothing builds its structure."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The help text ``did you mean `NAME`?`` for the known name nearest to one; empty where none is near."""
    near = nearest(name, known)
    return "" if near is None else f"did you mean `{near}`?"
