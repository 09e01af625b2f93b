"""Samplers of Optuna and facades of SMAC: what they are asked and told, where they go on, and what they cannot do."""

import json
import logging
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import optuna
import pytest
from numpy.random import default_rng

from spacelang.api import parse
from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real
from spacelang.ir.expr import Compare, Constant, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.prior import Normal
from spacelang.ir.search_protocol import Problem, TotalBudget
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers import smac as module
from spacelang.optimizers._libraries import OptunaStudy, lower_for_optuna
from spacelang.optimizers._proposer_search import TrialLog
from spacelang.optimizers.optuna import Optuna
from spacelang.optimizers.smac import Smac
from spacelang.optimizers.tpe import Tpe
from spacelang.plugins import OptionError, PluginRegistry
from spacelang.report.run_facts import make_search_coverage, unsupported_features
from spacelang.runtime.errors import InputError
from spacelang.solver.counting import Structures
from spacelang.targets.optuna import OptunaFunction
from spacelang.testing.driving import SearchLog, drive_search, flaky_loss
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import evaluate_with_varied_cost, run_search
from spacelang.testing.small_spaces import (
    branch,
    choice,
    conditional_space,
    continuous_space,
    forbid,
    hyperparameter,
    make_space,
    plain_space,
    require,
    span_of,
)

FULL = bool(os.environ.get("SPACELANG_FULL"))
LEARNING: tuple[Literal["TPESampler", "CmaEsSampler", "QMCSampler", "NSGAIISampler"], ...] = (
    "TPESampler",
    "CmaEsSampler",
    "QMCSampler",
    "NSGAIISampler",
)
"""Samplers of each kind: what they keep is nothing, with a trial, with the study, and both."""


def mixed() -> Space:
    """Two numbers that every configuration has, beside such that not all have, and a constraint."""
    low, steps = hyperparameter("low", Real(1e-3, 1.0, log=True), 0.1), hyperparameter("steps", Grid(1, 50), 2)
    kernel = hyperparameter("e.f.kernel", Categorical(("rbf", "poly")), "rbf")
    degree = hyperparameter("e.f.degree", Grid(2, 5), 3, when=Compare("==", Reference("e.f.kernel"), Constant("poly")))
    forbidden = forbid(Compare(">", Reference("steps"), Constant(40)))
    return make_space("mixed", choice("e", branch("f", kernel, degree), "g"), low, steps, constraints=(forbidden,))


def driven(optimizer: Optuna | Smac | Tpe, space: Space, trials: int, **how: object) -> SearchLog:
    problem = Problem(space, 100, default_rng(0), budget=TotalBudget(None, trials))
    return drive_search(optimizer.search(problem), flaky_loss, trials, **how)  # type: ignore[arg-type]


# ---- Optuna


@pytest.mark.parametrize("optimizer", [*map(Optuna, LEARNING), Tpe(library="optuna")], ids=str)
@pytest.mark.parametrize("workers", [1, 8])
def test_a_sampler_goes_on_to_the_last_bit_where_it_was_stopped(optimizer: Optuna | Tpe, workers: int) -> None:
    def begun(journal: MemoryTrialStorage, heard: EventLog) -> None:
        search = optimizer.search(Problem(mixed(), 100, default_rng(0)))
        run_search(
            search, SimulatedExecutor(evaluate_with_varied_cost, workers=workers), 60, journal=journal, heard=heard
        )

    journal, heard = MemoryTrialStorage(), EventLog()
    begun(journal, heard)
    for stop in (13, 55):
        again = EventLog()
        begun(journal.killed_after(stop), again)
        before = [told.finished for told in heard.events[: stop - 8]]
        assert [told.finished for told in again.events[: stop - 8]] == before
        if workers == 1:
            assert again.allowed_seconds_and_memos == heard.allowed_seconds_and_memos


@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [
        (Optuna(), {}),
        (Tpe(library="optuna", startup=7, candidates=11), {"n_startup_trials": 7, "n_ei_candidates": 11}),
    ],
)
def test_what_is_proposed_is_what_optuna_proposes_by_hand(optimizer: Optuna | Tpe, settings: dict[str, int]) -> None:
    """Its own study, told by itself, with a sampler of the seed of each proposal."""
    space = mixed()
    found = driven(optimizer, space, 40)
    form: OptunaFunction = Optuna().form(Structures(space)).form
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    for place, trial in enumerate(found.trials, 1):
        study.sampler = optuna.samplers.TPESampler(seed=int(default_rng([0, place]).integers(2**31 - 1)), **settings)
        asked = study.ask()
        assert form.native(asked) == trial.request.configuration.to_dict()
        if trial.loss is None:
            study.tell(asked, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(asked, trial.loss)


@pytest.mark.parametrize("kept", [{"e.f.kernel:case": 0}, {"e": "g", "low": 0.1, "steps": 3}], ids=["names", "values"])
def test_parameters_that_an_earlier_version_stored_differently_are_encoded_anew(kept: dict[str, object]) -> None:
    form = lower_for_optuna(Structures(mixed())).form
    request = Request(form.questions.default)
    earlier = replace(request, memo=(json.dumps({"params": kept, "trial": {}, "study": {}}),))

    def next_request(started: Request) -> Request:
        study = OptunaStudy(form, lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=0))
        return study.propose(TrialLog([started]), default_rng(0))

    assert next_request(earlier) == next_request(request)


def test_what_is_good_is_optunas_own_business() -> None:
    with pytest.raises(OptionError, match="gamma"):
        Tpe(library="optuna", gamma=0.5)


def test_tpe_of_optuna_finds_the_better_half() -> None:
    def loss(request: Request) -> float:
        return float((request.configuration["steps"] - 17) ** 2) + (request.configuration["e"] == "g")  # type: ignore[operator]

    found = drive_search(Optuna().search(Problem(mixed(), 100, default_rng(1))), loss, 60).trials
    first, last = (np.median([trial.loss for trial in part]) for part in (found[:15], found[-15:]))
    assert last < first / 2


def test_brute_force_tries_all_of_a_finite_space_and_says_where_there_is_no_end() -> None:
    found = driven(Optuna("BruteForceSampler"), conditional_space(), 200)
    assert found.returned
    assert len({*found.requests}) == Structures(conditional_space()).configuration_count
    with pytest.raises(InputError, match=r"`BruteForceSampler` tries every value, but `low` has infinitely many"):
        unsupported_features(Optuna("BruteForceSampler"), mixed())


def test_a_sampler_that_is_not_there_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(OptionError, match="`CmaESampler` is not a value of the option `sampler`") as error:
        PluginRegistry.configure(Optuna, {"sampler": "CmaESampler"})
    assert "did you mean `CmaEsSampler`?" in error.value.help
    assert "`TPESampler`" in error.value.help


def test_what_a_sampler_draws_at_random_is_said() -> None:
    (said,) = unsupported_features(Optuna("CmaEsSampler"), mixed())
    numbers = "`CmaEsSampler` searches only numbers that are active in every trial"
    assert said == f"sampler: {numbers}; it draws the other 3 of 5 values at random"
    (said,) = unsupported_features(Optuna("QMCSampler"), mixed())
    assert said.endswith("draws the other 2 of 5 values at random")
    assert unsupported_features(Optuna(), mixed()) == ()


def test_a_sampler_that_finds_nothing_to_search_is_refused() -> None:
    with pytest.raises(
        InputError, match="only numbers that are active in every trial, but `continuous` has none"
    ) as error:
        make_search_coverage(Optuna("CmaEsSampler"), continuous_space())
    assert error.value.help == "use `sampler=TPESampler`, which searches the whole space"


@pytest.mark.parametrize(
    ("optimizer", "library", "command"),
    [
        (Optuna(), "optuna", 'pip install "spacelang[optuna]"'),
        (Optuna("CmaEsSampler"), "cmaes", 'pip install "spacelang[optuna]"'),
        (Optuna("GPSampler"), "torch", "pip install torch"),
        (Smac(), "smac", 'pip install "spacelang[smac]"'),
        (Tpe(), "hyperopt", "pip install spacelang"),
    ],
    ids=str,
)
def test_a_library_that_is_missing_is_named_with_its_command(
    optimizer: Optuna | Smac | Tpe, library: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"the package `{library}` is not installed") as error:
        unsupported_features(optimizer, mixed())
    assert (error.value.help or "").startswith(f"`{command}`")


def test_what_the_form_has_not_is_said_on_its_line() -> None:
    likelier = replace(hyperparameter("x", Real(0.0, 1.0), 0.5), prior=Normal(0.5, 0.1), span=span_of("\n\nx : 1", "x"))
    (said,) = make_search_coverage(Optuna(), make_space("prior", likelier)).lost
    assert said == "`@prior` (line 3): priors are ignored: values are drawn without them"


# ---- SMAC


def smac() -> Smac:
    """Few challengers, as trials are nothing."""
    return Smac(challengers=20)


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2, 8])
def test_smac_goes_on_to_the_last_bit_where_it_was_stopped(workers: int) -> None:
    """Also within the configurations of a model, which is fitted again to what was known when it was made."""

    def begun(journal: MemoryTrialStorage, heard: EventLog) -> None:
        problem = Problem(mixed(), 100, default_rng(0), budget=TotalBudget(None, 40))
        run_search(
            smac().search(problem),
            SimulatedExecutor(evaluate_with_varied_cost, workers=workers),
            40,
            journal=journal,
            heard=heard,
        )

    journal, heard = MemoryTrialStorage(), EventLog()
    begun(journal, heard)
    again = EventLog()
    begun(journal.killed_after(30), again)
    assert [told.finished for told in again.events[:22]] == [told.finished for told in heard.events[:22]]
    if workers == 1:
        assert again.allowed_seconds_and_memos == heard.allowed_seconds_and_memos


@pytest.mark.full
def test_smac_proposes_new_members_leaves_no_file_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger("smac").level
    found = driven(smac(), mixed(), 36)
    assert len({*found.requests}) == 36
    assert all(first_exclusion(mixed(), each.configuration) is None for each in found.requests)
    modelled = [bool(each.memo) for each in found.requests]
    assert 1 <= modelled.index(True) <= 9, "a quarter of the trials is the design"
    assert all(modelled[9:])
    assert [*tmp_path.iterdir()] == []
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("smac").level == level


def test_smac_knows_of_no_prior_of_what_may_be_inactive() -> None:
    """Its model fails where one that has a prior is inactive; before it begins a run says on which line it is lost."""
    text = """space prior
abstract a { x : float[0, 1] = 0.5
  @prior(normal, 0.5, 0.1) }
abstract b { y : bool, z : float[0, 1] @prior(normal, 0.2, 0.1) when y }
stage e = a | b"""
    space = parse(text).checked
    assert len(drive_search(smac().search(Problem(space, 100, default_rng(0))), flaky_loss, 14).trials) == 14
    (lost,) = (each for each in smac().form(Structures(space)).report if each.construct == "`@prior`")
    assert (lost.status, lost.lines) == ("approximated", (2, 4))
    (told,) = unsupported_features(smac(), space)
    assert told.startswith(
        "`@prior` (lines 2, 4): SMAC supports a normal prior only for hyperparameters that are active"
    )
    assert (
        unsupported_features(
            smac(), parse(text.replace("normal, 0.5, 0.1", "uniform").replace("normal, 0.2, 0.1", "uniform")).checked
        )
        == ()
    )


@pytest.mark.full
def test_smac_ends_when_a_finite_space_is_exhausted() -> None:
    found = driven(smac(), plain_space(2, 3, 2), 200)
    assert found.returned
    assert len({*found.requests}) == 12


@pytest.mark.full
def test_smac_tells_losses_apart_that_lie_beyond_the_ends_of_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure costs what the worst does."""
    from smac.runhistory import RunHistory

    costs: list[float] = []
    add = RunHistory.add

    def noted(known: Any, config: object, cost: float, *others: Any, **more: Any) -> None:
        costs.append(cost)
        add(known, config, cost, *others, **more)

    monkeypatch.setattr(RunHistory, "add", noted)
    losses = [0.9, None, -0.4, 3.0, 0.5, None, 0.2, 0.6, 0.1]
    answers = iter(losses)
    problem = Problem(mixed(), 100, default_rng(0), budget=TotalBudget(None, 9))
    drive_search(Smac(challengers=20, retrain_after=1).search(problem), lambda _: next(answers), 9)
    assert costs[-9:] == [3.0 if loss is None else loss for loss in losses]


def test_a_model_of_smac_gets_the_best_and_the_latest_of_many_trials() -> None:
    requests = [Request(Configuration({"number": place})) for place in range(1_200)]
    known = [(each, Trial(each, float(place)) if place % 3 else None) for place, each in enumerate(requests)]
    assert module.choose_modelled_trials(known[:1_000]) == known[:1_000]
    best = [place for place in range(1_200) if place % 3][:500]  # losses rise, and a third of the trials has none
    others = sorted({*range(1_200)} - {*best})
    assert module.choose_modelled_trials(known) == [known[place] for place in sorted([*best, *others[-500:]])]


def test_smac_says_what_it_cannot_search() -> None:
    tied = require(Compare("==", Reference("x"), Reference("y")))
    space = make_space(
        "tied", hyperparameter("x", Real(0.0, 1.0), 0.5), hyperparameter("y", Real(0.0, 1.0), 0.25), constraints=(tied,)
    )
    with pytest.raises(
        InputError, match="`smac` cannot search `tied`: constraints over hyperparameters: ConfigSpace cannot"
    ):
        unsupported_features(Smac(), space)


def test_options_of_smac_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="`challengers` is -1"):
        Smac(challengers=-1)
    with pytest.raises(OptionError, match="`retrain_after` is 0"):
        Smac(retrain_after=0)


@pytest.mark.skipif(not FULL, reason="SMAC takes long: only in full")
def test_so_many_configurations_as_are_wanted_are_taken_of_a_model() -> None:
    found = driven(Smac(challengers=20, retrain_after=3), mixed(), 24)
    modelled = [each.memo for each in found.requests if each.memo]
    assert [memo[3] for memo in modelled[:7]] == [0, 1, 2, 0, 1, 2, 0]
    assert len({memo[0] for memo in modelled[:6]}) == 2, "each of two models has a seed of its own"


def test_both_are_found_by_their_names() -> None:
    assert {OPTIMIZERS.load(name) for name in ("optuna", "smac")} == {Optuna, Smac}


def test_what_configspace_has_rounded_out_of_the_space_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_member(space: Space, configuration: Configuration) -> str | None:
        return "odd" if configuration["steps"] % 2 else first_exclusion(space, configuration)  # type: ignore[operator, return-value]

    monkeypatch.setattr(module, "first_exclusion", no_member)
    said: list[str] = []
    problem = Problem(mixed(), 100, default_rng(0), budget=TotalBudget(None, 20), remark=said.append)
    found = drive_search(smac().search(problem), flaky_loss, 14)
    assert all(each.configuration["steps"] % 2 == 0 for each in found.requests)  # type: ignore[operator]
    (sentence,) = said
    assert re.fullmatch(
        r"[1-9]\d* of SMAC's proposals were outside the space because ConfigSpace rounds values; .*", sentence
    )
