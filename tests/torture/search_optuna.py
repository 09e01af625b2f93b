"""A search with Optuna: `python search_optuna.py run FOLDER TRIALS STORAGE`, or `read FOLDER STORAGE`.

As its documentation advises, several processes work on one storage. `rdb` is an SQLite file with heartbeats and trials
that are repeated when their process has died, `journal` is a file of the journal storage.
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import optuna
from objective import evaluate, note
from optuna.storages import JournalStorage, RDBStorage, RetryFailedTrialCallback
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

ENDED = (TrialState.COMPLETE, TrialState.FAIL)


def study(folder: str, storage: str) -> Any:
    """Return the study of the folder; it is created if there is none."""
    if storage == "rdb":
        made: Any = RDBStorage(
            f"sqlite:///{Path(folder, 'run.db')}",
            engine_kwargs={"connect_args": {"timeout": 60}},
            heartbeat_interval=1,
            grace_period=3,
            failed_trial_callback=RetryFailedTrialCallback(max_retry=3),  # as in the documentation of Optuna
        )
    else:
        made = JournalStorage(JournalFileBackend(str(Path(folder, "run.log"))))
    return optuna.create_study(
        storage=made, study_name="run", load_if_exists=True, sampler=optuna.samplers.RandomSampler()
    )


def work(folder: str, trials: int, storage: str) -> None:
    """Evaluate trials until the study has as many as are wanted."""
    study(folder, storage).optimize(
        lambda trial: evaluate(trial.suggest_float("x", 0, 1)),
        catch=(Exception,),
        callbacks=[
            lambda _, trial: note("reported", trial.params["x"]),
            MaxTrialsCallback(trials, states=ENDED),
        ],
    )


def run(arguments: list[str]) -> int:
    """Begin the search of the folder, or continue it, with two processes."""
    study(arguments[0], arguments[2])
    processes = [subprocess.Popen([sys.executable, __file__, "work", *arguments]) for _ in range(2)]
    return max(abs(process.wait()) for process in processes)


def read(folder: str, storage: str) -> None:
    """Print the trials of the storage."""
    trials = [trial for trial in study(folder, storage).get_trials() if "x" in trial.params]
    print(json.dumps([(trial.params["x"], trial.value) for trial in trials if trial.state in ENDED]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    what, *given = sys.argv[1:]
    if what == "run":
        sys.exit(run(given))
    elif what == "work":
        work(given[0], int(given[1]), given[2])
    else:
        read(*given)
