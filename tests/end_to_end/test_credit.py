"""The example of the language's design, word for word: it checks, and what it allows is built and fitted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from spacelang.api import Space, load

pytest.importorskip("xgboost")

CREDIT = """\
# Files are UTF-8; '#' starts a comment.
space credit "Credit default, tabular"

import "trees.space" as trees               # other .space files: relative to this file, or a bundled name
use xgboost                                 # one more catalogue beside scikit-learn (must be allowed by the caller)

params knn {                                # a reusable group of hyperparameters
  n_neighbors : int[1, 100] log = 5
  weights     : {uniform, distance} = uniform
}

stage scaler =                              # a decision: exactly one alternative is taken
  | none                                    # the step is left out
  | StandardScaler
  | QuantileTransformer {
      n_quantiles         : int[10, min(2000, n_samples)] log = 1000    # bounds may depend on the data
      output_distribution : {uniform, normal} = uniform
    }
  | RobustScaler {
      q_min : float[0.001, 0.3]  = 0.25
      q_max : float[0.7, 0.999]  = 0.75
    }

stage transformer = none | PCA { n_components : float[0.5, 0.9999] = 0.9999 } | Nystroem {
      kernel       : {poly, rbf, sigmoid, cosine} = rbf
      n_components : int[50, 10_000] log = 100
      gamma        : float[3.0517578125e-05, 8] log = 0.1  when kernel in {poly, rbf, sigmoid}
      degree       : int[2, 5] = 3                         when kernel == poly
    }

stage selector = none | SelectPercentile { percentile : int[1, 99] = 50 } | VarianceThreshold

stage estimator @first =
  | LogisticRegression {
      solver  : {lbfgs, liblinear, saga} = lbfgs
      l1_ratio : {0.0, 1.0} = 0.0
      C       : float[1e-4, 1e4] log = 1 @split(4) @prior(normal, 0, 2)
      max_iter = 1000                                       # '=' without ':' fixes a value (an operator may be one:
                                                            #     estimator = DecisionTreeClassifier { max_depth = 3 })
      forbid l1_ratio == 1.0 and solver == lbfgs
    }
  | KNeighborsClassifier { include knn } @weight(0.5)
  | SVC as linear { kernel = linear, C : float[0.03, 32768] log = 1 }   # 'as' tells two uses of one class apart
  | SVC as rbf    { kernel = rbf, gamma : {scale, auto} | float[3e-5, 8] log = scale }
  | RandomForestClassifier {
      max_depth   : {none} | int[2, 50] = none              # a union: a value set and a range in one parameter
      max_features: float(0, 1] = 0.5
      bootstrap   : bool = true
      max_samples : float[0.1, 1] = 1 when bootstrap
    }
  | AdaBoostClassifier {                                     # an operator as a value: a nested decision
      estimator : DecisionTreeClassifier { max_depth : int[1, 10] = 1 } | LogisticRegression
      learning_rate : float[0.01, 2] log = 0.1
    }
  | xgboost.XGBClassifier { max_depth : int[1, 20] = 6 }

pipeline = columns(numeric: SimpleImputer -> scaler, categorical: OneHotEncoder { handle_unknown = ignore })
           -> (transformer & selector)? -> estimator

forbid  transformer is Nystroem and estimator is linear
require scaler.RobustScaler.q_min < scaler.RobustScaler.q_max

task classification {
  minimize   1 - roc_auc
  subject to predict_latency <= 10us
  subject to disparity(roc_auc, age_group) <= 0.1
  validate   holdout(0.3)                   # or cv(5)
  fidelity   samples from 100 by 2          # b and eta
  limit      trial 300s 4GB
}
"""

TREES = """\
space trees
stage estimator = DecisionTreeClassifier { max_depth : int[1, 20] = 5 }
"""

ROWS = 240


@pytest.fixture(scope="module")
def credit(tmp_path_factory: pytest.TempPathFactory) -> Space:
    folder = tmp_path_factory.mktemp("credit")
    (folder / "credit.space").write_text(CREDIT, encoding="utf-8")
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
