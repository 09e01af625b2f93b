"""The options with which a run's data was read, as its store holds them.

With these and the path, the data can be read again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Final

from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, ReadOptions, make_read_options
from spacelang.runtime.errors import DataError, InputError


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The label column, the share of rows held out for testing, and the read options of the file.

    `target` is None if the label column was not given, so the default applies. `test` is None if the run used all rows.
    """

    target: str | None = None
    test: float | None = None
    reading: ReadOptions = DEFAULT_OPTIONS

    @property
    def as_texts(self) -> dict[str, str]:
        """The options as texts by name, without those at their defaults."""
        said = {"target": self.target, "test": None if self.test is None else repr(self.test)}
        dropped = {"drop_columns": json.dumps(self.reading.drop_columns)} if self.reading.drop_columns else {}
        return (
            {name: value for name, value in said.items() if value is not None}
            | self.reading.non_default_text_file_options
            | dropped
        )

    @property
    def command_options(self) -> str:
        """The options as command-line arguments, each with a space before it."""
        target = "" if self.target is None else f" --target-column {quote(self.target)}"
        return f"{target}{'' if self.test is None else f' --test {self.test!r}'}{self.reading.command_options}"


def read_options(texts: Mapping[str, str]) -> DataOptions:
    """Return the options that `DataOptions.as_texts` was made from.

    Raises InputError for invalid texts, which a store of unknown origin may have.
    """
    try:
        share = float(texts["test"]) if "test" in texts else None
        dropped = json.loads(texts.get("drop_columns", "[]"))
    except (ValueError, RecursionError):
        raise _unreadable("a number or a list is invalid") from None
    if share is not None and not 0 < share < 1:
        raise _unreadable(f"the test share {share:g} is not between 0 and 1")
    if not isinstance(dropped, list) or not all(isinstance(name, str) for name in dropped):
        raise _unreadable("the dropped columns are not a list of names")
    try:
        read = make_read_options(texts.get("sep"), texts.get("encoding"), texts.get("decimal"), dropped)
    except InputError as error:
        raise _unreadable(error.message) from None
    return DataOptions(texts.get("target"), share, read)


def _unreadable(why: str) -> DataError:
    return DataError(f"the store has invalid data options: {why}", REPEAT_OPTIONS)


REPEAT_OPTIONS: Final = (
    "give the options of the run again: `--data`, `--target-column`, `--test`, `--drop-columns`, "
    "`--sep`, `--encoding`, `--decimal`"
)
