"""A package that stands beside the file, not installed: imported where it is allowed by name, and nothing else."""

import pickle
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import cloudpickle
import pytest
from commands import document, spacelang

import spacelang as sl
from spacelang.catalog import packages
from spacelang.catalog.packages import PackageNotInstalledError, UnreadablePackageError, open_package_catalogue

MODULE = """\
from pathlib import Path
from sklearn.linear_model import LogisticRegression

Path(__file__).with_name("imported").touch()
try:
    import beside_other
except ImportError:
    pass

class Own(LogisticRegression):
    pass
"""
SPACE = """\
use beside_own
stage estimator = Own { C : float[0.1, 10] log = 1 } | GaussianNB
"""
ALLOW = ("--allow", "beside_own")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(packages, "_FINDER", packages._Finder())
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    packages._introspect.cache_clear()
    (tmp_path / "own.space").write_text(SPACE, encoding="utf-8")
    (tmp_path / "beside_own.py").write_text(MODULE, encoding="utf-8")
    for other in ("beside_other", "xgboost", "json"):
        (tmp_path / f"{other}.py").write_text(f"from pathlib import Path\nPath({str(tmp_path)!r}, 'taken').touch()\n")
    yield tmp_path
    assert not (tmp_path / "taken").exists()
    sys.modules.pop("beside_own", None)


def test_it_is_imported_where_it_is_allowed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = str(folder / "own.space")
    refused = spacelang("check", path, folder=elsewhere)
    assert "the package `beside_own` is not allowed here" in refused.stderr
    assert not (folder / "imported").exists()
    assert spacelang("check", path, *ALLOW, folder=elsewhere).returncode == 0
    assert (folder / "imported").exists()
    assert document(spacelang("default", path, *ALLOW, folder=elsewhere))["estimator"] == "Own"
    compiled = str(folder / "own.json")
    spacelang("compile", path, "--target", "random", "--format", "json", "-o", compiled, *ALLOW, folder=elsewhere)
    assert document(spacelang("default", compiled, *ALLOW, folder=elsewhere))["estimator"] == "Own"


def test_other_processes_find_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they are sent says where it is."""
    from sklearn.datasets import load_iris

    features, labels = load_iris(return_X_y=True, as_frame=True)
    options = {"optimizer": "enumerate", "trials": 1, "workers": 0, "allow": ("beside_own",)}
    result = sl.search(folder / "own.space", features, labels, **options)
    assert list(result.trials["status"]) == ["success"]
    sent = cloudpickle.dumps(result.objective.evaluate)
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if each is not packages._FINDER])
    monkeypatch.setattr(packages, "_FINDER", packages._Finder())
    del sys.modules["beside_own"]
    assert find_spec("beside_own") is None
    pickle.loads(sent)
    assert find_spec("beside_own").origin == str(folder / "beside_own.py")  # type: ignore[union-attr]


def test_what_is_known_or_installed_is_not_looked_for_beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.catalog.packages.installed_version", lambda _: None)
    with pytest.raises(PackageNotInstalledError):
        open_package_catalogue("xgboost", folder)
    with pytest.raises(UnreadablePackageError, match="contains no scikit-learn estimator"):
        open_package_catalogue("json", folder)


def test_one_name_is_one_package(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert "Own" in open_package_catalogue("beside_own", folder)
    other = tmp_path_factory.mktemp("other")
    (other / "beside_own.py").write_text("")
    with pytest.raises(UnreadablePackageError, match="another package with this name"):
        open_package_catalogue("beside_own", other)


def test_nothing_is_taken_from_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("linked")
    (other / "beside_own.py").symlink_to(folder / "beside_own.py")
    (other / "beside_data").mkdir()
    for name in ("beside_own", "beside_data", "no-name"):
        with pytest.raises(PackageNotInstalledError):
            open_package_catalogue(name, other)
