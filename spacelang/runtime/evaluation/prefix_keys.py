"""Prefix keys: tuples of words that tell which pipelines of a space have the same first steps."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Hyperparameter, Node, Product, ProductKind, Space, subtree
from spacelang.ir.trial import Request
from spacelang.runtime.affinity_queue import PrefixKey

FIDELITY_DIGITS: Final = 12
"""The digits of a zero-padded fidelity, so that fidelities sort as text in numeric order."""

_Segment: TypeAlias = "int | tuple[str, dict[str, tuple[_Segment, ...]]]"
"""The index of a step, or the key of a decision among orders with the segments of each possible order."""


class PrefixKeys:
    """The prefix keys of requests over one space, for trials with at most `training_size` training rows.

    The first word of a key is the fidelity. Each further word holds the values that the configuration has for one step.
    Two keys with the same first k words belong to pipelines with the same fidelity and the same first k - 1 steps.
    """

    def __init__(self, space: Space, training_size: int) -> None:
        self._training_size = training_size
        steps: list[Node] = []
        self._segments = tuple(_segments(space.root, steps))
        self._step_words = tuple(map(str, range(len(steps))))
        self._steps_of_key: dict[str, tuple[int, ...]] = {}
        for place, step in enumerate(steps):
            for key in dict.fromkeys(_keys_below(step)):
                self._steps_of_key[key] = (*self._steps_of_key.get(key, ()), place)

    def key_of(self, request: Request) -> PrefixKey:
        """Return the fidelity and the words of the steps, in the order of the pipeline. Takes microseconds."""
        rows, configuration = request.fidelity, request.configuration
        fidelity = "" if rows is None or rows >= self._training_size else f"{rows:0{FIDELITY_DIGITS}}"
        words = [*self._step_words]
        for key, value in sorted(configuration.view.items()):
            for place in self._steps_of_key.get(key, ()):
                words[place] += f" {key}={value!r}"
        return (fidelity, *(words[place] for place in _chosen_order(self._segments, configuration)))


def _segments(node: Node, steps: list[Node]) -> Iterator[_Segment]:
    """Yield the segments of a node in order, and append all of its steps to `steps`."""
    match node:
        case Product(kind=ProductKind.SEQUENCE):
            for child in node.children:
                yield from _segments(child, steps)
        case Product(kind=ProductKind.PERMUTATION, children=(Choice() as order, *permuted)):
            parts = {id(child): tuple(_segments(child, steps)) for child in permuted}
            yield (
                order.key,
                {
                    branch.name: tuple(part for child in node.steps_in_order(branch.name) for part in parts[id(child)])
                    for branch in order.branches
                },
            )
        case _:
            steps.append(node)
            yield len(steps) - 1


def _chosen_order(parts: tuple[_Segment, ...], configuration: Configuration) -> Iterator[int]:
    """Yield the indices of the steps in the order that a configuration chooses."""
    for part in parts:
        if isinstance(part, int):
            yield part
        else:
            key, orders = part
            yield from _chosen_order(orders[str(configuration[key])], configuration)


def _keys_below(node: Node) -> Iterator[str]:
    """Yield the keys of all decisions and hyperparameters below a node."""
    return (each.key for each in subtree(node) if isinstance(each, Choice | Hyperparameter))
