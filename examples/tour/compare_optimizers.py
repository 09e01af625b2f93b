"""A comparison of optimizers: several data sets and seeds, with the same splits and budget for all."""

from sklearn.datasets import load_iris, load_wine

import spacelang as sl

space = sl.parse("""
space contest

stage scaler = none | StandardScaler | MinMaxScaler
stage model =
  | SVC { C : float[1e-3, 1e3] log = 1, gamma : float[1e-4, 10] log = 0.1 }
  | KNeighborsClassifier { n_neighbors : int[1, 40] = 5, p : float[1, 4] = 2 }
  | GaussianNB
""")
data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
comparison = sl.compare(
    space, data, ["random", "tpe", "blds"], repeats=3, trials=20, validate="holdout(0.3)", workers=0
)

print(comparison.runs.pivot_table(index="data", columns="optimizer", values="loss_full", aggfunc="median"))
final_ranks = comparison.ranks.query("models == 'full' and ranking == 'runs'").groupby("optimizer").last()
print(final_ranks[["rank", "low", "high"]])  # final average ranks with 95 % intervals
