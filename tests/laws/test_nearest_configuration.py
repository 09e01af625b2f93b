"""The nearest member: it is one, it is the configuration itself where that is one, and no smaller change would do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.ir.value import are_same_value, is_number
from spacelang.ir.walk import structure_of
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.nearest_configuration import nearest_member

from . import brute
from .settings import LAW
from .spaces import finite_spaces, general_spaces

VALUES = st.one_of(st.integers(-3, 12), st.floats(-3, 12), st.sampled_from(["A", "B", "a", "b", True, None, "none"]))


def mutated(space: Space) -> st.SearchStrategy[dict[str, Any]]:
    """Whatever the keys of a space may be given, and some that it does not have."""
    keys = sorted({variable.key for variable in space.variables.values()} | {"foreign"})
    names = [branch.name for choice in space.decisions for branch in choice.branches]
    return st.dictionaries(st.sampled_from(keys), st.one_of(VALUES, st.sampled_from(names or [0])))


@LAW
@given(st.one_of(finite_spaces(), general_spaces()), st.data())
def test_it_is_a_member_and_a_member_is_its_own(space: Space, data: st.DataObject) -> None:
    try:
        structures = Structures(space)
    except UndecidableError:
        return
    wanted = Configuration(data.draw(mutated(space)))
    if not structures.count:
        with pytest.raises(ValueError, match="no configuration"):
            nearest_member(structures, wanted)
        return
    found = nearest_member(structures, wanted)
    assert first_exclusion(space, found.member) is None
    assert (not found.reasons) == (first_exclusion(space, wanted) is None) == (not found.changes)
    again = nearest_member(structures, found.member)
    assert again.member == found.member
    assert not again.reasons
    changed = {change.key: change.needed for change in found.changes}
    rest = {key: value for key, value in wanted.items() if key not in changed}
    rest |= {key: needed[0] for key, needed in changed.items() if needed is not None}
    # An integer where the space has floats is the same number.
    assert rest.keys() == found.member.keys()
    assert all(are_same_value(rest[key], value) for key, value in found.member.items())


@LAW
@given(finite_spaces(), st.data())
def test_no_member_of_its_structure_changes_fewer_values(space: Space, data: st.DataObject) -> None:
    structures = Structures(space)
    if not structures.count:
        return
    wanted = data.draw(mutated(space))
    member = nearest_member(structures, Configuration(wanted)).member
    taken = structure_of(space, member)
    keys = [variable.key for address, variable in space.variables.items() if address not in taken]

    def changes(other: Configuration) -> int:
        # Of what was given a value that the domain has: another one has to be changed whatever is taken.
        return sum(key in other and key in wanted and not are_same_value(other[key], wanted[key]) for key in keys)

    others = (Configuration.from_json(text) for text in brute.configurations(space))
    alike = [other for other in others if structure_of(space, other) == taken]
    assert changes(member) == min(map(changes, alike))


@LAW
@given(finite_spaces(), st.data())
def test_no_other_number_of_a_key_is_closer(space: Space, data: st.DataObject) -> None:
    structures = Structures(space)
    if not structures.count:
        return
    wanted = data.draw(mutated(space))
    found = nearest_member(structures, Configuration(wanted))
    for key in (each.key for each in found.changes if each.given is not None and each.needed is not None):
        if is_number(wanted[key]) and is_number(found.member[key]):
            others = (Configuration.from_json(text) for text in brute.configurations(space))
            rest = {name: value for name, value in found.member.items() if name != key}
            alike = [each[key] for each in others if {name: each[name] for name in each if name != key} == rest]
            numbers = [*filter(is_number, alike)]
            assert min(abs(each - wanted[key]) for each in numbers) == abs(found.member[key] - wanted[key])


CREDIT = """\
space credit
stage scaler = none | StandardScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 100] log = 1 }
  | SVC { kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly }
forbid scaler is none and estimator is SVC
"""


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ({"scaler": "none", "estimator": "LogisticRegression", "estimator.C": 1000}, {"estimator.C": 100.0}),
        ({"scaler": "none", "estimator": "SVC", "estimator.kernel": "rbf"}, {"scaler": "StandardScaler"}),
        (
            {"scaler": "StandardScaler", "estimator": "SVC", "estimator.kernel": "rbf", "estimator.degree": 4},
            {"estimator.degree": None},
        ),
        (
            {"scaler": "StandardScaler", "estimator": "SVM", "gamma": 1},
            {"estimator": "LogisticRegression", "estimator.C": 1.0, "gamma": None},
        ),
    ],
)
def test_what_has_to_be_changed(given: dict[str, Any], changes: dict[str, Any]) -> None:
    found = sl.parse(CREDIT).nearest(given)
    assert {each.key: None if each.needed is None else each.needed[0] for each in found.changes} == changes


CHAIN = """\
stage step = PCA | StandardScaler
stage estimator = GaussianNB
pipeline = repeat(step, 0, 2) -> estimator
"""


@pytest.mark.parametrize("number", ["3", 3, "9", 2])
def test_a_number_of_uses_becomes_the_closest_one(number: object) -> None:
    uses = {"step[1]": "PCA", "step[2]": "StandardScaler"}
    member = {"estimator": "GaussianNB", "step": "2", **uses}
    assert sl.parse(CHAIN).nearest({**member, "step": number, "step[3]": "PCA"}).member == Configuration(member)


NUMBERS = """\
space numbers
stage estimator =
  | RandomForestClassifier { n_estimators : int[1, 100] = 10, max_depth : int[1, 5000] = 10
      require n_estimators <= 10 or n_estimators >= 60
      require max_depth + n_estimators <= 2000 }
  | LogisticRegression { C : float[0.0001, 10000] log = 1, tol : float[0.000001, 0.1] log = 0.001
      require C < 100 or tol <= 0.01 }
"""


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"estimator": "RandomForestClassifier", "estimator.n_estimators": 55, "estimator.max_depth": 7}, 60),
        ({"estimator": "RandomForestClassifier", "estimator.n_estimators": 5, "estimator.max_depth": 3000}, 1995),
        ({"estimator": "LogisticRegression", "estimator.C": 500, "estimator.tol": 0.05}, 0.01),
    ],
)
def test_a_number_goes_no_further_than_it_has_to(given: dict[str, Any], needed: float) -> None:
    (change,) = sl.parse(NUMBERS).nearest(given).changes
    assert change.needed == (needed,)


PAIRS = """\
space pairs
stage scaler = StandardScaler | none
stage estimator =
  | SVC { kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly, C : float[1, 10] = 1
      forbid kernel == rbf and C > 5 }
  | GaussianNB
forbid scaler is none and estimator is SVC
"""


@pytest.mark.parametrize(
    ("values", "keys", "lines"),
    [
        ({"C": 99, "kernel": "rbf"}, ["estimator.C"], [7]),  # the pair is forbidden whatever C will be
        ({"C": 7, "kernel": "cosine", "degree": 9}, ["estimator.kernel", "estimator.degree"], [7]),
        ({"C": 7, "kernel": "rbf", "degree": 3}, ["estimator.degree"], [5, 7]),
        ({"C": 7, "kernel": "poly"}, ["estimator.degree"], [7]),
    ],
)
def test_every_reason_is_named(values: dict[str, Any], keys: list[str], lines: list[int]) -> None:
    space = sl.parse(PAIRS)
    given = {"scaler": "none", "estimator": "SVC", **{f"estimator.{key}": value for key, value in values.items()}}
    found = space.nearest(given)
    assert [reason.key for reason in found.reasons if reason.key] == keys
    assert [reason.span.line for reason in found.reasons if not reason.key] == lines
    assert space.exclusion(found.member) is None
