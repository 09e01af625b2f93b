"""Parts of the target `mosaic`: the order of its decisions, its vectors, and its text outlines and DOT graphs.

A decision has one column, the index of its branch. A hyperparameter has a column for its number, or for the index of
its value in a set. It has another column before that for the part of its domain, if the domain has several parts or if
-1 is one of its values. All columns of an unreached or inactive variable are -1; the first column of any other variable
never is.

See spacelang/optimizers/README.md, sections "Unit interval" and "Forest".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from spacelang.encodings.domains import DomainEncoding, EncodedRows, exact_encoding, to_unit
from spacelang.encodings.rows import RowEncoding, VariableColumns
from spacelang.ir.domain import Categorical, Domain, contains
from spacelang.ir.space import Choice, Context, Node, Operator, Product, ProductKind, Space, children_of
from spacelang.targets._text_and_dot import digraph, quote_dot
from spacelang.text import count_with_noun

INACTIVE = -1.0


class MosaicVectorEncoding(RowEncoding):
    """The vector columns of a space: decisions in the given order, then hyperparameters in text order."""

    def __init__(self, space: Space, decisions: Sequence[Choice]) -> None:
        addresses = [node.address for nodes in (decisions, space.hyperparameters) for node in nodes]
        variables = [space.variables[address] for address in addresses]
        super().__init__(space, _encoding_of, variables=variables, missing=INACTIVE)
        self.names: tuple[str, ...] = tuple(name for field in self.fields for name in _names(field))
        """The name of each column: an address, followed by " (part)" for the column of a part."""
        self._ranges = [
            (field, place, part)
            for field in self.fields
            for place, part in enumerate(field.coding.parts)
            if not isinstance(part, Categorical)
        ]

    def scale(self, vectors: EncodedRows) -> EncodedRows:
        """Return vectors with numbers (or logarithms) in [0, 1] for a surrogate; only inactive entries are -1."""
        found = vectors.copy(order="K")
        for field, place, part in self._ranges:
            is_mine = vectors[:, field.start] == place if field.coding.has_part else self.is_active(field, vectors)
            rows = np.flatnonzero(is_mine)
            if len(rows):
                found[rows, field.end - 1] = to_unit(part, vectors[rows, field.end - 1])
        return found


def _encoding_of(domain: Domain) -> DomainEncoding:
    return exact_encoding(domain, has_part=not isinstance(domain, Categorical) and contains(domain, int(INACTIVE)))


def _names(field: VariableColumns) -> Iterator[str]:
    if field.coding.has_part:
        yield f"{field.variable.address} (part)"
    yield field.variable.address


def tree_order(space: Space) -> tuple[Choice, ...]:
    """Return the decisions marked `@first` or else the last step, then the others, each with those inside it."""
    leading = [choice for choice in space.stages if choice.first] or [*_last_decisions(space.root)]
    first = {choice.address for choice in leading}
    others = (choice for choice in space.stages if choice.address not in first)
    return tuple(each for choice in (*leading, *others) for each in _with_inner_decisions(space, choice, ()))


def _with_inner_decisions(space: Space, choice: Choice, context: Context) -> Iterator[Choice]:
    yield choice
    for branch in choice.branches:
        inside = (*context, (choice.address, branch.name))
        for inner in _first_in_front([v.node for v in space.by_context.get(inside, ()) if isinstance(v.node, Choice)]):
            yield from _with_inner_decisions(space, inner, inside)


def _first_in_front(choices: Sequence[Choice]) -> Sequence[Choice]:
    return sorted(choices, key=lambda choice: not choice.first)


def _last_decisions(node: Node) -> Iterator[Choice]:
    """Yield the decision that is the last step of a pipeline, or the decisions inside a fixed last step."""
    match node:
        case Choice():
            yield node
        case Product(kind=ProductKind.SEQUENCE, children=(*_, last)):
            yield from _last_decisions(last)
        case Operator():
            for inner in children_of(node):
                yield from _last_decisions(inner)
        case _:
            return


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
    """Return the path as a graph in the DOT language; dashed edges leave it, with a number of structures."""
    return digraph(name, _title(name, structures), _graph_lines(path))


def _title(name: str, structures: int) -> str:
    return f"{name}: {count_with_noun(structures, 'structure')}"


def _rows(level: Level, depth: int) -> Iterator[tuple[str, int | None]]:
    """Yield the lines of a level with their structure counts, the branch of the path last."""
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
