"""A search with spacelang: `python search_spacelang.py run FOLDER TRIALS [SCHEDULER]`, or `read FOLDER`."""

import json
import sys
from pathlib import Path

from objective import LIMIT_MEGABYTES, LIMIT_SECONDS, evaluate, note

import spacelang as sl
from spacelang.runtime.storage.store import Store

SPACE = "abstract unit { x : float[0, 1] } stage part = unit"


def run(folder: str, trials: int, scheduler: str | None) -> None:
    """Begin the search of the folder, or continue it."""

    def objective(configuration: sl.Configuration) -> float:
        return evaluate(float(configuration["part.x"]))

    sl.search(
        sl.parse(SPACE),
        objective=objective,
        optimizer="random",
        trials=trials,
        workers=2,
        executor=scheduler or "processes",
        trial_limit=f"{LIMIT_SECONDS:g}s {LIMIT_MEGABYTES}MB",
        store=Path(folder, "run.db"),
        resume=True,
        callbacks=[lambda trial: note("reported", float(trial.configuration["part.x"]))],
    )


def read(folder: str) -> None:
    """Print the trials of the store."""
    with Store.read(Path(folder, "run.db")) as stored:
        trials = [record.trial for record in stored.records()]
    print(json.dumps([(trial.request.configuration["part.x"], trial.loss) for trial in trials]))


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    if what == "read":
        read(place)
    else:
        run(place, int(rest[0]), rest[1] if rest[1:] else None)
