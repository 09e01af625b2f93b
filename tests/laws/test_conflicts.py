"""Of constraints that leave nothing, as few are shown as conflict at all."""

from itertools import combinations, product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.analysis import check
from spacelang.text import Source

from .settings import LAW

SIZES = (2, 3, 2)
SPACE = "stage s0 = none | PCA\nstage s1 = none | MinMaxScaler | StandardScaler\nstage s2 = GaussianNB | SVC\n"
NAMES = (("none", "PCA"), ("none", "MinMaxScaler", "StandardScaler"), ("GaussianNB", "SVC"))

Clause = tuple[tuple[int, int], ...]
"""Alternatives, each as its stage and its place there, of which one must be taken."""


def clauses() -> st.SearchStrategy[Clause]:
    literals = st.sampled_from([(stage, place) for stage, size in enumerate(SIZES) for place in range(size)])
    return st.lists(literals, min_size=1, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))


def is_conflict(some: tuple[Clause, ...]) -> bool:
    return not any(
        all(any(taken[stage] == place for stage, place in clause) for clause in some)
        for taken in product(*map(range, SIZES))
    )


@settings(LAW)
@given(st.lists(clauses(), min_size=2, max_size=12, unique=True))
def test_no_fewer_constraints_conflict(drawn: list[Clause]) -> None:
    assume(is_conflict(tuple(drawn)))
    rules = [" or ".join(f"s{stage} is {NAMES[stage][place]}" for stage, place in clause) for clause in drawn]
    source = Source("law.space", SPACE + "\n".join(f"require {rule}" for rule in rules))
    (empty,) = [found for found in check(source).diagnostics if found.code == "SL506"]
    shown = [empty.primary.text, *(related.span.text for related in empty.related)]
    chosen = tuple(drawn[rules.index(text.removeprefix("require "))] for text in shown)
    assert is_conflict(chosen)
    fewest = next(size for size in range(1, len(drawn) + 1) if any(map(is_conflict, combinations(drawn, size))))
    assert len(chosen) == fewest
