"""ConfigSpace's object, JSON and source: what a small space becomes, domains at the edges, and what is refused."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from ConfigSpace import Configuration as Theirs

import spacelang
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, describe
from spacelang.ir.expr import And, Arithmetic, BranchTest, Compare, Constant, Expr, Not, Or, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets._configspace.disjunctive_normal_form import ALWAYS, atom_normal_form
from spacelang.targets._configspace.documents import to_configspace_document
from spacelang.targets._lowering import LoweringResult, Preservation, RefusedError
from spacelang.targets.configspace import Configspace
from spacelang.testing.small_spaces import (
    branch,
    choice,
    forbid,
    hyperparameter,
    make_space,
    nested_space,
    require,
    span_of,
)

TEXT = """
space example
abstract Tree {
  depth : {none} | int[2, 50] = none
  rate  : float(0, 1] = 0.5
}
abstract Linear {
  penalty : {l1, l2} = l2
  C       : float[1e-4, 1e4] log = 1 @prior(normal, 0, 2)
  tol     : float[1e-5, 1e-1] log = 1e-4 when penalty == l1 and C < 10
  leaves  : int[10, 1000] log = 20
  deep    : bool = true when leaves > 100
  forbid penalty == l1 and leaves > 100
}
abstract Scale
stage scaler = none | Scale @weight(2)
stage model @first = Linear | Tree
forbid scaler is Scale and model is Tree
require model.Tree.rate < 0.9 or scaler is none
"""
LISTING = """\
example: 10 hyperparameters, 8 conditions, 4 forbidden clauses
  scaler : {none, Scale} = none
  model : {Linear, Tree} = Linear
    model.rate : float[0.0, 1.0] = 0.5  when model == Tree
    model.penalty : {l1, l2} = l2  when model == Linear
    model.C : float[0.0001, 10000.0] log normal(1.0, 7.3889560989306) = 1.0  when model == Linear
      model.tol : float[1e-05, 0.1] log = 0.0001  when model.penalty == l1 and model.C < 10.0"""


def lowered(space: Space) -> LoweringResult[Any, Any]:
    return Configspace().lower(Structures(space))


def test_what_is_always_the_same_is_no_hyperparameter() -> None:
    first = "stage first = PCA { n_components : float[0.5, 0.9] = 0.7, svd_solver : {full} = full }"
    space = spacelang.parse(f"{first}\nstage last = GaussianNB | SVC")
    form = space.compile("configspace")
    assert [*form.form.native] == ["first.n_components", "last"]
    assert form.form.to_text().splitlines()[-2:] == [
        "  first = PCA, which is not a choice",
        "  first.svd_solver = full, which is not a choice",
    ]
    assert form.form.to_json()["codes"] == [
        {"names": [], "key": "first", "domain": "{PCA}"},
        {"names": [], "key": "first.svd_solver", "domain": "{full}"},
    ]
    module: dict[str, Any] = {}
    exec(form.form.to_python(), module)
    for member in (space.default(), *space.sample(5, seed=0)):
        encoding = form.encode(member)
        assert encoding.keys() == {"first.n_components", "last"}
        assert form.accepts(encoding)
        assert form.decode(encoding) == member
        assert module["decode"](encoding) == member.to_dict()


def test_configurations_of_spacelang_0_2_have_what_is_always_the_same() -> None:
    first = "stage first = PCA { n_components : float[0.5, 0.9] = 0.7, whiten : {true} = true }"
    space = spacelang.parse(f"{first}\nstage last = GaussianNB | SVC")
    form, default = space.compile("configspace"), space.default()
    constants = {"first": "PCA", "first.whiten": True}
    encoding = form.encode(default)
    assert form.decode({**constants, **encoding}) == form.decode({"first": "PCA", **encoding}) == default
    with pytest.raises(ValueError, match="`first` is always PCA, not SVD"):
        form.decode({**encoding, "first": "SVD"})
    with pytest.raises(ValueError, match=r"`first\.whiten` is always true, not 1$"):
        form.decode({**encoding, "first.whiten": 1})


def test_a_condition_that_configspace_would_read_for_minutes_is_refused() -> None:
    lines = "a : int[1, {0}] = 1, b : int[1, {0}] = 1, x : float[0, 1] = 0.5 when a + b == {0}"
    spaces = [spacelang.parse(f"abstract m\nstage s = m {{ {lines.format(size)} }}") for size in (30, 114)]
    assert len(spaces[0].compile("configspace").form.native) == 3
    with pytest.raises(spacelang.SpaceError, match="would take minutes to read a condition of more than 64 cases"):
        spaces[1].compile("configspace")


def test_the_only_value_of_everything_stays_a_constant() -> None:
    assert [*spacelang.parse("stage m = SVC").compile("configspace").form.native] == ["m"]
    named = spacelang.parse("stage m = SVC { C : float[1, 9] = 2 }").compile("configspace", choices=True)
    assert {*named.form.native} == {"m:__choice__", "m.C"}


def test_a_small_space_reads_like_its_text() -> None:
    form = lowered(spacelang.parse(TEXT).checked).form
    lines = form.to_text().splitlines()
    assert "\n".join(lines[:7]) == LISTING
    assert lines[-4:] == [
        "  forbid scaler == Scale and model == Tree",
        "  forbid scaler == Scale and model.rate > 0.9",
        "  forbid scaler == Scale and model.rate == 0.9",
        "  forbid model.penalty == l1 and model.leaves > 100.99999899",
    ]
    assert form.to_dot().count(" -> ") == 9
    assert form.to_json()["codes"][-1] == {
        "names": ["model.depth:part", "model.depth:int[2, 50]"],
        "key": "model.depth",
        "domain": "{none} | int[2, 50]",
    }


def test_the_object_knows_weights_priors_and_defaults() -> None:
    space = spacelang.parse(TEXT)
    form = lowered(space.checked)
    theirs = form.form.native
    assert theirs["scaler"].probabilities.tolist() == [1 / 3, 2 / 3]
    # The deviation is one of natural logarithms, as a share of the whole range.
    deviation = theirs["model.C"]._vector_dist.rv.std()
    assert deviation == pytest.approx(2 / (math.log(1e4) - math.log(1e-4)), rel=1e-3)
    assert form.decode(theirs.get_default_configuration()) == space.default()


def test_encodings_are_plain_values() -> None:
    form = lowered(spacelang.parse(TEXT).checked)
    ours = Configuration({"scaler": "none", "model": "Tree", "model.depth": None, "model.rate": 0.25})
    encoding = {"scaler": "none", "model": "Tree", "model.depth:part": "{none}", "model.rate": 0.25}
    assert form.encode(ours) == encoding
    assert form.decode(Theirs(form.form.native, values=encoding)) == ours
    assert form.accepts(encoding)
    assert not form.accepts({**encoding, "model.rate": 2.0})
    assert not form.accepts({**encoding, "model.C": 1.0})
    assert not form.accepts({"scaler": "none"})
    with pytest.raises(ValueError, match="unknown hyperparameter `made`"):
        form.decode({**encoding, "made": 1})
    with pytest.raises(ValueError, match="`made` is not a value of `model`"):
        form.decode({**encoding, "model": "made"})


def test_keys_that_two_decisions_share_have_names_of_their_own() -> None:
    form = lowered(nested_space())
    assert list(form.form.plan.parameters) == ["a", "b", "b.q.in", "b.r.in", "b.in.at"]
    assert form.encode(Configuration({"a": "m", "b": "q", "b.in": "k"})) == {"a": "m", "b": "q", "b.q.in": "k"}


def test_decisions_may_be_named_as_auto_sklearn_does() -> None:
    form = Configspace(choices=True).lower(Structures(nested_space())).form
    assert list(form.plan.parameters) == [f"{name}:__choice__" for name in ("a", "b", "b.q.in", "b.r.in", "b.in.at")]


# ---- what ConfigSpace's own looking at conditions would spoil


def asked(address: str, value: object) -> Compare:
    return Compare("==", Reference(address), Constant(value))  # type: ignore[arg-type]


def check(space: Space, count: int = 300) -> LoweringResult[Any, Any]:
    """Draws of both sides are taken by the other."""
    structures = Structures(space)
    form = Configspace().lower(structures)
    form.form.native.seed(0)
    rng = np.random.default_rng(0)
    for drawn in (*form.form.native.sample_configuration(count), *form.sample(20, rng)):
        reason = first_exclusion(space, form.decode(drawn))
        assert reason is None, (reason, dict(drawn))
    for ours in Sampler(structures).batch(count, rng).configurations():
        assert form.decode(form.encode(ours)) == ours
        assert form.accepts(form.encode(ours)), ours
    return form


def test_all_of_these_is_not_one_of_these() -> None:
    """ConfigSpace takes a conjunction and a disjunction of the same terms for one condition."""
    flags = [hyperparameter(name, Categorical((True, False)), True) for name in ("a", "b")]
    terms = (asked("a", True), asked("b", True))
    every, some = And(terms), Or(terms)
    check(
        make_space("both", *flags, hyperparameter("x", Grid(1, 2), 1, every), hyperparameter("y", Grid(1, 2), 1, some))
    )


def test_what_is_not_active_counts_for_nothing() -> None:
    """ConfigSpace looks at a condition before it knows whether all that it names is active."""
    chain = [
        hyperparameter("a", Categorical((True, False)), True),
        hyperparameter("b", Categorical((True, False)), True),
    ]
    for name, above in (("c", "b"), ("d", "c"), ("e", "d")):
        chain.append(hyperparameter(name, Categorical((True, False)), True, asked(above, True)))
    last = hyperparameter("x", Grid(1, 3), 1, And((asked("a", True), asked("e", True))))
    other = hyperparameter("y", Grid(1, 3), 1, Or((asked("a", False), Not(asked("e", False)))))
    check(make_space("chain", *chain, last, other))


# ---- domains at the edges

EDGES: tuple[Domain, ...] = (
    Real(0.0, 1.0, lower_open=True, upper_open=True),
    Real(1.0, math.nextafter(1.0, 2.0)),
    Real(1e16, 1e16 + 4),
    Real(3.0517578125e-05, 8.0, log=True),
    Real(1 / 3, 2 / 3, lower_open=True, upper_open=True),
    Real(1e-20, 0.1, log=True),
    Real(0.0, 1e-12),
    Real(5e-324, 1e-310),
    Real(1e-300, 1e-290, log=True),
    Real(-1.7e308, 1.7e308),
    Grid(0.0, 1.0, step=0.1),
    Grid(0.0, 1000.0, step=0.1),
    Grid(-(2**52), 2**52 - 2),
    Grid(1, 10**6, log=True),
    Grid(2, 50, log=True, step=3),
    Grid(1, 10**6, log=True, step=3),
    Grid(7, 7),
    Categorical((True, 1, None, (1, (2,)), "none")),
    Categorical(("", 'a"b', "x\0", "a\nb")),
    Categorical((2**60, 1, 0.5)),
    Ordinal((3, 1, 2)),
    Ordinal(((1,), "x")),
    Union((Categorical((None,)), Real(1e-20, 1.0, log=True), Grid(5, 10**6))),
)


@pytest.mark.parametrize("domain", EDGES, ids=describe)
def test_domains_at_the_edges(domain: Domain) -> None:
    check(make_space("edges", choice("e", branch("f", hyperparameter("e.f.x", domain, domain.representative)), "g")))


@pytest.mark.parametrize("domain", EDGES, ids=describe)
def test_domains_at_the_edges_with_conditions_and_a_constraint(domain: Domain) -> None:
    middle = Constant(domain.representative)
    x = hyperparameter("e.f.x", domain, domain.representative)
    y = hyperparameter("e.f.y", Categorical((1, 2)), 1, Compare("<=", Reference(x.address), middle))
    z = hyperparameter("e.f.z", Categorical((1, 2)), 1, Not(Compare(">", Reference(x.address), middle)))
    rule = forbid(And((BranchTest("e", ("f",)), Compare("==", Reference(x.address), middle))))
    check(make_space("edges", choice("e", branch("f", x, y, z), "g"), constraints=(rule,) if domain.size != 1 else ()))


# ---- constraints


def test_comparisons_of_ranges_are_relations() -> None:
    low, high = hyperparameter("low", Real(0.0, 1.0), 0.1), hyperparameter("high", Real(0.0, 2.0), 0.9)
    form = check(
        make_space("relation", low, high, constraints=(require(Compare("<", Reference("low"), Reference("high"))),))
    )
    assert [entry["type"] for entry in form.form.configuration_space_document["forbiddens"]] == ["RELATION_GE"]


def test_arithmetic_of_few_values_is_listed_and_of_more_unfolded() -> None:
    total: Expr = Arithmetic("+", Reference("x"), Reference("y"))
    for size in (3, 101):
        sides = [hyperparameter(name, Grid(1, size), 1) for name in ("x", "y")]
        form = check(make_space("sum", *sides, constraints=(require(Compare("<=", total, Constant(size))),)), 50)
        assert bool(form.form.plan.unfolded) == (size == 101)


def test_a_single_number_of_a_range_is_drawn_all_the_same() -> None:
    rate = hyperparameter("e.f.rate", Real(0.0, 1.0), 0.25)
    form = check(
        make_space("pinned", choice("e", branch("f", rate), "g"), constraints=(require(asked("e.f.rate", 0.5)),))
    )
    assert {entry.status for entry in form.report if "constraints" in entry.construct} == {Preservation.REWRITTEN}
    assert {form.decode(drawn)["e"] for drawn in form.sample(50, np.random.default_rng(0))} == {"f", "g"}


@pytest.mark.parametrize(
    "expression",
    [
        Compare("<", Arithmetic("+", Reference("x"), Reference("y")), Constant(1)),
        Compare("==", Reference("x"), Reference("y")),
        Compare("<", Arithmetic("*", Reference("x"), Constant(2)), Reference("y")),
    ],
)
def test_what_no_clause_says_is_refused_on_its_line(expression: Expr) -> None:
    sides = [hyperparameter(name, Real(0.0, 1.0), 0.5) for name in ("x", "y")]
    text = "space s\nrequire this"
    rule = forbid(Not(expression), span_of(text, "require this"))
    with pytest.raises(RefusedError) as caught:
        Configspace(relations="native").lower(Structures(make_space("refused", *sides, constraints=(rule,))))
    (entry,) = [entry for entry in caught.value.report if entry.status is Preservation.REFUSED]
    assert entry.construct == "constraints over hyperparameters"
    assert entry.line == 2


def test_a_logarithmic_range_of_all_floats_is_refused() -> None:
    with pytest.raises(RefusedError, match="280 powers of ten"):
        lowered(make_space("wide", hyperparameter("x", Real(1e-300, 1e300, log=True), 1.0)))


def test_compiling_does_not_depend_on_the_number_of_structures() -> None:
    space = make_space("large", *(choice(f"s{place}", *(f"a{each}" for each in range(10))) for place in range(12)))
    form = lowered(space).form
    assert Structures(space).count == 10**12
    assert len(form.plan.parameters) == 12
    assert json.dumps(to_configspace_document(form.plan, "large", {})).count("categorical") == 12


def test_a_condition_that_is_never_true_holds_nowhere() -> None:
    """A number that is compared with a word, for example in the elements of two tuples."""
    assert atom_normal_form(Constant(False), True, {}, {}) == ()
    assert atom_normal_form(Constant(False), False, {}, {}) == ALWAYS


@pytest.mark.parametrize(("upper", "limits"), [(7, range(1, 8)), (100, (1, 2, 49, 99, 100)), (10**7, (3, 10**7 - 1))])
def test_conditions_on_logarithmic_integers_are_exact(upper: int, limits: Iterable[int]) -> None:
    """ConfigSpace compares draws as logarithms, whose rounding errors depend on how they were computed."""
    tests = [f"n {relation} {limit}" for limit in limits for relation in ("<", ">=", "==", "!=")]
    rows = "".join(f"  x{place} : bool = true when {test}\n" for place, test in enumerate(tests))
    space = spacelang.parse(f"abstract A {{\n  n : int[1, {upper}] log = 1\n{rows}}}\nstage s = A\n").checked
    form = lowered(space)
    names = [name for name in form.form.plan.parameters if name.startswith("s.n")]
    assert names == ["s.n"]
    theirs = form.form.native
    theirs.seed(0)
    for drawn in theirs.sample_configuration(100):
        assert first_exclusion(space, form.decode(drawn)) is None
        # The same number, as ConfigSpace computes the logarithm of a value.
        again = Theirs(theirs, values=dict(drawn))
        assert {*again} == {*drawn}


def test_logarithmic_integers_that_are_too_large_to_compare_are_cut() -> None:
    text = "abstract A {\n  n : int[1, 20_000_000] log = 1\n  x : bool = true when n >= 4\n}\nstage s = A\n"
    form = lowered(spacelang.parse(text).checked)
    assert "s.n:part" in form.form.plan.parameters
    assert {"s.n", "s.x"} <= form.decode(form.encode(Configuration({"s": "A", "s.n": 4, "s.x": True}))).keys()
