"""Stores that earlier code has written are listed, exported, and gone on with: `tests/golden/stores/RUN.db`.

They are in the hands of users, so that UPDATE_GOLDEN=1 writes what is missing, and nothing anew; what is shown of each,
and the trials of the run that goes on, stand in `RUN.txt`. A change of what is drawn or stored raises the version of
stores: those here stay then, and are to be refused with that reason. Where an optimizer has an option more, a store is
gone on with while that has its default.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copy, move
from typing import Any

import pytest
from commands import TOY
from goldens import FOLDER, UPDATE, machine, must_be_kept, rounded
from sklearn.datasets import load_iris

import spacelang as sl
from spacelang.cli import main
from spacelang.runtime.storage.store import Store

KEPT = FOLDER / "stores"
STOPPED = 12
"""After so many trials each run was stopped for the second time."""
WHOLE = 20
"""So many trials it has."""
COMPUTED_ON = "openblas SkylakeX AVX512_ICL glibc 2.36 x86_64"
"""The machine that made the store of a run on data."""

ON_DATA = "iris"


@dataclass(frozen=True)
class Run:
    """A search of `small.space` for numbers that are told: an optimizer, its options, and how many are out at once.

    Where a model proposes that other machines compute otherwise the run `goes_on` with what is stored alone.
    """

    name: str
    optimizer: str
    options: dict[str, str] = field(default_factory=dict)
    out: int = 1
    bounds: dict[str, float] = field(default_factory=dict)
    goes_on: bool = True


RUNS = (
    Run("random", "random"),
    Run("hyperband", "hyperband", out=3),
    Run("blds", "blds", {"hyperparameters": "sample"}, out=3),
    Run("cmab", "cmab"),
    Run("bohb", "bohb"),
    Run("admm", "admm", {"theta": "random"}, bounds={"size": 0.8}),
    Run("admm_bo", "admm", {"theta": "bo"}, goes_on=False),
    Run("boasf", "boasf", {"startup": "2"}, goes_on=False),
    Run("mosaic", "mosaic", {"trees": "5", "n_r": "20", "n_s": "5", "kappa": "1"}, out=2, goes_on=False),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with nothing but the space, as stores say from which file that was read."""
    copy(FOLDER / "small.space", tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_store_is_shown_and_gone_on_with(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = KEPT / f"{run.name}.db"
    if UPDATE and not kept.exists():
        KEPT.mkdir(exist_ok=True)
        for trials in (STOPPED // 2, STOPPED):
            go_on(run, "new.db", until=trials)
        move("new.db", kept)
    assert kept.is_file(), f"{kept.name} is missing: UPDATE_GOLDEN=1 writes it"
    copy(kept, "run.db")
    shown = [*listed(capsys), *exported()]
    before = trials_of("run.db")
    go_on(run, "run.db", until=WHOLE if run.goes_on else STOPPED)
    after = trials_of("run.db")
    assert after[:STOPPED] == before
    assert len(after) == (WHOLE if run.goes_on else STOPPED)
    found = "".join(f"{line}\n" for line in (*shown, *(json.dumps(rounded(each)) for each in after[STOPPED:])))
    must_be_kept(KEPT / f"{run.name}.txt", found, tmp_path)


def test_a_store_of_a_run_on_data_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = KEPT / f"{ON_DATA}.db"
    if UPDATE and not kept.exists():
        search_iris("new.db", trials=4)
        move("new.db", kept)
    assert kept.is_file(), f"{kept.name} is missing: UPDATE_GOLDEN=1 writes it"
    copy(kept, "run.db")
    shown, before = [*listed(capsys), *exported()], trials_of("run.db")
    with Store.read(Path("run.db")) as run:
        predicted = [run.predictions(trial) for trial in range(1, 5)]
    shown += [json.dumps(rounded(each)) for each in predicted if each is not None]
    must_be_kept(KEPT / f"{ON_DATA}.txt", "".join(f"{line}\n" for line in shown), tmp_path, is_whole=False)
    if machine() != COMPUTED_ON:
        pytest.skip(f"computed with {COMPUTED_ON}: draws on a log scale differ in the last bit with {machine()}")
    search_iris("run.db", trials=5)
    after = trials_of("run.db")
    assert after[: len(before)] == before
    found = "".join(f"{line}\n" for line in (*shown, *(json.dumps(rounded(each[0])) for each in after[len(before) :])))
    must_be_kept(KEPT / f"{ON_DATA}.txt", found, tmp_path)


def test_no_file_is_left_over() -> None:
    names = {ON_DATA, *(run.name for run in RUNS)}
    assert {path.name for path in KEPT.iterdir()} == {f"{name}{end}" for name in names for end in (".db", ".txt")}


def go_on(run: Run, store: str, until: int) -> None:
    """Begin a run or go on with it until so many trials are stored."""
    with sl.ask_and_tell(
        "small.space",
        optimizer=run.optimizer,
        optimizer_options=run.options,
        trials=WHOLE,
        batch=run.out,
        fidelities=(100, 200, 400),
        constraints=run.bounds,
        store=store,
        resume=Path(store).exists(),
    ) as search:
        out = search.ask()
        for _ in range(until - (len(trials_of(store)) if Path(store).exists() else 0)):
            asked = out.pop(0)
            loss, size = losses(asked)
            asked.tell(loss, cost=1.0, constraints=dict.fromkeys(run.bounds, size))
            out += search.ask()


def search_iris(store: str, trials: int) -> None:
    """A search with all that is stored beside losses: it begins, or it goes on until there are so many trials."""
    features, labels = load_iris(return_X_y=True, as_frame=True)
    sl.search(
        sl.parse(TOY, "toy.space"),
        features,
        labels,
        optimizer="random",
        validate="holdout(0.3)",
        metrics=("accuracy",),
        training_score=True,
        predictions=True,
        test=0.2,
        trials=trials,
        store=store,
        resume=True,
        workers=0,
    )


def losses(asked: sl.Suggestion) -> tuple[float | None, float]:
    """The loss of a configuration at a fidelity, None for some; and another number."""
    given = asked.configuration
    places = ("scaler", "selector", "estimator")
    number = sum((len(str(given[name])) * (place + 3)) % 7 for place, name in enumerate(places))
    fails = given["estimator"] == "GaussianNB" and given["selector"] == "none"
    return None if fails else number / 16 + 25 / asked.fidelity, number / 12


# ---- what is seen of a store


def listed(capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """What `spacelang runs` says of the stores in this folder."""
    command("runs", ".", "--json")
    yield from (json.dumps(rounded(each)) for each in json.loads(capsys.readouterr().out))


def exported() -> Iterator[str]:
    """The table that `spacelang runs --export` writes."""
    command("runs", "run.db", "--export", "trials.csv")
    yield from Path("trials.csv").read_text(encoding="utf-8").splitlines()


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0


def trials_of(store: str) -> list[Any]:
    """What is stored of each trial but for its times."""
    with Store.read(Path(store)) as run:
        return [
            (
                each.trial.request.configuration.to_dict(),
                each.trial.request.fidelity,
                each.trial.loss,
                each.trial.status.value,
                each.proposal,
                each.trial.request.memo,
            )
            for each in run.records()
        ]
