"""What every target must do; new ones are picked up from the registry."""

import json
from dataclasses import is_dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws import brute
from laws.settings import EXAMPLES
from laws.spaces import finite_spaces
from small_spaces import (
    FINITE,
    SMALL,
    all_structures,
    branch,
    choice,
    continuous,
    made,
    members_by_force,
    number,
    span_of,
)
from target_laws import (
    comes_back,
    draws_members,
    is_reached,
    keeps_logarithms,
    lower,
    lower_drawn,
    says_what_is_declared,
    tells_every_construct,
)

from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.domain import Categorical, Domain, Integer, Real, Union
from spacelang.ir.sampling import Sampler
from spacelang.ir.space import Space
from spacelang.plugins import Plugins
from spacelang.targets import TARGETS
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import GIANT, Entry, Lowered, RefusedError, Status, Target, WithSource, document

LAW = settings(
    max_examples=EXAMPLES // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
MOST = 30
"""So many members of a drawn space are looked at."""


@pytest.fixture(params=TARGETS.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def target(name: str) -> Target:
    made: Target = TARGETS.load(name)()
    return made


def named(space: Space) -> str:
    return space.name


def members(space: Space) -> list[Configuration]:
    return [member for structure in all_structures(space) for member in members_by_force(space, structure)]


def some_members(space: Space) -> list[Configuration]:
    return [Configuration.from_json(text) for text in sorted(brute.configurations(space))[:MOST]]


def test_is_a_dataclass_with_documented_options(target: Target) -> None:
    assert is_dataclass(target)
    assert type(target).__doc__
    assert all(option.doc for option in Plugins.options(type(target)))


def test_declares_what_it_makes_of_each_construct(target: Target) -> None:
    assert set(target.keeps) == set(Construct)
    for verdicts in target.keeps.values():
        assert verdicts
        assert all(verdict.message and verdict.message[0] not in " ." for verdict in verdicts)


@pytest.mark.parametrize("space", FINITE, ids=named)
def test_every_member_is_reached_and_comes_back(target: Target, space: Space) -> None:
    form = lower(target, space)
    comes_back(form, members(space))
    is_reached(form, members(space))


@LAW
@given(space=finite_spaces())
def test_every_member_of_a_drawn_space_is_reached_and_comes_back(target: Target, space: Space) -> None:
    form = lower_drawn(target, space)
    found = some_members(space)
    comes_back(form, found)
    is_reached(form, found)


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_what_the_form_draws_is_a_member(target: Target, space: Space) -> None:
    draws_members(lower(target, space), space, seed=0)


@LAW
@given(space=finite_spaces(), seed=st.integers(0, 2**32 - 1))
def test_what_the_form_of_a_drawn_space_draws_is_a_member(target: Target, space: Space, seed: int) -> None:
    draws_members(lower_drawn(target, space), space, seed)


def test_members_with_continuous_values_come_back(target: Target) -> None:
    space = continuous()
    drawn = Sampler(Structures(space)).columns(50, np.random.default_rng(0)).configurations()
    form = lower(target, space)
    comes_back(form, drawn)
    is_reached(form, drawn)


GIANTS: tuple[Domain, ...] = (
    Integer(0, 2**53),
    Integer(-(2**53), 5),
    Integer(1 - 2**53, 2**53 - 1),
    Integer(10**30, 10**30 + 7),
    Integer(1, 10**400, log=True),
    Union((Categorical((None,)), Integer(0, 2**60, step=2**58))),
)


@pytest.mark.parametrize("domain", [*GIANTS, Real(0.0, 1.0, step=1e-17)], ids=str)
def test_integers_that_floats_do_not_tell_apart_are_refused_with_one_reason(target: Target, domain: Domain) -> None:
    span = span_of("space s\n\nx : int[0, 2^60]", "x")
    space = made("giants", choice("e", branch("f", replace(number("e.f.x", domain, domain.middle), span=span))))
    kept = Construct.INTEGERS if domain in GIANTS else Construct.STEPS
    if GIANT not in target.keeps[kept]:
        comes_back(lower(target, space), [Configuration({"e": "f", "e.f.x": domain.middle})])
        return
    with pytest.raises(RefusedError, match=r"up to 2\^53") as caught:
        lower(target, space)
    (entry,) = [entry for entry in caught.value.report if entry.status is Status.REFUSED]
    assert (entry.construct, entry.lines) == (kept.value, (3,))


def test_the_largest_integers_that_floats_tell_apart_come_back(target: Target) -> None:
    domains = Integer(1, 2**53 - 1), Integer(1 - 2**53, -1), Union((Integer(0, 2**52), Categorical((2**60, None))))
    nodes = [number(f"e.f.{name}", domain, domain.middle) for name, domain in zip("xyz", domains, strict=True)]
    form = lower(target, made("large", choice("e", branch("f", *nodes))))
    for values in ((1, -1, 2**60), (2**53 - 1, 1 - 2**53, 2**52), (2**53 - 2, 2 - 2**53, 2**52 - 1)):
        member = Configuration({"e": "f", **{node.key: value for node, value in zip(nodes, values, strict=True)}})
        comes_back(form, [member])
        is_reached(form, [member])


def test_a_log_scale_is_kept_or_told(target: Target) -> None:
    rate = number("e.f.rate", Real(1e-4, 1e4, log=True), 0.1)
    space = made("log", choice("e", branch("f", rate)))
    keeps_logarithms(lower(target, space), target.keeps, "e.f.rate", 1.0)


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_report_tells_each_construct_of_the_space(target: Target, space: Space) -> None:
    form = lower(target, space)
    tells_every_construct(form, space)
    says_what_is_declared(form.report, target.keeps)
    assert all(entry.status is not Status.REFUSED for entry in form.report)


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_document_has_the_keys_that_are_promised(name: str, target: Target, space: Space) -> None:
    written = json.loads(json.dumps(document(name, space, lower(target, space)), allow_nan=False))
    assert written["target"] == name
    assert written["space"] == space.name
    for entry in written["report"]:
        assert set(entry) == {"construct", "status", "line", "lines", "message"}
        assert entry["status"] in {"exact", "rewritten", "approximated", "refused"}
        assert entry["message"]


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_the_form_has_a_text_and_a_graph(target: Target, space: Space) -> None:
    form = lower(target, space).form
    assert form.to_text().strip()
    assert form.to_dot().startswith("digraph ")
    assert form.to_dot().rstrip().endswith("}")


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_source_is_python(target: Target, space: Space) -> None:
    form = lower(target, space).form
    if isinstance(form, WithSource):
        compile(form.to_python(), "<form>", "exec")


@pytest.mark.parametrize("space", SMALL, ids=named)
def test_a_form_made_twice_is_the_same(name: str, target: Target, space: Space) -> None:
    def written(form: Lowered[object, object]) -> str:
        return json.dumps([document(name, space, form), form.form.to_text(), form.form.to_dot()])

    assert written(lower(target, space)) == written(lower(target, space))


def test_an_entry_knows_its_lines() -> None:
    span, other = (span_of("space s\nstage a = b", part) for part in ("stage", "space"))
    assert Entry("stages", Status.EXACT, "", (span, other, span)).lines == (2, 1)
    assert Entry("stages", Status.EXACT, "").line is None
