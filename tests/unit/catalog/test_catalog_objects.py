"""From names to code: exactly what the catalogue lists, and nothing that hangs below it."""

from dataclasses import replace

import numpy as np
import pytest

import spacelang as sl
from spacelang.catalog import load_catalogue
from spacelang.catalog.catalogue import NamedObjectDefault
from spacelang.catalog.packages import import_named_object, import_operator_class


def test_every_operator_resolves() -> None:
    for name in load_catalogue():
        found = import_operator_class(load_catalogue(), name)
        assert found.__name__ == name
        assert found.__module__.startswith("sklearn.")


def test_features_are_pooled_by_functions_of_numpy() -> None:
    pooling = load_catalogue().operators["FeatureAgglomeration"].parameters["pooling_func"]
    assert (pooling.default, pooling.refused) == (NamedObjectDefault("mean"), None)
    space = sl.parse("stage s = FeatureAgglomeration { pooling_func : {median, max} = max }\nstage e = GaussianNB")
    rows, labels = np.array([[1.0, 3.0, 5.0], [2.0, 8.0, 4.0], [0.0, 9.0, 9.0], [3.0, 1.0, 2.0]]), [0, 1, 0, 1]
    built = space.build(space.default()).fit(rows, labels)
    assert built[0].pooling_func is np.max
    assert set(built[0].transform(rows)[0]) <= {1.0, 3.0, 5.0}


def test_every_named_object_resolves() -> None:
    for name in load_catalogue():
        for parameter in load_catalogue().operators[name].parameters.values():
            for listed in parameter.named:
                assert callable(import_named_object(load_catalogue(), name, parameter.name, listed))


@pytest.mark.parametrize("name", ["svc", "SVC ", "svm.SVC", "sklearn.svm.SVC", "os", "_BaseEncoder", "__class__", ""])
def test_other_names_are_not_operators(name: str) -> None:
    with pytest.raises(LookupError, match="is not an operator of the catalogue sklearn"):
        import_operator_class(load_catalogue(), name)


@pytest.mark.parametrize(
    ("operator", "parameter", "name"),
    [
        ("SelectKBest", "score_func", "os.system"),
        ("SelectKBest", "score_func", "SelectKBest"),
        ("SelectFdr", "score_func", "mutual_info_classif"),
        ("SelectKBest", "k", "chi2"),
        ("FeatureAgglomeration", "pooling_func", "load"),
        ("SelectKBest", "nothing", "chi2"),
        ("Nothing", "score_func", "chi2"),
    ],
)
def test_other_objects_are_not_listed(operator: str, parameter: str, name: str) -> None:
    with pytest.raises(LookupError, match="does not list"):
        import_named_object(load_catalogue(), operator, parameter, name)


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        ("sklearn.svm", "SVD", "has no `SVD`; the catalogue describes scikit-learn"),
        ("sklearn.nowhere", "SVC", "the module sklearn.nowhere of scikit-learn is not installed"),
        ("sklearn.utils", "metadata_routing", "is not a class"),
    ],
)
def test_a_catalogue_of_another_version(module: str, name: str, reason: str) -> None:
    moved = replace(load_catalogue().operators["SVC"], name=name, module=module)
    with pytest.raises(LookupError, match=reason):
        import_operator_class(replace(load_catalogue(), operators={name: moved}), name)
