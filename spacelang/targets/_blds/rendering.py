"""Text listings and DOT graphs of a discrepancy tree."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from spacelang.targets._blds.layers import Layer
from spacelang.targets._text_and_dot import digraph, quote_dot, wrap_words
from spacelang.text import count_with_noun

MAX_WHOLE_LEAVES: Final = 64
"""A tree with at most this many leaves is drawn completely."""
DEFAULT_MARK, OTHER_MARK = "●", "○"


def text_listing(name: str, layers: Sequence[Layer], leaves: int, by_discrepancy: Sequence[int]) -> str:
    """Return the layers as a tree, the default first in each, and the leaf counts by discrepancy."""
    lines = [
        _title(name, layers, leaves),
        f"{DEFAULT_MARK} the heuristic's choice   {OTHER_MARK} one discrepancy",
        "",
        *_layer_lines(None, layers, ""),
        "",
        "discrepancy   leaves",
        *(f"{discrepancy:>11}   {count:,}" for discrepancy, count in enumerate(by_discrepancy)),
    ]
    return "\n".join(lines)


def dot_graph(name: str, layers: Sequence[Layer], leaves: int, in_order: Iterable[Sequence[int]]) -> str:
    """Return a DOT graph of the whole tree if it has few leaves, else of the alternatives layer by layer."""
    body = _whole_tree_lines(layers, in_order) if leaves <= MAX_WHOLE_LEAVES else _layer_cluster_lines(layers)
    return digraph(name, _title(name, layers, leaves), body)


def _title(name: str, layers: Sequence[Layer], leaves: int) -> str:
    return f"{name}: {count_with_noun(len(layers), 'layer')}, {count_with_noun(leaves, 'leaf', 'leaves')}"


def _layer_lines(owner: int | None, layers: Sequence[Layer], indent: str) -> Iterator[str]:
    mine = [place for place, layer in enumerate(layers) if (layer.owner and layer.owner[0]) == owner]
    for place in mine:
        layer, is_last = layers[place], place == mine[-1]
        deeper = indent + ("   " if is_last else "│  ")
        yield f"{indent}{'└─' if is_last else '├─'} {layer.stage}{_owner_note(layer, layers)}"
        has_layers = any(other.owner is not None and other.owner[0] == place for other in layers)
        yield from _alternative_lines(layer, deeper + ("│  " if has_layers else "   "))
        yield from _layer_lines(place, layers, deeper)


def _owner_note(layer: Layer, layers: Sequence[Layer]) -> str:
    if layer.owner is None:
        return ""
    owner, branch = layer.owner
    return f" (with {layers[owner].alternatives[branch]})"


def _alternative_lines(layer: Layer, indent: str) -> list[str]:
    others = (name for place, name in enumerate(layer.alternatives) if place != layer.default)
    words = [f"{DEFAULT_MARK} {layer.alternatives[layer.default]}", *(f"{OTHER_MARK} {name}" for name in others)]
    return wrap_words(words, indent, indent)


def _whole_tree_lines(layers: Sequence[Layer], in_order: Iterable[Sequence[int]]) -> Iterator[str]:
    """Yield the DOT lines of the whole tree, with one node for each partial pipeline.

    A discrepancy is an alternative other than the default of its stage. Edges of discrepancies are dashed, and leaves
    show the number of discrepancies on their path.
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
                yield f'"{prefix}" [label={quote_dot(label)}]'
                yield f'"{parent}" -> "{prefix}"' + ("" if place == layer.default else " [style=dashed]")
            parent = prefix
        count = sum(place not in (-1, layer.default) for place, layer in zip(leaf, layers, strict=True))
        yield f'"{parent}" -> "leaf {parent}"'
        yield f'"leaf {parent}" [label="{count_with_noun(count, "discrepancy", "discrepancies")}", shape=plaintext]'


def _layer_cluster_lines(layers: Sequence[Layer]) -> Iterator[str]:
    """Yield the graph lines of a cluster of alternatives for each layer.

    Edges lead from the default of one layer to the alternatives of the next.
    """
    for number, layer in enumerate(layers):
        inner = [f'"{number}.{place}" [label={quote_dot(name)}]' for place, name in enumerate(layer.alternatives)]
        title = quote_dot(layer.stage + _owner_note(layer, layers))
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
