"""What an editor may offer makes the problem go away by itself and brings no new one."""

from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

from spacelang.analysis import check
from spacelang.diagnostics.diagnostic import Diagnostic, Severity
from spacelang.diagnostics.json_output import possible_replacements
from spacelang.text import Source
from tests.errors.test_errors import NAMES, found, source_of, surroundings_of

WITH_FIXES = {
    "SL005", "SL107_keyword", "SL103", "SL104", "SL201", "SL201_bool", "SL202", "SL203", "SL204", "SL205", "SL206",
    "SL207", "SL212", "SL301", "SL302", "SL303", "SL304", "SL306", "SL308", "SL401_value", "SL403", "SL405",
    "SL502", "SL502_condition", "SL503", "SL504", "SL508",
}  # fmt: skip
"""Files whose problem has a fix; others may have one."""


@cache
def offers(name: str) -> list[tuple[Source, Diagnostic, str]]:
    """Every fix of a file: the source, the problem, and the text after the fix."""
    source = source_of(name)
    if isinstance(source, Diagnostic) or not source.name.endswith(".space"):
        return []
    return [
        (source, diagnostic, source.text[: fix.span.start] + fix.text + source.text[fix.span.end :])
        for diagnostic in found(name)
        for fix in possible_replacements(diagnostic)
        if fix.span.source == source and diagnostic.code == name.partition("_")[0]
    ]


def problems(found: Iterable[Diagnostic]) -> Counter[str]:
    return Counter(each.code for each in found)


def errors(found: Iterable[Diagnostic]) -> Counter[str]:
    return problems(each for each in found if each.severity is Severity.ERROR)


@pytest.mark.parametrize("name", NAMES)
def test_a_fix_removes_its_problem_and_adds_none(name: str) -> None:
    for source, diagnostic, text in offers(name):
        before = check(source, surroundings_of(source)).diagnostics
        after = check(Source(source.name, text, source.origin), surroundings_of(source)).diagnostics
        assert problems(after)[diagnostic.code] < problems(before)[diagnostic.code], text
        assert errors(after) <= errors(before), text


def test_many_problems_have_a_fix() -> None:
    assert {name for name in NAMES if not offers(name)}.isdisjoint(WITH_FIXES)


def test_a_file_that_cannot_be_read_has_none() -> None:
    for name in ("SL001", "SL002"):
        assert [possible_replacements(diagnostic) for diagnostic in found(name)] == [()]
