"""Modules shared by `hyperopt`, `optuna` and `sklearn`, which unfold spaces into independent choices."""
