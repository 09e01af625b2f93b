"""Structures mean what the reference says: the same decisions, names and configurations, and exactly so many."""

import json

from hypothesis import given, settings

from spacelang.analysis import check
from spacelang.diagnostics.diagnostic import Severity
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import exclusion
from spacelang.syntax.parser import parse
from spacelang.syntax.printer import format_file
from spacelang.text import Source

from . import brute
from .settings import LAW
from .structures import Drawn, drawings


@settings(LAW)
@given(drawings())
def test_a_structure_means_what_it_says(drawn: Drawn) -> None:
    found = check(Source("drawn.space", drawn.text))
    assert not [d for d in found.diagnostics if d.severity is Severity.ERROR], (drawn.text, found.diagnostics)
    assert found.space is not None
    assert found.structures is not None
    members = {json.dumps(member, sort_keys=True) for member in drawn.members}
    assert brute.configurations(found.space) == members, drawn.text
    assert found.structures.configurations == len(members)
    assert found.structures.count == drawn.structures
    assert all(exclusion(found.space, Configuration(member)) is None for member in drawn.members)


@settings(LAW)
@given(drawings())
def test_a_formatted_structure_means_the_same(drawn: Drawn) -> None:
    source = Source("drawn.space", drawn.text)
    formatted = format_file(parse(source).file)
    one, other = check(source).space, check(Source("drawn.space", formatted)).space
    assert one is not None
    assert one == other
