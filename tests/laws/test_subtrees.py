"""What is below a node: each variable once, owners first."""

from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.space import Choice, Hyperparameter, Operator, Product, ProductKind, Space, children_of, subtree

from .settings import LAW
from .spaces import finite_spaces, general_spaces


@LAW
@given(st.one_of(finite_spaces(), general_spaces()))
def test_a_subtree_has_every_node_behind_what_it_is_below(space: Space) -> None:
    nodes = [*subtree(space.root)]
    places = {id(node): place for place, node in enumerate(nodes)}
    assert len(nodes) == 1 + sum(len(children_of(node)) for node in nodes)
    assert all(places[id(child)] > places[id(node)] for node in nodes for child in children_of(node))
    variables = [node for node in nodes if isinstance(node, Choice | Hyperparameter)]
    assert variables == [variable.node for variable in space.variables.values()]
    assert [*space.permutations] == [
        node.children[0].address for node in nodes if isinstance(node, Product) and node.kind is ProductKind.PERMUTATION
    ]


@LAW
@given(st.one_of(finite_spaces(), general_spaces()))
def test_without_values_nothing_of_operators_is_below_a_node(space: Space) -> None:
    found = [*subtree(space.root, values=False)]
    steps = [node for node in found if not isinstance(node, Operator)]
    assert len(found) == 1 + sum(len(children_of(node)) for node in steps)
