"""Optuna's studies of long runs: they forget old trials, in a way that depends on the history alone."""

import json

import optuna
import pytest
from numpy.random import default_rng

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _libraries
from spacelang.optimizers._libraries import OptunaStudy, lower_for_optuna
from spacelang.optimizers._proposer_search import TrialLog
from spacelang.solver.counting import Structures
from spacelang.testing.small_spaces import continuous_space

GROWTH = 5


def test_a_study_that_forgets_depends_on_the_history_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_libraries, "STUDY_GROWTH", GROWTH)
    form = lower_for_optuna(Structures(continuous_space())).form

    def study(*, forgets: bool = True) -> OptunaStudy:
        return OptunaStudy(
            form, lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=3), forgets=forgets
        )

    lasting, remembering, history = study(), study(forgets=False), TrialLog()
    differ = []
    for number in range(40):
        fresh = study().propose(history, default_rng(number))
        request = lasting.propose(history, default_rng(number))
        assert request == fresh
        assert len(lasting._study.trials) <= 3 * GROWTH + 1
        differ.append(remembering.propose(history, default_rng(number)) != request)
        remembering._last_request = None  # what it has proposed is not what is started
        history.started.append(request)
        if number % 3 == 2:  # three trials run at a time and end in another order
            ended = (number, number - 2, number - 1)
            losses = [None if place % 11 == 5 else (place * 7 % 13) / 13 for place in ended]
            trials = [Trial(history.started[place], loss) for place, loss in zip(ended, losses, strict=True)]
            history.finished.extend(zip(ended, trials, strict=True))
        remembering = study(forgets=False)
    assert not any(differ[: 3 * GROWTH]), "short runs are as they were"
    assert any(differ)


def test_trials_that_were_stored_under_other_names_are_encoded_again() -> None:
    form = lower_for_optuna(Structures(continuous_space())).form
    study, history = OptunaStudy(form, lambda seed: optuna.samplers.RandomSampler(seed=seed)), TrialLog()
    rng = default_rng(0)
    first, second = ({**study.propose(history, rng).configuration} for _ in range(2))
    names = {"missing": {"x:case": 0}, "of another trial": form.encode(Configuration(second))}
    for params in names.values():
        memo = json.dumps({"params": params, "trial": {}, "study": {}})
        history.started.append(Request(Configuration(first), memo=(memo,)))
    resumed = OptunaStudy(form, lambda seed: optuna.samplers.RandomSampler(seed=seed))
    resumed.propose(history, rng)
    assert [trial.params for trial in resumed._study.trials[:2]] == [form.encode(Configuration(first))] * 2
