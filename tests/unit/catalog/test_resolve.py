"""From names to code: exactly what the catalogue lists, and nothing that hangs below it."""

from dataclasses import replace

import pytest

from spacelang.catalog import load
from spacelang.catalog.resolve import named_object, operator_class


def test_every_operator_resolves() -> None:
    for name in load():
        found = operator_class(load(), name)
        assert found.__name__ == name
        assert found.__module__.startswith("sklearn.")


def test_every_named_object_resolves() -> None:
    for name in load():
        for parameter in load().operators[name].parameters.values():
            for listed in parameter.named:
                assert callable(named_object(load(), name, parameter.name, listed))


@pytest.mark.parametrize("name", ["svc", "SVC ", "svm.SVC", "sklearn.svm.SVC", "os", "_BaseEncoder", "__class__", ""])
def test_other_names_are_not_operators(name: str) -> None:
    with pytest.raises(LookupError, match="is not an operator of the catalogue sklearn"):
        operator_class(load(), name)


@pytest.mark.parametrize(
    ("operator", "parameter", "name"),
    [
        ("SelectKBest", "score_func", "os.system"),
        ("SelectKBest", "score_func", "SelectKBest"),
        ("SelectFdr", "score_func", "mutual_info_classif"),
        ("SelectKBest", "k", "chi2"),
        ("SelectKBest", "nothing", "chi2"),
        ("Nothing", "score_func", "chi2"),
    ],
)
def test_other_objects_are_not_listed(operator: str, parameter: str, name: str) -> None:
    with pytest.raises(LookupError, match="is not listed for"):
        named_object(load(), operator, parameter, name)


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        ("sklearn.svm", "SVD", "has no `SVD`; the catalogue describes scikit-learn"),
        ("sklearn.nowhere", "SVC", "the module sklearn.nowhere of scikit-learn is not installed"),
        ("sklearn.utils", "metadata_routing", "is not a class"),
    ],
)
def test_a_catalogue_of_another_version(module: str, name: str, reason: str) -> None:
    moved = replace(load().operators["SVC"], name=name, module=module)
    with pytest.raises(LookupError, match=reason):
        operator_class(replace(load(), operators={name: moved}), name)
