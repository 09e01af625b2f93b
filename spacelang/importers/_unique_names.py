"""Readable unique names: the last parts of foreign parameter paths, converted to identifiers."""

import re
from typing import Final

from spacelang.text import parameter_name_problem, unique_name

_KEYWORDS = """
    space stage pipeline forbid require when as float int bool log step ordered import use params abstract task include
    columns permute true false none True False None and or not in is from by to minimize maximize subject validate
    fidelity limit min max ceil floor sqrt log2 n_samples n_features n_classes
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())
"""Words that have a meaning of their own somewhere in the language."""

MAX_LENGTH: Final = 80
CHOICE_SUFFIX: Final = "__choice__"
"""The suffix by which auto-sklearn and related tools mark the choice between components."""


class UniqueNames:
    """The unique names of one scope: identifiers, or names that may be in backticks if `parameters` is set."""

    def __init__(self, taken: frozenset[str] = frozenset(), *, parameters: bool = False) -> None:
        self._taken = set(taken)
        self._made = to_parameter_name if parameters else to_identifier

    def reserve(self, *wishes: str) -> str:
        """Return and reserve the first free candidate as a valid name; number the last one if all are taken."""
        made = [*map(self._made, wishes)]
        chosen = next((name for name in made if name not in self._taken), None) or unique_name(made[-1], self._taken)
        self._taken.add(chosen)
        return chosen


def path_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a path separated by colons, without a final `__choice__`."""
    parts = tuple(name.split(":"))
    return parts[:-1] if len(parts) > 1 and parts[-1] == CHOICE_SUFFIX else parts


def candidate_names(name: str, below: tuple[str, ...] = ()) -> list[str]:
    """Return candidates for the name of a path, shortest first: its last part, its last two parts, and so on.

    The common prefix with the path `below` which it is placed is left out of all but the last candidate.
    """
    own = path_parts(name)
    inner = own[min(common_prefix_length(own, below), len(own) - 1) :]
    shortened = ["_".join(inner[place:]) for place in reversed(range(len(inner)))]
    return list(dict.fromkeys([*shortened[:4], "_".join(own)]))


def common_prefix_length(name: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of leading parts that two names share; the length of `other` if no part differs."""
    return next((place for place, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(other))


def to_identifier(text: str) -> str:
    """Return a text as an identifier, with invalid characters replaced by underscores."""
    made = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:MAX_LENGTH].strip("_") or "_"
    made = f"_{made}" if made[0].isdigit() else made
    return f"{made}_" if made in KEYWORDS else made


def to_parameter_name(text: str) -> str:
    """Return a text unchanged if it is a valid name in backticks, otherwise as an identifier."""
    return text if len(text) <= MAX_LENGTH and parameter_name_problem(text) is None else to_identifier(text)
