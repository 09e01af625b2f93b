"""The tree of decisions with the trials of each alternative; for `mosaic` also the tree that it searched."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.ir.chains import spell_decision_name
from spacelang.ir.space import Choice, Node, children_of
from spacelang.report.page.axes import format_number
from spacelang.report.page.run_data import RunData
from spacelang.runtime.errors import InputError
from spacelang.sampling.batch_builder import Batch
from spacelang.sampling.value_codes import Array

MAX_LINES: Final = 400  # The maximum number of lines of a tree that are shown
MAX_DEPTH: Final = 8  # The maximum indentation; deeper lines are indented as this level


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A line of a tree. `share` is in percent of all visits; `visits` is None for the name of a decision."""

    depth: int
    label: str
    visits: int | None = None
    share: float = 0.0
    failed: int = 0
    median: str = ""
    best: str = ""


@dataclass(frozen=True, slots=True)
class StructureTree:
    """The lines of a tree, each node before its children; `left` lines are not shown."""

    title: str
    rows: tuple[TreeRow, ...]
    left: int = 0


def tree_of_decisions(run_data: RunData) -> StructureTree | None:
    """Return every decision of the space with its alternatives; None without decisions or trials."""
    members = run_data.trials_in_space
    if run_data.space is None or members is None or not run_data.space.decisions:
        return None
    whole = np.array([run_data.is_on_all_rows(each) for each in members.records])
    rows = [*_rows(run_data.space.root, _AlternativeStatistics(members.columns, members.losses, whole), 0)]
    return StructureTree(f"{len(members.records):,} trials", tuple(rows[:MAX_LINES]), max(0, len(rows) - MAX_LINES))


def mosaic_search_tree(run_data: RunData) -> StructureTree | None:
    """Return the tree that `mosaic` searched, without hardly visited nodes; None for other optimizers."""
    from spacelang.report.search_tree import tree_of_run

    if run_data.run.header.optimizer != "mosaic" or run_data.space is None or not run_data.records:
        return None
    try:
        found = tree_of_run(run_data.run, run_data.records)
    except (InputError, ValueError, TypeError, LookupError):
        # The notes in a foreign file may not be those of a search.
        return None
    total = max((each.visits for each in found.rows), default=0) or 1
    rows = []
    for each in found.rows[:MAX_LINES]:
        median = "" if each.reward is None else format_number(each.reward)
        share = 100 * each.visits / total
        rows.append(TreeRow(min(each.depth, MAX_DEPTH), each.label, each.visits, share, median=median))
    return StructureTree(found.title, tuple(rows), max(0, len(found.rows) - MAX_LINES))


@dataclass(frozen=True)
class _AlternativeStatistics:
    columns: Batch
    losses: Array
    whole: Array

    def line(self, choice: Choice, place: int, depth: int) -> TreeRow:
        """Return the line of an alternative. Losses are those of trials on all rows."""
        branch = choice.branches[place]
        taken = self.columns.decisions.get(choice.address)
        rows = np.zeros(len(self.columns), bool) if taken is None else taken == place
        losses = self.losses[rows & self.whole]
        losses = losses[~np.isnan(losses)]
        return TreeRow(
            min(depth, MAX_DEPTH),
            f"{branch.name} (default)" if place == choice.default else branch.name,
            int(rows.sum()),
            100 * float(rows.mean()),
            int(np.isnan(self.losses[rows]).sum()),
            format_number(float(np.median(losses))) if len(losses) else "",
            format_number(float(losses.min())) if len(losses) else "",
        )


def _rows(node: Node, counting: _AlternativeStatistics, depth: int) -> Iterator[TreeRow]:
    if isinstance(node, Choice):
        yield TreeRow(min(depth, MAX_DEPTH), spell_decision_name(node))
        for place, branch in enumerate(node.branches):
            yield counting.line(node, place, depth + 1)
            yield from _rows(branch.node, counting, depth + 2)
    else:
        for child in children_of(node):
            yield from _rows(child, counting, depth)
