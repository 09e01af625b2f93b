"""Names of parameters that are no words, from the text to all targets and back."""

from dataclasses import replace

import pytest

from spacelang import api
from spacelang.analysis import CheckContext, CheckResult, check
from spacelang.ir.expr import Compare, Reference
from spacelang.serialization.definition import from_json, to_json
from spacelang.serialization.difference import Aspect, differences
from spacelang.serialization.json_fields import DefinitionError
from spacelang.serialization.space_text import as_text
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


def checked(text: str) -> CheckResult:
    return check(Source("a.space", text), CheckContext({}))


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
    again = checked(as_text(space)).space
    assert again is not None
    assert [(node.key, node.default) for node in again.hyperparameters] == [
        (node.key, node.default) for node in space.hyperparameters
    ]
    assert len(again.constraints) == 3
    assert from_json(to_json(space)) == space


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
    rules = [each.first for each in differences(space.checked, nothing) if each.aspect is Aspect.CONSTRAINT]
    assert (len(constraints), len(conditions), len(rules)) == (3, 3, 3)
    for line in (*constraints, *map(str, rules), *(f"forbid {each}" for each in conditions)):
        assert not [each for each in checked(STRANGE + line).diagnostics if each.code < "SL5"], line


@pytest.mark.parametrize("name", ["", "a.b", "a`b", " a", "a\nb"])
def test_documents_name_what_a_text_can_name(name: str) -> None:
    domain = {"set": [1, 2]}
    node = {"hyperparameter": name, "address": "e.A.x", "domain": domain, "default": 1}
    with pytest.raises(DefinitionError, match=r"name|character|space"):
        from_json({"name": "a", "root": {"operator": "A", "parameters": [node]}})
