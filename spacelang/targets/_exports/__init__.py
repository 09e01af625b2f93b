"""What `hyperopt`, `optuna` and `sklearn` share: they are made of spaces unfolded into free choices."""
