"""Counts for hovers and inlay hints: the structures with each alternative of a decision."""

from lsprotocol import types

from spacelang.ir.space import Choice
from spacelang.language_server.documents import Document
from spacelang.language_server.positions import PositionEncoding
from spacelang.solver.network import TooManyConnectedVariablesError
from spacelang.syntax import ast
from spacelang.text import count_with_noun

MAX_COUNTED_DECISIONS = 50  # The maximum number of decisions that are counted for hints; further ones have none


def branch_counts(document: Document, choice: Choice) -> dict[str, int]:
    """Return the number of structures with each branch of a decision; empty if the text has errors."""
    if document.structures is None:
        return {}
    try:
        return document.structures.count_by_branch(choice)
    except TooManyConnectedVariablesError:
        return {}


def inlay_hints(document: Document, shown: types.Range, encoding: PositionEncoding) -> list[types.InlayHint]:
    """Return hints with the number of structures of the pipeline and of each alternative of its stages."""
    structures = document.structures
    if structures is None or document.is_compiled:
        return []
    source, found = document.source, list[types.InlayHint]()
    start, end = encoding.offset(source, shown.start), encoding.offset(source, shown.end)

    def add(offset: int, number: int) -> None:
        if start <= offset <= end:
            label = f" {count_with_noun(number, 'structure')}"
            found.append(types.InlayHint(encoding.position(source, offset), label))

    for item in document.parsed.file.items:
        if isinstance(item, ast.Pipeline):
            add(item.span.start + len("pipeline"), structures.count)
    for choice in structures.space.decisions[:MAX_COUNTED_DECISIONS]:
        places = [branch.span for branch in choice.branches]
        if any(place.source is source and start <= place.end <= end for place in places):
            counts = branch_counts(document, choice)
            for branch in choice.branches:
                if branch.name in counts and branch.span.source is source:
                    add(branch.span.end, counts[branch.name])
    return found
