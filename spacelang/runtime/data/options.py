"""How the data of a run was given, as its store keeps it: all that it takes to read it again but where it is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Final

from spacelang.runtime.data.reading import PLAIN, Reading, reading
from spacelang.runtime.errors import DataError, InputError


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The column of labels, the share of the rows that was kept for testing, and how the file is read.

    What is None was not said: labels are found as for any data, and all rows of the file were those of the run.
    """

    target: str | None = None
    test: float | None = None
    reading: Reading = PLAIN

    @property
    def texts(self) -> dict[str, str]:
        """The same by names, without what is as it is of most data."""
        said = {"target": self.target, "test": None if self.test is None else repr(self.test)}
        dropped = {"drop_columns": json.dumps(self.reading.drop_columns)} if self.reading.drop_columns else {}
        return {name: value for name, value in said.items() if value is not None} | self.reading.of_text | dropped

    @property
    def line(self) -> str:
        """The same as a command takes them, each with a space before it."""
        target = "" if self.target is None else f" --target-column {quote(self.target)}"
        return f"{target}{'' if self.test is None else f' --test {self.test!r}'}{self.reading.options}"


def read_options(texts: Mapping[str, str]) -> DataOptions:
    """What `DataOptions.texts` was made of; raises InputError for anything else, as of a stranger's store."""
    try:
        share = float(texts["test"]) if "test" in texts else None
        dropped = json.loads(texts.get("drop_columns", "[]"))
    except (ValueError, RecursionError):
        raise _unknown("a number or a list is none") from None
    if share is not None and not 0 < share < 1:
        raise _unknown(f"a share of {share:g} cannot be kept for testing")
    if not isinstance(dropped, list) or not all(isinstance(name, str) for name in dropped):
        raise _unknown("what was left out are no names of columns")
    try:
        read = reading(texts.get("sep"), texts.get("encoding"), texts.get("decimal"), dropped)
    except InputError as error:
        raise _unknown(error.message) from None
    return DataOptions(texts.get("target"), share, read)


def _unknown(why: str) -> DataError:
    return DataError(f"the store does not say how its data was read: {why}", AS_THEN)


AS_THEN: Final = "say how it was given: `--data`, `--target-column`, `--test`, `--drop-columns`"
