"""Runs to be stored: headers and trials that no search has made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement, Request, Trial
from spacelang.ir.validation import Holdout
from spacelang.runtime.errors import DifferentSearchError
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.run_header import DataFacts, RunHeader, make_run_header
from spacelang.runtime.storage.store import Store, is_missing_or_empty
from spacelang.testing.small_spaces import choice, make_space

TEXT = """\
space small
stage scaler = none | StandardScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 100] log = 1 }
  | DecisionTreeClassifier { max_depth : int[1, 20] = 5 }
"""

LIMIT = FunctionBound("leaves", 4.0)

DATA = DataFacts("wine.csv", 178, 13, "0123456789abcdef" * 4)


SMALL = make_space("small", choice("scaler", "none", "StandardScaler"), choice("estimator", "LogisticRegression"))


def space(text: str = TEXT) -> Space:
    from spacelang.api import parse

    return parse(text).checked


def header(over: Space | None = None, **others: object) -> RunHeader:
    facts = {
        "data": DATA,
        "metric": "1 - roc_auc",
        "validation": Holdout(0.3),
        "training_size": 124,
        "seed": 0,
        "optimizer": "blds",
        "options": {"b": 100, "eta": 2.0},
        "settings": {"limit trial": "60s"},
    }
    return make_run_header(SMALL if over is None else over, **facts | others)


def trial(index: int, **others: object) -> TrialRecord:
    """A trial with facts of the record, of the trial in it and of its request, each by its name."""
    facts = {
        "configuration": Configuration({"estimator": "LogisticRegression", "C": float(index)}),
        "loss": 1 / index,
        "cost": 0.5,
        "started": index - 1.0,
        "finished": float(index),
    } | others
    asked, came = (
        {each.name: facts.pop(each.name) for each in fields(kind) if each.name in facts} for kind in (Request, Trial)
    )
    return TrialRecord(index, Trial(Request(**asked), **came), **facts)


def broken(excess: float) -> tuple[Measurement, ...]:
    """What a trial measures that breaks the only bound of its run by so much."""
    return (Measurement(LIMIT, LIMIT.limit + excess * LIMIT.limit),)


def trials(count: int, first: int = 1) -> Iterator[TrialRecord]:
    return (trial(index) for index in range(first, first + count))


def stored(path: Path, count: int = 3, ending: str | None = "budget", **others: object) -> RunHeader:
    """A store with so many trials; without an ending it is left as by a process that was killed."""
    given = header(**others)
    store = Store.create(path, given)
    for each in trials(count):
        store.append(each)
    if ending is None:
        store.close()
    else:
        store.end_session(ending, float(count))
    return given


def read(path: Path) -> list[TrialRecord]:
    with Store.read(path) as run:
        return list(run.records())


@contextmanager
def kept(path: Path) -> Iterator[Store]:
    """The journal of a run that begins or goes on in a file."""
    make = Store.create if is_missing_or_empty(path) else Store.open
    with make(path, header(), durable=False) as store:
        try:
            yield store
        except DifferentSearchError as error:
            raise store.undo_session_and_make_error(error.trial) from error
