"""Prefix keys: tuples of words that tell which pipelines of a space have the same first steps."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Hyperparameter, Kind, Node, Product, Space, subtree
from spacelang.ir.trial import Request
from spacelang.runtime.agenda import Route

DIGITS: Final = 12
"""The digits of a zero-padded fidelity, so that fidelities sort as text in numeric order."""

_Part: TypeAlias = "int | tuple[str, dict[str, tuple[_Part, ...]]]"
"""The index of a step, or the key of a decision among orders with the segments of each possible order."""


class Routes:
    """The prefix keys of requests over one space, for trials with at most `training_size` training rows.

    The first word of a key is the fidelity. Each further word holds the values that the configuration has for one step.
    Two keys with the same first k words belong to pipelines with the same fidelity and the same first k - 1 steps.
    """

    def __init__(self, space: Space, training_size: int) -> None:
        self._training_size = training_size
        steps: list[Node] = []
        self._parts = tuple(_parts(space.root, steps))
        self._names = tuple(map(str, range(len(steps))))
        self._places: dict[str, tuple[int, ...]] = {}
        for place, step in enumerate(steps):
            for key in dict.fromkeys(_keys(step)):
                self._places[key] = (*self._places.get(key, ()), place)

    def of(self, request: Request) -> Route:
        """Return the fidelity and the words of the steps, in the order of the pipeline. Takes microseconds."""
        rows, configuration = request.fidelity, request.configuration
        fidelity = "" if rows is None or rows >= self._training_size else f"{rows:0{DIGITS}}"
        words = [*self._names]
        for key, value in sorted(configuration.view.items()):
            for place in self._places.get(key, ()):
                words[place] += f" {key}={value!r}"
        return (fidelity, *(words[place] for place in _taken(self._parts, configuration)))


def _parts(node: Node, steps: list[Node]) -> Iterator[_Part]:
    """Yield the segments of a node in order, and append all of its steps to `steps`."""
    match node:
        case Product(kind=Kind.SEQUENCE):
            for child in node.children:
                yield from _parts(child, steps)
        case Product(kind=Kind.PERMUTATION, children=(Choice() as order, *permuted)):
            parts = {id(child): tuple(_parts(child, steps)) for child in permuted}
            yield (
                order.key,
                {
                    branch.name: tuple(part for child in node.ordered(branch.name) for part in parts[id(child)])
                    for branch in order.branches
                },
            )
        case _:
            steps.append(node)
            yield len(steps) - 1


def _taken(parts: tuple[_Part, ...], configuration: Configuration) -> Iterator[int]:
    """Yield the indices of the steps in the order that a configuration chooses."""
    for part in parts:
        if isinstance(part, int):
            yield part
        else:
            key, orders = part
            yield from _taken(orders[str(configuration[key])], configuration)


def _keys(node: Node) -> Iterator[str]:
    """Yield the keys of all decisions and hyperparameters below a node."""
    return (each.key for each in subtree(node) if isinstance(each, Choice | Hyperparameter))
