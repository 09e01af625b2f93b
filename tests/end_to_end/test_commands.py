"""Every command as a user starts it, with what it prints for people and for programs."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import TIMEOUT, document, environment, spacelang, write_spaces

BUNDLED = "blds_table1"

STATS_KEYS = [
    "space",
    "stages",
    "structures",
    "algorithms",
    "hyperparameters",
    "by_algorithm",
    "conditions",
    "constraints",
    "configurations",
]
RUN_KEYS = {"loss", "metric", "configuration", "trials", "failed", "seconds", "optimizer", "seed", "store", "incumbent"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("user")
    write_spaces(made)
    rows = [f"{n % 7},{n % 5},{'yes' if n % 2 else 'no'},{n % 3}" for n in range(60)]
    (made / "data.csv").write_text("\n".join(["a,b,label,c", *rows]) + "\n", encoding="utf-8")
    return made


class TestCheck:
    def test_a_sound_space_has_no_problems(self, folder: Path) -> None:
        ended = spacelang("check", BUNDLED, "toy.space", folder=folder)
        assert ended.returncode == 0
        assert ended.stdout.splitlines() == [f"{BUNDLED}: no problems", "toy.space: no problems"]
        assert ended.stderr == ""

    def test_mistakes_go_to_standard_error(self, folder: Path) -> None:
        ended = spacelang("check", "wrong.space", "toy.space", folder=folder)
        assert ended.returncode == 1
        assert ended.stdout.splitlines() == ["toy.space: no problems"]
        assert "error[SL201]" in ended.stderr
        assert "wrong.space:2:19" in ended.stderr
        assert "did you mean `GaussianNB`?" in ended.stderr

    def test_as_json(self, folder: Path) -> None:
        spaces = document(spacelang("check", "wrong.space", "toy.space", "--json", folder=folder), 1)["spaces"]
        assert [space["space"] for space in spaces] == ["wrong.space", "toy.space"]
        (found,) = spaces[0]["diagnostics"]
        assert (found["code"], found["line"], found["column"]) == ("SL201", 2, 19)
        assert spaces[1]["diagnostics"] == []

    def test_the_standard_input(self, folder: Path) -> None:
        wrong = spacelang("check", "-", "toy.space", folder=folder, stdin="stage estimator = GausianNB\n")
        assert (wrong.returncode, wrong.stdout) == (1, "toy.space: no problems\n")
        assert "<stdin>:1:19" in wrong.stderr
        importing = 'import "toy.space" as toy\nstage estimator = GaussianNB\npipeline = toy.scaler -> estimator\n'
        assert spacelang("check", "-", folder=folder, stdin=importing).stdout == "<stdin>: no problems\n"
        stated = spacelang("stats", "-", "--json", folder=folder, stdin=importing)
        assert document(stated)["structures"] == 3
        compiled = spacelang("compile", "-", "-t", "random", "-f", "json", folder=folder, stdin=importing).stdout
        found = document(spacelang("diff", "-", "toy.space", "--json", folder=folder, stdin=compiled))
        assert (found["first"], found["structures"]["first"]) == ("<stdin>", 3)
        for arguments in (("check", "-", "-"), ("diff", "-", "-"), ("contains", "-", "-")):
            twice = spacelang(*arguments, folder=folder, stdin=importing)
            assert (twice.returncode, "can be read only once" in twice.stderr) == (2, True)


class TestStats:
    def test_for_people(self, folder: Path) -> None:
        ended = spacelang("stats", "toy.space", folder=folder)
        assert ended.returncode == 0
        assert "scaler 3 x estimator 3" in ended.stdout
        assert "3 (1 continuous, 2 discrete)" in ended.stdout
        assert "infinitely many" in ended.stdout
        assert all(line == line.rstrip() for line in ended.stdout.splitlines())

    def test_as_json(self, folder: Path) -> None:
        found = document(spacelang("stats", "toy.space", "--json", folder=folder))
        assert list(found) == STATS_KEYS
        assert found["stages"] == [{"name": "scaler", "alternatives": 3}, {"name": "estimator", "alternatives": 3}]
        assert found["structures"] == 8
        assert found["algorithms"] == 5
        assert found["hyperparameters"] == {"total": 3, "continuous": 1, "discrete": 2}
        assert found["by_algorithm"]["KNeighborsClassifier"] == {"continuous": 0, "discrete": 2}
        assert found["constraints"] == 1
        assert found["configurations"] is None

    def test_the_bundled_space_of_the_paper(self, folder: Path) -> None:
        found = document(spacelang("stats", BUNDLED, "--json", folder=folder))
        assert (found["structures"], found["algorithms"], found["configurations"]) == (3072, 27, 3072)


class TestCompile:
    def test_as_json(self, folder: Path) -> None:
        found = document(spacelang("compile", BUNDLED, "--target", "blds", "--format", "json", folder=folder))
        assert (found["target"], found["space"], found["leaves"]) == ("blds", BUNDLED, 3072)
        assert found["neighbours"]["1"] == 26
        assert found["neighbours"]["2"] == 252
        assert [len(layer["alternatives"]) for layer in found["layers"]] == [8, 8, 6, 8]
        assert all({"construct", "status", "line", "message"} <= entry.keys() for entry in found["report"])

    def test_as_text_with_the_report(self, folder: Path) -> None:
        ended = spacelang("compile", "toy.space", "-t", "blds", folder=folder)
        assert ended.returncode == 0
        assert "8 leaves" in ended.stdout
        assert "how the target represents the space:" in ended.stdout
        assert "(line 7)" in ended.stdout

    def test_as_a_graph(self, folder: Path) -> None:
        ended = spacelang("compile", "toy.space", "-t", "blds", "-f", "dot", folder=folder)
        assert ended.returncode == 0
        assert ended.stdout.startswith('digraph "toy" {')
        assert ended.stdout.rstrip().endswith("}")

    def test_into_a_file(self, folder: Path) -> None:
        ended = spacelang("compile", "toy.space", "-t", "blds", "-f", "json", "-o", "out put.json", folder=folder)
        assert (ended.returncode, ended.stdout) == (0, "")
        assert json.loads((folder / "out put.json").read_text(encoding="utf-8"))["leaves"] == 8


@pytest.mark.parametrize("command", ["targets", "optimizers"])
def test_what_there_is_comes_with_options(command: str, folder: Path) -> None:
    found = document(spacelang(command, "--json", folder=folder))
    assert "blds" in [entry["name"] for entry in found]
    assert all({"name", "description", "options"} <= entry.keys() for entry in found)
    for option in (option for entry in found for option in entry["options"]):
        assert option.keys() == {"name", "type", "default", "description"}
    ended = spacelang(command, folder=folder)
    assert ended.returncode == 0
    assert all(entry["name"] in ended.stdout and entry["description"] in ended.stdout for entry in found)
    assert len(ended.stdout.splitlines()) == len(found) + 2
    (alone,) = document(spacelang(command, "blds", "--json", folder=folder))
    assert alone in found
    shown = spacelang(command, "blds", folder=folder).stdout
    assert all(f"    {option['name']} = " in shown for option in alone["options"])
    unknown = spacelang(command, "bldss", folder=folder)
    assert unknown.returncode == 2
    assert "did you mean `blds`?" in unknown.stderr


def test_options_of_optimizers_are_those_of_the_interface(folder: Path) -> None:
    found = {entry["name"]: entry for entry in document(spacelang("optimizers", "--json", folder=folder))}
    assert {"disc", "b", "eta", "log_const"} <= {option["name"] for option in found["blds"]["options"]}
    assert "random" in found


def test_spaces_lists_what_is_bundled(folder: Path) -> None:
    found = {entry["name"]: entry for entry in document(spacelang("spaces", "--json", folder=folder))}
    assert found[BUNDLED]["structures"] == 3072
    ended = spacelang("spaces", folder=folder)
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(found)


class TestSample:
    def test_the_same_seed_gives_the_same_members(self, folder: Path) -> None:
        sample = ("sample", "toy.space", "-n", "5", "--seed")
        first, again = (spacelang(*sample, "1", folder=folder, afresh=True) for _ in range(2))
        assert first.returncode == 0
        assert first.stdout == again.stdout
        assert first.stdout != spacelang(*sample, "2", "--json", folder=folder).stdout
        assert len(first.stdout.splitlines()) == 5
        for line in first.stdout.splitlines():
            assert list(json.loads(line)) == sorted(json.loads(line))
            assert spacelang("contains", "toy.space", "-", folder=folder, stdin=line).stdout == "yes\n"

    def test_none_at_all(self, folder: Path) -> None:
        ended = spacelang("sample", "toy.space", "-n", "0", folder=folder)
        assert (ended.returncode, ended.stdout) == (0, "")


def test_default_is_a_member(folder: Path) -> None:
    ended = spacelang("default", "toy.space", folder=folder)
    assert json.loads(ended.stdout) == {"estimator": "LogisticRegression", "estimator.C": 1.0, "scaler": "none"}
    assert spacelang("default", "toy.space", "--json", folder=folder).stdout == ended.stdout
    (folder / "default.json").write_text(ended.stdout, encoding="utf-8")
    assert spacelang("contains", "toy.space", "default.json", folder=folder).stdout == "yes\n"


class TestContains:
    FORBIDDEN = (
        '{"scaler": "none", "estimator": "KNeighborsClassifier",'
        ' "estimator.n_neighbors": 3, "estimator.weights": "uniform"}'
    )

    def test_the_line_that_forbids_is_named(self, folder: Path) -> None:
        ended = spacelang("contains", "toy.space", "-", folder=folder, stdin=self.FORBIDDEN)
        assert ended.returncode == 1
        assert ended.stdout.startswith("no: ")
        assert "forbid scaler is none" in ended.stdout
        assert "toy.space:7:1" in ended.stdout

    def test_as_json(self, folder: Path) -> None:
        found = document(spacelang("contains", "toy.space", "-", "--json", folder=folder, stdin=self.FORBIDDEN), 1)
        assert found["member"] is False
        assert found["line"] == 7
        member = '{"scaler": "none", "estimator": "DecisionTreeClassifier"}'
        found = document(spacelang("contains", "toy.space", "-", "--json", folder=folder, stdin=member))
        assert found == {"member": True, "key": None, "reason": None, "line": None}

    @pytest.mark.parametrize(
        ("configuration", "telling"),
        [
            ('{"scaler": "none"}', "`estimator` is missing"),
            ('{"scaler": "non", "estimator": "DecisionTreeClassifier"}', "`non` is not an alternative of `scaler`"),
            ('{"scaler": "none", "estimator": "DecisionTreeClassifier", "scalar": 1}', "did you mean `scaler`?"),
            ('{"scaler": "none", "estimator": "LogisticRegression", "estimator.C": 1000}', "float[0.01, 100.0] log"),
            ('{"scaler": "none", "estimator": "LogisticRegression", "estimator.C": NaN}', "`nan` is not a value"),
            ('{"scaler": ["none"], "estimator": "DecisionTreeClassifier"}', "is not an alternative of `scaler`"),
        ],
    )
    def test_the_reason_is_told(self, configuration: str, telling: str, folder: Path) -> None:
        ended = spacelang("contains", "toy.space", "-", folder=folder, stdin=configuration)
        assert ended.returncode == 1
        assert telling in ended.stdout


MAX_LINES = 25  # Of the answer of a run, without code


class TestRun:
    def test_for_people(self, folder: Path) -> None:
        run = ("run", "tiny.space", "--data", "sklearn:breast_cancer", "--trials", "3", "--ensemble", "16")
        ended = spacelang(*run, "--test", "0.3", "--code", folder=folder)
        assert ended.returncode == 0
        answer, mark, _ = ended.stdout.partition("\n# the pipeline of trial ")
        assert mark
        assert answer.count("\n") <= MAX_LINES
        assert answer.startswith("Best roc_auc, mean over 5 folds: 0.")
        assert "\nTest set (171 rows): roc_auc 0." in answer
        assert "\n3 trials with auto, seed 0 (" in answer
        assert "\nNext:\n  spacelang export " in answer
        code = ended.stdout[ended.stdout.index("from sklearn.") :]
        compile(code, "printed.py", "exec")
        assert "pipeline = Pipeline(" in code

    def test_as_json(self, folder: Path) -> None:
        arguments = ("run", "tiny.space", "--data", "data.csv", "--target-column", "label", "--trials", "4")
        options = ("--optimizer", "blds", "--set", "disc=2", "--set", "b=20", "--seed", "7", "--json")
        found = document(spacelang(*arguments, *options, folder=folder))
        assert found.keys() >= RUN_KEYS
        assert (found["metric"], found["optimizer"], found["seed"]) == ("roc_auc", "blds", 7)
        assert (found["trials"], found["failed"]) == (4, 0)
        assert found["configuration"].keys() == {"scaler", "estimator"}
        assert all(point.keys() == {"seconds", "trial", "loss"} for point in found["incumbent"])
        again = document(spacelang(*arguments, *options, folder=folder))
        assert (again["loss"], again["configuration"]) == (found["loss"], found["configuration"])

    def test_what_is_not_searched_is_said_before_and_after(self, folder: Path) -> None:
        options = ("--data", "sklearn:iris", "--workers", "0", "--optimizer", "blds")
        ended = spacelang("run", "toy.space", *options, "--trials", "40", folder=folder)
        assert ended.stderr.startswith("note: the 3 hyperparameters of `toy` are kept at their defaults\n")
        assert (
            "= help: `--optimizer auto` searches the hyperparameters, `--set hyperparameters=sample` draws"
            in ended.stderr
        )
        assert "Not searched: the 3 hyperparameters of `toy` are kept at their defaults" in ended.stdout
        assert "every pipeline was tried, but only with its default hyperparameters" in ended.stdout
        found = document(spacelang("run", "toy.space", *options, "--trials", "3", "--json", folder=folder))
        kept = {key for key in found["configuration"] if "." in key}
        assert (found["hyperparameters"], set(found["at_defaults"])) == ("default", kept)

    def test_without_a_name_the_optimizer_searches_what_the_space_has(self, folder: Path) -> None:
        options = ("--data", "sklearn:iris", "--workers", "0", "--trials", "3", "--json")
        ended = spacelang("run", "toy.space", *options, folder=folder)
        found = document(ended)
        assert ended.stderr == ""
        assert (found["optimizer"], found["hyperparameters"], found["trials"]) == ("auto", "searched", 3)
        assert document(spacelang("run", "tiny.space", *options, folder=folder))["optimizer"] == "auto"

    def test_a_time_budget_a_metric_and_an_exhausted_space(self, folder: Path) -> None:
        options = ("--time", "60s", "--optimizer", "random", "--metric", "accuracy", "--json")
        found = document(spacelang("run", "tiny.space", "--data", "sklearn:iris", *options, folder=folder))
        assert (found["metric"], found["trials"], found["ended"]) == ("accuracy", 4, "exhausted")
        refit = found["refit"]
        assert (refit["loss"], refit["configuration"], refit["rows"]) == (found["loss"], found["configuration"], 150)
        assert found["passed_over"] == []
        assert found["seconds"] < 60
        losses = [point["loss"] for point in found["incumbent"]]
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] == found["loss"]

    def test_rows_that_no_trial_sees(self, folder: Path) -> None:
        arguments = (
            "run",
            "tiny.space",
            "--data",
            "sklearn:iris",
            "--trials",
            "2",
            "--store",
            "run.db",
            "--test",
            "0.2",
        )
        found = document(spacelang(*arguments, "--json", folder=folder))
        assert found["refit"]["rows"] == 120
        score = found["test"]
        assert score["rows"] == 30
        assert score["low"] <= score["loss"] <= score["high"]
        (kept,) = document(spacelang("runs", "--json", ".", folder=folder))
        assert kept["test"] == score
        again = spacelang(*arguments, "--resume", folder=folder)
        shown = [f"{1 - score[name]:.4g}" for name in ("loss", "high", "low")]
        assert f"\nTest set (30 rows): balanced_accuracy {shown[0]} [{shown[1]}, {shown[2]}]\n" in again.stdout
        other = spacelang(*arguments[:-1], "0.3", "--resume", folder=folder)
        assert other.returncode == 1
        assert "`test`: 30 rows, content " in other.stderr

    def test_a_time_budget_ends_a_run(self, folder: Path) -> None:
        options = ("--search-time", "1s", "--optimizer", "random", "--json")
        found = document(spacelang("run", "toy.space", "--data", "sklearn:iris", *options, folder=folder))
        assert found["ended"] == "budget"
        assert found["trials"] > 0

    def test_a_time_includes_everything(self, folder: Path) -> None:
        options = ("--optimizer", "random", "--time", "10s", "--test", "0.2", "--ensemble", "8", "--json")
        started = time.monotonic()
        found = document(spacelang("run", "toy.space", "--data", "sklearn:digits", *options, folder=folder))
        assert time.monotonic() - started < 13
        assert found["ended"] == "budget"
        assert found["trials"] > 0
        assert found["test"]["loss"] is not None
        assert found["refit"]["is_trial_model"] == found["time_note"].startswith("the best pipeline is")
        taken = [each["is_trial_model"] for each in found["ensemble"]["members"]]
        assert any(taken) == ("of the ensemble" in found["time_note"])
        shown = document(spacelang("show", found["store"], "--json", folder=folder))
        assert shown["time_note"] == found["time_note"]

    def test_regression(self, folder: Path) -> None:
        options = ("--data", "sklearn:diabetes", "--trials", "8", "--json")
        assert document(spacelang("run", "lines.space", *options, folder=folder))["metric"] == "r2"

    def test_status_3_where_every_trial_fails(self, folder: Path) -> None:
        (folder / "failing.space").write_text("stage reducer = PCA { n_components = 50 }\nstage e = GaussianNB\n")
        arguments = ("run", "failing.space", "--data", "sklearn:iris", "--trials", "3")
        ended = spacelang(*arguments, folder=folder)
        assert ended.returncode == 3
        assert "No trial succeeded." in ended.stdout
        assert "n_components=50" in ended.stdout
        found = document(spacelang(*arguments, "--json", folder=folder), 3)
        assert (found["loss"], found["configuration"], found["incumbent"]) == (None, None, [])
        assert found["failed"] == found["trials"] > 0

    INTERRUPTED = """
import os, signal
from spacelang.cli import main
from spacelang.runtime.evaluation.objective import DataObjective
evaluate, seen = DataObjective.evaluate, []
def interrupted(self, request):
    seen.append(request)
    if len(seen) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return evaluate(self, request)
DataObjective.evaluate = interrupted
main()
"""

    @pytest.mark.parametrize("as_json", [False, pytest.param(True, marks=pytest.mark.full)])
    def test_ctrl_c_keeps_what_was_found(self, as_json: bool, folder: Path) -> None:
        arguments = ("run", "toy.space", "--data", "sklearn:iris", "--time", "60s", "--optimizer", "random")
        arguments += ("--workers", "0")
        ended = spacelang(*arguments, *(["--json"] if as_json else []), folder=folder, code=self.INTERRUPTED)
        if as_json:
            found = document(ended, 130)
            assert (found["trials"], found["ended"]) == (2, "interrupted")
            assert found["loss"] is not None
        else:
            assert ended.returncode == 130
            assert "\nInterrupted: the final fit was skipped.\n" in ended.stdout
            assert "\n  estimator  " in ended.stdout
            assert ended.stdout.splitlines()[-1].startswith("  spacelang resume runs/toy-")

    def test_ctrl_c_before_the_first_trial(self, folder: Path) -> None:
        code = "import signal; from spacelang import cli; import spacelang.runtime.data.loading as data\n"
        code += "data.load_dataset = lambda *_: signal.raise_signal(signal.SIGINT)\ncli.main()"
        ended = spacelang("run", "toy.space", "--data", "sklearn:iris", folder=folder, code=code)
        assert (ended.returncode, ended.stdout) == (130, "")


def test_explain(folder: Path) -> None:
    ended = spacelang("explain", "sl301", folder=folder)
    assert ended.returncode == 0
    assert ended.stdout.startswith("error[SL301]\n\nThe operator has no parameter of this name.")
    assert ended.stdout.count("SL301") == 1


class TestCatalogue:
    def test_all_of_it(self, folder: Path) -> None:
        ended = spacelang("catalogue", folder=folder)
        assert ended.returncode == 0
        assert "scikit-learn" in ended.stdout.splitlines()[0]
        found = document(spacelang("catalogue", "--json", folder=folder))
        assert {"catalogue", "version", "installed", "operators"} <= found.keys()
        assert "PCA" in found["operators"]

    def test_one_operator(self, folder: Path) -> None:
        ended = spacelang("catalogue", "PCA", folder=folder)
        assert "svd_solver = auto: one of" in ended.stdout
        found = document(spacelang("catalogue", "PCA", "--json", folder=folder))
        assert found["roles"] == ["transformer"]
        assert {"name": "whiten", "default": "false", "expected": "`true` or `false`"} in found["parameters"]

    def test_refreshed_into_a_file(self, folder: Path) -> None:
        ended = spacelang("catalogue", "--refresh", "-o", "here/now.json", folder=folder)
        assert ended.returncode == 0, ended.stderr
        head = (folder / "here" / "now.json").read_text(encoding="utf-8").splitlines()[0]
        assert '"distribution":"scikit-learn"' in head


def test_version_and_help(folder: Path) -> None:
    assert spacelang("--version", folder=folder).stdout.startswith("spacelang ")
    for arguments in (["--help"], ["-h"], ["run", "--help"], ["run", "-h"]):
        ended = spacelang(*arguments, folder=folder)
        assert ended.returncode == 0
        assert ended.stdout.startswith("Usage: spacelang")


@pytest.mark.parametrize("arguments", [["sample", "toy.space", "-n", "20000"], ["catalogue"], ["explain", "SL301"]])
def test_a_reader_that_has_seen_enough(arguments: list[str], folder: Path) -> None:
    command = [sys.executable, "-m", "spacelang", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(TIMEOUT) == 0


def test_why_not_says_all_reasons_and_the_smallest_change(folder: Path) -> None:
    given = {"scaler": "none", "estimator": "KNeighborsClassifier", "estimator.n_neighbors": 30}
    (folder / "mine.json").write_text(json.dumps(given), encoding="utf-8")
    told = spacelang("why-not", "toy.space", "mine.json", folder=folder)
    assert told.returncode == 1
    assert "toy.space:5:" in told.stdout
    assert "  estimator.n_neighbors = 20, not 30\n" in told.stdout
    assert '  scaler = StandardScaler, not "none"\n' in told.stdout
    assert "  estimator.weights = uniform\n" in told.stdout
    found = document(spacelang("why-not", "toy.space", "mine.json", "--json", folder=folder), status=1)
    assert {"key": "estimator.n_neighbors", "given": 30, "needed": 20} in found["changes"]
    (folder / "mine.json").write_text(json.dumps(found["nearest"]), encoding="utf-8")
    member = spacelang("why-not", "toy.space", "mine.json", folder=folder)
    assert (member.returncode, member.stdout) == (0, "the configuration is a member of the space\n")
