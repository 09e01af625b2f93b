"""The task block: what it becomes, and what is wrong with it."""

from dataclasses import replace

import pytest
from spelled import found, one, space

from spacelang.analysis import CheckSettings, check
from spacelang.catalog.snapshot import load_catalogue
from spacelang.diagnostics.diagnostic import Severity
from spacelang.ir.task import Bound, BoundedMeasure, FidelitySchedule, Limits, ScorerGoal, Task
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.text import Source

CLASSIFIERS = "stage estimator = GaussianNB | SVC\n"
REGRESSORS = "stage estimator = Ridge | SVR\n"


def task(lines: str, kind: str = "classification") -> Task:
    """The task with some lines, about which there is nothing to say."""
    stages = CLASSIFIERS if kind == "classification" else REGRESSORS
    made = space(f"{stages}task {kind} {{\n{lines}\n}}").task
    assert made is not None
    return made


def wrong(line: str, kind: str = "classification") -> list[str]:
    """What is found in a line, each as its code with the text that it underlines."""
    return found(f"{CLASSIFIERS if kind == 'classification' else REGRESSORS}task {kind} {{\n{line}\n}}")


def test_a_whole_block() -> None:
    made = task("""
      minimize   1 - roc_auc
      subject to predict_latency <= 10us
      subject to disparity(roc_auc, age_group) <= 0.1
      subject to pickled_size < 2MB
      validate   holdout(0.3)
      fidelity   samples from 100 by 2
      limit      trial 300s 4GB
      limit      run 1.5h
    """)
    assert made == Task(
        "classification",
        ScorerGoal("minimize", "roc_auc", from_one=True),
        (
            Bound(BoundedMeasure.LATENCY, 1e-05),
            Bound(BoundedMeasure.DISPARITY, 0.1, scorer="roc_auc", column="age_group"),
            Bound(BoundedMeasure.SIZE, 2e6, strict=True),
        ),
        Holdout(0.3),
        FidelitySchedule(100, 2.0),
        Limits(300.0, 4e9, 5400.0),
    )


def test_a_block_need_not_say_anything_and_a_space_need_not_have_one() -> None:
    assert task("") == Task("classification")
    assert space(CLASSIFIERS).task is None


@pytest.mark.parametrize(
    ("line", "goal"),
    [
        ("minimize 1 - accuracy", ScorerGoal("minimize", "accuracy", from_one=True)),
        ("maximize f1_macro", ScorerGoal("maximize", "f1_macro")),
        ("maximize neg_log_loss", ScorerGoal("maximize", "neg_log_loss")),
        ("minimize (1 - (accuracy))", ScorerGoal("minimize", "accuracy", from_one=True)),
        ("minimize 1.0 - accuracy", ScorerGoal("minimize", "accuracy", from_one=True)),
    ],
)
def test_goals(line: str, goal: ScorerGoal) -> None:
    assert task(line).goal == goal


@pytest.mark.parametrize(
    ("line", "bound"),
    [
        ("predict_latency < 2ms", Bound(BoundedMeasure.LATENCY, 0.002, strict=True)),
        ("10us >= predict_latency", Bound(BoundedMeasure.LATENCY, 1e-05)),
        ("0.5s > predict_latency", Bound(BoundedMeasure.LATENCY, 0.5, strict=True)),
        ("pickled_size <= 1_500kB", Bound(BoundedMeasure.SIZE, 1.5e6)),
        ("pickled_size <= 0.0015GB", Bound(BoundedMeasure.SIZE, 1.5e6)),
        (
            'disparity(accuracy, "age group") <= 0',
            Bound(BoundedMeasure.DISPARITY, 0, scorer="accuracy", column="age group"),
        ),
        ("disparity(f1, log) <= 1e-3", Bound(BoundedMeasure.DISPARITY, 0.001, scorer="f1", column="log")),
    ],
)
def test_bounds(line: str, bound: Bound) -> None:
    assert task(f"subject to {line}").bounds == (bound,)


def test_one_column_may_form_groups_for_several_scorers() -> None:
    made = task("subject to disparity(f1, sex) <= 0.1\nsubject to disparity(accuracy, sex) <= 0.1")
    assert [bound.name for bound in made.bounds] == ["disparity(f1, sex)", "disparity(accuracy, sex)"]


@pytest.mark.parametrize(("unit", "seconds"), [("us", 3e-6), ("ms", 0.003), ("s", 3), ("min", 180), ("m", 180)])
def test_units_of_time(unit: str, seconds: float) -> None:
    assert task(f"limit trial 3{unit}").limits == Limits(trial_seconds=seconds)


@pytest.mark.parametrize(("unit", "size"), [("kB", 3e3), ("KB", 3e3), ("MB", 3e6), ("GB", 3e9), ("TB", 3e12)])
def test_units_of_size(unit: str, size: float) -> None:
    assert task(f"limit trial 3{unit}").limits == Limits(trial_bytes=size)


def test_cross_validation() -> None:
    assert task("validate cv(5)").validation == CrossValidation(5)


@pytest.mark.parametrize(
    ("line", "diagnostics"),
    [
        ("minimize 1 - roc_auk", ["SL803 roc_auk"]),
        ("minimize 2 - roc_auc", ["SL806 2 - roc_auc"]),
        ("minimize roc_auc - 1", ["SL806 roc_auc - 1"]),
        ("minimize 0.1", ["SL806 0.1"]),
        ("maximize log2(roc_auc)", ["SL806 log2(roc_auc)"]),
        ("minimize 1 - predict_latency", ["SL803 predict_latency"]),
        ("maximize roc_auc\nmaximize roc_auc", ["SL807 maximize"]),
        ("subject  to pickled_size <= 1MB\nsubject   to pickled_size <= 1MB", ["SL807 subject   to"]),
        ("fidelity samples from 1 by 2\nfidelity samples from 1 by 2", ["SL807 fidelity"]),
        ("limit trial 3s\nlimit trial 4GB", ["SL807 limit"]),
        ("subject to predict_latency == 1ms", ["SL809 predict_latency == 1ms"]),
        ("subject to predict_latency <= -1ms", ["SL812 -1ms"]),
        ("subject to not predict_latency <= 1ms", ["SL809 not predict_latency <= 1ms"]),
        ("subject to 1ms <= 2ms", ["SL809 1ms"]),
        ("subject to disparity(0.5, sex) <= 0.1", ["SL809 disparity(0.5, sex)"]),
        ("subject to disparity(accurcy, sex) <= 0.1", ["SL803 accurcy"]),
        ("subject to disparity(accuracy, sex) < 0", ["SL812 0"]),
        (f"subject to predict_latency <= {'9' * 350}s", [f"SL809 {'9' * 350}s"]),
        (f"limit trial {'9' * 306}h", [f"SL812 {'9' * 306}h"]),
        ("subject to pickled_size <= 0.0001kB", ["SL812 0.0001kB"]),
        ("validate holdout(0)", ["SL812 0"]),
        ("validate holdout(1)", ["SL812 1"]),
        ("validate cv(2.5)", ["SL812 2.5"]),
        ("fidelity samples from 1.5 by 2", ["SL812 1.5"]),
        ("fidelity samples from 10 by 0.5", ["SL812 0.5"]),
        ("limit memory 4GB", ["SL811 memory"]),
    ],
)
def test_what_is_wrong(line: str, diagnostics: list[str]) -> None:
    assert wrong(line) == diagnostics


@pytest.mark.parametrize(
    ("line", "help_text"),
    [
        ("maximize log_loss", "write `maximize neg_log_loss`, which is the negated error"),
        ("maximize auc", "write `roc_auc`"),
        ("maximize accuracy_score", "did you mean `accuracy`?"),
        ("maximize balanced_acuracy", "did you mean `balanced_accuracy`?"),
        ("validate holdout(25)", "write `holdout(0.25)`"),
        ("validate hold_out(0.25)", "did you mean `holdout`?"),
        ("subject to size <= 3MB", "did you mean `pickled_size`?"),
        ("subject to Latency <= 3ms", "did you mean `predict_latency`?"),
    ],
)
def test_what_to_do_about_it(line: str, help_text: str) -> None:
    assert one(f"{CLASSIFIERS}task classification {{ {line} }}").help == help_text


def test_a_goal_that_looks_for_the_worst_is_a_warning_and_kept() -> None:
    checked = check(Source("backward.space", f"{CLASSIFIERS}task classification {{ minimize accuracy }}"))
    (diagnostic,) = checked.diagnostics
    assert diagnostic.severity is Severity.WARNING
    assert checked.space is not None
    assert checked.space.task == Task("classification", ScorerGoal("minimize", "accuracy"))


def test_a_scorer_is_not_judged_by_a_kind_that_is_unknown() -> None:
    assert found(f"{CLASSIFIERS}task classify {{ maximize r2 }}") == ["SL801 classify"]


def test_a_catalogue_without_scorers_leaves_it_to_the_library() -> None:
    surroundings = CheckSettings(catalogue=replace(load_catalogue(), scorers={}))
    text = f"{CLASSIFIERS}task classification {{ maximize my_own_scorer }}"
    checked = check(Source("own.space", text), surroundings)
    assert checked.space is not None
    assert checked.space.task == Task("classification", ScorerGoal("maximize", "my_own_scorer"))


@pytest.mark.parametrize(
    ("stages", "kind", "diagnostics"),
    [
        (CLASSIFIERS, "regression", ["SL802 regression"]),
        (REGRESSORS, "classification", ["SL802 classification"]),
        ("stage s = none | PCA\nstage e = Ridge\n", "classification", ["SL802 classification"]),
        (REGRESSORS, "regression", []),
        ("pipeline = PCA -> LogisticRegression\n", "classification", []),
        # What is wrong with the space itself is said once.
        ("stage estimator = PCA\n", "regression", ["SL601 estimator"]),
        ("stage estimator = SVC | SVR\n", "regression", ["SL603 SVR"]),
    ],
)
def test_the_kind_of_task_is_that_of_the_space(stages: str, kind: str, diagnostics: list[str]) -> None:
    assert found(f"{stages}task {kind} {{}}") == diagnostics


def test_every_mistake_of_a_block_is_reported_in_one_run() -> None:
    text = f"{CLASSIFIERS}task clasification {{ minimize mse\nsubject to latency <= 3s\nvalidate cv(0)\nlimit x 3s }}"
    assert [line.split()[0] for line in found(text)] == ["SL801", "SL803", "SL808", "SL812", "SL811"]


def test_a_second_block_is_one_too_many() -> None:
    assert found(f"{CLASSIFIERS}task classification {{}}\ntask regression {{}}") == ["SL105 task"]
