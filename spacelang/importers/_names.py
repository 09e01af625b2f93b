"""Readable names for those of other tools: the last parts of paths, made identifiers, each unique where it stands."""

import re
from typing import Final

from spacelang.text import no_parameter, numbered

_KEYWORDS = """
    space stage pipeline forbid require when as float int bool log step ordered import use params abstract task include
    columns permute true false none True False None and or not in is from by to minimize maximize subject validate
    fidelity limit min max ceil floor sqrt log2 n_samples n_features n_classes
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())
"""Words that would be read as something else somewhere."""

LONGEST: Final = 80
CHOICE: Final = "__choice__"
"""How auto-sklearn and its relatives end the name of a choice between components."""


class UniqueNames:
    """The names of one scope: words, or of `parameters`, which may be what can stand in backticks."""

    def __init__(self, taken: frozenset[str] = frozenset(), *, parameters: bool = False) -> None:
        self._taken = set(taken)
        self._made = parameter if parameters else identifier

    def add(self, *wishes: str) -> str:
        """The first wish that is free, as a name; a numbered form of the last where none is."""
        made = [*map(self._made, wishes)]
        chosen = next((name for name in made if name not in self._taken), None) or numbered(made[-1], self._taken)
        self._taken.add(chosen)
        return chosen


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a path; that it is a choice is none of them."""
    parts = tuple(name.split(":"))
    return parts[:-1] if len(parts) > 1 and parts[-1] == CHOICE else parts


def wishes(name: str, below: tuple[str, ...] = ()) -> list[str]:
    """What a path may be called, the shortest first: its last part, its last two, and so on.

    What the path has in common with the one `below` which it stands is left out as long as that tells names apart.
    """
    own = parts_of(name)
    inner = own[min(shared(own, below), len(own) - 1) :]
    shortened = ["_".join(inner[place:]) for place in reversed(range(len(inner)))]
    return list(dict.fromkeys([*shortened[:4], "_".join(own)]))


def shared(name: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many parts at the beginning of a name are those of another one; all of these where no part differs."""
    return next((place for place, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(other))


def identifier(text: str) -> str:
    """A text with everything replaced that no name has."""
    made = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:LONGEST].strip("_") or "_"
    made = f"_{made}" if made[0].isdigit() else made
    return f"{made}_" if made in KEYWORDS else made


def parameter(text: str) -> str:
    """A text as it may stand in backticks, with everything replaced that no name of a parameter has."""
    return text if len(text) <= LONGEST and no_parameter(text) is None else identifier(text)
