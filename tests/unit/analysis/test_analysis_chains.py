"""Chains, `repeat(stage, least, most)`: their members, and their treatment by all parts of the package."""

from collections import Counter
from dataclasses import replace

import pytest

import spacelang as sl
from spacelang.ir.repeated_stages import address_shared_by_uses, address_to_expression_name
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.difference import compare_spaces
from spacelang.serialization.space_text import UnwritableSpaceError, space_to_text
from spacelang.solver.counting import Structures
from spacelang.syntax.printer import format_text

STEP = "stage step = StandardScaler | PCA { whiten : bool = false } | SelectPercentile { percentile : int[1, 3] = 2 }\n"
CLASSIFIER = "stage classifier = GaussianNB | LinearSVC { C : {1.0, 2.0} = 1.0 }\n"
PIPELINE = "pipeline = repeat(step, 0, 3) -> classifier\n"
P, C, N = 1 + 2 + 3, 1 + 2, 3
"""The configurations of the step and of the classifier, and the structures of the step."""


def read(rest: str = "", pipeline: str = PIPELINE) -> sl.Space:
    return sl.parse(STEP + CLASSIFIER + pipeline + rest)


def test_the_number_of_configurations_and_structures() -> None:
    space = read()
    assert space.configurations == (1 + P + P**2 + P**3) * C
    assert space.structures == (1 + N + N**2 + N**3) * 2
    assert read(pipeline="pipeline = repeat(step, 1, 2) -> classifier\n").configurations == (P + P**2) * C
    assert read(pipeline="pipeline = repeat(step, 2, 2) -> classifier\n").configurations == P**2 * C


def test_draws_by_both_laws() -> None:
    space = read()
    plain = Counter(each["step"] for each in space.sample(4000))
    total = 1 + N + N**2 + N**3
    assert plain["3"] / 4000 == pytest.approx(N**3 / total, abs=0.03)
    advised = Counter(each["step"] for each in space.sample(4000, advised=True))
    assert all(advised[number] / 4000 == pytest.approx(0.25, abs=0.03) for number in "0123")


def test_keys_and_the_pipeline() -> None:
    space = read()
    configuration = sl.Configuration(
        {"step": "2", "step[1]": "PCA", "step[1].whiten": True, "step[2]": "StandardScaler", "classifier": "GaussianNB"}
    )
    assert configuration in space
    assert [name for name, _ in space.build(configuration).steps] == ["step[1]", "step[2]", "classifier"]
    assert dict(space.default()) == {"step": "0", "classifier": "GaussianNB"}


@pytest.mark.parametrize(
    ("rest", "count"),
    [
        ("forbid step[1] is PCA and step[2] is PCA", P + P**2 - 4 + P**3 - 4 * P),
        ("forbid step[3] is PCA", P + P**2 + P**3 - 2 * P**2),
        ("require step >= 1 implies step[1] is PCA", 2 + 2 * P + 2 * P**2),
        ("forbid step[1] is StandardScaler", P + P**2 + P**3 - 1 - P - P**2),
        ("require step[1].percentile < step[2].percentile", P + P**2 - 6 + (P**2 - 6) * P),
        ("forbid step in {1, 3}", P**2),
        ("require step <= 1", P),
        ("forbid not step == 0 and classifier is LinearSVC", None),
    ],
)
def test_constraints_name_the_number_and_the_uses(rest: str, count: int | None) -> None:
    space = read(rest)
    expected = (1 + count) * C if count is not None else C + (P + P**2 + P**3)
    assert space.configurations == expected
    assert sl.parse(space_to_text(space.checked)).configurations == expected


def test_conditions_name_uses_and_the_stage() -> None:
    solver = "svd_solver : {full, auto} = full when step is PCA"
    step = f"stage step = StandardScaler | PCA {{ whiten : bool = false, {solver} }}"
    space = sl.parse(
        f"{step}\nstage last = LinearSVC {{ C : {{1.0, 2.0}} = 1.0 when step[2] is PCA }}\n"
        "pipeline = repeat(step, 0, 2) -> last"
    )
    one = 1 + 4
    assert space.configurations == 1 + one + one * 1 + one * 4 * 2


def test_a_stage_in_the_stage_is_a_decision_of_each_use() -> None:
    space = sl.parse(
        "stage scaler = StandardScaler | MinMaxScaler\nstage step = scaler | PCA\n"
        "pipeline = (repeat(step, 0, 2)) as before -> GaussianNB\nforbid before[2].scaler is MinMaxScaler"
    )
    assert space.configurations == 1 + 3 + 3 * 2
    keys = {key for each in space.sample(100) for key in each}
    assert keys == {"before", "before[1]", "before[2]", "before[1].scaler", "before[2].scaler"}


def test_text_json_and_format_keep_the_chain() -> None:
    space = read("forbid step[1] is PCA and step[2] is PCA\nforbid step == 2")
    text = space_to_text(space.checked)
    assert "repeat(step, 0, 3)" in text
    assert text.count("forbid step[1] is PCA and step[2] is PCA") == 1
    again = sl.parse(text)
    assert space_to_text(again.checked) == text
    assert compare_spaces(space.counted, again.counted).differences == ()
    assert space_from_json(space_to_json(space.checked)) == space.checked
    assert format_text("pipeline=repeat( step,0 , 3)->a") == "pipeline = repeat(step, 0, 3) -> a\n"


def test_a_chain_whose_uses_differ_has_no_text() -> None:
    text = "stage step = StandardScaler | PCA { whiten : bool = false when step[1] is PCA }\n"
    space = sl.parse(text + "pipeline = repeat(step, 0, 2) -> GaussianNB")
    with pytest.raises(UnwritableSpaceError, match="the uses of the chain `step`"):
        space_to_text(space.checked)


def test_another_number_is_one_discrepancy() -> None:
    counts = read().counted.count_by_discrepancy({"step": "0", "classifier": "GaussianNB"})
    assert counts[1] == 3 + 1


def test_names() -> None:
    chains = {"step"}
    assert address_to_expression_name("step.2.step[1].PCA.whiten", chains) == "step[1].PCA.whiten"
    assert [address_shared_by_uses(each, chains) for each in ("step.3.step[2]", "step", "other.x")] == [
        "step",
        "step",
        "other.x",
    ]


def test_a_parameter_and_a_stage_may_have_the_names_of_the_words() -> None:
    space = sl.parse(
        "stage repeat = StandardScaler | PCA\nstage step = GaussianNB\npipeline = repeat(repeat, 0, 2) -> step"
    )
    assert space.configurations == 7


def test_a_tuple_in_a_use() -> None:
    mlp = "MLPRegressor { hidden_layer_sizes : tuple[1, 2] of int[1, 2] = (1,) }"
    text = (
        f"stage step = StandardScaler | SelectFromModel {{ estimator : {mlp} }}\npipeline = repeat(step, 0, 2) -> Ridge"
    )
    space = sl.parse(text)
    assert space.configurations == 1 + 7 + 7**2
    assert sl.parse(space_to_text(space.checked)).configurations == 57
    given = {"step": "1", "step[1]": "SelectFromModel", "step[1].estimator": "MLPRegressor"}
    sizes = {"step[1].estimator.hidden_layer_sizes.length": 1, "step[1].estimator.hidden_layer_sizes[1]": 2}
    assert space.build(given | sizes).steps[0][1].estimator.hidden_layer_sizes == (2,)


def test_texts_have_a_constraint_on_two_chains_once() -> None:
    rule = "require before[1].lo <= after[1].lo"
    text = f"""abstract made
stage step = made {{ lo : int[1, 3] }}
pipeline = (repeat(step, 0, 2)) as before -> (repeat(step, 0, 2)) as after -> GaussianNB
{rule}
"""
    space = sl.parse(text).checked
    (line,) = (line for line in space_to_text(space).splitlines() if line.startswith("require"))
    assert line == "require before[1].made.lo <= after[1].made.lo"
    # Without the constraint for one pair of numbers of uses, the text tests the numbers.
    for number in range(len(space.constraints)):
        part = replace(space, constraints=(*space.constraints[:number], *space.constraints[number + 1 :]))
        again = sl.parse(space_to_text(part))
        assert again.configurations == Structures(part).configuration_count
