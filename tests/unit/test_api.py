"""The Python interface, as a program uses it."""

import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cheap import NAMES
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import spacelang as sl
from spacelang.plugins import OptionError, UnknownPluginError
from spacelang.runtime.errors import DataError, MetricError
from spacelang.runtime.storage.trial_columns import TABLE_COLUMNS

pytestmark = pytest.mark.usefixtures("quick_zygotes")

TOY = """\
space toy
stage scaler = none | StandardScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 100] log = 1 }
  | KNeighborsClassifier { n_neighbors : int[1, 20] = 5 }
forbid scaler is none and estimator is KNeighborsClassifier
"""
TINY = "space tiny\nstage scaler = none | StandardScaler\nstage estimator = GaussianNB | DecisionTreeClassifier\n"


@pytest.fixture(scope="module")
def toy() -> sl.Space:
    return sl.parse(TOY)


@pytest.fixture(scope="module")
def tiny() -> sl.Space:
    return sl.parse(TINY)


class TestReading:
    def test_a_bundled_name_a_path_as_text_and_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "toy.space"
        path.write_text(TOY, encoding="utf-8")
        assert sl.load("blds_table1").structures == 3072
        assert sl.load(str(path)).name == sl.load(path).name == "toy"

    def test_an_error_holds_and_shows_all_diagnostics(self) -> None:
        with pytest.raises(sl.SpaceError) as raised:
            sl.parse("stage scaler = StandardScalar\nstage e = GausianNB\n", "mine.space")
        assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["SL201", "SL201"]
        assert "mine.space:2:11" in str(raised.value)
        assert "\x1b" not in str(raised.value)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(sl.SpaceError) as raised:
            sl.load(tmp_path / "nowhere.space")
        assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["SL001"]

    def test_no_path_at_all(self) -> None:
        with pytest.raises(TypeError):
            sl.load(3)  # type: ignore[arg-type]


class TestSpace:
    def test_what_is_in_it(self, toy: sl.Space) -> None:
        assert (toy.name, toy.structures, toy.configurations, toy.warnings) == ("toy", 3, None, ())
        assert toy.statistics.to_json()["structures"] == 3
        assert sl.parse(TINY).configurations == 4
        assert repr(toy).startswith("Space toy")

    def test_the_default_is_a_member(self, toy: sl.Space) -> None:
        assert toy.default().to_dict() == {"estimator": "LogisticRegression", "estimator.C": 1.0, "scaler": "none"}
        assert toy.default() in toy

    def test_samples_are_members_and_equal_for_equal_seeds(self, toy: sl.Space) -> None:
        drawn = toy.sample(20, seed=1)
        assert len(drawn) == 20
        assert all(configuration in toy for configuration in drawn)
        assert drawn == toy.sample(20, seed=1)
        assert drawn != toy.sample(20, seed=2)
        assert len(toy.sample()) == 1

    def test_membership_takes_any_mapping(self, toy: sl.Space) -> None:
        given: dict[str, Any] = {"scaler": "none", "estimator": "LogisticRegression", "estimator.C": np.float64(2)}
        assert given in toy
        neighbours = {"scaler": "StandardScaler", "estimator": "KNeighborsClassifier"}
        assert {**neighbours, "estimator.n_neighbors": np.int64(3)} in toy
        assert {**neighbours, "estimator.n_neighbors": 3.5} not in toy
        assert {**neighbours, "estimator.n_neighbors": True} not in toy
        assert {**neighbours, "estimator.n_neighbors": [3]} not in toy
        assert {} not in toy

    def test_why_something_is_no_member(self, toy: sl.Space) -> None:
        given = {"scaler": "none", "estimator": "KNeighborsClassifier", "estimator.n_neighbors": 3}
        excluded = toy.exclusion(given)
        assert excluded is not None
        assert "forbid scaler is none" in excluded.reason
        assert excluded.span.line == 6
        assert toy.exclusion(toy.default()) is None

    def test_a_value_that_no_configuration_has(self, toy: sl.Space) -> None:
        with pytest.raises(TypeError, match="not a value of a configuration"):
            toy.exclusion({"scaler": {"a": 1}})

    def test_compiling_has_the_way_back(self, toy: sl.Space) -> None:
        lowered = toy.compile("blds")
        assert lowered.form.leaf_count == 3
        for configuration in toy.sample(10, seed=3):
            assert lowered.decode(lowered.encode(configuration)) == configuration

    def test_an_unknown_target_and_option(self, toy: sl.Space) -> None:
        with pytest.raises(UnknownPluginError):
            toy.compile("bldz")
        with pytest.raises(OptionError):
            toy.compile("blds", speed=1)

    def test_building_gives_an_unfitted_pipeline(self, toy: sl.Space) -> None:
        configuration = {"scaler": "StandardScaler", "estimator": "KNeighborsClassifier", "estimator.n_neighbors": 3}
        pipeline = toy.build(configuration)
        assert [name for name, _ in pipeline.steps] == ["scaler", "estimator"]
        assert pipeline[-1].n_neighbors == 3
        with pytest.raises(NotFittedError):
            check_is_fitted(pipeline[-1])

    def test_building_what_is_no_member_says_why(self, toy: sl.Space) -> None:
        with pytest.raises(ValueError, match="`estimator` is missing"):
            toy.build({"scaler": "none"})

    def test_the_random_state_is_handed_on(self, tiny: sl.Space) -> None:
        tree = tiny.build({"scaler": "none", "estimator": "DecisionTreeClassifier"}, random_state=7)
        assert tree[-1].random_state == 7


class TestSearch:
    def test_a_data_frame_with_labels_as_words(self, toy: sl.Space) -> None:
        frame, codes = load_iris(return_X_y=True, as_frame=True)
        labels = codes.map({0: "setosa", 1: "versicolor", 2: "virginica"})
        result = sl.search(toy, frame, labels, optimizer="random", trials=6, seed=0)
        assert len(result.trials) == 6
        assert [result.trials.index.name, *result.trials.columns] == [
            *(each.name for each in TABLE_COLUMNS),
            *sorted({f"param_{key}" for each in result.configurations for key in each}),
        ]
        assert list(result.trials.index) == [1, 2, 3, 4, 5, 6]
        assert list(result.incumbent.columns) == ["seconds", "trial", "score", "loss"]
        assert result.loss == result.trials["loss"].min() == result.incumbent["loss"].iloc[-1]
        assert result.best_configuration in toy
        assert set(result.best_pipeline.predict(frame)) <= {"setosa", "versicolor", "virginica"}
        assert result.best_pipeline.score(frame, labels) > 0.8

    def test_isolated_trials_are_those_of_any_search(self, tiny: sl.Space) -> None:
        features, labels = load_iris(return_X_y=True)
        found = [
            sl.search(tiny, features, labels, trials=4, optimizer="random", isolate=each) for each in (True, False)
        ]
        one, other = (each.trials[["loss", "status"]] for each in found)
        assert one.equals(other)
        assert found[0].configurations == found[1].configurations
        with pytest.raises(ValueError, match="isolated in worker processes only"):
            sl.search(tiny, features, labels, trials=4, workers=0, isolate=True)

    def test_arrays_and_options(self, tiny: sl.Space) -> None:
        features, labels = load_iris(return_X_y=True)
        options = {"disc": 2, "b": 30, "collapse_at_full": True}
        found = [
            sl.search(tiny, features, labels, optimizer="blds", optimizer_options=options, time=30, trials=8, seed=1)
            for _ in range(2)
        ]
        assert found[0].loss == found[1].loss
        assert found[0].configurations == found[1].configurations
        assert found[0].best_pipeline.predict(features).shape == (150,)

    def test_a_run_ends_with_the_space(self, tiny: sl.Space) -> None:
        features, labels = load_iris(return_X_y=True)
        result = sl.search(tiny, features, labels, optimizer="random", metric="accuracy")
        assert len(result.trials) == 4

    def test_a_path_is_a_space_too(self, tmp_path: Path) -> None:
        path = tmp_path / "tiny.space"
        path.write_text(TINY, encoding="utf-8")
        features, labels = load_iris(return_X_y=True)
        assert sl.search(path, features, labels, trials=1).loss is not None

    def test_nothing_that_succeeded(self) -> None:
        space = sl.parse("stage reducer = PCA { n_components = 50 }\nstage e = GaussianNB\n")
        features, labels = load_iris(return_X_y=True)
        with pytest.raises(
            sl.NoSuccessError, match=r"no trial succeeded: the only trial failed: .*n_components=50"
        ) as caught:
            sl.search(space, features, labels, optimizer="random", trials=2)
        result = caught.value.result
        assert (result.best_configuration, result.best_pipeline, result.loss) == (None, None, None)
        assert set(result.trials["status"]) == {"error"}
        assert "n_components=50" in result.trials["reason"].iloc[0]
        assert len(result.incumbent) == 0

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"optimizer": "bdls"}, UnknownPluginError),
            ({"optimizer_options": {"disk": 1}}, OptionError),
            ({"optimizer_options": {"disc": 0}}, OptionError),
            ({"metric": "acuracy"}, MetricError),
            ({"time": "nonsense"}, ValueError),
            ({"time": -1}, ValueError),
            ({"trials": 0}, ValueError),
            ({"target": [1] * 150}, DataError),
            ({"target": [0, 1]}, DataError),
            ({"features": [1, 2, 3]}, DataError),
            ({"space": "nowhere.space"}, sl.SpaceError),
        ],
    )
    def test_mistakes_raise_before_anything_runs(
        self, change: dict[str, Any], error: type[Exception], tiny: sl.Space
    ) -> None:
        features, labels = load_iris(return_X_y=True)
        with pytest.raises(error):
            sl.search(**{"space": tiny, "features": features, "target": labels, "trials": 1} | change)


class TestWhatIsSearched:
    def test_it_is_in_the_result(self, toy: sl.Space) -> None:
        features, labels = load_iris(return_X_y=True)
        asked = {"trials": 6, "workers": 0}
        kept = sl.search(toy, features, labels, optimizer="blds", **asked)
        assert kept.hyperparameters == "default"
        assert kept.at_defaults == [key for key in kept.best_configuration or () if "." in key]
        searched = sl.search(toy, features, labels, **asked)
        assert (searched.hyperparameters, searched.at_defaults) == ("searched", [])
        assert len({*searched.configurations}) >= 5, "one may go on to all rows"

    @pytest.mark.full
    def test_a_thousand_trials_of_one_pipeline_are_a_thousand_configurations(self) -> None:
        space = sl.load("boasf_random_forest")
        asked = [trial.configuration for trial in told(sl.ask_and_tell(space, trials=1_000))]
        assert len(set(asked)) == 1_000


def told(asking: Iterable[sl.Suggestion]) -> Iterator[sl.Suggestion]:
    for trial in asking:
        trial.tell(0.5)
        yield trial


class TestAskAndTell:
    @pytest.mark.parametrize("optimizer", ["blds", "random"])
    def test_a_black_box_is_asked_until_the_space_is_exhausted(self, optimizer: str, tiny: sl.Space) -> None:
        asked = []
        for trial in sl.ask_and_tell(tiny, optimizer=optimizer, seed=0):
            assert trial.configuration in tiny
            asked.append(trial.configuration)
            trial.tell(len(asked) / 10)
        assert len(set(asked)) == len(asked) == 4

    @pytest.mark.parametrize("optimizer", ["blds", "random"])
    @pytest.mark.parametrize("loss", [None, float("nan"), float("inf"), np.float64("nan")])
    def test_failures_do_not_end_it(self, loss: float | None, optimizer: str, tiny: sl.Space) -> None:
        trials = list(answered(tiny, optimizer, lambda _: loss))
        assert len(trials) == 4
        assert all(trial.answer is not None and trial.answer.loss is None for trial in trials)

    def test_an_infinite_space_goes_on(self, toy: sl.Space) -> None:
        assert len(list(islice(answered(toy, "random", lambda _: 0.5), 50))) == 50

    def test_it_ends_after_so_many_trials(self, toy: sl.Space, tiny: sl.Space) -> None:
        for space, number in ((toy, 7), (tiny, 4)):
            asked = []
            for trial in sl.ask_and_tell(space, optimizer="random", trials=7):
                asked.append(trial.configuration)
                trial.tell(0.5)
            assert len(asked) == number
        with pytest.raises(ValueError, match="the budget is 0 trials"):
            sl.ask_and_tell(toy, trials=0)

    def test_equal_seeds_ask_alike(self, toy: sl.Space) -> None:
        first, again = (
            [trial.configuration for trial in islice(answered(toy, "random", lambda _: 0.5), 10)] for _ in range(2)
        )
        assert first == again

    @pytest.mark.parametrize("optimizer", ["blds", "cmab", "lds", "mlds", "hyperband"])
    @pytest.mark.parametrize("scale", [None, 2.0])
    def test_the_unit_of_the_losses_changes_nothing(self, optimizer: str, scale: float | None, toy: sl.Space) -> None:
        """Nor does a failure ever come before a success, however large losses are."""

        def asked(times: int) -> list[sl.Configuration]:
            given = None if scale is None else scale * times
            configurations = []
            for trial in islice(sl.ask_and_tell(toy, optimizer=optimizer, scale=given), 12):
                configurations.append(trial.configuration)
                number = zlib.crc32(trial.configuration.identity.encode()) % 1024
                trial.tell(None if number % 3 == 0 else number / 1024 * times)
            return configurations

        assert asked(1) == asked(1000)

    @pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf")])
    def test_what_is_no_scale(self, scale: float, tiny: sl.Space) -> None:
        with pytest.raises(ValueError, match="a finite number above 0"):
            sl.ask_and_tell(tiny, scale=scale)

    @pytest.mark.parametrize("optimizer", NAMES)
    def test_a_search_that_begins_several_at_once_is_answered_one_by_one(self, optimizer: str, tiny: sl.Space) -> None:
        """`daub` begins a round of trials; none is asked for twice, and the space is exhausted."""
        asked = []
        for trial in sl.ask_and_tell(tiny, optimizer=optimizer):
            asked.append(trial.configuration)
            trial.tell(len(asked) / 10)
        assert len(asked) == len(set(asked)) == 4

    def test_a_trial_that_was_not_told(self, tiny: sl.Space) -> None:
        asking = sl.ask_and_tell(tiny)
        next(asking)
        with pytest.raises(RuntimeError, match="tell the loss"):
            next(asking)

    def test_a_trial_that_is_told_twice(self, tiny: sl.Space) -> None:
        trial = next(sl.ask_and_tell(tiny))
        trial.tell(0.5)
        with pytest.raises(RuntimeError, match="already been told"):
            trial.tell(0.4)

    def test_mistakes_are_told_at_once(self, tiny: sl.Space) -> None:
        with pytest.raises(UnknownPluginError):
            sl.ask_and_tell(tiny, optimizer="bdls")
        with pytest.raises(OptionError):
            sl.ask_and_tell(tiny, optimizer_options={"disk": 1})
        with pytest.raises(sl.SpaceError):
            sl.ask_and_tell("nowhere.space")


def answered(space: sl.Space, optimizer: str, box: Callable[[sl.Configuration], float | None]) -> Any:
    for trial in sl.ask_and_tell(space, optimizer=optimizer, seed=0):
        trial.tell(box(trial.configuration))
        yield trial


class TestPackage:
    def test_importing_it_imports_nothing_heavy(self) -> None:
        code = "import json, sys, spacelang; print(json.dumps(sorted(sys.modules)))"
        found = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        tops = {name.partition(".")[0] for name in found}
        assert not tops & {"sklearn", "pandas", "numpy", "scipy", "lark", "rich", "typer"}
        assert [name for name in found if name.startswith("spacelang.")] == []

    def test_asking_and_telling_needs_no_scikit_learn(self) -> None:
        code = "import sys, spacelang as sl\n"
        code += "for t in sl.ask_and_tell(sl.parse('stage e = PCA\\nstage f = GaussianNB | SVC')): t.tell(1)\n"
        code += "print('sklearn' in sys.modules, 'pandas' in sys.modules)"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
        assert ended.stdout.split() == ["False", "False"]

    def test_names_can_be_listed_and_are_there(self) -> None:
        assert dir(sl) == sorted(sl.__all__)
        assert all(getattr(sl, name) is not None for name in sl.__all__)

    def test_a_name_that_is_not_there(self) -> None:
        with pytest.raises(AttributeError, match="no attribute `serach`"):
            _ = sl.serach
