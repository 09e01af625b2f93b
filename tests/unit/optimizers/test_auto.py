"""The optimizer `auto`: its race, its model, its portfolios, and what it requests.

See spacelang/optimizers/README.md, section "AUTO".
"""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from trying import IS_FULL

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, TotalBudget
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement, Request, Trial
from spacelang.optimizers._improvement_per_second import (
    MODEL_SHARE,
    SECONDS,
    SECONDS_PER_TRIAL,
    ImprovementPerSecondModel,
    clip_losses,
    encode_for_distances,
    log_transform_losses,
)
from spacelang.optimizers._race import MIN_ROWS, CostByRows, Race, race_rungs
from spacelang.optimizers.auto import Auto, load_portfolio, portfolio_members
from spacelang.plugins import OptionError
from spacelang.runtime.archives.creation import Evaluation, choose_portfolio
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.search_loop import run
from spacelang.serialization.portfolio import Portfolio, read_portfolio, write_portfolio
from spacelang.solver.counting import Structures
from spacelang.targets.mosaic import StructuralTree
from spacelang.testing.driving import drive_search

SPACE = sl.parse("""space learners
abstract tree
abstract line
abstract net
stage estimator @first =
  | tree { depth : int[1, 20] = 5 }
  | line { c : float[1e-3, 1e3] log = 1 }
  | net { width : int[8, 256] log = 32, rate : float[1e-4, 1] log = 0.01 }
""")
SIZE = 27_000


def loss_of(request: Request) -> float:
    """Return a loss that falls with the rows, and is smallest for a deep tree."""
    values = dict(request.configuration)
    base = {"tree": 0.1 + (float(values.get("estimator.depth", 5)) - 15) ** 2 / 1000, "line": 0.3, "net": 0.25}
    return base[str(values["estimator"])] + 10 / (request.fidelity or SIZE)


def trial(configuration: Configuration, loss: float | None, cost: float = 1.0, rows: int | None = None) -> Trial:
    return Trial(Request(configuration, rows), loss, cost)


def numbered(count: int) -> list[Configuration]:
    return [Configuration({"n": number}) for number in range(count)]


# ---- rungs and costs


@pytest.mark.parametrize(
    ("size", "b", "expected"),
    [
        (MIN_ROWS - 1, 0, (MIN_ROWS - 1,)),
        (10_000, 0, (3_333, 10_000)),
        (40_000, 0, (4_444, 13_333, 40_000)),
        (81, 1, (1, 3, 9, 27, 81)),
        (1, 0, (1,)),
        (10, 100, (10,)),
        (5_000, 100, (100, 300, 900, 2_700, 5_000)),
    ],
)
def test_rungs(size: int, b: int, expected: tuple[int, ...]) -> None:
    whole = Problem(SPACE.checked, size, default_rng(0))
    assert race_rungs(size, b, 3.0) == expected
    assert Auto(b=b).race_rungs(whole) == expected
    assert Auto(b=b, race=False).race_rungs(whole) == (size,)


def test_fidelities_that_are_given_are_the_rungs() -> None:
    given = Problem(SPACE.checked, 81, default_rng(0), fidelities=(1, 10, 81))
    for b, expected in ((0, {1, 10, None}), (2, {10, None}), (999, {None})):
        log = drive_search(Auto(b=b).search(given), loss_of, 40)
        assert {each.request.fidelity for each in log.trials} == expected


def test_costs_grow_with_the_power_that_was_measured() -> None:
    costs = CostByRows((1_000, 3_000, 9_000))
    assert costs.median_cost(0) is None
    for each in numbered(3):
        costs.record(each, 0, 1.0)
        costs.record(each, 1, 9.0)
    assert costs.exponent == pytest.approx(2)
    assert costs.predict(numbered(1)[0], 2) == pytest.approx(81)
    assert costs.median_cost(2) == pytest.approx(81)
    assert costs.predict(Configuration({"n": 99}), 2) == pytest.approx(81), "an unknown one has the typical cost"


def test_a_rung_on_which_trainings_are_overhead_is_not_used() -> None:
    race = Race((1_000, 3_000, 9_000), 3.0, TotalBudget(1e-3))
    assert race.rung_for_new_configuration() == 0
    for each in numbered(3):
        for rung, cost in enumerate((1.0, 1.05, 3.0)):
            race.record(rung, trial(each, 0.5, cost))
    assert race.rung_for_new_configuration() == 1


@pytest.mark.parametrize(("seconds", "rung"), [(2_000.0, 2), (150.0, 1), (10.0, 0)])
def test_a_larger_budget_begins_with_more_rows(seconds: float, rung: int) -> None:
    race = Race((1_000, 3_000, 9_000), 3.0, TotalBudget(seconds))
    race.record(0, trial(numbered(1)[0], 0.5, 2.0))
    assert race.rung_for_new_configuration() == rung


def test_trials_that_are_counted_are_all_on_all_rows() -> None:
    assert Race((1_000, 9_000), 3.0, TotalBudget(None, 10)).rung_for_new_configuration() == 1
    assert Race((1_000, 9_000), 3.0, TotalBudget()).rung_for_new_configuration() == 0


# ---- promotions


def test_the_best_third_is_promoted_and_failures_never() -> None:
    race, configurations = Race((100, 300, 900), 3.0, TotalBudget()), numbered(9)
    for rung in (2, 2, 2):  # enough were trained on all rows
        race.start(Configuration({"n": f"other {rung}"}), rung)
    for number in range(3):
        race.start(Configuration({"m": number}), 2)
    for place, each in enumerate(configurations):
        race.start(each, 0)
        race.record(0, trial(each, None if place < 2 else place / 10))
    promoted = []
    while (found := race.next_promotion()) is not None:
        race.start(*found)
        promoted.append(found)
    assert promoted == [(configurations[place], 1) for place in (2, 3, 4)]


def test_what_violates_a_bound_comes_after_everything_else() -> None:
    race, configurations = Race((100, 300), 3.0, TotalBudget()), numbered(6)
    slow = Measurement(FunctionBound("latency", 1.0), 2.0)
    for place, each in enumerate(configurations):
        race.start(each, 0)
        bad = (slow,) if place < 2 else ()
        race.record(0, Trial(Request(each), place / 10, 1.0, constraints=bad))
    found = race.next_promotion()
    assert found is not None
    assert found[0] == configurations[2]


def test_three_are_trained_on_all_rows_early() -> None:
    race, on_all = Race((100, 300, 900), 3.0, TotalBudget()), []
    for place, each in enumerate(numbered(9)):
        race.start(each, 0)
        race.record(0, trial(each, place / 10))
        if (found := race.next_promotion()) is not None:
            race.start(*found)
            on_all.append((place, found[1]))
    assert [place for place, rung in on_all if rung == 2] == [2, 5, 8]


def test_what_would_not_end_in_time_is_not_promoted() -> None:
    race = Race((100, 900), 3.0, TotalBudget(25.0))
    for place, each in enumerate(numbered(3)):
        race.start(each, 0)
        race.record(0, trial(each, place / 10, 5.0))
    assert race.next_promotion() is None


def test_no_evaluation_is_hopeless_before_some_results() -> None:
    race = Race((900,), 3.0, TotalBudget())
    for place, each in enumerate(numbered(8)):
        assert race.pruning_threshold() is None
        race.record(0, trial(each, place / 10))
    assert race.pruning_threshold() == pytest.approx(0.7)


# ---- the model


def test_losses_are_spread_near_the_best_one() -> None:
    found = log_transform_losses([0.1, 0.2, 0.3, None])
    assert np.all(np.diff(found[:3]) > 0)
    assert found[3] == found[2]
    assert found[1] - found[0] > found[2] - found[1]
    assert np.isfinite(log_transform_losses([1.0, 1.0])).all()


def test_only_losses_far_above_the_median_are_clipped() -> None:
    assert clip_losses([0.1, 0.2, 0.3, 9.0, None]).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.55, 0.55])
    assert clip_losses([0.1, 0.1, 0.1, 0.4]).tolist() == [0.1, 0.1, 0.1, 0.4], "the median is the best loss"


def test_decisions_are_coded_without_an_order() -> None:
    rows = np.array([[0.0, 0.2, -1.0], [2.0, -1.0, 0.7]])
    assert encode_for_distances([3], rows).tolist() == [[1, 0, 0, 0.2, 0.5], [0, 0, 1, 0.5, 0.7]]


@pytest.mark.parametrize("kind", ["forest", "gp"])
def test_the_model_prefers_what_is_better_and_cheaper(kind: str) -> None:
    tree = StructuralTree(Structures(SPACE.checked))
    model = ImprovementPerSecondModel(tree, 0, kind)  # type: ignore[arg-type]
    assert not model.fitted_trial_count
    for each in SPACE.sample(40, seed=0):
        configuration = Configuration(dict(each))
        cost = 50.0 if each["estimator"] == "net" else 1.0
        model.record(trial(configuration, loss_of(Request(configuration)), cost), 1.0, 1.0)
    assert model.fitted_trial_count
    best = model.ranked_configurations()[:10]
    assert Counter(str(each["estimator"]) for each in best).most_common(1)[0][0] == "tree"
    assert model.ranked_configurations()[:10] == best


@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
def test_models_take_a_small_share_of_the_time(cost: float) -> None:
    model, count = ImprovementPerSecondModel(StructuralTree(Structures(SPACE.checked)), 0, "forest"), 200
    fitted = []
    for number, each in enumerate(SPACE.sample(count, seed=0)):
        model.record(trial(Configuration(dict(each)), number / count, cost), 1.0, 1.0)
        fitted.append(model.fitted_trial_count)
    made = sorted({*fitted} - {0})
    doubled = sum(after >= 2 * before for before, after in pairwise(made))
    seconds = sum(SECONDS + SECONDS_PER_TRIAL * each for each in made)
    assert seconds <= MODEL_SHARE * cost * count + (1 + doubled) * (SECONDS + SECONDS_PER_TRIAL * count)
    assert doubled or len(made) == count - made[0] + 1, (
        "a model for each trial if trials take long, else at each doubling"
    )


# ---- the search


def problem(seed: int = 0, **budget: float) -> Problem:
    return Problem(SPACE.checked, SIZE, default_rng(seed), budget=TotalBudget(**budget))  # type: ignore[arg-type]


def test_all_parts_take_part_and_the_best_is_found() -> None:
    log = drive_search(Auto().search(problem(seconds=400.0)), loss_of, 60)
    parts = Counter(each.request.memo[0] for each in log.trials)
    assert set(parts) == {"portfolio", "race", "model", "chance"}
    on_all = [each for each in log.trials if each.request.fidelity is None]
    assert sum(each.request.fidelity is None for each in log.trials[:12]) >= 3
    best = min(on_all, key=lambda each: each.loss or 0.0)
    assert best.request.configuration["estimator"] == "tree"
    assert abs(int(str(best.request.configuration["estimator.depth"])) - 15) <= 1


def test_every_fourth_new_configuration_is_drawn() -> None:
    log = drive_search(Auto(race=False).search(problem()), loss_of, 60 if IS_FULL else 40)
    parts = [each.request.memo[0] for each in log.trials]
    new = [part for part in parts if part != "portfolio"]
    assert new[:4] == ["chance"] * 1 + new[1:4], "there is no model before there are enough successes"
    assert new.count("chance") == pytest.approx(len(new) / 4, abs=2)


@pytest.mark.parametrize("budget", [{}, {"seconds": 1e9}])
def test_the_model_proposes_until_the_end(budget: dict[str, float]) -> None:
    """Trials without costs use up the candidates of a model before the next one is made."""
    free = sl.parse("space free\npipeline = Ridge { alpha : float[1e-3, 1e3] log, tol : float[1e-6, 1e-1] log }")
    given = Problem(free.checked, 500, default_rng(0), budget=TotalBudget(**budget))  # type: ignore[arg-type]

    def evaluate(request: Request) -> Trial:
        return trial(request.configuration, float(str(request.configuration["Ridge.tol"])), 1e-4)

    search = Auto(model="forest").search(given)
    records = run(search, InProcess(evaluate), Budget(trials=600), clock=lambda: 0.0, seed=0).records
    parts = [each.trial.request.memo[0] for each in records]
    assert parts[100:].count("chance") > parts[100:].count("model") / 3 - 3, "a quarter is drawn at least"
    assert min(parts[start : start + 200].count("model") for start in (0, 200, 400)) >= 60


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("budget", [{}, {"seconds": 400.0}])
def test_a_resumed_search_makes_the_same_requests(workers: int, budget: dict[str, float]) -> None:
    whole = drive_search(Auto(model="forest").search(problem(**budget)), loss_of, 30, workers=workers)
    for stop in (9, 24) if IS_FULL else (24,):
        search = Auto(model="forest").search(problem(**budget))
        again = drive_search(search, loss_of, 30, known=whole.trials[:stop], workers=workers)
        assert again.trials == whole.trials


# ---- portfolios


def write_and_load(path: Path, *lists: list[dict[str, object]]) -> Portfolio:
    made = Portfolio("learners", tuple(tuple(Configuration(each) for each in some) for some in lists))  # type: ignore[arg-type]
    write_portfolio(made, path)
    assert read_portfolio(path) == made
    found = load_portfolio(str(path), SPACE.checked)
    assert found == made
    return found


def test_a_portfolio_is_adapted_to_the_space(tmp_path: Path) -> None:
    found = write_and_load(
        tmp_path / "p.json",
        [
            {"estimator": "tree", "estimator.depth": 99, "unknown": 1},
            {"estimator": "forest", "estimator.trees": 5},
            {"estimator": "line"},
        ],
    )
    members = portfolio_members(found, Structures(SPACE.checked))
    assert [each.to_dict() for each in members] == [
        {"estimator": "tree", "estimator.depth": 20},
        {"estimator": "line", "estimator.c": 1.0},
    ]


def test_the_first_list_that_fits_is_used(tmp_path: Path) -> None:
    found = write_and_load(
        tmp_path / "p.json", [{"estimator": "boosting"}, {"estimator": "tree"}], [{"estimator": "line"}]
    )
    assert [each["estimator"] for each in portfolio_members(found, Structures(SPACE.checked))] == ["line"]
    found = write_and_load(
        tmp_path / "q.json", [{"estimator": "boosting"}, {"estimator": "tree"}], [{"estimator": "no"}]
    )
    assert not portfolio_members(found, Structures(SPACE.checked)), "of several lists none fits"


def test_a_search_starts_with_its_portfolio(tmp_path: Path) -> None:
    write_and_load(tmp_path / "p.json", [{"estimator": "net"}, {"estimator": "tree", "estimator.depth": 7}])
    log = drive_search(Auto(portfolio=str(tmp_path / "p.json")).search(problem()), loss_of, 4)
    first = [each.request for each in log.trials][:2]
    assert [each.configuration["estimator"] for each in first] == ["net", "tree"]
    assert [each.memo for each in first] == [("portfolio",)] * 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", json.dumps({"kind": "portfolio", "version": 2, "space": "s", "lists": [[{}]]})]
)
def test_a_file_that_is_no_portfolio_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match="portfolio"):
        load_portfolio(str(path), SPACE.checked)


def test_a_missing_portfolio_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        load_portfolio(str(tmp_path / "missing.json"), SPACE.checked)


def test_a_portfolio_is_chosen_by_gain_per_second() -> None:
    tables = [
        {"cheap": Evaluation(0.5, 1.0), "good": Evaluation(0.1, 10.0), "other": Evaluation(0.9, 1.0)},
        {"cheap": Evaluation(0.4, 1.0), "good": Evaluation(0.3, 10.0), "other": Evaluation(None, 1.0)},
        {"cheap": Evaluation(0.7, 1.0), "good": Evaluation(0.8, 10.0), "other": Evaluation(0.2, 1.0)},
    ]
    found = choose_portfolio(tables, 3)
    assert [step.configuration for step in found] == ["other", "good"], "the cheap one gains nothing after both"
    assert [step.regret for step in found] == pytest.approx([2 / 3, 0.0])
    assert [step.configuration for step in choose_portfolio(tables, 1)] == ["other"]
