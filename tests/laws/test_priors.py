"""Draws follow the advised law: values by their priors restricted to the domain, structures by the weights.

Each prior is compared with SciPy's distribution of the same name: floats by Kolmogorov and Smirnov's test, members of
grids and sets by the chi-square test. A new prior fails here until `DISTRIBUTIONS` has its distribution.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from trying import IS_FULL

import spacelang as sl
from spacelang.cli import main
from spacelang.ir.domain import Categorical, Domain, Grid, Real, Union, members, parts
from spacelang.ir.expr import And, Arithmetic, BranchTest, Compare, Constant, In
from spacelang.ir.prior import PRIORS, Normal, Prior, Uniform, describe
from spacelang.ir.space import Branch, Choice, Operator, Space
from spacelang.ir.value import Value, is_number
from spacelang.optimizers._admm.subproblems import PipelineChoiceTree
from spacelang.optimizers.jopt import JointCube
from spacelang.sampling import sampler as sampler_module
from spacelang.sampling.conditional_sampling import MAX_JOINT_MEMBERS
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS
from spacelang.targets._lowering import Construct, Preservation
from spacelang.targets.admm import Admm

from .crafted import forbid, parameter, space_of, stage, x
from .settings import LAW
from .spaces import finite_spaces, general_spaces

ALPHA = 1e-3
"""Seeds are fixed: a test of these either always passes or always fails."""

COUNT = 3000 if IS_FULL else 1500
FILLER = Real(0.0, 1.0)
"""A second hyperparameter that makes all configurations different, for searches that evaluate none twice."""

DISTRIBUTIONS: dict[str, Callable[[Any, float, float], Any]] = {
    "normal": lambda prior, _lower, _upper: stats.norm(prior.mean, prior.deviation),
    "uniform": lambda _prior, lower, upper: stats.uniform(lower, upper - lower),
}

CASES: list[tuple[Domain, Prior]] = [
    (Real(0.0, 1.0), Normal(0.3, 0.2)),
    (Real(0.0, 1.0), Normal(9.0, 0.5)),  # far beyond the upper end
    (Real(-3.0, 5.0, lower_open=True), Normal(-40.0, 2.0)),
    (Real(1e-4, 1e4, log=True), Normal(0.0, 0.01)),
    (Real(1e-4, 1e4, log=True), Normal(2.0, 3.0)),
    (Real(1e-4, 1e4, log=True), Uniform()),
    (Grid(1, 12), Normal(4.0, 2.0)),
    (Grid(1, 12), Uniform()),
    (Grid(3, 30, step=9), Normal(10.0, 8.0)),
    (Grid(0.0, 1.0, step=0.1), Normal(0.5, 0.2)),
    (Grid(1, 40, log=True), Normal(2.0, 0.5)),
    (Grid(1, 40, log=True), Uniform()),
    (Categorical((1, 2, 5, 10)), Normal(2.0, 2.0)),
    (Categorical((None, 1, 2)), Normal(1.0, 1.0)),
    (Union((Categorical((None,)), Real(0.0, 1.0))), Normal(0.3, 0.2)),
    (Union((Categorical(("auto",)), Grid(1, 5))), Normal(2.0, 1.0)),
]


def scale_of(part: Real | Grid) -> Callable[[float], float]:
    return math.log if part.log else float


def member_shares(part: Grid | Categorical, prior: Prior) -> dict[Value, float]:
    """The probability of each member: of the interval around it on a grid, by density among the numbers of a set."""
    if isinstance(part, Categorical):
        numbers = [value for value in part.values if is_number(value)]
        known = DISTRIBUTIONS[prior.name](prior, min(numbers), max(numbers))  # type: ignore[type-var, arg-type]
        densities = known.pdf(np.array(numbers, float))
        by_number = dict(zip(numbers, len(numbers) * densities / densities.sum(), strict=True))
        return {value: by_number.get(value, 1.0) / len(part.values) for value in part.values}
    to_scale, half = scale_of(part), part.step / 2
    below = min(part.step, part.lower) / 2 if part.log else half
    edges = [to_scale(part.least - below), *(to_scale(member + half) for member in members(part))]  # type: ignore[operator]
    masses = np.diff(DISTRIBUTIONS[prior.name](prior, edges[0], edges[-1]).cdf(edges))
    return dict(zip(members(part), masses / masses.sum(), strict=True))


def check_distribution(drawn: Sequence[Value], domain: Domain, prior: Prior) -> None:
    """Compare draws with the prior restricted to the domain; each part of a union keeps its share."""
    several = domain.parts if isinstance(domain, Union) else (domain,)
    expected: dict[Value, float] = {}
    for part in several:
        if not isinstance(part, Real):
            shares = member_shares(part, prior) if part.size > 1 else {part.value_at(0): 1.0}
            expected |= {value: share / len(several) for value, share in shares.items()}
            continue
        mine = [value for value in drawn if isinstance(value, float)]
        expected["a float"] = 1 / len(several)
        to_scale = scale_of(part)
        ends = to_scale(part.lower), to_scale(part.upper)
        known = DISTRIBUTIONS[prior.name](prior, *ends)
        lower, upper = known.cdf(ends)
        if upper - lower < 1e-12:  # far from the mean only logarithms of probabilities are exact
            assert isinstance(prior, Normal)
            standard = ((end - prior.mean) / prior.deviation for end in ends)
            known, lower, upper = stats.truncnorm(*standard, prior.mean, prior.deviation), 0.0, 1.0
        places = [to_scale(value) for value in mine]
        assert all(part.least <= value <= part.greatest for value in mine)
        assert stats.kstest(places, lambda q, d=known, a=lower, b=upper: (d.cdf(q) - a) / (b - a)).pvalue > ALPHA
    counts = Counter("a float" if isinstance(value, float) and "a float" in expected else value for value in drawn)
    assert set(counts) <= set(expected)
    likely = [value for value, share in expected.items() if share * len(drawn) >= 5]
    rest = 1 - sum(expected[value] for value in likely)
    observed = [counts[value] for value in likely]
    wanted = [expected[value] * len(drawn) for value in likely]
    if rest * len(drawn) >= 1:
        observed, wanted = [*observed, len(drawn) - sum(observed)], [*wanted, rest * len(drawn)]
    if len(observed) > 1:
        assert stats.chisquare(observed, np.array(wanted) * sum(observed) / sum(wanted)).pvalue > ALPHA


def with_prior(domain: Domain, prior: Prior) -> Space:
    first = replace(parameter("s", "A", "x0", domain), prior=prior)
    return space_of(stage("s", Operator("A", "made", (first, parameter("s", "A", "x1", FILLER)))))


def test_each_prior_has_a_distribution_and_a_case() -> None:
    assert set(DISTRIBUTIONS) == set(PRIORS) == {prior.name for _, prior in CASES}


@pytest.mark.parametrize(("domain", "prior"), CASES)
def test_advised_samples_follow_priors(domain: Domain, prior: Prior) -> None:
    sampler = Sampler(Structures(with_prior(domain, prior)), advised=True)
    drawn = [each["s.x0"] for each in sampler.batch(COUNT, np.random.default_rng(3)).configurations()]
    check_distribution(drawn, domain, prior)


@pytest.mark.parametrize(("domain", "prior"), CASES)
def test_tied_hyperparameters_follow_priors(domain: Domain, prior: Prior) -> None:
    """Constraints that exclude (nearly) nothing make the sampler draw cells first, some of them of several values."""
    never = forbid(Compare(">", x(0), Arithmetic("+", x(1), Constant(1e9))))
    values = [part.values for part in parts(domain) if isinstance(part, Categorical)]
    seldom = [
        forbid(And((In(x(0), (listed[-1],)), Compare(">", x(1), Constant(1 - 1e-9))))) for listed in values if listed
    ]
    space = replace(with_prior(domain, prior), constraints=(never, *seldom))
    sampler = Sampler(Structures(space), advised=True)
    drawn = [each["s.x0"] for each in sampler.batch(COUNT, np.random.default_rng(4)).configurations()]
    check_distribution(drawn, domain, prior)


def test_a_cell_of_a_set_keeps_the_shares_of_its_values() -> None:
    """In {none, 1, 2} without 2, none and 1 keep the ratio that they have in the whole set."""
    domain, prior = Categorical((None, 1, 2)), Normal(1.0, 1.0)
    space = replace(with_prior(domain, prior), constraints=(forbid(In(x(0), (2,))),))
    drawn = Sampler(Structures(space), advised=True).batch(COUNT, np.random.default_rng(6)).configurations()
    shares = member_shares(domain, prior)
    kept = np.array([shares[None], shares[1]])
    counts = Counter(each["s.x0"] for each in drawn)
    assert stats.chisquare([counts[None], counts[1]], kept / kept.sum() * COUNT).pvalue > ALPHA


def test_a_constraint_truncates_a_prior() -> None:
    prior = Normal(0.3, 0.2)
    space = with_prior(Real(0.0, 1.0), prior)
    rule = forbid(Compare("<", x(0), Constant(0.25)))
    sampler = Sampler(Structures(replace(space, constraints=(rule,))), advised=True)
    drawn = [each["s.x0"] for each in sampler.batch(COUNT, np.random.default_rng(5)).configurations()]
    check_distribution(drawn, Real(0.25, 1.0), prior)


@pytest.mark.takes_turns("name")
@pytest.mark.parametrize(("domain", "prior"), CASES)
@pytest.mark.parametrize("name", TARGETS.names())
def test_targets_that_claim_a_prior_draw_by_it(name: str, domain: Domain, prior: Prior) -> None:
    space = with_prior(domain, prior)
    lowered = TARGETS.load(name)().lower(Structures(space))
    claims = [entry.status for entry in lowered.report if entry.construct == Construct.PRIORS.value]
    if claims != [Preservation.EXACT]:
        assert claims == [Preservation.APPROXIMATED]
        return
    rng = np.random.default_rng(6)
    drawn = [lowered.decode(point)["s.x0"] for point in lowered.sample(COUNT, rng)]
    check_distribution(drawn, domain, prior)


@pytest.mark.parametrize(
    ("operator", "name", "written", "domain", "prior"),
    [
        ("LogisticRegression", "C", "float[1e-4, 1e4] log = 1", Real(1e-4, 1e4, log=True), Normal(0.0, 0.01)),
        ("RandomForestClassifier", "max_depth", "int[1, 12] = 4", Grid(1, 12), Normal(4.0, 2.0)),
        ("RandomForestClassifier", "n_estimators", "int[1, 40] log = 4", Grid(1, 40, log=True), Normal(2.0, 0.5)),
    ],
)
def test_random_search_and_the_command_follow_priors(
    operator: str,
    name: str,
    written: str,
    domain: Domain,
    prior: Prior,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = "tol" if operator == "LogisticRegression" else "max_samples"
    body = f"{name} : {written} {describe(prior)}, {other} : float[0.01, 0.99] = 0.5"
    path = tmp_path / "advised.space"
    path.write_text(f"space advised\nstage s = {operator} {{ {body} }}\n")
    found = sl.search(str(path), objective=lambda _: 0.0, optimizer="random", trials=500, seed=1)
    drawn = [configuration[f"s.{name}"] for configuration in found.configurations][1:]
    check_distribution(drawn, domain, prior)
    with pytest.raises(SystemExit, match=r"^0$"):
        main(("sample", str(path), "-n", "500", "--seed", "2", "--advised"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [dict(each) for each in sl.load(path).sample(500, seed=2, advised=True)]
    check_distribution([line[f"s.{name}"] for line in lines], domain, prior)


@pytest.mark.parametrize(("domain", "prior"), [case for case in CASES if case[1] != Uniform()])
def test_random_points_of_the_unit_cube_follow_priors(domain: Domain, prior: Prior) -> None:
    cube = JointCube(Structures(with_prior(domain, prior)))
    places = cube.apply_weights_and_priors(np.random.default_rng(9).random((COUNT, cube.variable_count)))
    check_distribution([each["s.x0"] for each in cube.decode(places)], domain, prior)


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()), st.integers(0, 1000))
def test_without_priors_and_weights_both_laws_draw_the_same(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
    except UndecidableError:
        return
    if not structures.count or any(branch.weight != 1 for choice in space.decisions for branch in choice.branches):
        return
    if any(node.prior is not None for node in space.hyperparameters):
        return
    try:
        plain = Sampler(structures).batch(20, np.random.default_rng(seed)).configurations()
    except SamplingFailedError:
        return
    assert Sampler(structures, advised=True).batch(20, np.random.default_rng(seed)).configurations() == plain


@settings(LAW)
@given(st.lists(st.floats(0.1, 10), min_size=5, max_size=5))
def test_structures_follow_weights(weights: list[float]) -> None:
    def weighted(name: str, mine: Sequence[float]) -> Choice:
        made = [Operator(f"{name}{place}", "made") for place in range(len(mine))]
        branches = tuple(Branch(each.name, each, weight) for each, weight in zip(made, mine, strict=True))
        return Choice(name, name, name, branches)

    rule = forbid(BranchTest("a", ("a0",)))
    stages = (weighted("a", weights[:3]), weighted("b", weights[3:]))
    space = space_of(*stages, constraints=[rule])
    drawn = Sampler(Structures(space), advised=True).batch(COUNT, np.random.default_rng(8)).configurations()
    counts = Counter((each["a"], each["b"]) for each in drawn)
    products = {(f"a{m}", f"b{n}"): weights[m] * weights[3 + n] for m in (1, 2) for n in (0, 1)}
    assert set(counts) <= set(products)
    wanted = np.array(list(products.values())) * COUNT / sum(products.values())
    assert stats.chisquare([counts[each] for each in products], wanted).pvalue > 1e-6


CONDITIONS_ACROSS_STAGES = """
abstract first
abstract second
abstract made
stage scaler = first { level : int[1, 4] = 2 @prior(normal, 3, 1) } @weight(3) | second @weight(0.5)
stage estimator =
  | made {
      a : int[1, 6] = 3 @prior(normal, 2, 1.5)
      b : int[1, 9] log = 2 @prior(normal, 1, 0.5) when a > 2
      c : {none} | int[1, 3] = 1 @prior(normal, 1, 1) when scaler is first
      d : {x, y} = x when b > 3 or c != none
      e : {1, 2, 4} = 1 @prior(normal, 2, 1) when d == x
    } @weight(2)
  | made as other
forbid scaler is second and estimator is other
forbid estimator.made.a > 4 and scaler.first.level > 3
"""


@pytest.mark.parametrize("advised", [False, True])
def test_draws_along_conditions_follow_the_same_law_as_tables(advised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    space = sl.parse(CONDITIONS_ACROSS_STAGES).checked
    tables = []
    for limit in (0, MAX_JOINT_MEMBERS):
        monkeypatch.setattr(sampler_module, "MAX_JOINT_MEMBERS", limit)
        batch = Sampler(Structures(space), advised=advised).batch(10_000, np.random.default_rng(5))
        tables.append(Counter(each.identity for each in batch.configurations()))
    common = [each for each in tables[0] | tables[1] if sum(table[each] for table in tables) >= 20]
    counts = [[*(table[each] for each in common), 10_000 - sum(table[each] for each in common)] for table in tables]
    assert len(common) > 50
    assert stats.chi2_contingency(counts).pvalue > ALPHA


def stages_with(prior: Prior | None, weights: Sequence[float]) -> Space:
    """Return a space of one decision, whose second alternative has a hyperparameter."""
    tuned = Operator("B", "made", (replace(parameter("s", "B", "x0", Real(0.0, 1.0)), prior=prior),))
    operators = (Operator("A", "made"), tuned)
    branches = tuple(Branch(each.name, each, weight) for each, weight in zip(operators, weights, strict=True))
    return space_of(Choice("s", "s", "s", branches))


ADVISED = stages_with(Normal(0.3, 0.01), (1.0, 9.0))


@pytest.mark.parametrize("name", ["admm", "blds", "boasf", "mosaic", "random"])
def test_a_run_that_was_started_by_the_plain_law_keeps_it(name: str) -> None:
    """A resumed store of spacelang 0.2 must ask for the same trials."""

    def drawn(space: Space) -> list[Any]:
        lowered = TARGETS.load(name)().lower(Structures(space))
        return [lowered.decode(each) for each in lowered.sample(50, np.random.default_rng(1))]

    plain = drawn(stages_with(None, (1.0, 1.0)))
    assert drawn(replace(ADVISED, plain_draws=True)) == plain
    assert drawn(ADVISED) != plain


def test_random_pipelines_of_admm_follow_weights() -> None:
    def counts(space: Space) -> Counter[str]:
        tree = PipelineChoiceTree(Admm().lower(Structures(space)).form).tree
        rng = np.random.default_rng(2)
        leaves = (tree.random_leaf(rng) for _ in range(COUNT))
        return Counter(tree.structure_of(leaf)["s"] for leaf in leaves)

    found = counts(ADVISED)
    assert stats.chisquare([found["A"], found["B"]], [COUNT / 10, COUNT * 9 / 10]).pvalue > ALPHA
    assert counts(replace(ADVISED, plain_draws=True)) == counts(stages_with(None, (1.0, 1.0)))


def test_targets_claim_priors() -> None:
    """The comparison above is not empty."""
    claimed = {
        name
        for name in TARGETS.names()
        for entry in TARGETS.load(name)().lower(Structures(with_prior(*CASES[0]))).report
        if entry.construct == Construct.PRIORS.value and entry.status is Preservation.EXACT
    }
    assert claimed >= {"configspace", "mosaic", "random", "sklearn"}
