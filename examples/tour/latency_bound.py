"""A latency bound: the best pipeline that predicts fast enough and is small enough."""

from sklearn.datasets import load_digits

import spacelang as sl

space = sl.parse("""
space latency_bound

stage model =
  | ExtraTreesClassifier { n_estimators : int[5, 100] log = 50, max_depth : int[2, 20] = 10 }
  | KNeighborsClassifier { n_neighbors : int[1, 20] = 5 }
  | GaussianNB           { var_smoothing : float[1e-9, 1] log = 1e-6 }

task classification {
  maximize balanced_accuracy
  subject to predict_latency <= 0.1ms  # per row, the median of several timings
  subject to pickled_size <= 500kB
  validate holdout(0.3)
}
""")
features, labels = load_digits(return_X_y=True)
result = sl.search(space, features, labels, optimizer="random", trials=30, seed=0)
print(result)
print("satisfies both bounds:", result.is_feasible)

measured = ["loss", "constraint.predict_latency", "constraint.pickled_size"]
print(result.trials.groupby("param_model")[measured].median())
