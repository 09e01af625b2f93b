"""Random restrictions of spaces, and what they leave by brute force."""

from dataclasses import dataclass, replace
from itertools import product

from hypothesis import strategies as st

from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, Union
from spacelang.ir.space import Space

from . import brute
from .test_consistency import unfolded


@dataclass(frozen=True)
class Restriction:
    """What the decisions may take and the hyperparameters may be, by address."""

    branches: dict[str, frozenset[str]]
    domains: dict[str, Domain]


@st.composite
def restrictions(draw: st.DrawFn, space: Space) -> Restriction:
    """Some branches of some decisions, parts of some domains."""
    branches: dict[str, frozenset[str]] = {}
    for choice in space.decisions:
        if draw(st.integers(0, 2)) == 0:
            names = [branch.name for branch in choice.branches]
            branches[choice.address] = draw(st.frozensets(st.sampled_from(names), min_size=1))
    domains: dict[str, Domain] = {}
    for node in space.hyperparameters:
        if draw(st.integers(0, 2)) == 0:
            domains[node.address] = draw(_part_of(node.domain))
    return Restriction(branches, domains)


def _part_of(domain: Domain) -> st.SearchStrategy[Domain]:
    match domain:
        case Union():
            some = st.lists(st.sampled_from(range(len(domain.parts))), min_size=1, unique=True)
            return some.flatmap(lambda places: _parts_of([domain.parts[place] for place in sorted(places)]))
        case _:
            return _part_of_simple(domain)


def _parts_of(several: list[SimpleDomain]) -> st.SearchStrategy[Domain]:
    if len(several) == 1:
        return _part_of_simple(several[0])
    return st.tuples(*map(_part_of_simple, several)).map(Union)


@st.composite
def _part_of_simple(draw: st.DrawFn, domain: SimpleDomain) -> SimpleDomain:
    match domain:
        case Categorical() | Ordinal():
            places = draw(st.lists(st.sampled_from(range(len(domain.values))), min_size=1, unique=True))
            return type(domain)(tuple(domain.values[place] for place in sorted(places)))
        case Grid():
            first, last = sorted(draw(st.lists(st.integers(0, domain.size - 1), min_size=2, max_size=2)))
            return Grid(domain.value_at(first), domain.value_at(last), domain.log, domain.step)
        case Real():
            middle = domain.representative
            assert isinstance(middle, float)
            if domain.size == 1:
                return domain
            lower = Real(domain.lower, middle, domain.lower_open, True, domain.log)
            upper = Real(middle, domain.upper, False, domain.upper_open, domain.log)
            return draw(st.sampled_from((lower, upper, Real(middle, middle))))


def members_of(space: Space) -> set[str]:
    """All configurations of a finite space, as canonical JSON."""
    return left(space, Restriction({}, {}))


def left(space: Space, restriction: Restriction) -> set[str]:
    """The configurations of a finite space that a restriction leaves, as canonical JSON."""
    found = set()
    # Brute force knows no operators that values are fixed to.
    space = replace(space, root=unfolded(space.root))
    for taken, hyperparameters in brute.pipelines(space.root):
        if any(branch not in restriction.branches.get(address, {branch}) for address, branch in taken.items()):
            continue
        for values in product(*(brute.members(h.domain) for h in hyperparameters)):
            worth = {h.address: value for h, value in zip(hyperparameters, values, strict=True)}
            document = brute.settle(space, taken, hyperparameters, worth)
            if document is not None and all(
                brute.inside(restriction.domains[h.address], document[h.key])
                for h in hyperparameters
                if h.address in restriction.domains and h.key in document
            ):
                found.add(brute.text(document))
    return found
