"""Hypothesis strategies that draw small random spaces: finite ones, which brute force can list, and general ones.

Drawn by functions, not of strategies that are made meanwhile: these took most of the time of all laws.
"""

from dataclasses import dataclass, replace
from functools import cache
from math import prod

from hypothesis import assume
from hypothesis import strategies as st

from spacelang.ir.domain import BOOLEANS, Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, Union, grid
from spacelang.ir.expr import (
    And,
    Arithmetic,
    BranchTest,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
)
from spacelang.ir.space import (
    SKIPPED_STEP,
    TUPLE_NAME,
    Branch,
    Choice,
    Constraint,
    Hyperparameter,
    Operator,
    Product,
    ProductKind,
    Space,
    TupleParameter,
)
from spacelang.ir.tuple_parameters import member_conditions
from spacelang.ir.value import Value, is_number
from spacelang.testing.small_spaces import BOOLEAN_STRATEGY, draw_integer, draw_one

from .settings import EXAMPLES

WORDS: tuple[Value, ...] = ("red", "green", None, True, False, 0, 1, 2, 0.5, (1, 2), (1, "red"), "none")
STAGES = ("scaler", "selector", "estimator")
CLASSES = ("Apple", "Berry", "Cherry")
LARGEST = 3_000 if EXAMPLES > 100 else 1_000
"""The most raw combinations that a finite space has for brute force to go through."""


# --- domains -----------------------------------------------------------------------------------------------------

GRIDS: tuple[SimpleDomain, ...] = (
    Grid(0.0, 0.3, step=0.1),
    grid(0.0, 0.3, 0.1, lower_open=True),
    grid(-1.0, 1.0, 0.5, upper_open=True),
    Grid(0.5, 2.0, step=0.7),
    Real(1.0, 1.0),
)
RANGES: tuple[SimpleDomain, ...] = (
    Real(0.0, 1.0),
    Real(0.0, 1.0, lower_open=True),
    Real(-1.0, 2.0, upper_open=True),
    Real(0.5, 2.0, lower_open=True, upper_open=True),
    Real(1e-4, 1e4, log=True),
    Real(0.1, 10.0, log=True, upper_open=True),
    Grid(1, 1_000_000, log=True),
    Grid(-5, 100_000, step=5),
)
SETS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique_by=lambda value: (type(value), value))


def _set(draw: st.DrawFn) -> Categorical | Ordinal:
    kind = draw_integer(draw, 0, 2)
    return BOOLEANS if kind == 2 else (Categorical, Ordinal)[kind](tuple(draw(SETS)))


def _integers(draw: st.DrawFn, largest: int) -> SimpleDomain:
    lower, count, step, log = (
        draw_integer(draw, -2, 4),
        draw_integer(draw, 1, largest),
        draw_one(draw, (1, 1, 2, 3)),
        draw(BOOLEAN_STRATEGY),
    )
    lower = max(lower, 1) if log else lower
    return Grid(lower, lower + (count - 1) * step, log=log, step=step)


def _numbers(draw: st.DrawFn, finite: bool) -> SimpleDomain:
    kind = draw_integer(draw, 0, 1 if finite else 3)
    if kind == 0:
        return _integers(draw, 4 if finite else 40)
    return draw_one(draw, GRIDS if kind == 1 else RANGES)


def _domain(draw: st.DrawFn, finite: bool) -> Domain:
    kind = draw_integer(draw, 0, 3)
    if kind == 0:
        return _set(draw)
    if kind == 1:
        words = tuple(word for word in _set(draw).values if not is_number(word))
        return Union((Categorical(words or (None,)), _numbers(draw, finite)))
    return _numbers(draw, finite)


def _member(draw: st.DrawFn, domain: Domain) -> Value:
    match domain:
        case Union():
            return _member(draw, draw_one(draw, domain.parts))
        case Categorical():
            return draw_one(draw, domain.values)
        case Grid():
            return domain.value_at(draw_integer(draw, 0, domain.size - 1))
        case Real():
            candidates = (domain.lower, domain.upper, domain.representative)
            return draw_one(draw, [value for value in candidates if domain.find(value) == value])


@st.composite
def domains(draw: st.DrawFn, finite: bool) -> Domain:
    """A domain: a set, integers, a grid, a union; unless it is to be finite, also a range."""
    return _domain(draw, finite)


@st.composite
def member(draw: st.DrawFn, domain: Domain) -> Value:
    """A value that lies in the domain, for defaults and constants."""
    return _member(draw, domain)


# --- the tree ----------------------------------------------------------------------------------------------------


@dataclass
class _Draft:
    """What has been drawn so far: how many hyperparameters may still come, and the decisions."""

    finite: bool
    left: int


@cache
def _names(most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(("p", "q", "r")), max_size=most, unique=True)


def _hyperparameter(draw: st.DrawFn, draft: _Draft, name: str, path: str, key: str) -> Hyperparameter:
    domain = _domain(draw, draft.finite)
    return Hyperparameter(name, f"{path}.{name}", f"{key}.{name}", domain, _member(draw, domain))


def _operator(draw: st.DrawFn, draft: _Draft, name: str, path: str, key: str, depth: int) -> Operator:
    names = draw(_names(min(3, draft.left)))
    draft.left -= len(names)
    children: list[Hyperparameter | Choice] = [_hyperparameter(draw, draft, n, path, key) for n in names]
    if depth == 0 and draw_integer(draw, 0, 3) == 0:
        place = draw_integer(draw, 0, len(children))
        children.insert(place, _choice(draw, draft, "inner", f"{path}.inner", f"{key}.inner", depth + 1))
    tuples: tuple[TupleParameter, ...] = ()
    if draft.left >= 2 and draw_integer(draw, 0, 3) == 0:
        parameter, members = _tuple(draw, draft, path, key)
        tuples, children = (parameter,), [*children, *members]
    return Operator(name, "made", tuple(children), tuples=tuples)


def _tuple(draw: st.DrawFn, draft: _Draft, path: str, key: str) -> tuple[TupleParameter, list[Hyperparameter]]:
    """Draw a tuple of at most two elements, perhaps with another value; its members have no conditions yet."""
    least, greatest = draw_integer(draw, 0, 1), draw_integer(draw, 1, 2)
    draft.left -= greatest
    element = _numbers(draw, draft.finite) if draw(BOOLEAN_STRATEGY) else _set(draw)
    usual = _member(draw, element)
    domains: dict[str, tuple[Domain, Value]] = {}
    if draw(BOOLEAN_STRATEGY):
        domains["t"] = Union((Categorical((None,)), Categorical((TUPLE_NAME,)))), draw_one(draw, (None, TUPLE_NAME))
    domains["t.length"] = Grid(least, greatest), draw_integer(draw, least, greatest)
    domains |= {f"t[{number}]": (element, usual) for number in range(1, greatest + 1)}
    members = [
        Hyperparameter(name, f"{path}.{name}", f"{key}.{name}", *each, is_var=True) for name, each in domains.items()
    ]
    addresses = tuple(each.address for each in members)
    choice = f"{path}.t" if "t" in domains else None
    parameter = TupleParameter("t", f"{path}.t", f"{path}.t.length", addresses[-greatest:], choice)
    return parameter, members


def _choice(draw: st.DrawFn, draft: _Draft, name: str, address: str, key: str, depth: int) -> Choice:
    branches = []
    for place in range(draw_integer(draw, 1, 3 if depth == 0 else 2)):
        # Two uses of one class are told apart by an alias, which is what the branch is called.
        alias = draw_one(draw, (CLASSES[place], f"use{place}"))
        operator = _operator(draw, draft, CLASSES[place], f"{address}.{alias}", key, depth)
        branches.append(Branch(alias, operator))
    if draw(BOOLEAN_STRATEGY):
        branches.insert(draw_integer(draw, 0, len(branches)), Branch("none", SKIPPED_STEP))
    return Choice(name, address, key, tuple(branches), draw_integer(draw, 0, len(branches) - 1))


# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """What an expression may mention; `nonlinear` allows every function of numbers."""

    decisions: tuple[Choice, ...]
    hyperparameters: tuple[Hyperparameter, ...]
    nonlinear: bool


RELATIONS = ("==", "!=", "<", "<=", ">", ">=")
NEAR: tuple[Value, ...] = (*WORDS, -1, 3, 0.1, 0.30000000000000004, 7.5)


def _constant(draw: st.DrawFn, node: Hyperparameter) -> Constant:
    return Constant(_member(draw, node.domain) if draw(BOOLEAN_STRATEGY) else draw_one(draw, NEAR))


def _term(draw: st.DrawFn, names: _Names) -> Expr:
    """A term with a number's worth: a hyperparameter, perhaps with arithmetic around it."""
    reference = Reference(draw_one(draw, names.hyperparameters).address)
    kind = draw_integer(draw, 0, 5 if names.nonlinear else 3)
    if kind <= 1:
        return reference
    constant = Constant(draw_one(draw, (-1, 0.1, 0.5, 2, 3)))
    if kind == 2:
        return Arithmetic(draw_one(draw, ("+", "-", "*", "/")), reference, constant)
    if kind == 3:
        return Arithmetic(
            draw_one(draw, ("+", "-")), reference, Reference(draw_one(draw, names.hyperparameters).address)
        )
    if kind == 4:
        return Call(draw_one(draw, ("ceil", "floor", "sqrt", "log2")), (reference,))
    other = Reference(draw_one(draw, names.hyperparameters).address)
    return Call("min", (reference, other)) if draw(BOOLEAN_STRATEGY) else Arithmetic("/", constant, reference)


def _atom(draw: st.DrawFn, names: _Names) -> Expr:
    kind = draw_integer(draw, 0, 6) if names.hyperparameters else 0
    if kind <= 1:
        choice = draw_one(draw, names.decisions)
        places = {draw_integer(draw, 0, len(choice.branches) - 1) for _ in range(draw_integer(draw, 1, 2))}
        return BranchTest(choice.address, tuple(choice.branches[place].name for place in sorted(places)))
    node = draw_one(draw, names.hyperparameters)
    reference, relation = Reference(node.address), draw_one(draw, RELATIONS)
    if kind == 2:
        return Compare(relation, reference, _constant(draw, node))
    if kind == 3:
        return In(reference, tuple(_constant(draw, node).value for _ in range(2)))
    if kind == 6:
        return Compare(relation, reference, Reference(draw_one(draw, names.hyperparameters).address))
    if kind == 4:
        return Compare(
            relation, _term(draw, names), _constant(draw, node) if draw(BOOLEAN_STRATEGY) else _term(draw, names)
        )
    return reference if draw(BOOLEAN_STRATEGY) else Compare(relation, _constant(draw, node), _term(draw, names))


def _expression(draw: st.DrawFn, names: _Names) -> Expr:
    """An atom, or a few with `and`, `or` and `not` around them, up to two deep."""
    return _grown(draw, names, draw_integer(draw, 0, 2), [3])


def _grown(draw: st.DrawFn, names: _Names, depth: int, atoms: list[int]) -> Expr:
    """With no more atoms than are left, but for one in each place."""
    if depth == 0:
        atoms[0] -= 1
        return _atom(draw, names)
    inner = depth - 1 and draw_integer(draw, 0, depth - 1)
    kind = draw_one(draw, (And, Or, Not))
    if kind is Not:
        return Not(_grown(draw, names, inner, atoms))
    count = draw_integer(draw, 1, max(1, min(3, atoms[0])))
    return kind(tuple(_grown(draw, names, inner, atoms) for _ in range(count)))


# --- spaces ------------------------------------------------------------------------------------------------------


@st.composite
def spaces(draw: st.DrawFn, finite: bool) -> Space:
    """A space of up to three stages with conditions and constraints; it may be empty."""
    draft = _Draft(finite, 6 if finite else 8)
    count = draw_integer(draw, 1, 3)
    root = Product(ProductKind.SEQUENCE, tuple(_choice(draw, draft, s, s, s, 0) for s in STAGES[:count]))
    bare = Space("random", root)
    nodes = {node.address: node for node in bare.hyperparameters}
    inner = {address for each in bare.tuples.values() for address in each.members[1:]}
    order = draw(st.permutations([address for address in nodes if address not in inner]))
    ranks = [member for each in order for member in (bare.tuples[each].members if each in bare.tuples else (each,))]
    conditions: dict[str, Expr] = {}
    for rank, address in enumerate(ranks):
        if address not in inner and draw_integer(draw, 0, 2) == 0:
            earlier = tuple(nodes[other] for other in ranks[:rank])
            conditions[address] = _expression(draw, _Names(bare.decisions, earlier, finite))
    for each in bare.tuples.values():
        least = nodes[each.length].domain.least
        conditions |= member_conditions(each, least, conditions.get(each.members[0]))
    names = _Names(bare.decisions, bare.hyperparameters, finite)
    rules = tuple(Constraint(_expression(draw, names), draw(BOOLEAN_STRATEGY)) for _ in range(draw_integer(draw, 0, 3)))
    space = Space("random", _conditioned(root, conditions), rules)
    if finite:
        assume(raw_size(space.root) <= LARGEST)
    return space


@cache
def finite_spaces() -> st.SearchStrategy[Space]:
    """Spaces that brute force can list."""
    return spaces(finite=True)


@cache
def general_spaces() -> st.SearchStrategy[Space]:
    """Spaces with ranges too, and with arithmetic that is linear."""
    return spaces(finite=False)


def _conditioned(node: object, conditions: dict[str, Expr]) -> object:
    match node:
        case Hyperparameter():
            return replace(node, condition=conditions.get(node.address))
        case Choice():
            return replace(
                node, branches=tuple(replace(b, node=_conditioned(b.node, conditions)) for b in node.branches)
            )
        case Operator() | Product():
            return replace(node, children=tuple(_conditioned(child, conditions) for child in node.children))
    raise TypeError(node)


def raw_size(node: object) -> int:
    """How many combinations of branches and values there are, conditions and constraints aside."""
    match node:
        case Hyperparameter():
            return node.domain.size or 1
        case Choice():
            return sum(raw_size(branch.node) for branch in node.branches)
        case Operator() | Product():
            return prod(raw_size(child) for child in node.children)
    raise TypeError(node)
