"""The models that trials have fitted, in a temporary folder of the run, for answers without time to fit them again.

A worker writes the models of a trial (one for each fold) before it reports the trial. The coordinator keeps those of
the best trials of each learner, deletes the others, and publishes the ranks of the worst ones, so that workers write no
model that would be deleted at once. The folder is private to the user and is deleted at the end of the run. Nothing of
it gets into the store. Workers that do not share the folder, such as those of a cluster, keep no models.
"""

import json
import os
import pickle
import shutil
import struct
import tempfile
from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from spacelang.ir.trial import Request, Trial
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.learner_shares import choose_equal_shares, equal_share, learner_of
from spacelang.runtime.listeners import Closeable

TrialRank: TypeAlias = tuple[bool, float, bool, float]
"""A sort key of successful trials, the best first: infeasible, violation of bounds, fewer training rows, loss."""
MAX_BYTES: Final = 2**30  # The size of all kept models together, in bytes
MAX_MODEL_BYTES: Final = 2**27  # The size of the models of one trial, in bytes
MIN_MODEL_BYTES: Final = 2**22  # Models up to this size are kept however little time their trial took, in bytes
BYTES_PER_SECOND: Final = 2**25
"""The bytes that a trial may write for each second that it took, about a tenth of what a disk writes in that time.

A model that is larger takes little time to be fitted again.
"""
FREE_DISK_DIVISOR: Final = 4  # Models take at most one part in four of the free space of the disk
WANTED_FILE: Final = "wanted.json"
_HEADER: Final = struct.Struct("<d")  # The seconds of scoring


def rank_trial(trial: Trial, training_size: int) -> TrialRank:
    """Return the rank of a successful trial; a smaller one is better.

    Trials within all bounds come first, others by how much they exceed them. Among those within the bounds, trials on
    all training rows come first. Then the loss counts.
    """
    rows = trial.request.fidelity
    is_partial = trial.is_feasible and rows is not None and rows < training_size
    return not trial.is_feasible, trial.excess, is_partial, float("inf") if trial.loss is None else trial.loss


@dataclass(frozen=True, slots=True)
class TrialModelFolder:
    """The folder in which a worker stores the models of its trials.

    `learner_key` is the key of the decision that chooses the learner; empty if all trials are ranked together.
    """

    path: str
    training_size: int
    learner_key: str = ""

    def file_of(self, request: Request) -> Path:
        """Return the path for the models of a request, which is equal for equal configurations and numbers of rows."""
        rows = request.fidelity
        size = "all" if rows is None or rows >= self.training_size else str(rows)
        return Path(self.path) / f"{request.configuration.digest.hex()}-{size}"

    def store(self, trial: Trial, models: Sequence[Any], score_seconds: float) -> None:
        """Write the models of a trial, one for each fold, if they are wanted, small enough and can be pickled."""
        most = min(max(trial.cost * BYTES_PER_SECOND, MIN_MODEL_BYTES), MAX_MODEL_BYTES)
        place = self.file_of(trial.request)
        partial = place.with_suffix(f".{os.getpid()}")
        try:
            if not self._is_wanted(trial):
                return
            with partial.open("wb") as file:
                file.write(_HEADER.pack(score_seconds))
                pickle.Pickler(_BoundedFile(file, most), pickle.HIGHEST_PROTOCOL).dump([*models])
            partial.replace(place)
        except Exception:  # noqa: BLE001 - pickling foreign objects may raise anything; the trial has a loss all the same
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def _is_wanted(self, trial: Trial) -> bool:
        """Return True if the trial ranks before the worst one of its learner that is kept, or if there is room."""
        text = (Path(self.path) / WANTED_FILE).read_text(encoding="ascii")  # raises OSError if the folder is not shared
        of_all, of_learners = json.loads(text)
        worst = of_learners.get(learner_of(trial, self.learner_key), of_all)
        return worst is None or rank_trial(trial, self.training_size) < tuple(worst)


class _BoundedFile:
    """A binary file that raises OverflowError instead of becoming larger than `most` bytes."""

    def __init__(self, file: Any, most: float) -> None:
        self._file, self._left = file, most

    def write(self, data: Any) -> int:
        """Write bytes, and return their number."""
        size = memoryview(data).nbytes
        self._left -= size
        if self._left < 0:
            raise OverflowError("the models of the trial exceed the disk space for models of trials")
        self._file.write(data)
        return size


def read_models(path: Path) -> list[Any]:
    """Return the fitted pipelines of a trial, one for each fold; raise OSError or whatever unpickling raises."""
    with path.open("rb") as file:
        file.seek(_HEADER.size)
        models: list[Any] = pickle.load(file)
    return models


@dataclass(frozen=True, slots=True, order=True)
class StoredTrialModels:
    """The kept models of a trial: their file, its size, and the seconds that scoring all folds took."""

    rank: TrialRank
    index: int
    path: Path = field(compare=False)
    bytes: int = field(compare=False)
    score_seconds: float = field(compare=False)
    learner: str = field(default="", compare=False)


class BestTrialModels(Closeable):
    """The models of the best trials of a run, about `count` trials and at most `most_bytes` bytes, until it is closed.

    All learners have equal shares, if there is the key of a decision that chooses them. Raises OSError if no temporary
    folder can be made.
    """

    def __init__(self, training_size: int, count: int, most_bytes: float = MAX_BYTES, learner_key: str = "") -> None:
        place = tempfile.mkdtemp(prefix="spacelang-models-")
        self.folder = TrialModelFolder(place, training_size, learner_key)
        self._count = count
        self._most_bytes = min(most_bytes, shutil.disk_usage(place).free / FREE_DISK_DIVISOR)
        self._kept: list[StoredTrialModels] = []
        self._by_path: dict[Path, StoredTrialModels] = {}
        self._publish(None, {})

    def add(self, record: TrialRecord) -> None:
        """Register the models that a worker has written for a finished trial, and delete those beyond the limits."""
        if record.trial.loss is None:
            return
        path = self.folder.file_of(record.trial.request)
        try:
            with path.open("rb") as file:
                (score_seconds,) = _HEADER.unpack(file.read(_HEADER.size))
            size = path.stat().st_size
        except (OSError, struct.error):
            return
        if path in self._by_path:
            return
        rank = rank_trial(record.trial, self.folder.training_size)
        learner = learner_of(record.trial, self.folder.learner_key)
        model = StoredTrialModels(rank, record.index, path, size, score_seconds, learner)
        insort(self._kept, model)
        self._by_path[path] = model
        self._delete_surplus()

    def find(self, trial: Trial) -> StoredTrialModels | None:
        """Return the kept models of a trial, or None."""
        return self._by_path.get(self.folder.file_of(trial.request))

    def close(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.folder.path, ignore_errors=True)
        self._kept.clear()
        self._by_path.clear()

    def _delete_surplus(self) -> None:
        learners = [each.learner for each in self._kept]
        share = equal_share(learners, self._count)
        chosen = choose_equal_shares([each.rank for each in self._kept], learners, self._count)
        for surplus in [each for place, each in enumerate(self._kept) if place not in {*chosen}]:
            self._delete(surplus)
        total, is_full = sum(each.bytes for each in self._kept), False
        while len(self._kept) > 1 and total > self._most_bytes:
            total -= self._kept[-1].bytes
            is_full = True
            self._delete(self._kept[-1])
        worst = {each.learner: each.rank for each in self._kept}  # the last one of each learner counts
        counts = Counter(each.learner for each in self._kept)
        full = {name: rank for name, rank in worst.items() if is_full or counts[name] >= share}
        self._publish(self._kept[-1].rank if is_full else None, full)

    def _delete(self, models: StoredTrialModels) -> None:
        self._kept.remove(models)
        del self._by_path[models.path]
        with suppress(OSError):
            models.path.unlink(missing_ok=True)

    def _publish(self, of_all: TrialRank | None, of_learners: Mapping[str, TrialRank]) -> None:
        """Write to the folder, for the workers, the ranks that trials must beat: of the learners, and of all others."""
        place = Path(self.folder.path) / WANTED_FILE
        new = place.with_suffix(".new")
        with suppress(OSError):  # a full disk costs models, not the run
            new.write_text(json.dumps((of_all, of_learners)), encoding="ascii")
            new.replace(place)
