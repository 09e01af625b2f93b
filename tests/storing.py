"""Runs to be stored: headers and trials that no search has made."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.task import Holdout
from spacelang.runtime.errors import OtherSearchError
from spacelang.runtime.storing.header import DataFacts, Header, make_header
from spacelang.runtime.storing.journal import StoredJournal
from spacelang.runtime.storing.store import Store, is_blank
from spacelang.runtime.storing.stored import StoredTrial
from spacelang.testing.small_spaces import choice, made

TEXT = """\
space small
stage scaler = none | StandardScaler
stage estimator =
  | LogisticRegression { C : float[0.01, 100] log = 1 }
  | DecisionTreeClassifier { max_depth : int[1, 20] = 5 }
"""

DATA = DataFacts("wine.csv", 178, 13, "0123456789abcdef" * 4)


SMALL = made("small", choice("scaler", "none", "StandardScaler"), choice("estimator", "LogisticRegression"))


def space(text: str = TEXT) -> Space:
    from spacelang.api import parse

    return parse(text).checked


def header(over: Space | None = None, **others: object) -> Header:
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
    return make_header(SMALL if over is None else over, **facts | others)


def trial(index: int, **others: object) -> StoredTrial:
    facts = {
        "configuration": Configuration({"estimator": "LogisticRegression", "C": float(index)}),
        "fidelity": None,
        "loss": 1 / index,
        "status": "success",
        "cost": 0.5,
        "started": index - 1.0,
        "finished": float(index),
    }
    return StoredTrial(index, **facts | others)


def trials(count: int, first: int = 1) -> Iterator[StoredTrial]:
    return (trial(index) for index in range(first, first + count))


def stored(path: Path, count: int = 3, ending: str | None = "budget", **others: object) -> Header:
    """A store with so many trials; without an ending it is left as by a process that was killed."""
    given = header(**others)
    store = Store.create(path, given)
    for each in trials(count):
        store.append(each)
    if ending is None:
        store.close()
    else:
        store.end(ending, float(count))
    return given


def read(path: Path) -> list[StoredTrial]:
    with Store.read(path) as run:
        return list(run.records())


@contextmanager
def kept(path: Path) -> Iterator[StoredJournal]:
    """The journal of a run that begins or goes on in a file."""
    make = Store.create if is_blank(path) else Store.open
    with make(path, header(), durable=False) as store:
        try:
            yield StoredJournal(store, ())
        except OtherSearchError as error:
            raise store.refused(error.trial) from error
