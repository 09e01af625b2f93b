"""The data that a store names, as far as it may be read because of the store alone.

A store may come from an untrusted source. Without the user, it can only refer to data sets that scikit-learn ships, to
formulas, and to files in the current folder and the folders below it.
"""

from pathlib import Path
from typing import Final

from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.data.read_options import DataOptions, parse_data_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.header import RunHeader

HARMLESS_PREFIXES: Final = ("sklearn:", ARTIFICIAL_PREFIX)
TABLE_PREFIX: Final = "table:"  # The prefix of references to loss tables, which are files


def stored_data_options(header: RunHeader) -> DataOptions:
    """Return the options of the data in a header; empty ones if they are invalid, as they can be in a foreign file."""
    try:
        return parse_data_options(header.data_options)
    except InputError:
        return DataOptions()


def is_held_by_program(header: RunHeader) -> bool:
    """Return True if the rows were passed by a program, so that the name of the data is no file and no collection."""
    options = stored_data_options(header)
    return bool(header.data.rows) and options.reference is None and not {".", ":"} & {*header.data.name}


def named_data(header: RunHeader) -> str:
    """Return the data of a run as it was named; stores of earlier versions have the name of the file alone."""
    return stored_data_options(header).reference or header.data.name


def readable_data(header: RunHeader) -> str | None:
    """Return the data of a run if it may be read because of the store alone, and exists; otherwise None."""
    names = dict.fromkeys((named_data(header), header.data.name))
    return next((name for name in names if _is_harmless(name)), None)


def readable_test_file(header: RunHeader) -> str | None:
    """Return the file of test rows if it may be read because of the store alone, and exists; otherwise None."""
    name = stored_data_options(header).test_file
    return name if name is not None and _is_harmless(name) else None


def has_test_file(header: RunHeader) -> bool:
    """Return True if the run was tested on rows of another file, or of a program."""
    return "test" in header.settings and stored_data_options(header).test is None


def _is_harmless(name: str) -> bool:
    if name.startswith(HARMLESS_PREFIXES):
        return True
    try:
        # Links are not resolved: those in the current folder were made by its user.
        here = Path.cwd()
        path = here / name.removeprefix(TABLE_PREFIX)
        return path.is_relative_to(here) and ".." not in path.parts and path.is_file()
    except (OSError, ValueError):
        return False
