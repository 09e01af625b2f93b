"""Names in quotes, decisions of one alternative, permuted steps with names, and groups outside of where they stand."""

import pytest

from spacelang.analysis import CheckContext, CheckResult, check
from spacelang.syntax.printer import format_text
from spacelang.text import Source

PIPELINE = "StandardScaler -> PCA"


def checked(text: str) -> CheckResult:
    return check(Source("a.space", text), CheckContext({}))


def keys(text: str) -> dict[str, tuple[str, ...]]:
    """The decisions of a sound space by key, each with its alternatives."""
    found = checked(text)
    assert found.space is not None, found.diagnostics
    assert not found.diagnostics
    return {choice.key: tuple(branch.name for branch in choice.branches) for choice in found.space.decisions}


def test_an_alternative_may_have_any_name() -> None:
    text = 'stage a = (Normalizer -> PCA) as "then \\"PCA\\"" | PCA as "a b" { whiten : bool } | none\nstage b = SVC'
    assert keys(text)["a"] == ('then "PCA"', "a b", "none")


def test_a_name_in_quotes_is_the_alternatives_alone() -> None:
    found = keys('stage e = (SVC | GaussianNB) as "one of two" | LinearSVC')
    assert found == {"e": ("one of two", "LinearSVC"), "e.choice_1": ("SVC", "GaussianNB")}


@pytest.mark.parametrize(
    "rule",
    [
        f'forbid a is "{PIPELINE}" and b is SVC',
        f'forbid a in {{"{PIPELINE}"}} and b is SVC',
        f'forbid a."{PIPELINE}".PCA.n_components == 2 and b is SVC',
        f'require a in {{none, "{PIPELINE}"}} and not b is SVC or a is none',
    ],
)
def test_expressions_name_what_is_in_quotes(rule: str) -> None:
    text = "stage a = none | (StandardScaler -> PCA { n_components : int[1, 2] })\nstage b = SVC | GaussianNB\n"
    found = checked(text + rule)
    assert found.space is not None, found.diagnostics
    assert found.structures is not None
    assert len(found.space.constraints) == 1
    assert not found.diagnostics
    assert format_text(text + rule).endswith(f"{rule}\n")


def test_a_bar_in_brackets_makes_a_decision_of_one_alternative() -> None:
    text = "pipeline = (| PCA) as reducer -> (| (StandardScaler -> none)) -> (SVC | GaussianNB)\n"
    assert keys(text) == {
        "reducer": ("PCA",),
        "choice_1": ("StandardScaler -> none",),
        "choice_2": ("SVC", "GaussianNB"),
    }
    assert format_text(text) == text


def test_permuted_steps_may_have_names() -> None:
    text = 'pipeline = permute(scale: StandardScaler, "to few": PCA | FastICA, MinMaxScaler) -> SVC\n'
    assert keys(text)["order"][:2] == ("scale, to few, MinMaxScaler", "scale, MinMaxScaler, to few")
    assert format_text(text) == text


def test_an_order_that_constraints_exclude_is_no_mistake() -> None:
    text = 'pipeline = permute(StandardScaler, PCA) -> SVC\nforbid order is "PCA, StandardScaler"\n'
    found = checked(text)
    assert not found.diagnostics
    assert found.structures is not None
    assert found.structures.count == 1


def test_a_group_may_stand_outside() -> None:
    """As an imported pipeline does: what is in it goes by its own name."""
    inside = checked("stage e = (StandardScaler -> SVC { C : float[1, 2] }) as scaled | GaussianNB").space
    outside = checked('stage e = (StandardScaler -> (SVC { C : float[1, 2] }) as "/") as scaled | GaussianNB').space
    assert inside is not None
    assert outside is not None
    assert [each.key for each in inside.hyperparameters] == ["e.SVC.C"]
    assert [each.key for each in outside.hyperparameters] == ["SVC.C"]


@pytest.mark.parametrize(
    "text",
    [
        'pipeline = PCA as "a b" -> SVC',
        'pipeline = (PCA | FastICA) as "a b" -> SVC',
        'pipeline = (PCA -> FastICA) as "a b" -> SVC',
        'stage s = PCA | FastICA\npipeline = s as "a b" -> SVC',
    ],
)
def test_only_alternatives_have_names_in_quotes(text: str) -> None:
    (problem,) = checked(text).diagnostics
    assert problem.code == "SL101"
    assert problem.primary.text == '"a b"'
    assert "only alternatives" in str(problem.help)


def test_an_unknown_name_in_quotes_is_told_with_the_nearest() -> None:
    (problem,) = checked('stage e = SVC | GaussianNB\nforbid e is "SVCs"').diagnostics
    assert problem.code == "SL204"
    assert "SVC" in str(problem)
