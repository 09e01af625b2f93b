"""Lists of operators with optional members: names, defaults, `count`, and what is built of them."""

import json

import pytest
from spelled import constraints

import spacelang as sl
from spacelang.analysis import check
from spacelang.serialization.definition import VERSION, space_to_json
from spacelang.text import Source

VOTING = "stage model = VotingClassifier {{ estimators : ({}) as all{} }}"


def values(members: str, rest: str = ", require count(estimators) >= 1") -> dict[str, object]:
    """Return the default configuration of a list, without what it has in common with other lists."""
    found = sl.parse(VOTING.format(members, rest)).default()
    return {key.removeprefix("model.estimators."): value for key, value in found.items() if key.count(".") > 1}


@pytest.mark.parametrize(
    ("members", "configuration"),
    [
        ("GaussianNB? & BernoulliNB?", {"GaussianNB": "GaussianNB", "BernoulliNB": "BernoulliNB"}),
        ("(none | GaussianNB) & BernoulliNB", {"GaussianNB": "none"}),
        ("(GaussianNB | none) & BernoulliNB", {"GaussianNB": "GaussianNB"}),
        ("SVC { C : float[1, 2] = 1 }? & BernoulliNB", {"SVC": "SVC", "SVC.C": 1.0}),
        ("SVC { C : float[1, 2] = 1 } & BernoulliNB", {"SVC.C": 1.0}),
        ("SVC as rbf? & BernoulliNB", {"rbf": "rbf"}),
        ("(SVC?) as last & BernoulliNB", {"last": "SVC"}),
        ("SVC? & SVC? & SVC", {"SVC": "SVC", "SVC_2": "SVC"}),
        ("(SVC | LinearSVC)? & GaussianNB", {"choice_1": "SVC"}),
        ("(SVC | LinearSVC @default)? & GaussianNB", {"choice_1": "LinearSVC"}),
        ("(PCA -> SVC)? & GaussianNB", {"choice_1": "PCA -> SVC"}),
        ("((PCA -> SVC) as reduced)? & GaussianNB", {"reduced": "reduced"}),
    ],
)
def test_optional_members_are_named_and_present_by_default(members: str, configuration: dict[str, object]) -> None:
    assert values(members) == configuration


def test_optional_steps_of_the_pipeline_are_left_out_by_default() -> None:
    found = sl.parse("stage model = GaussianNB\npipeline = (PCA? & FastICA?) -> model").default()
    assert dict(found) == {"choice_1": "none", "choice_2": "none", "model": "GaussianNB"}


def test_steps_inside_a_member_are_no_members() -> None:
    found = values("((PCA? & FastICA?) -> SVC) & GaussianNB")
    assert found == {"choice_1": "none", "choice_2": "none"}


def test_values_of_abstract_operators_are_parallel_steps() -> None:
    space = sl.parse(
        "abstract Blend\nabstract Net\nabstract Tree\n"
        "stage model = Blend { parts : (Net? & Tree?) as both | Net, require count(parts) <= 1 }"
    )
    assert space.default()["model.parts.choice_1"] == "none"
    assert space.configurations == 3 + 1


def test_parallel_steps_are_counted() -> None:
    text = "stage reducer = none | PCA | (PCA? & FastICA? & SelectPercentile) as joined\nstage model = GaussianNB\n"
    assert sl.parse(f"{text}require count(reducer) <= 2").structures == 2 + 3
    assert sl.parse(f"{text}forbid count(reducer) > 2").structures == 2 + 3
    assert sl.parse(f"{text}require count(reducer) >= 1 or reducer is none").structures == 2 + 4


def test_a_path_may_begin_with_the_name_of_the_list() -> None:
    text = VOTING.format("SVC { C : float[1, 3] = 1 }? & GaussianNB", ", forbid estimators.SVC.C > 2")
    assert constraints(text) == ["forbid model.VotingClassifier.estimators.all.SVC.SVC.C > 2"]


def test_a_computed_value_may_count_the_members() -> None:
    space = sl.parse(
        "stage model = StackingClassifier {\n"
        "  estimators : (GaussianNB? & SVC?) as all\n"
        "  cv := 1 + count(estimators)\n"
        "  final_estimator : LogisticRegression | none\n  require count(estimators) >= 1\n}"
    )
    built = space.build(space.default()).steps[-1][1]
    assert built.cv == 3
    without = {**space.default(), "model.estimators.SVC": "none"}
    assert space.build(without).steps[-1][1].cv == 2


def test_a_member_has_the_same_name_whether_it_is_optional_or_not() -> None:
    names = [
        [name for name, _ in sl.parse(text).build(sl.parse(text).default()).steps[-1][1].estimators]
        for text in (VOTING.format(f"GaussianNB{sign} & SVC", "") for sign in ("", "?"))
    ]
    assert names == [["gaussiannb", "svc"]] * 2


def test_a_compiled_document_with_an_empty_list_is_reported() -> None:
    text = VOTING.format("GaussianNB? & SVC?", ", require count(estimators) >= 1")
    space = check(Source("text.space", text)).space
    assert space is not None
    document = {"target": "blds", "space": "text", "version": VERSION, "definition": space_to_json(space)}
    assert check(Source("file.json", json.dumps(document))).diagnostics == ()
    document["definition"] = {**space_to_json(space), "constraints": []}
    assert [each.code for each in check(Source("file.json", json.dumps(document))).diagnostics] == ["SL624"]


NESTED = "VotingClassifier as nested { estimators : (GaussianNB? & SVC?) as inner, require count(estimators) >= 1 }"


@pytest.mark.parametrize(
    ("text", "structures"),
    [
        (VOTING.format(f"GaussianNB? & {NESTED}?", ", require count(estimators) >= 1"), 2 * 4 - 1),
        (f"stage step = PCA | {NESTED}\nstage last = SVC\npipeline = repeat(step, 0, 2) -> last", 1 + 4 + 16),
        (f"stage voting = {NESTED}\nstage last = BaggingClassifier {{ estimator : voting | SVC }}", 3 + 1),
        (f"stage unused = {NESTED}\nstage last = SVC | GaussianNB\npipeline = last", 2),
    ],
)
def test_lists_stand_wherever_operators_do(text: str, structures: int) -> None:
    assert sl.parse(text).structures == structures
    assert "SL624" in [
        each.code for each in check(Source("empty", text.replace(" >= 1 }", " >= 0 }"))).diagnostics
    ] or ("unused" in text)
