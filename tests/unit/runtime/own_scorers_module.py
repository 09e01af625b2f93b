"""Scorers and scores as a user has them in a module of their own."""

from typing import Any

import numpy as np


def cost_sensitive(labels: Any, answers: Any, cost: float = 2.0) -> float:
    """A score whose false negatives count `cost` times."""
    wrong = np.where(np.asarray(labels) == 1, cost, 1.0) * (np.asarray(labels) != answers)
    return 1 - float(np.mean(wrong)) / max(cost, 1.0)


def profit(estimator: Any, features: Any, labels: Any) -> float:
    """A scorer that is a plain function."""
    return cost_sensitive(labels, estimator.predict(features))
