"""The nodes of the search tree: how often each was visited, and with which rewards."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from spacelang.targets.mosaic import Prefix


@dataclass(slots=True)
class Node:
    """A prefix that was visited: its rewards in ascending order, and how many visits have no reward yet."""

    prefix: Prefix
    children: dict[str, "Node"] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    under_way: int = 0
    is_exhausted: bool = False
    """Whether nothing new is found below it: it is not selected again."""

    @property
    def visits(self) -> int:
        """How many visits there were: those under way count, so that idle workers are sent elsewhere."""
        return len(self.rewards) + self.under_way

    def quality(self, otherwise: float = 0.0) -> float:
        """The median of the rewards; something else where there are none."""
        return median(self.rewards) if self.rewards else otherwise

    def __iter__(self) -> Iterator["Node"]:
        """The node and all below it, each before those below it."""
        yield self
        for child in self.children.values():
            yield from child


@dataclass(slots=True)
class Nodes:
    """The nodes that a search has visited, and the root."""

    root: Node = field(default_factory=lambda: Node(()))

    def path(self, prefix: Prefix) -> list[Node]:
        """The nodes from the root to a prefix, which are there from now on."""
        path = [self.root]
        for place, branch in enumerate(prefix, 1):
            children = path[-1].children
            if branch not in children:
                children[branch] = Node(prefix[:place])
            path.append(children[branch])
        return path

    def begin(self, prefix: Prefix) -> None:
        """Count a visit, of a prefix and of all above it, whose reward is not known yet."""
        for node in self.path(prefix):
            node.under_way += 1

    def end(self, prefix: Prefix, reward: float) -> None:
        """Back up the reward of a visit that was begun."""
        for node in self.path(prefix):
            node.under_way -= 1
            insort(node.rewards, reward)

    def exhaust(self, prefix: Prefix, reward: float | None) -> bool:
        """Never select a prefix again; whether it is exhausted only now, and was given the reward of a last visit."""
        node = self.path(prefix)[-1]
        if node.is_exhausted:
            return False
        node.is_exhausted = True
        if reward is not None:
            self.begin(prefix)
            self.end(prefix, reward)
        return True
