"""Every kind of diagnostic has a code of its own and an explanation that can be read."""

import re
from itertools import pairwise

import pytest

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.registry import KINDS, WIDTH, explain_code


def kinds(kind: type[Diagnostic] = Diagnostic) -> set[type[Diagnostic]]:
    return {below for child in kind.__subclasses__() for below in {child} | kinds(child)}


def test_every_class_of_the_package_is_there() -> None:
    assert set(KINDS.values()) == {kind for kind in kinds() if kind.__module__.startswith("spacelang.")}


def test_codes_are_in_order_and_well_formed() -> None:
    assert list(KINDS) == sorted(KINDS)
    assert all(re.fullmatch(r"SL\d{3}", code) and kind.code == code for code, kind in KINDS.items())


@pytest.mark.parametrize("code", KINDS)
def test_explanation_can_be_read(code: str) -> None:
    text = explain_code(code)
    assert text[0].isupper() or text[0] == "`"
    assert text.endswith(".") or text.split("\n")[-1].startswith("    ")
    assert all(len(line) <= WIDTH for line in text.split("\n"))
    assert "primary:" not in text, "a docstring that dataclass made, not a person"


@pytest.mark.parametrize("code", KINDS)
def test_explanation_says_more_than_the_message(code: str) -> None:
    """What it means and, in another sentence or an example, what to do or how it comes about."""
    text = explain_code(code)
    sentences = re.findall(r"[.:](?=\s|$)", text)
    assert len(sentences) >= 2 or "\n    " in text


@pytest.mark.parametrize("code", KINDS)
def test_paragraphs_are_wrapped_anew(code: str) -> None:
    for paragraph in explain_code(code).split("\n\n"):
        lines = paragraph.split("\n")
        for line, following in pairwise(lines):
            assert line.startswith(" ") or len(line) + 1 + len(following.split()[0]) > WIDTH


def test_examples_keep_their_lines() -> None:
    assert "\n\n    stage estimator = LogisticRegression | GaussianNB" in explain_code("SL004")


def test_unknown_code() -> None:
    with pytest.raises(KeyError):
        explain_code("SL000")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_texts_have_the_style_of_the_house(kind: type[Diagnostic]) -> None:
    for text in (kind.MESSAGE, kind.LABEL, *kind.HELPS):
        assert not text.endswith(".")
        assert not text[:1].isupper()
        assert "illegal" not in text
        assert text.count("`") % 2 == 0
