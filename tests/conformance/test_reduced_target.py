"""Targets that say what they accept and leave the rest to reductions are short, and do what every target must."""

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import dials
import numpy as np
import pytest

from spacelang import contracts
from spacelang.analysis import check
from spacelang.ir.domain import Categorical, Grid, Real
from spacelang.ir.membership import first_exclusion
from spacelang.ir.prior import Normal, Uniform
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Construct, LoweringResult, Preservation, constructs_of
from spacelang.testing import TargetConformance
from spacelang.testing.small_spaces import hyperparameter, make_space
from spacelang.testing.targets import check_members_accepted, check_round_trip, lower
from spacelang.text import Source

PATH = Path(dials.__file__)
REDUCED = {
    Construct.ORDERS,
    Construct.LOG,
    Construct.STEPS,
    Construct.OPEN,
    Construct.SETS,
    Construct.ORDERED,
    Construct.UNIONS,
    Construct.CONDITIONS,
    Construct.RULES_ON_DECISIONS,
    Construct.RULES_ON_VALUES,
}
"""What it does not accept."""


class TestDials(TargetConformance):
    target = dials.Dials
    refuses = False
    is_lossy = True


class TestSwitches(TestDials):
    target = dials.Switches


def test_they_have_at_most_eighty_lines_and_import_public_names_only() -> None:
    text = PATH.read_text(encoding="utf-8")
    imported = {
        name.name: node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("spacelang")
        for name in node.names
    }
    assert len(text.splitlines()) <= 80
    assert set(imported.values()) == {"spacelang.contracts"}
    assert imported.keys() <= {*contracts.__all__}


EVERYTHING = """
space everything

abstract A {
  tenths : float[0, 0.3] step 0.1 = 0.1
  size   : int[1, 4] log = 2 when tenths > 0.1
}
abstract B {
  depth : {none} | int[2, 3] = none
  share : float(0, 1] = 1
  grade : ordered {low, high} = low
  require depth == none or share < 0.5
}
abstract C { kind : {one, 3, none} = one }

stage first = A | B
stage second = C | B as again
pipeline = permute(first, second)

forbid first is A and second is again
"""


def test_it_comes_back_from_what_it_does_not_accept() -> None:
    structures = check(Source("everything.space", EVERYTHING)).structures
    assert structures is not None
    there = set(constructs_of(structures.space))
    assert there >= REDUCED
    form = lower(dials.Dials(), structures.space)
    assert all(isinstance(domain, Grid | Real) and not domain.log for domain in form.form.dials.values())
    members = Sampler(structures).batch(200, np.random.default_rng(0)).configurations()
    check_members_accepted(form, members)
    assert status_of(form, Construct.LOG) == {Preservation.REWRITTEN: 1}


def test_a_target_without_continuous_ranges_has_a_grid_of_each_and_says_where() -> None:
    structures = check(Source("everything.space", EVERYTHING)).structures
    assert structures is not None
    form = lower(dials.Switches(), structures.space)
    assert all(isinstance(domain, Grid) for domain in form.form.dials.values())
    members = Sampler(structures).batch(200, np.random.default_rng(0)).configurations()
    found = [form.decode(form.encode(each)) for each in members]
    assert all(first_exclusion(structures.space, each) is None for each in found)
    assert [each.get("depth") for each in found] == [each.get("depth") for each in members]
    check_round_trip(form, found)
    (entry,) = (entry for entry in form.report if entry.construct == Construct.FLOATS.value and "grid" in entry.message)
    assert (entry.status, entry.lines) == (Preservation.APPROXIMATED, (10,))


def status_of(form: LoweringResult[Any, Any], construct: Construct) -> dict[Preservation, int]:
    return {entry.status: len(entry.spans) for entry in form.report if entry.construct == construct.value}


def test_a_report_says_of_each_place_what_was_done_there() -> None:
    """Also of places without a text, which are all the same to look at."""
    space = make_space(
        "logs", hyperparameter("x", Real(0.1, 1.0, log=True), 0.5), hyperparameter("y", Grid(1, 9, log=True), 3)
    )
    assert status_of(lower(dials.Dials(), space), Construct.LOG) == {
        Preservation.APPROXIMATED: 1,
        Preservation.REWRITTEN: 1,
    }
    assert status_of(lower(dials.Switches(), space), Construct.FLOATS) == {Preservation.APPROXIMATED: 1}
    even, normal = (hyperparameter(name, Real(0.0, 1.0), 0.5) for name in "xy")
    space = make_space("priors", replace(even, prior=Uniform()), replace(normal, prior=Normal(0.5, 0.1)))
    priors = status_of(lower(dials.Dials(), space), Construct.PRIORS)
    assert priors == {Preservation.APPROXIMATED: 1, Preservation.EXACT: 1}


def test_what_a_target_must_accept_is_said_where_it_fails() -> None:
    with pytest.raises(
        ValueError, match=r"`accepts` does not cover float ranges: .*`float\[0.0, 1.0\]` .*GridReduction"
    ):
        contracts.preserved_by_reductions(lambda part: isinstance(part, Categorical))
    structures = Structures(make_space("one", hyperparameter("x", Real(0.1, 1.0, log=True), 0.5)))
    every = dials.Dials.preserves
    for construct, removed in ((Construct.LOG, "LogarithmReduction"), (Construct.DEFAULTS, r"accepts\)`$")):
        less = {each: verdicts for each, verdicts in every.items() if each is not construct}
        with pytest.raises(ValueError, match=f"`preserves` has no verdict on {construct.value}: .*{removed}"):
            contracts.build_report(contracts.build_questions(structures, dials.turns, less), less)
    without = {**every, Construct.CONDITIONS: (contracts.exact("a condition"),)}
    with pytest.raises(ValueError, match="`preserves` has no refused verdict on conditions"):
        contracts.build_questions(structures, dials.turns, without)
