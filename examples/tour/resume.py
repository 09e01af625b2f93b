"""A stored run: it can be interrupted at any time, resumes where it stopped, and repeats no trial."""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine

import spacelang as sl

space = sl.parse("space resume\nstage model = KNeighborsClassifier { n_neighbors : int[1, 30] = 5 } | GaussianNB\n")
features, labels = load_wine(return_X_y=True)

with tempfile.TemporaryDirectory() as folder:
    store = Path(folder) / "run.db"
    first = sl.search(space, features, labels, optimizer="tpe", trials=10, seed=0, store=store)
    whole = sl.search(space, features, labels, optimizer="tpe", trials=20, seed=0, store=store, resume=True)

assert whole.trials["loss"][: len(first.trials)].equals(first.trials["loss"])
print(len(first.trials), "trials, then", len(whole.trials), "with the first ones reused;")
print("with one worker, an interrupted run makes the same trials as an uninterrupted one.")
print(whole.incumbent)
