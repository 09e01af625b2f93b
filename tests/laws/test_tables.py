"""A table answers what was recorded, whatever the space; a search on it is the search on what it was made of."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tables import SIZES, kept, loaded, on_table, recorded, table_of, trials

from spacelang.api.experiment_run import run_experiment
from spacelang.bench.tables import StageProduct
from spacelang.bench.tables.objective import TableObjective
from spacelang.ir.space import Space
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import FinishedJob
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import TrialRecord
from spacelang.solver.counting import Structures

from .settings import LAW
from .spaces import finite_spaces

pytestmark = pytest.mark.usefixtures("branches")

MOST = 80
"""Members of a space that is tabulated here."""

OPTIMIZERS = st.sampled_from(("random", "blds", "lds", "mlds", "cmab", "daub", "hyperband", "successive_halving"))


def few(space: Space) -> Structures:
    structures = Structures(space)
    assume(structures.configuration_count is not None and 0 < structures.configuration_count <= MOST)
    return structures


@settings(LAW)
@given(finite_spaces())
def test_what_is_written_is_read_and_answered(space: Space) -> None:
    structures = few(space)
    table = table_of(space)
    with TemporaryDirectory() as folder:
        read = kept(table, Path(folder) / "table.npz")
    objective = TableObjective(structures, read)
    for request in trials(space):
        assert objective.evaluate(request) == recorded(request)
    plain = not space.hyperparameters and structures.count == len(read.pipelines)
    assert isinstance(read.pipelines, StageProduct) <= plain
    assert read.fingerprint
    assert read.metadata == table.metadata


@settings(LAW)
@given(finite_spaces(), OPTIMIZERS, st.integers(0, 9), st.one_of(st.none(), st.floats(0.01, 20)))
def test_a_search_on_a_table_is_one_on_what_it_was_made_of(
    space: Space, name: str, seed: int, seconds: float | None
) -> None:
    few(space)
    options = {"b": SIZES[0]} if name not in ("random", "lds", "cmab") else {}
    made = on_table(loaded(space), table_of(space), name, options, budget=Budget(seconds, 200), seed=seed)
    first = run_experiment(made, Paid(recorded)).outcome
    second = run_experiment(made, made.make_executor()).outcome
    # In this process nothing ends a trial that goes on when the budget is used up: the last one may be there.
    told = [told_of(record) for record in first.records if seconds is None or record.finished <= seconds]
    assert [told_of(record) for record in second.records] == told
    if seconds is None:
        assert (second.curve, second.ended, second.seconds) == (first.curve, first.ended, first.seconds)


class Paid(InProcess):
    """Here, in the time that trials say that they cost."""

    now = 0.0

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob]:
        ended = super().wait(seconds)
        self.now += sum(each.result.cost for each in ended)
        return ended


def told_of(record: TrialRecord) -> tuple[object, ...]:
    return record.index, record.trial, record.started, record.finished
