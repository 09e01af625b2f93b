"""Arguments of a program, such as a scorer: those that its store names, and those that it must pass again."""

import json
from keyword import iskeyword
from typing import Final

from spacelang.runtime.storage.header import SCORER_SETTING, WEIGHTS_SETTING, RunHeader

METRICS: Final = "sklearn.metrics"  # The module whose functions a store may name without being trusted


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
