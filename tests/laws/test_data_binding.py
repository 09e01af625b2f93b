"""A space that is bound to its data lacks exactly what has no meaning for it: members, pipelines and targets say so.

What a bound space is, is said by an oracle: the space as spacelang 0.2 bound it, in which every part that receives no
column is a decision, of which only the members count that leave the part out.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

import spacelang as sl
from spacelang.analysis import CheckSettings, check
from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.data_binding import DataColumn, is_selected, possible_columns
from spacelang.ir.expr import mentioned_addresses
from spacelang.ir.membership import first_exclusion
from spacelang.runtime.data import tables
from spacelang.runtime.errors import BuildError, DataError
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.pipelines.preparation import plan_preparation
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration
from spacelang.solver.nearest_configuration import adapt_to_data, drop_keys_without_meaning
from spacelang.targets import TARGETS
from spacelang.text import Source

from . import brute
from .settings import LAW

KINDS = {"numeric": "n_numeric", "categorical": "n_categorical", "text": "n_text", "datetime": "n_datetime"}
STAGES = {
    "scale": "StandardScaler { with_mean : bool } | MinMaxScaler { clip : bool when n_missing > 0 }",
    "fill": "SimpleImputer { strategy : {mean, median} when n_missing > 0 } | KNNImputer { n_neighbors : int[1, 3] }",
    "code": "OneHotEncoder { max_categories : int[2, 2 + n_categorical] } | OrdinalEncoder",
    "read": "TfidfVectorizer { min_df : int[1, 2]CONDITION } | CountVectorizer { binary : bool }",
    "model": "GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 3], weights : {uniform, distance}CONDITION }",
}
PARTS = ("scale", "fill", "code", "read", "(scale & fill)", "fill -> scale", "code?", "none")
NESTED = ("columns(numeric: scale, text: read)", "columns(numeric: fill, rest: code) -> scale")
CONDITIONS = ("", " when scale is MinMaxScaler", " when fill.KNNImputer.n_neighbors > 1", " when n_text > 0")
RULES = (
    "forbid scale is MinMaxScaler and model is GaussianNB",
    "require code is OneHotEncoder or model is GaussianNB",
    "require scale is StandardScaler or n_missing > 0",
    "require fill.KNNImputer.n_neighbors < 3 or model is GaussianNB",
    "forbid read is CountVectorizer and n_missing > 0",
    "require n_numeric > 0 or model is KNeighborsClassifier",
)
MOST_MEMBERS = 600
UNBOUND = {"n_samples": 50, "n_categorical": 9}
"""Numbers for what has no meaning without one, for a space that keeps everything."""


@dataclass(frozen=True)
class Drawn:
    """A text, and the numbers that it is bound to."""

    text: str
    sizes: dict[str, int]

    def checked(self, *, keeps_meaningless_parts: bool = False) -> ir.Space:
        """The bound space; the case is skipped where it has mistakes."""
        return self.space(CheckSettings(self.sizes, keeps_meaningless_parts=keeps_meaningless_parts)).checked

    def space(self, context: CheckSettings) -> sl.Space:
        """The space in this context; the case is skipped where it has mistakes."""
        found = check(Source("text", self.text), context)
        assume(found.space is not None and found.structures is not None)
        assert found.space is not None
        assert found.structures is not None
        return sl.Space(found.space, found.structures, symbols=found.symbols)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    selectors = draw(st.lists(st.sampled_from((*KINDS, "rest", "all", '"^n"')), min_size=1, max_size=4, unique=True))
    parts = ", ".join(f"{each}: {draw(st.sampled_from((*PARTS, *NESTED)))}" for each in selectors)
    front = f"columns({parts})"
    if draw(st.booleans()):
        front = f"({front} | columns(text: read) | StandardScaler) as front"
    used = {*re.findall(r"\w+", f"{front} model")}
    fitting = [each for each in (*CONDITIONS, *RULES) if {*re.findall(r"\w+", each)} & STAGES.keys() <= used]
    condition = draw(st.sampled_from([each for each in CONDITIONS if each in fitting]))
    stages = [f"stage {name} = {text.replace('CONDITION', condition)}" for name, text in STAGES.items() if name in used]
    rules = draw(st.lists(st.sampled_from([each for each in RULES if each in fitting]), max_size=2, unique=True))
    sizes = draw(st.fixed_dictionaries({name: st.sampled_from((0, 0, 2)) for name in (*KINDS.values(), "n_missing")}))
    return Drawn("\n".join((*stages, f"pipeline = {front} -> model", *rules)), {**sizes, "n_samples": 50})


# ---- the oracle


def takes(selector: ir.ColumnSelector, selectors: tuple[ir.ColumnSelector, ...], kinds: set[str]) -> set[str]:
    """The kinds of columns that a part may receive, of those that are there."""
    words = {each.kind for each in selectors}
    match selector.kind:
        case "all" | "pattern":
            return kinds
        case "categorical":
            return kinds & ({"categorical"} if "text" in words else {"categorical", "text"})
        case "rest":
            if "all" in words:
                return set()
            named = words | ({"text"} if "categorical" in words else set())
            return kinds - named
        case kind:
            return kinds & {kind}


def optional(node: ir.Node, kinds: set[str], switches: list[str]) -> ir.Node | None:
    """The tree with a decision around each part that receives nothing; None where no part is left."""
    if isinstance(node, ir.Choice):
        found = [(branch, optional(branch.node, kinds, switches)) for branch in node.branches]
        left = tuple(replace(branch, node=inside) for branch, inside in found if inside is not None)
        return replace(node, branches=left, default=0) if left else None
    if not isinstance(node, ir.Product):
        return node
    if node.kind is not ir.ProductKind.COLUMNS:
        children = [optional(child, kinds, switches) for child in node.children]
        kept = tuple(child for child in children if child is not None)
        lacks = len(kept) < len(children) and (node.kind is not ir.ProductKind.PARALLEL or not kept)
        return None if lacks else replace(node, children=kept)
    parts: list[ir.Node] = []
    alive = 0
    for selector, child in zip(node.selectors, node.children, strict=True):
        taken = takes(selector, node.selectors, kinds)
        inside = optional(child, taken, switches) if taken else None
        alive += inside is not None
        if inside is None:
            name = f"switch_{len(switches)}"
            switches.append(name)
            branches = (ir.Branch("out", ir.SKIPPED_STEP), ir.Branch("in", child))
            inside = ir.Choice(name, name, name, branches)
        parts.append(inside)
    return replace(node, children=tuple(parts)) if alive else None


def expected_members(drawn: Drawn) -> set[str] | None:
    """The configurations of the bound space by the oracle; None where no pipeline has a column."""
    full = drawn.checked(keeps_meaningless_parts=True)
    kinds = {kind for kind, name in KINDS.items() if drawn.sizes[name]}
    switches: list[str] = []
    root = optional(full.root, kinds, switches)
    if root is None:
        return None
    space = replace(full, root=root)
    # The oracle has no names for what an alternative without columns holds.
    expressions = (*full.conditions.values(), *(each.expression for each in full.constraints))
    assume(all({*mentioned_addresses(each)} <= space.variables.keys() for each in expressions))
    assume(Structures(space).count > 0)
    assume((Structures(space).configuration_count or MOST_MEMBERS) < MOST_MEMBERS)
    found = (json.loads(each) for each in brute.configurations(space))
    return {
        brute.text({key: value for key, value in each.items() if key not in switches})
        for each in found
        if all(each.get(switch, "out") == "out" for switch in switches)
    }


@settings(LAW)
@given(drawn())
def test_the_members_are_those_that_leave_out_parts_without_columns(case: Drawn) -> None:
    expected = expected_members(case)
    found = check(Source("text", case.text), CheckSettings(case.sizes))
    if expected is None:
        assert [each.code for each in found.diagnostics if each.code == "SL622"] == ["SL622"]
        assert found.provisional is not None
        return
    if not expected:
        assert {"SL506"} & {each.code for each in found.diagnostics}
        return
    assert found.space is not None, found.diagnostics
    assert found.structures is not None
    assert found.structures.configuration_count == len(expected)
    assert brute.configurations(found.space) == expected
    assert first_exclusion(found.space, default_configuration(found.space)) is None
    lost = {each.address for each in found.space.dropped if each.address not in found.space.variables}
    assert lost.isdisjoint(found.space.variables)
    assert all(
        {*mentioned_addresses(each.expression)} <= found.space.variables.keys() for each in found.space.constraints
    )
    assert space_from_json(space_to_json(found.space)).dropped == found.space.dropped


@settings(LAW)
@given(drawn())
def test_without_expressions_about_lost_parts_the_members_are_the_old_ones_without_their_keys(case: Drawn) -> None:
    bound, full = case.checked(), case.checked(keeps_meaningless_parts=True)
    lost = {each.address for each in bound.dropped}
    conditions = {a: c for a, c in full.conditions.items() if a in bound.variables}
    assume(
        not any(
            lost & {*mentioned_addresses(each)}
            for each in (*conditions.values(), *(c.expression for c in full.constraints))
        )
    )
    assume((Structures(full).configuration_count or MOST_MEMBERS) < MOST_MEMBERS)
    removed = {(e.key, name) for e in bound.dropped if e.address in bound.variables for name in e.alternatives or ()}
    old = [json.loads(each) for each in brute.configurations(full)]
    usable = [each for each in old if not any(each.get(key) == name for key, name in removed)]
    projected = {brute.text(dict(rest_of(bound, each))) for each in usable}
    assert projected == brute.configurations(bound)


def rest_of(space: ir.Space, document: dict[str, Any]) -> Configuration:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in document.items()}
    return drop_keys_without_meaning(space, Configuration(values))[0]


@settings(LAW)
@given(drawn(), st.integers(0, 10**6))
def test_any_configuration_of_the_unbound_space_is_adapted_to_a_member(case: Drawn, seed: int) -> None:
    bound, unbound = (
        case.space(CheckSettings(case.sizes)),
        case.space(CheckSettings(UNBOUND, keeps_meaningless_parts=True)),
    )
    for given_one in unbound.sample(5, seed=seed):
        found = adapt_to_data(bound.counted, given_one)
        assert first_exclusion(bound.checked, found.member) is None
        assert adapt_to_data(bound.counted, found.member) == replace(found, dropped=(), changes=())
        rest = {key: value for key, value in given_one.items() if key not in found.dropped}
        assert (given_one in bound) is (first_exclusion(bound.checked, Configuration(rest)) is None)
        assert not found.changes or given_one not in bound
        assert bound.keys_without_meaning(given_one) == found.dropped
        if given_one in bound:
            assert found.member == Configuration(rest)


@settings(LAW)
@given(drawn(), st.sampled_from(TARGETS.names()))
def test_every_target_keeps_it(case: Drawn, target: str) -> None:
    space = case.space(CheckSettings(case.sizes))
    try:
        form = space.compile(target)
    except sl.SpaceError:
        with pytest.raises(sl.SpaceError):  # it takes no such spaces
            case.space(CheckSettings(UNBOUND, keeps_meaningless_parts=True)).compile(target)
        return
    lost = {each.key for each in space.checked.dropped} - {each.key for each in space.checked.variables.values()}
    for each in space.sample(10, seed=1):
        assert form.decode(form.encode(each)) == each
        assert not {*each} & lost
    read = sl.load(json.dumps(space.document(target)))
    assert read.checked == space.checked
    assert read.checked.dropped == space.checked.dropped


# ---- pipelines


ROWS = 24
COLUMNS = {
    "number": np.arange(ROWS, dtype=float) ** 2,
    "none": [None, 1.0, 2.0] * (ROWS // 3),
    "town": ["Rome", "Oslo", "Oslo"] * (ROWS // 3),
    "note": [f"word {place} of {place % 3} words" for place in range(ROWS)],
    "day": pd.date_range("2026-01-01", periods=ROWS),
}
TARGET = [0, 1, 1] * (ROWS // 3)


@pytest.fixture(autouse=True, scope="module")
def few_values_are_text() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TEXT_VALUES", 6)
        yield


@settings(LAW)
@given(drawn(), st.sets(st.sampled_from(sorted(COLUMNS)), min_size=1), st.integers(0, 10**6))
def test_the_pipeline_is_the_same_without_the_dropped_parts(case: Drawn, chosen: set[str], seed: int) -> None:
    features = pd.DataFrame({name: COLUMNS[name] for name in COLUMNS if name in chosen})
    full = case.space(CheckSettings(UNBOUND, keeps_meaningless_parts=True))
    try:
        preparation = plan_preparation(full.checked, features)
    except DataError:
        assume(False)
    bound = case.space(CheckSettings(UNBOUND, columns=preparation.columns))
    transformer = preparation.make_transformer()
    prepared = features if transformer is None else transformer.fit_transform(features)
    for old in full.sample(3, seed=seed):
        if old not in bound:
            continue
        new = rest_of(bound.checked, dict(old))
        try:
            before, after = (
                build_pipeline(space.checked, each, table=preparation.table, random_state=0)
                for space, each in ((full, old), (bound, new))
            )
        except BuildError:
            continue
        assert made(before, prepared) == made(after, prepared)
        assert entries(before, prepared) == entries(after, prepared)


def entries(pipeline: Any, features: pd.DataFrame) -> list[tuple[str, str, tuple[str, ...]]]:
    """The transformers of the first step by text with their columns, but for those without columns."""
    if type(pipeline[0]).__name__ != "ColumnTransformer":
        return []
    found = []
    for name, part, columns in pipeline[0].transformers:
        names = (
            columns(features)
            if callable(columns)
            else features.columns[columns]
            if isinstance(columns, slice)
            else columns
        )
        names = [names] if isinstance(names, str) else [*names]
        if names and "ColumnTransformer" not in repr(part):  # nested ones are compared by what they make
            found.append((name.rstrip("_0123456789"), repr(part), tuple(names)))
    return found


def made(pipeline: Any, features: pd.DataFrame) -> Any:
    """What the steps before the last one make of features; None where they refuse them."""
    try:
        result = pipeline[:-1].fit_transform(features, TARGET)
    except Exception:  # noqa: BLE001 - whatever an operator says of columns that it does not take
        return None
    dense = result.toarray() if sparse.issparse(result) else np.asarray(result)
    return [[f"{value:.6f}" if isinstance(value, float) else str(value) for value in row] for row in dense.tolist()]


@settings(LAW)
@given(
    st.lists(st.sampled_from((*KINDS, "rest", "all")), min_size=1, unique=True),
    st.dictionaries(st.sampled_from(sorted(KINDS.values())), st.integers(0, 2)),
)
def test_parts_receive_the_kinds_that_the_language_says(selectors: list[str], sizes: dict[str, int]) -> None:
    everything = tuple(map(ir.ColumnSelector, selectors))
    columns = possible_columns(sizes)
    kinds = {kind for kind, name in KINDS.items() if sizes.get(name) != 0}
    assert {each.kind for each in columns} == kinds
    for selector in everything:
        received = {each.kind for each in columns if is_selected(each, selector, everything) is not False}
        assert received == takes(selector, everything, kinds)


def test_a_pattern_that_no_name_matches_is_dropped() -> None:
    space = sl.parse('pipeline = columns("^x": PCA { n_components : int[1, 3] }, rest: StandardScaler) -> Ridge')
    known = (DataColumn("numeric", "yes"), DataColumn("numeric", "no"))
    assert space.bind_to_data({}, known).configurations == 1
    assert space.bind_to_data({}, (*known, DataColumn("numeric", "x"))).configurations == 3
    assert space.bind_to_data({}, (DataColumn("numeric"),)).configurations == 3


def test_a_constraint_still_applies_only_where_all_that_it_names_is_active() -> None:
    text = """
        stage encoder = OneHotEncoder | TargetEncoder
        stage model = Ridge { alpha : {1, 2, 3} = 1, positive : bool when alpha > 2 }
        pipeline = columns(numeric: StandardScaler, categorical: encoder) -> model
        forbid not (encoder is TargetEncoder and model.positive)
    """
    assert sl.parse(text).configurations == 2 * 2 + 1
    assert sl.parse(text, bind={"n_categorical": 0, "n_text": 0}).configurations == 2


def test_a_mistake_that_only_the_data_causes_is_none_in_a_dropped_part() -> None:
    text = """
        stage reducer = PCA { n_components : int[1, n_numeric], whiten : bool when n_components > 2 } | none
        stage model = Ridge { alpha : float[1, 2], positive : bool when reducer.PCA.n_components > 1 }
        pipeline = columns(numeric: reducer, text: TfidfVectorizer { max_features = 10 / n_numeric }) -> model
        forbid reducer.PCA.n_components > 3 and model.alpha > 1.5
    """
    assert len(sl.parse(text, bind={"n_numeric": 5, "n_text": 0}).checked.hyperparameters) == 4
    numeric = text.replace("text: TfidfVectorizer { max_features = 10 / n_numeric }", "rest: none")
    bound = sl.parse(numeric, bind={"n_numeric": 0})
    assert [node.key for node in bound.checked.hyperparameters] == ["model.alpha"]
    assert not bound.checked.constraints
    with pytest.raises(sl.SpaceError, match="not a finite number"):
        sl.parse(text, bind={"n_numeric": 0})
