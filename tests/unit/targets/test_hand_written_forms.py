"""The benchmark of compiled and hand-written forms: all forms draw members, and it tells bad forms from good ones."""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import spacelang
from spacelang import Configuration
from spacelang.ir.value import to_python_scalar

BENCHMARKS: Final = Path(__file__).parents[2] / "benchmarks"
DRAWS: Final = 20
OLD_FORMS: Final = (("optuna", "ordered"), ("hyperopt", "ordered"), ("optuna", "conditions"), ("optuna", "chain"))


@pytest.fixture(scope="module")
def fidelity() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
        yield import_module("fidelity")


def exclusion_of(space: spacelang.Space, values: Mapping[str, Any]) -> object:
    """Return why values by short names are no member; None if they are one."""
    keys = {key for variable in space.checked.variables.values() if (key := variable.key).rpartition(".")[2] in values}
    fixed = {"s": space.default()["s"]} if "s" in space.default() else {}
    named = {key: to_python_scalar(values[key.rpartition(".")[2]]) for key in keys}
    return space.exclusion(Configuration({**named, **fixed}))


def drawn_values(form: Any, tool: str) -> Iterator[Mapping[str, Any]]:
    """Yield values that a form draws at random."""
    if tool == "optuna":
        optuna = import_module("optuna")
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        yield from (form.values(form.native(study.ask())) for _ in range(DRAWS))
    elif tool == "hyperopt":
        draw = import_module("hyperopt.pyll.stochastic").sample
        yield from (form.values(draw(form.native, np.random.default_rng(seed))) for seed in range(DRAWS))
    else:
        form.native.seed(0)
        yield from (form.values(each) for each in form.native.sample_configuration(DRAWS))


@pytest.mark.parametrize("tool", ["optuna", "hyperopt", "configspace"])
def test_hand_written_forms_draw_members_with_losses_up_to_1(fidelity: Any, tool: str) -> None:
    for name, task in fidelity.TASKS.items():
        if tool == "configspace" and task.configuration_space is None:
            continue
        space = spacelang.load(task.reference)
        for values in drawn_values(fidelity.hand_written_form(tool, task), tool):
            assert exclusion_of(space, values) is None, (name, values)
            assert 0.0 < task.loss(values) <= 1.0 or values == task.optimum


@pytest.mark.parametrize("name", ["conditions", "ordered"])
def test_compiled_configuration_spaces_are_those_by_hand_but_for_the_names(fidelity: Any, name: str) -> None:
    def described(form: Any) -> dict[str, list[str]]:
        found = form.native.to_serialized_dict()
        parts = {key: map(json.dumps, found[key]) for key in ("hyperparameters", "conditions", "forbiddens")}
        return {key: sorted(each.replace('"s.', '"') for each in texts) for key, texts in parts.items()}

    task = fidelity.TASKS[name]
    compiled = fidelity.compiled_form("configspace", task, "")
    assert described(compiled) == described(fidelity.hand_written_form("configspace", task))


def test_optima_are_members_without_loss(fidelity: Any) -> None:
    assert len(fidelity.TASKS) == 8
    for name, task in fidelity.TASKS.items():
        assert exclusion_of(spacelang.load(task.reference), task.optimum) is None, name
        assert task.loss(task.optimum) == 0.0


@pytest.mark.parametrize(("tool", "name"), OLD_FORMS)
def test_the_forms_of_b675031_draw_members(fidelity: Any, tool: str, name: str) -> None:
    space = spacelang.load(fidelity.TASKS[name].reference)
    for values in drawn_values(fidelity.old_form(tool, name), tool):
        assert exclusion_of(space, values) is None, values


def test_each_search_is_run_once_and_the_table_has_its_differences(
    fidelity: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--tools", "optuna", "hyperopt", "--spaces", "conditions", "--trials", "4", "--seeds", "2"]
    options += ["--output", str(tmp_path / "few.csv")]
    with warnings.catch_warnings():
        for part in ("1/2", "2/2"):
            fidelity.main([*options, "--part", part])
        assert len(capsys.readouterr().out.splitlines()) == 2 * 3 + 2 * 2
        fidelity.main(options)
    assert capsys.readouterr().out == ""
    fidelity.main([*options, "--table"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:4] for row in rows] == [
        ["Optuna TPE", "conditions", "compiled", "2"],
        ["hyperopt TPE", "conditions", "compiled", "2"],
        ["Optuna TPE", "conditions", "b675031", "2"],
    ]
    # The compiled form asks trials of Optuna for the same distributions in the same order as the hand-written one.
    assert rows[0][4] == rows[0][5]
    assert rows[0][6] == "+0.0000 [+0.0000, +0.0000]"


def test_differences_are_paired_by_seed(fidelity: Any) -> None:
    rows = {
        fidelity.Search("optuna", "ordered", form, "", seed): {"regret": str(regret)}
        for form, regrets in (("hand", (0.1, 0.2, 0.4)), ("compiled", (0.2, 0.1)))
        for seed, regret in enumerate(regrets)
    }
    assert fidelity.paired_differences(rows, "optuna", "ordered", "compiled", "") == pytest.approx([0.1, -0.1])
    low, high = fidelity.bootstrap_interval([0.1, -0.1] * 8)
    assert -0.06 < low < -0.03 < 0.03 < high < 0.06


@pytest.mark.parametrize("name", [name for tool, name in OLD_FORMS if tool == "optuna"])
def test_the_stored_results_detect_the_forms_of_b675031(fidelity: Any, name: str) -> None:
    rows = fidelity.read_rows(fidelity.RESULTS)
    low, _ = fidelity.bootstrap_interval(fidelity.paired_differences(rows, "optuna", name, "b675031", ""))
    assert low > 0


def test_the_stored_results_of_optuna_are_as_good_as_by_hand(fidelity: Any) -> None:
    rows = fidelity.read_rows(fidelity.RESULTS)
    for name, task in fidelity.TASKS.items():
        relations = fidelity.default_relations("optuna", task) if task.has_relations else ""
        found = fidelity.paired_differences(rows, "optuna", name, "compiled", relations)
        assert len(found) == 30
        assert fidelity.bootstrap_interval(found)[1] < fidelity.LIMIT
