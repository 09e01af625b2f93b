"""Unique names for the variables of a space: the keys of configurations wherever these are unique."""

from collections import Counter
from copy import copy

from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.text import unique_name


class VariableNames:
    """The names given so far for the variables of one space."""

    def __init__(self, space: Space) -> None:
        self._keys = Counter(variable.key for variable in space.variables.values())
        self.used: set[str] = set()

    def copy(self) -> "VariableNames":
        """Return an independent copy, in which further names may be given."""
        copied = copy(self)
        copied.used = {*self.used}
        return copied

    def has_own_key(self, node: Choice | Hyperparameter) -> bool:
        """Return True if no other variable of the space has the same key."""
        return self._keys[node.key] == 1

    def name_of(self, node: Choice | Hyperparameter) -> str:
        """Return the key of a variable, or its address if another variable has the same key."""
        return node.key if self.has_own_key(node) else node.address

    def make_unique(self, wanted: str) -> str:
        """Return the name and mark it as given; a number is appended if it was given before."""
        name = unique_name(wanted, self.used, "#")
        self.used.add(name)
        return name
