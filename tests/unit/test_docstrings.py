"""The examples in the docstrings of what is public: every function has one, and it says what is printed."""

import doctest
from typing import Any

import pytest

import spacelang as sl

WITHOUT = {"search_table": "it takes a table, which takes long to make: README has one"}
"""Functions without an example, and why."""


def examples_of(name: str) -> list[doctest.DocTest]:
    found: Any = getattr(sl, name)
    return [test for test in doctest.DocTestFinder(recurse=isinstance(found, type)).find(found, name) if test.examples]


@pytest.mark.parametrize("name", [name for name in sl.__all__ if not isinstance(getattr(sl, name), type)])
def test_every_function_has_an_example(name: str) -> None:
    assert bool(examples_of(name)) != (name in WITHOUT)


@pytest.mark.parametrize("name", [name for name in sl.__all__ if examples_of(name)])
def test_the_examples_are_true(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples_of(name):
        told: list[str] = []
        assert not runner.run(test, out=told.append).failed, "".join(told)
