"""A search that is told from outside is the search that a run makes, in whatever order it is told, and once resumed."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from cheap import NAMES, OPTIONS
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import loaded
from trying import IS_FULL

import spacelang as sl
from spacelang.api.ask_tell import CallerEvaluatedData
from spacelang.api.experiment import Experiment
from spacelang.api.experiment_run import run_experiment
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.black_box import BlackBoxObjective
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.testing.driving import make_trial
from spacelang.testing.small_spaces import FINITE, continuous_space

SPACES = (*FINITE, continuous_space())
SIZES = (1, 3, 9)
TRIALS = 25
EXAMPLES = 6 if IS_FULL else 2
"""Of each optimizer."""
BOX = BlackBoxObjective(DataFacts("box", 0, 0, "0"), SIZES)


def loss_of(configuration: sl.Configuration, fidelity: int | None) -> float | None:
    """A loss that depends on nothing else; a third of all trials fail."""
    number = crc32(f"{configuration.identity} {fidelity}".encode()) / 2**32
    return None if number < 1 / 3 else number


def asking(space: Space, optimizer: str, **options: object) -> sl.AskAndTell:
    return sl.ask_and_tell(
        loaded(space),
        optimizer=optimizer,
        optimizer_options=OPTIONS.get(optimizer),
        trials=TRIALS,
        fidelities=SIZES,
        **options,  # type: ignore[arg-type]
    )


def tell(asked: sl.Suggestion) -> None:
    asked.tell(loss_of(asked.configuration, asked.fidelity), cost=1.0)


def ran(space: Space, optimizer: str, seed: int) -> Outcome:
    def evaluate(request: Request) -> Trial:
        return make_trial(request, loss_of(request.configuration, request.fidelity or SIZES[-1]))

    grid = {"b": "1", "eta": "3"} if has_rungs(optimizer) else {}
    said = Experiment(
        space=loaded(space), data=CallerEvaluatedData(SIZES, {}, None), budget=Budget(trials=TRIALS), seed=seed
    )
    chosen = said.with_optimizer(optimizer, {**OPTIONS.get(optimizer, {}), **grid})
    return run_experiment(chosen.prepare_for(chosen.space, BOX), InProcess(evaluate)).outcome


def has_rungs(optimizer: str) -> bool:
    return {"b", "eta"} <= {option.name for option in OPTIMIZERS.options(OPTIMIZERS.load(optimizer))}


def told(outcome: Outcome) -> list[tuple[str, int | None, float | None, bool]]:
    """The trials of a run in their order."""
    trials = [(record.trial, record.is_speculative) for record in outcome.records]
    return [(each.request.configuration.identity, each.request.fidelity, each.loss, early) for each, early in trials]


def at_random(search: sl.AskAndTell, seed: int) -> Iterator[sl.Suggestion]:
    """What is out, told in an order that a seed draws."""
    rng, out = np.random.default_rng(seed), search.ask()
    while out:
        asked = out.pop(int(rng.integers(len(out))))
        if asked.is_wanted:
            yield asked
            tell(asked)
            out += search.ask()


@pytest.mark.parametrize("optimizer", NAMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(SPACES), st.integers(0, 1000))
def test_it_is_the_run_of_one_worker(optimizer: str, space: Space, seed: int) -> None:
    with asking(space, optimizer, seed=seed) as search:
        for asked in search:
            tell(asked)
        found, expected = search.result.outcome, ran(space, optimizer, seed)
    assert told(found) == told(expected)
    assert (found.ended, found.answered_from_memory, found.scale) == (
        expected.ended,
        expected.answered_from_memory,
        expected.scale,
    )


@pytest.mark.parametrize("optimizer", NAMES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(SPACES), st.integers(2, 5), st.integers(0, 1000))
def test_a_batch_is_told_in_any_order(optimizer: str, space: Space, batch: int, seed: int) -> None:
    with asking(space, optimizer, batch=batch, seed=seed) as search:
        asked = [(each.configuration.identity, each.fidelity) for each in at_random(search, seed)]
        found = search.result.outcome
    assert found.ended is not EndReason.INTERRUPTED
    assert len({*asked}) == len(asked) == len(found.records), "nothing that was told is asked for again"
    if optimizer in {"blds", "lds", "mlds", "daub"}:
        alone = ran(space, optimizer, seed)
        if (
            alone.ended is found.ended is EndReason.EXHAUSTED
        ):  # a budget may end in the midst of what was begun together
            decided, needed = ({each[:3] for each in told(one) if not each[3]} for one in (alone, found))
            assert needed <= decided <= {each[:3] for each in told(found)}, "the decisions are those of one worker"


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("optimizer", ["hyperband", "blds", "cmab"])
def test_a_search_that_is_killed_anywhere_goes_on(optimizer: str, batch: int, tmp_path: Path) -> None:
    """What was told is told again, and what was out is asked for again."""
    space, whole = FINITE[4], tmp_path / "whole.db"
    copies = [tmp_path / f"{number}.db" for number in range(6 if IS_FULL else 3)]
    with asking(space, optimizer, batch=batch, store=whole) as search:
        for number, asked in enumerate(at_random(search, 0)):
            if number < len(copies):
                for end in ("", "-wal"):  # as it is where the process ends now
                    shutil.copy(f"{whole}{end}", f"{copies[number]}{end}")
            del asked
        expected = search.result.outcome
    for number, copy in enumerate(each for each in copies if each.is_file()):
        with asking(space, optimizer, batch=batch, store=copy, resume=True) as search:
            again = [*at_random(search, 0)]
            found = search.result.outcome
        assert told(found)[:number] == told(expected)[:number]
        assert len(again) == len(found.records) - number, "each trial is evaluated in one session"
        if batch == 1:
            assert told(found) == told(expected)


def test_another_search_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "run.db"
    with asking(FINITE[0], "random", store=place) as search:
        tell(next(search))
    different: dict[str, Callable[[], object]] = {
        "seed": lambda: asking(FINITE[0], "random", store=place, resume=True, seed=1),
        "space": lambda: asking(FINITE[2], "random", store=place, resume=True),
        "bounds": lambda: asking(FINITE[0], "random", store=place, resume=True, constraints={"size": 1.0}),
        "data": lambda: sl.search(
            loaded(FINITE[0]), objective="artificial:1", optimizer="random", trials=1, store=place, resume=True
        ),
    }
    for what, begin in different.items():
        with pytest.raises(Exception, match=what) as raised:
            begin()
        assert type(raised.value).__name__ == "StoreError"
