"""What a search was told before its process ended it is told again by the store."""

from pathlib import Path

import numpy as np
import pytest
from cheap import NAMES, cheap
from storing import kept

from spacelang.ir.search_protocol import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome
from spacelang.runtime.search_loop import run
from spacelang.runtime.storage.run_listing import trials_to_frame
from spacelang.runtime.storage.store import Store, StoreError
from spacelang.testing.driving import flaky_loss, make_trial
from spacelang.testing.memory_storage import EventLog
from spacelang.testing.simulated_workers import ShuffledWorkers
from spacelang.testing.small_spaces import nested_space

SIZE = 124


def evaluate(request: Request) -> Trial:
    return make_trial(request, flaky_loss(request))


def searched(path: Path, name: str, workers: int, trials: int, seed: int = 0) -> tuple[Outcome, EventLog]:
    heard = EventLog()
    search = cheap(name).search(Problem(nested_space(), SIZE, np.random.default_rng(seed)))
    with kept(path) as journal:
        crew = ShuffledWorkers(evaluate, workers, seed=trials)
        ticks = iter(range(10**6))
        clock = lambda: float(next(ticks))  # noqa: E731
        budget = Budget(trials=trials)
        return run(heard.log_search(search), crew, budget, clock=clock, training_size=SIZE, journal=journal), heard


@pytest.mark.parametrize("name", NAMES)
def test_what_was_told_is_told_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.db"
    before: list[object] = []
    for trials, workers in ((3, 3), (6, 1), (9, 4), (12, 3)):
        outcome, heard = searched(path, name, workers, trials)
        assert heard.events[: len(before)] == before
        before = [*heard.events]
    with Store.read(path) as run_:
        assert [each.workers for each in run_.sessions] == [3, 1, 4, 3]
        assert [each.workers for each in run_.records()] == [each.workers for each in outcome.records]
        assert trials_to_frame(run_)["speculative"].tolist() == [each.is_speculative for each in outcome.records]


def test_a_search_that_asks_for_others_is_refused_and_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    searched(path, "random", 1, 4)
    with pytest.raises(StoreError, match=r"trial \d of `.*run.db` was not requested by this search") as caught:
        searched(path, "random", 1, 6, seed=1)
    assert caught.value.help == "start a new run with another `--store`"
    with Store.read(path) as run_:
        assert (run_.state, run_.count, len(run_.sessions)) == ("finished", 4, 1)
    outcome, _ = searched(path, "random", 1, 6)
    assert len(outcome.records) == 6
