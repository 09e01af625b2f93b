"""The file for irace: its lines, what becomes of constraints, and how its configurations are read."""

import json
from typing import Any

import pytest

import spacelang as sl
from spacelang.cli._app import run_command_line
from spacelang.targets._checked_decoding import DecodingError

SPACE = sl.parse(
    """space s
stage scaler = StandardScaler | none
stage e = SVC { C : float[1e-3, 10] log = 1, kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly }
  | GaussianNB
forbid scaler is none and e is SVC
"""
)
DEFAULT = {"scaler": "StandardScaler", "e": "SVC", "e.C": 1.0, "e.kernel": "rbf"}


def test_the_file_has_conditions_and_forbidden_combinations() -> None:
    form = SPACE.compile("irace").form
    lines = [" ".join(line.split()) for line in form.to_text().splitlines()]
    assert lines[1:9] == [
        'scaler "--scaler " c ("StandardScaler", "none")',
        'e "--e " c ("SVC", "GaussianNB")',
        'e.C "--e.C " r,log (0.001, 10.0) | e == "SVC"',
        'e.kernel "--e.kernel " c ("rbf", "poly") | e == "SVC"',
        'e.degree "--e.degree " i (2, 5) | e == "SVC" & e.kernel == "poly"',
        "",
        "[forbidden]",
        'scaler == "none" & e == "SVC"',
    ]
    assert repr(form) == "<IraceParameters s: 5 parameters, 3 conditional, 1 forbidden combination>"


def test_the_output_of_compile_is_a_file_for_irace(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["compile", "blds_table1", "--target", "irace"]) == 0
    names, _, rest = capsys.readouterr().out.partition("\n[global]\n")
    assert names.startswith("# blds_table1: ")
    assert "# how the target represents the space:" in rest.splitlines()
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == ["digits = 15"]


def test_a_relation_is_forbidden_unless_members_are_rare() -> None:
    text = "space s\nvar a : int[1, 1000] = 1\nvar b : int[1, 1000] = 1\nstage e = GaussianNB\nrequire a {} b\n"
    assert sl.parse(text.format("<=")).compile("irace").form.forbidden == ("a > b",)
    rare = sl.parse(text.replace("1000", "20").format("==")).compile("irace")
    assert rare.form.forbidden == ()
    assert [each.status.value for each in rare.report if each.construct.startswith("constraints")] == ["rewritten"]


def test_a_configuration_may_be_text() -> None:
    compiled = SPACE.compile("irace")
    told = {".ID.": "7", **{name: str(value) for name, value in DEFAULT.items()}, "e.degree": "NA"}
    assert compiled.decode(told) == SPACE.default()


def test_names_and_values_that_r_reserves_are_renamed() -> None:
    values = ["NA", "<NA>", "NA_", "", "a, b", 'x"y', "TRUE"]
    listed = ", ".join(map(json.dumps, values))
    space = sl.parse(
        f"abstract M\nstage e = M {{ a : {{{listed}}} = NA, NA_real_ : int[1, 3] = 1 when a == NA }} | GaussianNB\n"
        'forbid e.M.a == "<NA>" and e is M'
    )
    form = space.compile("irace").form
    assert form.parameters["e.a"].labels == ("NA_", "<NA>_", "NA__2", "value", "a_b", "x_y", "TRUE")
    assert space.verify("irace", count=20).holds


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"e": "SVM"}, "`e` is one of SVC, GaussianNB"),
        ({"e.C": "100"}, "`e.C` is a number from 0.001 to 10.0"),
        ({"e.C": None}, "`e.C` is active but has no value"),
        ({"e.degree": 3}, "`e.degree` has a value but is not active here"),
        ({"e.kernel": "poly", "e.degree": 2.5}, "`e.degree` is an integer"),
        ({"scaler": "none"}, "this combination is forbidden"),
    ],
)
def test_what_irace_cannot_have_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(DecodingError, match=reason):
        SPACE.compile("irace").decode({**DEFAULT, **changes})
