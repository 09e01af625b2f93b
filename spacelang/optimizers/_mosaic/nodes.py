"""The nodes of the search tree, with their visits and rewards."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from spacelang.targets.mosaic import Prefix


@dataclass(slots=True)
class Node:
    """A visited prefix of decisions, with its rewards in ascending order.

    `running_visits` is the number of visits whose reward is not known yet.
    """

    prefix: Prefix
    children: dict[str, "Node"] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    running_visits: int = 0
    is_exhausted: bool = False
    """True if nothing new is left below the node; it is then not selected any more."""

    @property
    def visits(self) -> int:
        """The number of visits, including running ones, so that idle workers are sent to other nodes."""
        return len(self.rewards) + self.running_visits

    def median_reward(self, otherwise: float = 0.0) -> float:
        """Return the median of the rewards; `otherwise` if there are none."""
        return median(self.rewards) if self.rewards else otherwise

    def __iter__(self) -> Iterator["Node"]:
        """Yield the node and all nodes below it, parents before their children."""
        yield self
        for child in self.children.values():
            yield from child


@dataclass(slots=True)
class SearchTree:
    """The search tree: the root and all visited nodes."""

    root: Node = field(default_factory=lambda: Node(()))

    def path_to(self, prefix: Prefix) -> list[Node]:
        """Return the nodes from the root to a prefix, and create those that do not exist."""
        path = [self.root]
        for place, branch in enumerate(prefix, 1):
            children = path[-1].children
            if branch not in children:
                children[branch] = Node(prefix[:place])
            path.append(children[branch])
        return path

    def start_visit(self, prefix: Prefix) -> None:
        """Count a running visit at a prefix and at all nodes above it."""
        for node in self.path_to(prefix):
            node.running_visits += 1

    def finish_visit(self, prefix: Prefix, reward: float) -> None:
        """Back up the reward of a visit that was counted with `start_visit`, from the prefix to the root."""
        for node in self.path_to(prefix):
            node.running_visits -= 1
            insort(node.rewards, reward)

    def exhaust(self, prefix: Prefix, reward: float | None) -> bool:
        """Exclude a prefix from selection; return False if it was excluded already.

        If a reward is given, it is backed up as a last visit.
        """
        node = self.path_to(prefix)[-1]
        if node.is_exhausted:
            return False
        node.is_exhausted = True
        if reward is not None:
            self.start_visit(prefix)
            self.finish_visit(prefix, reward)
        return True
