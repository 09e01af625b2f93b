"""The models of trials in the temporary folder of a run."""

import stat
from pathlib import Path
from typing import Any

import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Bound, BoundedMeasure
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime import trial_models
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.trial_models import BestTrialModels, TrialModelFolder, rank_trial, read_models

SIZE = Bound(BoundedMeasure.SIZE, 100.0)


def trial(name: int, loss: float | None, rows: int | None = None, size: float = 1.0, cost: float = 1.0) -> Trial:
    status = Status.ERROR if loss is None else Status.SUCCESS
    return Trial(Request(Configuration({"x": name}), rows), loss, cost, status, constraints=(Measurement(SIZE, size),))


def finish(models: BestTrialModels, found: Trial, content: Any = "model") -> None:
    """Do what the worker and then the coordinator does."""
    models.folder.store(found, [content], 0.5)
    models.add(TrialRecord(int(found.request.configuration["x"]), found, 0.0, 1.0))  # type: ignore[call-overload]


def names(models: BestTrialModels) -> list[str]:
    return sorted(each.name for each in Path(models.folder.path).iterdir() if each.suffix != ".json")


def test_models_are_read_as_they_were_written_and_deleted_at_the_end() -> None:
    with BestTrialModels(70, 3) as models:
        finish(models, trial(1, 0.5), {"a": [1, 2]})
        found = models.find(trial(1, 0.5))
        assert found is not None
        assert (found.score_seconds, found.index) == (0.5, 1)
        assert found.bytes == found.path.stat().st_size
        assert read_models(found.path) == [{"a": [1, 2]}]
        assert models.find(trial(1, 0.5, rows=70)) is not None, "these are all rows"
        assert models.find(trial(1, 0.5, rows=10)) is None
        assert models.find(trial(2, 0.5)) is None
        assert stat.S_IMODE(Path(models.folder.path).stat().st_mode) == 0o700
    assert not Path(models.folder.path).exists()
    models.close()


def test_those_of_the_best_trials_are_kept() -> None:
    with BestTrialModels(70, 3) as models:
        for name, loss in enumerate([0.5, 0.4, 0.9, 0.3, 0.8, 0.45, 0.2], start=1):
            finish(models, trial(name, loss))
        there = [name for name in range(1, 8) if models.find(trial(name, 0.0)) is not None]
        assert there == [2, 4, 7]
        assert len(names(models)) == 3
        finish(models, trial(9, None))
        models.folder.store(trial(8, 0.9), ["unwanted"], 0.0)
        assert len(names(models)) == 3, "a worker does not write what is not wanted"


def test_all_learners_have_equal_shares() -> None:
    """Trials 1, 3, … have one learner, the others another one, with larger losses."""
    with BestTrialModels(70, 4, learner_key="learner") as models:
        for name in range(1, 9):
            configuration = Configuration({"x": name, "learner": "slow" if name % 2 == 0 else "good"})
            finish(models, Trial(Request(configuration), name / 100 + (name % 2 == 0), 1.0))
        assert [int(each.index) for each in models._kept] == [1, 3, 2, 4]
        unwanted = Trial(Request(Configuration({"x": 9, "learner": "good"})), 0.9, 1.0)
        models.folder.store(unwanted, ["unwanted"], 0.0)
        assert len(names(models)) == 4, "it is worse than the others of its learner, not than those of the other one"
        finish(models, Trial(Request(Configuration({"x": 10, "learner": "slow"})), 0.95, 1.0))
        finish(models, Trial(Request(Configuration({"x": 11, "learner": "new"})), 5.0, 1.0))
        assert [int(each.index) for each in models._kept] == [1, 3, 10, 2, 11]


def test_a_trial_on_few_rows_or_beyond_a_bound_gives_way() -> None:
    ranked = [trial(1, 0.5), trial(2, 0.1, rows=10), trial(3, 0.1, size=150.0), trial(4, 0.01, size=900.0)]
    assert sorted([*ranked[2:], *ranked[:2]], key=lambda each: rank_trial(each, 70)) == ranked
    with BestTrialModels(70, 2) as models:
        for each in reversed(ranked):
            finish(models, each)
        assert [models.find(each) is not None for each in ranked] == [True, True, False, False]


def test_the_bytes_are_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with BestTrialModels(70, 9, most_bytes=2500) as models:
        for name, loss in enumerate([0.5, 0.4, 0.3, 0.6], start=1):
            finish(models, trial(name, loss), b"x" * 1000)
        assert [name for name in range(1, 5) if models.find(trial(name, 0.0)) is not None] == [2, 3]
    with BestTrialModels(70, 9, most_bytes=10) as models:
        finish(models, trial(1, 0.5), b"x" * 1000)
        assert models.find(trial(1, 0.5)) is not None, "the best one is kept in any case"


def test_a_learner_without_room_for_its_models_writes_none() -> None:
    with BestTrialModels(70, 9, most_bytes=2500, learner_key="learner") as models:
        for name, (learner, loss) in enumerate([("bad", 0.9), ("good", 0.3), ("good", 0.4)], start=1):
            configuration = Configuration({"x": name, "learner": learner})
            finish(models, Trial(Request(configuration), loss, 1.0), b"x" * 1000)
        assert len(names(models)) == 2
        for learner, loss, count in (("bad", 0.8, 2), ("new", 0.8, 2), ("new", 0.1, 3)):
            found = Trial(Request(Configuration({"x": 4, "learner": learner})), loss, 1.0)
            models.folder.store(found, [b"x" * 1000], 0.0)
            assert len(names(models)) == count


def test_a_model_may_be_as_large_as_its_trial_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_models, "MIN_MODEL_BYTES", 100)
    monkeypatch.setattr(trial_models, "BYTES_PER_SECOND", 1000)
    with BestTrialModels(70, 9) as models:
        finish(models, trial(1, 0.5, cost=0.01), b"x" * 500)
        finish(models, trial(2, 0.5, cost=1.0), b"x" * 500)
        assert [models.find(trial(name, 0.5)) is not None for name in (1, 2)] == [False, True]
        assert len(names(models)) == 1, "nothing is left of the other one"


def test_what_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    with BestTrialModels(70, 9) as models:
        finish(models, trial(1, 0.5), lambda: None)
        assert names(models) == []
        assert models.find(trial(1, 0.5)) is None
    absent = TrialModelFolder(str(tmp_path / "of another machine"), 70)
    absent.store(trial(1, 0.5), ["model"], 0.0)
    assert not Path(absent.path).exists()
