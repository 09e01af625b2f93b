"""A search with SMAC: `python search_smac.py run FOLDER TRIALS [SCHEDULER]`, or `read FOLDER`."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from ConfigSpace import ConfigurationSpace
from objective import MISBEHAVES, SLOWNESS, evaluate_configuration, note
from smac import Callback, RandomFacade, Scenario

# For limits, SMAC starts an interpreter for each trial, and limits its address space and the time with its start.
# SMAC 2.4.1 documents megabytes, but passes the number to pynisher, which takes bytes.
MISBEHAVING = {
    "seed": 7,  # the first 40 trials contain several kinds of misbehaviour; with seed 0 only one of them misbehaves
    "trial_walltime_limit": 15 * float(os.environ.get(SLOWNESS, "1")),
    "trial_memory_limit": 4_000_000_000,
}


class Telling(Callback):
    """A callback that notes each result that SMAC reports."""

    def on_tell_end(self, smbo: Any, info: Any, value: Any) -> None:
        note("reported", float(info.config["x"]))


def run(folder: str, trials: int, scheduler: str | None) -> None:
    """Begin the search of the folder, or continue it."""
    scenario = Scenario(
        ConfigurationSpace({"x": (0.0, 1.0)}),
        name="run",
        output_directory=Path(folder, "smac"),
        deterministic=True,
        n_trials=trials,
        n_workers=2,
        **(MISBEHAVING if os.environ.get(MISBEHAVES) else {}),
    )
    given: dict[str, Any] = {}
    if scheduler is not None:
        from distributed import Client

        given["dask_client"] = Client(scheduler)
    facade = RandomFacade(
        scenario,
        evaluate_configuration,
        callbacks=[Telling()],
        overwrite=False,
        logging_level=logging.ERROR,
        **given,
    )
    facade.optimize()
    facade.optimizer._runner.close(force=True)  # which takes a minute if it is left to the end of the interpreter


def read(folder: str) -> None:
    """Print the trials of the run's history."""
    (history,) = Path(folder, "smac").rglob("runhistory.json")
    held = json.loads(history.read_text())
    configurations = held["configs"]
    trials = [(configurations[str(row["config_id"])]["x"], row) for row in held["data"]]
    print(json.dumps([(x, row["cost"] if row["status"] == 1 else None) for x, row in trials if row["status"]]))


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    if what == "read":
        read(place)
    else:
        run(place, int(rest[0]), rest[1] if rest[1:] else None)
