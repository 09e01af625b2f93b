"""Names that are no words: of parameters in backticks, to all targets and back, and of alternatives in quotes."""

from dataclasses import replace

import pytest

from spacelang import api
from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.ir.expr import Compare, Reference
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.difference import FactKind, list_differing_facts
from spacelang.serialization.json_documents import DefinitionError
from spacelang.serialization.space_text import space_to_text
from spacelang.syntax.printer import format_text
from spacelang.targets import TARGETS
from spacelang.text import Source

STRANGE = r"""
abstract net {
  x                  : float[0, 1] = 0.5
  `x:case`           : float[0, 1] = 0.5 when x > 0.1
  `x:case#2`         : int[1, 4] = 2 when `x:case` < 0.5
  `x (2)`            : {a, b} | int[1, 3] | float[5, 6]
  `a'b"{c}%s|d\e__f` : bool = true
  `x:__choice__`     : SVC { C : int[1, 2] } | GaussianNB
  `in`               : int[1, 2]
  `fixed #1`         = 3
  forbid `in` == 2 and `fixed #1` == 3
}

stage e = net | GaussianNB

forbid e.net.`x:__choice__` is SVC and e.`x (2)` == b
forbid e.`x:__choice__`.SVC.C == 2 and e.net.x > 0.9
"""
"""Names with the signs that targets put between names."""

PIPELINE = "StandardScaler -> PCA"


def checked(text: str) -> CheckResult:
    return check(Source("a.space", text), CheckSettings({}))


def test_names_in_backticks_go_where_words_go() -> None:
    found = checked(STRANGE)
    assert not found.diagnostics
    assert found.space is not None
    keys = [each.key for each in found.space.hyperparameters]
    assert keys == ["e.x", "e.x:case", "e.x:case#2", "e.x (2)", "e.a'b\"{c}%s|d\\e__f", "e.x:__choice__.C", "e.in"]
    assert format_text(STRANGE) == STRANGE.lstrip()


def test_a_word_in_backticks_is_the_word() -> None:
    text = "stage e = SVC { kernel : {rbf, poly}, degree : int[2, 5] when kernel == poly }\n"
    ticked = "stage e = SVC { `kernel` : {rbf, poly}, `degree` : int[2, 5] when `kernel` == poly }\n"
    assert checked(text).space == checked(ticked).space
    twice = checked("stage e = SVC { C : float[1, 2], `C` : float[1, 3] }")
    assert [each.code for each in twice.diagnostics] == ["SL211"]


def test_what_is_no_word_is_never_a_value() -> None:
    text = 'abstract net { `a-b` : {"a-b", c}, k : {d, "a-b"}, forbid k == `a-b` }\nstage e = net | SVC'
    space = checked(text).space
    assert space is not None
    (rule,) = space.constraints
    assert rule.expression == Compare("==", Reference("e.net.k"), Reference("e.net.a-b"))


def test_the_text_of_a_space_has_them_again() -> None:
    space = checked(STRANGE).space
    assert space is not None
    again = checked(space_to_text(space)).space
    assert again is not None
    assert [(node.key, node.default) for node in again.hyperparameters] == [
        (node.key, node.default) for node in space.hyperparameters
    ]
    assert len(again.constraints) == 3
    assert space_from_json(space_to_json(space)) == space


@pytest.mark.parametrize("target", TARGETS.names())
def test_every_target_gives_them_back(target: str) -> None:
    space = api.parse(STRANGE)
    compiled = space.compile(target)
    compiled.form.to_text()
    compiled.form.to_dot()
    for configuration in space.sample(10, seed=1):
        encoded = compiled.encode(configuration)
        assert compiled.accepts(encoded)
        assert compiled.decode(encoded) == configuration


def test_what_is_shown_of_conditions_and_constraints_can_be_read() -> None:
    """Names alone are the keys of configurations; in expressions they stand as texts have them."""
    space = api.parse(STRANGE)
    form = space.compile("admm").form.to_json()
    constraints = [each["text"] for each in form["constraints"] if each["kind"] == "hyperparameters"]
    conditions = [each["condition"] for part in ("theta_c", "theta_d") for each in form[part] if each.get("condition")]
    nothing = replace(space.checked, constraints=())
    rules = [each.first for each in list_differing_facts(space.checked, nothing) if each.aspect is FactKind.CONSTRAINT]
    assert (len(constraints), len(conditions), len(rules)) == (3, 3, 3)
    for line in (*constraints, *map(str, rules), *(f"forbid {each}" for each in conditions)):
        assert not [each for each in checked(STRANGE + line).diagnostics if each.code < "SL5"], line


@pytest.mark.parametrize("name", ["", "a.b", "a`b", " a", "a\nb"])
def test_documents_name_what_a_text_can_name(name: str) -> None:
    domain = {"set": [1, 2]}
    node = {"hyperparameter": name, "address": "e.A.x", "domain": domain, "default": 1}
    with pytest.raises(DefinitionError, match=r"name|character|space"):
        space_from_json({"name": "a", "root": {"operator": "A", "parameters": [node]}})


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
