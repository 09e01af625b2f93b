"""Every objective does what every objective must do."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tables import SIZES, kept, table_of

import spacelang as sl
from spacelang.bench.tables.objective import TableObjective
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import FunctionBound
from spacelang.ir.validation import CrossValidation, Holdout, Validation
from spacelang.runtime.black_box.artificial_objective import make_artificial_objective
from spacelang.runtime.black_box.function_objective import make_function_objective
from spacelang.runtime.data.labels import Dataset, check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.objective import Objective
from spacelang.solver.counting import Structures
from spacelang.testing import ObjectiveConformance
from spacelang.testing.small_spaces import plain_space

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
    return check_and_encode_labels(make_table(rows, rows[:, 0] + rng.normal(size=150) > 0), "classification")


@pytest.mark.parametrize("validation", [Holdout(0.3), CrossValidation(3)], ids=str)
class TestData(ObjectiveConformance):
    space = PIPELINES
    fidelities = (40, 90)
    failing = (Configuration({"scaler": "none", "estimator": "KNeighborsClassifier", "estimator.n_neighbors": 200}),)

    @pytest.fixture(autouse=True)
    def judged(self, validation: Validation) -> None:
        assert self.space.task is not None
        self.settings = EvaluationSettings(validation=validation, bounds=self.space.task.bounds)

    def objective(self) -> Objective:
        return DataObjective(self.space, data(), self.settings)


class TestTable(ObjectiveConformance):
    space = plain_space(3, 4, 2)
    fidelities = SIZES[:-1]

    @pytest.fixture(autouse=True)
    def written(self, tmp_path: Path) -> None:
        self.table = kept(table_of(self.space), tmp_path / "table.npz")

    def objective(self) -> Objective:
        return TableObjective(Structures(self.space), self.table)


class TestArtificial(ObjectiveConformance):
    space = sl.parse(
        """\
space box
stage a = none | PCA { n_components : int[1, 9] = 2 }
stage b = SVC { C : float[0.1, 10] log = 1, kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly }
"""
    ).checked

    def objective(self) -> Objective:
        return make_artificial_objective(self.space, 7)


def moody(configuration: dict[str, object], fidelity: int) -> dict[str, object]:
    """Depends on nothing but what it is given; one alternative fails."""
    if configuration["s1"] == "a3":
        raise ValueError("not this one")
    number = len(str(sorted(configuration.items()))) + int(str(configuration["s0"])[1:]) / fidelity
    return {"loss": number, "constraints": {"size": number / 2}}


class TestFunction(ObjectiveConformance):
    space = plain_space(3, 4, 2)
    fidelities = (1, 3)
    failing = (Configuration({"s0": "a0", "s1": "a3", "s2": "a0"}),)

    def objective(self) -> Objective:
        return make_function_objective(moody, fidelities=(1, 3, 9), bounds=(FunctionBound("size", 15.0),))
