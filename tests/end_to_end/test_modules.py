"""The modules that `compile --format python` writes: each tool runs from its own, where there is no spacelang."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import environment, spacelang

import spacelang as sl

SPACE = """\
space small
stage scaler = none | StandardScaler
stage e =
  | GaussianNB
  | SVC { C : float[0.01, 100] log = 1, kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly }
  | DecisionTreeClassifier { max_depth : {none} | int[2, 9] = none }
forbid scaler is none and e is SVC
"""
TOOLS = ("optuna", "hyperopt", "sklearn", "configspace", "nevergrad")

HEAD = """
import json, sys, warnings
sys.modules["spacelang"] = None
sys.path.insert(0, "")
warnings.simplefilter("ignore")
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

features, labels = load_iris(return_X_y=True)
found = {}

def loss(module, configuration):
    return 1 - cross_val_score(module.build(configuration, 0), features, labels, cv=2).mean()

def keep(name, module, configuration, value):
    assert abs(loss(module, configuration) - value) < 1e-12, (name, configuration, value)
    found[name] = configuration
"""
RUNS = {
    "optuna": """
import optuna, by_optuna as module
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
study.enqueue_trial(module.default)
study.optimize(lambda trial: loss(module, module.suggest(trial)), n_trials=4)
keep("study", module, module.decode(study.best_params), study.best_value)
""",
    "hyperopt": """
import hyperopt, by_hyperopt as module
from numpy.random import default_rng
trials = module.trials([module.default])
options = {"algo": hyperopt.rand.suggest, "max_evals": 4, "rstate": default_rng(0), "show_progressbar": False}
best = hyperopt.fmin(lambda sample: loss(module, module.configuration(sample)), module.space, trials=trials, **options)
assert trials.vals[next(iter(module.default))][0] == module.default[next(iter(module.default))]
keep("fmin", module, module.decode(best), min(trials.losses()))
""",
    "sklearn": """
import by_sklearn as module
from sklearn.experimental import enable_halving_search_cv
from sklearn.model_selection import HalvingRandomSearchCV, RandomizedSearchCV
estimator, options = module.Estimator(random_state=0), {"random_state": 0, "cv": 2, "error_score": "raise"}
search = RandomizedSearchCV(estimator, module.dictionaries, n_iter=4, **options).fit(features, labels)
keep("RandomizedSearchCV", module, module.decode(search.best_params_), 1 - search.best_score_)
halving = HalvingRandomSearchCV(estimator, module.dictionaries, min_resources=60, **options).fit(features, labels)
assert set(halving.predict(features)) == {0, 1, 2}
found["HalvingRandomSearchCV"] = module.decode(halving.best_params_)
""",
    "configspace": """
import by_configspace as module
from smac import RandomFacade, Scenario
scenario = Scenario(module.space, deterministic=True, n_trials=4, output_directory="smac", seed=0)
facade = RandomFacade(scenario, lambda point, seed: loss(module, module.decode(point)), logging_level=40)
best = facade.optimize()
keep("SMAC", module, module.decode(best), facade.runhistory.get_cost(best))
""",
    "nevergrad": """
import nevergrad, by_nevergrad as module
optimizer = nevergrad.optimizers.OnePlusOne(parametrization=module.parametrization, budget=4)
optimizer.suggest(module.default)
best = optimizer.minimize(lambda values: loss(module, module.decode(values)))
keep("OnePlusOne", module, module.decode(best.value), best.loss)
""",
}
LAST = """
assert not [name for name in sys.modules if name.startswith("spacelang.")]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules of the space for all tools."""
    made = tmp_path_factory.mktemp("modules")
    (made / "small.space").write_text(SPACE, encoding="utf-8")
    for tool in TOOLS:
        options = ("--target", tool, "--format", "python", "-o", f"by_{tool}.py")
        assert spacelang("compile", "small.space", *options, folder=made).returncode == 0
    return made


def test_every_tool_runs_from_its_module_without_spacelang(folder: Path) -> None:
    command = [sys.executable, "-c", "\n".join([HEAD, *RUNS.values(), LAST])]
    ended = subprocess.run(command, cwd=folder, env=environment(), check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    assert [*found] == ["study", "fmin", "RandomizedSearchCV", "HalvingRandomSearchCV", "SMAC", "OnePlusOne"]
    space = sl.parse(SPACE)
    for name, configuration in found.items():
        assert space.build(configuration), name  # raises for what is no member


def test_a_module_says_why_it_builds_nothing_and_what_it_keeps_in_part(tmp_path: Path) -> None:
    (tmp_path / "abstract.space").write_text("abstract Secret { x : int[1, 3] = 2 }\nstage e = Secret\n")
    ended = spacelang("compile", "abstract.space", "--target", "optuna", "--format", "python", folder=tmp_path)
    assert "# This module has no `build(configuration)`: the abstract operator `Secret`" in ended.stdout
    assert "# defaults (lines 2, 1): optuna has no defaults" in ended.stdout
    compile(ended.stdout, "module", "exec")


@pytest.mark.parametrize("name", ["StringColumnSelector", "Step", "BaseEstimator"])
def test_an_operator_that_is_called_like_what_modules_have_is_not_built_by_another(name: str, tmp_path: Path) -> None:
    """It would hide that, or be hidden by it, and pipelines would be others in silence."""
    own = (
        "from sklearn.preprocessing import Binarizer\nclass NAME(Binarizer):\n    def __init__(self, k=1): self.k = k\n"
    )
    (tmp_path / "own_names.py").write_text(own.replace("NAME", name))
    text = f"use own_names\nstage a = columns(text: TfidfVectorizer, numeric: {name} {{ k : int[1, 3] = 2 }})\n"
    (tmp_path / "own.space").write_text(f"{text}stage e = GaussianNB\n")
    options = ("--allow", "own_names", "--target", "optuna", "--format", "python")
    ended = spacelang("compile", "own.space", *options, folder=tmp_path)
    assert (
        f"# This module has no `build(configuration)`: `{name}` of own_names has the name of a function or class"
        in ended.stdout
    )
