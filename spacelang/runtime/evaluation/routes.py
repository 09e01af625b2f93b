"""Routes: what the pipelines of a space do one after the other, in words that tell which of them begin alike."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Hyperparameter, Kind, Node, Product, Space, subtree
from spacelang.ir.trial import Request
from spacelang.runtime.agenda import Route

DIGITS: Final = 12
"""With how many digits a fidelity is written, so that words are in the order of the numbers."""

_Part: TypeAlias = "int | tuple[str, dict[str, tuple[_Part, ...]]]"
"""The place of a step, or the key of an order with the parts in each of the orders that can be taken."""


class Routes:
    """The routes of requests over one space, whose trials have at most `training_size` training rows.

    The first word of a route is the fidelity, each further one all that the configuration says of a step. Pipelines
    whose routes begin alike do the same so far: what a configuration does not say is the same for all of them.
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
        """The fidelity, and the steps in the order in which the pipeline does them; takes microseconds."""
        rows, configuration = request.fidelity, request.configuration
        fidelity = "" if rows is None or rows >= self._training_size else f"{rows:0{DIGITS}}"
        words = [*self._names]
        for key, value in sorted(configuration.view.items()):
            for place in self._places.get(key, ()):
                words[place] += f" {key}={value!r}"
        return (fidelity, *(words[place] for place in _taken(self._parts, configuration)))


def _parts(node: Node, steps: list[Node]) -> Iterator[_Part]:
    """What follows on each other in a node; `steps` is given all steps there are."""
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
    """The places of the steps in the order that a configuration takes."""
    for part in parts:
        if isinstance(part, int):
            yield part
        else:
            key, orders = part
            yield from _taken(orders[str(configuration[key])], configuration)


def _keys(node: Node) -> Iterator[str]:
    """The keys of all decisions and hyperparameters of a node."""
    return (each.key for each in subtree(node) if isinstance(each, Choice | Hyperparameter))
