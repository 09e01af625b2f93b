"""TPE by the hyperopt library proposes members, by the history and the generator alone, and by its own rules."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest
from hyperopt import tpe
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import Arithmetic, Compare, Constant, Or, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.optimizers._draws import NoveltyTracker
from spacelang.optimizers._libraries import HyperoptTpe, TpeSettings
from spacelang.optimizers._proposer_search import ObservedLoss, ProposerPart
from spacelang.plugins import OptionError
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import RefusedError
from spacelang.testing.driving import hash_loss, make_trial
from spacelang.testing.small_spaces import (
    branch,
    choice,
    conditional_space,
    continuous_space,
    hyperparameter,
    make_space,
    nested_space,
    plain_space,
    require,
    single_member_space,
)
from spacelang.testing.small_spaces import spaces as small_spaces

from .crafted import one
from .settings import LAW

FEWER = settings(LAW, max_examples=LAW.max_examples // 3)
"""Each case has hyperopt make a graph of its own."""
FEW = TpeSettings(startup=3)
LOSSES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)


def drawn(space: Space, losses: Sequence[float | None], seed: int = 0) -> list[ObservedLoss]:
    """A history of configurations that were drawn."""
    sampler, rng = Sampler(Structures(space)), np.random.default_rng(seed)
    return [(sampler.configuration(rng), loss) for loss in losses]


def proposed(space: Space, history: Sequence[ObservedLoss], seed: int, how: TpeSettings = FEW) -> Configuration | None:
    return HyperoptTpe(Structures(space), how).propose(history, np.random.default_rng(seed))


# ---- laws


@given(space=st.one_of(small_spaces(), st.just(continuous_space())), losses=LOSSES, seed=st.integers(0, 99))
@FEWER
def test_proposals_are_members_and_depend_on_the_history_and_the_generator_alone(
    space: Space, losses: list[float | None], seed: int
) -> None:
    structures = Structures(space)
    if not structures.count:
        return
    history = drawn(space, losses)
    try:
        used = HyperoptTpe(structures, FEW)
    except RefusedError:
        return
    before = history[: len(history) // 2]
    proposals = [used.propose(each, np.random.default_rng(seed)) for each in (history, before, history)]
    assert all(each is None or first_exclusion(space, each) is None for each in proposals)
    assert proposals[0] == proposals[2]
    assert proposals[1] == proposed(space, before, seed)


@given(space=small_spaces(), length=st.integers(0, 19), seed=st.integers(0, 99))
@FEWER
def test_the_first_twenty_do_not_depend_on_losses(space: Space, length: int, seed: int) -> None:
    if Structures(space).count:
        history = drawn(space, np.random.default_rng(seed).random(length).tolist())
        lossless = [(each, None) for each, _ in history]
        proposer = HyperoptTpe(Structures(space))
        found = [proposer.propose(each, np.random.default_rng(seed)) for each in (history, lossless)]
        assert found[0] == found[1]


@given(seed=st.integers(0, 2**32 - 1), trials=st.integers(20, 70), log=st.booleans())
@FEWER
def test_proposals_keep_to_the_bounds(seed: int, trials: int, log: bool) -> None:
    space = one(Real(1e-3, 1.0, log=log), Grid(2, 21), Grid(1, 1000, log=log), Real(0.0, 1.0, upper_open=True))
    losses = np.random.default_rng(seed).random(trials).tolist()
    proposal = proposed(space, drawn(space, losses, seed), seed, TpeSettings())
    assert proposal is not None
    assert first_exclusion(space, proposal) is None


# ---- how many trials are good


@pytest.mark.parametrize(("trials", "good"), [(20, 2), (64, 2), (65, 3), (100, 3), (400, 5), (10_000, 25)])
def test_the_library_takes_so_many_trials_for_good(trials: int, good: int) -> None:
    numbers = np.arange(trials)
    below, above = tpe.ap_split_trials(numbers, numbers, numbers, numbers[::-1], TpeSettings().gamma)
    assert sorted(below) == [*range(trials - good, trials)]
    assert len(above) == trials - good


@pytest.mark.parametrize(("trials", "good"), [(20, 2), (64, 2), (65, 3), (100, 3), (400, 5)])
def test_only_which_trials_are_good_matters(trials: int, good: int) -> None:
    space = one(Real(0.0, 1.0))
    ranks = np.random.default_rng(trials).permutation(trials)
    history = drawn(space, (ranks / trials).tolist())
    alike = [(each, float(loss < good / trials)) for each, loss in history if loss is not None]
    alike = [(each, 1.0 - loss) for each, loss in alike]
    one_less = [(each, 1.0 if rank == good - 1 else loss) for (each, loss), rank in zip(alike, ranks, strict=True)]
    places = [
        [proposed(space, found, seed, TpeSettings()) for seed in range(4)] for found in (history, alike, one_less)
    ]
    assert places[0] == places[1]
    assert places[0] != places[2]


def test_a_trial_without_a_loss_is_never_good() -> None:
    space = one(Real(0.0, 1.0))
    history = drawn(space, np.random.default_rng(5).random(30).tolist())
    failed = [(each, None if loss is not None and loss > 0.5 else loss) for each, loss in history]
    assert proposed(space, history, 2) == proposed(space, failed, 2)


def test_densities_of_the_library_integrate_to_one_within_the_bounds() -> None:
    low, high = -2.0, 3.0
    grid = np.linspace(low, high, 20_001)
    for observed in ([], [2.9], [-2.0, -1.9, 0.3], np.random.default_rng(1).uniform(low, high, 60).tolist()):
        weights, mus, sigmas = tpe.adaptive_parzen_normal(np.array(observed), 1.0, (low + high) / 2, high - low)
        density = np.exp(tpe.GMM1_lpdf(grid, weights, mus, sigmas, low=low, high=high))
        assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-3)


# ---- what it learns


def test_of_two_alternatives_the_better_one_is_proposed_mostly() -> None:
    space = plain_space(2)
    tpe_of_it, history = HyperoptTpe(Structures(space)), list[ObservedLoss]()
    for turn in range(80):
        proposal = tpe_of_it.propose(history[:40], np.random.default_rng([3, turn]))
        assert proposal is not None
        is_good = proposal["s0"] == "a1"
        history.append((proposal, 0.1 + 0.001 * turn if is_good else 0.9 + 0.001 * turn))
    assert sum(each["s0"] == "a1" for each, _ in history[40:]) > 0.7 * 40


def test_what_is_not_active_is_not_modelled() -> None:
    """Only one of the branches has a number, and only trials of that branch say where it is good."""
    rate = hyperparameter("e.f.rate", Real(0.0, 1.0), 0.5, key="e.rate")
    space = make_space("half", choice("e", branch("f", rate), "g"))
    of_f = [Configuration({"e": "f", "e.rate": (place + 0.5) / 40}) for place in range(40)]
    history: list[ObservedLoss] = [(each, abs(float(str(each["e.rate"])) - 0.8)) for each in of_f]
    history += [(Configuration({"e": "g"}), 0.5) for _ in range(20)]
    proposer = HyperoptTpe(Structures(space))
    found = [proposer.propose(history, np.random.default_rng(seed)) for seed in range(40)]
    rates = [float(str(each["e.rate"])) for each in found if each is not None and each["e"] == "f"]
    assert len(rates) > 20
    assert np.median(np.abs(np.array(rates) - 0.8)) < 0.15


# ---- constraints


def tied(limit: float) -> Space:
    """Two ranges that a constraint compares, so that neither nested choices nor quantiles say it."""
    total = Arithmetic("+", Reference("s.A.x0"), Reference("s.A.x1"))
    rule = Or((Compare("<", total, Constant(limit)), Compare(">", Reference("s.A.x0"), Constant(2))))
    return one(Real(0.0, 1.0), Real(0.0, 1.0), constraints=[require(rule)])


def test_what_breaks_a_constraint_is_proposed_again() -> None:
    space = tied(0.6)
    found = [proposed(space, drawn(space, [0.5] * length), seed) for length in (0, 4) for seed in range(2)]
    assert all(each is None or first_exclusion(space, each) is None for each in found)
    assert None not in found[:2], "a fifth of what is drawn keeps to it"


def test_a_part_of_which_a_hundred_proposals_break_constraints_sits_out() -> None:
    product = Arithmetic("*", Reference("s.A.x0"), Reference("s.A.x1"))
    space = one(Real(0.0, 1.0), Real(0.0, 1.0), constraints=[require(Compare("<", product, Constant(1e-12)))])
    proposing = part_of(space)
    assert proposed(space, [], 0) is None
    first = begun(proposing, 0)
    assert first_exclusion(space, first) is None, "it begins with its default, or what is nearest to that"
    assert not proposing.is_exhausted
    assert begun(proposing, 1) == first
    assert proposing.is_exhausted


def test_what_the_library_cannot_hold_is_refused() -> None:
    space = one(Grid(0, 2**70))
    with pytest.raises(RefusedError):
        HyperoptTpe(Structures(space))


@pytest.mark.parametrize("wrong", [{"startup": 0}, {"gamma": 0.0}, {"gamma": -1.0}, {"candidates": 0}], ids=str)
def test_settings_have_bounds(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError) as caught:
        TpeSettings(**wrong)  # type: ignore[arg-type]
    assert next(iter(wrong)) in caught.value.message


# ---- a part of a search


def part_of(space: Space) -> ProposerPart[int]:
    structures = Structures(space)
    return ProposerPart(0, NoveltyTracker((0,), 1), HyperoptTpe(structures, FEW), structures)


def begun(proposing: ProposerPart[int], seed: int, loss: float | None = None) -> Configuration:
    """What a part begins, and is told of."""
    later = proposing.make_lazy_request()
    request = later.make(np.random.default_rng(seed))
    assert later.on_start is not None
    later.on_start(request)
    proposing.record(make_trial(request, hash_loss(request) if loss is None else loss))
    return request.configuration


@pytest.mark.parametrize(
    "space", [plain_space(2, 3), nested_space(), single_member_space()], ids=lambda space: space.name
)
def test_a_finite_space_is_proposed_whole_each_configuration_once(space: Space) -> None:
    proposing, found = part_of(space), list[Configuration]()
    for seed in count():
        found.append(begun(proposing, seed))
        if proposing.is_exhausted:
            break
    assert found.pop() == found[0]
    assert len(set(found)) == len(found) == Structures(space).count


def test_what_is_under_way_is_not_proposed_again() -> None:
    proposing = part_of(plain_space(2, 3))
    laters = [proposing.make_lazy_request() for _ in range(6)]
    found = []
    for seed, later in enumerate(laters):
        found.append(later.make(np.random.default_rng(seed)).configuration)
        proposing.request_for(found[-1])
    assert len(set(found)) == 6


def test_other_processes_propose_the_same() -> None:
    """A run may be resumed in a process that hashes texts in another way."""
    own = said()
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    script = f"import sys; sys.path[:0] = {sys.path!r}; from {__name__} import said; print(said())"
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == own


def said() -> str:
    """A digest of what is proposed for a space with nested decisions and conditions."""
    space = conditional_space()
    history = drawn(space, np.random.default_rng(0).random(30).tolist())
    found = [proposed(space, history[:length], 7) for length in (0, 30)]
    return hashlib.sha256(str(found).encode()).hexdigest()
