"""Documents of compiled spaces: the keys around the definition, and what catalogues and constraints say of it."""

import json
from typing import Any

import pytest

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.serialization.definition import VERSION, space_to_json
from spacelang.serialization.json_documents import DefinitionError, is_compiled_space, parse_compiled_document
from spacelang.text import Source

TEXT = """\
stage scaler = none | StandardScaler
stage estimator = LogisticRegression { C : float[0.1, 10] log = 1 } | SVC { kernel : {rbf, poly}, degree : int[2, 4] }
task classification {
  minimize 1 - roc_auc
  subject to disparity(accuracy, town) <= 0.1
}
"""


def compiled(text: str = TEXT, **more: Any) -> dict[str, Any]:
    space = check(Source("text.space", text)).space
    assert space is not None
    document = {"target": "blds", "space": "text", "version": VERSION, "definition": space_to_json(space), **more}
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]


def checked(document: object, **bindings: int) -> CheckResult:
    return check(Source("file.json", json.dumps(document)), CheckSettings(bindings))


def refused(document: object, *telling: str, **bindings: int) -> None:
    found = checked(document, **bindings)
    shown = render_diagnostics(found.diagnostics, color=False)
    assert found.space is None
    assert found.structures is None
    assert all(words in shown for words in telling), shown


def replaced(document: object, old: str, new: str) -> object:
    text = json.dumps(document)
    assert old in text
    return json.loads(text.replace(old, new))


def test_a_compiled_space_is_what_its_text_is() -> None:
    text, found = check(Source("text.space", TEXT)), checked(compiled(extra={"keys": "of a target"}))
    assert found.space == text.space
    assert found.diagnostics == text.diagnostics == ()
    assert (found.symbols, found.permanently_unbound_symbols) == ({}, ())


@pytest.mark.parametrize(
    ("change", "telling"),
    [
        ({"version": None}, "`version` is null, expected a number"),
        ({"version": 7}, "SL010"),
        ({"version": True}, "`version` is true, expected a number"),
        ({"bound": []}, "`bound` is not a JSON object"),
        ({"bound": {"n_rows": 3}}, "the symbols are `n_categorical`, `n_classes`, `n_datetime`,"),
        ({"bound": {"n_samples": 0}}, "`bound.n_samples` is 0, expected a whole number of at least 1"),
        ({"bound": {"n_samples": 10**16}}, "`bound.n_samples` is above"),
        ({"definition": []}, "`definition` is an empty list, expected an object"),
    ],
    ids=str,
)
def test_the_keys_around_the_definition(change: dict[str, Any], telling: str) -> None:
    refused(compiled(**change), telling)


def test_a_version_is_needed() -> None:
    document = compiled()
    del document["version"]
    refused(document, "`version` is missing", "write `version` 1")


def test_symbols_that_were_bound_stay_bound() -> None:
    document = compiled(bound={"n_features": 30, "n_samples": None})
    found = checked(document, n_features=30, n_classes=2)
    assert (found.symbols, found.permanently_unbound_symbols) == ({"n_features": 30}, ("n_samples",))
    assert [problem.code for problem in found.diagnostics] == ["SL020"]
    refused(document, "SL019", "was compiled for `n_features` = 30", n_features=31)
    refused(document, "SL019", "without a number for `n_samples`", n_samples=99)


@pytest.mark.parametrize(
    ("old", "new", "telling"),
    [
        ('"operator": "SVC"', '"operator": "SVCC"', "SL201"),
        ('"hyperparameter": "C"', '"hyperparameter": "c"', "SL301"),
        ('{"set": ["rbf", "poly"]}', '{"set": ["rbf", "polly"]}', "SL302"),
        ('{"float": [0.1, 10.0], "log": true}', '{"float": [-1, 10.0]}', "SL303"),
        ('{"int": [2, 4]}', '{"union": [{"int": [2, 4]}, {"int": [3, 5]}]}', "has the value `3` in two parts"),
        (
            '{"hyperparameter": "kernel"',
            '{"named": ["rbf"], "hyperparameter": "kernel"',
            "which is no value of `kernel`",
        ),
        ('"operator": "SVC"', '"operator": "PCA"', "SL601"),
        ('"operator": "StandardScaler"', '"operator": "SVC"', "SL602"),
        ('"operator": "SVC"', '"operator": "SVR"', "SL603"),
        ('"kind": "classification"', '"kind": "regression"', "SL8"),
        ('"minimize": "roc_auc"', '"minimize": "roc_au"', "SL8"),
        ('"scorer": "accuracy"', '"scorer": "r2"', "SL8"),
    ],
)
def test_catalogues_judge_as_they_judge_texts(old: str, new: str, telling: str) -> None:
    refused(replaced(compiled(), old, new), telling)


C = "estimator.LogisticRegression.C"


@pytest.mark.parametrize(
    ("constraint", "telling"),
    [
        ({"forbid": True}, "`definition.constraints` leaves no configuration"),
        ({"forbid": {"decision": "scaler", "is": ["none"]}}, "`definition.constraints[0]` excludes the default"),
        ({"require": {">": [{"*": [{"hyperparameter": C}, {"hyperparameter": C}]}, 2]}}, "excludes the default"),
    ],
    ids=str,
)
def test_what_is_left_of_a_space(constraint: dict[str, Any], telling: str) -> None:
    document = compiled()
    document["definition"]["constraints"] = [constraint]
    refused(document, "SL009", telling)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"target": 1, "definition": {}', "is not JSON"),
        ('{"target": 1, "definition": NaN}', "`NaN` is not a JSON number"),
        ('{"target": 1, "definition": {"name": 1, "name": 2}}', "gives the key `name` twice"),
        (f'{{"target": 1, "definition": {"[" * 100_000}', "is nested too deeply"),
        (f'{{"target": 1, "definition": {"9" * 5_000}}}', "is not JSON"),
    ],
    ids=["cut off", "constant", "twice", "deep", "digits"],
)
def test_broken_documents_are_told_from_other_texts(text: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        parse_compiled_document(text, "file.json")
    assert is_compiled_space(text)
    (found,) = check(Source("file.json", text)).diagnostics
    assert found.code == "SL009"
    assert problem in found.message


@pytest.mark.parametrize(
    "text", ["", "stage s = A", "{", '["target", "definition"]', '{"a": {"target": 1, "definition": 2}}']
)
def test_what_is_no_document_is_a_text(text: str) -> None:
    assert parse_compiled_document(text, "a.space") is None
    assert not is_compiled_space(text)


def test_places_of_problems() -> None:
    """At the lines of the text where they are known, with the name of the document; else at the document."""
    document = replaced(compiled(), '"operator": "SVC"', '"operator": "SVCC"')
    (found,) = checked(document).diagnostics
    assert (found.primary.source.name, found.primary.line) == ("text.space", 2)
    assert found.notes == ("found in the compiled space `file.json`",)
    assert isinstance(document, dict)
    document["definition"]["root"] = {"sequence": [{"operator": "SVCC"}]}
    document["definition"].pop("task")
    (found,) = checked(document).diagnostics
    assert found.primary.source.name == "file.json"
