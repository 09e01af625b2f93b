"""Membership equals brute force, and a refusal names what is really at fault."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import ExclusionReason, all_exclusions, first_exclusion, member_or_exclusion
from spacelang.ir.space import Space
from spacelang.ir.value import Value

from . import brute
from .settings import LAW
from .spaces import WORDS, finite_spaces

MOST = 30
"""How many members and strangers of one space are looked at."""


def strangers(space: Space) -> Iterator[dict[str, Any]]:
    """Raw combinations that break a constraint, and those with an inactive value in them."""
    for taken, hyperparameters in brute.pipelines(space.root):
        branches = {space.variables[address].key: branch for address, branch in taken.items()}
        yield branches | {node.key: brute.members(node.domain)[-1] for node in hyperparameters}


@settings(LAW)
@given(finite_spaces(), st.data())
def test_exactly_the_members_are_admitted(space: Space, data: st.DataObject) -> None:
    members = sorted(brute.configurations(space))
    documents = [json.loads(member) for member in members[:MOST]]
    documents += [document for document, _ in zip(strangers(space), range(MOST), strict=False)]
    for document in documents:
        changed = dict(document)
        if changed and data.draw(st.booleans()):
            key = data.draw(st.sampled_from(sorted({*changed, *(v.key for v in space.variables.values()), "new"})))
            other: list[Value] = [*WORDS, *[branch.name for choice in space.decisions for branch in choice.branches]]
            changed[key] = data.draw(st.sampled_from(other))
            if data.draw(st.integers(0, 3)) == 0:
                del changed[key]
        configuration = Configuration.from_json(json.dumps(changed, default=list))
        result = member_or_exclusion(space, configuration)
        if isinstance(result, ExclusionReason):
            assert configuration.identity not in members
            check(space, configuration, result)
        else:
            # 1 may be written as 1.0: what is admitted is a member as the space writes it, and admitted as it is.
            assert result.identity in members
            assert brute.equal(tuple(result.values()), tuple(configuration.values()))
            assert member_or_exclusion(space, result) == result
            assert first_exclusion(space, configuration) is None


def check(space: Space, configuration: Configuration, refused: ExclusionReason) -> None:
    """The refusal's key is one that no member with the same other values could have as it is."""
    assert refused.reason
    if not refused.key:
        broken = [constraint for constraint in space.constraints if constraint.span == refused.span]
        assert broken
        return
    assert f"`{refused.key}`" in refused.reason
    nodes = [variable.node for variable in space.variables.values() if variable.key == refused.key]
    if refused.key not in configuration:
        assert nodes
    # Without its line the rest is judged the same or better: the key alone is at fault where only it is wrong.
    assert brute.accepts(space, dict(configuration)) is False


@settings(LAW)
@given(finite_spaces(), st.data())
def test_all_that_is_wrong_is_found_at_once(space: Space, data: st.DataObject) -> None:
    """Nothing where nothing is wrong; else each mistake once, and those that were made among them."""
    keys = [variable.key for variable in space.variables.values()]
    members = sorted(brute.configurations(space))
    for member in data.draw(st.lists(st.sampled_from(members), max_size=3)) if members else ():
        document = json.loads(member)
        wrong = data.draw(st.sets(st.sampled_from([*keys, "new", "newer"]), max_size=3))
        changed = Configuration.from_json(json.dumps(document | dict.fromkeys(wrong, "no such value")))
        found = all_exclusions(space, changed)
        assert bool(found) == (first_exclusion(space, changed) is not None)
        assert len({each.key for each in found if each.key}) == len([each for each in found if each.key])
        is_decided = not any(choice.key in wrong for choice in space.decisions)
        if is_decided:
            assert {each.key for each in found} >= wrong
        assert {each.key for each in found} >= wrong - {*keys}
        check_constraints(members, changed, found)


def check_constraints(members: list[str], changed: Configuration, found: tuple[ExclusionReason, ...]) -> None:
    """Keys that are valid must change too where a constraint is a reason: no member keeps all of them."""
    named = {each.key for each in found}
    if "" in named:
        valid = {key: value for key, value in changed.to_dict().items() if key not in named}
        assert not any(json.loads(member).items() >= valid.items() for member in members if is_hashable(valid))


def is_hashable(values: dict[str, Any]) -> bool:
    return not any(isinstance(value, list) for value in values.values())


@settings(LAW)
@given(finite_spaces())
def test_all_members_are_admitted_as_they_are(space: Space) -> None:
    for member in sorted(brute.configurations(space))[:MOST]:
        configuration = Configuration.from_json(member)
        assert member_or_exclusion(space, configuration) == configuration


@settings(LAW)
@given(finite_spaces(), st.data())
def test_one_spoiled_key_is_the_key_that_is_named(space: Space, data: st.DataObject) -> None:
    members = sorted(brute.configurations(space))
    if not members:
        return
    document = json.loads(data.draw(st.sampled_from(members)))
    key = data.draw(st.sampled_from(sorted({*document, "unknown"})))
    spoiled = Configuration.from_json(json.dumps({**document, key: "nowhere allowed"}))
    found = first_exclusion(space, spoiled)
    assert found is not None
    assert found.key == key


@settings(LAW)
@given(finite_spaces(), st.data())
def test_what_is_wrong_is_named_before_what_is_missing(space: Space, data: st.DataObject) -> None:
    members = sorted(brute.configurations(space))
    document = json.loads(data.draw(st.sampled_from(members))) if members else {}
    decisions = sorted(document.keys() & {choice.key for choice in space.decisions})
    if not decisions:
        return
    missing = data.draw(st.sampled_from(decisions))
    key = data.draw(st.sampled_from(sorted({*document, "unknown"} - {missing})))
    spoiled = {name: value for name, value in document.items() if name != missing} | {key: "nowhere allowed"}
    found = first_exclusion(space, Configuration.from_json(json.dumps(spoiled)))
    assert found is not None
    # What lies below the decision alone is neither right nor wrong without it.
    is_judged = key == "unknown" or any(
        variable.key == key
        and all(document.get(space.variables[owner].key) == branch for owner, branch in variable.owners)
        and all(space.variables[owner].key != missing for owner, _ in variable.owners)
        for variable in space.variables.values()
    )
    assert found.key == (key if is_judged else missing)
