"""Objectives without data in the Python interface: functions, the artificial box, and what is told from outside."""

import functools
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import spacelang as sl
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.black_box import BlackBoxObjective
from spacelang.runtime.black_box.function_objective import function_fingerprint, make_function_objective
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import StoreError

pytestmark = pytest.mark.usefixtures("quick_zygotes")

SPACE = """\
space box
abstract anneal { heat : float[0.1, 10] log = 1, steps : int[1, 50] = 10 }
abstract greedy { restarts : int[1, 9] = 3 }
stage method = anneal | greedy
"""

BOUNDED = SPACE + "task classification {\n  maximize accuracy\n  subject to predict_latency <= 1ms\n}\n"
SIZED = "space sized\nstage e = KNeighborsClassifier { n_neighbors : int[1, n_features] = 1 }\n"


@pytest.fixture(scope="module")
def space() -> sl.Space:
    return sl.parse(SPACE)


def quality(configuration: dict[str, Any]) -> float:
    """Small for little heat and few restarts."""
    return float(configuration.get("method.heat", configuration.get("method.restarts", 0.0)))


def gradual(configuration: dict[str, Any], fidelity: int) -> float:
    return quality(configuration) + 1 / fidelity


class Model:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, configuration: dict[str, Any]) -> float:
        return self.factor * quality(configuration)

    def method(self, configuration: dict[str, Any]) -> float:
        return self.factor * quality(configuration)


def searched(space: sl.Space, function: Callable[..., Any], **options: Any) -> sl.Result:
    return sl.search(space, objective=function, **{"trials": 8, "workers": 0, "seed": 1, **options})


class TestFunctions:
    @pytest.mark.parametrize("workers", [0, 2])
    def test_the_best_of_what_it_gives_is_found(self, workers: int, space: sl.Space) -> None:
        found = searched(space, quality, workers=workers, optimizer="random")
        assert found.best_configuration is not None
        assert found.loss == quality(dict(found.best_configuration)) == found.trials["loss"].min()
        assert len(found.trials) == 8
        with pytest.raises(InputError, match=r"`function:.*quality`, which has no data to fit a pipeline on"):
            assert found.best_pipeline
        assert (found.test, found.passed_over) == (None, ())

    def test_it_is_what_asking_and_telling_finds(self, space: sl.Space) -> None:
        found = searched(space, quality)
        with sl.ask_and_tell(space, trials=8, seed=1) as search:
            for asked in search:
                asked.tell(quality(dict(asked.configuration)))
        compared = ["loss", "status", "fidelity"]
        assert found.trials[compared].equals(search.result.trials[compared])
        assert found.configurations == search.result.configurations

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (None, "no loss was returned"),
            (math.nan, "the loss is nan"),
            (math.inf, "the loss is inf"),
            ("0.5", "the loss must be a number, not `'0.5'`"),
            ([1], "the loss must be a number, not `[1]`"),
            ({}, "a dictionary without `loss`"),
            (
                {"loss": 1, "time": 3},
                "the function returned the unknown key `time`; the known keys are loss, cost, constraints",
            ),
            ({"loss": 1, "cost": -1}, "the cost is -1.0"),
            ({"loss": 1, "constraints": {"size": 3}}, "the constraint `size` has no bound; the task has no bounds"),
        ],
    )
    def test_what_is_no_loss_is_a_failure_with_its_reason(self, given: object, reason: str, space: sl.Space) -> None:
        with pytest.raises(sl.NoSuccessError) as raised:
            searched(space, lambda _: given)
        assert all(reason in each for each in raised.value.result.trials["reason"])

    def test_what_it_raises_is_a_failure_with_its_reason(self, space: sl.Space) -> None:
        def moody(configuration: dict[str, Any]) -> float:
            if "method.restarts" in configuration:
                raise KeyError("restarts")
            return 0.5

        found = searched(space, moody, optimizer="random")
        assert {*found.trials["reason"]} == {"", "KeyError: 'restarts'"}
        assert {*found.trials["status"]} == {"success", "error"}

    def test_a_configuration_is_its_own_to_change(self, space: sl.Space) -> None:
        found = searched(space, lambda configuration: len(configuration.popitem()) / 10)
        assert all(each in space for each in found.configurations)

    @pytest.mark.parametrize("loss", [np.float64(0.5), np.float32(0.5), np.array(0.5), 1, True])
    def test_any_number_is_a_loss(self, loss: Any, space: sl.Space) -> None:
        assert searched(space, lambda _: loss).loss == float(loss)

    def test_costs_and_constraints_are_what_it_says(self, space: sl.Space) -> None:
        def bounded(configuration: Mapping[str, Any]) -> dict[str, Any]:
            heat = configuration.get("method.heat", math.nan)
            return {"loss": 1 / (1 + quality(dict(configuration))), "cost": 7, "constraints": {"heat": heat}}

        found = searched(space, bounded, optimizer="random", constraints={"heat": 2.0}, trials=20)
        assert {*found.trials["cost"]} == {7.0}
        assert found.is_feasible
        held = [heat <= 2.0 for heat in found.trials["constraint.heat"]]
        assert any(held)
        assert found.outcome.infeasible == held.count(False) > 0
        assert found.loss == found.trials["loss"][held].min()

    def test_a_bound_of_which_it_says_nothing_is_a_failure(self, space: sl.Space) -> None:
        with pytest.raises(sl.NoSuccessError, match="the constraints lack a value of `heat`"):
            searched(space, quality, constraints={"heat": 2.0})
        with pytest.raises(sl.NoSuccessError, match="the constraints lack a value of `predict_latency`"):
            searched(sl.parse(BOUNDED), quality)

    @pytest.mark.parametrize("optimizer", ["hyperband", "bohb"])
    def test_fidelities_are_its_second_argument(self, space: sl.Space, optimizer: str) -> None:
        seen = []

        def watched(configuration: dict[str, Any], fidelity: int) -> float:
            seen.append(fidelity)
            return gradual(configuration, fidelity)

        found = searched(space, watched, fidelities=(1, 3, 9), trials=30, optimizer=optimizer)
        assert {*seen} == {1, 3, 9}
        assert seen == found.trials["fidelity"].fillna(9).tolist(), "the full fidelity is missing"
        assert found.best_configuration is not None
        assert found.loss == gradual(dict(found.best_configuration), 9), "the full fidelity counts"

    @pytest.mark.parametrize("optimizer", ["hyperband", "bohb"])
    def test_fidelities_that_no_grid_leads_to(self, space: sl.Space, optimizer: str) -> None:
        with pytest.raises(InputError, match="has no fidelity"):
            searched(space, gradual, fidelities=(1, 7, 9), optimizer=optimizer)
        options = {"b": 3, "eta": 3}
        found = searched(space, gradual, fidelities=(1, 3, 9), optimizer=optimizer, optimizer_options=options)
        assert {*found.trials["fidelity"].dropna()} <= {3}, "what the user says of the optimizer holds"

    @pytest.mark.parametrize("fidelities", [(), (0, 1), (3, 1), (1, 1), (1.5, 2)])
    def test_what_are_no_fidelities(self, fidelities: tuple[Any, ...], space: sl.Space) -> None:
        with pytest.raises(ValueError, match="fidelities must be increasing positive integers"):
            searched(space, gradual, fidelities=fidelities)

    def test_a_trial_is_held_to_its_limits(self, space: sl.Space) -> None:
        def slow(configuration: dict[str, Any]) -> float:
            import time

            time.sleep(60 if "method.restarts" in configuration else 0)
            return 0.5

        found = searched(space, slow, optimizer="random", trials=4, workers=2, trial_limit="0.5s")
        assert {*found.trials["status"]} == {"success", "timeout"}

    def test_a_run_goes_on_and_another_function_is_refused(self, space: sl.Space, tmp_path: Path) -> None:
        place = tmp_path / "run.db"
        first = searched(space, quality, store=place)
        more = searched(space, quality, store=place, resume=True, trials=12)
        assert len(more.trials) == 12
        assert more.trials["loss"][:8].tolist() == first.trials["loss"].tolist()
        with Store.read(place) as run:
            assert (run.header.data.name, run.header.validation) == (f"function:{__name__}.quality", "none")
        for other in (gradual, Model(1.0), functools.partial(quality)):
            with pytest.raises(StoreError, match="data: `function:"):
                searched(space, other, store=place, resume=True)

    def test_what_tells_functions_apart(self) -> None:
        def made(factor: float) -> Callable[[dict[str, Any]], float]:
            return lambda configuration: factor * quality(configuration)

        def defaulting(configuration: dict[str, Any], factor: float = 2.0) -> float:
            return factor * quality(configuration)

        alike = [
            lambda: made(1.0),
            lambda: Model(1.0),
            lambda: Model(1.0).method,
            lambda: functools.partial(defaulting, factor=1.0),
        ]
        other = [made(2.0), Model(2.0), Model(2.0).method, functools.partial(defaulting, factor=2.0), defaulting, len]
        known = [function_fingerprint(make()) for make in alike]
        assert known == [function_fingerprint(make()) for make in alike]
        assert len({*known, *map(function_fingerprint, other)}) == len(known) + len(other)

    def test_a_function_of_no_file_is_told_by_what_it_does(self) -> None:
        functions = []
        for text in ("c: 1.0", "c: 2.0", "c: 1.0"):
            functions.append(eval(f"lambda {text}"))
        first, second, third = map(function_fingerprint, functions)
        assert first == third != second

    def test_what_is_no_objective(self, space: sl.Space) -> None:
        with pytest.raises(InputError, match="must be a function, not `3`"):
            sl.search(space, objective=3, trials=1)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="`quality` is not an objective"):
            sl.search(space, objective="quality", trials=1)
        with pytest.raises(InputError, match="must be a function"):
            make_function_objective(None)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "option",
        [
            {"features": np.zeros((3, 1))},
            {"target": [1]},
            {"metric": "f1"},
            {"validate": "cv(5)"},
            {"test": 0.2},
            {"metrics": ("f1",)},
            {"training_score": True},
            {"predictions": True},
            {"constraints": [sl.Constraint("leaves", len, 3)]},
        ],
    )
    def test_what_data_alone_has_is_refused(self, option: dict[str, Any], space: sl.Space) -> None:
        with pytest.raises(ValueError, match=r"leave it out|limits by name"):
            sl.search(space, objective=quality, trials=1, **option)

    def test_what_data_has_not_is_refused(self, space: sl.Space) -> None:
        data: tuple[Any, Any] = np.zeros((3, 1)), [1, 2, 3]
        for option in ({"fidelities": (1, 3)}, {"scale": 1.0}, {"constraints": {"heat": 1.0}}):
            with pytest.raises(ValueError, match="data"):
                sl.search(space, *data, trials=1, **option)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"`3` is not a constraint of pipelines: give `sl\.Constraint"):
            sl.search(space, *data, trials=1, constraints=[3])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="nothing to search on"):
            sl.search(space, trials=1)


class TestArtificial:
    def test_workers_find_what_this_process_finds(self, space: sl.Space) -> None:
        one, two = (sl.search(space, objective="artificial:7", trials=30, workers=count) for count in (0, 2))
        known = dict(zip(one.configurations, one.trials["loss"], strict=True))
        both = [*zip(two.configurations, two.trials["loss"], strict=True)]
        assert any(each in known for each, _ in both)
        assert all(known.get(each, loss) == loss for each, loss in both)

    def test_no_symbol_of_data_is_known(self, tmp_path: Path) -> None:
        place = tmp_path / "sized.space"
        place.write_text(SIZED)
        with pytest.raises(sl.SpaceError, match="`n_features` is not bound"):
            sl.search(place, objective="artificial:7", trials=1)
        bound = sl.parse(SIZED, bind={"n_features": 5})
        assert len(sl.search(bound, objective="artificial:7", trials=3, workers=0).trials) == 3

    def test_what_it_has_not(self, space: sl.Space) -> None:
        with pytest.raises(
            InputError, match="bounds `predict_latency`, but the objective `artificial:7` does not measure it"
        ):
            sl.search(sl.parse(BOUNDED), objective="artificial:7", trials=1)
        with pytest.raises(InputError, match="`fidelities` has no effect on the objective `artificial:7`"):
            sl.search(space, objective="artificial:7", fidelities=(1, 3), trials=1)
        for wrong in ("artificial:", "artificial:x", "artificial:-1", "artificial:1.5"):
            with pytest.raises(InputError, match="has no seed"):
                sl.search(space, objective=wrong, trials=1)

    def test_another_seed_is_another_box(self, space: sl.Space, tmp_path: Path) -> None:
        place = tmp_path / "run.db"
        sl.search(space, objective="artificial:7", trials=3, workers=0, store=place)
        with pytest.raises(StoreError, match=r"data: `artificial:7` .content .* in the store, `artificial:8`"):
            sl.search(space, objective="artificial:8", trials=3, workers=0, store=place, resume=True)

    def test_optimizers_are_compared_on_it(self, space: sl.Space) -> None:
        boxes = {"seven": "artificial:7", "eight": "artificial:8"}
        compared = sl.compare(space, boxes, ["random", "hyperband"], repeats=2, trials=10, workers=0)
        assert len(compared.results.runs) == 8
        with pytest.raises(ValueError, match="a metric has no effect on `artificial:7`"):
            sl.compare(space, boxes, ["random"], repeats=1, trials=1, metric="f1")


class TestTelling:
    def test_what_is_bounded_is_told_with_the_loss(self) -> None:
        with sl.ask_and_tell(sl.parse(BOUNDED), trials=3, constraints={"heat": 2.0}) as search:
            for number, asked in enumerate(search):
                with pytest.raises(ValueError, match="the constraints lack a value of `predict_latency`"):
                    asked.tell(0.5)
                asked.tell(0.5, cost=3.0, constraints={"predict_latency": 1e-4, "heat": number})
        trials = search.result.trials
        assert trials["constraint.heat"].tolist() == [0, 1, 2]
        assert {*trials["cost"]} == {3.0}
        assert search.result.outcome.infeasible == 0

    def test_a_mistake_in_telling_leaves_the_trial_to_be_told(self, space: sl.Space) -> None:
        asked = next(sl.ask_and_tell(space, fidelities=(2, 4)))
        assert asked.fidelity in (2, 4)
        mistakes: list[dict[str, Any]] = [
            {"loss": "a"},
            {"loss": 1.0, "cost": math.nan},
            {"loss": 1.0, "constraints": {"size": 1}},
            {"loss": 1.0, "constraints": [1]},
            {"loss": 1.0, "fidelity": 3},
        ]
        for mistake in mistakes:
            with pytest.raises(ValueError, match=r"must be a|the cost is|has no bound|at fidelity"):
                asked.tell(**mistake)
        assert asked.is_wanted
        asked.tell(0.5, fidelity=asked.fidelity)
        assert not asked.is_wanted

    def test_several_are_out_at_once(self, space: sl.Space) -> None:
        search = sl.ask_and_tell(space, batch=3, trials=7, optimizer="random")
        first, second, third = search.ask()
        assert search.ask() == []
        with pytest.raises(RuntimeError, match="tell the loss"):
            next(search)
        second.tell(0.5)
        (fourth,) = search.ask()
        for each in (fourth, third, first):
            each.tell(0.4)
        assert len(search.ask()) == 3
        with pytest.raises(RuntimeError, match="still running"):
            assert search.result
        search.close()
        assert (search.ask(), [*search], len(search.result.trials)) == ([], [], 4)

    @pytest.mark.parametrize("batch", [0, -1])
    def test_what_is_no_batch(self, batch: int, space: sl.Space) -> None:
        with pytest.raises(ValueError, match="must be at least 1"):
            sl.ask_and_tell(space, batch=batch)

    def test_a_resume_needs_a_store(self, space: sl.Space) -> None:
        with pytest.raises(ValueError, match="give the `store`"):
            sl.ask_and_tell(space, resume=True)

    def test_what_is_closed_has_all_that_was_told_and_goes_on(self, space: sl.Space, tmp_path: Path) -> None:
        place = tmp_path / "run.db"
        search = sl.ask_and_tell(space, store=place)
        for _ in range(3):
            next(search).tell(0.5)
        search.close()
        assert (search.result.outcome.ended, len(search.result.trials)) == ("interrupted", 3)
        again = sl.ask_and_tell(space, store=place, resume=True, trials=4)
        assert len([asked.tell(0.5) for asked in again]) == 1
        assert again.result.outcome.ended == "budget"

    def test_what_nobody_wants_any_more_is_not_heard(self, space: sl.Space) -> None:
        with sl.ask_and_tell(space, batch=3, optimizer="random") as search:
            first, second, third = search.ask()
            first.tell(0.5)
            assert second.is_wanted
        for asked in (second, third):
            assert not asked.is_wanted
            asked.tell(0.1)
        assert (search.result.loss, len(search.result.trials)) == (0.5, 1)

    def test_an_interrupt_in_the_midst_of_telling_ends_it_in_order(self, space: sl.Space) -> None:
        """It comes while the optimizer reckons, of which the user sees the interrupt alone."""
        search = sl.ask_and_tell(space, optimizer="random")
        next(search).tell(0.5)
        interrupted = next(search)
        reckoning = patch("spacelang.runtime.search_loop.TrialDispatcher.accept", side_effect=KeyboardInterrupt)
        with reckoning, pytest.raises(KeyboardInterrupt):
            interrupted.tell(0.25)
        assert (search.result.outcome.ended, search.result.loss) == ("interrupted", 0.25)

    def test_what_was_told_is_safe_at_once(self, tmp_path: Path) -> None:
        """The process ends where nobody can do anything about it."""
        place = tmp_path / "run.db"
        code = (
            "import os, spacelang as sl\n"
            f"for asked in sl.ask_and_tell(sl.parse({SPACE!r}), store={str(place)!r}, batch=2):\n"
            "    if len(asked.configuration) == 2: asked.tell(0.5)\n"
            "    else: asked.tell(0.25); os._exit(0)\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        with Store.read(place) as run:
            assert [*run.records()][-1].trial.loss == 0.25


def test_a_search_without_data_imports_no_scikit_learn() -> None:
    code = (
        "import sys, spacelang as sl\n"
        f"sl.search(sl.parse({SPACE!r}), objective=lambda values: len(values), trials=3, workers=0)\n"
        "assert 'sklearn' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


OWN = DataFacts("own", 0, 0, "1")


@dataclass(frozen=True, kw_only=True)
class Own(BlackBoxObjective):
    """An objective of a user's own, with trials at 1, 3 and 9."""

    facts: DataFacts = OWN
    fidelities: tuple[int, ...] = (1, 3, 9)

    def evaluate(self, request: Request) -> Trial:
        return Trial(request, quality(dict(request.configuration)), 0.1)


class TestOwnObjectives:
    def test_it_is_searched_at_its_own_fidelities(self, space: sl.Space) -> None:
        found = searched(space, Own(), optimizer="hyperband", trials=40)
        assert {*found.trials["fidelity"].dropna()} <= {1, 3}
        assert found.trials["fidelity"].nunique(dropna=False) > 1
        assert found.best_configuration is not None
        assert found.loss == quality(dict(found.best_configuration))

    @pytest.mark.parametrize("option", [{"fidelities": (1, 3)}, {"scale": 1.0}, {"constraints": {"heat": 1.0}}])
    def test_what_it_says_by_itself_is_not_said_beside_it(self, option: dict[str, Any], space: sl.Space) -> None:
        with pytest.raises(InputError, match="has no effect on the objective `own`"):
            searched(space, Own(), **option)

    def test_it_must_have_what_the_space_bounds(self) -> None:
        with pytest.raises(
            InputError, match="the space bounds `predict_latency`, which the objective `own` does not measure"
        ):
            searched(sl.parse(BOUNDED), Own())
