"""Sources and spans."""

from spacelang.diagnostics.diagnostic import sort_without_duplicates
from spacelang.diagnostics.reading import NoPipelineOrStage
from spacelang.text import Source, Span


def test_spans_of_different_files_are_different() -> None:
    one, other = Source("a.space", "stage"), Source("b.space", "stage")
    assert Span(one, 0, 5) == Span(Source("a.space", "stage"), 0, 5)
    assert Span(one, 0, 5) != Span(other, 0, 5)
    assert len({Span(one, 0, 5), Span(other, 0, 5)}) == 2


def test_spans_are_in_the_order_of_files_and_positions() -> None:
    one, other = Source("a.space", "x" * 9), Source("b.space", "x" * 9)
    spans = [Span(other, 0, 1), Span(one, 4, 5), Span(one, 0, 9), Span(one, 0, 1)]
    assert sorted(spans) == [Span(one, 0, 1), Span(one, 0, 9), Span(one, 4, 5), Span(other, 0, 1)]


def test_one_problem_in_two_files_is_two_problems() -> None:
    files = [Source("a.space", ""), Source("b.space", "")]
    assert len(sort_without_duplicates([NoPipelineOrStage(primary=Span(source, 0, 0)) for source in files])) == 2
