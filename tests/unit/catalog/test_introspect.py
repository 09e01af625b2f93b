"""Introspection against the library itself: the rules say what scikit-learn's own validation says."""

import inspect
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils._param_validation import (
    Hidden,
    InvalidParameterError,
    validate_parameter_constraints,
)

from spacelang.catalog import Catalogue, Parameter, load_catalogue, value_rules
from spacelang.catalog.catalogue import TUPLE_PARAMETERS, join_tuple_elements
from spacelang.catalog.introspect import introspect_sklearn, write_refreshed_catalogue
from spacelang.catalog.packages import import_operator_class
from spacelang.catalog.sklearn_declarations import (
    UnknownConstraintError,
    class_deprecation,
    constraints_to_rules,
    parameter_deprecations,
)
from spacelang.catalog.snapshot import catalogue_from_json, catalogue_to_json
from spacelang.catalog.value_rules import AllowedValues, Interval
from spacelang.errors import installed_version
from spacelang.ir.value import Value

PROBES: tuple[Value, ...] = (
    None, True, False, -2, -1, 0, 1, 2, 3, 7, 10**6, 2**32, -1.5, -1.0, 0.0, 1e-9, 0.25, 0.5, 0.999, 1.0, 1.5,
    2.0, 100.0, math.inf, -math.inf, math.nan, "", "auto", "nonsense", "mean", (), (1, 2), (0.5, 1.0, 2.0),
    ("a", "b"), ((1, 2), (3, 4)),
)  # fmt: skip


@cache
def fresh() -> Catalogue:
    return introspect_sklearn()


def cases() -> Iterator[tuple[str, Parameter, list[Any]]]:
    """Every parameter that scikit-learn validates and a space may set, with the constraints it shows."""
    for name in fresh():
        declared = getattr(import_operator_class(fresh(), name), "_parameter_constraints", {})
        for parameter in fresh().operators[name].parameters.values():
            constraints = declared.get(parameter.name, "no_validation")
            if constraints != "no_validation" and parameter.refused is None:
                yield name, parameter, [entry for entry in constraints if not isinstance(entry, Hidden)]


def probes(parameter: Parameter) -> Iterator[Value]:
    yield from PROBES
    yield from parameter.accepted_words
    for rule in parameter.accepts or ():
        if isinstance(rule, Interval):
            for bound in (rule.lower, rule.upper):
                yield from (bound, float(bound))
                if not math.isinf(bound):
                    yield from (bound - 1, bound + 1, math.nextafter(bound, -1e9), math.nextafter(bound, 1e9))
        elif isinstance(rule, AllowedValues):
            yield from rule.values


def deliberate(name: str, parameter: Parameter, value: Value) -> str | None:
    """Why the catalogue may be stricter than scikit-learn here."""
    if isinstance(value, bool):
        return "a boolean is no number in a space, though it is one in Python"
    if parameter.name in value_rules.RULE_OVERRIDES:
        return "an override of the policy"
    if parameter.refusal_reason(value) is not None:
        return "a value that opens files"
    if isinstance(value, tuple) and parameter.name in value_rules.HOLDS_OBJECTS:
        return "its lists hold dictionaries or operators"
    if isinstance(value, tuple | str) and parameter.name == "cv":
        return "splits by row numbers belong to one data set"
    if isinstance(value, str) and parameter.name == "vocabulary":
        return "a string is an iterable of letters, no vocabulary"
    if value == "deprecated" and name == "TargetEncoder":
        return "a mark, not hidden by an oversight"
    return None


def library_accepts(name: str, parameter: Parameter, constraints: list[Any], value: Value) -> bool:
    try:
        validate_parameter_constraints(
            {parameter.name: constraints}, {parameter.name: parameter.to_python(value)}, name
        )
    except InvalidParameterError:
        return False
    return True


def test_rules_agree_with_the_librarys_validation() -> None:
    compared, differences = 0, []
    for name, parameter, constraints in cases():
        for value in probes(parameter):
            if isinstance(value, str) and value in parameter.named:
                continue  # the library sees the function, not its name
            ours = parameter.check_value(value) is None
            theirs = library_accepts(name, parameter, constraints, value)
            compared += 1
            # Stricter is allowed for a reason that is written down, more permissive never.
            if ours != theirs and (ours or deliberate(name, parameter, value) is None):
                differences.append((name, parameter.name, value, ours, theirs))
    assert not differences
    assert compared > 50_000


def test_integer_ranges_agree_with_the_librarys_validation() -> None:
    for name, parameter, constraints in cases():
        for lower, upper in [(0, 3), (1, 4), (2, 5), (-2, 1), (1, 1)]:
            ours = parameter.check_range(lower, upper, integer=True) is None
            theirs = all(library_accepts(name, parameter, constraints, value) for value in range(lower, upper + 1))
            assert ours == theirs or deliberate(name, parameter, lower), (name, parameter, lower, upper)


def test_real_ranges_agree_with_the_librarys_validation() -> None:
    for name, parameter, constraints in cases():
        for lower, upper in [(0.0, 1.0), (0.1, 1.0), (0.1, 0.9), (0.5, 3.0), (-1.0, 1.0), (1e-9, 1e9)]:
            steps = [lower + (upper - lower) * step / 12 for step in range(13)]
            ours = parameter.check_range(lower, upper, integer=False) is None
            theirs = all(library_accepts(name, parameter, constraints, value) for value in steps)
            assert ours == theirs or deliberate(name, parameter, lower), (name, parameter, lower, upper)


def test_the_shipped_snapshot_is_what_introspection_finds() -> None:
    if installed_version("scikit-learn") != load_catalogue().version:
        pytest.skip("the snapshot describes another version of scikit-learn")
    assert catalogue_to_json(fresh()) == catalogue_to_json(load_catalogue())
    assert fresh() == load_catalogue()


def test_introspection_round_trip() -> None:
    assert catalogue_from_json(catalogue_to_json(fresh())) == fresh()


def test_every_parameter_is_the_librarys_or_a_part_of_one_that_is() -> None:
    added = {
        (name, parameter)
        for name in fresh()
        for parameter in fresh().operators[name].parameters.keys()
        - inspect.signature(import_operator_class(fresh(), name)).parameters
    }
    # Deliberate: the only names that the library does not have.
    assert added == {("RobustScaler", "q_min"), ("RobustScaler", "q_max")}
    assert added == {(name, part.name) for (name, _), parts in TUPLE_PARAMETERS.items() for part in parts}


@pytest.mark.parametrize(("name", "whole"), TUPLE_PARAMETERS)
def test_parts_follow_their_whole_and_no_name_of_the_library_is_covered(name: str, whole: str) -> None:
    operator = fresh().operators[name]
    assert operator.tuple_element_parameters(whole) == TUPLE_PARAMETERS[name, whole]
    assert whole in operator.tuple_parameters
    own = inspect.signature(import_operator_class(fresh(), name)).parameters
    assert whole in own
    assert own.keys().isdisjoint(part.name for part in operator.tuple_element_parameters(whole))


@pytest.mark.parametrize(("name", "whole"), TUPLE_PARAMETERS)
def test_the_defaults_of_the_parts_make_the_librarys_default(name: str, whole: str) -> None:
    operator = fresh().operators[name]
    parts = {part.name: part.default for part in operator.tuple_element_parameters(whole)}
    assert join_tuple_elements(operator, parts) == {whole: operator.parameters[whole].default}


@pytest.mark.parametrize("q_min", [0, 0.001, 0.07, 0.25, 0.5])
@pytest.mark.parametrize("q_max", [0.5, 0.75, 0.999, 1.0, 1])
def test_the_library_takes_what_its_parts_make(q_min: float, q_max: float) -> None:
    operator = fresh().operators["RobustScaler"]
    assert all(operator.parameters[name].check_value(q) is None for name, q in [("q_min", q_min), ("q_max", q_max)])
    made = import_operator_class(fresh(), "RobustScaler")(
        **join_tuple_elements(operator, {"q_min": q_min, "q_max": q_max})
    )
    made.fit(np.arange(12.0).reshape(6, 2))
    assert made.quantile_range == (100.0 * q_min, 100.0 * q_max)


@pytest.mark.parametrize("outside", [-0.001, 1.001, 25.0, None, True])
def test_a_part_outside_its_rules_is_rejected(outside: Value) -> None:
    assert fresh().operators["RobustScaler"].parameters["q_min"].check_value(outside) == "a number in [0, 1]"


def test_every_public_operator_is_there() -> None:
    from sklearn.utils import all_estimators

    assert {name for name, _ in all_estimators()} <= set(fresh())
    assert {"IterativeImputer", "HalvingGridSearchCV", "Pipeline", "RBF"} <= set(fresh())


def test_modules_are_public() -> None:
    assert not [name for name in fresh() if "._" in fresh().operators[name].module]


def test_refresh_writes_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_refreshed_catalogue(destination=tmp_path / "new" / "sklearn.json")
    assert catalogue_from_json(path.read_text(encoding="utf-8")) == fresh()
    assert [entry.name for entry in path.parent.iterdir()] == ["sklearn.json"]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert write_refreshed_catalogue() == tmp_path / "spacelang" / "catalogues" / f"sklearn-{fresh().version}.json"


def test_only_known_libraries_are_introspected() -> None:
    with pytest.raises(LookupError, match="unknown catalogue `os`"):
        write_refreshed_catalogue("os")


def test_an_unknown_constraint_is_an_error() -> None:
    with pytest.raises(UnknownConstraintError, match="`complex`"):
        constraints_to_rules([1j])


DOCSTRING = """An operator.

    .. deprecated:: 1.8
        The whole class was deprecated in 1.8. Instead use `Other`.

    Parameters
    ----------
    old : int
        An old one.

        ..deprecated:: 1.9
           The `old` parameter is deprecated and will be removed in 1.11.
           Use `new` instead.

    first, second : bool
        Two.

        .. deprecated:: 1.7
           ``second`` was renamed `third`.

    value : int or None
        .. deprecated:: 1.8
            `None` is deprecated and will be removed in version 1.10.

    future : int
        .. deprecated:: 1.10
            `future` will be deprecated in version 1.10.

    Attributes
    ----------
    gone_ : int
        .. deprecated:: 1.9
            `gone_` is deprecated.
    """


def test_deprecation_notes() -> None:
    found = parameter_deprecations(DOCSTRING)
    assert {name: (entry.since, entry.replacement) for name, entry in found.items()} == {
        "old": ("1.9", "new"),
        "second": ("1.7", "third"),
    }
    assert found["old"].note == "use `new` instead"
    whole = class_deprecation(DOCSTRING)
    assert whole is not None
    assert (whole.since, whole.note) == ("1.8", "instead use `Other`")
    assert parameter_deprecations(None) == {}
    assert class_deprecation(None) is None
