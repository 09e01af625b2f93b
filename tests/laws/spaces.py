"""Hypothesis strategies that draw small random spaces: finite ones, which brute force can list, and general ones."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from spacelang.ir.domain import BOOLEANS, Categorical, Domain, Grid, Ordinal, Real, Simple, Union, grid
from spacelang.ir.expr import (
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Not,
    Or,
    Reference,
)
from spacelang.ir.space import NOTHING, Branch, Choice, Constraint, Hyperparameter, Kind, Operator, Product, Space
from spacelang.ir.value import Value, is_number

from .settings import EXAMPLES

WORDS: tuple[Value, ...] = ("red", "green", None, True, False, 0, 1, 2, 0.5, (1, 2), (1, "red"), "none")
STAGES = ("scaler", "selector", "estimator")
CLASSES = ("Apple", "Berry", "Cherry")
LARGEST = 3_000 if EXAMPLES > 100 else 1_000
"""The most raw combinations that a finite space has for brute force to go through."""


# --- domains -----------------------------------------------------------------------------------------------------


def _sets() -> st.SearchStrategy[Simple]:
    values = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique_by=lambda value: (type(value), value))
    return st.one_of(
        values.map(lambda found: Categorical(tuple(found))),
        values.map(lambda found: Ordinal(tuple(found))),
        st.just(BOOLEANS),
    )


def _integers(largest: int) -> st.SearchStrategy[Simple]:
    def integer(lower: int, members: int, step: int, log: bool) -> Simple:
        lower = max(lower, 1) if log else lower
        return Grid(lower, lower + (members - 1) * step, log=log, step=step)

    return st.builds(integer, st.integers(-2, 4), st.integers(1, largest), st.sampled_from((1, 1, 2, 3)), st.booleans())


def _grids() -> st.SearchStrategy[Simple]:
    return st.sampled_from(
        (
            Grid(0.0, 0.3, step=0.1),
            grid(0.0, 0.3, 0.1, lower_open=True),
            grid(-1.0, 1.0, 0.5, upper_open=True),
            Grid(0.5, 2.0, step=0.7),
            Real(1.0, 1.0),
        )
    )


def _ranges() -> st.SearchStrategy[Simple]:
    return st.sampled_from(
        (
            Real(0.0, 1.0),
            Real(0.0, 1.0, lower_open=True),
            Real(-1.0, 2.0, upper_open=True),
            Real(0.5, 2.0, lower_open=True, upper_open=True),
            Real(1e-4, 1e4, log=True),
            Real(0.1, 10.0, log=True, upper_open=True),
            Grid(1, 1_000_000, log=True),
            Grid(-5, 100_000, step=5),
        )
    )


@st.composite
def domains(draw: st.DrawFn, finite: bool) -> Domain:
    """A domain: a set, integers, a grid, a union; unless it is to be finite, also a range."""
    numbers = st.one_of(_integers(4), _grids()) if finite else st.one_of(_integers(40), _grids(), _ranges(), _ranges())
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(_sets())
    if kind == 1:
        words = tuple(word for word in draw(_sets()).values if not is_number(word))  # type: ignore[union-attr]
        return Union((Categorical(words or (None,)), draw(numbers)))
    return draw(numbers)


def member(domain: Domain) -> st.SearchStrategy[Value]:
    """A value that lies in the domain, for defaults and constants."""
    match domain:
        case Union():
            return st.one_of(*(member(part) for part in domain.parts))
        case Categorical():
            return st.sampled_from(domain.values)
        case Grid():
            return st.integers(0, domain.size - 1).map(domain.at)
        case Real():
            candidates = (domain.lower, domain.upper, domain.middle)
            return st.sampled_from([value for value in candidates if domain.find(value) == value])


# --- the tree ----------------------------------------------------------------------------------------------------


@dataclass
class _Draft:
    """What has been drawn so far: how many hyperparameters may still come, and the decisions."""

    finite: bool
    left: int


@st.composite
def _hyperparameter(draw: st.DrawFn, draft: _Draft, name: str, path: str, key: str) -> Hyperparameter:
    domain = draw(domains(draft.finite))
    return Hyperparameter(name, f"{path}.{name}", f"{key}.{name}", domain, draw(member(domain)))


@st.composite
def _operator(draw: st.DrawFn, draft: _Draft, name: str, path: str, key: str, depth: int) -> Operator:
    names = draw(st.lists(st.sampled_from(("p", "q", "r")), max_size=min(3, draft.left), unique=True))
    draft.left -= len(names)
    children: list[Hyperparameter | Choice] = [draw(_hyperparameter(draft, n, path, key)) for n in names]
    if depth == 0 and draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(children)))
        children.insert(place, draw(_choice(draft, "inner", f"{path}.inner", f"{key}.inner", depth + 1)))
    return Operator(name, "made", tuple(children))


@st.composite
def _choice(draw: st.DrawFn, draft: _Draft, name: str, address: str, key: str, depth: int) -> Choice:
    count = draw(st.integers(1, 3 if depth == 0 else 2))
    branches = []
    for place in range(count):
        # Two uses of one class are told apart by an alias, which is what the branch is called.
        alias = draw(st.sampled_from((CLASSES[place], f"use{place}")))
        operator = draw(_operator(draft, CLASSES[place], f"{address}.{alias}", key, depth))
        branches.append(Branch(alias, operator))
    if draw(st.booleans()):
        branches.insert(draw(st.integers(0, len(branches))), Branch("none", NOTHING))
    return Choice(name, address, key, tuple(branches), draw(st.integers(0, len(branches) - 1)))


# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """What an expression may mention; `nonlinear` allows every function of numbers."""

    decisions: tuple[Choice, ...]
    hyperparameters: tuple[Hyperparameter, ...]
    nonlinear: bool

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Short: `st.recursive` writes what it begins with whenever it is drawn, which took most of drawing a space."""
        printer.text(f"{len(self.decisions)} decisions, {len(self.hyperparameters)} hyperparameters")


RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


@st.composite
def _constant(draw: st.DrawFn, node: Hyperparameter) -> Constant:
    near = st.one_of(member(node.domain), st.sampled_from((*WORDS, -1, 3, 0.1, 0.30000000000000004, 7.5)))
    return Constant(draw(near))


@st.composite
def _number(draw: st.DrawFn, names: _Names) -> Expr:
    """A term with a number's worth: a hyperparameter, perhaps with arithmetic around it."""
    node = draw(st.sampled_from(names.hyperparameters))
    reference = Reference(node.address)
    kind = draw(st.integers(0, 5 if names.nonlinear else 3))
    if kind <= 1:
        return reference
    constant = Constant(draw(st.sampled_from((-1, 0.1, 0.5, 2, 3))))
    if kind == 2:
        return Arithmetic(draw(st.sampled_from(("+", "-", "*", "/"))), reference, constant)
    if kind == 3:
        other = Reference(draw(st.sampled_from(names.hyperparameters)).address)
        return Arithmetic(draw(st.sampled_from(("+", "-"))), reference, other)
    if kind == 4:
        return Call(draw(st.sampled_from(("ceil", "floor", "sqrt", "log2"))), (reference,))
    other = Reference(draw(st.sampled_from(names.hyperparameters)).address)
    return draw(st.sampled_from((Call("min", (reference, other)), Arithmetic("/", constant, reference))))


@st.composite
def _atom(draw: st.DrawFn, names: _Names) -> Expr:
    kind = draw(st.integers(0, 6)) if names.hyperparameters else 0
    if kind <= 1:
        choice = draw(st.sampled_from(names.decisions))
        branches = draw(st.lists(st.sampled_from(choice.branches), min_size=1, max_size=2, unique_by=lambda b: b.name))
        return Is(choice.address, tuple(branch.name for branch in branches))
    node = draw(st.sampled_from(names.hyperparameters))
    relation = draw(st.sampled_from(RELATIONS))
    if kind == 2:
        return Compare(relation, Reference(node.address), draw(_constant(node)))
    if kind == 3:
        return In(Reference(node.address), tuple(draw(_constant(node)).value for _ in range(2)))
    if kind == 6:
        other = draw(st.sampled_from(names.hyperparameters))
        return Compare(relation, Reference(node.address), Reference(other.address))
    if kind == 4:
        return Compare(relation, draw(_number(names)), draw(st.one_of(_constant(node), _number(names))))
    return draw(
        st.sampled_from((Reference(node.address), Compare(relation, draw(_constant(node)), draw(_number(names)))))
    )


def expressions(names: _Names) -> st.SearchStrategy[Expr]:
    """Atoms, with `and`, `or` and `not` around them."""

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        terms = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(terms.map(And), terms.map(Or), inner.map(Not))

    return st.recursive(_atom(names), grow, max_leaves=3)


# --- spaces ------------------------------------------------------------------------------------------------------


@st.composite
def spaces(draw: st.DrawFn, finite: bool) -> Space:
    """A space of up to three stages with conditions and constraints; it may be empty."""
    draft = _Draft(finite, 6 if finite else 8)
    count = draw(st.integers(1, 3))
    root = Product(Kind.SEQUENCE, tuple(draw(_choice(draft, s, s, s, 0)) for s in STAGES[:count]))
    bare = Space("random", root)
    nodes = {node.address: node for node in bare.hyperparameters}
    ranks = draw(st.permutations(list(nodes)))
    conditions: dict[str, Expr] = {}
    for rank, address in enumerate(ranks):
        if draw(st.integers(0, 2)) == 0:
            earlier = tuple(nodes[other] for other in ranks[:rank])
            conditions[address] = draw(expressions(_Names(bare.decisions, earlier, finite)))
    names = _Names(bare.decisions, bare.hyperparameters, finite)
    rules = draw(st.lists(st.builds(Constraint, expressions(names), st.booleans()), max_size=3))
    space = Space("random", _conditioned(root, conditions), tuple(rules))
    if finite:
        assume(raw_size(space.root) <= LARGEST)
    return space


def finite_spaces() -> st.SearchStrategy[Space]:
    """Spaces that brute force can list."""
    return spaces(finite=True)


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
