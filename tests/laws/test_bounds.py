"""Laws of bounds that name hyperparameters: the same members, numbers, draws and documents as with constraints."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.analysis import check
from spacelang.diagnostics.diagnostic import Severity
from spacelang.ir.domain import Grid, Real, Union, parts
from spacelang.ir.membership import all_exclusions
from spacelang.ir.range_bounds import range_bounds
from spacelang.ir.space import Hyperparameter
from spacelang.ir.walk import rebuild_tree
from spacelang.report.reprs import space_html
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.difference import FactKind, list_differing_facts
from spacelang.serialization.space_text import space_to_text
from spacelang.syntax.printer import format_text
from spacelang.testing.small_spaces import draw_integer, draw_one
from spacelang.text import Source

from . import brute

LIMITS = {
    "a": lambda a, b: Fraction(a),  # noqa: ARG005
    "a + 1": lambda a, b: Fraction(a + 1),  # noqa: ARG005
    "2 * a - b": lambda a, b: Fraction(2 * a - b),
    "(a + b) / 2": lambda a, b: Fraction(a + b, 2),
    "min(a, b)": lambda a, b: Fraction(min(a, b)),
    "max(a, b + 1, 2)": lambda a, b: Fraction(max(a, b + 1, 2)),
    "3": lambda a, b: Fraction(3),  # noqa: ARG005
}
BODY = "abstract made\nstage estimator = made {{\n{}\n}}\n"


@dataclass(frozen=True)
class Bounded:
    """Two integers, and a third one between two limits, maybe with further values."""

    a: tuple[int, int]
    b: tuple[int, int]
    lower: str
    upper: str
    brackets: str
    extra: str

    @property
    def text(self) -> str:
        domain = f"{self.extra}int{self.brackets[0]}{self.lower}, {self.upper}{self.brackets[1]}"
        return BODY.format(f"  a : int[{self.a[0]}, {self.a[1]}]\n  c : {domain}\n  b : int[{self.b[0]}, {self.b[1]}]")

    @property
    def members(self) -> set[tuple[object, ...]]:
        found: set[tuple[object, ...]] = set()
        others: list[object] = [] if not self.extra else [None, 90]
        for a, b in product(range(self.a[0], self.a[1] + 1), range(self.b[0], self.b[1] + 1)):
            lower, upper = LIMITS[self.lower](a, b), LIMITS[self.upper](a, b)
            low = (lambda c, end=lower: c > end) if self.brackets[0] == "(" else (lambda c, end=lower: c >= end)  # type: ignore[misc]
            high = (lambda c, end=upper: c < end) if self.brackets[1] == ")" else (lambda c, end=upper: c <= end)  # type: ignore[misc]
            found |= {(a, b, c) for c in [*filter(lambda c: low(c) and high(c), range(-20, 40)), *others]}
        return found


@st.composite
def bounded(draw: st.DrawFn) -> Bounded:
    """Return a space in which the lower bound, the upper bound or both name hyperparameters."""
    ends = [sorted((draw_integer(draw, 0, 4), draw_integer(draw, 0, 4))) for _ in range(2)]
    lower, upper = draw_one(draw, tuple(LIMITS)), draw_one(draw, tuple(LIMITS))
    extra = draw_one(draw, ("", "{none, 90} | "))
    return Bounded(tuple(ends[0]), tuple(ends[1]), lower, upper, draw_one(draw, ("[]", "(]", "[)", "()")), extra)  # type: ignore[arg-type]


def tuples(space: sl.Space) -> list[tuple[object, ...]]:
    """Return the values of all configurations."""
    assert space.configurations is not None
    found = [space.configuration(number).to_dict() for number in range(space.configurations)]
    return [tuple(each[f"estimator.{name}"] for name in "abc") for each in found]


def parsed(text: str) -> sl.Space | None:
    """Return the space of a text, or None if its bounds leave nothing or exclude the default."""
    found = check(Source("law.space", text))
    codes = {each.code for each in found.diagnostics if each.severity is Severity.ERROR}
    assert codes <= {"SL403", "SL410", "SL507"}
    return None if codes else sl.parse(text)


@given(bounded())
def test_members_are_those_of_brute_force(written: Bounded) -> None:
    space = parsed(written.text)
    if space is None:
        return
    found = tuples(space)
    assert sorted(map(str, found)) == sorted(map(str, written.members))
    drawn = {tuple(each[f"estimator.{name}"] for name in "abc") for each in space.sample(20, seed=1)}
    assert drawn <= written.members


COUNTS = {
    "count(s is PCA, a > 1)": lambda s, a, u: s + (a > 1),  # noqa: ARG005
    "2 * count(s is PCA and a == 1, not s is PCA) - 1": lambda s, a, u: 2 * ((s and a == 1) + (not s)) - 1,  # noqa: ARG005
    "a + count(s in {PCA})": lambda s, a, u: a + s,  # noqa: ARG005
    "count(u)": lambda s, a, u: u,  # noqa: ARG005
    "count(n_features > 5, s is PCA) - count(u)": lambda s, a, u: 1 + s - u,  # noqa: ARG005
}
"""Bounds with counts of conditions and of the members of a list, with their numbers."""


@given(st.sampled_from(sorted(COUNTS)), st.sampled_from(sorted(COUNTS)), st.sampled_from(("", "{none, 90} | ")))
def test_counts_in_bounds_have_their_numbers(lower: str, upper: str, extra: str) -> None:
    text = f"""abstract made
stage s = none | PCA
stage u = none | (PCA? & NMF?) as two
stage estimator = made {{ a : int[0, 2], c : {extra}int[{lower}, 2 + {upper}] }}"""
    space = parsed(text)
    assert space is not None
    found = [space.configuration(number) for number in range(space.configurations or 0)]
    expected: list[tuple[object, ...]] = []
    for s, a, u in product((False, True), range(3), (0, 0, 1, 1, 2)):  # `none` and four lists
        least, greatest = COUNTS[lower](s, a, u), 2 + COUNTS[upper](s, a, u)
        values = [*range(least, greatest + 1), *((None, 90) if extra else ())]
        expected += [(s, a, u, value) for value in values]
    members = [
        (
            each["s"] == "PCA",
            each["estimator.a"],
            sum(each.get(f"u.choice_{number}", "none") != "none" for number in (1, 2)),
            each["estimator.c"],
        )
        for each in found
    ]
    assert sorted(map(repr, members)) == sorted(map(repr, expected))


@given(bounded())
def test_texts_and_documents_keep_bounds(written: Bounded) -> None:
    space = parsed(written.text)
    if space is None:
        return
    checked = space.checked
    for again in (space_from_json(space_to_json(checked)), sl.parse(space_to_text(checked)).checked):
        assert again == checked
        assert [each.bound for each in again.constraints] == [each.bound for each in checked.constraints]
    assert sl.parse(format_text(written.text)).checked == checked
    bounds = [each for several in range_bounds(checked).values() for each in several]
    assert len(bounds) == len(checked.constraints)
    assert "require" not in space_html(checked, 1, None)


@given(bounded(), bounded())
def test_differences_show_bounds_as_ranges(first: Bounded, second: Bounded) -> None:
    one, other = parsed(first.text), parsed(second.text)
    if one is None or other is None:
        return

    def with_more_numbers(node: Hyperparameter) -> Hyperparameter:
        """Return the node; `c` with a wider range, but the same bounds, as in a space that is restricted elsewhere."""
        *others, part = parts(node.domain)
        if node.name != "c" or not isinstance(part, Grid):
            return node
        wider = replace(part, upper=part.greatest + 1)
        return replace(node, domain=Union((*others, wider)) if others else wider)

    wider = replace(one.checked, root=rebuild_tree(one.checked.root, with_more_numbers))
    for changed in (other.checked, wider):
        found = list_differing_facts(one.checked, changed)
        assert bool(found) is (one.checked != changed)
        assert not any(each.aspect is FactKind.CONSTRAINT for each in found)


@given(st.data())
def test_texts_state_bounds_of_chains_that_all_uses_have(data: st.DataObject) -> None:
    limit = data.draw(st.sampled_from(("lo", "lo + 1", "step[1].lo")))
    text = f"""abstract made
stage step = made {{ lo : int[1, 3], hi : int[{limit}, 4] = 4 }}
pipeline = repeat(step, 0, 2) -> GaussianNB"""
    whole = sl.parse(text).checked
    left_out = data.draw(st.sets(st.sampled_from(range(len(whole.constraints)))))
    space = replace(whole, constraints=tuple(c for n, c in enumerate(whole.constraints) if n not in left_out))
    text = space_to_text(space)
    assert brute.configurations(sl.parse(text).checked) == brute.configurations(space)
    assert ("require" not in text) is (not space.constraints or (not left_out and limit != "step[1].lo"))


def test_a_bound_is_the_constraint() -> None:
    bounded = sl.parse(BODY.format("lo : int[1, 100]\nhi : int[lo, 100] = 71"))
    required = sl.parse(BODY.format("lo : int[1, 100]\nhi : int[1, 100] = 71\nrequire lo <= hi"))
    assert bounded.checked == required.checked
    assert not list_differing_facts(bounded.checked, required.checked)
    assert bounded.configurations == required.configurations == 5_050
    assert bounded.sample(5, seed=3) == required.sample(5, seed=3)
    drawn = np.array([each["estimator.lo"] for each in bounded.sample(4_000, seed=0)])
    assert abs(drawn.mean() - 34) < 5 * 24 / 4_000**0.5  # uniform over members: the standard deviation of `lo` is 23.8


@pytest.mark.parametrize(
    ("lines", "domain"),
    [
        ("a : float[0, 1]\nb : float[0, 1 - a)", Real(0.0, 1.0, upper_open=True)),
        ("a : float(0, 1]\nb : float[a, 2 * a]", Real(0.0, 2.0, lower_open=True)),
        ("a : float[0.1, 0.3]\nb : float(a, a + 1] log", Real(0.1, 1.3, lower_open=True, log=True)),
        ("a : int[1, 10]\nb : int[2 * a, 41] step 3", Grid(2, 41, step=3)),
        ("a : int[1, 10]\nb : int[2 * a, 40] step 3", Grid(2, 38, step=3)),
        ("a : float[0, 1] step 0.25\nb : float[a, 1] step 0.25", Grid(0.0, 1.0, step=0.25)),
        ("a : float[0.5, 2.5]\nb : int(a, 7 * a]", Grid(1, 17)),
        ("b : int[a, n_features]\na := 3\nvar c : int[1, 2] = 1", Grid(3, 20)),
        ("let a := 2 * c\nb : int[a, 9] = 9\nvar c : int[1, 2] = 1", Grid(2, 9)),
    ],
)
def test_ranges_are_as_wide_as_their_bounds_may_be(lines: str, domain: Grid | Real) -> None:
    space = sl.parse(BODY.format(lines), bind={"n_features": 20})
    node = space.checked.variables["estimator.b" if "estimator.b" in space.checked.variables else "estimator.made.b"]
    assert parts(node.hyperparameter.domain) == (domain,)
    assert space.default() in space


def test_groups_stages_and_whole_spaces_have_bounds() -> None:
    text = """
    abstract made
    var top : int[1, 3] = 2
    params both { low : int[1, 4] = 1, high : int[low, top + 4] = 5 }
    stage scaler = PCA { n_components : int[1, 3] = 1 }
    stage estimator = made { include both, rest : int[scaler.PCA.n_components, 3] = 3 } | made as other { include both }
    """
    space = sl.parse(text)
    low_high = sum(top + 4 - low + 1 for top in (1, 2, 3) for low in (1, 2, 3, 4))
    # In `made`, 6 pairs of `n_components` and `rest`; in `other`, 3 values of `n_components`.
    assert space.configurations == low_high * 6 + low_high * 3


def test_reasons_name_the_bound() -> None:
    space = sl.parse(BODY.format("lo : int[1, 100]\nhi : {0} | int[lo, 100] = 71\ntop : int(hi, 200]"))
    values = {"estimator.lo": 50, "estimator.hi": 30, "estimator.top": 20}
    reasons = [each.reason for each in all_exclusions(space.checked, sl.Configuration({"estimator": "made", **values}))]
    assert reasons == [
        "this combination breaks the bound `lo` of `estimator.hi`",
        "this combination breaks the bound `hi` of `estimator.top`",
    ]
