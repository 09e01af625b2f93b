"""`verify`: forms that mean what a space means pass, and one that does not is shown with the case that breaks it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import spacelang

import spacelang as sl
from spacelang.api.compilation import verify
from spacelang.ir.configuration import Configuration
from spacelang.targets import TARGETS

TEXT = """space s
stage scaler = none | StandardScaler
stage e = KNeighborsClassifier { n_neighbors : int[1, 5] = 5, p : {1, 2} = 2 when n_neighbors > 3 } | GaussianNB
forbid scaler is none and e is GaussianNB
"""
SPACE = sl.parse(TEXT)
DRAWS = {"nevergrad": 1_000}  # which takes a millisecond for each


@pytest.mark.parametrize("target", TARGETS.names())
def test_the_targets_hold_the_laws_on_all_configurations(target: str) -> None:
    draws = DRAWS.get(target, 3_000)
    found = SPACE.verify(target, count=60, draws=draws)
    assert found.holds
    assert found.is_all
    assert [law.tried for law in found.laws] == [SPACE.configurations] * 2 + [60] * 2 + [draws] * (len(found.laws) - 4)
    assert found.structures[0] <= found.structures[1] == 3
    assert {*found.preserved} <= {"exact", "rewritten", "approximated"}


def test_few_members_that_are_counted_but_not_numbered_are_drawn() -> None:
    space = sl.parse(
        "abstract Model\nstage e = Model { lo : int[1, 100000] = 99995, hi : int[lo, 100000], require lo >= 99990 }"
    )
    assert space.configurations == sum(range(1, 12))
    found = space.verify("random", count=100)
    assert found.holds
    assert not found.is_all


def test_structures_that_differ_in_a_nested_decision_are_told_apart() -> None:
    nested = "BaggingClassifier { estimator : GaussianNB | SVC | LogisticRegression } | SVC"
    found = sl.parse(f"stage scaler = none | PCA\nstage e = {nested}").verify("random", count=200)
    assert found.structures == (8, 8)


def broken(**changed: Any) -> list[bool]:
    form = SPACE.compile("sklearn")
    return [law.holds for law in verify(replace(form, **changed), SPACE.counted, count=20).laws]


def test_what_breaks_a_law_is_found() -> None:
    def forgetful(encoding: Any) -> Configuration:
        return Configuration({key: value for key, value in dict(encoding).items() if key != "e.p"})

    def fails(_: Any) -> Any:
        raise KeyError("it")

    assert broken() == [True, True, True, True]
    assert broken(decode=forgetful) == [False, True, False, True]
    assert broken(accepts=lambda _: False) == [True, False, True, False]
    assert broken(encode=fails) == [False, False, True, True]


def test_the_command_says_it(tmp_path: Path) -> None:
    path = tmp_path / "s.space"
    path.write_text(TEXT, encoding="utf-8")
    said = spacelang("verify", str(path), "--target", "configspace", "-n", "50", folder=tmp_path)
    assert said.returncode == 0
    assert said.stdout.count("holds") == 5
    told = json.loads(spacelang("verify", str(path), "--target", "blds", "--json", folder=tmp_path).stdout)
    assert told["holds"]
    assert told["every_configuration"]
    assert spacelang("verify", str(path), "--target", "nowhere", folder=tmp_path).returncode == 2
