"""Three pipelines of scikit-learn's example gallery and one of TPOT, written as spaces, run as a user runs them."""

import gzip
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sklearn
from commands import document, spacelang

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


@pytest.fixture(scope="module")
def titanic(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The passengers that scikit-learn's own tests carry, as a CSV file."""
    folder = Path(sklearn.__file__).parent / "datasets" / "tests" / "data" / "openml" / "id_40945"
    text = gzip.decompress(next(folder.glob("data-*.arff.gz")).read_bytes()).decode("utf-8")
    header, _, rows = text.partition("@data\n")
    names = [line.split("'")[1] for line in header.splitlines() if line.startswith("@attribute")]
    table = pd.read_csv(StringIO(rows), names=names, na_values="?", escapechar="\\")
    path = tmp_path_factory.mktemp("titanic") / "titanic.csv"
    table.to_csv(path, index=False)
    return str(path)


def run(folder: Path, name: str, data: str, *arguments: str) -> Any:
    command = ("run", str(GALLERY / f"{name}.space"), "--data", data, "--optimizer", "random", "--seed", "0", "--json")
    return document(spacelang(*command, *arguments, folder=folder))


def test_mixed_types(tmp_path: Path, titanic: str) -> None:
    found = run(tmp_path, "mixed_types", titanic, "--target-column", "survived", "--trials", "6")
    assert (found["trials"], found["failed"], found["metric"]) == (6, 0, "accuracy")
    assert found["loss"] < 0.25  # the example's own search comes to 0.2


def test_feature_union(tmp_path: Path) -> None:
    found = run(tmp_path, "feature_union", "sklearn:iris", "--trials", "10")
    assert (found["trials"], found["failed"]) == (10, 0)
    assert found["loss"] < 0.1


def test_repeated_steps(tmp_path: Path) -> None:
    found = run(tmp_path, "repeated_steps", "sklearn:iris", "--trials", "6")
    assert (found["trials"], found["failed"]) == (6, 0)


def test_reduce_dimensions(tmp_path: Path) -> None:
    found = run(tmp_path, "reduce_dimensions", "sklearn:digits", "--trials", "4")
    assert (found["trials"], found["failed"]) == (4, 0)
