"""Text listings and DOT graphs of a discrepancy tree."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from spacelang.targets._blds.layers import Layer
from spacelang.targets._shown import digraph, quoted, wrapped
from spacelang.text import counted

FEW: Final = 64
"""A tree with at most this many leaves is drawn completely."""
USUAL, OTHER = "●", "○"


def listing(name: str, layers: Sequence[Layer], leaves: int, by_discrepancy: Sequence[int]) -> str:
    """Return the layers as a tree, the default first in each, and the leaf counts by discrepancy."""
    lines = [
        _title(name, layers, leaves),
        f"{USUAL} the heuristic's choice   {OTHER} one discrepancy",
        "",
        *_below(None, layers, ""),
        "",
        "discrepancy   leaves",
        *(f"{discrepancy:>11}   {count:,}" for discrepancy, count in enumerate(by_discrepancy)),
    ]
    return "\n".join(lines)


def draw(name: str, layers: Sequence[Layer], leaves: int, in_order: Iterable[Sequence[int]]) -> str:
    """Return a DOT graph of the whole tree if it has few leaves, else of the alternatives layer by layer."""
    body = _whole(layers, in_order) if leaves <= FEW else _layered(layers)
    return digraph(name, _title(name, layers, leaves), body)


def _title(name: str, layers: Sequence[Layer], leaves: int) -> str:
    return f"{name}: {counted(len(layers), 'layer')}, {counted(leaves, 'leaf', 'leaves')}"


def _below(owner: int | None, layers: Sequence[Layer], indent: str) -> Iterator[str]:
    mine = [place for place, layer in enumerate(layers) if (layer.owner and layer.owner[0]) == owner]
    for place in mine:
        layer, is_last = layers[place], place == mine[-1]
        deeper = indent + ("   " if is_last else "│  ")
        yield f"{indent}{'└─' if is_last else '├─'} {layer.stage}{_under(layer, layers)}"
        has_layers = any(other.owner is not None and other.owner[0] == place for other in layers)
        yield from _alternatives(layer, deeper + ("│  " if has_layers else "   "))
        yield from _below(place, layers, deeper)


def _under(layer: Layer, layers: Sequence[Layer]) -> str:
    if layer.owner is None:
        return ""
    owner, branch = layer.owner
    return f" (with {layers[owner].alternatives[branch]})"


def _alternatives(layer: Layer, indent: str) -> list[str]:
    others = (name for place, name in enumerate(layer.alternatives) if place != layer.default)
    words = [f"{USUAL} {layer.alternatives[layer.default]}", *(f"{OTHER} {name}" for name in others)]
    return wrapped(words, indent, indent)


def _whole(layers: Sequence[Layer], in_order: Iterable[Sequence[int]]) -> Iterator[str]:
    """Yield the graph lines of the whole tree, with a node for each prefix.

    Edges of discrepancies are dashed. Leaves show the number of discrepancies on their path.
    """
    seen: set[tuple[int, ...]] = set()
    yield '"()" [label="", shape=point]'
    for leaf in in_order:
        parent: tuple[int, ...] = ()
        for number, place in enumerate(leaf):
            if place < 0:
                continue
            prefix, layer = tuple(leaf[: number + 1]), layers[number]
            if prefix not in seen:
                seen.add(prefix)
                label = f"{layer.stage}\n{layer.alternatives[place]}"
                yield f'"{prefix}" [label={quoted(label)}]'
                yield f'"{parent}" -> "{prefix}"' + ("" if place == layer.default else " [style=dashed]")
            parent = prefix
        count = sum(place not in (-1, layer.default) for place, layer in zip(leaf, layers, strict=True))
        yield f'"{parent}" -> "leaf {parent}"'
        yield f'"leaf {parent}" [label="{counted(count, "discrepancy", "discrepancies")}", shape=plaintext]'


def _layered(layers: Sequence[Layer]) -> Iterator[str]:
    """Yield the graph lines of a cluster of alternatives for each layer.

    Edges lead from the default of one layer to the alternatives of the next.
    """
    for number, layer in enumerate(layers):
        inner = [f'"{number}.{place}" [label={quoted(name)}]' for place, name in enumerate(layer.alternatives)]
        title = quoted(layer.stage + _under(layer, layers))
        yield f"subgraph cluster_{number} {{ label={title}; {'; '.join(inner)} }}"
    previous = None
    for number, layer in enumerate(layers):
        source = f'"{previous[0]}.{previous[1]}"' if previous else '"()"'
        if layer.owner is not None:
            source = f'"{layer.owner[0]}.{layer.owner[1]}"'
        for place in range(len(layer.alternatives)):
            style = "" if place == layer.default else " [style=dashed]"
            yield f'{source} -> "{number}.{place}"{style}'
        if layer.owner is None:
            previous = (number, layer.default)
    yield '"()" [label="", shape=point]'
