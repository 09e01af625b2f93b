"""Constraints: what must not be combined, what depends on what, and how far a wish is from what is allowed."""

import spacelang as sl

space = sl.parse("""
space constraints

stage reducer = none | PCA { n_components : float[0.5, 0.99] = 0.9, whiten : bool = false }
stage model =
  | SVC {
      kernel : {linear, rbf, poly} = rbf
      C      : float[0.01, 100] log = 1
      degree : int[2, 4] = 3               when kernel == poly    # active only then
      gamma  : float[1e-4, 1] log = 0.01   when kernel != linear
      require degree <= 3 or C <= 10                              # where both are active
    }
  | DecisionTreeClassifier {
      max_depth        : int[1, 12] = 6
      min_samples_leaf : int[1, 50] = 1
      require max_depth * min_samples_leaf <= 100
    }

forbid reducer is PCA and model is DecisionTreeClassifier
""")
print(space.structures, "pipelines are left of 4")

drawn = space.sample(1000, seed=0)
poly = [each for each in drawn if each.get("model.kernel") == "poly"]
print(len(drawn), "draws, of which", sum(each in space for each in drawn), "are members;", len(poly), "have a degree")

wish = {"reducer": "none", "model": "DecisionTreeClassifier", "model.max_depth": 12, "model.min_samples_leaf": 20}
found = space.nearest(wish)
for line in found.reasons:
    print("not a member:", line.reason)
print("the nearest member:", found.member)
