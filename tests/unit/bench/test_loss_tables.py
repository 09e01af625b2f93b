"""Tables of known losses: what they answer, which spaces they are for, and what is no table."""

import json
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import SIZES, kept, loaded, on_table, recorded, table_of, trials
from trying import few

from spacelang.api import NoSuccessError, parse
from spacelang.api.experiment import Experiment, check_rungs_available
from spacelang.api.experiment_run import run_experiment
from spacelang.bench import search_table
from spacelang.bench.table_search import LossTableData, SimulatedExecutor, make_tabulation_search
from spacelang.bench.tables import (
    MAX_TRIALS,
    ConfigurationList,
    LossTable,
    StageProduct,
    build_table_or_count_missing,
    count_table_trials,
)
from spacelang.bench.tables.objective import TableObjective
from spacelang.bench.tables.table_files import check_writable, read_table, write_table
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid
from spacelang.ir.expr import BranchTest, Constant
from spacelang.ir.search_protocol import Search, ask_all
from spacelang.ir.space import Branch, ComputedParameter, Operator, Space
from spacelang.ir.task import Bound, BoundedMeasure, Limits, Task
from spacelang.ir.trial import UNIT_SCALE, LossScale, Measurement, Request, Status, Trial
from spacelang.plugins import OptionError
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.executors import Job
from spacelang.runtime.history import EndReason, NullTrialStorage
from spacelang.runtime.search_loop import run
from spacelang.runtime.storage.store import Store
from spacelang.solver.counting import Structures
from spacelang.testing.small_spaces import (
    branch,
    choice,
    conditional_space,
    constrained_space,
    continuous_space,
    forbid,
    hyperparameter,
    make_space,
    nested_space,
    plain_space,
)

IS_FULL = bool(os.environ.get("SPACELANG_FULL"))

SYLVINE = Path(__file__).parents[4] / "shared" / "data" / "tables" / "sylvine.npz"
given_table = pytest.mark.skipif(not SYLVINE.is_file(), reason="the shared data is not there")

BOUND = Bound(BoundedMeasure.LATENCY, 0.5)


def answers(table: LossTable, space: Space, **options: Any) -> TableObjective:
    return TableObjective(Structures(space), table, **options)


# ---- the table that was given


@given_table
def test_the_given_table_answers_what_stands_in_it() -> None:
    space = parse_bundled("blds_table1")
    objective = answers(read_table(SYLVINE), space.checked)
    assert objective.training_size == 3200
    assert objective.metric.name == "loss"
    with np.load(SYLVINE) as arrays:
        loss, cost, sizes = arrays["loss"], arrays["cost"], arrays["sizes"].tolist()
    stages = space.checked.stages
    for at in product(range(0, 8, 3), range(0, 8, 2), range(6), range(8), range(6)):
        names = {stage.key: stage.branches[place].name for stage, place in zip(stages, at, strict=False)}
        trial = objective.evaluate(Request(Configuration(names), sizes[at[-1]]))
        assert trial.cost == cost[at]
        assert trial.loss == (None if loss[at] == 1 else loss[at])
        assert trial.status is (Status.ERROR if loss[at] == 1 else Status.SUCCESS)
    full = Configuration(names)
    assert objective.evaluate(Request(full, None)) == replace(
        objective.evaluate(Request(full, 3200)), request=Request(full, None)
    )


def parse_bundled(name: str) -> Any:
    from spacelang.api import load

    return load(name)


@given_table
@pytest.mark.parametrize("optimizer", ["random", "blds", "daub", "hyperband"] if IS_FULL else ["random"])
def test_an_hour_takes_seconds(optimizer: str) -> None:
    result = search_table("blds_table1", SYLVINE, optimizer=optimizer, time="1h")
    assert result.outcome.ended is EndReason.EXHAUSTED
    assert result.loss == pytest.approx(0.006273663633550308)
    assert result.outcome.seconds == pytest.approx(sum(record.trial.cost for record in result.outcome.records))
    assert result.incumbent["seconds"].is_monotonic_increasing
    assert result.trials["cost"].sum() == pytest.approx(result.outcome.seconds)
    with pytest.raises(InputError, match="has no data to fit a pipeline on"):
        assert result.best_pipeline


# ---- where losses stand


RMSE = {"metric": "neg_root_mean_squared_error", "formula": "root_mean_squared_error"}


def times(number: float) -> Callable[[Request], Trial]:
    """What is `recorded`, its losses in another unit; those in [1/3, 1) are exact multiples."""

    def evaluate(request: Request) -> Trial:
        trial = recorded(request)
        return trial if trial.loss is None else replace(trial, loss=round(trial.loss * 1024) / 1024 * number)

    return evaluate


@pytest.mark.parametrize(
    ("facts", "factor", "scale"),
    [
        ({}, 1.0, UNIT_SCALE),
        ({}, 40.0, None),
        ({"metric": "roc_auc", "formula": "1 - roc_auc"}, 1.0, UNIT_SCALE),
        ({"metric": "neg_brier_score", "formula": "brier_score", "symbols": {"n_classes": 2}}, 1.0, UNIT_SCALE),
        ({**RMSE, "constant": 80.0}, 40.0, LossScale(0.0, 80.0)),
        (RMSE, 40.0, None),
        ({"metric": "r2", "formula": "r2", "constant": 1.0}, 1.0, None),
    ],
)
def test_a_table_knows_where_its_losses_stand(
    facts: dict[str, Any], factor: float, scale: LossScale | None, tmp_path: Path
) -> None:
    table = kept(table_of(plain_space(2, 3), times(factor), **facts), tmp_path / "t.npz")
    assert answers(table, plain_space(2, 3)).scale == scale


@pytest.mark.parametrize("optimizer", ["blds", "mlds", "lds", "cmab", "daub", "hyperband", "successive_halving"])
def test_a_table_of_errors_is_searched_as_one_of_the_same_losses_in_another_unit(optimizer: str) -> None:
    """A third of all trials fail, and 40 is worse than 1, which a failure once counted as."""
    space = plain_space(4, 4, 3)
    errors = table_of(space, times(80.0), **RMSE, constant=80.0)
    shares = table_of(space, times(1.0), metric="accuracy", formula="1 - accuracy")
    found = []
    for table in (errors, shares):
        options = {"b": 100} if optimizer not in ("lds", "cmab") else {}
        made = on_table(loaded(space), table, optimizer, options, budget=Budget(trials=60), seed=3)
        found.append(run_experiment(made, made.make_executor()).outcome)
    assert found[0].scale == LossScale(0.0, 80.0)
    first, second = ([(each.trial.request, each.trial.status) for each in one.records] for one in found)
    assert first == second
    assert found[0].best is not None
    assert found[1].best is not None
    assert found[0].best.index == found[1].best.index


# ---- forms


@pytest.mark.parametrize(
    ("space", "form"),
    [
        (plain_space(2, 3), StageProduct),
        (plain_space(4), StageProduct),
        (nested_space(), ConfigurationList),
        (constrained_space(), ConfigurationList),
        (conditional_space(), ConfigurationList),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_plain_product_has_a_dimension_a_stage(space: Space, form: type, tmp_path: Path) -> None:
    table = kept(table_of(space), tmp_path / "t.npz")
    assert isinstance(table.pipelines, form)
    with np.load(tmp_path / "t.npz") as arrays:
        pipelines = (
            tuple(len(stage.branches) for stage in space.stages) if form is StageProduct else (len(table.pipelines),)
        )
        assert arrays["loss"].shape == (*pipelines, len(SIZES))


def test_stages_are_known_by_their_names(tmp_path: Path) -> None:
    space = plain_space(2, 3)
    turned = make_space("turned", *reversed(space.stages))
    table = kept(table_of(space), tmp_path / "t.npz")
    for request in trials(turned):
        assert answers(table, turned).evaluate(request) == recorded(request)


def test_default_hyperparameters_make_a_list(tmp_path: Path) -> None:
    space = continuous_space()
    table = kept(table_of(space, hyperparameters="default"), tmp_path / "t.npz")
    objective = answers(table, space)
    asked = trials(space, "default")
    assert len(asked) == Structures(space).count * len(SIZES)
    assert [objective.evaluate(request) for request in asked] == [recorded(request) for request in asked]
    other = Configuration({**asked[0].configuration, "e": "f", "e.f.rate": 0.7})
    with pytest.raises(InputError, match=r"does not have .*0\.7") as caught:
        objective.evaluate(Request(other))
    assert "hyperparameters=default" in caught.value.help


def test_along_axes_hyperparameters_are_at_their_defaults(tmp_path: Path) -> None:
    """As in a table that was given: it names the alternatives and says nothing of what is inside."""
    bare = make_space("bare", choice("s", "none", "scale"), choice("e", "f", "g"))
    table = kept(table_of(bare), tmp_path / "t.npz")
    depth = hyperparameter("e.f.depth", Grid(1, 9), 3)
    space = make_space("tuned", choice("s", "none", "scale"), choice("e", branch("f", depth), "g"))
    objective = answers(table, space)
    usual = Configuration({"s": "none", "e": "f", "e.f.depth": 3})
    bare_one = Request(Configuration({"s": "none", "e": "f"}), 100)
    assert objective.evaluate(Request(usual, 100)).loss == recorded(bare_one).loss
    with pytest.raises(InputError, match="does not have"):
        objective.evaluate(Request(Configuration({**usual, "e.f.depth": 4}), 100))


def test_what_tasks_bound_is_kept(tmp_path: Path) -> None:
    def measured(request: Request) -> Trial:
        trial = recorded(request)
        return replace(trial, loss=trial.loss or 0.5, status=Status.SUCCESS, constraints=(Measurement(BOUND, 0.25),))

    space = replace(plain_space(2, 2), task=Task("classification", bounds=(BOUND,)))
    table = kept(table_of(space, measured), tmp_path / "t.npz")
    assert table.bounds == (BOUND.name,)
    found = [answers(table, space).evaluate(request) for request in trials(space)]
    assert all(trial.constraints == (Measurement(BOUND, 0.25),) for trial in found)
    with pytest.raises(DataError, match="bounds `predict_latency`, which the table `table` does not have"):
        answers(table_of(plain_space(2, 2)), space)


# ---- fidelity, limits


def test_only_recorded_rungs_are_answered() -> None:
    space = plain_space(2, 2)
    objective = answers(table_of(space), space)
    configuration = trials(space)[0].configuration
    everything = {objective.evaluate(Request(configuration, rows)).loss for rows in (None, 350, 351, 10**9)}
    assert len(everything) == 1
    with pytest.raises(InputError, match="no trials on 150 training rows") as caught:
        objective.evaluate(Request(configuration, 150))
    assert "it has 100, 200, 350" in caught.value.help


def test_a_grid_that_the_table_does_not_have_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    space, table = loaded(plain_space(2, 2)), table_of(plain_space(2, 2))
    for name, options in (("blds", {}), ("random", {})):
        check_rungs_available(on_table(space, table, name, options))
    other = on_table(space, table, "blds", {"b": 64}, budget=Budget(trials=1))
    with pytest.raises(InputError, match="no trials on 64, 128, 256 training rows"):
        run_experiment(other, other.make_executor(), store=tmp_path / "run.db")
    assert not [*tmp_path.iterdir()]


def test_what_took_longer_than_a_trial_may_has_failed_by_then() -> None:
    space = plain_space(3, 3)
    objective = answers(table_of(space), space, limits=Limits(trial_seconds=0.5))
    found = [(recorded(request), objective.evaluate(request)) for request in trials(space)]
    assert {trial.status for _, trial in found} == {Status.TIMEOUT, Status.SUCCESS, Status.ERROR}
    for before, trial in found:
        if before.cost > 0.5:
            assert (trial.status, trial.cost, trial.loss) == (Status.TIMEOUT, 0.5, None)
        else:
            assert trial == before


# ---- for which spaces


def test_a_part_of_the_space_is_enough(tmp_path: Path) -> None:
    for whole, part in [(plain_space(3, 3), plain_space(2, 3)), (constrained_space(), restricted(constrained_space()))]:
        table = kept(table_of(whole, definition=definition(whole)), tmp_path / "t.npz")
        objective = answers(table, part)
        assert all(objective.evaluate(request) == recorded(request) for request in trials(part))


def restricted(space: Space) -> Space:
    return replace(space, constraints=(*space.constraints, forbid(BranchTest("b", ("q",)))))


def definition(space: Space) -> str:
    from spacelang.serialization.definition import space_to_json

    return json.dumps(space_to_json(space))


def other_operator(space: Space) -> Space:
    first, *rest = space.stages
    operator = Operator("a1", "toy.other")
    return make_space("other", replace(first, branches=(first.branches[0], Branch("a1", operator))), *rest)


def with_fixed(space: Space) -> Space:
    first, *rest = space.stages
    operator = Operator("a1", "toy.a1", fixed=(("depth", 3),))
    return make_space("other", replace(first, branches=(first.branches[0], Branch("a1", operator))), *rest)


@pytest.mark.parametrize(
    ("table_space", "space", "message"),
    [
        (plain_space(2, 3), plain_space(2, 4), "the table `table` lacks parts of the space `2x4`: `a3` of `s1`"),
        (plain_space(2, 2), plain_space(2, 8), "`a2` of `s1`, `a3` of `s1`, `a4` of `s1` and 3 more"),
        (plain_space(2, 3), plain_space(2, 3, 2), r"has 2 stages \(`s0`, `s1`\), but the space `2x3x2` has 3"),
        (plain_space(2, 3), nested_space(), "has no decisions inside alternatives, but the space has `b.in`"),
        (restricted(constrained_space()), constrained_space(), "the space `constrained` has"),
        (nested_space(), plain_space(2, 2), "the table `table` lacks parts of the space `2x2`"),
        (
            conditional_space(),
            make_space("t", choice("s", "none", "scale"), choice("e", "f")),
            "the table `table` lacks parts of the space `t`",
        ),
    ],
)
def test_another_space_is_refused_with_what_differs(table_space: Space, space: Space, message: str) -> None:
    with pytest.raises(DataError, match=message):
        answers(table_of(table_space), space)


def with_computed(space: Space) -> Space:
    first, *rest = space.stages
    computed = ComputedParameter("depth", "s0.a1.depth", Constant(3))
    operator = Operator("a1", "toy.a1", computed=(computed,))
    return make_space("other", replace(first, branches=(first.branches[0], Branch("a1", operator))), *rest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_operator, "operator of `s0.a1` is `toy.a1.a1` in the table and `toy.other.a1` in the space"),
        (with_fixed, "fixed value of `s0.a1.depth` is nothing in the table and `3` in the space"),
        (with_computed, "computed value of `s0.a1.depth` is nothing in the table and `3` in the space"),
    ],
)
def test_the_same_names_for_other_pipelines_are_refused(change: Callable[[Space], Space], message: str) -> None:
    space = plain_space(2, 2)
    table = table_of(space, definition=definition(space))
    answers(table, space)
    with pytest.raises(DataError) as caught:
        answers(table, change(space))
    assert "differ from those of" in caught.value.message
    assert message.partition(" is ")[2] in caught.value.message or message in caught.value.message


def known(space: Space, table: LossTable) -> tuple[Space, TableObjective]:
    losses = LossTableData(table)
    return losses.bind_space(Experiment(space=space, data=losses))


def test_the_data_of_the_table_binds_the_space() -> None:
    text = "space s\nstage reducer = none | PCA { n_components : int[1, n_features] = 1 }\nstage e = GaussianNB\n"
    unbound = parse(text, bind={"n_features": 3})
    table = table_of(unbound.checked, symbols={"n_features": 3}, definition=definition(unbound.checked))
    for given_space in (parse(text, bind={"n_features": 3}), parse(text.replace("n_features]", "3]"))):
        over, objective = known(given_space, table)
        assert over.configurations == 4
        assert objective.training_size == SIZES[-1]
    with pytest.raises(InputError, match="`n_features` is unknown"):
        known(replace_symbols(unbound), replace(table, metadata=replace(table.metadata, symbols={})))


def replace_symbols(space: Any) -> Any:
    return replace(space, symbols={"n_features": None})


# ---- workers and the clock


def test_workers_end_their_trials_in_the_order_of_the_clock() -> None:
    costs = {1: 3.0, 2: 1.0, 3: 2.0, 4: 0.0, 5: 5.0}

    def evaluate(request: Request) -> Trial:
        return Trial(request, 0.5, costs[request.fidelity or 0])

    executor = SimulatedExecutor(evaluate, workers=2)
    ended: list[tuple[float, int, str]] = []
    waiting = [Job(number, Request(Configuration({}), number)) for number in costs]
    while waiting or len(executor.free) < 2:
        while waiting and executor.free:
            executor.start(executor.free[0], waiting.pop(0))
        ended.extend((executor.clock(), each.job.number, each.worker) for each in executor.wait())
    assert ended == [(1.0, 2, "2"), (3.0, 1, "1"), (3.0, 3, "2"), (3.0, 4, "1"), (8.0, 5, "2")]


def test_a_trial_ends_when_it_took_as_long_as_its_request_allows() -> None:
    executor = SimulatedExecutor(lambda request: Trial(request, 0.5, cost=2.0))
    ended = []
    for seconds in (0.5, 2.0, None):
        executor.start("1", Job(1, Request(Configuration({}), seconds=seconds)))
        ended.extend((each.result.status, each.result.loss, each.result.cost) for each in executor.wait())
    assert ended == [(Status.TIMEOUT, None, 0.5), (Status.SUCCESS, 0.5, 2.0), (Status.SUCCESS, 0.5, 2.0)]
    assert executor.clock() == 4.5


@settings(max_examples=few(60), deadline=None)
@given(st.lists(st.floats(0, 10), min_size=1, max_size=20), st.floats(0.001, 30), st.integers(1, 4), st.floats(0, 1e6))
def test_a_budget_ends_where_it_ends(costs: list[float], seconds: float, workers: int, before: float) -> None:
    def search() -> Search:
        yield from ask_all(Request(Configuration({}), rows) for rows in range(1, len(costs) + 1))

    class Earlier(NullTrialStorage):
        seconds = before

    executor = SimulatedExecutor(
        lambda request: Trial(request, 0.5, costs[(request.fidelity or 0) - 1]), workers=workers
    )
    budget = Budget(before + seconds)
    outcome = run(search(), executor, budget, clock=executor.clock, journal=Earlier())
    assert all(record.started <= budget.seconds for record in outcome.records if budget.seconds)
    if outcome.ended is EndReason.BUDGET:
        assert outcome.seconds == pytest.approx(before + seconds, abs=1e-5)
    else:
        assert len(outcome.records) == len(costs)
        assert outcome.seconds <= before + seconds + 1e-5
        assert outcome.seconds - before >= sum(costs) / workers - 1e-5


def test_a_budget_of_seconds_is_one_of_recorded_seconds() -> None:
    made = on_table(loaded(plain_space(4, 4)), table_of(plain_space(4, 4)), "random", budget=Budget(3.0), seed=1)
    outcome = run_experiment(made, made.make_executor()).outcome
    assert outcome.ended is EndReason.BUDGET
    assert outcome.seconds == 3.0
    ends = list(accumulated(record.trial.cost for record in outcome.records))
    assert [record.finished for record in outcome.records] == pytest.approx(ends)
    assert outcome.unfinished == 1


def accumulated(costs: Any) -> Any:
    total = 0.0
    for cost in costs:
        total += cost
        yield total


@pytest.mark.parametrize("optimizer", ["random", "blds", "hyperband"])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_resumed_search_equals_one_that_was_not_stopped(optimizer: str, workers: int, tmp_path: Path) -> None:
    space, table = plain_space(3, 4), tmp_path / "table.npz"
    write_table(table_of(space), table)

    def searched(trials: int, **kept_as: Any) -> Any:
        return search_table(loaded(space), table, optimizer=optimizer, trials=trials, workers=workers, **kept_as)

    whole = searched(30)
    store = tmp_path / "run.db"
    for stop in (4, 9, 9, 30):
        part = searched(stop, store=store, resume=stop > 4)
    told = ["loss", "status", "reason", "fidelity", "cost"]

    def rows(found: Any) -> list[str]:
        return list(map(str, zip(found.trials[told].to_numpy().tolist(), found.configurations, strict=True)))

    if workers == 1 and optimizer != "hyperband":
        assert part.trials.equals(whole.trials)
        assert part.incumbent.equals(whole.incumbent)
    elif optimizer != "blds":  # in another order: what was going on is begun anew, and begun together
        assert sorted(rows(part)) == sorted(rows(whole))
    else:  # what is begun ahead depends on when trials end, what is needed does not
        alone = search_table(loaded(space), table, optimizer=optimizer, trials=30)
        needed, *found = ({*rows(each)} for each in (alone, part, whole))
        assert all(needed <= each for each in found)
    assert part.loss == whole.loss
    with Store.read(store) as run_:
        assert run_.header.data.name == "table:table.npz"
        assert run_.count == len(part.trials)


def test_another_table_is_another_run(tmp_path: Path) -> None:
    space = plain_space(3, 4)
    write_table(table_of(space), tmp_path / "a.npz")
    write_table(table_of(space, lambda request: Trial(request, 0.5, 1.0)), tmp_path / "b.npz")
    with pytest.raises(NoSuccessError, match="all 3 trials failed: 2 x reason 1; 1 x reason 0") as caught:
        search_table(loaded(space), tmp_path / "a.npz", trials=3, seed=2, store=tmp_path / "run.db")
    assert len(caught.value.result.trials) == 3
    with pytest.raises(InputError, match=r"data: `table:a.npz` .* in the store, `table:b.npz`"):
        search_table(loaded(space), tmp_path / "b.npz", trials=5, seed=2, store=tmp_path / "run.db", resume=True)


# ---- making one


def test_missing_trials_are_counted() -> None:
    space = constrained_space()
    answered = [recorded(request) for request in trials(space)]
    facts = table_of(space).metadata
    assert build_table_or_count_missing(Structures(space), answered[:-5], SIZES, facts) == 5
    assert build_table_or_count_missing(Structures(space), [], SIZES, facts) == len(answered)


def test_costs_are_those_of_a_trial_alone() -> None:
    table = table_of(plain_space(2, 2), lambda request: Trial(request, 0.5, 1.0, cost_alone=4.0))
    assert (table.cost == 4).all()


@pytest.mark.parametrize(
    ("space", "hyperparameters", "message"),
    [
        (continuous_space(), "all", r"cannot be listed: it has 4 pipelines, but `e\.f\.rate` is continuous"),
        (plain_space(*[10] * 6), "all", r"has 1,000,000 pipelines, which need 2,000,000 trials on 2 rungs"),
        (plain_space(*[10] * 30), "default", r"000 trials on 2 rungs"),
        (replace(plain_space(2, 2), constraints=(forbid(BranchTest("s0", ("a0", "a1"))),)), "all", "is empty"),
    ],
)
def test_a_space_that_cannot_be_tabulated_is_refused(space: Space, hyperparameters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        count_table_trials(Structures(space), hyperparameters, 2)


def test_rungs_are_those_of_the_grid() -> None:
    made_, total = make_tabulation_search(loaded(plain_space(2, 2)), 1000)
    assert made_.sizes == (100, 200, 400, 800, 1000)
    assert total == 20
    assert make_tabulation_search(loaded(plain_space(2, 2)), 1000, b=300, eta=1.5)[0].sizes == (300, 450, 675, 1000)
    assert make_tabulation_search(loaded(plain_space(2, 2)), 50)[0].sizes == (50,)
    assert total < MAX_TRIALS
    with pytest.raises(OptionError, match="`eta` is 1"):
        make_tabulation_search(loaded(plain_space(2, 2)), 1000, eta=1.0)


def test_a_table_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    table = table_of(plain_space(2, 2))
    write_table(table, tmp_path / "t.npz")
    before = (tmp_path / "t.npz").read_bytes()
    with pytest.raises(DataError, match="cannot be written"):
        write_table(table, tmp_path / "no" / "t.npz")
    assert (tmp_path / "t.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.npz"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("t.csv", "not an `.npz` file"), ("no/t.npz", "cannot be written: no such file"), ("folder.npz", "is a folder")],
)
def test_a_place_that_cannot_take_a_table(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(DataError, match=message):
        check_writable(tmp_path / name)


# ---- bad files


def arrays(**others: Any) -> dict[str, Any]:
    """The arrays of a small table in the form that was given, with some of them changed; None leaves one out."""
    good = {
        "sizes": np.array([100, 200]),
        "loss": np.full((2, 3, 2), 0.5),
        "cost": np.ones((2, 3, 2)),
        "axes": np.array(["['a0', 'a1']", "['a0', 'a1', 'a2']"]),
    }
    return {name: array for name, array in (good | others).items() if array is not None}


def npz(path: Path, **others: Any) -> Path:
    np.savez_compressed(path, **arrays(**others))
    return path


def with_nan(value: float) -> Any:
    array = np.full((2, 3, 2), 0.5)
    array[1, 2, 0] = value
    return array


def test_the_form_that_was_given_is_read(tmp_path: Path) -> None:
    objective = answers(read_table(npz(tmp_path / "t.npz", loss=with_nan(1.0))), plain_space(2, 3))
    assert objective.evaluate(Request(Configuration({"s0": "a1", "s1": "a2"}), 100)).status is Status.ERROR
    assert objective.evaluate(Request(Configuration({"s0": "a1", "s1": "a2"}))).loss == 0.5
    assert read_table(npz(tmp_path / "t.npz", loss=np.zeros((2, 3, 2), dtype=int), cost=with_nan(0).astype("f4")))


BAD = {
    "no loss": ({"loss": None}, "it has no array `loss`"),
    "nothing": ({"loss": None, "cost": None}, "it has no array `loss`, `cost`"),
    "no pipelines": ({"axes": None}, "it has neither `axes` nor `configurations`"),
    "both forms": ({"configurations": np.array(["{}"])}, "it has both `axes` and `configurations`"),
    "shape of loss": ({"loss": np.zeros((3, 2, 2))}, "`loss` has the shape 3 x 2 x 2 instead of 2 x 3 x 2"),
    "shape of cost": ({"cost": np.zeros(12)}, "`cost` has the shape 12 instead of 2 x 3 x 2"),
    "scalar": ({"cost": np.array(1.0)}, "`cost` has the shape () (a single value) instead of"),
    "rungs": ({"sizes": np.array([100, 200, 400])}, "`loss` has the shape 2 x 3 x 2 instead of 2 x 3 x 3"),
    "nan": ({"loss": with_nan(np.nan)}, "`loss` has values that are not finite"),
    "infinity": ({"loss": with_nan(np.inf)}, "`loss` has values that are not finite"),
    "nan seconds": ({"cost": with_nan(np.nan)}, "`cost` has values that are negative or not finite"),
    "negative seconds": ({"cost": with_nan(-1)}, "`cost` has values that are negative or not finite"),
    "texts": ({"loss": np.full((2, 3, 2), "0.5")}, "`loss` does not contain numbers"),
    "complex": ({"loss": np.full((2, 3, 2), 1j)}, "`loss` does not contain numbers"),
    "fractions of rows": ({"sizes": np.array([100.0, 200.0])}, "`sizes` does not contain whole numbers"),
    "falling sizes": ({"sizes": np.array([200, 100])}, "`sizes` must be positive numbers of training rows"),
    "no rows": ({"sizes": np.array([0, 100])}, "`sizes` must be positive numbers of training rows that increase"),
    "no sizes": ({"sizes": np.array([], dtype=int)}, "`sizes` must be positive numbers of training rows"),
    "axes are numbers": ({"axes": np.array([1, 2])}, "`axes` does not contain texts"),
    "code": ({"axes": np.array(["__import__('os').getcwd()", "['a']"])}, "is not a list of different names"),
    "no list": ({"axes": np.array(["'a0'", "['a0', 'a1', 'a2']"])}, "is not a list of different names"),
    "deep": ({"axes": np.array(["[" * 5000, "['a']"])}, "is not a list of different names"),
    "no axes": ({"axes": np.array([], dtype=str)}, "`axes` is empty"),
    "names twice": ({"axes": np.array(["['a', 'a']", "['a0', 'a1', 'a2']"])}, "a list of different names"),
    "stages": ({"stages": np.array(["s0"])}, "`stages` does not name each of the 2 dimensions"),
    "status": ({"status": np.full((2, 3, 2), "well")}, "`status` has unknown values: `well`"),
    "reasons": (
        {"reason": np.full((2, 3, 2), 7), "reasons": np.array(["no"])},
        "`reason` has values that are no index into `reasons`",
    ),
    "training": ({"training_loss": with_nan(np.inf)}, "`training_loss` has infinite values"),
    "bounds": ({"bounds": np.array(["a"]), "measured": np.zeros((2, 3, 2))}, "`measured` has the shape"),
    "meta": ({"meta": np.array("[]")}, "`meta` is invalid"),
    "meta is code": ({"meta": np.array("{1: 2}")}, "`meta` is invalid"),
    "constant": ({"meta": np.array('{"constant": NaN}')}, "`meta` is invalid"),
    "facts": ({"meta": np.array('{"seed": "a"}')}, "`meta` is invalid"),
    "entries": (
        {"axes": None, "configurations": np.array(["{", "{}"]), "loss": np.zeros((2, 2)), "cost": np.zeros((2, 2))},
        "entry 0 of `configurations` is not the JSON of a configuration",
    ),
    "entries twice": (
        {"axes": None, "configurations": np.array(["{}", "{}"]), "loss": np.zeros((2, 2)), "cost": np.zeros((2, 2))},
        "`configurations` has 1 duplicates",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_table_says_why(case: str, tmp_path: Path) -> None:
    others, message = BAD[case]
    path = npz(tmp_path / "t.npz", **others)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert message in caught.value.message
    assert "`t.npz`" in caught.value.message


class Opened:
    """What would open a file if it were unpickled."""

    def __reduce__(self) -> Any:
        return (open, ("was_here", "w"))


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("loss", "axes", "meta"):
        held = np.array([Opened()], dtype=object)
        with pytest.raises(DataError, match="pickled objects, which are never loaded"):
            read_table(npz(tmp_path / "t.npz", **{name: held}))
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Opened()))
    with pytest.raises(DataError, match=r"is not an `\.npz` file"):
        read_table(tmp_path / "p.npz")
    assert read_table(npz(tmp_path / "t.npz", unknown=np.array([Opened()], dtype=object))), "it is left alone"
    assert not (tmp_path / "was_here").exists()


@pytest.mark.parametrize("length", [0, 3, 30, 200, -30, -1])
def test_a_cut_file_is_refused(length: int, tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write_table(table_of(plain_space(2, 3)), path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DataError, match=r"is empty|is not an `\.npz` file|may be truncated"):
        read_table(path)


def test_a_damaged_file_is_refused_or_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write_table(table_of(plain_space(2, 3)), path)
    whole, fingerprint = path.read_bytes(), read_table(path).fingerprint
    chance = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[int(chance.integers(len(whole)))] ^= int(chance.integers(1, 256))
        path.write_bytes(bytes(damaged))
        try:
            assert read_table(path).fingerprint == fingerprint
        except DataError:
            continue


def test_other_files_and_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the file .*none\.npz` does not exist"):
        read_table(tmp_path / "none.npz")
    write_table(table_of(plain_space(2, 3)), tmp_path / "wine.npz")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "wines.npz")
    assert caught.value.help == "did you mean `wine.npz`?"
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(DataError, match="it has no array `sizes`, `loss`, `cost`"):
        read_table(tmp_path / "text.npz")
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("loss.npy", b"\x93NUMPY\x01\x00garbage")
    with pytest.raises(DataError, match=r"its arrays cannot be read|it has no array|may be truncated"):
        read_table(tmp_path / "bad.npz")


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.bench.tables.table_files.MAX_BYTES", 10_000)
    path = npz(tmp_path / "t.npz", unknown=np.zeros(10_000))
    with pytest.raises(DataError, match="are too large"):
        read_table(path)
