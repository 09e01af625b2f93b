"""Constraints: forbidden combinations, conditions, and the member nearest to an invalid configuration."""

import spacelang as sl

space = sl.parse("""
space constraints

stage reducer = none | PCA { n_components : float[0.5, 0.99] = 0.9, whiten : bool = false }
stage model =
  | SVC {
      kernel : {linear, rbf, poly} = rbf
      C      : float[0.01, 100] log = 1
      degree : int[2, 4] = 3               when kernel == poly    # active only for this kernel
      gamma  : float[1e-4, 1] log = 0.01   when kernel != linear
      require degree <= 3 or C <= 10                              # if both are active
    }
  | DecisionTreeClassifier {
      max_depth        : int[1, 12] = 6
      min_samples_leaf : int[1, 50] = 1
      require max_depth * min_samples_leaf <= 100
    }

forbid reducer is PCA and model is DecisionTreeClassifier
""")
print(space.structures, "of 4 pipelines are allowed")

samples = space.sample(1000, seed=0)
poly = [each for each in samples if each.get("model.kernel") == "poly"]
print(len(samples), "samples:", sum(each in space for each in samples), "are members,", len(poly), "have a degree")

invalid = {"reducer": "none", "model": "DecisionTreeClassifier", "model.max_depth": 12, "model.min_samples_leaf": 20}
result = space.nearest(invalid)
for line in result.reasons:
    print("not a member:", line.reason)
print("nearest member:", result.member)
