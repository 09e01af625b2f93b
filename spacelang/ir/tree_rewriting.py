"""Rebuild the tree of a space with changed hyperparameters and decisions."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, assert_never

from spacelang.ir.space import Choice, FixedValue, Hyperparameter, Node, Operator, Product

HyperparameterChange: TypeAlias = Callable[[Hyperparameter], Hyperparameter | None]
DecisionChange: TypeAlias = Callable[[Choice], Choice]


def rebuild_tree(node: Node, change: HyperparameterChange, decide: DecisionChange = lambda choice: choice) -> Node:
    """Return a copy of a tree with `decide` applied to its decisions and `change` to its hyperparameters.

    Decisions are changed before what lies inside them. If `change` returns None for a hyperparameter of an operator,
    the hyperparameter is removed.
    """
    match node:
        case Hyperparameter():
            found = change(node)
            assert found is not None, "only hyperparameters of operators can be removed"
            return found
        case Choice():
            choice = decide(node)
            inner = tuple(replace(branch, node=rebuild_tree(branch.node, change, decide)) for branch in choice.branches)
            return replace(choice, branches=inner)
        case Operator():
            return _operator(node, change, decide)
        case Product():
            return replace(node, children=tuple(rebuild_tree(child, change, decide) for child in node.children))
        case _:
            assert_never(node)


def _operator(operator: Operator, change: HyperparameterChange, decide: DecisionChange) -> Operator:
    found: list[Hyperparameter | Choice | None] = [
        change(child) if isinstance(child, Hyperparameter) else rebuild_tree(child, change, decide)  # type: ignore[misc]
        for child in operator.children
    ]
    fixed: tuple[tuple[str, FixedValue], ...] = tuple(
        (name, _operator(value, change, decide) if isinstance(value, Operator) else value)
        for name, value in operator.fixed
    )
    return replace(operator, children=tuple(child for child in found if child is not None), fixed=fixed)
