"""The flat parameters for Nevergrad and Ray Tune say what the space says: all that `decode` makes of them is a member.

The modules run with stand-ins for the libraries: a parameter is a list of the values that the library can draw, as its
documentation says. `tests/unit/targets/test_flat_parameters.py` tests the libraries themselves.
"""

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.space import Space

from . import brute
from .exports import drawn, members
from .settings import LAW
from .spaces import finite_spaces, general_spaces
from .test_hyperopt_target import POINTS

TARGETS = pytest.mark.parametrize("target", ["nevergrad", "ray"])


class Range(list[Any]):
    """The numbers of a range; Nevergrad rounds them where it is told to."""

    def set_integer_casting(self) -> list[int]:
        return [*range(math.ceil(self[0]), math.floor(self[-1]) + 1)]


def logarithms(lower: float, upper: float) -> Range:
    inner = np.exp(np.linspace(math.log(lower), math.log(upper), POINTS)[1:-1])
    return Range([lower, *map(float, inner), upper])


def numbers(lower: float, upper: float) -> Range:
    return Range([*map(float, np.linspace(lower, upper, 5))])


PARAMETERS = SimpleNamespace(Choice=list, TransitionChoice=list, Scalar=numbers, Log=logarithms, Dict=dict)
TUNE = SimpleNamespace(choice=list, randint=range, uniform=numbers, loguniform=logarithms)
STAND_INS: dict[str, dict[str, Any]] = {
    "nevergrad": {"import nevergrad as ng": "", "ng": SimpleNamespace(p=PARAMETERS)},
    "ray": {"from ray import tune": "", "tune": TUNE},
}


def module_of(target: str, form: Any) -> tuple[dict[str, Sequence[Any]], dict[str, Any]]:
    """The lists of the values of all parameters, and the names of a generated module."""
    line, name = STAND_INS[target]
    found: dict[str, Any] = {name: STAND_INS[target][name]}
    exec(form.to_python().replace(line, ""), found)
    return found["parametrization" if target == "nevergrad" else "space"], found


class Answers(dict[str, Any]):
    """Values that are chosen when they are read: `places` are taken again, then the first of each list."""

    def __init__(self, options: dict[str, Sequence[Any]], places: list[int]) -> None:
        self.options, self.places, self.sizes = options, places, list[int]()

    def __contains__(self, name: object) -> bool:
        return name in self.options

    def __missing__(self, name: str) -> Any:
        several = self.options[name]
        place = self.places[len(self.sizes)] if len(self.sizes) < len(self.places) else 0
        self.sizes.append(len(several))
        self[name] = several[place]
        return self[name]


def every_decoded(decode: Any, options: dict[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """What `decode` returns for all values that it reads, as an odometer turns."""
    places: list[int] | None = []
    while places is not None:
        answers = Answers(options, places)
        yield dict(decode(answers))
        taken = places + [0] * (len(answers.sizes) - len(places))
        turned = (at for at in reversed(range(len(taken))) if taken[at] + 1 < answers.sizes[at])
        last = next(turned, None)
        places = None if last is None else [*taken[:last], taken[last] + 1]


@TARGETS
@settings(LAW)
@given(space=finite_spaces())
def test_all_values_decode_to_exactly_the_members(target: str, space: Space) -> None:
    form = drawn(target, space).form
    options, module = module_of(target, form)
    expected = brute.configurations(space)
    assert {brute.text(found) for found in every_decoded(form.decode, options)} == expected
    assert {brute.text(found) for found in every_decoded(module["decode"], options)} == expected


@TARGETS
@settings(LAW)
@given(space=general_spaces(), seed=st.integers(0, 2**31 - 1))
def test_members_of_any_space_come_back_and_draws_are_members(target: str, space: Space, seed: int) -> None:
    compiled = drawn(target, space)
    _, module = module_of(target, compiled.form)
    assert compiled.accepts(module["default"])
    assert module["decode"](module["default"]) == dict(compiled.form.questions.default)
    for configuration in members(space, 3, seed):
        values = compiled.encode(configuration)
        assert compiled.accepts(values)
        assert compiled.decode(values) == configuration
        assert module["decode"](values) == dict(configuration)
    for values in compiled.sample(3, np.random.default_rng(seed)):
        assert compiled.accepts(values)
        found = compiled.decode(values)
        assert brute.accepts(space, dict(found))
        assert module["decode"](values) == dict(found)


@TARGETS
@settings(LAW)
@given(space=finite_spaces())
def test_values_that_are_missing_or_too_many_are_not_accepted(target: str, space: Space) -> None:
    compiled = drawn(target, space)
    values = compiled.form.default
    assert compiled.accepts(values)
    assert not compiled.accepts({**values, "no such parameter": 1})
    for name in values:
        assert not compiled.accepts({key: value for key, value in values.items() if key != name})
        assert not compiled.accepts({**values, name: object})
