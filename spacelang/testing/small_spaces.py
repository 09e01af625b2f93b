"""Small spaces built by hand or drawn by Hypothesis, and brute-force enumeration with the membership test alone."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Final, TypeVar

from hypothesis import strategies as st

from spacelang.deprecation import make_module_getattr
from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, members, parts
from spacelang.ir.expr import And, Arithmetic, BranchTest, Compare, Constant, Expr, Not, Or, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.value import Value
from spacelang.text import Source, Span

Structure = dict[str, str]
_SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=3)
T = TypeVar("T")
BOOLEAN_STRATEGY: Final = st.booleans()  # The strategy of booleans


def choice(address: str, *branches: str | ir.Branch, default: int = 0, key: str | None = None) -> ir.Choice:
    """Return a decision with these alternatives; names become operators `toy.NAME`."""
    made = tuple(b if isinstance(b, ir.Branch) else ir.Branch(b, ir.Operator(b, f"toy.{b}")) for b in branches)
    return ir.Choice(address.rpartition(".")[2], address, key or address, made, default)


def branch(name: str, *children: ir.Choice | ir.Hyperparameter) -> ir.Branch:
    """Return an alternative with an operator `toy.NAME` that has these children."""
    return ir.Branch(name, ir.Operator(name, f"toy.{name}", children))


def hyperparameter(
    address: str, domain: Domain, default: Value, when: Expr | None = None, key: str = ""
) -> ir.Hyperparameter:
    """Return a hyperparameter."""
    return ir.Hyperparameter(address.rpartition(".")[2], address, key or address, domain, default, when)


def make_space(
    name: str, *stages: ir.Choice | ir.Hyperparameter, constraints: tuple[ir.Constraint, ...] = ()
) -> ir.Space:
    """Return a space with these stages and constraints."""
    return ir.Space(name, ir.Product(ir.ProductKind.SEQUENCE, stages), constraints)


def forbid(expression: Expr, span: Span | None = None) -> ir.Constraint:
    """Return a constraint that forbids an expression."""
    return ir.Constraint(expression, True) if span is None else ir.Constraint(expression, True, span)


def require(expression: Expr) -> ir.Constraint:
    """Return a constraint that requires an expression."""
    return ir.Constraint(expression, False)


def space_name(space: ir.Space) -> str:
    """Return the name of a space, as the identifier of a test."""
    return space.name


def plain_space(*sizes: int) -> ir.Space:
    """Return a space with stages s0, s1, ... of alternatives a0, a1, ... and nothing else."""
    stages = (choice(f"s{n}", *(f"a{k}" for k in range(size))) for n, size in enumerate(sizes))
    return make_space("x".join(map(str, sizes)), *stages)


def nested_space() -> ir.Space:
    """Return a space with decisions inside alternatives, two levels deep, whose defaults are not the first ones."""
    deepest = choice("b.r.in.y.at", "u", "v", default=1, key="b.in.at")
    inner = choice("b.r.in", "x", branch("y", deepest), "z", default=2, key="b.in")
    other = choice("b.q.in", "k", "l", key="b.in")
    first, second = choice("a", "m", "n", default=1), choice("b", "p", branch("q", other), branch("r", inner))
    return make_space("nested", first, second)


def constrained_space() -> ir.Space:
    """Return a nested space with a constraint into an alternative, and one that allows a single pair."""
    space = nested_space()
    return ir.Space(
        "constrained",
        ir.Product(ir.ProductKind.SEQUENCE, (*space.stages, choice("c", "g", "h", "i"))),
        (
            forbid(And((BranchTest("a", ("m",)), BranchTest("b.r.in", ("x", "y"))))),
            require(Or((Not(BranchTest("b", ("p",))), BranchTest("c", ("i",))))),
            forbid(And((BranchTest("a", ("n",)), BranchTest("c", ("g",))))),
        ),
    )


def conditional_space() -> ir.Space:
    """Return a finite space with conditions and constraints, which the defaults violate in one structure."""
    low = hyperparameter("e.f.low", Grid(0, 3), 2)
    high = hyperparameter("e.f.high", Grid(1, 4), 2)
    kernel = hyperparameter("e.g.kernel", Categorical(("rbf", "poly", None)), "rbf")
    degree = hyperparameter("e.g.degree", Grid(2, 3), 3, when=Compare("==", Reference("e.g.kernel"), Constant("poly")))
    return make_space(
        "tuned",
        choice("s", ir.Branch("none", ir.SKIPPED_STEP), "scale"),
        choice("e", branch("f", low, high), branch("g", kernel, degree)),
        constraints=(
            require(Compare("<", Reference("e.f.low"), Reference("e.f.high"))),
            forbid(And((BranchTest("s", ("scale",)), Compare("!=", Reference("e.g.kernel"), Constant("poly"))))),
        ),
    )


def continuous_space() -> ir.Space:
    """Return a space with a continuous range, and with a structure without hyperparameters."""
    rate = hyperparameter("e.f.rate", Real(1e-3, 1.0, log=True), 0.1)
    return make_space("continuous", choice("s", "none", "scale"), choice("e", branch("f", rate), "g"))


def single_member_space() -> ir.Space:
    """Return a space with a single configuration and no decision."""
    return make_space("single", hyperparameter("only", Grid(1, 1), 1))


def pinned_range_space() -> ir.Space:
    """Return a space with a continuous range of which a constraint leaves one value, so it is finite."""
    rate = hyperparameter("e.f.rate", Real(0.0, 1.0), 0.5)
    fixed = require(Compare("==", Reference("e.f.rate"), Constant(0.5)))
    return make_space("pinned", choice("e", branch("f", rate), "g"), constraints=(fixed,))


def decimal_sum_space() -> ir.Space:
    """Return a finite space with a constraint on a sum of decimals, which floats would get wrong (0.1 + 0.2 == 0.3)."""
    first = hyperparameter("e.f.first", Grid(0.0, 0.3, step=0.1), 0.1)
    second = hyperparameter("e.f.second", Categorical((0.3, 0.2, 0.1)), 0.2)
    third = hyperparameter("e.f.third", Grid(0, 1), 0, when=Compare("<=", Reference("e.f.first"), Constant(0.1)))
    whole = Compare("==", Arithmetic("+", Reference("e.f.first"), Reference("e.f.second")), Constant(0.3))
    return make_space("shares", choice("e", branch("f", first, second, third), "g"), constraints=(require(whole),))


FINITE = (
    plain_space(2, 2, 2), plain_space(2, 3, 2), nested_space(), constrained_space(), conditional_space(),
    single_member_space(),
)  # fmt: skip
SMALL = (*FINITE, continuous_space(), pinned_range_space())


def all_structures(space: ir.Space) -> list[Structure]:
    """Return every combination of alternatives, in the order of the text, including those that constraints exclude."""
    found: list[Structure] = [{}]
    for decision in space.decisions:
        names = [branch.name for branch in decision.branches]
        found = [
            structure if name is None else {**structure, decision.address: name}
            for structure in found
            for name in (names if _is_reached(space, decision.address, structure) else [None])
        ]
    return found


def _is_reached(space: ir.Space, address: str, structure: Structure) -> bool:
    return all(structure.get(owner) == taken for owner, taken in space.variables[address].owners)


def brute_force_members(space: ir.Space, structure: Structure) -> Iterator[Configuration]:
    """Yield the members of a structure with finite domains by trying all values for all subsets of hyperparameters."""
    nodes = [node for node in space.hyperparameters if _is_reached(space, node.address, structure)]
    keys = {decision.address: decision.key for decision in space.decisions}
    decided = {keys[address]: name for address, name in structure.items()}
    for chosen in product(*([(), *((value,) for value in domain_values(node.domain))] for node in nodes)):
        given = {node.key: picked[0] for node, picked in zip(nodes, chosen, strict=True) if picked}
        configuration = Configuration({**decided, **given})
        if first_exclusion(space, configuration) is None:
            yield configuration


def domain_values(domain: Domain) -> list[Value]:
    """Return all values of a finite domain."""
    return [value for part in parts(domain) for value in members(part)]


def admissible_structures(space: ir.Space) -> list[Structure]:
    """Return the structures that have members."""
    return [structure for structure in all_structures(space) if any(brute_force_members(space, structure))]


def span_of(text: str, part: str) -> Span:
    """Return the span of the first occurrence of a part of a text."""
    start = text.index(part)
    return Span(Source("made.space", text), start, start + len(part))


@st.composite
def spaces(draw: st.DrawFn) -> ir.Space:
    """Draw a finite space with up to two nested decisions, three hyperparameters, conditions and constraints."""
    shapes = draw(_SHAPES)
    left = {"decisions": 2, "hyperparameters": 3}
    stages = tuple(_draw_choice(draw, f"s{n}", f"s{n}", count, left) for n, count in enumerate(shapes))
    space = make_space("drawn", *stages)
    return ir.Space("drawn", space.root, tuple(_draw_constraint(draw, space) for _ in range(draw_integer(draw, 0, 3))))


def _draw_choice(draw: st.DrawFn, address: str, key: str, count: int, left: dict[str, int]) -> ir.Choice:
    branches = []
    for name in "xyz"[:count]:
        children: list[ir.Choice | ir.Hyperparameter] = []
        inside = f"{address}.{name}"
        if left["decisions"] and draw(BOOLEAN_STRATEGY):
            left["decisions"] -= 1
            children.append(_draw_choice(draw, f"{inside}.n", f"{key}.n", draw_integer(draw, 1, 3), left))
        if left["hyperparameters"] and draw(BOOLEAN_STRATEGY):
            left["hyperparameters"] -= 1
            children.append(hyperparameter(f"{inside}.p", Categorical((True, None, 1.5)), None, key=f"{key}.p"))
            if left["hyperparameters"] and draw(BOOLEAN_STRATEGY):
                left["hyperparameters"] -= 1
                when = Compare("==", Reference(f"{inside}.p"), Constant(1.5))
                children.append(hyperparameter(f"{inside}.i", Grid(0, 2), 1, when=when, key=f"{key}.i"))
        branches.append(branch(name, *children))
    return choice(address, *branches, default=draw_integer(draw, 0, count - 1), key=key)


def _draw_constraint(draw: st.DrawFn, space: ir.Space) -> ir.Constraint:
    atoms: list[Expr] = []
    for _ in range(draw_integer(draw, 1, 3)):
        variable = space.variables[draw_one(draw, sorted(space.variables))].node
        if isinstance(variable, ir.Choice):
            atoms.append(BranchTest(variable.address, (draw_one(draw, variable.branches).name,)))
        else:
            value = draw_one(draw, domain_values(variable.domain))
            atoms.append(Compare("==", Reference(variable.address), Constant(value)))
    joins: tuple[type[And] | type[Or], ...] = (And, Or)
    expression = atoms[0] if len(atoms) == 1 else draw_one(draw, joins)(tuple(atoms))
    return ir.Constraint(expression, draw(BOOLEAN_STRATEGY))


@cache
def integers_between(lower: int, upper: int) -> st.SearchStrategy[int]:
    """Return a cached strategy for the integers from `lower` to `upper`."""
    return st.integers(lower, upper)


def draw_integer(draw: st.DrawFn, lower: int, upper: int) -> int:
    """Draw an integer from `lower` to `upper`."""
    return draw(integers_between(lower, upper))


def draw_one(draw: st.DrawFn, several: Sequence[T]) -> T:
    """Draw one element of a non-empty sequence."""
    return several[draw_integer(draw, 0, len(several) - 1)]


__getattr__ = make_module_getattr(__name__, {
    "constrained": "constrained_space", "continuous": "continuous_space", "made": "make_space",
    "members_by_force": "brute_force_members", "nested": "nested_space", "number": "hyperparameter",
    "pinned": "pinned_range_space", "plain": "plain_space", "shares": "decimal_sum_space",
    "single": "single_member_space", "tuned": "conditional_space", "values": "domain_values",
    "FLAGS": "BOOLEAN_STRATEGY", "between": "integers_between", "one": "draw_one", "whole": "draw_integer",
})  # fmt: skip
