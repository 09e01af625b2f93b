"""Domains at the edges of what the tools' numbers hold: the tools draw members alone."""

import math
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import brute, crafted
from laws.settings import EXAMPLES

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, contains, grid, members, parts
from spacelang.ir.expr import Compare, Constant
from spacelang.ir.space import Space
from spacelang.ir.value import Value
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS
from spacelang.targets._lowering import LoweringResult, RefusedError

optuna.logging.set_verbosity(optuna.logging.WARNING)
NAMES = ("hyperopt", "nevergrad", "optuna", "ray", "sklearn")
DRAWS = {"nevergrad": 100}  # which takes a millisecond for each
LARGEST = 1.7e308
DOMAINS: dict[str, Domain] = {
    "open at both ends": Real(0.0, 1.0, lower_open=True, upper_open=True),
    "no wider than two floats": Real(1.0, math.nextafter(1.0, 2.0)),
    "open with one float left": Real(1.0, math.nextafter(1.0, 2.0), lower_open=True),
    "wider than the largest float": Real(-LARGEST, LARGEST, lower_open=True),
    "logarithms that round outside": Real(1e-5, 10.0, log=True),
    "logarithms open at both ends": Real(1e-300, 1e300, lower_open=True, upper_open=True, log=True),
    "steps of a tenth": Grid(0.0, 1.0, step=0.1),
    "steps that do not end at the bound": grid(-0.35, 2.0, 0.7, lower_open=True),
    "tiny steps": Grid(1e-20, 5e-20, step=1e-20),
    "very many steps": Grid(0.0, 1000.0, step=1e-5),
    "integers with a step": Grid(-7, 1000, step=13),
    "large integers": Grid(2**53 - 100, 2**53 - 1),
    "large integers with a step": Grid(10**15, 10**15 + 10**4, step=7),
    "logarithms of integers": Grid(1, 10**6, log=True),
    "logarithms of large integers": Grid(3, 2**52, log=True),
    "logarithms of integers with a step": Grid(2, 1001, log=True, step=9),
    "true beside 1": Categorical((True, 1, 0, False)),
    "tuples, words and none": Categorical(((1, 2), (1, "red"), "none", None, ())),
    "an order with tuples": Ordinal(((1,), (2,), (1, 2))),
    "a union of all kinds": Union((Categorical((None, True)), Grid(1, 9), Real(9.5, 10.0, log=True))),
    "words that need quotes": Categorical(('"', "'", "\\", "a\nb", "{x}", "case _:")),
}
ENDS: dict[str, list[Value]] = {
    "open at both ends": [5e-324, math.nextafter(1.0, 0.0), 0.5],
    "wider than the largest float": [math.nextafter(-LARGEST, 0.0), -0.1, 0.0, 0.1, LARGEST],
    "logarithms that round outside": [1e-5, 10.0, math.nextafter(1e-5, 1.0)],
    "large integers": [2**53 - 100, 2**53 - 1],
    "logarithms of large integers": [3, 2**52, 2**52 - 1],
}


def form_of(name: str, space: Space, **options: Any) -> LoweringResult[Any, Any]:
    found = TARGETS.load(name)(**options).lower(Structures(space))
    assert isinstance(found, LoweringResult)
    return found


def values_of(domain: Domain, label: str) -> list[Value]:
    if domain.size is not None and domain.size <= 200:
        return [each for part in parts(domain) for each in members(part)]
    return [domain.representative, *ENDS.get(label, [])]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("label", DOMAINS)
def test_values_come_back_and_draws_are_inside(name: str, label: str) -> None:
    domain = DOMAINS[label]
    compiled = form_of(name, crafted.one(domain))
    for value in values_of(domain, label):
        configuration = Configuration({"s": "A", "s.x0": value})
        encoding = compiled.encode(configuration)
        assert compiled.accepts(encoding)
        assert compiled.decode(encoding) == configuration
    drawn = [compiled.decode(each)["s.x0"] for each in compiled.sample(DRAWS.get(name, 300), np.random.default_rng(0))]
    for value in drawn:
        assert contains(domain, value)
        assert type(value) in {type(each) for each in values_of(domain, label)} or isinstance(domain, Union)
    if domain.size is not None and domain.size <= 10:
        assert {repr(value) for value in drawn} == {repr(value) for value in values_of(domain, label)}


@pytest.mark.parametrize("name", NAMES)
def test_a_comparison_of_large_ranges_is_refused_with_its_line(name: str) -> None:
    large = Grid(1, 10**6)
    space = crafted.one(large, large, large, constraints=[crafted.require(Compare("<", crafted.x(0), crafted.x(1)))])
    with pytest.raises(RefusedError) as refusal:
        form_of(name, space, **({"relations": "cases"} if name == "optuna" else {}))
    refused = [entry for entry in refusal.value.report if entry.status == "refused"]
    assert [entry.construct for entry in refused] == ["constraints over hyperparameters"]
    assert len(refused[0].spans) == 1
    constant = crafted.one(large, constraints=[crafted.require(Compare("<", crafted.x(0), Constant(10)))])
    assert form_of(name, constant)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.floats(1e-12, 1e12), st.floats(1.0001, 1e6), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2**31)
)
def test_no_range_is_left_by_rounding(
    name: str, lower: float, factor: float, log: bool, lower_open: bool, upper_open: bool, seed: int
) -> None:
    domain = Real(lower, lower * factor, lower_open=lower_open, upper_open=upper_open, log=log)
    space = crafted.one(domain)
    compiled = form_of(name, space)
    for encoding in compiled.sample(5, np.random.default_rng(seed)):
        assert brute.accepts(space, dict(compiled.decode(encoding)))


@pytest.mark.parametrize("name", NAMES)
def test_a_space_without_anything_to_say_has_one_configuration(name: str) -> None:
    compiled = form_of(name, crafted.space_of())
    (drawn,) = compiled.sample(1, np.random.default_rng(0))
    assert compiled.accepts(drawn)
    assert compiled.decode(drawn) == Configuration({})
