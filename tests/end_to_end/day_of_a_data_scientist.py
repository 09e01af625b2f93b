"""A day of a data scientist: from a table to a pipeline in use, and on to a changed space.

python tests/end_to_end/day_of_a_data_scientist.py [--here] [--seconds 60] [--churn FILE.csv] [--credit FILE.csv]
"""

import json
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

from days import Budget, Day, customers, loans, main, number_before

MISTAKES = (
    ("  | RobustScaler\n", "  | RobstScaler\n"),
    ("float[1e-3, 1e3] log = 1,", "loguniform(1e-3, 1e3),"),
    ("forbid scaler is none and", "forbid scaler = none and"),
)
"""A name that is misspelt, a range as hyperopt has it, and one sign instead of a word."""

ELSEWHERE = """
import sys
sys.modules["spacelang"] = None
import pandas, pipeline
table = pandas.read_csv("churn.csv")
fitted = pipeline.fit(table, table[pipeline.LABEL])
print(len(fitted.predict(pipeline.take(table.head(7)))), "rows predicted")
"""
LOADED = """
import sys
sys.modules["spacelang"] = None
import pandas, skops.io
trusted = skops.io.get_untrusted_types(file="pipeline.skops")
model, table = skops.io.load("pipeline.skops", trusted=trusted), pandas.read_csv("churn.csv")
print(len(model.predict(table[[*model.feature_names_in_]].head(5))), "rows predicted")
"""


def play(day: Day, files: Mapping[str, Path], budget: Budget) -> None:
    """The whole day."""
    morning(day, files, budget)
    change(day, budget)
    another(day, budget)


def morning(day: Day, files: Mapping[str, Path], budget: Budget) -> None:
    """Until the first pipeline is in use."""
    for name, path in files.items():
        shutil.copy(path, day.folder / f"{name}.csv")
    begin(day)
    search(day, budget)
    take_away(day)


def begin(day: Day) -> None:
    """A first space, mistakes, and what is in it."""
    day.spacelang("init", "churn.csv", *left_out(day), "-o", "churn.space")
    day.spacelang("check", "churn.space")
    day.edit("churn.space", *MISTAKES, to="wrong.space")
    assert number_before("errors", day.spacelang("check", "wrong.space", status=1)) == len(MISTAKES)
    day.edit("wrong.space", *((wrong, right) for right, wrong in MISTAKES), to="churn.space")
    day.spacelang("check", "churn.space")
    assert "structures" in day.spacelang("stats", "churn.space")


def search(day: Day, budget: Budget) -> None:
    """A run that is looked at while it goes on."""
    command = ("run", "churn.space", "--data", "churn.csv", "--test", "0.2", *left_out(day), *budget.first)
    with day.beside(*command, "--store", "churn.db"):
        store = day.folder / "churn.db"
        while not store.exists():
            time.sleep(0.05)
        watching = [day.python, "-m", "spacelang", "watch", "churn.db", "--no-browser"]
        with subprocess.Popen(watching, cwd=day.folder, stdout=subprocess.PIPE, text=True) as watch:
            assert watch.stdout is not None
            with urlopen(watch.stdout.readline().split()[-1]) as answer:
                assert b"churn" in answer.read()
            watch.terminate()
    assert "finished" in day.spacelang("show", "churn.db")
    assert "churn.db" in day.spacelang("runs", ".")
    day.spacelang("report", "churn.db", "-o", "report.html")


def take_away(day: Day) -> None:
    """The best pipeline where there is no spacelang, and predictions for new rows."""
    day.spacelang("export", "churn.db", "-o", "elsewhere/pipeline.py", status=2)  # there is no such folder yet
    (day.folder / "elsewhere").mkdir()
    day.spacelang("export", "churn.db", "-o", "elsewhere/pipeline.py")
    day.spacelang("export", "churn.db", "-o", "elsewhere/pipeline.skops")
    shutil.copy(day.folder / "churn.csv", day.folder / "elsewhere")
    assert day.run_python("the module, elsewhere", "-c", ELSEWHERE, cwd="elsewhere") == "7 rows predicted\n"
    assert "5 rows predicted" in day.run_python("the model, elsewhere", "-c", LOADED, cwd="elsewhere")
    assert "has no predictions" in day.spacelang("export", "churn.db", "--ensemble", "-o", "crew.py", status=1)
    day.spacelang("predict", "churn.db", "--data", "churn.csv", "-o", "predictions.csv")
    rows = len((day.folder / "predictions.csv").read_text().splitlines())
    assert rows == len((day.folder / "churn.csv").read_text().splitlines())


def change(day: Day, budget: Budget) -> None:
    """Another space: what differs, which trials still are members, and a run that has them and goes on."""
    narrower = (": int[50, 500] log = 100", ": int[50, 200] log = 100")
    more = ("  | KNeighborsClassifier as neighbors", "  | GaussianNB\n  | KNeighborsClassifier as neighbors")
    day.edit("churn.space", narrower, more, to="next.space")
    assert "GaussianNB" in day.spacelang("diff", "churn.space", "next.space")
    default, _ = json.JSONDecoder().raw_decode(day.spacelang("default", "churn.space"))
    day.write("wide.json", json.dumps({**default, "estimator.max_iter": 400}))
    assert "200" in day.spacelang("why-not", "next.space", "wide.json", status=1)
    assert "are in the new run" in day.spacelang("migrate", "churn.db", "next.space", "--store", "next.db")
    data = ("--data", "churn.csv", "--test", "0.2", *left_out(day))
    told = ("next.space", *data, "--store", "next.db", "--resume")
    day.spacelang("run", *told, *budget.first)
    day.spacelang("run", *told, *budget.more)
    day.spacelang("report", "churn.db", "next.db", "-o", "both.html")


def another(day: Day, budget: Budget) -> None:
    """A second table, and pipelines that vote."""
    day.spacelang("init", "credit.csv", "-o", "credit.space")
    day.spacelang("verify", "credit.space", "--target", "configspace", "-n", "50")
    day.spacelang(
        "run", "credit.space", "--data", "credit.csv", "--ensemble", "8", *budget.first, "--store", "credit.db"
    )
    day.spacelang("export", "credit.db", "--ensemble", "-o", "crew.py")
    assert "churn.db" in day.spacelang("runs", ".")


def left_out(day: Day) -> tuple[str, ...]:
    """What leaves the column out that says who each customer is, where there is one: `init` and `run` warn of it."""
    header = (day.folder / "churn.csv").read_text(encoding="utf-8").partition("\n")[0]
    return ("--drop-columns", "customer") if "customer" in header else ()


if __name__ == "__main__":
    main(play, __doc__, {"churn": customers, "credit": loans})
