"""A text means what its author wrote, annotations change nothing of it, and no text at all raises."""

import json
import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from trying import few

from spacelang.analysis import CheckResult, check, imported_modules
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.draft_resolution import resolve_draft
from spacelang.analysis.stages import StageReader
from spacelang.catalog import load_catalogue
from spacelang.catalog.catalogue import FileCatalogues
from spacelang.diagnostics.diagnostic import Severity
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Node, Operator, Product, Space, fixed_operators
from spacelang.ir.walk import walk_reached_variables
from spacelang.syntax.parser import parse
from spacelang.text import Source

from . import brute
from .example import EXAMPLE
from .settings import LAW
from .texts import Drawn, nested_in, texts

CONSTRAINED = {"SL505", "SL506", "SL507"}
"""What drawn constraints may do: they exclude an alternative, everything, or the default."""

FOREIGN = 20
"""How many raw combinations of one space are asked for."""


def checked(text: str) -> CheckResult:
    """Check, looking at what holds for every text."""
    found = check(Source("law.space", text))
    has_errors = any(diagnostic.severity is Severity.ERROR for diagnostic in found.diagnostics)
    assert (found.space is None) == (found.structures is None) == has_errors
    for diagnostic in found.diagnostics:
        for span in (diagnostic.primary, *(related.span for related in diagnostic.related)):
            assert 0 <= span.start <= span.end <= len(text)
        assert "\n" not in diagnostic.message
    render_diagnostics(found.diagnostics, color=False)
    return found


def errors(found: CheckResult) -> list[str]:
    return [diagnostic.code for diagnostic in found.diagnostics if diagnostic.severity is Severity.ERROR]


def resolved(text: str) -> Space:
    """The space of a text even where constraints leave nothing of it."""
    report, source = DiagnosticCollector(), Source("law.space", text)
    parsed = parse(source)
    module = imported_modules.read_module(source, parsed, report, torn=False)
    draft = StageReader(module, FileCatalogues(load_catalogue()), report).read()
    space = resolve_draft(Space("law", draft.root), draft, report)
    assert not report.has_errors
    return Space("law", unfolded(space.root), space.constraints)


def unfolded(node: Node) -> Node:
    """The tree in which what is inside of fixed operators is among the rest: brute force looks nowhere else."""
    match node:
        case Choice():
            return replace(node, branches=tuple(replace(b, node=unfolded(b.node)) for b in node.branches))
        case Operator():
            inner = [unfolded(child) for operator in fixed_operators(node) for child in operator.children]
            return replace(node, children=(*map(unfolded, node.children), *inner), fixed=())  # type: ignore[arg-type]
        case Product():
            return replace(node, children=tuple(map(unfolded, node.children)))
        case _:
            return node


@settings(LAW)
@given(texts())
def test_a_text_means_what_it_says(drawn: Drawn) -> None:
    found, space = checked(drawn.text), resolved(drawn.text)
    assert set(errors(found)) <= CONSTRAINED, found.diagnostics
    members = drawn.configurations()
    assert {json.dumps(json.loads(member), sort_keys=True) for member in brute.configurations(space)} == members
    assert brute.structures(space) == drawn.structures()
    assert errors(found) == expected_errors(space, drawn)
    if found.space is None or found.structures is None:
        return
    assert found.structures.configuration_count == len(members)
    assert found.structures.count == len(drawn.structures())
    for taken, hyperparameters in brute.pipelines(space.root)[:FOREIGN]:
        branches = {space.variables[address].key: branch for address, branch in taken.items()}
        document = branches | {node.key: brute.members(node.domain)[-1] for node in hyperparameters}
        is_member = json.dumps(document, sort_keys=True) in members
        assert (first_exclusion(space, Configuration(document)) is None) == is_member
        walked = {
            variable.address
            for variable, _ in walk_reached_variables(space, lambda choice, taken=taken: taken[choice.address])
        }
        assert walked == {*taken, *(node.address for node in hyperparameters)}
    assert all(first_exclusion(space, Configuration.from_json(member)) is None for member in members)


def expected_errors(space: Space, drawn: Drawn) -> list[str]:
    """The codes of the errors that the constraints make."""
    structures = drawn.structures()
    if not structures:
        return ["SL506"]
    alive = {pair for structure in structures for pair in structure}
    dead = [
        branch
        for choice in space.decisions
        for branch in choice.branches
        if (choice.address, branch.name) not in alive | settled(drawn)
        and alive.issuperset(space.variables[choice.address].owners)
    ]
    if dead:
        return ["SL505"] * len(dead)
    usual = {choice.address: choice.branches[choice.default].name for choice in space.decisions}
    for taken, hyperparameters in brute.pipelines(space.root):
        if all(usual[address] == branch for address, branch in taken.items()):
            worth = {node.address: node.default for node in hyperparameters}
            broken = [
                c for c in space.constraints if brute.settle(only(space, c), taken, hyperparameters, worth) is None
            ]
            return ["SL507"] * len({constraint.span for constraint in broken})
    raise AssertionError("the default is one of the ways through the tree")


def settled(drawn: Drawn) -> set[tuple[str, str]]:
    """The alternatives of decisions that a condition alone keeps from being taken, which is said of the condition."""
    alive = {pair for structure in replace(drawn, rules=[]).structures() for pair in structure}
    conditional = [decision for decision in nested_in(drawn.stages) if decision.condition is not None]
    taken = {(decision.address, each.name) for decision in conditional for each in decision.alternatives}
    added = {(decision.address, "none") for decision in conditional if not decision.may_be_none}
    return (taken - alive) | added


def only(space: Space, constraint: object) -> Space:
    return Space("law", space.root, (constraint,))  # type: ignore[arg-type]


@settings(LAW)
@given(texts())
def test_annotations_never_change_the_set(drawn: Drawn) -> None:
    with_them, without = resolved(drawn.text), resolved(drawn.without_annotations)
    assert "@" not in drawn.without_annotations
    assert brute.configurations(with_them) == brute.configurations(without)
    one, other = checked(drawn.text), checked(drawn.without_annotations)
    if one.structures is not None and other.structures is not None:
        assert one.structures.count == other.structures.count
        assert one.structures.configuration_count == other.structures.configuration_count
    # Another alternative may be the default, so that this alone may be excluded.
    assert set(errors(one)) - {"SL507"} == set(errors(other)) - {"SL507"}


VALID = """\
space valid "A text with which a search could begin"
stage scaler = none | StandardScaler | QuantileTransformer { n_quantiles : int[10, 2000] log = 1000 }
stage transformer = none | PCA { n_components : float[0.5, 0.9999] = 0.9999 } | Nystroem {
      kernel : {poly, rbf, sigmoid, cosine} = rbf
      gamma  : float[3e-05, 8] log = 0.1 when kernel in {poly, rbf, sigmoid}
      degree : int[2, 5] = 3 when kernel == poly
    }
stage estimator @first =
  | LogisticRegression { l1_ratio : {0.0, 1.0} = 0.0, C : float[1e-4, 1e4] log = 1 @split(4) @prior(normal, 0, 2)
      max_iter = 1000
      forbid l1_ratio == 1.0 and C > 2 }
  | SVC as linear { kernel = linear, C : float[0.03, 32768] log = 1 } @weight(0.5)
  | SVC as rbf { kernel = rbf, gamma : {scale, auto} | float[3e-5, 8] log = scale }
  | RandomForestClassifier { max_depth : {none} | int[2, 50] = none, bootstrap : bool = true
      max_samples : float[0.1, 1] = 1 when bootstrap }
  | AdaBoostClassifier {
      estimator : DecisionTreeClassifier { max_depth : int[1, 10] = 1 } | LogisticRegression as plain }
pipeline = scaler -> transformer -> estimator
forbid transformer is Nystroem and estimator is linear
require transformer.PCA.n_components > 0.6 or not scaler is none
"""


def test_the_valid_text_is_valid() -> None:
    assert checked(VALID).diagnostics == ()


FRAGMENTS = sorted({*re.findall(r"\w+|[^\w\s]+", VALID), *re.findall(r"\w+|[^\w\s]+", EXAMPLE), "none", "\n", "2", "0"})


@settings(LAW, max_examples=few(300))
@given(st.data())
def test_a_mutated_text_is_checked(data: st.DataObject) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 3))):
        words = [found.span() for found in re.finditer(r"\w+|[^\w\s]+|\n", text)]
        start, end = data.draw(st.sampled_from(words))
        kind = data.draw(st.integers(0, 3))
        other = data.draw(st.sampled_from(FRAGMENTS)) if kind else ""
        if kind == 3:  # swapped with another word
            begin, stop = data.draw(st.sampled_from(words))
            other = text[begin:stop]
        text = text[:start] + other + (text[start:end] if kind == 2 else "") + text[end:]
    checked(text)


@settings(LAW)
@given(st.data())
def test_a_text_without_one_of_its_lines_is_checked(data: st.DataObject) -> None:
    lines = EXAMPLE.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        del lines[data.draw(st.integers(0, len(lines) - 1))]
    checked("\n".join(lines))
