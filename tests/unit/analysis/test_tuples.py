"""Tuples of variable length: counts, keys, values of parameters, and what messages and other commands say of them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from sklearn.neural_network import MLPClassifier

import spacelang as sl
from spacelang.api.initial_configurations import (
    InitialConfigurationError,
    read_initial_configurations,
    validate_initial_configurations,
)
from spacelang.ir.domain import Categorical, Grid
from spacelang.ir.space import Operator, TupleParameter, operators
from spacelang.reductions.space_restriction import restrict_space
from spacelang.report.pipeline_module import builder_code
from spacelang.serialization.difference import list_differing_facts
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.counting import Structures

MLP = """stage estimator = MLPClassifier {
  hidden_layer_sizes : tuple[1, 3] of int[16, 512] log = (100,)
}
"""
UNION = """abstract Net { units : {none, auto} | tuple[0, 2] of int[1, 3] = auto, depth : int[1, 5] when units != none }
stage estimator = Net
"""


def tuple_of(space: sl.Space) -> TupleParameter:
    """Return the only tuple parameter of a space."""
    (found,) = (each for operator in operators(space.checked.root) for each in operator.tuples)
    return found


def test_layers_of_a_network_are_one_structure_and_each_length_is_drawn_as_often() -> None:
    space = sl.parse(MLP)
    assert (space.structures, space.configurations) == (1, 497 + 497**2 + 497**3)
    lengths = Counter(each["estimator.hidden_layer_sizes.length"] for each in space.sample(900, seed=0))
    assert all(220 <= lengths[length] <= 380 for length in (1, 2, 3))


def test_an_element_has_the_key_that_expressions_name_it_by() -> None:
    space = sl.parse(MLP.replace("}", "  require hidden_layer_sizes[2] < hidden_layer_sizes[1]\n}"))
    assert dict(space.default()) == {
        "estimator": "MLPClassifier",
        "estimator.hidden_layer_sizes.length": 1,
        "estimator.hidden_layer_sizes[1]": 100,
    }
    (rule,) = space.checked.constraints
    assert rule.scope == tuple(f"estimator.MLPClassifier.hidden_layer_sizes[{place}]" for place in (2, 1))
    other = sl.parse(MLP + "require estimator.MLPClassifier.hidden_layer_sizes[2] < estimator.hidden_layer_sizes[1]\n")
    assert other.checked.constraints[0].expression == rule.expression


def test_the_operator_gets_a_tuple() -> None:
    given = {"estimator": "MLPClassifier", "estimator.hidden_layer_sizes.length": 2}
    given |= {f"estimator.hidden_layer_sizes[{place}]": 2.0**place * 16 for place in (1, 2)}
    (_, network), *_ = sl.parse(MLP).build(sl.Configuration(given)).steps
    assert isinstance(network, MLPClassifier)
    assert network.hidden_layer_sizes == (32, 64)
    assert all(type(each) is int for each in network.hidden_layer_sizes)


def test_a_generated_module_makes_the_same_tuples() -> None:
    text = MLP.replace("= (100,)", "| {5} = 5 when solver == adam").replace("{\n", "{\n  solver : {adam, sgd}\n", 1)
    space = sl.parse(text)
    code = builder_code(space.checked)
    names: dict[str, object] = {}
    exec(f"{code.imports}\n{code.functions}", names)
    for each in space.sample(30, seed=1):
        built = names["build"](dict(each))  # type: ignore[operator]
        assert str(built) == str(space.build(each))


def test_a_union_has_a_key_for_its_other_values() -> None:
    space = sl.parse(UNION)
    assert space.configurations == 1 + 5 * (1 + 1 + 3 + 9)
    found = Counter(json.dumps(each["estimator.units"]) for each in space.sample(600, seed=2))
    # The set and the tuple are equally likely parts.
    assert 230 <= found['"tuple"'] <= 370
    assert {"estimator": "Net", "estimator.units": None} in space
    taken = {"estimator": "Net", "estimator.units": "tuple", "estimator.units.length": 0, "estimator.depth": 1}
    assert taken in space
    assert {**taken, "estimator.units[1]": 1} not in space
    assert {**taken, "estimator.units.length": 1, "estimator.units[1]": 3} in space


@pytest.mark.parametrize("name", ["tuple", "of", "length"])
def test_the_words_are_names_too(name: str) -> None:
    text = f"abstract A {{ {name} : tuple[1, 2] of bool, x : bool when {name}[1] and length({name}) == 2 }}\n"
    space = sl.parse(f"{text}stage e = A\n").checked
    assert {each.name for each in space.tuples.values()} == {name}


@pytest.mark.parametrize(
    ("default", "length", "elements"),
    [
        (" = (5, 2)", 2, (5, 2, 2)),
        (" = (4,)", 1, (4, 4, 4)),
        ("", 2, (3, 3, 3)),
    ],
)
def test_elements_beyond_the_default_repeat_its_last_one(default: str, length: int, elements: tuple[int, ...]) -> None:
    space = sl.parse(f"abstract A {{ t : tuple[1, 3] of int[1, 5]{default} }}\nstage e = A\n")
    nodes = [space.checked.variables[each].hyperparameter for each in tuple_of(space).members]
    assert [node.default for node in nodes] == [length, *elements]


def test_the_default_of_the_library_is_used() -> None:
    space = sl.parse(MLP.replace(" = (100,)", ""))
    assert space.default()["estimator.hidden_layer_sizes[1]"] == 100


def test_elements_may_depend_on_the_data() -> None:
    text = "abstract A { t : tuple[1, 2] of int[1, min(100, n_features)] = (50, 2) }\nstage e = A\n"
    assert sl.parse(text).bind(n_features=7).default()["e.t[1]"] == 7
    assert sl.parse(text).default()["e.t[1]"] == 50


def test_a_condition_holds_for_the_whole_tuple() -> None:
    text = "abstract A { b : bool, t : tuple[1, 2] of int[1, 2] when b, u : {x} | tuple[1, 1] of bool when not b }"
    space = sl.parse(f"{text}\nstage e = A\n")
    assert space.configurations == (2 + 4) + (1 + 2)


def test_a_whole_tuple_in_a_configuration_is_explained() -> None:
    space = sl.parse(MLP)
    key, mlp = "estimator.hidden_layer_sizes", {"estimator": "MLPClassifier"}
    for given in ({key: 100}, {key: (100,), f"{key}.length": 2}):  # no tuple, and one that is given twice
        reasons = space.nearest(mlp | given).reasons
        assert reasons[-1].reason.startswith(f"`{key}` is a tuple: give a list, or the length as `{key}.length`")
    two = sl.parse("stage e = GaussianNB | MLPClassifier { hidden_layer_sizes : tuple[1, 2] of int[1, 9] = (9,) }")
    excluded = two.exclusion({"e": "GaussianNB", "e.hidden_layer_sizes": [3]})
    assert excluded is not None
    assert excluded.reason.endswith("is not active here: it belongs to the alternative `MLPClassifier`")
    exclusion = sl.parse(UNION).exclusion({"estimator": "Net", "estimator.units": 3})
    assert exclusion is not None
    assert exclusion.reason == "`3` is not a value of `estimator.units`: {none, auto} | tuple[0, 2] of int[1, 3]"


def test_a_difference_is_about_the_tuple() -> None:
    first, second = (sl.parse(text).checked for text in (MLP, MLP.replace("[1, 3]", "[1, 2]")))
    (found,) = list_differing_facts(first, second)
    assert found.path == "estimator.MLPClassifier.hidden_layer_sizes"
    assert (found.first, found.second) == tuple(f"tuple[1, {most}] of int[16, 512] log" for most in (3, 2))


def test_a_notebook_shows_the_tuple() -> None:
    assert "hidden_layer_sizes : <code>tuple[1, 3] of int[16, 512] log = (100,)</code>" in sl.parse(MLP)._repr_html_()


def test_smaller_domains_of_single_elements_are_written_as_constraints() -> None:
    space = sl.parse(MLP).checked
    address = "estimator.MLPClassifier.hidden_layer_sizes"
    smaller = {f"{address}[2]": Grid(20, 40, log=True), f"{address}.length": Grid(1, 2)}
    restricted = restrict_space(space, {}, smaller)
    assert restricted is not None
    text = space_to_text(restricted)
    assert "tuple[1, 2] of int[16, 512] log = (100,)" in text
    assert f"require {address}[2] >= 20 and {address}[2] <= 40" in text
    assert sl.parse(text).configurations == Structures(restricted).configuration_count == 497 + 497 * 21


def test_other_values_remain_where_a_restriction_excludes_the_tuples() -> None:
    space = sl.parse(UNION).checked
    restricted = restrict_space(space, {}, {"estimator.Net.units": Categorical((None, "auto"))})
    assert restricted is not None
    assert "units : {none, auto} = auto" in space_to_text(restricted)
    (net,) = (each for each in operators(restricted.root) if isinstance(each, Operator))
    assert [each.name for each in net.children] == ["units", "depth"]


def test_initial_configurations_may_have_whole_tuples(tmp_path: Path) -> None:
    space = sl.parse("stage e = MLPClassifier { hidden_layer_sizes : tuple[1, 2] of int[1, 9] = (9,) }")
    file = tmp_path / "first.json"
    for value, wrong in (
        ("[8, 4]", ""),
        ("[8, 40]", "e.hidden_layer_sizes[2]"),
        ("[8, 4, 2]", "hidden_layer_sizes.length"),
    ):
        file.write_text(f'{{"e": "MLPClassifier", "e.hidden_layer_sizes": {value}}}')
        if not wrong:
            (found,) = validate_initial_configurations(space, read_initial_configurations(file))
            assert (found["e.hidden_layer_sizes.length"], found["e.hidden_layer_sizes[2]"]) == (2, 4)
            continue
        with pytest.raises(InitialConfigurationError) as caught:
            validate_initial_configurations(space, read_initial_configurations(file))
        (diagnostic,) = caught.value.diagnostics
        assert wrong in diagnostic.message
        assert diagnostic.primary.text == value
