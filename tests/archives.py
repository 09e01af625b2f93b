"""Archives made by hand, for a space of two decisions and a hyperparameter."""

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.runtime.archives.archive import Archive, ArchiveRow, UpcomingRun, identify_space
from spacelang.runtime.storage.run_header import DataFacts

SMALL = """\
space small
stage scaler = none | StandardScaler
stage estimator = GaussianNB | DecisionTreeClassifier { max_depth : int[1, 9] = 5 }
"""

METRIC = "1 - roc_auc"


def small() -> Space:
    from spacelang.api import parse

    return parse(SMALL).checked


def tree(depth: int, scaler: str = "none") -> Configuration:
    return Configuration({"scaler": scaler, "estimator": "DecisionTreeClassifier", "estimator.max_depth": depth})


def row(
    data: str, depth: int, *, space: Space, fingerprint: str = "", metric: str = METRIC, **features: float
) -> ArchiveRow:
    return ArchiveRow(data, identify_space(space), metric, 0.1, tree(depth), fingerprint, features)


def archive(*rows: ArchiveRow) -> Archive:
    return Archive("a.json", rows)


def target(space: Space, name: str = "mine.csv", fingerprint: str = "f" * 64, **features: float) -> UpcomingRun:
    return UpcomingRun(space, DataFacts(name, 100, 3, fingerprint), METRIC, features)
