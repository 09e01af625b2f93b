"""Count the structures that two spaces have in common, exactly."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from spacelang.ir import space as ir
from spacelang.ir.expr import BranchTest, rename_addresses
from spacelang.solver.constraint_network import TooManyConnectedVariablesError
from spacelang.solver.counting import Structures


def count_common_structures(first: ir.Space, second: ir.Space) -> int | None:
    """Return the number of structures that both spaces have; None if too many variables are connected.

    The function counts the structures of a union space. It has the decisions of both spaces, and forbids what only one
    of them can do. Structures do not include hyperparameters, so the union simply contains those of both spaces.
    """
    union = _SpaceUnion((first, second))
    if not union.may_share_structure(((), ())):
        return 0
    try:
        return Structures(union.space()).count
    except TooManyConnectedVariablesError:
        return None


_Contexts: TypeAlias = tuple[ir.Context, ir.Context]
"""The contexts (decisions with branches) of one place in the first space and in the second."""


class _SpaceUnion:
    """The union of two spaces. A decision of both is one decision if the same branches lead to it in both spaces."""

    def __init__(self, spaces: tuple[ir.Space, ir.Space]) -> None:
        self.spaces = spaces
        self.forbidden: list[ir.Constraint] = []
        self.names = tuple(
            {address: f"{number} {address}" for address in each.variables} for number, each in enumerate(spaces)
        )
        """For each of the two spaces, its addresses and their new addresses in the union."""

    def may_share_structure(self, contexts: _Contexts) -> bool:
        """Return False if, even without constraints, no structure is common below two contexts, one of each space.

        Otherwise both have the same decisions there, each with a common branch of which the same holds.
        """
        ours, theirs = self._decisions(contexts)
        return ours.keys() == theirs.keys() and all(
            any(
                self.may_share_structure(_contexts_below(variable, theirs[key], name))
                for name in _shared_branches(variable, theirs[key])
            )
            for key, variable in ours.items()
        )

    def space(self) -> ir.Space:
        """Return the space whose admissible structures are exactly the common ones."""
        self._share_names(((), ()))
        root = self._shared_node(((), ()))
        constraints = [
            replace(constraint, expression=rename_addresses(constraint.expression, names))
            for space, names in zip(self.spaces, self.names, strict=True)
            for constraint in space.constraints
        ]
        return ir.Space("", root, (*self.forbidden, *constraints))

    def _share_names(self, contexts: _Contexts) -> None:
        ours, theirs = self._decisions(contexts)
        for key, variable in ours.items():
            for names, each in zip(self.names, (variable, theirs[key]), strict=True):
                names[each.address] = f"both {variable.address}"
            for name in _shared_branches(variable, theirs[key]):
                if self.may_share_structure(inside := _contexts_below(variable, theirs[key], name)):
                    self._share_names(inside)

    def _shared_node(self, contexts: _Contexts) -> ir.Node:
        """Return the node below two contexts: the shared decisions, and the hyperparameters of both spaces."""
        ours, theirs = self._decisions(contexts)
        choices = [self._shared_choice(variable, theirs[key]) for key, variable in ours.items()]
        return ir.Product(
            ir.ProductKind.SEQUENCE,
            (*choices, *self._hyperparameters(0, contexts[0]), *self._hyperparameters(1, contexts[1])),
        )

    def _shared_choice(self, ours: ir.Variable, theirs: ir.Variable) -> ir.Choice:
        """Return a decision with the branches of both spaces; forbid the branches that no common structure has."""
        address = self.names[0][ours.address]
        branches: list[ir.Branch] = []
        for name in dict.fromkeys((*ours.choice.branch_indices, *theirs.choice.branch_indices)):
            inside = _contexts_below(ours, theirs, name)
            if name in _shared_branches(ours, theirs) and self.may_share_structure(inside):
                branches.append(ir.Branch(name, self._shared_node(inside)))
                continue
            # The branch is kept, so that expressions that refer to something inside it keep their meaning.
            own = [
                self._unshared_node(number, inside[number])
                for number, each in enumerate((ours, theirs))
                if name in each.choice.branch_indices
            ]
            branches.append(ir.Branch(name, ir.Product(ir.ProductKind.SEQUENCE, tuple(own))))
            self.forbidden.append(ir.Constraint(BranchTest(address, (name,)), forbidden=True))
        return ir.Choice(ours.node.name, address, address, tuple(branches))

    def _unshared_node(self, number: int, context: ir.Context) -> ir.Node:
        choices = []
        for variable in self.spaces[number].by_context.get(context, ()):
            if isinstance(variable.node, ir.Choice):
                address = self.names[number][variable.address]
                branches = tuple(
                    ir.Branch(name, self._unshared_node(number, (*context, (variable.address, name))))
                    for name in variable.choice.branch_indices
                )
                choices.append(ir.Choice(variable.node.name, address, address, branches))
        return ir.Product(ir.ProductKind.SEQUENCE, (*choices, *self._hyperparameters(number, context)))

    def _hyperparameters(self, number: int, context: ir.Context) -> Iterator[ir.Hyperparameter]:
        names = self.names[number]
        for variable in self.spaces[number].by_context.get(context, ()):
            node = variable.node
            if isinstance(node, ir.Hyperparameter):
                condition = rename_addresses(node.condition, names) if node.condition is not None else None
                yield replace(node, address=names[node.address], key=names[node.address], condition=condition)

    def _decisions(self, contexts: _Contexts) -> tuple[dict[str, ir.Variable], dict[str, ir.Variable]]:
        ours, theirs = (
            {each.key: each for each in space.by_context.get(context, ()) if isinstance(each.node, ir.Choice)}
            for space, context in zip(self.spaces, contexts, strict=True)
        )
        return ours, theirs


def _contexts_below(ours: ir.Variable, theirs: ir.Variable, branch: str) -> _Contexts:
    return (*ours.owners, (ours.address, branch)), (*theirs.owners, (theirs.address, branch))


def _shared_branches(ours: ir.Variable, theirs: ir.Variable) -> list[str]:
    return [name for name in ours.choice.branch_indices if name in theirs.choice.branch_indices]
