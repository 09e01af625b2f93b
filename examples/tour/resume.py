"""A run that is kept: stopped at any moment, it goes on where it was and makes no trial twice."""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine

import spacelang as sl

space = sl.parse("space resume\nstage model = KNeighborsClassifier { n_neighbors : int[1, 30] = 5 } | GaussianNB\n")
features, labels = load_wine(return_X_y=True)

with tempfile.TemporaryDirectory() as folder:
    store = Path(folder) / "run.db"
    begun = sl.search(space, features, labels, optimizer="tpe", trials=10, seed=0, store=store)
    whole = sl.search(space, features, labels, optimizer="tpe", trials=20, seed=0, store=store, resume=True)

assert whole.trials["loss"][: len(begun.trials)].equals(begun.trials["loss"])
print(len(begun.trials), "trials, then", len(whole.trials), "of which the first were not made again;")
print("with one worker they are the trials of a run that was never stopped.")
print(whole.incumbent)
