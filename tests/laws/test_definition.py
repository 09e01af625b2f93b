"""The definition of a space in JSON is the space: written and read again it is the same, and nothing else is read."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from spacelang.analysis import check
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.files import resource_folder
from spacelang.ir.space import Branch, Choice, Hyperparameter, Space
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.serialization.definition import VERSION, space_from_json, space_to_json
from spacelang.serialization.json_documents import DefinitionError, decision_keys_in_definition
from spacelang.solver.constraint_network import TooManyConnectedVariablesError, UndecidableError
from spacelang.solver.counting import Structures
from spacelang.syntax.sources import bundled_names, read_source
from spacelang.text import Source

from .settings import EXAMPLES, LAW
from .spaces import finite_spaces, general_spaces
from .test_whole import checked
from .whole import Drawn, drawings

SCHEMA = json.loads((resource_folder("grammars") / "compiled.schema.json").read_text(encoding="utf-8"))
DEFINITION = Draft202012Validator({"$ref": "#/$defs/definition", "$defs": SCHEMA["$defs"]})
WHOLE = settings(LAW, max_examples=EXAMPLES // 2)


def there_and_back(space: Space) -> Space:
    text = json.dumps(space_to_json(space), allow_nan=False)
    DEFINITION.validate(json.loads(text))
    keys = {variable.key for variable in space.variables.values() if isinstance(variable.node, Choice)}
    assert sorted(decision_keys_in_definition(json.dumps(json.loads(text), sort_keys=True))) == sorted(keys)
    return space_from_json(json.loads(text))


def assert_same(space: Space, again: Space) -> None:
    assert again == space
    # Equality takes 1, 1.0 and true for one value.
    assert repr(again) == repr(space)
    assert [*map(place, spans(again))] == [*map(place, spans(space))]
    assert space_to_json(again) == space_to_json(space)


def spans(space: Space) -> Iterator[Any]:
    for variable in space.variables.values():
        yield variable.node.span
        if isinstance(variable.node, Hyperparameter):
            yield None if variable.node.condition is None else variable.node.condition.span
        else:
            yield from (branch.span for branch in variable.node.branches)
    yield from (constraint.span for constraint in space.constraints)


def place(span: Any) -> object:
    return None if span is None else (span.source.name, span.line, span.source.line_text(span.line))


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()))
def test_a_random_space_comes_back(space: Space) -> None:
    assert_same(space, there_and_back(space))


@settings(WHOLE)
@given(drawings())
def test_the_space_of_any_text_comes_back(drawn: Drawn) -> None:
    space = checked(drawn).space
    if space is not None:
        again = there_and_back(space)
        assert_same(space, again)
        assert [each.span.text for each in again.constraints] == [each.span.text for each in space.constraints]


@settings(WHOLE)
@given(drawings())
def test_a_compiled_space_is_checked_as_its_text_was(drawn: Drawn) -> None:
    found = checked(drawn)
    if found.space is None or found.structures is None:
        return
    document = {
        "target": "any",
        "version": VERSION,
        "bound": dict(found.symbols),
        "definition": space_to_json(found.space),
    }
    again = check(Source("drawn.json", json.dumps(document)))
    codes = [problem.code for problem in again.diagnostics]
    assert codes == (["SL020"] if None in found.symbols.values() else []), (drawn, again.diagnostics)
    assert again.space == found.space
    assert again.structures is not None
    assert again.structures.count == found.structures.count
    assert again.structures.configuration_count == found.structures.configuration_count


@pytest.mark.parametrize("name", bundled_names())
def test_a_bundled_space_comes_back(name: str) -> None:
    source = read_source(name)
    assert isinstance(source, Source)
    space = check(source).space
    assert space is not None
    assert_same(space, there_and_back(space))


@settings(LAW, max_examples=3 * EXAMPLES)
@given(finite_spaces(), st.data())
def test_what_is_no_definition_is_refused_with_its_path(space: Space, data: st.DataObject) -> None:
    refuses_or_reads(space, data)


@settings(WHOLE)
@given(drawings(), st.data())
def test_what_is_no_definition_of_a_text_is_refused_with_its_path(drawn: Drawn, data: st.DataObject) -> None:
    space = checked(drawn).space
    if space is not None:
        refuses_or_reads(space, data)


def refuses_or_reads(space: Space, data: st.DataObject) -> None:
    """Whatever is changed: it is a space that can be used, or refused; so it is by the schema, but for BEYOND."""
    document = json.loads(json.dumps(space_to_json(space)))
    for _ in range(data.draw(st.integers(1, 2))):
        document = spoilt(document, data)
    again = read(document)
    if isinstance(again, DefinitionError):
        problems = (again, *again.others)
        assert all(each.path.startswith("definition") and each.problem for each in problems)
        assert not DEFINITION.is_valid(document) or all(BEYOND.search(each.problem) for each in problems), problems
    else:
        assert not [error.message for error in DEFINITION.iter_errors(document)]
        assert_same(again, there_and_back(again))
        use(again)


@settings(LAW, max_examples=3 * EXAMPLES)
@given(st.sampled_from(("blds_table1", "admm_table_a3", "boasf_models", "../examples/churn.space")), st.data())
def test_checking_a_spoilt_document_raises_nothing(name: str, data: st.DataObject) -> None:
    path = resource_folder("spaces") / name
    source = read_source(str(path) if path.suffix else name)
    assert isinstance(source, Source)
    space = check(source).space
    assert space is not None
    document: Any = {
        "target": "any",
        "version": VERSION,
        "bound": {"n_features": 9},
        "definition": space_to_json(space),
    }
    document = json.loads(json.dumps(document))
    for _ in range(data.draw(st.integers(1, 3))):
        document = spoilt(document, data)
    found = check(Source("spoilt.json", json.dumps(document)))
    assert render_diagnostics(found.diagnostics, color=False) or found.space is not None
    if found.structures is not None:
        assert found.structures.count
        Sampler(found.structures).batch(2, np.random.default_rng(0))


def read(document: object) -> Space | DefinitionError:
    try:
        return space_from_json(document)
    except DefinitionError as error:
        return error


def use(space: Space) -> None:
    try:
        structures = Structures(space)
        if structures.count:
            Sampler(structures).batch(3, np.random.default_rng(0))
    except (UndecidableError, TooManyConnectedVariablesError, SamplingFailedError):
        return


BEYOND = re.compile(
    r"^is `.*`, expected a word$|^is `.*`, (outside of|which) |^is a second (alternative|parameter) "
    r"|^contains |^is outside of |^refers to |^creates a cycle |^is a duplicate value|^is given together "
    r"|^has no (members|`scorer`|`column`)|^is logarithmic |^is a (line of|bound that)|^is not a finite number"
    r"|^is not (a line number|a valid regular expression|an order )|^is more than one line|^has more than .* lines"
    r"|^is too large for a float|^has \d+ members for |which only `disparity` takes$|^is nested "
    r"|orders of steps in total$|^names |^has the (lengths|key) |^has elements whose ",
    re.DOTALL,
)
"""Problems that no schema can tell."""

SPOILING = (None, True, 0, 1, -1, 2.5, 1e300, 2**70, 3.0, "", "none", "red", "p", "scaler", [], [1, 2], [[1]], {})
KEYS = ("line", "file", "first", "key", "address", "default", "weight", "named", "log", "open", "step", "is", "and")

STRANGE = ("GaussianNB", "PCA", "SVC", "abstract", "os", "estimator", "C", "n_jobs", "columns", "none")


def spoilt(document: Any, data: st.DataObject) -> Any:
    """The document with one thing in it changed, moved, doubled, left out or added."""
    document = copy.deepcopy(document)
    places = [*holders(document)]
    holder = data.draw(st.sampled_from(places))
    if isinstance(holder, dict) and data.draw(st.integers(0, 3)) == 0:
        holder[data.draw(st.sampled_from(KEYS))] = data.draw(st.sampled_from(SPOILING))
        return document
    keys = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
    if not keys:
        return document
    key = data.draw(st.sampled_from(keys))
    match data.draw(st.integers(0, 4)):
        case 0:
            del holder[key]
        case 1:
            holder[key] = data.draw(st.sampled_from((*SPOILING, *STRANGE)))
        case 2:
            holder[key] = copy.deepcopy(data.draw(st.sampled_from(places)))
        case 3 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case _:
            other = data.draw(st.sampled_from(keys))
            holder[key], holder[other] = holder[other], holder[key]
    return document


def holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from holders(item)


def test_the_law_sees_what_is_lost() -> None:
    """A branch weight that a writer forgets."""
    source = Source("w.space", "stage estimator = GaussianNB | LogisticRegression @weight(3)\n")
    space = check(source).space
    assert space is not None
    document: Any = space_to_json(space)
    (branch,) = [each for each in holders(document) if isinstance(each, dict) and "weight" in each]
    del branch["weight"]
    assert space_from_json(document) != space
    assert Branch("a", space.root, 3) != Branch("a", space.root)
