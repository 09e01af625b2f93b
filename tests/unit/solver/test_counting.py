"""Counts that are known from elsewhere, and how long counting takes."""

import time
from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import TypeVar

import pytest

import spacelang as sl
from spacelang.ir.domain import Categorical, Domain, Grid, Real, Union
from spacelang.ir.expr import And, Arithmetic, BranchTest, Call, Compare, Constant, Expr, Not, Or, Reference
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    Choice,
    Constraint,
    Hyperparameter,
    Node,
    Operator,
    Product,
    ProductKind,
    Space,
)
from spacelang.solver import constraint_network_compiler
from spacelang.solver.counting import Structures
from spacelang.solver.model import SolverModel, compile_networks

T = TypeVar("T")


def stage(name: str, alternatives: int, hyperparameters: int = 0) -> Choice:
    def operator(number: int) -> Branch:
        path = f"{name}.A{number}"
        found = (
            Hyperparameter(f"x{k}", f"{path}.x{k}", f"{name}.x{k}", Real(0.0, 1.0), 0.5) for k in range(hyperparameters)
        )
        return Branch(f"A{number}", Operator(f"A{number}", "made", tuple(found)))

    return Choice(name, name, name, tuple(map(operator, range(alternatives))))


def stages(*sizes: int) -> Space:
    return Space(
        "made", Product(ProductKind.SEQUENCE, tuple(stage(f"s{place}", size) for place, size in enumerate(sizes)))
    )


def one(*domains: Domain, constraints: Sequence[Constraint] = (), conditions: Sequence[Expr | None] = ()) -> Space:
    """A space of one operator with the hyperparameters x0, x1, ..."""
    told = [*conditions, *[None] * (len(domains) - len(conditions))]
    children = tuple(
        Hyperparameter(f"x{k}", f"s.A.x{k}", f"s.x{k}", domain, domain.representative, condition)
        for k, (domain, condition) in enumerate(zip(domains, told, strict=True))
    )
    root: Node = Choice("s", "s", "s", (Branch("A", Operator("A", "made", children)),))
    return Space("made", root, tuple(constraints))


def x(number: int) -> Reference:
    return Reference(f"s.A.x{number}")


def forbid(*terms: Expr) -> Constraint:
    return Constraint(And(terms), forbidden=True)


def require(expression: Expr) -> Constraint:
    return Constraint(expression, forbidden=False)


def configurations(
    *domains: Domain, constraints: Sequence[Constraint] = (), conditions: Sequence[Expr | None] = ()
) -> int | None:
    return Structures(one(*domains, constraints=constraints, conditions=conditions)).configuration_count


def within(seconds: float, run: Callable[[], T]) -> T:
    """The result; generous limits of processor time: a slow machine does not fail, a wrong order of growth does."""
    start = time.process_time()
    result = run()
    assert time.process_time() - start < seconds
    return result


@pytest.mark.parametrize(
    ("sizes", "one_change", "two_changes"),
    [((8, 8, 6, 8), 26, 252), ((8, 11, 7, 11), 33, 402), ((6, 3, 6), 12, 45)],
)
def test_leaves_by_discrepancy(sizes: tuple[int, ...], one_change: int, two_changes: int) -> None:
    structures = Structures(stages(*sizes))
    counts = structures.count_by_discrepancy({f"s{place}": "A1" for place in range(len(sizes))})
    assert counts[:3] == (1, one_change, two_changes)
    assert len(counts) == len(sizes) + 1
    assert sum(counts) == structures.count == prod(sizes)


def test_counts_beyond_every_machine_word() -> None:
    structures = within(2, lambda: Structures(stages(*[10] * 20)))
    assert structures.count == 10**20
    counts = structures.count_by_discrepancy({f"s{place}": "A0" for place in range(20)})
    assert counts[20] == 9**20
    assert sum(counts) == 10**20


def test_a_thousand_alternatives_with_ten_thousand_hyperparameters() -> None:
    space = Space("wide", Product(ProductKind.SEQUENCE, tuple(stage(f"s{place}", 100, 10) for place in range(10))))
    structures = within(5, lambda: Structures(space))
    assert within(5, lambda: structures.count) == 100**10


def random_pairs(
    seed: int, stages_: int, alternatives: int, pairs: int
) -> tuple[Space, list[tuple[int, int, set[tuple[int, int]]]]]:
    """A space with constraints that forbid branches of two stages at a time, and what they forbid."""
    random, constraints, forbidden = Random(seed), [], []
    for _ in range(pairs):
        first, second = random.sample(range(stages_), 2)
        left, right = (random.sample(range(alternatives), 3) for _ in range(2))
        tests = (
            BranchTest(f"s{first}", tuple(f"A{k}" for k in left)),
            BranchTest(f"s{second}", tuple(f"A{k}" for k in right)),
        )
        constraints.append(forbid(*tests))
        forbidden.append((first, second, {(a, b) for a in left for b in right}))
    root = stages(*[alternatives] * stages_).root
    return Space("pairs", root, tuple(constraints)), forbidden


def by_inclusion_and_exclusion(
    forbidden: list[tuple[int, int, set[tuple[int, int]]]], stages_: int, alternatives: int
) -> int:
    """The count, by adding and subtracting what sets of constraints are broken together: 2^constraints terms."""

    def broken(remaining: int, allowed: dict[int, frozenset[int]], sign: int) -> int:
        if remaining == len(forbidden):
            return sign * prod(len(allowed[place]) for place in range(stages_))
        first, second, pairs = forbidden[remaining]
        total = broken(remaining + 1, allowed, sign)
        left, right = (frozenset(pair[side] for pair in pairs) for side in (0, 1))
        both = {**allowed, first: allowed[first] & left, second: allowed[second] & right}
        return total + (broken(remaining + 1, both, -sign) if both[first] and both[second] else 0)

    return broken(0, {place: frozenset(range(alternatives)) for place in range(stages_)}, 1)


@pytest.mark.parametrize("seed", range(3))
def test_random_pairs_equal_inclusion_and_exclusion(seed: int) -> None:
    space, forbidden = random_pairs(seed, 10, 20, 12)
    assert Structures(space).count == by_inclusion_and_exclusion(forbidden, 10, 20)


def test_forty_stages_of_twenty_alternatives_with_thirty_constraints() -> None:
    # Half of the constraints are over the first twenty stages, half over the others: a half is small enough to check.
    first, forbidden_first = random_pairs(1, 20, 20, 15)
    second, forbidden_second = random_pairs(2, 20, 20, 15)
    shifted = tuple(
        forbid(*(BranchTest(f"s{int(term.address[1:]) + 20}", term.branches) for term in constraint.expression.terms))  # type: ignore[union-attr]
        for constraint in second.constraints
    )
    space = Space("all", stages(*[20] * 40).root, (*first.constraints, *shifted))
    structures = within(5, lambda: Structures(space))
    expected = by_inclusion_and_exclusion(forbidden_first, 20, 20) * by_inclusion_and_exclusion(
        forbidden_second, 20, 20
    )
    assert within(5, lambda: structures.count) == expected
    tangled, _ = random_pairs(5, 40, 20, 30)
    within(10, lambda: Structures(tangled).count)


def test_true_and_one_are_two_values() -> None:
    domain = Union((Categorical((True,)), Grid(1, 2)))
    conditions = (None, Compare("==", x(0), Constant(True)), Compare("==", x(0), Constant(1)))
    assert configurations(domain, Grid(1, 5), Grid(1, 7), conditions=conditions) == 5 + 7 + 1


def test_a_constraint_over_no_variable_empties_the_space_or_says_nothing() -> None:
    assert configurations(Grid(1, 5), constraints=[Constraint(Constant(True), forbidden=True)]) == 0
    assert configurations(Grid(1, 5), constraints=[Constraint(Constant(True), forbidden=False)]) == 5


def test_a_required_branch_of_a_nested_decision_requires_what_leads_to_it() -> None:
    inner = Choice("inner", "s.Boost.inner", "s.inner", tuple(Branch(n, Operator(n, "made")) for n in ("Tree", "Line")))
    branches = (Branch("Boost", Operator("Boost", "made", (inner,))), Branch("Other", Operator("Other", "made")))
    root = Choice("s", "s", "s", branches)
    tree = BranchTest("s.Boost.inner", ("Tree",))
    assert Structures(Space("nested", root)).count == 3
    assert Structures(Space("nested", root, (require(tree),))).count == 1
    assert Structures(Space("nested", root, (Constraint(Not(tree), forbidden=True),))).count == 1
    assert Structures(Space("nested", root, (Constraint(tree, forbidden=True),))).count == 2


def test_arithmetic_is_that_of_decimals() -> None:
    for operation, number in (("/", 10), ("*", 0.1)):  # 3 * 0.1 is more than 0.3 in floats
        rule = require(Compare("<=", Arithmetic(operation, x(0), Constant(number)), Constant(0.3)))
        assert configurations(Grid(1, 10), constraints=[rule]) == 3


def test_large_ranges_are_cut_and_not_listed() -> None:
    rule = forbid(Compare(">", x(0), Constant(10)), Compare("<", x(1), Constant(10**17)))
    size = 10**18
    found = within(1, lambda: configurations(Grid(1, size), Grid(1, size), constraints=[rule]))
    assert found == size**2 - (size - 10) * (10**17 - 1)


def test_comparisons_of_small_and_large_ranges_are_counted() -> None:
    less = require(Compare("<", x(0), x(1)))
    assert configurations(Grid(1, 300), Grid(1, 300), constraints=[less]) == 300 * 299 // 2
    large = Structures(one(Grid(1, 10**6), Grid(1, 10**6), constraints=[less]))
    assert large.configuration_count == 10**6 * (10**6 - 1) // 2
    assert large.count == 1
    both = [less, require(Compare("<", x(1), x(0)))]
    assert Structures(one(Real(0.0, 1.0), Real(0.0, 1.0), constraints=both)).count == 0


def test_a_chain_of_comparisons_is_decided() -> None:
    chain = [require(Compare("<", x(k), x(k + 1))) for k in range(5)]
    assert within(5, lambda: Structures(one(*[Real(0.0, 1.0)] * 6, constraints=chain)).count) == 1
    closed = [*chain, require(Compare("<", x(5), x(0)))]
    assert within(10, lambda: Structures(one(*[Real(0.0, 1.0)] * 6, constraints=closed)).count) == 0


def test_words_are_told_apart_where_a_range_is_compared_with_them() -> None:
    domain = Union((Categorical(("a", "b")), Real(0.0, 1.0)))
    rules = (
        require(Compare("==", x(0), x(1))),
        forbid(Compare("<", x(0), Constant(2))),
        forbid(Compare("==", x(0), Constant("a"))),
        forbid(Compare("==", x(1), Constant("b"))),
    )
    space = one(domain, domain, constraints=rules)
    assert Structures(space).count == 0


def test_an_expression_over_many_hyperparameters_is_tabulated_in_parts() -> None:
    all_one = And(tuple(Compare("==", x(k), Constant(1)) for k in range(30)))
    found = within(5, lambda: configurations(*[Grid(1, 10)] * 30, constraints=[Constraint(all_one, forbidden=True)]))
    assert found == 10**30 - 1
    some = require(Or((Compare("<", x(0), x(1)), Compare("<", x(2), x(3)))))
    found = within(10, lambda: configurations(*[Grid(1, 40)] * 4, constraints=[some]))
    assert found == 40**4 - (40 * 41 // 2) ** 2


def test_a_thousand_conditions_on_one_hyperparameter() -> None:
    conditions = [None, *[Compare("==", x(0), Constant("ab"[k % 2])) for k in range(1000)]]
    domains = [Categorical(("a", "b", "c")), *[Grid(1, 10)] * 1000]
    assert within(10, lambda: configurations(*domains, conditions=conditions)) == 2 * 10**500 + 1


@pytest.mark.parametrize(
    "atom",
    [Compare("<", Arithmetic("*", x(0), x(1)), Constant(1)), Compare("<", Call("sqrt", (x(0),)), Constant(1))],
)
def test_what_cannot_be_decided_is_left_to_draws(atom: Expr) -> None:
    structures = Structures(one(Real(0.0, 1.0), Real(0.0, 1.0), constraints=[require(atom)]))
    assert structures.expressions_tested_on_draws == {atom}
    assert structures.contains_expression_tested_on_draws(atom)
    assert (structures.count, structures.configuration_count) == (1, None)


def test_what_ties_too_many_hyperparameters_is_left_to_draws() -> None:
    differing = [Compare("!=", x(i), x(j)) for i in range(8) for j in range(i)]
    structures = Structures(one(*[Grid(1, 8)] * 8, constraints=[*map(require, differing)]))
    assert structures.expressions_tested_on_draws == {*differing}
    few = Structures(
        one(*[Grid(1, 5)] * 5, constraints=[require(Compare("!=", x(i), x(j))) for i in range(5) for j in range(i)])
    )
    assert (few.expressions_tested_on_draws, few.configuration_count) == (frozenset(), 120)


def test_many_branches_are_looked_at_one_truth_at_a_time() -> None:
    crowd = _crowd(constraint_network_compiler.MAX_DIRECT_BRANCHES + 4)
    found = next(compile_networks(crowd.variables, crowd.constraints))
    assert any(len(factor.scope) == 2 and factor.scope[1].startswith("truth") for factor in found.factors)


@pytest.mark.parametrize(
    "alternatives",
    [
        constraint_network_compiler.MAX_DIRECT_BRANCHES - 1,
        constraint_network_compiler.MAX_DIRECT_BRANCHES,
        constraint_network_compiler.MAX_DIRECT_BRANCHES + 4,
    ],
)
def test_conditions_on_another_stage_are_counted_alike_for_few_and_many_branches(alternatives: int) -> None:
    structures = Structures(_crowd(alternatives))
    assert structures.count == 2 * alternatives
    # Three values where the other stage takes `x`, none (one configuration) where it takes `y`.
    assert structures.configuration_count == 3 * alternatives + alternatives


def _crowd(alternatives: int) -> Space:
    """A decision `s` of two, and one of many whose operators each have a hyperparameter under a condition on `s`."""
    first = Choice("s", "s", "s", (Branch("x", SKIPPED_STEP), Branch("y", SKIPPED_STEP)))
    branches = []
    for number in range(alternatives):
        node = Hyperparameter("p", f"e.a{number}.p", "e.p", Grid(1, 3), 1, BranchTest("s", ("x",)))
        branches.append(Branch(f"a{number}", Operator("A", "none", (node,))))
    return Space("crowd", Product(ProductKind.SEQUENCE, (first, Choice("e", "e", "e", tuple(branches)))))


def test_networks_that_lost_no_condition_are_compiled_once() -> None:
    space = sl.parse(
        "abstract A { n : int[1, 8] = 2, x : float[0, 1] = 0 when n >= 4 }\n"
        "abstract B { p : int[1, 5] = 1, q : int[1, 5] = 5, require p <= q }\nstage s = A | B\nstage t = A | B\n"
    ).checked
    structures = Structures(space)
    fresh = SolverModel(space.variables, space.constraints)
    assert structures.model.variables is not structures.structure_model.variables
    for context, networks in structures.model.by_context.items():
        for network, other in zip(networks, fresh.by_context[context], strict=True):
            assert (network.members, network.constraints) == (other.members, other.constraints)
            assert (network.states, network.factors, network.cells) == (other.states, other.factors, other.cells)
            is_known = any(network is each for each in structures.structure_model.by_context.get(context, ()))
            assert is_known is all(member.condition is None for member in network.members)
