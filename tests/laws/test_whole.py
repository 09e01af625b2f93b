"""Texts that use every construct mean what they say, and everything that is done with their spaces agrees with that."""

import json
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.analysis import CheckResult, CheckSettings, check, imported_modules
from spacelang.analysis.diagnostic_collector import DataSymbols, DiagnosticCollector
from spacelang.analysis.draft_resolution import resolve_draft
from spacelang.analysis.stages import StageReader
from spacelang.catalog import load_catalogue
from spacelang.catalog.catalogue import FileCatalogues
from spacelang.diagnostics.diagnostic import Severity
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.sampling.neighbours import Neighbourhood
from spacelang.sampling.sampler import Sampler
from spacelang.serialization.difference import FactKind, compare_spaces
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration
from spacelang.solver.numbering import ConfigurationNumbers
from spacelang.syntax.parser import parse
from spacelang.syntax.printer import format_file, format_text
from spacelang.syntax.sources import read_source
from spacelang.targets.blds import DiscrepancyTree
from spacelang.text import Source

from . import brute
from .parts import Joined, Use
from .settings import EXAMPLES
from .settings import LAW as WHOLE
from .test_consistency import CONSTRAINED, unfolded
from .whole import Drawn, drawings

LAW = settings(WHOLE, max_examples=EXAMPLES // 2)
"""Every text is read and listed as a whole, with its files."""


def surroundings(drawn: Drawn) -> CheckSettings:
    return CheckSettings({} if drawn.features is None else {"n_features": drawn.features})


def checked(drawn: Drawn) -> CheckResult:
    """Check the files, of which only the constraints may leave too little."""
    with TemporaryDirectory() as folder:
        source = read_source(str(drawn.save(Path(folder))))
        assert isinstance(source, Source)
        found = check(source, surroundings(drawn))
    errors = {problem.code for problem in found.diagnostics if problem.severity is Severity.ERROR}
    assert errors <= CONSTRAINED, (drawn, found.diagnostics)
    render_diagnostics(found.diagnostics, color=False)
    return found


def resolved(drawn: Drawn) -> Space:
    """The space also where constraints leave nothing of it."""
    report = DiagnosticCollector(DataSymbols(surroundings(drawn).bindings))
    with TemporaryDirectory() as folder:
        source = read_source(str(drawn.save(Path(folder))))
        assert isinstance(source, Source)
        draft = StageReader(
            imported_modules.read_modules(source, report), FileCatalogues(load_catalogue()), report
        ).read()
        space = resolve_draft(Space("law", draft.root), draft, report)
    assert not report.has_errors
    return replace(space, root=unfolded(space.root))


@settings(LAW)
@given(drawings())
def test_a_text_means_what_it_says(drawn: Drawn) -> None:
    found, space, members = checked(drawn), resolved(drawn), drawn.oracle.configurations()
    listed = {json.dumps(json.loads(member), sort_keys=True) for member in brute.configurations(space)}
    assert listed == members.keys(), drawn
    assert brute.structures(space) == set(members.values())
    assert (found.space is None) >= (not members)
    if found.structures is not None:
        assert found.structures.configuration_count == len(members)
        assert found.structures.count == len(set(members.values()))


@settings(LAW)
@given(drawings(), st.data())
def test_members_and_near_misses(drawn: Drawn, data: st.DataObject) -> None:
    space, members = resolved(drawn), drawn.oracle.configurations()
    documents = [json.loads(member) for member in members]
    known = {said(document) for document in documents}
    assert all(first_exclusion(space, Configuration.from_json(member)) is None for member in members)
    pairs = sorted({(k, json.dumps(v)) for document in documents for k, v in document.items()})
    for document in data.draw(st.lists(st.sampled_from(documents), max_size=8)) if documents else ():
        for near in near_misses(data, document, pairs):
            text = json.dumps(near, sort_keys=True)
            assert (first_exclusion(space, Configuration.from_json(text)) is None) == (said(near) in known), (
                drawn,
                text,
            )


def said(document: dict[str, Any]) -> str:
    """Equal for equal configurations: a key may have other domains in other branches, and 1 and 1.0 are one number."""
    return json.dumps({k: float(v) if type(v) is int else v for k, v in document.items()}, sort_keys=True)


def near_misses(data: st.DataObject, document: dict[str, Any], pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """The document with one key dropped, one added or changed to what it is elsewhere, and one made up."""
    if not document:
        return [{"made_up": 1}]
    dropped = data.draw(st.sampled_from(sorted(document)))
    key, value = data.draw(st.sampled_from(pairs))
    return [
        {k: v for k, v in document.items() if k != dropped},
        document | {key: json.loads(value)},
        document | {dropped: data.draw(st.sampled_from((3, None, "other", True, "none")))},
        document | {"made_up": 1},
    ]


@settings(LAW)
@given(drawings(), st.integers(0, 99))
def test_samples_numbers_defaults_and_neighbours_are_members(drawn: Drawn, seed: int) -> None:
    found, members = checked(drawn), drawn.oracle.configurations()
    if found.space is None or found.structures is None:
        return
    space, rng = found.space, np.random.default_rng(seed)
    sampler, numbers = Sampler(found.structures), ConfigurationNumbers(found.structures)
    several = sampler.batch(300, rng).configurations()
    drawn_ones = {as_json(each) for each in several}
    assert drawn_ones <= members.keys(), drawn
    assert as_json(sampler.configuration(rng)) in members
    assert as_json(default_configuration(space)) in members
    assert {as_json(numbers.configuration_at(number)) for number in range(numbers.count)} == members.keys()
    assert all(numbers.configuration_at(numbers.number_of(each)) == each for each in several[:20])
    neighbours = Neighbourhood(found.structures).neighbours_of(several[0], rng)
    assert {as_json(each) for each in neighbours} <= members.keys() - {as_json(several[0])}


def as_json(configuration: Configuration) -> str:
    return json.dumps(dict(configuration), sort_keys=True)


@settings(LAW)
@given(drawings())
def test_enough_samples_reach_every_member(drawn: Drawn) -> None:
    found, members = checked(drawn), drawn.oracle.configurations()
    if found.structures is None or len(members) > 12:
        return
    several = Sampler(found.structures).batch(4_000, np.random.default_rng(0)).configurations()
    assert {as_json(each) for each in several} == members.keys(), drawn


@settings(LAW)
@given(drawings())
def test_the_discrepancy_tree_reaches_exactly_the_structures(drawn: Drawn) -> None:
    found, members = checked(drawn), drawn.oracle.configurations()
    if found.structures is None:
        return
    tree = DiscrepancyTree(found.structures)
    leaves = [frozenset(tree.structure_of(leaf).items()) for leaf in tree.iter_leaves()]
    assert len(leaves) == len(set(leaves)) == tree.leaf_count
    assert set(leaves) == set(members.values())


@settings(LAW)
@given(drawings(files=False))
def test_a_formatted_text_means_the_same(drawn: Drawn) -> None:
    source = Source("drawn.space", drawn.text)
    formatted = format_text(drawn.text)
    assert format_text(formatted) == formatted
    assert parse(Source("drawn.space", formatted)).file == parse(source).file
    assert parse(Source("drawn.space", format_file(parse(source).file))).file == parse(source).file
    one, other = (check(Source("drawn.space", each), surroundings(drawn)) for each in (drawn.text, formatted))
    assert one.space == other.space
    assert sorted(p.code for p in one.diagnostics) == sorted(p.code for p in other.diagnostics)


@settings(LAW)
@given(drawings())
def test_annotations_change_nothing_but_defaults(drawn: Drawn) -> None:
    found = checked(drawn)
    without = re.sub(r" @\w+(\([^)]*\))?", "", drawn.text)
    with TemporaryDirectory() as folder:
        path = drawn.save(Path(folder))
        path.write_text(without, encoding="utf-8")
        source = read_source(str(path))
        assert isinstance(source, Source)
        other = check(source, surroundings(drawn))
    if found.structures is not None and other.structures is not None:
        assert found.structures.configuration_count == other.structures.configuration_count
        assert found.structures.count == other.structures.count


@settings(LAW)
@given(drawings())
def test_a_difference_says_what_differs(drawn: Drawn) -> None:
    drawn.main.rules.clear()
    structures = Structures(resolved(drawn))
    before = brute.structures(structures.space)
    same = compare_spaces(structures, Structures(resolved(drawn)))
    assert not same.differences
    assert (same.structures_only_in_first, same.structures_only_in_second, same.structures_in_both) == (
        0,
        0,
        structures.count,
    )
    less = without_an_alternative(drawn)
    if less is None:
        return
    uses, name, lesser = less
    found = compare_spaces(structures, Structures(lesser))
    gone = [taken for taken in before if any((use, name) in taken for use in uses)]
    assert not found.structures_only_in_second, (drawn, found)
    assert found.structures_only_in_first is None or found.structures_only_in_first == len(gone), (
        drawn,
        len(gone),
        found,
    )
    said = [(each.address, each.second) for each in found.differences if each.aspect is FactKind.ALTERNATIVE]
    assert sorted(said) == sorted((f"{use}.{name}", None) for use in uses), (drawn, found.differences)


def without_an_alternative(drawn: Drawn) -> tuple[list[str], str, Space] | None:
    """The uses of a stage, the name of its last alternative, which is an operator, and the space without it."""
    for name, part in drawn.main.stages.items():
        uses = drawn.oracle.uses.get((id(drawn.main), name), [])
        last = part.parts[-1] if isinstance(part, Joined) and part.sign == "|" and not part.alias else None
        if isinstance(part, Joined) and isinstance(last, Use) and set(uses) <= drawn.oracle.reached[1]:
            called = last.alias or last.name
            if called in drawn.main.abstracts and last.body is None:
                part.parts.pop()
                is_spoken_of = is_named(called, drawn) or is_named(last.name, drawn)
                return None if is_spoken_of else (uses, called, resolved(drawn))
    return None


def is_named(alternative: str, drawn: Drawn) -> bool:
    """Whether an expression may speak of the alternative."""
    return re.search(rf"((is|in {{[^}}]*)\b|\.){alternative}\b", drawn.text) is not None


@settings(LAW)
@given(drawings())
def test_a_space_written_anew_is_the_space(drawn: Drawn) -> None:
    found = checked(drawn)
    space = found.space
    if space is None:
        return
    text = format_text(space_to_text(space))
    again = check(Source("again.space", text))
    if found.symbols and again.space is None:
        # What this data makes impossible is a mistake where numbers stand for the data.
        assert {p.code for p in again.diagnostics if p.severity is Severity.ERROR} == {"SL505"}
        return
    assert again.space is not None, (drawn, text, again.diagnostics)
    assert again.space.root == space.root, (drawn, text)
    assert {repr(each) for each in again.space.constraints} == {repr(each) for each in space.constraints}
    assert again.space.task == space.task


@settings(LAW)
@given(drawings(), st.data())
def test_a_mutated_text_is_checked(drawn: Drawn, data: st.DataObject) -> None:
    text = drawn.text
    for _ in range(data.draw(st.integers(1, 3))):
        words = [found.span() for found in re.finditer(r"\w+|[^\w\s]+|\n", text)]
        (start, end), (begin, stop) = (data.draw(st.sampled_from(words)) for _ in range(2))
        other = data.draw(st.sampled_from(("", text[begin:stop], text[start:end] + " " + text[begin:stop])))
        text = text[:start] + other + text[end:]
    with TemporaryDirectory() as folder:
        path = drawn.save(Path(folder))
        path.write_text(text, encoding="utf-8")
        source = read_source(str(path))
        assert isinstance(source, Source)
        found = check(source, surroundings(drawn))
    has_errors = any(problem.severity is Severity.ERROR for problem in found.diagnostics)
    assert (found.space is None) == (found.structures is None) == has_errors
    for problem in found.diagnostics:
        for span in (problem.primary, *(related.span for related in problem.related)):
            assert 0 <= span.start <= span.end <= len(span.source.text)
    render_diagnostics(found.diagnostics, color=False)
