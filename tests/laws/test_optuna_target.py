"""The function for optuna says what the space says: a search of optuna that tries all there is finds brute force."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.solver.counting import Structures

from . import brute
from .exports import bundled, drawn, form_of, members
from .settings import LAW
from .spaces import finite_spaces, general_spaces

FEW = 40
"""So many configurations are searched by optuna itself: it goes through all trials for each one."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(verbosity)


class Listing:
    """A trial that goes through all answers: `answers` are given again, then the first of each distribution."""

    def __init__(self, answers: list[int]) -> None:
        self.answers = answers
        self.sizes: list[int] = []
        self.known: dict[str, Any] = {}

    def _next(self, name: str, values: list[Any]) -> Any:
        assert name not in self.known, "each name is asked for once"
        place = self.answers[len(self.sizes)] if len(self.sizes) < len(self.answers) else 0
        self.sizes.append(len(values))
        self.known[name] = values[place]
        return values[place]

    def suggest_categorical(self, name: str, choices: list[Any]) -> Any:
        return self._next(name, choices)

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        assert not (log and step != 1)
        return self._next(name, list(range(low, high + 1, step)))

    def suggest_float(self, name: str, low: float, high: float, *, step: float) -> float:
        return self._next(name, [low + step * place for place in range(round((high - low) / step) + 1)])


def every_answer(suggest: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each configuration with the parameters that it is asked for by, as an odometer turns."""
    answers: list[int] | None = []
    while answers is not None:
        trial = Listing(answers)
        yield suggest(trial), trial.known
        taken = answers + [0] * (len(trial.sizes) - len(answers))
        answers = None
        for place in reversed(range(len(taken))):
            if taken[place] + 1 < trial.sizes[place]:
                answers = [*taken[:place], taken[place] + 1]
                break


@settings(LAW)
@given(finite_spaces())
def test_all_answers_are_exactly_the_members(space: Space) -> None:
    form = drawn("optuna", space).form
    module: dict[str, Any] = {}
    exec(form.to_python(), module)
    expected = brute.configurations(space)
    assert {brute.text(found) for found, _ in every_answer(form.native)} == expected
    assert {brute.text(found) for found, _ in every_answer(module["suggest"])} == expected


@pytest.mark.filterwarnings("ignore:BruteForceSampler is experimental")
@settings(LAW)
@given(finite_spaces(), st.integers(0, 2**31 - 1))
def test_optunas_own_search_of_everything_finds_the_members(space: Space, seed: int) -> None:
    # What leaves nothing to ask is no search space to optuna.
    assume(1 < (Structures(space).configuration_count or 0) <= FEW)
    form = drawn("optuna", space).form
    found = set()

    def objective(trial: optuna.Trial) -> float:
        configuration = form.native(trial)
        found.add(brute.text(configuration))
        assert dict(form.decode(trial.params)) == configuration
        return 0.0

    study = optuna.create_study(sampler=optuna.samplers.BruteForceSampler(seed=seed))
    study.optimize(objective)
    assert found == brute.configurations(space)


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_members_of_any_space_come_back(space: Space, seed: int) -> None:
    compiled = drawn("optuna", space)
    study = optuna.create_study()
    for configuration in members(space, 3, seed):
        parameters = compiled.encode(configuration)
        assert compiled.accepts(parameters)
        assert compiled.decode(parameters) == configuration
        study.enqueue_trial(parameters)
        trial = study.ask()
        assert compiled.form.native(trial) == dict(configuration)
        assert trial.params == parameters


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**31 - 1))
def test_what_optuna_draws_are_members_and_the_module_says_the_same(space: Space, seed: int) -> None:
    compiled = drawn("optuna", space)
    module: dict[str, Any] = {}
    exec(compiled.form.to_python(), module)
    assert module["default"] == compiled.form.default
    for parameters in compiled.sample(5, np.random.default_rng(seed)):
        assert compiled.accepts(parameters)
        assert brute.accepts(space, dict(compiled.decode(parameters)))
        assert module["suggest"](optuna.trial.FixedTrial(parameters)) == dict(compiled.decode(parameters))
        assert Configuration(module["decode"](parameters)) == compiled.decode(parameters)


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_a_search_asks_for_members_alone(name: str) -> None:
    space = bundled("mosaic")
    form = form_of("optuna", space).form
    samplers = {"tpe": optuna.samplers.TPESampler(seed=0), "random": optuna.samplers.RandomSampler(seed=0)}
    study = optuna.create_study(sampler=samplers[name])
    study.enqueue_trial(form.default)
    asked = []

    def objective(trial: optuna.Trial) -> float:
        asked.append(form.native(trial))
        return float(len(asked) % 7)

    study.optimize(objective, n_trials=30)
    assert asked[0] == dict(form.questions.default)
    assert all(first_exclusion(space, form.decode(trial.params)) is None for trial in study.trials)
