"""What is tied together, directly or through others: union-find."""

from collections.abc import Iterable


class Ties:
    """Disjoint sets of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def root(self, name: str) -> str:
        """The name that stands for all that are tied to one."""
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def tie(self, names: Iterable[str]) -> bool:
        """Tie the names together; whether they were not already."""
        roots = {self.root(name): None for name in names}
        first, *others = roots or [""]
        for other in others:
            self._parent[other] = first
        return bool(others)
