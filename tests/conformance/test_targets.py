"""What every target must do; new ones are picked up from the registry."""

import json
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from small_spaces import FINITE, SMALL, all_structures, continuous, members_by_force, spaces, span_of

from spacelang.ir.counting import Structures
from spacelang.ir.sampling import Sampler
from spacelang.ir.space import Space
from spacelang.plugins import Plugins
from spacelang.targets import TARGETS
from spacelang.targets._lowered import Entry, Lowered, Status, document

pytestmark = pytest.mark.parametrize("name", TARGETS.names())


def lowered(name: str, space: Space) -> Lowered[Any, Any]:
    result = TARGETS.load(name)().lower(space)
    assert isinstance(result, Lowered)
    return result


def named(space: Space) -> str:
    return space.name


def test_is_a_dataclass_with_documented_options(name: str) -> None:
    target = TARGETS.load(name)
    assert is_dataclass(target)
    assert target.__doc__
    assert all(option.doc for option in Plugins.options(target))


@pytest.mark.parametrize("space", FINITE, ids=named)
def test_every_member_comes_back(name: str, space: Space) -> None:
    form = lowered(name, space)
    for structure in all_structures(space):
        for configuration in members_by_force(space, structure):
            assert form.decode(form.encode(configuration)) == configuration


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(space=spaces())
def test_every_member_of_a_drawn_space_comes_back(name: str, space: Space) -> None:
    form = lowered(name, space)
    for structure in all_structures(space):
        for configuration in members_by_force(space, structure):
            assert form.decode(form.encode(configuration)) == configuration


def test_members_with_continuous_values_come_back(name: str) -> None:
    space = continuous()
    form, sampler, rng = lowered(name, space), Sampler(Structures(space)), np.random.default_rng(0)
    for _ in range(50):
        configuration = sampler.configuration(rng)
        assert form.decode(form.encode(configuration)) == configuration


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_document_has_the_keys_that_are_promised(name: str, space: Space) -> None:
    written = json.loads(json.dumps(document(name, space, lowered(name, space))))
    assert written["target"] == name
    assert written["space"] == space.name
    for entry in written["report"]:
        assert set(entry) == {"construct", "status", "line", "message"}
        assert entry["status"] in {"exact", "rewritten", "approximated", "refused"}
        assert entry["message"]


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_form_has_a_text_and_a_graph(name: str, space: Space) -> None:
    form = lowered(name, space).form
    assert form.to_text().strip()
    assert form.to_dot().startswith("digraph ")
    assert form.to_dot().rstrip().endswith("}")


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_report_tells_each_construct_once(name: str, space: Space) -> None:
    report = lowered(name, space).report
    assert all(isinstance(entry, Entry) for entry in report)
    assert len({entry.construct for entry in report}) == len(report)
    mentioned = " ".join(entry.construct for entry in report)
    assert not space.decisions or "decision" in mentioned
    assert not space.hyperparameters or "hyperparameter" in mentioned
    assert not space.constraints or "constraint" in mentioned


def test_an_entry_knows_its_line(name: str) -> None:
    span = span_of("space s\nstage a = b", "stage")
    assert Entry("stages", Status.EXACT, "", span).line == 2
    assert Entry("stages", Status.EXACT, "").line is None
