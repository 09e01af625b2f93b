"""The catalogues of other packages: snapshots without an import, introspection of what was allowed."""

import subprocess
import sys

import pytest

from spacelang import errors
from spacelang.catalog import OperatorRole, load_catalogue, packages
from spacelang.catalog.catalogue import Catalogue
from spacelang.catalog.introspect import introspect_package
from spacelang.catalog.packages import (
    PackageNotInstalledError,
    UnreadablePackageError,
    import_operator_class,
    open_package_catalogue,
)
from spacelang.catalog.snapshot import BUNDLED, catalogue_from_json, catalogue_to_json
from spacelang.errors import installed_version

OTHERS = sorted(BUNDLED.keys() - {"sklearn"})
INSTALLED = [
    pytest.param(
        name, marks=pytest.mark.skipif(installed_version(BUNDLED[name]) is None, reason=f"{name} is no part of `dev`")
    )
    for name in OTHERS
]


@pytest.mark.parametrize("name", INSTALLED)
def test_the_shipped_snapshot_is_what_introspection_finds(name: str) -> None:
    fresh, shipped = introspect_package(name), load_catalogue(name)
    if shipped.version != installed_version(BUNDLED[name]):
        assert sorted(set(fresh) & set(shipped)), "a version without a single operator that was known"
    else:
        assert catalogue_to_json(fresh) == catalogue_to_json(shipped)
    assert catalogue_from_json(catalogue_to_json(fresh)) == fresh


@pytest.mark.parametrize("name", INSTALLED)
def test_every_operator_resolves(name: str) -> None:
    for operator in load_catalogue(name):
        found = import_operator_class(load_catalogue(name), operator)
        assert found.__name__ == operator
        assert found.__module__.partition(".")[0] == name == load_catalogue(name).operators[operator].catalogue


@pytest.mark.parametrize("name", [*OTHERS, "sklearn"])
def test_a_snapshot_of_the_installed_version_is_read_without_the_package(name: str) -> None:
    code = f"""if True:
        import sys
        from unittest.mock import patch
        from spacelang.catalog import packages
        with patch.object(packages, "installed_version", lambda _: {load_catalogue(name).version!r}):
            assert len(packages.open_package_catalogue({name!r}))
        assert {name!r} not in sys.modules and "numpy" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_another_version_is_introspected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "load_catalogue", lambda _: Catalogue("lightgbm", "lightgbm", "0.0.1", {}))
    assert open_package_catalogue("lightgbm") == introspect_package("lightgbm")


def test_a_package_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "installed_version", lambda _: None)
    with pytest.raises(PackageNotInstalledError) as caught:
        open_package_catalogue("imblearn")
    assert caught.value.remedy == '`pip install "spacelang[imbalanced-learn]"`'


def test_one_distribution_stands_for_another_with_the_same_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_version", {"xgboost-cpu": "3.2.0"}.get)
    assert installed_version("xgboost") == "3.2.0"
    assert installed_version("lightgbm") is None


@pytest.mark.parametrize("name", ["no_package_has_this_name", "", "a b", "os.path", "../json"])
def test_other_names_are_not_installed(name: str) -> None:
    with pytest.raises(PackageNotInstalledError, match="is not installed") as caught:
        open_package_catalogue(name)
    assert caught.value.remedy == f"install the package `{name}`, or put it next to the `.space` file"


def test_a_package_of_ones_own() -> None:
    found = open_package_catalogue("own_estimators")
    assert list(found) == ["Doubler", "LGBMClassifier", "Picky"]
    doubler, classifier, picky = (found.operators[name] for name in found)
    assert (doubler.roles, classifier.roles) == ({OperatorRole.TRANSFORMER}, {OperatorRole.CLASSIFIER})
    assert (doubler.parameters["factor"].default, doubler.parameters["factor"].check_value("any")) == (2.0, None)
    assert doubler.parameters["n_jobs"].refused == "spacelang sets this parameter"
    assert picky.roles == {OperatorRole.TRANSFORMER}
    assert import_operator_class(found, "Doubler").__name__ == "Doubler"
    assert open_package_catalogue("own_estimators") is found


def test_a_package_without_operators() -> None:
    with pytest.raises(UnreadablePackageError) as caught:
        open_package_catalogue("json")
    assert caught.value.reason == "it contains no scikit-learn estimator"


def test_a_package_that_cannot_be_imported(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken_estimators.py").write_text("raise OSError('libgomp.so.1: cannot open\\nmore')\n")
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(UnreadablePackageError) as caught:
        open_package_catalogue("broken_estimators")
    assert caught.value.reason == "OSError: libgomp.so.1: cannot open"


def test_samplers_change_rows() -> None:
    known = load_catalogue("imblearn").operators
    assert known["SMOTE"].roles == {OperatorRole.SAMPLER}
    assert known["BalancedRandomForestClassifier"].roles == {OperatorRole.CLASSIFIER}
    smote = known["SMOTEENN"].parameters["smote"]
    assert smote.check_operator(known["SMOTE"]) is None
    assert smote.check_operator(known["ADASYN"]) == "an operator `SMOTE` or `none`"
    sampler = known["BalancedBaggingClassifier"].parameters["sampler"]
    assert sampler.check_operator(known["ADASYN"]) is None
    assert sampler.check_operator(load_catalogue().operators["PCA"]) is not None
