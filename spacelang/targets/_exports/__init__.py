"""Modules of the targets that unfold spaces into independent choices, such as `hyperopt`, `optuna` and `irace`."""
