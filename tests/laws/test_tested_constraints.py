"""Constraints that the solver cannot decide: draws are tested with them, counts estimated, defaults moved by trying."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from commands import spacelang
from hypothesis import assume, given, settings
from scipy import stats

import spacelang as sl
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.sampling import joint_sampling
from spacelang.sampling.count_estimate import estimate_count, wilson_interval
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver import constraint_network_compiler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.targets import TARGETS
from spacelang.targets._lowering import Construct, Preservation, RefusedError

from . import brute
from .settings import LAW
from .spaces import finite_spaces

ALPHA = 1e-4
HEAD = "space tested\nabstract Model\nstage model = Model {\n"
CASES = [
    "a : float[0.01, 1] log = 0.1\nn : int[1, 5000] log = 100\nrequire a * n >= 5",
    "n : int[2, 100000] log = 31\nd : int[1, 30] = 6\nrequire n <= 2 ** d",
    "a : float[0, 1] = 0\nb : float[0, 1] = 0\nrequire a * a + b * b <= 1",
    "a : float[0, 1] = 0\nb : float[0, 1] = 0\nc : {x, y} = y\nrequire a * b <= 0.1 or c == y",
    "a : float[0, 1] = 0 when c == x\nb : float[0, 1] = 0\nc : {x, y} = y\nforbid a * b > 0.1",
    "a : float[0, 1] = 0\nb : float[0, 1] = 0\nrequire a + b <= 0.4\nforbid a * b > 0.02",  # a sum drawn from boxes
    "a : float[0, 1] = 0\nd : int[1, 9] = 1 when a * a > 0.3\nb : float[0, 1] = 0\nforbid a * b > 0.3",
    "a : {none} | float[0, 1] = none\nb : float[0, 1] = 0\nforbid a * b > 0.1",
]


@pytest.mark.parametrize("body", CASES)
def test_draws_are_the_members_among_draws_of_the_rest(body: str) -> None:
    space = sl.parse(f"{HEAD}{body}\n}}\n").checked
    lines = [line for line in body.split("\n") if not line.startswith(("require", "forbid"))]
    rest = sl.parse("\n".join([HEAD, *lines, "}"])).checked
    drawn = list(Sampler(Structures(space)).configurations(1_500, np.random.default_rng(1)))
    assert all(first_exclusion(space, each) is None for each in drawn)
    free = Sampler(Structures(rest)).configurations(6_000, np.random.default_rng(2))
    kept = [each for each in free if first_exclusion(space, each) is None]
    for node in space.hyperparameters:
        found, wanted = ([each.get(node.key) for each in sample] for sample in (drawn, kept))
        numbers = [[v for v in values if isinstance(v, int | float)] for values in (found, wanted)]
        if all(numbers):
            assert stats.ks_2samp(*numbers).pvalue > ALPHA
        counts = [Counter(v if isinstance(v, str) else type(v).__name__ for v in values) for values in (found, wanted)]
        names = sorted({*counts[0], *counts[1]})
        if len(names) > 1:
            table = [[each[name] for name in names] for each in counts]
            assert stats.chi2_contingency(table).pvalue > ALPHA


def test_an_excluded_default_moves_to_a_close_member() -> None:
    text = f"{HEAD}n : int[2, 100000] log = 31\nd : int[1, 30] = 6\nrequire n <= 2 ** d\n}}\n"
    space = sl.parse(text)
    found = space.nearest({"model": "Model", "model.n": 31, "model.d": 3})
    assert dict(found.member) == {"model": "Model", "model.n": 8, "model.d": 3}
    assert "2 ** d" in found.reasons[0].reason
    assert DefaultCompleter(Structures(space.checked)).complete({"model": "Model"}) in space


@pytest.mark.parametrize(
    "body",
    [
        "a : float[0.1, 10] log = 2\nb : float[0.1, 10] log = 2.5\nrequire a * b <= 5.2\nrequire a * b >= 4.8",
        "a : float[0, 1] = 0.5\nb : float[0, 1] = 0.5\nc : float[0, 1] = 0.2\n"
        "require a * b * c <= 0.0501\nrequire a * b * c >= 0.0499",
    ],
)
def test_a_member_is_found_though_draws_of_the_rest_are_rarely_one(body: str) -> None:
    space = sl.parse(f"{HEAD}{body}\n}}\n")
    given = {key: 0.9 for key in space.default() if key != "model"}
    assert space.nearest({"model": "Model", **given}).member in space


# ---- random spaces, whose relations the solver is made to leave to the draws


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A solver that decides nothing about several hyperparameters at once."""
    monkeypatch.setattr(constraint_network_compiler, "MAX_JOINT_VALUES", 0)
    monkeypatch.setattr(constraint_network_compiler, "_is_linear", lambda _: False)
    monkeypatch.setattr(joint_sampling, "MAX_TESTED_ATTEMPTS", 3_000)
    yield monkeypatch
    monkeypatch.undo()


def test_random_spaces_have_the_same_members_counts_and_draws_without_a_decision(
    undecided: pytest.MonkeyPatch,
) -> None:
    @settings(LAW)
    @given(finite_spaces())
    def law(space: Space) -> None:
        structures = Structures(space)
        members = brute.configurations(space)
        assume(structures.expressions_tested_on_draws and members)
        estimate = estimate_count(structures)
        assert estimate is not None
        assert abs(estimate.value - len(members)) <= 1.5 * (estimate.high - estimate.low)
        assert 1 <= estimate.low <= estimate.value <= estimate.high
        try:
            drawn = Sampler(structures).batch(1_500, np.random.default_rng(1)).configurations()
        except SamplingFailedError:
            assert structures.count > len(brute.structures(space))  # `check` refuses a structure without members
            return
        assert {brute.text(dict(each)) for each in drawn} <= members
        if structures.count == len(brute.structures(space)):
            with pytest.MonkeyPatch.context() as decided:
                decided.setattr(constraint_network_compiler, "MAX_JOINT_VALUES", 100_000)
                exact = Sampler(Structures(space)).batch(1_500, np.random.default_rng(2)).configurations()
            assert_same_law(drawn, exact)

    law()


def assert_same_law(one: list[sl.Configuration], other: list[sl.Configuration]) -> None:
    counts = [Counter(each.identity for each in drawn) for drawn in (one, other)]
    common = [each for each in counts[0] | counts[1] if counts[0][each] + counts[1][each] >= 20]
    table = [
        [*(found[each] for each in common), sum(n for each, n in found.items() if each not in common)]
        for found in counts
    ]
    columns = [column for column in zip(*table, strict=True) if sum(column)]
    if len(columns) > 1:
        assert stats.chi2_contingency([*zip(*columns, strict=True)]).pvalue > 1e-6


# ---- counts


def test_intervals_of_shares_cover_at_their_confidence() -> None:
    rng = np.random.default_rng(0)
    for share in (0.003, 0.2, 0.97):
        kept = rng.binomial(10_000, share, 1_000).tolist()
        covered = sum(low <= share <= high for low, high in (wilson_interval(each, 10_000) for each in kept))
        assert 930 <= covered <= 970
    assert wilson_interval(0, 100)[0] == 0
    assert wilson_interval(100, 100)[1] == 1


def test_counts_of_large_spaces_are_close_to_closed_forms() -> None:
    space = sl.parse(
        f"{HEAD}n : int[2, 100000] log = 31\nd : int[1, 30] = 6\nrequire n <= 2 ** d\n}} | Other\n".replace(
            "abstract Model", "abstract Model\nabstract Other"
        )
    )
    estimate = space.configurations_estimate
    assert space.configurations is None
    assert estimate is not None
    assert estimate.low <= 1 + sum(min(100_000, 2**d) - 1 for d in range(1, 31)) <= estimate.high
    assert space.statistics.to_json()["configurations_estimate"] == estimate.to_json()
    with pytest.raises(ValueError, match="too complex to be counted"):
        space.configuration(0)


def test_an_excluded_alternative_of_a_chain_is_not_counted() -> None:
    operators = "\n".join(f"abstract {name}" for name in "ABCPQ")
    space = sl.parse(
        f"space chained\n{operators}\n"
        "stage inner = P { n : int[2, 100000] = 31, d : int[1, 30] = 6, require n <= 2 ** d } | Q\n"
        "stage step = (inner -> A) as both | B\npipeline = repeat(step, 1, 2) -> C\n"
        "forbid step[2].inner is P\nforbid step[2].inner is Q\n"
    )
    estimate = space.configurations_estimate
    assert estimate is not None
    assert estimate.low <= 2 * (2 + sum(min(100_000, 2**d) - 1 for d in range(1, 31))) <= estimate.high
    assert "finitely many configurations (not counted exactly)" in repr(space)
    assert "finitely many configurations (not counted exactly)" in space._repr_html_()


def test_a_count_that_no_draw_tells_has_an_upper_limit(tmp_path: Path) -> None:
    body = "".join(f"{name} : int[0, 20000] = {value}\n" for name, value in zip("abc", (30, 30, 9940), strict=True))
    text = f"{HEAD}{body}require a <= b\nrequire a + b + c == 10000\n}}\n"
    estimate = sl.parse(text).configurations_estimate
    assert estimate is not None
    assert not estimate.kept
    assert estimate.low <= sum(10_001 - 2 * a for a in range(5_001)) <= estimate.high
    ended = spacelang("stats", "-", folder=tmp_path, stdin=text)
    assert "finite, at most 3.07e8 with 95% confidence (none of 100,000 draws" in ended.stdout


def test_eight_different_integers() -> None:
    names = "abcdefgh"
    body = [f"{name} : int[1, 8] = {value}" for value, name in enumerate(names, 1)]
    body += [f"require {one} != {other}" for one, other in combinations(names, 2)]
    space = sl.parse("\n".join([HEAD, *body, "}"]))
    for drawn in space.sample(20):
        assert sorted(drawn[f"model.{name}"] for name in names) == [*range(1, 9)]
    estimate = space.configurations_estimate
    assert estimate is not None
    assert estimate.low <= 40_320 <= estimate.high


# ---- targets and optimizers


@pytest.mark.parametrize("name", TARGETS.names())
def test_targets_keep_the_constraint_or_refuse_it_with_its_line(name: str) -> None:
    space = sl.parse(f"{HEAD}{CASES[0]}\n}}\n").checked
    broken = sl.Configuration({"model": "Model", "model.a": 0.01, "model.n": 10})
    try:
        lowered = TARGETS.load(name)().lower(Structures(space))
    except RefusedError as error:
        (entry,) = [each for each in error.report if each.status is Preservation.REFUSED]
        assert (entry.construct, entry.line) == (Construct.TESTED.value, 6)
        return
    drawn = lowered.sample(50, np.random.default_rng(0))
    assert all(first_exclusion(space, lowered.decode(each)) is None for each in drawn)
    try:
        encoded = lowered.encode(broken)
    except ValueError:  # what is no member has no encoding
        return
    assert not lowered.accepts(encoded)


@pytest.mark.parametrize("name", ["random", "auto", "tpe", "mosaic", "blds", "boasf"])
def test_optimizers_ask_for_members_only(name: str) -> None:
    space = sl.parse(f"{HEAD}{CASES[0]}\n}}\n")
    for trial in sl.ask_and_tell(space, optimizer=name, trials=12):
        assert trial.configuration in space
        trial.tell(trial.configuration["model.a"])
