"""An Optuna study whose space is a file: Optuna samples and prunes, the file defines the parameters."""

from pathlib import Path

import optuna
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

import spacelang as sl

space = sl.load(Path(__file__).with_name("optuna_study.space"))
suggest = space.compile("optuna").form.native  # trial -> configuration, with all conditions and constraints
features, labels = load_wine(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    """Return the accuracy of the pipeline that the trial suggests."""
    pipeline = space.build(suggest(trial), random_state=0)
    return float(cross_val_score(pipeline, features, labels, cv=3).mean())


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=20)
print(study.best_value, study.best_params)
