import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.value import are_same_value, from_json, identity_key, to_json

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


@given(VALUES)
def test_values_survive_json(value: object) -> None:
    back = from_json(json.loads(json.dumps(to_json(value))))  # type: ignore[arg-type]
    assert back == value
    assert repr(back) == repr(value)


@given(VALUES, VALUES)
def test_identity_is_shared_exactly_by_the_same_values(left: object, right: object) -> None:
    for a, b in ((left, right), (left, left)):
        assert (identity_key(a) == identity_key(b)) is are_same_value(a, b)  # type: ignore[arg-type]


def test_objects_are_no_values() -> None:
    with pytest.raises(TypeError):
        from_json({"a": 1})
    with pytest.raises(TypeError):
        from_json([{}])


def test_configurations_are_equal_when_their_json_is() -> None:
    first, second = Configuration({"b": 1, "a": (1, "x")}), Configuration({"a": (1, "x"), "b": 1})
    assert first == second
    assert hash(first) == hash(second)
    assert list(first) == ["a", "b"]
    assert first.identity == '{"a": [1, "x"], "b": 1}'
    assert Configuration.from_json(first.identity) == first
    assert first.to_dict() == {"a": [1, "x"], "b": 1}
    assert Configuration({"a": 1}) != Configuration({"a": True})
    assert Configuration({"a": 1}) != Configuration({"a": 1.0})
    assert Configuration({"a": 1}) != {"a": 1}
    assert len({first, second, Configuration({})}) == 2


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_configurations_survive_json(values: dict[str, object]) -> None:
    configuration = Configuration(values)  # type: ignore[arg-type]
    assert Configuration.from_json(configuration.identity) == configuration
    assert Configuration.from_json(json.dumps(configuration.to_dict())) == configuration


@pytest.mark.parametrize("document", ["[]", "1", '"x"', "null"])
def test_another_document_is_no_configuration(document: str) -> None:
    with pytest.raises(TypeError):
        Configuration.from_json(document)


def test_what_is_not_json_is_no_configuration() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        Configuration.from_json("{")
