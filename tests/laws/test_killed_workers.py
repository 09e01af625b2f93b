"""A worker that somebody kills says nothing of its trial: the run is the one that nobody disturbs."""

import random
import sys
import threading
from contextlib import suppress

import psutil
import pytest
from sklearn.datasets import load_wine

import spacelang as sl
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord

SPACE = """
stage scaler = none | StandardScaler | MinMaxScaler | PCA
stage estimator = GaussianNB | RandomForestClassifier | SVC | LogisticRegression
"""


class Killer:
    """Kills the only worker of this process at moments of chance, once between the ends of two trials.

    A kill that was meant for one trial may be late and hit the next, which has then been begun three times at most.
    """

    def __init__(self) -> None:
        self.begun = 0
        """How often the trials were begun that have ended."""
        self._ended = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def on_start(self, _: Budget) -> None:
        self._thread.start()

    def on_trial(self, record: TrialRecord, _: TrialRecord) -> None:
        self._ended += 1
        self.begun += record.attempts

    def on_finish(self, _: Outcome) -> None:
        self._is_over.set()
        self._thread.join()

    def _kill(self) -> None:
        chance = random.Random(7)
        killed_at = -1
        while not self._is_over.wait(chance.uniform(0.0, 0.02)):
            with suppress(psutil.NoSuchProcess):
                zygotes = [zygote for reaper in psutil.Process().children() for zygote in reaper.children()]
                for worker in [each for zygote in zygotes for each in zygote.children()]:
                    if killed_at < self._ended:
                        killed_at = self._ended
                        worker.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_whose_workers_are_killed_is_the_run_that_nobody_disturbs() -> None:
    features, labels = load_wine(return_X_y=True)
    killer = Killer()
    runs = [
        sl.search(sl.parse(SPACE), features, labels, optimizer="random", trials=2, workers=workers, listener=listener)
        for workers, listener in ((0, None), (1, killer))
    ]
    undisturbed, disturbed = (
        [*zip(run.trials[["loss", "status", "reason"]].to_dict("records"), run.configurations, strict=True)]
        for run in runs
    )
    assert disturbed == undisturbed
    assert killer.begun > len(disturbed)
