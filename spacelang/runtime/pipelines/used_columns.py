"""The columns of a table that a pipeline uses; tables of new rows need no others."""

from collections.abc import Iterable, Iterator
from enum import Enum

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, ProductKind, Space
from spacelang.runtime.pipelines.columns import TableColumn
from spacelang.runtime.pipelines.preparation import Preparation


def used_columns(space: Space, configurations: Iterable[Configuration], preparation: Preparation) -> frozenset[str]:
    """Return the names of the columns that an operator gets in the pipeline of at least one configuration.

    A column is not used if all its values are missing, or if no chosen part of `columns(…)` selects it. A column that
    the preparation one-hot encodes always counts as used, because the names of its parts are not known.
    """
    if preparation.table is None:
        return frozenset((*preparation.kept, *preparation.imputed, *preparation.encoded))
    chosen = [*configurations]
    names = (
        column.name
        for column in preparation.table
        if any(_fate(space.root, each, column) is not _Fate.DROPPED for each in chosen)
    )
    return frozenset((*names, *preparation.encoded))


class _Fate(Enum):
    """The fate of a column in a part of a pipeline."""

    USED = "an operator gets the column"
    PASSES = "the column is passed on unchanged"
    DROPPED = "no part selects the column"


def _fate(node: Node, configuration: Configuration, column: TableColumn) -> _Fate:
    match node:
        case Operator():
            return _Fate.USED
        case Hyperparameter():
            return _Fate.PASSES
        case Choice():
            branch = node.branches[node.branch_indices[str(configuration[node.key])]]
            return _fate(branch.node, configuration, column)
        case Product(kind=ProductKind.SEQUENCE | ProductKind.PERMUTATION):
            # All steps of a permutation are present. If one of them drops the column, steps before it may use it.
            fates = [_fate(child, configuration, column) for child in _in_order(node, configuration)]
            return next((fate for fate in fates if fate is not _Fate.PASSES), _Fate.PASSES)
        case Product(kind=ProductKind.COLUMNS):
            pairs = zip(node.selectors, node.children, strict=True)
            taking = [child for selector, child in pairs if column.is_selected_by(selector, node.selectors)]
            return _most_used(_fate(child, configuration, column) for child in taking)
        case Product():
            return _most_used(_fate(child, configuration, column) for child in node.children)


def _in_order(node: Product, configuration: Configuration) -> Iterable[Node]:
    """Return the steps of a sequence or a permutation in the order in which rows pass through them."""
    if node.kind is ProductKind.SEQUENCE:
        return node.children
    order = node.children[0]
    assert isinstance(order, Choice)
    return node.steps_in_order(str(configuration[order.key]))


def _most_used(fates: Iterator[_Fate]) -> _Fate:
    """Return the fate of a column that several parts get."""
    found = {*fates}
    return next((fate for fate in (_Fate.USED, _Fate.PASSES) if fate in found), _Fate.DROPPED)
