"""The registry of all kinds of diagnostics by code, and the long text that `spacelang explain CODE` prints."""

import inspect
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Final

from spacelang.diagnostics import conditions, domains, names, other_tools, parameters, reading, structure, tasks
from spacelang.diagnostics.diagnostic import Diagnostic

WIDTH: Final = 88  # The line length of explanations. Prose is hard to read on longer lines
_MODULES: Final = (reading, other_tools, names, parameters, domains, conditions, structure, tasks)


def explain_code(code: str) -> str:
    """Return the long explanation of a kind of diagnostic. Raises KeyError for an unknown code."""
    return "\n\n".join(map(_wrap, inspect.cleandoc(KINDS[code].__doc__ or "").split("\n\n")))


def _wrap(paragraph: str) -> str:
    # An indented paragraph is an example; its lines stay as they are.
    if paragraph.startswith(" "):
        return paragraph
    return textwrap.fill(" ".join(paragraph.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def _collect_kinds() -> dict[str, type[Diagnostic]]:
    found: dict[str, type[Diagnostic]] = {}
    for module in _MODULES:
        for kind in _declared_kinds(module):
            assert kind.code not in found, f"{kind.__name__} and {found[kind.code].__name__} share {kind.code}"
            found[kind.code] = kind
    return dict(sorted(found.items()))


def _declared_kinds(module: ModuleType) -> Iterator[type[Diagnostic]]:
    for member in vars(module).values():
        if isinstance(member, type) and issubclass(member, Diagnostic) and member.__module__ == module.__name__:
            yield member


KINDS: Final[dict[str, type[Diagnostic]]] = _collect_kinds()
