"""The tree of decisions with the trials of each alternative, and the tree that `mosaic` searched with its visits."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final
from xml.sax.saxutils import escape

import numpy as np

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.repeated_stages import spell_decision_name
from spacelang.ir.space import Choice, Node, children_of
from spacelang.ir.trial import UNIT_SCALE, LossName, LossScale, Trial, parse_scale
from spacelang.optimizers import _mosaic
from spacelang.report.page.axes import format_number
from spacelang.report.page.run_data import RunData
from spacelang.runtime.errors import InputError
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.value_codes import Array
from spacelang.serialization.definition import space_from_json
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
class SearchTreeLine:
    """A line of the tree: a node, or the number of nodes that are not shown there."""

    depth: int
    label: str
    visits: int
    reward: float | None = None  # The median of the rewards; None if the line stands for several nodes


@dataclass(frozen=True, slots=True)
class SearchTreeListing:
    """A search tree as lines: each node comes before its children, of which the most visited come first."""

    title: str
    rows: tuple[SearchTreeLine, ...]

    def to_text(self) -> str:
        """Return the lines as text, with the numbers in front."""
        labels = ["   " * each.depth + replace_unprintable(each.label) for each in self.rows]
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


def search_tree_listing(run: StoredRun, records: Iterable[TrialRecord] | None = None) -> SearchTreeListing:
    """Return the tree that `mosaic` searched in a run, rebuilt from the trials (`records`, or else those of the store).

    Raises InputError for a run of another optimizer, and StoreError for a damaged store.
    """
    if run.header.optimizer != "mosaic":
        message = f"`{run.path}` is a run of `{run.header.optimizer}`, which has no search tree"
        raise InputError(message, "choose a run whose optimizer is `mosaic`")
    tree = StructuralTree(Structures(space_from_json(json.loads(run.header.definition))))
    nodes = _mosaic.replay_trials(tree, _trials(run, run.records() if records is None else records))
    rows = tuple(_rows(tree, nodes.root, 0, MIN_SHARE * nodes.root.visits))
    number = sum(1 for _ in nodes.root)
    title = f"{run.header.space}: {count_with_noun(nodes.root.visits, 'visit')} of {count_with_noun(number, 'node')}"
    return SearchTreeListing(replace_unprintable(title), rows)


def _trials(run: StoredRun, records: Iterable[TrialRecord]) -> Iterator[Trial]:
    """Yield the committed trials as the search received them, with losses on the scale of the run."""
    scale = parse_scale(run.header.scale)
    for each in records:
        if each.is_speculative:
            continue
        if scale is None and each.trial.loss is not None:
            scale = LossScale.centered_on(each.trial.loss)
        yield replace(each.trial, scale=scale or UNIT_SCALE)


def _rows(tree: StructuralTree, node: _mosaic.SearchTreeNode, depth: int, least: float) -> Iterator[SearchTreeLine]:
    yield SearchTreeLine(depth, _label(tree, node), node.visits, node.median_reward())
    children = sorted(node.children.values(), key=lambda child: -child.visits)
    others = [child for child in children if child.visits < least]
    for child in children[: len(children) - len(others)]:
        yield from _rows(tree, child, depth + 1, least)
    if others:
        yield SearchTreeLine(depth + 1, count_with_noun(len(others), "other"), sum(child.visits for child in others))


def _label(tree: StructuralTree, node: _mosaic.SearchTreeNode) -> str:
    if not node.prefix:
        return "all"
    decision = tree.decision_after(node.prefix[:-1])
    assert decision is not None, "a node is a branch of the decision above it"
    words = f"{decision.key} = {node.prefix[-1]}"
    return f"{words} (exhausted)" if node.is_exhausted else words


def _reward(row: SearchTreeLine) -> str:
    return "" if row.reward is None else f"{row.reward:.4f}"


def _svg_line(row: SearchTreeLine, y: int, total: int, ends: tuple[float, float]) -> Iterator[str]:
    x = 20 + INDENT * row.depth
    if row.reward is not None:
        share = (row.reward - ends[0]) / (ends[1] - ends[0] or 1.0)
        colour = ",".join(str(round(low + share * (high - low))) for low, high in COLOURS)
        radius = max(LARGEST * sqrt(row.visits / max(total, 1)), 1.5)
        yield f'<circle cx="{x}" cy="{y - 5}" r="{radius:.1f}" fill="rgb({colour})" stroke="#444"/>'
    numbers = count_with_noun(row.visits, "visit") + (f", {_reward(row)}" if row.reward is not None else "")
    yield f'<text x="{x + 16}" y="{y}">{_xml(row.label)}<tspan fill="#777" dx="10">{numbers}</tspan></text>'


def _xml(text: str) -> str:
    return escape(replace_unprintable(text))


MAX_LINES: Final = 400  # The maximum number of lines of a tree that are shown
MAX_DEPTH: Final = 8  # The maximum indentation; deeper lines are indented as this level


@dataclass(frozen=True, slots=True)
class TreeTableRow:
    """A line of a tree. `share` is in percent of all visits; `visits` is None for the name of a decision."""

    depth: int
    label: str
    visits: int | None = None
    share: float = 0.0
    failed: int = 0
    median: str = ""
    best: str = ""


@dataclass(frozen=True, slots=True)
class TreeTable:
    """A table of a tree: each node comes before its children. `left` is the number of lines that are not shown."""

    title: str
    rows: tuple[TreeTableRow, ...]
    left: int = 0


def decisions_and_alternatives_table(run_data: RunData) -> TreeTable | None:
    """Return all decisions with their alternatives, and the number and scores of the trials with each alternative.

    None without decisions or trials.
    """
    members = run_data.trials_in_space
    if run_data.space is None or members is None or not run_data.space.decisions:
        return None
    whole = np.array([run_data.is_trained_on_all_rows(each) for each in members.records])
    statistics = _AlternativeStatistics(members.columns, members.losses, whole, run_data.metric)
    rows = [*_decision_rows(run_data.space.root, statistics, 0)]
    return TreeTable(f"{len(members.records):,} trials", tuple(rows[:MAX_LINES]), max(0, len(rows) - MAX_LINES))


def mosaic_search_tree_table(run_data: RunData) -> TreeTable | None:
    """Return the tree that `mosaic` searched, without hardly visited nodes; None for other optimizers."""
    if run_data.run.header.optimizer != "mosaic" or run_data.space is None or not run_data.records:
        return None
    try:
        found = search_tree_listing(run_data.run, run_data.records)
    except (InputError, ValueError, TypeError, LookupError):
        # The notes in a foreign file may not be those of a search.
        return None
    total = max((each.visits for each in found.rows), default=0) or 1
    rows = []
    for each in found.rows[:MAX_LINES]:
        median = "" if each.reward is None else format_number(each.reward)
        share = 100 * each.visits / total
        rows.append(TreeTableRow(min(each.depth, MAX_DEPTH), each.label, each.visits, share, median=median))
    return TreeTable(found.title, tuple(rows), max(0, len(found.rows) - MAX_LINES))


@dataclass(frozen=True)
class _AlternativeStatistics:
    columns: ConfigurationBatch
    losses: Array
    whole: Array
    metric: LossName

    def line(self, choice: Choice, branch_index: int, depth: int) -> TreeTableRow:
        """Return the line of an alternative: trials, failures, median and best score.

        Scores are of trials on all rows.
        """
        branch = choice.branches[branch_index]
        taken = self.columns.decisions.get(choice.address)
        rows = np.zeros(len(self.columns), bool) if taken is None else taken == branch_index
        losses = self.losses[rows & self.whole]
        losses = losses[~np.isnan(losses)]
        return TreeTableRow(
            min(depth, MAX_DEPTH),
            f"{branch.name} (default)" if branch_index == choice.default else branch.name,
            int(rows.sum()),
            100 * float(rows.mean()),
            int(np.isnan(self.losses[rows]).sum()),
            self._score(float(np.median(losses))) if len(losses) else "",
            self._score(float(losses.min())) if len(losses) else "",
        )

    def _score(self, loss: float) -> str:
        return format_number(self.metric.score(loss))


def _decision_rows(node: Node, counting: _AlternativeStatistics, depth: int) -> Iterator[TreeTableRow]:
    if isinstance(node, Choice):
        yield TreeTableRow(min(depth, MAX_DEPTH), spell_decision_name(node))
        for place, branch in enumerate(node.branches):
            yield counting.line(node, place, depth + 1)
            yield from _decision_rows(branch.node, counting, depth + 2)
    else:
        for child in children_of(node):
            yield from _decision_rows(child, counting, depth)
