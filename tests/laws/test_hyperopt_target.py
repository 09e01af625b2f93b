"""The search space of hyperopt says what the space says: its own graph, gone through case by case, is brute force."""

import math
from collections.abc import Iterator
from typing import Any

import hyperopt
import numpy as np
import pytest
from hyperopt.pyll import Literal, as_apply, scope, stochastic
from hypothesis import given, settings
from hypothesis import strategies as st
from trying import IS_FULL

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space

from . import brute
from .exports import bundled, drawn, form_of, members
from .settings import LAW
from .spaces import finite_spaces, general_spaces

Chosen = dict[str, Any]
POINTS = 60
"""In so many equal steps, of logarithms, a continuous distribution is gone through: finite spaces round it."""


def outcomes(node: Any, chosen: Chosen) -> Iterator[tuple[Any, Chosen]]:
    """Every value that a node of the graph can have, with what was drawn for it under each label."""
    if isinstance(node, Literal):
        yield node.obj, chosen
    elif node.name == "hyperopt_param":
        label = node.arg["label"].obj
        values = [chosen[label]] if label in chosen else support(node.arg["obj"])
        yield from ((value, {**chosen, label: value}) for value in values)
    elif node.name == "switch":
        place, *options = node.pos_args
        for taken, so_far in outcomes(place, chosen):
            yield from outcomes(options[taken], so_far)
    else:
        names = [name for name, _ in node.named_args]
        for values, so_far in joint(node.inputs(), chosen):
            plain = len(node.pos_args)
            named = dict(zip(names, values[plain:], strict=True))
            yield scope._impls[node.name](*values[:plain], **named), so_far


def joint(nodes: list[Any], chosen: Chosen) -> Iterator[tuple[list[Any], Chosen]]:
    if not nodes:
        yield [], chosen
        return
    for value, so_far in outcomes(nodes[0], chosen):
        for others, at_last in joint(nodes[1:], so_far):
            yield [value, *others], at_last


def support(node: Any) -> list[Any]:
    """What a distribution of hyperopt can draw, as its documentation says."""
    given = [argument.eval() for argument in node.pos_args]
    named = {name: argument.eval() for name, argument in node.named_args}
    match node.name:
        case "randint":
            return list(range(given[0]))
        case "categorical":
            return list(range(len(given[0])))
        case "quniform":
            lower, upper = given
            assert named == {"q": 1.0}
            return [float(number) for number in range(math.ceil(lower), math.floor(upper) + 1)]
        case "qloguniform":
            lower, upper, step = given
            assert step == 1
            return [float(number) for number in range(round(math.exp(lower)), round(math.exp(upper)) + 1)]
        case "loguniform":
            return [math.exp(place) for place in np.linspace(*given, POINTS)]
    raise NotImplementedError(node.name)


@settings(LAW)
@given(finite_spaces())
def test_the_graph_says_exactly_the_members(space: Space) -> None:
    form = drawn("hyperopt", space).form
    found = {brute.text(dict(form.configuration(sample))) for sample, _ in outcomes(as_apply(form.native), {})}
    assert found == brute.configurations(space)


@settings(LAW)
@given(finite_spaces())
def test_what_the_graph_draws_is_reached_and_comes_back(space: Space) -> None:
    compiled = drawn("hyperopt", space)
    for sample, chosen in outcomes(as_apply(compiled.form.native), {}):
        configuration = compiled.form.configuration(sample)
        assert compiled.decode(chosen) == configuration
        assert compiled.accepts(chosen)
        again = compiled.encode(configuration)
        assert set(again) == set(chosen)
        assert compiled.decode(again) == configuration
        return  # evaluating is slow: the law above has gone through all of them


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**31 - 1))
def test_members_of_any_space_come_back_and_draws_are_members(space: Space, seed: int) -> None:
    compiled = drawn("hyperopt", space)
    for configuration in members(space, 3, seed):
        values = compiled.encode(configuration)
        assert compiled.accepts(values)
        assert compiled.decode(values) == configuration
    for values in compiled.sample(3, np.random.default_rng(seed)):
        assert compiled.accepts(values)
        assert brute.accepts(space, dict(compiled.decode(values)))


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**31 - 1))
def test_the_module_says_the_same(space: Space, seed: int) -> None:
    form = drawn("hyperopt", space).form
    module: dict[str, Any] = {}
    exec(form.to_python(), module)
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(2):
        sample = stochastic.sample(module["space"], rng)
        assert form.configuration(sample) == form.configuration(stochastic.sample(form.native, again))
        assert brute.accepts(space, module["configuration"](sample))
    assert form.configuration(hyperopt.space_eval(module["space"], module["default"])) == form.questions.default
    for values in form.sample(2, rng):
        assert Configuration(module["decode"](values)) == form.decode(values)


@pytest.mark.parametrize("suggest", [hyperopt.rand.suggest, hyperopt.tpe.suggest], ids=["random", "tpe"])
def test_a_search_asks_for_members_alone(suggest: Any) -> None:
    space = bundled("boasf_models")
    form = form_of("hyperopt", space).form
    asked = []

    def objective(sample: dict[str, Any]) -> float:
        asked.append(form.configuration(sample))
        return float(len(asked) % 7)

    best = hyperopt.fmin(
        objective,
        form.native,
        algo=suggest,
        max_evals=30 if IS_FULL else 22,  # TPE draws 20 before it has a model
        rstate=np.random.default_rng(0),
        show_progressbar=False,
        trials=form.trials([form.default]),
        verbose=False,
    )
    assert asked[0] == form.questions.default
    assert all(first_exclusion(space, configuration) is None for configuration in asked)
    assert form.decode(best) in asked
