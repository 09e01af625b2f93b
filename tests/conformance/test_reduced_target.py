"""A target that says what it accepts and leaves the rest to reductions is short, and does what every target must."""

import ast
from dataclasses import replace
from pathlib import Path

import dials
import numpy as np

from spacelang import contracts
from spacelang.analysis import check
from spacelang.ir.domain import Grid, Real
from spacelang.ir.prior import Normal, Uniform
from spacelang.sampling.sampler import Sampler
from spacelang.targets._lowering import Construct, Preservation, constructs_of
from spacelang.testing import TargetConformance
from spacelang.testing.small_spaces import hyperparameter, make_space
from spacelang.testing.targets import check_accepted, check_round_trip, lower
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


def test_it_has_at_most_seventy_lines_and_imports_public_names_only() -> None:
    text = PATH.read_text(encoding="utf-8")
    imported = {
        name.name: node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("spacelang")
        for name in node.names
    }
    assert len(text.splitlines()) <= 70
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
    assert all(isinstance(domain, Grid | Real) for domain in form.form.dials.values())
    members = Sampler(structures).batch(200, np.random.default_rng(0)).configurations()
    check_round_trip(form, members)
    check_accepted(form, members)
    assert {entry.construct: entry.status for entry in form.report if entry.construct == "log scales"} == {
        "log scales": Preservation.APPROXIMATED
    }


def test_a_report_says_of_each_place_what_was_done_there() -> None:
    """Also of places without a text, which are all the same to look at."""
    space = make_space(
        "logs", hyperparameter("x", Real(0.1, 1.0, log=True), 0.5), hyperparameter("y", Grid(1, 9, log=True), 3)
    )
    report = lower(dials.Dials(), space).report
    logs = {entry.status: len(entry.spans) for entry in report if entry.construct == Construct.LOG.value}
    assert logs == {Preservation.APPROXIMATED: 1, Preservation.EXACT: 1}
    even, normal = (hyperparameter(name, Real(0.0, 1.0), 0.5) for name in "xy")
    space = make_space("priors", replace(even, prior=Uniform()), replace(normal, prior=Normal(0.5, 0.1)))
    report = lower(dials.Dials(), space).report
    priors = {entry.status: len(entry.spans) for entry in report if entry.construct == Construct.PRIORS.value}
    assert priors == {Preservation.APPROXIMATED: 1, Preservation.EXACT: 1}
