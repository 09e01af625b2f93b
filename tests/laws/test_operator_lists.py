"""Laws of lists of operators with optional members: texts with a voting ensemble against brute force."""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import comb, sqrt
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.expr import COMPARISON_FUNCTIONS
from spacelang.reductions.space_restriction import restrict_space
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.space_text import space_to_text
from spacelang.syntax.printer import format_text
from spacelang.testing.small_spaces import BOOLEAN_STRATEGY, draw_integer, draw_one

from .restrictions import restrictions
from .settings import LAW

OPERATORS: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "GaussianNB": ("GaussianNB", "", ()),
    "SVC": ("SVC { kernel : {rbf, linear} = rbf }", "kernel", ("rbf", "linear")),
    "tree": ("DecisionTreeClassifier as tree { max_depth : int[1, 3] = 2 }", "max_depth", (1, 2, 3)),
    "LinearSVC": ("LinearSVC", "", ()),
}
"""Members by the name of their alternative: the text, and a hyperparameter with its values."""
KEY = "model.estimators"


@dataclass(frozen=True)
class Drawn:
    """A text with a list of operators, and all of its configurations."""

    text: str
    configurations: tuple[dict[str, Any], ...]


@st.composite
def drawn_lists(draw: st.DrawFn) -> Drawn:
    """Draw a list of optional and other members, a constraint on their number, and perhaps a second list."""
    names = draw(st.lists(st.sampled_from(sorted(OPERATORS)), min_size=2, max_size=4, unique=True))
    members = [(name, draw_one(draw, ("{}", "{}?", "(none | {})", "({} | none)"))) for name in names]
    sign, number = draw_one(draw, (">=", "<=", "==", "!=")), draw_integer(draw, 1, len(names))
    is_kept = COMPARISON_FUNCTIONS[sign]
    # The default obeys the constraint, and no list is empty.
    assume(is_kept(sum(not form.startswith("(none") for _, form in members), number))
    assume(any(form == "{}" for _, form in members) or not is_kept(0, number))
    written = " & ".join(form.format(OPERATORS[name][0]) for name, form in members)
    configurations = [
        {"model": "VotingClassifier", KEY: "list"} | {key: value for _, part in way for key, value in part.items()}
        for way in product(*(_ways(name, is_optional=form != "{}") for name, form in members))
        if is_kept(sum(is_present for is_present, _ in way), number)
    ]
    # No alternative is excluded everywhere, which would be a mistake.
    keys = {f"{KEY}.{name}" for name, form in members if form != "{}"}
    assume(len({(key, each[key]) for each in configurations for key in keys}) == 2 * len(keys))
    others = ""
    if is_kept(2, number) and draw(BOOLEAN_STRATEGY):
        others = " | (GaussianNB & BernoulliNB) as two"
        configurations.append({"model": "VotingClassifier", KEY: "two"})
    rule = f"require count(estimators) {sign} {number}"
    text = f"stage model = VotingClassifier {{\n  estimators : ({written}) as list{others}\n  {rule}\n}}\n"
    return Drawn(text, tuple(configurations))


def _ways(name: str, *, is_optional: bool) -> list[tuple[bool, dict[str, Any]]]:
    """Return the parts of configurations that a member may have, and whether the member is present."""
    _, parameter, values = OPERATORS[name]
    own: dict[str, Any] = {f"{KEY}.{name}": name} if is_optional else {}
    present = [own | {f"{KEY}.{name}.{parameter}": value} for value in values] or [own]
    return [*((True, each) for each in present), *([(False, {f"{KEY}.{name}": "none"})] if is_optional else [])]


@settings(LAW)
@given(drawn_lists())
def test_the_members_are_the_lists(drawn: Drawn) -> None:
    space = sl.parse(drawn.text)
    found = [space.configuration(number).to_dict() for number in range(space.configurations or 0)]
    assert sorted(map(str, map(sorted, map(dict.items, found)))) == sorted(
        str(sorted(each.items())) for each in drawn.configurations
    )


@settings(LAW)
@given(drawn_lists(), st.integers(0, 1000))
def test_what_is_drawn_is_built(drawn: Drawn, seed: int) -> None:
    space = sl.parse(drawn.text)
    for configuration in (space.default(), *space.sample(5, seed=seed)):
        voting = space.build(configuration).steps[-1][1]
        taken = configuration[KEY]
        absent = [key for key, value in configuration.items() if value == "none"]
        size = 2 if taken == "two" else drawn.text.splitlines()[1].partition(" as list")[0].count("&") + 1 - len(absent)
        assert len(voting.estimators) == size
        assert len({name for name, _ in voting.estimators}) == size


@settings(LAW)
@given(drawn_lists())
def test_text_and_json_come_back(drawn: Drawn) -> None:
    space = sl.parse(drawn.text).checked
    assert space_from_json(space_to_json(space)) == space
    again = sl.parse(space_to_text(space)).checked
    assert again.root == space.root
    assert {repr(each) for each in again.constraints} == {repr(each) for each in space.constraints}
    assert sl.parse(format_text(drawn.text)).checked == space


@settings(LAW)
@given(drawn_lists(), st.data())
def test_a_part_written_anew_is_the_part(drawn: Drawn, data: st.DataObject) -> None:
    text = drawn.text.replace("LinearSVC?", "(LinearSVC | BernoulliNB @default)?")
    space = sl.parse(text.replace("(none | LinearSVC)", "(none @weight(2) | LinearSVC)")).checked
    restriction = data.draw(restrictions(space))
    part = restrict_space(space, restriction.branches, restriction.domains)
    if part is not None:
        assert sl.parse(space_to_text(part)).checked.root == part.root


def test_draws_are_uniform_over_the_lists() -> None:
    members, least, draws = 5, 2, 2_000
    written = " & ".join(f"GaussianNB as m{number}?" for number in range(members))
    space = sl.parse(
        f"stage model = VotingClassifier {{ estimators : ({written}) as all, require count(estimators) >= {least} }}"
    )
    structures = sum(comb(members, size) for size in range(least, members + 1))
    assert space.structures == structures
    found = Counter(str(each) for each in space.sample(draws))
    expected = draws / structures
    assert len(found) == structures
    assert all(abs(number - expected) <= 6 * sqrt(expected) for number in found.values())
