"""The lexer for Pygments: found by its name, complete, and in agreement with the grammar for editors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, String

from spacelang.files import resource_folder
from spacelang.syntax.pygments_lexer import SpaceLexer
from spacelang.syntax.sources import bundled_names


@given(st.text(st.sampled_from(' \n"`#@ab1.{}[]=:log stageé'), max_size=60))
def test_the_tokens_of_a_text_are_the_text(text: str) -> None:
    found = [*SpaceLexer().get_tokens_unprocessed(text)]
    assert "".join(value for _, _, value in found) == text
    assert all(text[place : place + len(value)] == value for place, _, value in found)


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_spaces_have_no_unknown_tokens(name: str) -> None:
    text = (resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8")
    kinds = {kind for _, kind, _ in SpaceLexer().get_tokens_unprocessed(text)}
    assert Error not in kinds
    assert {Keyword, Name.Class, Number} <= kinds


def test_words_have_their_kinds() -> None:
    text = 'stage last = SVC { C : float[1e-3, 2] log @prior, k = "a" } # no\n'
    found = {value: kind for _, kind, value in SpaceLexer().get_tokens_unprocessed(text)}
    expected = {"stage": Keyword, "SVC": Name.Class, "C": Name.Attribute, "1e-3": Number, "@prior": Name.Decorator}
    assert expected.items() <= found.items()
    assert found['"a"'] is String.Double
    assert found["# no"] is Comment.Single
