"""A search with Ray Tune: `python search_ray.py run FOLDER TRIALS`, or `read FOLDER`."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "0"}

import ray
from objective import evaluate, note
from ray import tune


class Telling(tune.Callback):
    """A callback that notes each trial that has ended."""

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        note("reported", trial.config["x"])

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        note("reported", trial.config["x"])


def run(folder: str, trials: int) -> None:
    """Begin the search of the folder, or continue it."""
    sys.path.insert(0, str(Path(__file__).parent))
    here = str(Path(__file__).parent)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        object_store_memory=100_000_000,
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )

    def objective(config: dict[str, float]) -> dict[str, float]:
        return {"loss": evaluate(config["x"])}

    place = Path(folder, "ray", "run")
    if tune.Tuner.can_restore(str(place)):
        tuner = tune.Tuner.restore(str(place), trainable=objective, resume_unfinished=True)
    else:
        tuner = tune.Tuner(
            objective,
            param_space={"x": tune.uniform(0, 1)},
            tune_config=tune.TuneConfig(num_samples=trials, max_concurrent_trials=2, metric="loss", mode="min"),
            run_config=tune.RunConfig(
                name="run", storage_path=str(Path(folder, "ray")), callbacks=[Telling()], verbose=0
            ),
        )
    tuner.fit()


def read(folder: str) -> None:
    """Print the trials of the state of the experiment."""
    place = Path(folder, "ray", "run")
    states = sorted(place.glob("experiment_state-*.json"))
    trials = [json.loads(text) for text, _ in json.loads(states[-1].read_text())["trial_data"]]
    texts = json.loads(states[-1].read_text())["trial_data"]
    found = []
    for trial, (_, metrics) in zip(trials, texts, strict=True):
        if trial["status"] in ("TERMINATED", "ERROR"):
            last = json.loads(metrics).get("last_result", {})
            found.append((trial["config"]["x"], last.get("loss")))
    print(json.dumps(found))


if __name__ == "__main__":
    what, directory, *rest = sys.argv[1:]
    if what == "read":
        read(directory)
    else:
        run(directory, int(rest[0]))
