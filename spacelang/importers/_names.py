"""Readable unique names: the last parts of foreign parameter paths, converted to identifiers."""

import re
from typing import Final

from spacelang.text import no_parameter, numbered

_KEYWORDS = """
    space stage pipeline forbid require when as float int bool log step ordered import use params abstract task include
    columns permute true false none True False None and or not in is from by to minimize maximize subject validate
    fidelity limit min max ceil floor sqrt log2 n_samples n_features n_classes
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())
"""Words that have a meaning of their own somewhere in the language."""

LONGEST: Final = 80
CHOICE: Final = "__choice__"
"""The suffix by which auto-sklearn and related tools mark the choice between components."""


class UniqueNames:
    """The unique names of one scope: identifiers, or names that may be in backticks if `parameters` is set."""

    def __init__(self, taken: frozenset[str] = frozenset(), *, parameters: bool = False) -> None:
        self._taken = set(taken)
        self._made = parameter if parameters else identifier

    def add(self, *wishes: str) -> str:
        """Return and reserve the first free candidate as a valid name; number the last one if all are taken."""
        made = [*map(self._made, wishes)]
        chosen = next((name for name in made if name not in self._taken), None) or numbered(made[-1], self._taken)
        self._taken.add(chosen)
        return chosen


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a path separated by colons, without a final `__choice__`."""
    parts = tuple(name.split(":"))
    return parts[:-1] if len(parts) > 1 and parts[-1] == CHOICE else parts


def wishes(name: str, below: tuple[str, ...] = ()) -> list[str]:
    """Return candidates for the name of a path, shortest first: its last part, its last two parts, and so on.

    The common prefix with the path `below` which it is placed is left out of all but the last candidate.
    """
    own = parts_of(name)
    inner = own[min(shared(own, below), len(own) - 1) :]
    shortened = ["_".join(inner[place:]) for place in reversed(range(len(inner)))]
    return list(dict.fromkeys([*shortened[:4], "_".join(own)]))


def shared(name: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of leading parts that two names share; the length of `other` if no part differs."""
    return next((place for place, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(other))


def identifier(text: str) -> str:
    """Return a text as an identifier, with invalid characters replaced by underscores."""
    made = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:LONGEST].strip("_") or "_"
    made = f"_{made}" if made[0].isdigit() else made
    return f"{made}_" if made in KEYWORDS else made


def parameter(text: str) -> str:
    """Return a text unchanged if it is a valid name in backticks, otherwise as an identifier."""
    return text if len(text) <= LONGEST and no_parameter(text) is None else identifier(text)
