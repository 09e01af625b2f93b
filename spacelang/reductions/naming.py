"""Names for what a space is made of: the keys of configurations where they are enough, each name given once."""

from collections import Counter
from copy import copy

from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.text import numbered


class VariableNames:
    """The names that were given for one space."""

    def __init__(self, space: Space) -> None:
        self._keys = Counter(variable.key for variable in space.variables.values())
        self.given: set[str] = set()

    def copy(self) -> "VariableNames":
        """The same, of which others may be given."""
        copied = copy(self)
        copied.given = {*self.given}
        return copied

    def has_own_key(self, node: Choice | Hyperparameter) -> bool:
        """Whether no other variable of the space has its key."""
        return self._keys[node.key] == 1

    def of(self, node: Choice | Hyperparameter) -> str:
        """What a variable is called: its key, its address where another one has the key too."""
        return node.key if self.has_own_key(node) else node.address

    def new(self, wanted: str) -> str:
        """The name, with a number behind it where it was given before."""
        name = numbered(wanted, self.given, "#")
        self.given.add(name)
        return name
