"""The order of the decisions in a structural tree.

See spacelang/optimizers/README.md, section "MOSAIC: tree".
"""

from collections.abc import Iterator, Sequence

from spacelang.ir.space import Choice, Context, Node, Operator, Product, ProductKind, Space, children_of


def tree_order(space: Space) -> tuple[Choice, ...]:
    """Return all decisions: those marked `@first` or else the estimator, then the others in pipeline order.

    Each decision is followed by the decisions inside its branches. The estimator is the last step of the pipeline, if
    that is a decision.
    """
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
