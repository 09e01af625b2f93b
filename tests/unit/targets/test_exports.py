"""The exports to hyperopt, optuna and scikit-learn: small worked examples, options, reports, what they cost."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hyperopt.base import Domain
from laws import crafted

import spacelang as sl
from spacelang.errors import MissingLibraryError, import_optional
from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import And, BranchTest
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS
from spacelang.targets._lowering import LoweringResult
from spacelang.testing.small_spaces import plain_space

TOOLS = ("hyperopt", "optuna", "sklearn")
SVM = """space svm
stage scaler = none | StandardScaler @weight(3)
stage estimator =
  | SVC {
      C      : float[1e-3, 1e3] log = 1.0 @prior(normal, 0, 1)
      kernel : {rbf, poly} = rbf
      degree : int[2, 4] = 3 when kernel == poly
    }
  | KNeighborsClassifier { n_neighbors : ordered {1, 3, 5} = 3, leaf_size : int[10, 30] step 10 = 30 }
forbid scaler is none and estimator is KNeighborsClassifier
"""


def form_of(name: str, space: Space, **options: Any) -> LoweringResult[Any, Any]:
    found = TARGETS.load(name)(**options).lower(Structures(space))
    assert isinstance(found, LoweringResult)
    return found


def svm(name: str, **options: Any) -> Any:
    return sl.parse(SVM).compile(name, **options)


def status(compiled: Any, construct: str) -> set[str]:
    return {entry.status.value for entry in compiled.report if entry.construct == construct}


def test_hyperopts_words_for_each_construct() -> None:
    written = svm("hyperopt").form.to_python()
    for line in (
        '_estimator_C = scope.max(0.001, scope.min(1000.0, hp.loguniform("estimator.C", log(0.001), log(1000.0))))',
        '_estimator_kernel = hp.choice("estimator.kernel", ["rbf", "poly"])',
        '_estimator_degree = scope.int(hp.quniform("estimator.degree", 1.501, 4.499, q=1))',
        '    "scaler": hp.pchoice(',
        '"estimator.leaf_size": 10 + 10 * scope.int(hp.quniform("estimator.leaf_size", -0.499, 2.499, q=1)),',
        'default = {"scaler": 0, "estimator.C": 1.0, "estimator.kernel": 0, "estimator.degree": 3}',
    ):
        assert line.strip() in [each.strip() for each in written.splitlines()]


def test_hyperopts_values_are_those_of_its_trials() -> None:
    compiled = svm("hyperopt")
    near = {"scaler": "StandardScaler", "estimator": "KNeighborsClassifier"}
    configuration = Configuration({**near, "estimator.n_neighbors": 5, "estimator.leaf_size": 20})
    values = {"scaler": 1, "estimator": 1, "estimator.n_neighbors": 2, "estimator.leaf_size": 1}
    assert compiled.encode(configuration) == values
    assert compiled.decode(values) == configuration
    assert compiled.accepts(values)
    assert not compiled.accepts({**values, "estimator.C": 1.0}), "a label that is not come by"
    assert not compiled.accepts({**values, "estimator.leaf_size": 3}), "no such step"
    assert not compiled.accepts({"scaler": 1, "estimator": 1}), "labels are missing"


def test_optunas_function() -> None:
    written = svm("optuna").form.to_python()
    assert written.split("\n\n\n")[1:] == [
        "# The default configuration, for `study.enqueue_trial(default)`.\n"
        'default = {"scaler": "none", "estimator.C": 1.0, "estimator.kernel": "rbf"}',
        """def suggest(trial):
    \"\"\"Ask a trial of optuna for a configuration.\"\"\"
    found = {}
    found["scaler"] = trial.suggest_categorical("scaler", ["none", "StandardScaler"])
    if found["scaler"] == "none":
        found["estimator"] = "SVC"
        found["estimator.C"] = trial.suggest_float("estimator.C", 0.001, 1000.0, log=True)
        found["estimator.kernel"] = trial.suggest_categorical("estimator.kernel", ["rbf", "poly"])
        if found["estimator.kernel"] == "poly":
            found["estimator.degree"] = trial.suggest_int("estimator.degree", 2, 4)
    elif found["scaler"] == "StandardScaler":
        found["estimator"] = trial.suggest_categorical("estimator", ["SVC", "KNeighborsClassifier"])
        if found["estimator"] == "SVC":
            found["estimator.C"] = trial.suggest_float("estimator.C", 0.001, 1000.0, log=True)
            found["estimator.kernel"] = trial.suggest_categorical("estimator.kernel", ["rbf", "poly"])
            if found["estimator.kernel"] == "poly":
                found["estimator.degree"] = trial.suggest_int("estimator.degree", 2, 4)
        elif found["estimator"] == "KNeighborsClassifier":
            found["estimator.n_neighbors"] = [1, 3, 5][trial.suggest_int("estimator.n_neighbors", 0, 2)]
            found["estimator.leaf_size"] = trial.suggest_int("estimator.leaf_size", 10, 30, step=10)
    return found""",
        """def decode(parameters):
    \"\"\"Return the configuration of a trial with these parameters: `decode(study.best_params)`.\"\"\"
    from optuna.trial import FixedTrial

    return suggest(FixedTrial(dict(parameters)))""",
    ]


def test_optunas_parameters_are_asked_for_exactly() -> None:
    compiled = svm("optuna")
    parameters = {"scaler": "none", "estimator.C": 0.5, "estimator.kernel": "poly", "estimator.degree": 4}
    found = {"scaler": "none", "estimator": "SVC", "estimator.C": 0.5}
    assert dict(compiled.decode(parameters)) == {**found, "estimator.kernel": "poly", "estimator.degree": 4}
    assert compiled.accepts(parameters)
    assert not compiled.accepts({**parameters, "estimator": "SVC"}), "a name that is not asked for"
    assert not compiled.accepts({**parameters, "estimator.degree": 5}), "out of bounds"
    assert not compiled.accepts({**parameters, "estimator.kernel": "linear"})
    assert not compiled.accepts({"scaler": "none"})


def test_scikit_learns_dictionaries() -> None:
    compiled = svm("sklearn", search="grid", points=3)
    assert compiled.form.native == [
        {"scaler": ["none"], "estimator": ["SVC"], "estimator.C": [0.001, 1.0, 1000.0], "estimator.kernel": ["rbf"]},
        {
            "scaler": ["none"],
            "estimator": ["SVC"],
            "estimator.C": [0.001, 1.0, 1000.0],
            "estimator.kernel": ["poly"],
            "estimator.degree": [2, 3, 4],
        },
        {
            "scaler": ["StandardScaler"],
            "estimator": ["SVC"],
            "estimator.C": [0.001, 1.0, 1000.0],
            "estimator.kernel": ["rbf"],
        },
        {
            "scaler": ["StandardScaler"],
            "estimator": ["SVC"],
            "estimator.C": [0.001, 1.0, 1000.0],
            "estimator.kernel": ["poly"],
            "estimator.degree": [2, 3, 4],
        },
        {
            "scaler": ["StandardScaler"],
            "estimator": ["KNeighborsClassifier"],
            "estimator.n_neighbors": [1, 3, 5],
            "estimator.leaf_size": [10, 20, 30],
        },
    ]
    assert status(compiled, "float ranges") == {"approximated"}
    assert status(compiled, "integer ranges") == {"exact"}, "all three members are in the grid"
    assert not compiled.accepts({**compiled.form.default, "estimator.C": 2.0})


def test_alternatives_that_leave_the_same_share_a_dictionary() -> None:
    assert form_of("sklearn", plain_space(3, 2)).form.native == [{"s0": ["a0", "a1", "a2"], "s1": ["a0", "a1"]}]
    assert form_of("sklearn", plain_space(3, 2)).form.to_text().startswith("1 dictionary for RandomizedSearchCV")


def test_too_many_dictionaries_are_one_distribution_or_no_grid() -> None:
    compiled = svm("sklearn", most=4)
    assert compiled.form.to_text().startswith("one distribution for RandomizedSearchCV, instead of 5 dictionaries")
    assert [*compiled.form.native[0]] == ["configuration"]
    assert status(compiled, "`@weight`") == {"exact"}
    drawn = [compiled.decode(each)["scaler"] for each in compiled.sample(2000, np.random.default_rng(0))]
    by_the_law = [each["scaler"] for each in sl.parse(SVM).sample(2000, seed=0, advised=True)]
    assert abs(drawn.count("StandardScaler") - by_the_law.count("StandardScaler")) / 2000 < 0.04
    with pytest.raises(OptionError, match="has 5 dictionaries") as error:
        svm("sklearn", search="grid", most=4)
    assert "set `most` to 5 or more, or `search` to `random`" in error.value.help


@pytest.mark.parametrize("options", [{"points": 1}, {"most": 0}, {"search": "bayes"}])
def test_options_out_of_their_bounds_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        svm("sklearn", **options)


def test_a_normal_prior_is_drawn_within_the_bounds() -> None:
    compiled = svm("sklearn")
    assert status(compiled, "`@prior`") == {"exact"}
    drawn = [
        compiled.decode(each)["estimator.C"]
        for each in compiled.sample(3000, np.random.default_rng(0))
        if "estimator.C" in each
    ]
    logarithms = np.log(drawn)
    assert abs(logarithms.mean()) < 0.1
    assert abs(logarithms.std() - 1) < 0.1
    far = sl.parse(SVM.replace("normal, 0, 1", "normal, 900000, 0.001")).compile("sklearn", search="random")
    for parameters in far.sample(50, np.random.default_rng(0)):
        assert far.accepts(parameters)


@pytest.mark.parametrize("name", ["hyperopt", "optuna"])
def test_other_tools_say_that_they_lose_a_prior(name: str) -> None:
    assert status(svm(name), "`@prior`") == {"approximated"}


@pytest.mark.parametrize("name", TOOLS)
def test_defaults_that_a_constraint_excludes_are_not_the_default(name: str) -> None:
    space = crafted.space_of(
        crafted.plain("a", "A", "B"),
        crafted.plain("b", "C", "D"),
        constraints=[crafted.forbid(And((BranchTest("a", ("A",)), BranchTest("b", ("C",)))))],
    )
    compiled = form_of(name, space)
    assert first_exclusion(space, compiled.decode(compiled.form.default)) is None


@pytest.mark.parametrize("name", TOOLS)
def test_equal_parts_are_one_name(name: str) -> None:
    """The degree is asked for below both scalers, and learned about once."""
    form = svm(name).form
    assert form.to_text().count("as above") == 1
    assert [label for label in form.questions.by_name if label.startswith("estimator.degree")] == ["estimator.degree"]


@pytest.mark.parametrize("name", TOOLS)
def test_a_space_of_a_million_million_structures_costs_no_more(name: str) -> None:
    space = plain_space(*[10] * 12)
    compiled = form_of(name, space)
    drawn = compiled.sample(3, np.random.default_rng(0))
    assert all(first_exclusion(space, compiled.decode(each)) is None for each in drawn)
    assert len(compiled.form.to_python()) < 10_000


@pytest.mark.parametrize("name", TOOLS)
def test_compiling_imports_none_of_the_libraries(name: str) -> None:
    code = (
        f"import spacelang as sl, sys; form = sl.load('boasf_models').compile('{name}').form; "
        "form.to_text(); form.to_dot(); "
        "assert not {'hyperopt', 'optuna', 'sklearn', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModuleNotFoundError):
        import_optional("optuna", "optuna.no_such_room")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingLibraryError, match="optuna") as error:
        svm("optuna").sample(1, np.random.default_rng(0))
    assert error.value.help == '`pip install "spacelang[optuna]"`'


@pytest.mark.parametrize("name", TOOLS)
def test_the_document_is_json_and_holds_the_module(name: str) -> None:
    compiled = svm(name)
    written = json.loads(json.dumps(compiled.form.to_json()))
    assert written["python"] == compiled.form.to_python()
    assert written["products"] == 5
    numbers = range(len(written["parts"]))
    assert all(
        number in numbers for part in written["parts"] for case in part.get("cases", ()) for number in case["parts"]
    )
    fourth = "case" if name == "sklearn" else "guard"
    assert {part["kind"] for part in written["parts"]} == {"decision", "hyperparameter", fourth}


LAYERS = """space layers
abstract Net {
  n_layers : int[1, 8] = 4
  width    : int[16, 512] log = 32 when n_layers >= 4
  momentum : float[0, 0.99] = 0.5
  nesterov : bool = false when momentum > 0 and not n_layers == 1
  depth    : {none} | int[2, 30] = none
  leaf     : float[0, 0.5] = 0.1 when depth < 10
}
stage estimator = Net
"""


@pytest.mark.parametrize("name", ["hyperopt", "optuna"])
def test_a_condition_splits_no_number(name: str) -> None:
    compiled = sl.parse(LAYERS).compile(name)
    needed = ["n_layers", "width", "momentum", "nesterov", "depth:part", "depth", "leaf"]
    assert sorted(compiled.form.questions.by_name) == sorted(f"estimator.{each}" for each in needed)
    (names,) = (entry for entry in compiled.report if entry.construct == "names")
    assert (names.status.value, names.message) == (
        "exact",
        "7 names for 8 decisions, hyperparameters and further parts of unions",
    )
    drawn = [compiled.decode(each) for each in compiled.sample(1000, np.random.default_rng(0))]
    assert 0.08 < np.mean([each["estimator.n_layers"] == 1 for each in drawn]) < 0.17
    assert 0.08 < np.mean([each["estimator.n_layers"] == 8 for each in drawn]) < 0.17
    assert not any(each["estimator.momentum"] == 0 for each in drawn)
    assert {("estimator.width" in each) == (each["estimator.n_layers"] >= 4) for each in drawn} == {True}


CHAIN = """space chain
stage step =
  | StandardScaler
  | PCA { n_components : float[0.5, 0.99] = 0.9 }
  | TruncatedSVD { n_components : int[2, 9] = 2 }
stage scaler = MinMaxScaler | none
stage classifier = GaussianNB | LogisticRegression
pipeline = scaler -> repeat(step, 1, 3) -> classifier
forbid classifier is GaussianNB and scaler is none
"""


@pytest.mark.parametrize("name", ["hyperopt", "nevergrad", "optuna", "ray"])
def test_a_use_of_a_chain_has_one_name_for_each_question(name: str) -> None:
    compiled = sl.parse(CHAIN).compile(name)
    uses = [f"step[{place}]" for place in (1, 2, 3)]
    needed = [*uses, *(f"{use}.{word}.n_components" for use in uses for word in ("PCA", "TruncatedSVD"))]
    names = {*compiled.form.questions.by_name}
    assert names == {"scaler", "classifier", "step", *needed}
    for configuration in sl.parse(CHAIN).sample(30, seed=0):
        parameters = compiled.encode(configuration)
        assert parameters.keys() <= names
        assert compiled.decode(parameters) == configuration


def test_hyperopt_draws_equal_uses_of_a_chain_by_one_node() -> None:
    """Uses share a label unless constraints leave other options, or other shares, in them."""
    text = """space s
stage step = PCA { whiten : bool = false } | StandardScaler
stage e = GaussianNB | SVC
pipeline = repeat(step, 1, 3) -> e
"""
    uses = [f"step[{place}]" for place in (1, 2, 3)]
    all_pca = f"forbid {' and '.join(f'{use} is PCA' for use in uses)}"
    names = {"step", "e", *uses, *(f"{use}.whiten" for use in uses)}
    for rule, has_more in (("", False), (all_pca, True)):
        space = sl.parse(text + rule)
        form: Any = space.compile("hyperopt").form
        found = {*Domain(None, form.native).params}  # hyperopt refuses two nodes with one label
        assert found == {*form.labels} >= names
        assert (found != names) is has_more
        assert [law.broken_by for law in space.verify("hyperopt", count=40, draws=0).laws] == [""] * 4


def test_conditions_are_nested_ifs_of_optunas_function() -> None:
    written = sl.parse(LAYERS).compile("optuna").form.to_python()
    for line in (
        'if found["estimator.n_layers"] >= 4:',
        'if found["estimator.momentum"] > 0.0 and found["estimator.n_layers"] >= 2:',
        'if found["estimator.depth"] is not None and found["estimator.depth"] <= 9:',
    ):
        assert line in [each.strip() for each in written.splitlines()]
    assert written.count("\n") < 10 * 6


def test_an_implied_condition_is_not_tested_again() -> None:
    """What `n >= 3` implies needs neither a fallback nor, of two cases, a second test."""
    space = sl.parse(
        """space implied
abstract M
stage e = M {
  n : int[1, 4] | {none} = 1, a : int[1, 9], b : int[1, a] when n >= 2, c : int[1, b] when n >= 3, d : int[1, 9]
  require d <= b
  k : {x, y, z} = x, l : {0, 1} = 0
  forbid k == x and l == 1
}
"""
    )
    compiled = space.compile("optuna")
    written = compiled.form.to_python().splitlines()
    assert '        found["e.c"] = trial.suggest_int("e.c", 1, found["e.b"])' in written
    assert '    found["e.d"] = trial.suggest_int("e.d", 1, found.get("e.b", 9))' in written
    assert "    else:" in written
    module: dict[str, Any] = {}
    exec("\n".join(written), module)
    for configuration in space.sample(40, seed=0):
        encoding = compiled.encode(configuration)
        assert module["decode"](encoding) == compiled.decode(encoding).to_dict() == configuration.to_dict()


@pytest.mark.parametrize("name", ["hyperopt", "optuna"])
def test_what_is_chosen_later_is_tested_later(name: str) -> None:
    """Conditions may mention other stages and what is below their alternatives."""
    space = sl.parse(
        """space across
abstract A { x : int[1, 9] = 3 when y.B.z >= 5 }
abstract B { z : int[1, 9] = 3, w : int[1, 9] = 4 when v.C.u > 2 and not v is D }
abstract C { u : int[1, 9] = 3 }
abstract D
stage s = A | D
stage y = B | D as none_of_it
stage v = C | D
"""
    )
    compiled = space.compile(name)
    module: dict[str, Any] = {}
    exec(compiled.form.to_python(), module)
    for configuration in space.sample(60, seed=0):
        encoding = compiled.encode(configuration)
        assert compiled.decode(encoding) == configuration
        assert Configuration(module["decode"](encoding)) == configuration
    assert {len(compiled.decode(each)) for each in compiled.sample(60, np.random.default_rng(0))} > {3, 4, 5}
