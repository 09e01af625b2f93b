"""Compiled JSON is a space by itself: carried elsewhere, it is checked, counted, sampled and searched like its text."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from bundles import NAMES
from commands import document, spacelang
from sklearn.datasets import load_iris, load_wine

import spacelang as sl
from spacelang.cli import main
from spacelang.targets import TARGETS

pytestmark = pytest.mark.usefixtures("quick_zygotes")

Here = Callable[..., CompletedProcess[str]]

SIZED = """stage selector = none | SelectKBest { k : int[1, min(99, n_features)] = 1 }
stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9], weights : {uniform, distance} }
require selector is SelectKBest or estimator.KNeighborsClassifier.n_neighbors > 1
forbid estimator.KNeighborsClassifier.weights == uniform
    and estimator.KNeighborsClassifier.n_neighbors == 2
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Run a command in this process: one of its own would import scikit-learn anew each time."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sized.space").write_text(SIZED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> CompletedProcess[str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        assert isinstance(ended.value.code, int)
        return CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run


def carried(here: Here, space: str, *options: str) -> str:
    """Compile a space with the command and carry the document to another folder, away from its text."""
    ended = here("compile", space, "--target", "blds", "--format", "json", "-o", "compiled.json", *options)
    assert ended.returncode == 0, ended.stderr
    Path("compiled.json").rename("elsewhere/carried.json")
    return "elsewhere/carried.json"


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_space_is_the_same_elsewhere(here: Here, name: str) -> None:
    path = carried(here, name)
    checked = here("check", path)
    assert checked.returncode == 0
    assert "error" not in checked.stderr
    text, compiled = (document(here("stats", each, "--json")) for each in (name, path))
    text.pop("symbols", None)
    assert compiled == text
    for command in (("sample", "-n", "20", "--seed", "3"), ("default",)):
        one, other = (here(command[0], each, *command[1:]) for each in (name, path))
        assert (one.returncode, one.stdout) == (0, other.stdout)
    assert document(here("diff", name, path, "--json", "--exit-code"))["differences"] == []
    again = here("compile", path, "--target", "blds", "--format", "json", "-o", "again.json")
    assert again.returncode == 0
    assert Path("again.json").read_text() == Path(path).read_text()


@pytest.mark.parametrize("target", TARGETS.names())
def test_the_document_of_any_target_can_be_loaded(here: Here, target: str) -> None:
    ended = here("compile", "blds_table1", "--target", target, "--format", "json", "-o", "elsewhere/carried.json")
    assert ended.returncode == 0, ended.stderr
    assert sl.load("elsewhere/carried.json").checked == sl.load("blds_table1").checked


@pytest.mark.takes_turns("name")
@pytest.mark.parametrize("optimizer", ["random", "blds"])
@pytest.mark.parametrize("name", ["blds_table1", "boasf_logistic_regression"])
def test_a_run_of_the_compiled_space_is_the_run_of_its_text(here: Here, name: str, optimizer: str) -> None:
    path = carried(here, name)
    run = ("--data", "sklearn:iris", "--optimizer", optimizer, "--trials", "4", "--seed", "7", "--json")
    text, compiled = (document(here("run", each, *run)) for each in (name, path))
    same = ("loss", "metric", "configuration", "trials", "failed", "optimizer", "seed")
    assert {key: text[key] for key in same} == {key: compiled[key] for key in same}
    # BLDS is done when it has tried every structure, of which one of the spaces has one.
    assert text["trials"] == (4 if optimizer == "random" or name == "blds_table1" else 2)


@pytest.mark.full
def test_every_trial_is_the_same_for_data_of_the_size_that_it_was_compiled_for(here: Here) -> None:
    features, target = load_wine(return_X_y=True, as_frame=True)
    text = sl.search("sized.space", features, target, optimizer="random", trials=8, seed=5)
    sizes = [f"{name}={number}" for name, number in text.objective.size_symbols.items()]
    path = carried(here, "sized.space", *[word for size in sizes for word in ("--bind", size)])
    compiled = sl.search(path, features, target, optimizer="random", trials=8, seed=5)
    assert compiled.trials[["loss", "status"]].equals(text.trials[["loss", "status"]])
    assert compiled.configurations == text.configurations
    assert compiled.best_pipeline.predict(features).shape == target.shape


def test_a_process_of_its_own_runs_it(here: Here, tmp_path: Path) -> None:
    carried(here, "blds_table1")
    run = ("run", "carried.json", "--data", "sklearn:iris", "--trials", "2", "--json")
    assert document(spacelang(*run, folder=tmp_path / "elsewhere"))["trials"] == 2


def test_messages_speak_of_the_lines_of_the_text(here: Here) -> None:
    path = carried(here, "sized.space", "--bind", "n_features=4")
    member: dict[str, Any] = {"selector": "none", "estimator": "KNeighborsClassifier"}
    excluded = {**member, "estimator.n_neighbors": 2, "estimator.weights": "uniform"}
    Path("one.json").write_text(json.dumps(excluded), encoding="utf-8")
    text, compiled = (here("contains", each, "one.json") for each in ("sized.space", path))
    assert compiled.returncode == 1
    assert compiled.stdout == text.stdout
    assert "sized.space:4:1" in compiled.stdout
    reports = [json.loads(here("compile", each, "-t", "blds", "-f", "json").stdout) for each in ("sized.space", path)]
    assert reports[0]["report"] == reports[1]["report"]


def test_bindings_of_a_compiled_space(here: Here) -> None:
    path = carried(here, "sized.space", "--bind", "n_features=4")
    assert here("check", path, "--bind", "n_features=4", "--bind", "n_classes=3").returncode == 0
    other = here("stats", path, "--bind", "n_features=5")
    assert other.returncode == 1
    assert "error[SL019]: `n_features` cannot be 5: the space was compiled for `n_features` = 4" in other.stderr
    space = sl.load(path)
    assert space.bound == {"n_features": 4}
    assert space.bind(n_features=4).checked == space.checked
    with pytest.raises(sl.SpaceError, match="SL019"):
        space.bind(n_features=3)


def test_a_space_without_bindings_warns_and_runs(here: Here) -> None:
    path = carried(here, "sized.space")
    ended = here("run", path, "--data", "sklearn:iris", "--trials", "3", "--json")
    assert ended.returncode == 0
    assert "warning[SL020]" in ended.stderr
    assert sl.load(path).bound == {"n_features": None}
    features, target = load_iris(return_X_y=True, as_frame=True)
    assert len(sl.search(path, features, target, trials=2).trials) == 2


def test_a_compiled_space_has_no_layout(here: Here) -> None:
    path = carried(here, "blds_table1")
    before = Path(path).read_text()
    ended = here("fmt", path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"`{path}` is a compiled space, not the text of one" in ended.stderr
    assert Path(path).read_text() == before


def test_other_json_is_read_as_before(here: Here) -> None:
    for text in ('{"a": 1}', '[{"target": 1, "definition": 2}]', '{"x": {"target": 1, "definition": 2}}'):
        Path("other.json").write_text(text, encoding="utf-8")
        assert "error[SL101]" in here("check", "other.json").stderr


def test_packages_have_to_be_allowed(here: Here) -> None:
    Path("boosted.space").write_text("use lightgbm\nstage estimator = GaussianNB | LGBMClassifier\n", encoding="utf-8")
    path = carried(here, "boosted.space", "--allow", "lightgbm")
    refused = here("check", path)
    assert refused.returncode == 1
    assert "error[SL208]: the package `lightgbm` is not allowed here" in refused.stderr
    assert here("check", path, "--allow", "lightgbm").returncode == 0


def test_a_stranger_names_no_code(here: Here) -> None:
    """What a text may not set or name, a document may not either."""
    path = carried(here, "blds_table1")
    naive, forest = '{"operator": "GaussianNB"}', '{"operator": "RandomForestClassifier"'
    for old, new, code in (
        (naive, '{"operator": "system", "library": "os"}', "SL208"),
        (naive, '{"operator": "GaussianNB", "library": "sklearn.naive_bayes"}', "SL209"),
        (naive, '{"operator": "GaussianNB", "fixed": {"priors": {"named": "eval"}}}', "SL009"),
        (naive, '{"operator": "GaussianNB", "fixed": {"sigma": 1}}', "SL301"),
        (forest, f'{forest}, "fixed": {{"n_jobs": 9}}', "SL304"),
        (forest, f'{forest}, "fixed": {{"n_estimators": 0}}', "SL302"),
    ):
        written = Path(path).read_text(encoding="utf-8")
        assert old in written
        Path("stranger.json").write_text(written.replace(old, new, 1), encoding="utf-8")
        ended = here("check", "stranger.json")
        assert ended.returncode == 1
        assert f"error[{code}]" in ended.stderr, (new, ended.stderr)
