"""Stores to make pages of: one with everything that a page tells, and odd ones; and pages as browsers read them."""

from collections.abc import Iterator
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path
from typing import Any, Final

from storing import LIMIT, header, space, stored, trial

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Measurement, Status, TestScore, UnseenRowsMeasurement
from spacelang.runtime.storage.optional_tables import StoredUnseenScore, save_unseen_score
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.runtime.storage.store import Store

HOSTILE: Final = "<script>pwned=1</script></style>]]>\"'><img src=x onerror=pwned=1>\u202e\x1b[2J\n{{7*7}}"
"""Closes what it stands in, begins a script, loads a picture, turns the direction, steers terminals and templates."""

VOID: Final = frozenset({"meta", "link", "br", "img", "hr", "input", "wbr"})


def configuration(index: int) -> Configuration:
    if index % 3:
        found = {"scaler": "StandardScaler", "estimator": "LogisticRegression", "estimator.C": 10.0 ** (index % 5 - 2)}
    else:
        found = {"scaler": "none", "estimator": "DecisionTreeClassifier", "estimator.max_depth": index % 20 + 1}
    return Configuration(found)


def written(path: Path, said: "dict[int, dict[str, Any]]", ending: str = "budget", **others: Any) -> Path:
    """A store with what is said of each trial, by its number."""
    store = Store.create(path, header(space(), **others), durable=False)
    for index, facts in said.items():
        store.append(trial(index, **{"configuration": configuration(index)} | facts))
    store.end_session(ending, float(len(said)))
    return path


def full(path: Path, count: int = 66, name: str = "wine.csv") -> Path:
    """Failures by two reasons, a bound that some break, trials on few rows, and a best trial with a test."""
    said: dict[int, dict[str, Any]] = {}
    for index in range(1, count + 1):
        values = (3.0, 5.0, inf, nan)
        said[index] = {
            "loss": 0.1 + 0.3 * (index % 3 == 0) + 1 / (10 + index),
            "fidelity": 50 if index % 11 == 0 else None,
            "cost": 0.01 * (1 + index % 3),
            "constraints": (Measurement(LIMIT, values[index % 4]),),
        }
        if index % 13 == 0:
            kind, reason = (Status.ERROR, "ValueError: no") if index % 2 else (Status.TIMEOUT, "killed after 60 s")
            said[index] |= {"loss": None, "status": kind, "reason": reason, "constraints": ()}
    data = DataFacts(name, 178, 13, "0123456789abcdef" * 4)
    written(path, said, bounds=(LIMIT,), data=data)
    with Store.read(path) as run:
        best = run.best
    assert best is not None
    save_unseen_score(
        path,
        StoredUnseenScore(best[0], TestScore(0.2, 0.15, 0.3, 40, "", (UnseenRowsMeasurement(LIMIT, 3.5, 3.0, 4.5),))),
    )
    return path


def hostile(path: Path) -> Path:
    """A store whose every text is an attack."""
    failed = {"loss": None, "status": Status.ERROR, "reason": HOSTILE}
    evil = Configuration({"scaler": HOSTILE, HOSTILE: HOSTILE})
    said: dict[int, dict[str, Any]] = {index: failed if index % 5 == 0 else {} for index in range(1, 40)}
    said[40] = {"configuration": evil, "loss": 1e-9, "metrics": ((HOSTILE, inf),)}
    data = DataFacts(HOSTILE, 178, 13, HOSTILE)
    return written(path, said, data=data, metric=HOSTILE, optimizer=HOSTILE, settings={HOSTILE: HOSTILE})


def odd(folder: Path) -> Iterator[Path]:
    """Stores that have little, nothing or strange things in them."""
    stored(folder / "empty.db", 0)
    stored(folder / "single.db", 1)
    stored(folder / "killed.db", 3, None)
    failed = {"loss": None, "status": Status.ERROR, "reason": ""}
    written(folder / "failed.db", dict.fromkeys(range(1, 9), failed))
    written(folder / "few_rows.db", {index: {"fidelity": 10} for index in range(1, 20)}, optimizer="hyperband")
    written(folder / "same.db", {index: {"loss": 0.0} for index in range(1, 60)})
    huge = {index: {"loss": 1e308 * (-1) ** index, "finished": 1e300 * index, "cost": 1e300} for index in range(1, 20)}
    written(folder / "huge.db", huge)
    yield from sorted(folder.glob("*.db"))


class Page(HTMLParser):
    """A page as its elements: `elements` has every tag with its attributes, `said` all texts outside of the style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def heads(self) -> set[str]:
        """The ids of the sections of all runs, without the runs."""
        named = (attributes.get("id", "") for tag, attributes in self.elements if tag == "section")
        return {each.partition("-")[2] for each in named if "-" in each}
