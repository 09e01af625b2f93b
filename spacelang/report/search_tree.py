"""The tree that a run of `mosaic` has searched, with the visits and the median reward of each node."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final
from xml.sax.saxutils import escape

from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.ir.trial import UNIT_SCALE, LossScale, Trial, parse_scale
from spacelang.optimizers._mosaic import Node, replay_trials
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.serialization.definition import from_json
from spacelang.solver.counting import Structures
from spacelang.targets.mosaic import StructuralTree
from spacelang.text import count_with_noun

MIN_SHARE: Final = 0.01  # Nodes with a smaller share of all visits are counted, but not shown
INDENT: Final = 24  # Sizes of the picture in pixels: indent of a level, height of a line, width, largest radius
LINE: Final = 22
WIDTH: Final = 900
LARGEST: Final = 9.0
COLOURS: Final = ((222, 8), (235, 69), (247, 148))
"""For red, green and blue, the values of the smallest and of the largest median: light and dark blue."""


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of the tree: a node, or the number of nodes that are not shown there."""

    depth: int
    label: str
    visits: int
    reward: float | None = None  # The median of the rewards; None if the line stands for several nodes


@dataclass(frozen=True, slots=True)
class ShownTree:
    """The lines of a tree. A node comes before its children; the most visited children come first."""

    title: str
    rows: tuple[TreeLine, ...]

    def to_text(self) -> str:
        """Return the lines as text, with the numbers in front."""
        labels = ["   " * each.depth + make_visible(each.label) for each in self.rows]
        rows = zip(self.rows, labels, strict=True)
        lines = (f"{each.visits:>6,}  {_reward(each):>13}  {label}" for each, label in rows)
        return "\n".join([self.title, "", "visits  median reward", *lines])

    def to_svg(self) -> str:
        """Return the tree as an SVG picture with discs: the larger, the more visits; the darker, the better."""
        total = max((each.visits for each in self.rows), default=1)
        medians = [each.reward for each in self.rows if each.reward is not None]
        ends = min(medians, default=0.0), max(medians, default=1.0)
        lines = [f'<text x="8" y="18" font-weight="bold">{_xml(self.title)}</text>']
        for place, row in enumerate(self.rows, 2):
            lines += _svg_line(row, place * LINE, total, ends)
        size = f'width="{WIDTH}" height="{LINE * (len(self.rows) + 2)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
        return "\n".join([head, f'<rect {size} fill="white"/>', *lines, "</svg>"])


def tree_of_run(run: StoredRun, records: Iterable[TrialRecord] | None = None) -> ShownTree:
    """Return the tree of a run; raise InputError for another optimizer, and StoreError for a damaged store."""
    if run.header.optimizer != "mosaic":
        message = f"`{run.path}` is a run of `{run.header.optimizer}`, which has no search tree"
        raise InputError(message, "choose a run whose optimizer is `mosaic`")
    tree = StructuralTree(Structures(from_json(json.loads(run.header.definition))))
    nodes = replay_trials(tree, _trials(run, run.records() if records is None else records))
    rows = tuple(_rows(tree, nodes.root, 0, MIN_SHARE * nodes.root.visits))
    number = sum(1 for _ in nodes.root)
    title = f"{run.header.space}: {count_with_noun(nodes.root.visits, 'visit')} of {count_with_noun(number, 'node')}"
    return ShownTree(make_visible(title), rows)


def _trials(run: StoredRun, records: Iterable[TrialRecord]) -> Iterator[Trial]:
    """Yield the committed trials as the search received them, with losses on the scale of the run."""
    scale = parse_scale(run.header.scale)
    for each in records:
        if each.is_speculative:
            continue
        if scale is None and each.trial.loss is not None:
            scale = LossScale.centered_on(each.trial.loss)
        yield replace(each.trial, scale=scale or UNIT_SCALE)


def _rows(tree: StructuralTree, node: Node, depth: int, least: float) -> Iterator[TreeLine]:
    yield TreeLine(depth, _label(tree, node), node.visits, node.median_reward())
    children = sorted(node.children.values(), key=lambda child: -child.visits)
    others = [child for child in children if child.visits < least]
    for child in children[: len(children) - len(others)]:
        yield from _rows(tree, child, depth + 1, least)
    if others:
        yield TreeLine(depth + 1, count_with_noun(len(others), "other"), sum(child.visits for child in others))


def _label(tree: StructuralTree, node: Node) -> str:
    if not node.prefix:
        return "all"
    decision = tree.decision_after(node.prefix[:-1])
    assert decision is not None, "a node is a branch of the decision above it"
    words = f"{decision.key} = {node.prefix[-1]}"
    return f"{words} (exhausted)" if node.is_exhausted else words


def _reward(row: TreeLine) -> str:
    return "" if row.reward is None else f"{row.reward:.4f}"


def _svg_line(row: TreeLine, y: int, total: int, ends: tuple[float, float]) -> Iterator[str]:
    x = 20 + INDENT * row.depth
    if row.reward is not None:
        share = (row.reward - ends[0]) / (ends[1] - ends[0] or 1.0)
        colour = ",".join(str(round(low + share * (high - low))) for low, high in COLOURS)
        radius = max(LARGEST * sqrt(row.visits / max(total, 1)), 1.5)
        yield f'<circle cx="{x}" cy="{y - 5}" r="{radius:.1f}" fill="rgb({colour})" stroke="#444"/>'
    numbers = count_with_noun(row.visits, "visit") + (f", {_reward(row)}" if row.reward is not None else "")
    yield f'<text x="{x + 16}" y="{y}">{_xml(row.label)}<tspan fill="#777" dx="10">{numbers}</tspan></text>'


def _xml(text: str) -> str:
    return escape(make_visible(text))
