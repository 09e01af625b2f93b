"""The documents of all targets are as `grammars/compiled.schema.json` describes them."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from jsonschema import Draft202012Validator
from trying import IS_FULL

from spacelang.analysis import check
from spacelang.api.compilation import CompilationError, compile_with_target, measure_draw_distances
from spacelang.api.schemas import SCHEMAS, format_json
from spacelang.files import resource_folder
from spacelang.ir.space import Space
from spacelang.serialization.definition import VERSION, space_from_json
from spacelang.solver.counting import Structures
from spacelang.syntax.sources import bundled_names, read_source
from spacelang.targets import TARGETS
from spacelang.targets._lowering import compiled_document
from spacelang.testing.small_spaces import SMALL, spaces
from spacelang.text import Source

SCHEMA: Any = json.loads((resource_folder("grammars") / "compiled.schema.json").read_text(encoding="utf-8"))
SOUND = Draft202012Validator(SCHEMA)


def written(name: str, structures: Structures) -> Any:
    """The document of a target as a file has it; None for a space that the target refuses."""
    target = TARGETS.load(name)()
    try:
        form = compile_with_target(name, target, structures)
    except CompilationError:
        return None
    found = compiled_document(name, structures.space, form, asdict(target), {"n_features": None})
    return json.loads(json.dumps(found, allow_nan=False))


def problems(found: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}"[:300] for error in SOUND.iter_errors(found)]


def test_the_schema_is_one_and_of_this_version() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["version"]["const"] == VERSION


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schemas_are_those_of_the_forms(name: str) -> None:
    written = (resource_folder("grammars") / name).read_text(encoding="utf-8")
    assert format_json(SCHEMAS[name](json.loads(written))) + "\n" == written


def test_everything_is_documented_and_nothing_left_over() -> None:
    """Every definition says what it is, and is referred to."""
    text = json.dumps(SCHEMA)
    for name, definition in SCHEMA["$defs"].items():
        assert definition.get("description"), name
        assert f'"#/$defs/{name}"' in text, name


def test_a_document_with_measured_random_draws() -> None:
    structures = Structures(SMALL[0])
    form = compile_with_target("random", TARGETS.load("random")(), structures)
    measured = measure_draw_distances(form, 50)
    assert measured is not None
    found = compiled_document("random", structures.space, form, random_draws=asdict(measured))
    assert not problems(json.loads(json.dumps(found, allow_nan=False)))
    assert found["random_draws"]


@pytest.mark.takes_turns("space")
@pytest.mark.parametrize("name", TARGETS.names())
@pytest.mark.parametrize("space", bundled_names())
def test_documents_of_bundled_spaces(name: str, space: str) -> None:
    source = read_source(space)
    assert isinstance(source, Source)
    structures = check(source).structures
    assert structures is not None
    found = written(name, structures)
    if found is not None:
        assert not problems(found)
        assert space_from_json(found["definition"]) == structures.space


@pytest.mark.parametrize("name", TARGETS.names())
@pytest.mark.parametrize("space", SMALL, ids=lambda space: space.name)
def test_documents_of_small_spaces(name: str, space: Space) -> None:
    found = written(name, Structures(space))
    assert found is None or not problems(found)


@pytest.mark.parametrize("name", TARGETS.names())
@settings(max_examples=20 if IS_FULL else 9, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(space=spaces())
def test_documents_of_random_spaces(name: str, space: Space) -> None:
    structures = Structures(space)
    # What is checked has a configuration: targets need not think of spaces without one.
    assume(structures.count)
    found = written(name, structures)
    assert found is None or not problems(found)


SPOILT: tuple[dict[str, object], ...] = (
    {"version": 2},
    {"target": ""},
    {"report": [{"construct": "decisions", "status": "lost", "line": 1, "message": "it is lost"}]},
    {"bound": {"n_rows": 3}},
    {"definition": {"name": "s"}},
    {"definition": {"name": "s", "root": {"sequence": [], "parallel": []}}},
    {"definition": {"name": "s", "root": {"operator": "A", "fixed": {"a": {}}}}},
    {"layers": [{"stage": "scaler"}]},
    {"leaves": -1},
)


@pytest.mark.parametrize("change", SPOILT, ids=str)
def test_the_schema_can_fail(change: dict[str, object]) -> None:
    found = written("blds", Structures(SMALL[0]))
    assert not problems(found)
    assert problems({**found, **change})
    missing = next(iter(change))
    assert missing == "bound" or problems({key: value for key, value in found.items() if key != missing})
