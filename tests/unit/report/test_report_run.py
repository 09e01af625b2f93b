import io
import json
import math
from dataclasses import replace
from datetime import date

import pytest
from rich.console import Console

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import ask_all
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import LossScale, Measurement, Request, Status, Trial
from spacelang.ir.validation import CrossValidation, Holdout, PredefinedSplits
from spacelang.report.progress import SECONDS_BETWEEN_LINES, LiveProgress, PlainProgress, progress_listener
from spacelang.report.run_document import run_json_document
from spacelang.report.run_facts import FinalWorkResult, RunFacts
from spacelang.report.summary import print_summary, summary_lines
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.final_fit import FinalFit, SkippedTrial
from spacelang.runtime.history import EndReason, OptimizerOverhead, Outcome, TrialRecord
from spacelang.runtime.objective import PositiveClass
from spacelang.runtime.scoring.metric import named_metric
from spacelang.runtime.search_loop import run
from spacelang.testing.memory_storage import MemoryTrialStorage

METRIC = named_metric("accuracy")
FACTS = RunFacts("blds", 3, METRIC, training_size=100)


def outcome_of(
    *trials: tuple[float | None, str, int | None], seconds: float = 1.0, ended: EndReason | None = None
) -> Outcome:
    """One trial after the other, each with its loss, its reason and its fidelity."""
    now = [0.0]
    wishes = [
        Request(Configuration({"estimator": "SVC", "estimator.C": place}), row[2]) for place, row in enumerate(trials)
    ]

    def evaluate(request: Request) -> Trial:
        now[0] += seconds
        loss, reason, _ = trials[wishes.index(request)]
        return Trial(request, loss, seconds, Status.ERROR if loss is None else Status.SUCCESS, reason)

    def search():
        for wish in wishes:
            yield from ask_all([wish])
        if ended is EndReason.INTERRUPTED:
            raise KeyboardInterrupt

    return run(search(), InProcess(evaluate), Budget(), clock=lambda: now[0], training_size=100, stopwatch=lambda: 0.0)


def printed(outcome: Outcome, facts: RunFacts = FACTS, *, terminal: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=100, force_terminal=terminal, color_system="standard" if terminal else None
    )
    print_summary(outcome, facts, console)
    return console.file.getvalue()


def test_the_document_says_how_losses_are_normalized():
    outcome = outcome_of((40.0, "", None))
    assert run_json_document(outcome, FACTS)["scale"] == {"origin": 0.0, "width": 1.0}
    assert run_json_document(replace(outcome, scale=LossScale(0.0, 74.25)), FACTS)["scale"] == {
        "origin": 0.0,
        "width": 74.25,
    }
    assert run_json_document(replace(outcome, scale=None), FACTS)["scale"] is None


def test_the_summary_says_what_was_found_how_and_what_failed():
    facts = RunFacts("blds", 3, METRIC, 100, preparation="Before the pipeline: categories in `a` one-hot encoded.")
    text = printed(outcome_of((0.25, "", None), (None, "ValueError: no", None), (0.125, "", None)), facts)
    assert [line.rstrip() for line in text.splitlines()] == [
        "Best accuracy: 0.875 (trial 3, 1 - accuracy 0.125)",
        "",
        "  estimator  SVC  C=2",
        "",
        "Before the pipeline: categories in `a` one-hot encoded.",
        "1 trial failed: ValueError: no",
        "3 trials with blds, seed 3: the optimizer has nothing left to try.",
        "Time: search 3.0 s.",
    ]


def test_the_document_says_of_which_class_metrics_are():
    facts, outcome = replace(FACTS, positive=PositiveClass("yes", ("f1", "recall"))), outcome_of((0.25, "", None))
    assert run_json_document(outcome, facts)["positive_class"] == "yes"
    assert (
        run_json_document(outcome, replace(facts, positive=PositiveClass(date(2026, 1, 2), ("f1",))))["positive_class"]
        == "2026-01-02"
    )


def test_without_a_success_it_says_so_and_shows_the_most_frequent_reasons():
    trials = [(None, reason, None) for reason in ["a", "b", "b", "c", "c", "c", "d", "e"]]
    text = printed(outcome_of(*trials))
    assert "No trial succeeded." in text
    assert "8 trials failed:" in text
    assert text.index("3 x c") < text.index("2 x b") < text.index("1 x a")
    assert "and 2 other reasons" in text


@pytest.mark.parametrize(
    ("validation", "line"),
    [
        (Holdout(0.3), "Best accuracy on 30 % of the rows, held out: 0.5 (trial 1, 1 - accuracy 0.5)"),
        (Holdout(0.125), "Best accuracy on 12.5 % of the rows, held out: 0.5 (trial 1, 1 - accuracy 0.5)"),
        (Holdout(0.57), "Best accuracy on 57 % of the rows, held out: 0.5 (trial 1, 1 - accuracy 0.5)"),
        (CrossValidation(5), "Best accuracy, mean over 5 folds: 0.5 (trial 1, 1 - accuracy 0.5)"),
        (
            PredefinedSplits(10, "openml-task:31", "0"),
            "Best accuracy, mean over the 10 splits of openml-task:31: 0.5 (trial 1, 1 - accuracy 0.5)",
        ),
        (
            PredefinedSplits(1, "`t.npz`", "0"),
            "Best accuracy on the rows that `t.npz` holds out: 0.5 (trial 1, 1 - accuracy 0.5)",
        ),
    ],
)
def test_the_summary_says_on_what_the_loss_was_measured(validation, line):
    text = printed(outcome_of((0.5, "", None)), replace(FACTS, validation=validation))
    assert text.splitlines()[0].rstrip() == line


def test_an_incumbent_on_some_rows_only_is_called_so():
    text = printed(outcome_of((0.5, "", 50)))
    assert (
        "Best accuracy: 0.5 (trial 1, 1 - accuracy 0.5), on 50 of 100 training rows: no trial had all of them" in text
    )


def test_an_interrupted_run_says_so():
    assert "seed 3: interrupted." in printed(outcome_of((0.5, "", None), ended=EndReason.INTERRUPTED))


def test_what_equal_seeds_promise_is_said():
    facts = replace(FACTS, equal_seeds="equal seeds give the same trials")
    assert "Equal seeds give the same trials.\n" in printed(outcome_of((0.5, "", None)), facts)
    assert run_json_document(outcome_of((0.5, "", None)), facts)["equal_seeds"] == "equal seeds give the same trials"


def test_colours_are_for_terminals_and_brackets_are_not_markup():
    outcome = outcome_of((0.5, "", None), (None, "ValueError: [red]no[/red]", None))
    assert "\x1b" not in printed(outcome)
    assert "\x1b" in printed(outcome, terminal=True)
    assert "ValueError: [red]no[/red]" in printed(outcome)


def test_what_the_optimizer_has_said_is_shown():
    outcome = replace(outcome_of((0.5, "", None)), remarks=("It left [some] out.", "It is over."))
    assert "\nIt left [some] out.\nIt is over.\n" in printed(outcome)
    assert run_json_document(outcome, FACTS)["remarks"] == ["It left [some] out.", "It is over."]


def test_the_document():
    outcome = outcome_of((0.25, "", None), (None, "ValueError: no", None), (0.125, "", None), (0.01, "", 10))
    assert json.loads(json.dumps(run_json_document(outcome, FACTS), allow_nan=False)) == {
        "loss": 0.125,
        "score": 0.875,
        "score_name": "accuracy",
        "test_score": None,
        "metric": "accuracy",
        "configuration": {"estimator": "SVC", "estimator.C": 2},
        "fidelity": None,
        "trials": 4,
        "failed": 1,
        "failures": {"error": 1},
        "unfinished": 0,
        "unneeded": 0,
        "ensemble": None,
        "time_note": "",
        "parts": {},
        "learners": {},
        "seconds": 4.0,
        "optimizer": "blds",
        "seed": 3,
        "equal_seeds": "",
        "store": None,
        "incumbent": [{"seconds": 1.0, "trial": 1, "loss": 0.25}, {"seconds": 3.0, "trial": 3, "loss": 0.125}],
        "ended": "exhausted",
        "preparation": "",
        "reasons": {"ValueError: no": 1},
        "validation": None,
        "feasible": True,
        "infeasible": 0,
        "feasible_share": 1.0,
        "excess": 0.0,
        "scale": {"origin": 0.0, "width": 1.0},
        "hyperparameters": None,
        "at_defaults": [],
        "initial": [],
        "remarks": [],
        "lost": [],
        "positive_class": None,
        "overhead": {"seconds": 0.0, "trials": 4, "share": 0.0},
        "constraints": {},
        "metrics": {},
        "training_loss": None,
        "refit": None,
        "passed_over": [],
        "test": None,
    }


def test_the_document_tells_what_became_of_the_best_on_all_rows():
    outcome = outcome_of((0.25, "", None), (0.125, "", None))
    worse, best = outcome.records
    finale = FinalFit(worse, 150, 0.5, (SkippedTrial(best, Status.CRASH, "signal 11"),))
    found = json.loads(json.dumps(run_json_document(outcome, FACTS, finale), allow_nan=False))
    configuration = {"estimator": "SVC", "estimator.C": 0}
    assert found["refit"] == {
        "trial": 1,
        "loss": 0.25,
        "configuration": configuration,
        "rows": 150,
        "seconds": 0.5,
        "is_trial_model": False,
    }
    assert found["passed_over"] == [{"trial": 2, "status": "crash", "reason": "signal 11"}]


FAIR = Bound(BoundedMeasure.DISPARITY, 0.1, scorer="accuracy", column="sex")
SMALL = Bound(BoundedMeasure.SIZE, 2e6, strict=True)


def constrained(*trials: tuple[float, float, float], seconds: float = 0.0) -> Outcome:
    """One trial after the other, each with its loss, its disparity and its size."""
    now = [0.0]

    def search():
        for place in range(len(trials)):
            yield from ask_all([Request(Configuration({"estimator.C": place}))])

    def evaluate(request: Request) -> Trial:
        now[0] += seconds
        loss, fair, size = trials[request.configuration["estimator.C"]]
        return Trial(request, loss, 1.0, constraints=(Measurement(FAIR, fair), Measurement(SMALL, size)))

    return run(search(), InProcess(evaluate), Budget(), clock=lambda: now[0], stopwatch=lambda: 0.0)


def test_what_the_task_bounds_is_shown_with_what_was_measured():
    outcome = constrained((0.1, 0.25, 1e6), (0.5, 0.012345, 1234567.0))
    assert [line.rstrip() for line in printed(outcome).splitlines()] == [
        "Best accuracy: 0.5 (trial 2, 1 - accuracy 0.5)",
        "",
        "  estimator.C  1",
        "",
        "Subject to disparity(accuracy, sex) <= 0.1: 0.01235",
        "Subject to pickled_size < 2MB: 1235kB",
        "Feasible: 1 of 2 successful trials (50 %).",
        "2 trials with blds, seed 3: the optimizer has nothing left to try.",
        "Time: search 0.0 s.",
    ]
    found = json.loads(
        json.dumps(run_json_document(outcome, replace(FACTS, validation=CrossValidation(5))), allow_nan=False)
    )
    assert (found["loss"], found["feasible"], found["infeasible"], found["validation"]) == (0.5, True, 1, "cv(5)")
    assert found["constraints"] == {
        "disparity(accuracy, sex)": {"value": 0.012345, "bound": 0.1, "holds": True},
        "pickled_size": {"value": 1234567.0, "bound": 2e6, "holds": True},
    }


def test_where_no_trial_keeps_to_the_bounds_it_says_so():
    outcome = constrained((0.1, 0.25, 1e6), (0.5, math.nan, 1e6))
    text = printed(outcome)
    assert text.startswith("No trial satisfies all constraints of the task. This one violates them least.")
    assert "Best accuracy: 0.9 (trial 1, 1 - accuracy 0.1)" in text
    assert "<= 0.1: 0.25, which violates the bound by 0.15; the smallest value of any trial is 0.25" in text
    assert "Feasible: 0 of 2 successful trials (0 %)." in text
    found = run_json_document(outcome, FACTS)
    assert (found["feasible"], found["incumbent"], found["fidelity"]) == (False, [], None)
    assert (found["feasible_share"], found["excess"]) == (0.0, pytest.approx(1.5))
    undefined = run_json_document(constrained((0.5, math.nan, 1e6)), FACTS)["constraints"]
    assert undefined["disparity(accuracy, sex)"] == {"value": None, "bound": 0.1, "holds": False}


def test_of_a_bound_that_some_trial_keeps_to_it_says_so():
    """Each bound can be met, and both together cannot: neither is told to be out of reach."""
    text = printed(constrained((0.1, 0.25, 1e6), (0.2, 0.35, 1.5e6), (0.3, 0.05, 9e6)))
    assert "<= 0.1: 0.25, which violates the bound by 0.15; 1 trial satisfies this bound" in text
    assert "pickled_size < 2MB: 1MB\n" in text
    found = run_json_document(constrained((0.5, math.nan, 1e6)), FACTS)
    assert found["excess"] is None


def test_the_progress_says_that_no_trial_keeps_to_the_bounds_yet():
    outcome = constrained((0.1, 0.25, 1.0), (0.5, 0.05, 1.0), seconds=SECONDS_BETWEEN_LINES)
    lines = followed(Console(file=io.StringIO(), width=100), outcome, Budget(trials=3)).splitlines()
    assert [line.partition(", ")[2] for line in lines] == ["best loss 0.1 (infeasible)", "best loss 0.5"]


def test_the_document_of_a_run_without_success_or_with_some_rows_only():
    nothing = run_json_document(outcome_of((None, "no", None)), FACTS)
    assert (nothing["loss"], nothing["configuration"], nothing["incumbent"]) == (None, None, [])
    some = run_json_document(outcome_of((0.5, "", 50)), FACTS)
    assert (some["loss"], some["fidelity"]) == (0.5, 50)
    assert some["incumbent"] == [{"seconds": 1.0, "trial": 1, "loss": 0.5}]


def followed(console: Console, outcome: Outcome, budget: Budget) -> str:
    with progress_listener(console) as listener:
        listener.on_start(budget)
        best = outcome.records[0]
        for record in outcome.records:
            if record.trial.loss is not None:
                best = record
            listener.on_trial(record, best)
        listener.on_finish(outcome)
    return console.file.getvalue()


def test_a_log_gets_a_line_now_and_then():
    console = Console(file=io.StringIO())
    assert isinstance(progress_listener(console), PlainProgress)
    trials = [(0.5, "", None), (None, "no", None), (0.25, "", None)]
    text = followed(console, outcome_of(*trials, seconds=SECONDS_BETWEEN_LINES / 2), Budget())
    assert text == "30 s: 2 trials, 1 error, best loss 0.5\n"


def test_a_short_run_leaves_nothing_in_a_log():
    assert followed(Console(file=io.StringIO()), outcome_of((0.5, "", None)), Budget()) == ""


@pytest.mark.parametrize("budget", [Budget(), Budget(seconds=5000), Budget(trials=9), Budget(5000, 9)])
def test_a_terminal_gets_a_bar(budget):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    assert isinstance(progress_listener(console), LiveProgress)
    text = followed(console, outcome_of((None, "no", None), (0.25, "", None)), budget)
    assert "2 trials, 1 error, best loss 0.25" in text
    assert (" left" in text) is (budget != Budget())
    assert ("about" in text) is (budget == Budget(trials=9))
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h"), "the cursor is shown again"


def test_the_bar_goes_away_when_the_run_breaks():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    listener = progress_listener(console)
    listener.on_start(Budget())
    listener.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert console.file.getvalue().count("\x1b[?25h") == 1


def test_what_was_recorded_beside_the_loss_is_told():
    request = Request(Configuration({"estimator": "SVC"}))
    trial = Trial(request, 0.25, 1.0, metrics=(("f1", 0.5), ("roc_auc", float("nan"))), training_loss=0.125)

    def search():
        yield from ask_all([request])

    outcome = run(search(), InProcess(lambda _: trial), Budget(), clock=lambda: 0.0)
    assert "Also recorded: f1 0.5, roc_auc undefined, training loss 0.125." in printed(outcome)
    found = run_json_document(outcome, FACTS)
    assert (found["metrics"], found["training_loss"]) == ({"f1": 0.5, "roc_auc": None}, 0.125)


def timed(trials: int, journal: MemoryTrialStorage | None = None) -> Outcome:
    """Trials of 10 s; the search takes half a second before each of them, and before it ends."""
    looks = iter(range(1000))

    def search():
        for place in range(trials):
            yield from ask_all([Request(Configuration({"x": place}))])

    return run(
        search(),
        InProcess(lambda request: Trial(request, 0.5, cost=10.0)),
        Budget(),
        clock=lambda: 0.0,
        journal=journal,
        stopwatch=lambda: next(looks) / 2,
    )


def test_the_summary_shows_which_share_of_a_trial_the_optimizer_takes():
    outcome = timed(4)
    assert outcome.overhead == OptimizerOverhead(2.0, 4, 10.0)
    assert "Time: search 0.0 s (optimizer 0.5 s per trial, 5 % of the median trial).\n" in printed(outcome)
    assert run_json_document(outcome, FACTS)["overhead"] == {"seconds": 2.0, "trials": 4, "share": 0.05}
    quick = replace(outcome, overhead=OptimizerOverhead(2.0, 4, 0.0002))
    assert "(optimizer 0.5 s per trial, 2,500 times the median trial)" in printed(quick)


def test_the_time_line_has_the_start_and_what_was_not_finished():
    """So that its seconds add up to the time of the run, however it was spent."""
    records = [
        TrialRecord(place, Trial(Request(Configuration({"estimator": name})), 0.5, 1.0), 0.0, float(place))
        for place, name in enumerate(("SVC", "KNN"), start=1)
    ]
    outcome = Outcome((*records,), records[0], records[0], (), EndReason.BUDGET, 4.5)
    going, facts = replace(outcome, unfinished=2, unfinished_seconds=2.5), replace(FACTS, learner_key="estimator")
    *_, line = map(str, summary_lines(going, facts, FinalWorkResult(start_seconds=3.25)))
    assert line == "Time: start 3.2 s, search 4.5 s (SVC 1.0 s, KNN 1.0 s, 2 unfinished trials 2.5 s)."


def test_what_is_replayed_is_no_overhead():
    journal = MemoryTrialStorage()
    timed(3, journal)
    assert timed(5, journal.next_session()).overhead == OptimizerOverhead(1.0, 2, 10.0)
    nothing = timed(3, journal.next_session())
    assert nothing.overhead is None
    assert "(optimizer" not in printed(nothing)
    assert run_json_document(nothing, FACTS)["overhead"] is None
