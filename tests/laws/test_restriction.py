"""Parts of random spaces have exactly the members that brute force leaves, and read back as texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.analysis import check
from spacelang.diagnostics.diagnostic import Severity
from spacelang.ir.domain import Categorical, Grid, Real, contains
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.reductions.space_restriction import restrict_space
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration
from spacelang.text import Source

from . import brute
from .restrictions import left, members_of, restrictions
from .settings import EXAMPLES, LAW
from .spaces import finite_spaces
from .test_whole import checked
from .whole import Drawn, drawings

WHOLE = settings(LAW, max_examples=EXAMPLES // 2)


@settings(LAW)
@given(finite_spaces(), st.data())
def test_a_part_has_the_members_that_are_left(space: Space, data: st.DataObject) -> None:
    restriction = data.draw(restrictions(space))
    members = left(space, restriction)
    try:
        part = restrict_space(space, restriction.branches, restriction.domains)
    except UndecidableError:
        return
    assert (part is None) == (not members)
    if part is None:
        return
    assert brute.configurations(part) == members, (space, restriction, part)
    assert first_exclusion(part, default_configuration(part)) is None
    structures = Structures(part)
    assert structures.count == len(brute.structures(part))
    alive = structures.existence_solver.supported_branches()
    assert all(len(alive[choice.address]) == len(choice.branches) for choice in part.decisions)
    keeps_what_is_said(part, space)


def keeps_what_is_said(part: Space, space: Space) -> None:
    """What is left is where it was, with its annotations and spans."""
    for address, variable in part.variables.items():
        before, after = space.variables[address], variable.node
        assert variable.key == before.key
        assert variable.owners == before.owners
        assert after.span is before.node.span
        if isinstance(after, Choice) and isinstance(before.node, Choice):
            weights = {branch.name: (branch.weight, branch.span) for branch in before.node.branches}
            assert {branch.name: (branch.weight, branch.span) for branch in after.branches}.items() <= weights.items()
            assert after.first == before.node.first
        elif isinstance(after, Hyperparameter) and isinstance(before.node, Hyperparameter):
            assert (after.prior, after.split) == (before.node.prior, before.node.split)
            assert contains(after.domain, after.default)


@settings(LAW)
@given(finite_spaces())
def test_restricted_to_all_of_it_a_space_has_the_same_default(space: Space) -> None:
    part = restrict_space(space, {}, {})
    if part is not None and first_exclusion(space, default_configuration(space)) is None:
        assert default_configuration(part) == default_configuration(space)
        assert brute.configurations(part) == brute.configurations(space)


@settings(WHOLE)
@given(drawings(), st.data())
def test_a_part_written_anew_is_the_part(drawn: Drawn, data: st.DataObject) -> None:
    space = checked(drawn).space
    if space is None:
        return
    restriction = data.draw(restrictions(space))
    part = restrict_space(space, restriction.branches, restriction.domains)
    members = left(space, restriction)
    assert (part is None) == (not members)
    if part is None:
        return
    keeps_what_is_said(part, space)
    text = space_to_text(part)
    again = check(Source("again.space", text))
    if {each.code for each in again.diagnostics if each.severity is Severity.ERROR} == {"SL601"}:
        return  # a part that leaves its last step out is no pipeline
    assert again.space is not None, (drawn, restriction, text, again.diagnostics)
    assert again.structures is not None
    assert members_of(again.space) == members, (drawn, restriction, text)
    assert default_configuration(again.space) == default_configuration(part), (drawn, restriction, text)
    assert again.structures.count == Structures(part).count


def test_defaults_stay_or_are_the_middle_and_the_first_that_is_left() -> None:
    text = """\
stage a = none | PCA { n_components : int[1, 9] = 4 } | FastICA @default
stage e = SVC { C : float[1, 100] log = 2, degree : int[2, 9] = 3, kernel : {rbf, poly} = rbf } | GaussianNB
require a.PCA.n_components + e.SVC.degree < 12
"""
    space = check(Source("a.space", text)).space
    assert space is not None
    part = restrict_space(
        space, {"a": {"none", "PCA"}}, {"e.SVC.C": Real(4.0, 25.0, log=True), "e.SVC.degree": Grid(4, 8)}
    )
    assert part is not None
    assert dict(default_configuration(part)) == {"a": "none", "e": "SVC", "e.C": 10.0, "e.degree": 6, "e.kernel": "rbf"}
    # Where these together break a constraint, the nearest member is the default.
    tied = restrict_space(space, {"a": {"PCA"}}, {"a.PCA.n_components": Grid(6, 8), "e.SVC.degree": Grid(5, 9)})
    assert tied is not None
    assert first_exclusion(space, default_configuration(tied)) is None
    assert (
        restrict_space(
            space, {"a": {"PCA"}, "e": {"SVC"}}, {"a.PCA.n_components": Grid(9, 9), "e.SVC.degree": Grid(4, 9)}
        )
        is None
    )
    assert restrict_space(space, {"a": set()}, {}) is None


def test_what_a_restriction_leaves_without_meaning_is_gone() -> None:
    text = """\
stage a = none | PCA
stage e =
  | SVC { kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly, tol : float[1, 2] when a is PCA }
  | GaussianNB
forbid e is GaussianNB and a is PCA
forbid e.SVC.kernel == poly and e.SVC.degree > 4
"""
    space = check(Source("a.space", text)).space
    assert space is not None
    part = restrict_space(space, {"a": {"PCA"}}, {"e.SVC.kernel": Categorical(("rbf",))})
    assert part is not None
    assert (
        space_to_text(part)
        == """\
space a

stage a = PCA

stage e = SVC {
  kernel : {rbf} = rbf
  tol    : float[1.0, 2.0] = 1.5
}

pipeline = a -> e
"""
    )
