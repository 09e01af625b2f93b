"""The names of several objectives, as a store has them."""

import json
from collections.abc import Iterable

from spacelang.ir.loss_name import LossName
from spacelang.runtime.storage.header import OBJECTIVES_SETTING, RunHeader


def objectives_text(names: Iterable[LossName]) -> str:
    """Return the formulas of several objectives as JSON, for the settings of a header."""
    return json.dumps([each.formula for each in names])


def stored_objective_names(header: RunHeader) -> tuple[LossName, ...]:
    """Return the names of the objectives of a stored run; empty if it has one, or if the text is invalid."""
    try:
        found = json.loads(header.settings.get(OBJECTIVES_SETTING, "[]"))
    except (ValueError, RecursionError):
        return ()  # the store may be a foreign file with any text in it
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        return ()
    return tuple(map(LossName.of_formula, found))
