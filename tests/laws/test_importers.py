"""Imported spaces have exactly the members that ConfigSpace gives the file, and no text ends in a traceback."""

import json

from hypothesis import assume, example, given
from hypothesis import strategies as st

from spacelang import Configuration, parse
from spacelang.diagnostics.diagnostic import Severity
from spacelang.importers._import_steps import import_space
from spacelang.text import Source
from tests.laws import brute, foreign
from tests.laws.settings import LAW


def check_equal(source: Source, judge: "foreign.ConfigurationSpace") -> None:
    imported, diagnostics = import_space(source)
    assert imported is not None, [diagnostic.message for diagnostic in diagnostics]
    space = parse(imported.text)
    ours = [Configuration.from_json(text) for text in brute.configurations(space.checked)]
    theirs = foreign.members(judge)
    assert foreign.frozen(map(imported.encode, ours)) == foreign.frozen(theirs)
    for configuration in ours:
        assert imported.decode(imported.encode(configuration)) == configuration
    assert {imported.decode(values) for values in theirs} == set(ours)


@LAW
@given(foreign.documents())
def test_json_keeps_its_members(document: foreign.Document) -> None:
    judge = foreign.space_of(document)
    assume(judge is not None)
    assert judge is not None
    check_equal(Source("drawn.json", json.dumps(document)), judge)


@LAW
@given(foreign.documents(words_only=True), st.sampled_from(("old", "new")))
def test_pcs_keeps_its_members(document: foreign.Document, style: str) -> None:
    space = foreign.space_of(document)
    text = None if space is None else foreign.written(space, style)
    judge = None if text is None else foreign.read_pcs(text, style)
    assume(judge is not None)
    assert judge is not None
    assert text is not None
    check_equal(Source("drawn.pcs", text), judge)


# ---- any text at all

LINES = (
    "a categorical {x, y} [x]", "a {x, y} [x]", "b integer [1, 3] [2]", "b [1, 3] [2]i", "c real [0.1, 10] [1] log",
    "c [0.1, 10] [1]l", "d ordinal {s, m} [s]", "b | a == x", "b | a in {x, y} && d != s || c > 1", "{a=x, b=1}",
    "{a=z}", "# a comment", "Conditionals:", "e:__choice__ categorical {p, q} [p]", "e:p:f real [0, 1] [0]",
    "e:p:f | e:__choice__ == p",
)  # fmt: skip


def check_told(source: Source) -> None:
    imported, diagnostics = import_space(source)
    for diagnostic in diagnostics:
        assert diagnostic.message
        assert 0 <= diagnostic.primary.start <= diagnostic.primary.end <= len(source.text)
    assert (imported is None) == any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    if imported is not None:
        parse(imported.text)


@LAW
@given(st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=8).map("\n".join))
@example("{" * 70)
@example("a [1e999, 2] [1]")
@example("a [" + "9" * 5_000 + ", 2] [1]i")
@example("a {\ud800} [\ud800]")
def test_any_text_as_pcs(text: str) -> None:
    check_told(Source("any.pcs", text))


@LAW
@given(st.text(max_size=60))
@example("[" * 100_000)
@example('{"hyperparameters": [' + "{" * 70)
@example('{"hyperparameters": [{"type": "constant", "name": "a", "value": ' + "9" * 5_000 + "}]}")
@example('{"hyperparameters": [{"type": "constant", "name": "a", "value": "\\ud800"}]}')
def test_any_text_as_json(text: str) -> None:
    check_told(Source("any.json", text))


@LAW
@given(foreign.documents(), st.data())
def test_any_document_as_json(document: foreign.Document, data: st.DataObject) -> None:
    """A document with one value replaced by something else."""
    check_told(Source("any.json", json.dumps(changed(document, data))))


def changed(value: object, data: st.DataObject) -> object:
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 9)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = data.draw(st.sampled_from(keys))
        copy = value.copy()
        copy[key] = changed(value[key], data)  # type: ignore[index]
        return copy
    scalars = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["AND", "a"])
    )
    return data.draw(
        scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
    )
