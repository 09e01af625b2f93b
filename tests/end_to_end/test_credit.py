"""The example of the language's design, word for word: it checks, and what it allows is built and fitted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from spacelang.api import Space, load
from tests.laws.example import EXAMPLE

TREES = """\
space trees
stage estimator = DecisionTreeClassifier { max_depth : int[1, 20] = 5 }
"""

ROWS = 240


@pytest.fixture(scope="module")
def credit(tmp_path_factory: pytest.TempPathFactory) -> Space:
    folder = tmp_path_factory.mktemp("credit")
    (folder / "credit.space").write_text(EXAMPLE, encoding="utf-8")
    (folder / "trees.space").write_text(TREES, encoding="utf-8")
    return load(folder / "credit.space", allow=("xgboost",))


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps and words, of which two say something about the class."""
    rng = np.random.default_rng(0)
    amount, age = rng.lognormal(8, 1, ROWS), rng.integers(18, 80, ROWS).astype(float)
    home = rng.choice(["own", "rent", "free"], ROWS)
    classes = (np.log(amount) + (home == "rent") + rng.normal(0, 0.5, ROWS) > 8.3).astype(int)
    age[::17] = np.nan
    group = np.where(age > 40, "older", "younger")
    return pd.DataFrame({"amount": amount, "age": age, "home": home, "age_group": group}), classes


def test_only_what_says_nothing_is_complained_of(credit: Space) -> None:
    said = [(warning.code, warning.primary.text) for warning in credit.warnings]
    assert said == [
        ("SL224", "trees"),
        ("SL502", "scaler.RobustScaler.q_min < scaler.RobustScaler.q_max"),
    ]
    assert credit.symbols == {"n_samples": None}


def test_its_structures_are_counted(credit: Space) -> None:
    # A scaler, no or any of 3 x 3 pairs of transformer and selector, an estimator of which one has two base estimators;
    # without the three selectors that would stand beside Nystroem and before the linear machine.
    assert credit.structures == 4 * ((1 + 3 * 3) * (6 + 2) - 3)
    assert credit.configurations is None
    assert credit.default()["estimator"] == "LogisticRegression"


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__qualname__}")
@pytest.mark.filterwarnings("ignore:n_components > n_samples:UserWarning")
def test_random_configurations_are_built_and_fitted(credit: Space) -> None:
    data, classes = table()
    bound = credit.bind(n_samples=ROWS, n_features=data.shape[1], n_classes=2)
    taken = set()
    for configuration in bound.sample(20, seed=1):
        assert configuration in bound
        fitted = bound.build(configuration, random_state=0).fit(data, classes)
        predicted = fitted.predict(data)
        assert predicted.shape == (ROWS,)
        assert set(predicted) <= {0, 1}
        taken.add(configuration["estimator"])
    assert len(taken) > 4
