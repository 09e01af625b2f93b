"""Text outlines and DOT graphs of a structural tree along its default path."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.targets._text_and_dot import digraph, quote_dot
from spacelang.text import count_with_noun

DEFAULT_MARK: Final = "●"
OTHER_MARK: Final = "○"


@dataclass(frozen=True, slots=True)
class Level:
    """A decision on the path: the number of structures below each branch, and the branch that the path takes."""

    decision: str
    counts: Mapping[str, int]
    taken: str

    @property
    def other_branches(self) -> list[str]:
        """The branches that leave the path."""
        return [name for name in self.counts if name != self.taken]


def outline(name: str, structures: int, path: Sequence[Level]) -> str:
    """Return the decisions of the path as indented text, each with its branches and structure counts."""
    lines = [_title(name, structures)]
    if path:
        lines += [
            f"{DEFAULT_MARK} default path   {OTHER_MARK} leaves the path   with the number of structures below",
            "",
        ]
    return "\n".join([*lines, *_aligned([row for depth, level in enumerate(path) for row in _rows(level, depth)])])


def dot_graph(name: str, structures: int, path: Sequence[Level]) -> str:
    """Return the path as a graph in the DOT language.

    Edges that leave the path are dashed and end in a number of structures.
    """
    return digraph(name, _title(name, structures), _graph_lines(path))


def _title(name: str, structures: int) -> str:
    return f"{name}: {count_with_noun(structures, 'structure')}"


def _rows(level: Level, depth: int) -> Iterator[tuple[str, int | None]]:
    """Yield the lines of a level with their structure counts.

    The branch that the path takes comes last, because the next level is below it.
    """
    indent = "   " * depth
    yield f"{indent}{level.decision}", None
    for name in level.other_branches:
        yield f"{indent}├─ {OTHER_MARK} {name}", level.counts[name]
    yield f"{indent}└─ {DEFAULT_MARK} {level.taken}", level.counts[level.taken]


def _aligned(rows: Sequence[tuple[str, int | None]]) -> Iterator[str]:
    width = max((len(text) for text, number in rows if number is not None), default=0)
    digits = max((len(f"{number:,}") for _, number in rows if number is not None), default=0)
    for text, number in rows:
        yield text if number is None else f"{text:<{width}}  {number:>{digits},}"


def _graph_lines(path: Sequence[Level]) -> Iterator[str]:
    yield '"root" [label="", shape=point]'
    above = "root"
    for depth, level in enumerate(path):
        for place, name in enumerate((*level.other_branches, level.taken)):
            node = f"{depth}.{place}"
            label = f"{level.decision}\n{name}\n{count_with_noun(level.counts[name], 'structure')}"
            yield f"{quote_dot(node)} [label={quote_dot(label)}]"
            dashed = "" if name == level.taken else " [style=dashed]"
            yield f"{quote_dot(above)} -> {quote_dot(node)}{dashed}"
        above = f"{depth}.{len(level.other_branches)}"
