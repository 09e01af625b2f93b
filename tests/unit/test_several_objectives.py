"""Runs with several objectives: what is measured, stored, resumed and shown, and what is refused."""

import json
import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from sklearn.datasets import load_iris

import spacelang as sl
from spacelang.api.sklearn_search import task_scorer
from spacelang.cli._app import run_command_line
from spacelang.files import resource_folder
from spacelang.ir.trial import LossName
from spacelang.report.pipeline_lines import format_objective, score_names
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.store import Store

SCHEMA: dict[str, Any] = json.loads((resource_folder("grammars") / "result.schema.json").read_text(encoding="utf-8"))
STAGES = """\
stage scaler = none | StandardScaler
stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 30] = 5 }
"""
SPACE = f"space several\n{STAGES}task classification {{ minimize 1 - accuracy, pickled_size, 1 - f1_macro }}\n"
NSGA: dict[str, Any] = {"optimizer": "optuna", "optimizer_options": {"sampler": "NSGAIISampler"}}
QUIET: dict[str, Any] = {"workers": 0, "progress": False}


def iris() -> tuple[pd.DataFrame, pd.Series]:
    features, labels = load_iris(return_X_y=True, as_frame=True)
    return features[::3], labels[::3]


def error_and_neighbors(configuration: Mapping[str, Any]) -> dict[str, float]:
    neighbors = configuration.get("estimator.n_neighbors", 31)
    return {"error": abs(neighbors - 12) / 30, "neighbors": neighbors}


def objective_columns(result: sl.Result) -> pd.DataFrame:
    return result.trials.filter(regex=r"^objective\.")


def test_scores_and_costs_are_measured_on_the_same_pipelines() -> None:
    result = sl.search(SPACE, *iris(), trials=6, optimizer="random", **QUIET)
    table = objective_columns(result)
    assert [*table] == ["objective.1 - accuracy", "objective.pickled_size", "objective.1 - f1_macro"]
    assert table["objective.1 - accuracy"].equals(result.trials["loss"].rename("objective.1 - accuracy"))
    alone = sl.search(SPACE, *iris(), trials=6, metric="f1_macro", optimizer="random", **QUIET)
    assert [*alone.trials["loss"]] == [*table["objective.1 - f1_macro"]], "`metric` searches for one score"
    assert (table["objective.pickled_size"] > 300).all()
    assert [*result.front][:3] == ["accuracy", "pickled_size", "f1_macro"]
    assert (result.front["accuracy"] == 1 - table.loc[result.front.index, "objective.1 - accuracy"]).all()
    assert result.pipeline_of(int(result.front.index[-1])).predict(iris()[0]).shape == (50,)


def test_times_are_measured() -> None:
    text = f"{STAGES}task classification {{ minimize 1 - accuracy, predict_latency, fit_seconds }}"
    table = objective_columns(sl.search(text, *iris(), trials=3, optimizer="random", **QUIET))
    assert ((table.iloc[:, 1:] > 0) & (table.iloc[:, 1:] < 10)).all(axis=None)


@pytest.mark.parametrize("optimizer", [{"optimizer": "random"}, NSGA], ids=["random", "nsga"])
def test_a_resumed_run_equals_a_whole_one(optimizer: dict[str, Any], tmp_path: Path) -> None:
    def search(trials: int, name: str, **more: Any) -> sl.Result:
        given = {"objective": error_and_neighbors, "objectives": ("error", "neighbors"), "store": tmp_path / name}
        return sl.search(STAGES, trials=trials, **given, **more, **optimizer, **QUIET)

    whole = search(40, "whole.db")
    search(25, "part.db")
    again = search(40, "part.db", resume=True)
    assert again.configurations == whole.configurations
    assert again.front.drop(columns="cost").equals(whole.front.drop(columns="cost"))
    with Store.read(tmp_path / "part.db") as stored:
        assert [each.trial.objectives for each in stored.records()] == [
            each.trial.objectives for each in whole.outcome.records
        ]
    with pytest.raises(Exception, match="belongs to another run: metric: `error` in the store, `loss` now"):
        sl.search(STAGES, objective=error_and_neighbors, trials=41, store=tmp_path / "part.db", resume=True,
                  optimizer="random", **QUIET)  # fmt: skip


def test_a_single_best_trial_is_refused_with_the_way_to_the_front() -> None:
    names = ("error", "neighbors")
    result = sl.search(STAGES, objective=error_and_neighbors, objectives=names, trials=20, optimizer="random", **QUIET)
    for name in ("loss", "score", "best_configuration", "best_pipeline", "incumbent"):
        with pytest.raises(sl.SeveralObjectivesError, match=r"`result\.front` is the table") as caught:
            getattr(result, name)
        assert pickle.loads(pickle.dumps(caught.value)).names == names
    with pytest.raises(sl.SeveralObjectivesError):
        result.leaderboard()
    assert result.objectives == names
    assert repr(result).startswith(f"Result: Pareto front of error and neighbors: {len(result.front)} trial")
    assert "GaussianNB" in repr(result) or "KNeighbors" in repr(result)
    html = result._repr_html_()
    assert html.count("<tr>") == min(len(result.front), 10) + 1
    assert "<th>error</th><th>neighbors</th><th>pipeline</th>" in html
    single = sl.search(STAGES, objective=lambda _: 1.0, trials=2, optimizer="random", **QUIET)
    with pytest.raises(ValueError, match="the run has one objective"):
        _ = single.front
    assert not [*objective_columns(single)]
    assert single.objectives == ("loss",)
    with pytest.raises(ValueError, match="trial 7 does not exist"):
        single.pipeline_of(7)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"error": 1.0}, "no number was returned for `neighbors`"),
        ({"error": 1.0, "neighbor": 2}, "no number was returned for `neighbors`, only for `error`, `neighbor`"),
        ((1.0, 2.0, 3.0), "a number for each of `error`, `neighbors`"),
        (1.0, "a number for each of `error`, `neighbors`"),
        ((1.0, math.nan), "the neighbors is nan"),
        ((1.0, "2"), "the neighbors must be a number"),
    ],
)
def test_wrong_answers_fail_their_trials(answer: Any, reason: str) -> None:
    with pytest.raises(sl.NoSuccessError) as caught:
        sl.search(STAGES, objective=lambda _: answer, objectives=("error", "neighbors"), trials=1, optimizer="random",
                  **QUIET)  # fmt: skip
    assert reason in str(caught.value)


BOX = "abstract anneal { heat : float[0.1, 10] log, steps : int[1, 50] } stage method = anneal\n"


def accuracy_and_seconds(configuration: Mapping[str, Any]) -> dict[str, float]:
    return {"accuracy": configuration["method.heat"], "seconds": configuration["method.steps"], "further": 1}


def search_box(goal: str, **options: Any) -> sl.Result:
    text = f"{BOX}task classification {{ {goal} }}" if goal else BOX
    return sl.search(text, objective=accuracy_and_seconds, trials=12, optimizer="random", **options, **QUIET)


def test_goals_in_quotes_are_those_that_a_function_returns() -> None:
    by_task, by_call = search_box('minimize "accuracy", "seconds"'), search_box("", objectives=("accuracy", "seconds"))
    assert by_task.objectives == by_call.objectives == ("accuracy", "seconds")
    assert objective_columns(by_task).equals(objective_columns(by_call))
    both = search_box('minimize -"accuracy", "seconds"')
    assert both.objectives == ("-accuracy", "seconds")
    assert [*both.front][:2] == ["accuracy", "seconds"]
    assert both.front["accuracy"].max() == max(each["method.heat"] for each in both.configurations)
    overridden = search_box('maximize "accuracy"', objectives=("accuracy", "seconds"))
    assert overridden.objectives == by_call.objectives, "the argument takes precedence"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_one_goal_in_quotes_is_the_loss_or_minus_the_loss(direction: str, tmp_path: Path) -> None:
    found = search_box(f'{direction} "accuracy"', store=tmp_path / "run.db")
    best = (min if direction == "minimize" else max)(each["method.heat"] for each in found.configurations)
    assert (found.score_name, found.score) == ("accuracy", best)
    assert found.loss == (best if direction == "minimize" else -best)
    assert found.leaderboard(1)["score"][1] == best
    assert not [*objective_columns(found)]
    with Store.read(tmp_path / "run.db") as stored:
        assert stored.header.metric == ("accuracy" if direction == "minimize" else "-accuracy")


def test_goals_in_quotes_are_told_by_name_or_as_numbers() -> None:
    with sl.ask_and_tell(f'{BOX}task classification {{ maximize "accuracy" }}', trials=2) as search:
        one = next(search)
        with pytest.raises(ValueError, match="no number was returned for `accuracy`, only for `acuracy`"):
            one.tell({"acuracy": 1.0})
        one.tell({"accuracy": 0.25})
        next(search).tell(0.75)
    assert [*search.result.trials["loss"]] == [-0.25, -0.75]
    several = f'{BOX}task classification {{ minimize "accuracy", "seconds" }}'
    with sl.ask_and_tell(several, trials=1, optimizer="random") as search:
        next(search).tell({"accuracy": 0.25, "seconds": 2})
    assert [*objective_columns(search.result).loc[1]] == [0.25, 2.0]


def test_goals_in_quotes_need_a_function() -> None:
    text = f'{BOX}task classification {{ minimize "error" }}'
    with pytest.raises(InputError, match="needs a function that returns") as caught:
        sl.search(text, *iris(), trials=1, **QUIET)
    assert "sl.ask_and_tell(space)" in str(caught.value.help)
    with pytest.raises(ValueError, match="is a number that a function of yours returns"):
        task_scorer(sl.parse(text))


def test_answers_may_be_in_order_and_have_costs() -> None:
    def answer(_: Any) -> Any:
        return {"loss": (0.25, 2), "cost": 3.0}

    found = sl.search(
        STAGES, objective=answer, objectives=("error", "neighbors"), trials=1, optimizer="random", **QUIET
    )
    assert [*objective_columns(found).loc[1]] == [0.25, 2.0]
    assert found.trials["cost"][1] == 3.0


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {},
        "the optimizer `auto` minimizes a single objective, but this run has 3 objectives (`1 - accuracy`, ",
    ),
    (
        {"optimizer": "optuna", "optimizer_options": {"sampler": "CmaEsSampler"}},
        "the optimizer `optuna` minimizes a single objective",
    ),
    ({"optimizer": "random", "ensemble": 4}, "an ensemble is selected by one loss, but this run has 3 objectives"),
    ({"optimizer": "random", "test": 0.3}, "a run with 3 objectives"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=["auto", "cma", "ensemble", "test"])
def test_what_is_for_one_objective_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        sl.search(SPACE, *iris(), trials=2, **options, **QUIET)
    assert message in str(caught.value)


def test_the_remedy_without_rows_names_no_metric() -> None:
    with pytest.raises(InputError) as caught:
        sl.ask_and_tell(f'{BOX}task classification {{ minimize "error", "seconds" }}', trials=2)
    assert caught.value.help == "use `--optimizer optuna --set sampler=NSGAIISampler` or `--optimizer random`"
    (note,) = caught.value.__notes__
    assert "--" not in note


def test_other_searches_refuse_several_objectives() -> None:
    with pytest.raises(ValueError, match="the task has several objectives"):
        sl.SpaceSearchCV(SPACE, trials=2).fit(*iris())
    with pytest.raises(Exception, match="a comparison supports a single loss, but the task has 3 objectives"):
        sl.compare(SPACE, {"iris": iris()}, ["random", "blds"], trials=2, repeats=1, workers=0)
    for names in (("one",), ("one", "one"), ("one", "cost")):
        with pytest.raises(ValueError, match="`objectives`"):
            sl.search(STAGES, objective=error_and_neighbors, objectives=names, trials=2, optimizer="random", **QUIET)


def test_the_commands_show_the_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("several.space").write_text(SPACE, encoding="utf-8")
    search = ("run", "several.space", "--data", "sklearn:iris", "--workers", "0", "--validate", "holdout(0.5)")
    assert run_command_line([*search, "--optimizer", "random", "--trials", "8", "--store", "run.db"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Pareto front of accuracy, pickled_size and f1_macro: ")
    assert "  spacelang export run.db --rank 1 -o pipeline.py" in said
    assert len(said.splitlines()) <= 25
    assert run_command_line(["show", "run.db", "--json"]) == 0
    front = json.loads(capsys.readouterr().out)["front"]
    assert {"rank", "trial", "objectives", "scores", "cost", "configuration"} == {*front[0]}
    assert run_command_line(["show", "run.db"]) == 0
    assert said.splitlines()[0] in capsys.readouterr().out
    assert run_command_line(["resume", "run.db", "--trials", "9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["loss"], found["configuration"], found["incumbent"], found["trials"]) == (None, None, [], 9)
    assert found["front"][0]["scores"]["accuracy"] == 1 - found["front"][0]["objectives"]["1 - accuracy"]
    assert run_command_line(["export", "run.db", "-o", "best.py"]) == 1
    assert "has 3 objectives, so no single pipeline is the best" in capsys.readouterr().err
    assert run_command_line(["export", "run.db", "--rank", str(len(found["front"])), "-o", "last.py"]) == 0
    last = found["front"][-1]["configuration"]["estimator"]
    assert f"{last}(" in Path("last.py").read_text(encoding="utf-8")
    assert run_command_line(["report", "run.db", "-o", "report.html"]) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.count("accuracy against") == 2
    assert not any(text in page for text in ("incumbent", "The best pipelines", "--test")), "there is no single best"
    assert page.count("<circle") >= 2 * len(found["front"])


@pytest.mark.parametrize("objectives", ["1 - accuracy", "1 - accuracy, pickled_size"])
def test_the_commands_agree_in_their_json(
    objectives: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `run` and `show` have in common is the same, and as the schema describes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.space").write_text(f"{STAGES}task classification {{ minimize {objectives} }}\n")
    options = ("--data", "sklearn:iris", "--trials", "4", "--optimizer", "random", "--workers", "0", "--json")
    run_command_line(["run", "mine.space", *options, "--store", "run.db"])
    made = json.loads(capsys.readouterr().out)
    run_command_line(["show", "run.db", "--json"])
    shown = json.loads(capsys.readouterr().out)
    run_command_line(["runs", "run.db", "--json"])
    (listed,) = json.loads(capsys.readouterr().out)
    common = SCHEMA["properties"].keys()
    assert common >= (made.keys() & shown.keys()) - {"metric", "initial", "ensemble"}, "these three differ in meaning"
    for key in common:
        assert made.get(key) == shown.get(key), key
        assert listed.get(key, shown.get(key)) == shown.get(key), key
    for document in (made, shown):
        Draft202012Validator(SCHEMA).validate(document)
        wrong = document | {"front": document.get("front", [{}]), "loss": 0.5}
        assert not Draft202012Validator(SCHEMA).is_valid(wrong)


def test_costs_are_shown_with_units_and_scores_in_their_own_direction() -> None:
    accuracy, latency, size = map(LossName.of_formula, ("1 - accuracy", "predict_latency", "pickled_size"))
    assert format_objective(accuracy, 0.25) == "0.75"
    assert [format_objective(latency, each) for each in (1.234e-6, 0.0456, 75.0)] == ["1.23us", "45.6ms", "1.25min"]
    assert [format_objective(size, each) for each in (950.0, 3.14e6)] == ["0.95kB", "3.14MB"]
    assert score_names([accuracy, latency]) == ["accuracy", "predict_latency"]
    assert score_names([accuracy, LossName("accuracy", "accuracy")]) == ["1 - accuracy", "accuracy"]
