"""Counts for hovers and inlay hints: the structures with each alternative of a decision."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from lsprotocol import types

from spacelang.grouping import group_by_key
from spacelang.ir.space import Choice
from spacelang.language_server.documents import Document
from spacelang.language_server.positions import PositionEncoding
from spacelang.solver.network import TooManyConnectedVariablesError
from spacelang.syntax import ast
from spacelang.text import count_with_noun

MAX_COUNTED_DECISIONS = 50  # The maximum number of decisions that are counted for hints; further ones have none


def branch_counts(document: Document, choices: Iterable[Choice]) -> Counter[str]:
    """Return the number of structures with each branch of a decision, given all its occurrences in the space.

    The use `step[1]` of a chain is a decision in each number of uses. The counter is empty if the text has errors.
    """
    found = Counter[str]()
    if document.structures is None:
        return found
    for choice in choices:
        try:
            found.update(document.structures.count_by_branch(choice))
        except TooManyConnectedVariablesError:
            return Counter()
    return found


def decisions_by_use(document: Document) -> Iterable[list[Choice]]:
    """Return the decisions of a space without errors, those of the same use of a stage together."""
    decisions = () if document.structures is None else document.structures.space.decisions
    return group_by_key(((choice.key, choice.span), choice) for choice in decisions).values()


def describe_counts(numbers: Sequence[int]) -> str:
    """Return a number of structures as text; with several uses of a stage, the number with each use."""
    *first, last = numbers
    return "".join(f"{number:,} | " for number in first) + count_with_noun(last, "structure")


def inlay_hints(document: Document, shown: types.Range, encoding: PositionEncoding) -> list[types.InlayHint]:
    """Return hints with the number of structures of the pipeline and of each alternative of its stages.

    Where a stage is used several times, one hint has the numbers of all uses; that of a chain has those of all numbers
    of uses.
    """
    structures = document.structures
    if structures is None or document.is_compiled:
        return []
    source, found = document.source, dict[int, list[int]]()
    start, end = encoding.offset(source, shown.start), encoding.offset(source, shown.end)
    for item in document.parsed.file.items:
        if isinstance(item, ast.Pipeline):
            found[item.span.start + len("pipeline")] = [structures.count]
    for choices in islice(decisions_by_use(document), MAX_COUNTED_DECISIONS):
        branches = choices[0].branches
        if any(branch.span.source is source and start <= branch.span.end <= end for branch in branches):
            counts = branch_counts(document, choices)
            for branch in branches:
                if branch.name in counts and branch.span.source is source:
                    found.setdefault(branch.span.end, []).append(counts[branch.name])
    return [
        types.InlayHint(encoding.position(source, offset), f" {describe_counts(numbers)}")
        for offset, numbers in found.items()
        if start <= offset <= end
    ]
