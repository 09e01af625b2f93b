"""Every objective does what every objective must do."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tables import SIZES, kept, table_of

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.task import CrossValidation, Holdout, Validation
from spacelang.runtime.data.labels import Dataset, check_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.objective import DataObjective, Settings
from spacelang.runtime.objective import Objective
from spacelang.runtime.tables.objective import TableObjective
from spacelang.testing import ObjectiveConformance
from spacelang.testing.small_spaces import plain

PIPELINES = sl.parse(
    """\
space pipelines
stage scaler = none | StandardScaler
stage estimator =
  | GaussianNB
  | DecisionTreeClassifier { max_depth : int[1, 8] = 3 }
  | KNeighborsClassifier { n_neighbors : int[1, 200] log = 5 }

task classification {
  subject to pickled_size < 1MB
}
"""
).checked


@cache
def data() -> Dataset:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 3))
    return check_labels(make_table(rows, rows[:, 0] + rng.normal(size=150) > 0), "classification")


@pytest.mark.parametrize("validation", [Holdout(0.3), CrossValidation(3)], ids=str)
class TestData(ObjectiveConformance):
    space = PIPELINES
    fidelities = (40, 90)
    failing = (Configuration({"scaler": "none", "estimator": "KNeighborsClassifier", "estimator.n_neighbors": 200}),)

    @pytest.fixture(autouse=True)
    def judged(self, validation: Validation) -> None:
        assert self.space.task is not None
        self.settings = Settings(validation=validation, bounds=self.space.task.bounds)

    def objective(self) -> Objective:
        return DataObjective(self.space, data(), self.settings)


class TestTable(ObjectiveConformance):
    space = plain(3, 4, 2)
    fidelities = SIZES[:-1]

    @pytest.fixture(autouse=True)
    def written(self, tmp_path: Path) -> None:
        self.table = kept(table_of(self.space), tmp_path / "table.npz")

    def objective(self) -> Objective:
        return TableObjective(Structures(self.space), self.table)
