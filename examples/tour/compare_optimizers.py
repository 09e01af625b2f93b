"""Optimizers compared: the same splits, seeds and budget for all, several data sets, several seeds."""

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
found = sl.compare(space, data, ["random", "tpe", "blds"], repeats=3, trials=20, validate="holdout(0.3)", workers=0)

print(found.runs.pivot_table(index="data", columns="optimizer", values="loss_full", aggfunc="median"))
last = found.ranks.query("models == 'full' and ranking == 'runs'").groupby("optimizer").last()
print(last[["rank", "low", "high"]])  # average ranks at the end, with 95 % intervals
