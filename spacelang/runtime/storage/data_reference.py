"""The data and the scorer that a store names, as far as they may be used because of the store alone.

A store may come from an untrusted source. Without the user, it can only refer to data sets that scikit-learn ships, to
formulas, and to files in the current folder and the folders below it.
"""

import json
from keyword import iskeyword
from pathlib import Path
from typing import Final

from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.data.read_options import DataOptions, parse_data_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.header import SCORER_SETTING, WEIGHTS_SETTING, RunHeader

HARMLESS_PREFIXES: Final = ("sklearn:", ARTIFICIAL_PREFIX)
METRICS: Final = "sklearn.metrics"  # The module whose functions a store may name without being trusted
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


def scorer_package(header: RunHeader) -> str | None:
    """Return the package that a user must trust for the scorer of a stored run; None if there is none."""
    try:
        facts = json.loads(header.data_options.get(SCORER_SETTING, "{}"))
        module = str(facts.get("scorer") or facts.get("function") or "").partition(":")[0]
    except (ValueError, AttributeError, RecursionError):
        return None
    package = module.partition(".")[0]
    return package if module != METRICS and package.isidentifier() else None


def arguments_to_repeat(header: RunHeader) -> tuple[str, ...]:
    """Return the arguments of the program that its store does not hold, as they are given in Python: `metric=mine`."""
    names = {SCORER_SETTING: "metric", WEIGHTS_SETTING: "sample_weight"}
    missing = [each for each in names if each in header.settings and each not in header.data_options]
    return tuple(f"{names[each]}={_word(header.settings[each])}" for each in missing)


def named_scorer(header: RunHeader) -> str:
    """Return the argument with which a program passes a scorer again that its store names."""
    return f"metric={_word(header.settings.get(SCORER_SETTING, ''))}"


def _word(setting: str) -> str:
    """Return the name in a setting if it can stand in Python code, otherwise `…`; the store may be foreign."""
    name = setting.partition(",")[0]
    return name if name.isidentifier() and not iskeyword(name) else "…"


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
