"""ADMM as a search: against an independent one of few lines, on toys, and under constraints.

See spacelang/optimizers/README.md, sections "ADMM: iteration" and "ADMM: constraints".
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import median
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trying import IS_FULL

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine, ask_all
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Operator, Product, ProductKind, Space
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.minimizers import Box, MinimizationProblem, Point
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._admm import AdmmUpdateSteps, ConstraintResiduals, ThetaCube, nearest_members
from spacelang.optimizers._admm.iterations import AdmmIterations
from spacelang.optimizers._admm.subproblems import PipelineChoiceTree
from spacelang.optimizers._selection import SelectionProblem, Selector
from spacelang.optimizers.admm import PRESETS, Admm
from spacelang.plugins import NestedPlugin, OptionError
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import Outcome
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm as Target
from spacelang.targets.blds import Pipeline
from spacelang.testing.driving import drive_search, flaky_loss, hash_loss
from spacelang.testing.memory_storage import MemoryTrialStorage
from spacelang.testing.search_tests import run_search
from spacelang.testing.small_spaces import (
    SMALL,
    all_structures,
    branch,
    brute_force_members,
    choice,
    continuous_space,
    forbid,
    hyperparameter,
    make_space,
    plain_space,
    single_member_space,
    spaces,
)

FOREVER = 10**9
ITERATIONS, PLACES = (12, 1001) if IS_FULL else (5, 201)
"""Of an ADMM and its twin; of theta, where all of it is looked at."""
SPOTS = {width: np.random.default_rng(width).random((128, width)).tolist() for width in range(4)}
"""Where theta is looked at, whoever looks."""

# ---- sub-solvers that read a table


class Looks:
    """theta-min that looks at the start and then at given places: at as many as there are calls, or `everywhere`."""

    def __init__(self, everywhere: Sequence[Point] = ()) -> None:
        self.everywhere = everywhere

    def minimise(
        self,
        value: MinimizationProblem,
        box: Box,
        calls: int,
        start: Point,
        seconds: float | None = None,  # noqa: ARG002
    ) -> SearchCoroutine[Point]:
        spots = self.everywhere or SPOTS[len(box)][: calls - 1]
        places = [start, *map(tuple, spots if box else ())]
        requests = [value.request(place) for place in places]
        trials = yield from ask_all([request for request in requests if request is not None])
        told, numbers = iter(trials), []
        for place, request in zip(places, requests, strict=True):
            numbers.append(value.value(place, None if request is None else next(told), numbers))
        return places[int(np.argmin(numbers))]


class OverError(Exception):
    """So many iterations were enough."""


@dataclass
class InTurn:
    """z-min that looks at the pipelines in an order of its own, as many as there are iterations."""

    seed: int = 0
    most: int = FOREVER
    """After so many iterations it is over."""
    seen: list[int] = field(default_factory=list)

    def selector(self) -> Selector:
        return self

    def select(
        self,
        selection: SelectionProblem,
        iterations: int | None = None,
        start: Pipeline | None = None,  # noqa: ARG002
        seconds: Any = None,  # noqa: ARG002
    ) -> SearchCoroutine[Pipeline]:
        if len(self.seen) == self.most:
            raise OverError
        leaves = [*selection.tree.iter_leaves()]
        wanted = [leaves[place] for place in in_turn(len(leaves), self.seed)[:iterations]]
        trials = yield from ask_all([Request(selection.configuration(each)) for each in wanted])
        self.seen.append(len(trials))
        return wanted[min(range(len(trials)), key=lambda place: selection.sort_key(trials[place]))]

    def forget(self, pipeline: Pipeline) -> None: ...


def in_turn(count: int, seed: int) -> list[int]:
    return [int(place) for place in np.random.default_rng(seed).permutation(count)]


def exact(iterations: int, **options: Any) -> Admm:
    """So many iterations of an ADMM that solves its sub-problems by looking at places of theta and at every z."""
    grid = [(place,) for place in np.linspace(0, 1, PLACES).tolist()]
    options = {"adaptive": False, "patience": FOREVER, **options}
    return Admm(theta=NestedPlugin("looks", Looks(grid)), z=NestedPlugin("in_turn", InTurn(most=iterations)), **options)


# ---- an independent ADMM over the same sub-solvers

BOUND = FunctionBound("g", 0.5)
WAYS = {"m": 4, "c": 3, "s": 4}
OWN = {
    ("m", 0): {"m0.n": (0, 5, 3), "m0.r": (0.0, 1.0, 0.5)},
    ("m", 1): {"m1.n": (0, 9, 1), "m1.r": (0.0, 2.0, 0.5)},
    ("m", 2): {"m2.n": (2, 4, 2), "m2.r": (0.0, 1.0, 0.25)},
    ("m", 3): {"m3.r": (1.0, 2.0, 1.5)},
    ("c", 1): {"c1.n": (1, 100, 7)},
}
"""The variables of alternatives: their ranges and defaults; those with whole numbers are integers."""
ALL = {name: limits for each in OWN.values() for name, limits in each.items()}
WHOLE = [name for name, (low, _, _) in ALL.items() if isinstance(low, int)]


def table_space() -> Space:
    def way(stage: str, place: int) -> Any:
        nodes = [
            hyperparameter(f"{stage}.{name}", (Grid if name in WHOLE else Real)(low, high), default, key=name)  # type: ignore[arg-type]
            for name, (low, high, default) in OWN.get((stage, place), {}).items()
        ]
        return branch(f"{stage}{place}", *nodes)

    return make_space(
        "table", *(choice(stage, *(way(stage, k) for k in range(count))) for stage, count in WAYS.items())
    )


def looked_up(z: dict[str, int], values: dict[str, float]) -> tuple[float, float]:
    """The loss and the measure of a pipeline: the table."""
    whole = sorted((name, int(value)) for name, value in values.items() if name in WHOLE)
    near = sum((value - 0.7) ** 2 for name, value in values.items() if name not in WHOLE) / 8
    loss, measure = (crc32(f"{what} {sorted(z.items())} {whole}".encode()) / 2**32 for what in ("f", "g"))
    return 0.8 * loss + near, measure


def is_broken(z: dict[str, int], values: dict[str, float], often: int) -> bool:
    """Whether a pipeline fails: one in so many does, 0 is none, and with it the first one, whatever theta is."""
    whole = sorted((name, int(value)) for name, value in values.items() if name in WHOLE)
    return often > 0 and (not any(z.values()) or crc32(f"b {sorted(z.items())} {whole}".encode()) % often == 0)


def admm_of_few_lines(
    rho: float, *, raw: bool, bounded: bool, first: str, schedule: list[int], seed: int, often: int
) -> Any:
    """ADMM over the table, written from the paper's formulas alone; yields what each iteration leaves."""
    z = dict.fromkeys(WAYS, 0)
    x = {name: float(default) for name, (_, _, default) in ALL.items()}
    delta, lam = {n: x[n] for n in WHOLE}, dict.fromkeys(WHOLE, 0.0)
    width = {n: 1.0 if raw else max(1, ALL[n][1] - ALL[n][0]) for n in WHOLE}
    u, mu, combinations = 0.0, 0.0, [*product(*(range(count) for count in WAYS.values()))]

    def clip(n: str, value: float) -> float:
        return min(max(value, ALL[n][0]), ALL[n][1])

    def told(taken: dict[str, int], theta: dict[str, float]) -> tuple[float, float] | None:
        own = [n for way in taken.items() for n in OWN.get(way, {})]
        values = {n: np.floor(theta[n] + 0.5) if n in WHOLE else theta[n] for n in own}
        return None if is_broken(taken, values, often) else looked_up(taken, values)

    def burden(g: float, slack: float) -> float:
        return rho / 2 * (g / 0.5 - 1 + slack + mu / rho) ** 2 if bounded else 0.0

    for calls in schedule:
        for step in ("theta", "z") if first == "theta" else ("z", "theta"):
            if step == "theta":
                own = [n for whole in (False, True) for n in ALL for w in z.items() if n in OWN.get(w, {})
                       and (n in WHOLE) == whole]  # fmt: skip
                b = {n: delta[n] - lam[n] * width[n] / rho for n in WHOLE}
                spots = [[ALL[n][0] + share * (ALL[n][1] - ALL[n][0]) for n, share in zip(own, spot, strict=True)]
                         for spot in SPOTS[len(own)][: calls - 1]]  # fmt: skip
                seen, largest = [], 0.0
                for values in ([x[n] for n in own], *(spots if own else ())):
                    theta, slack, now = {**x, **dict(zip(own, values, strict=True))}, u, None
                    if (found := told(z, theta)) is None:
                        value = max(1 + largest, *(each[0] for each in seen), 0.0)
                    else:
                        f, g = now = found
                        slack = min(max(1 - g / 0.5 - mu / rho, 0.0), 1.0)
                        apart = rho / 2 * sum(((theta[n] - b[n]) / width[n]) ** 2 for n in own if n in WHOLE)
                        largest = max(largest, apart + burden(g, slack))
                        value = f + apart + burden(g, slack)
                    seen.append((value, theta, slack, now))
                _, x, u, now = min(seen, key=lambda each: each[0])
                x = {n: x[n] if n in own or n not in WHOLE else clip(n, b[n]) for n in ALL}
                delta = {n: np.floor(clip(n, x[n] + lam[n] * width[n] / rho) + 0.5) for n in WHOLE}
                lam = {n: lam[n] + rho * (x[n] - delta[n]) / width[n] if now else lam[n] for n in WHOLE}
            else:
                looked = [
                    dict(zip(WAYS, combinations[k], strict=True)) for k in in_turn(len(combinations), seed)[:calls]
                ]
                values = [9e9 if t is None else t[0] + burden(t[1], u) for t in (told(w, x) for w in (z, *looked))]
                z = (z, *looked)[values.index(min(values))]
                now = told(z, x)
        mu += rho * (now[1] / 0.5 - 1 + u) if bounded and now else 0.0
        yield z, x, delta, lam, u, mu


@pytest.mark.takes_turns("conditions")
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
@pytest.mark.parametrize(
    ("rho", "raw", "bounded", "first", "i0", "factor", "often"),
    [
        (1.0, False, False, "theta", 16, 16, 0),
        (0.1, False, True, "theta", 16, 8, 0),
        (0.02, True, True, "z", 1, 16, 0),
        (10.0, False, True, "z", 16, 8, 0),
        (0.001, True, False, "theta", 16, 8, 0),
        (1.0, False, True, "theta", 16, 16, 2),
        (0.1, True, True, "z", 16, 8, 3),
    ],
)
def test_an_independent_one_has_the_same_numbers_in_every_iteration(
    rho: float, raw: bool, bounded: bool, first: Any, i0: int, factor: int, often: int, conditions: Any
) -> None:
    """Failures included: without them, or where one trial in so many fails, and with it the pipeline to begin with."""
    chosen = Admm(
        theta=NestedPlugin("looks", Looks()), z=NestedPlugin("in_turn", InTurn(3)), rho=rho,
        penalty="raw" if raw else "unit",
        first=first, i0=i0, factor=factor, conditions=conditions, reuse_history=not often, patience=FOREVER,
    )  # fmt: skip
    bounds = (BOUND,) if bounded else ()
    states, problem = [], Problem(table_space(), 100, np.random.default_rng(0), bounds=bounds)
    form = Target(conditions).lower(Structures(problem.space)).form
    splitting = AdmmUpdateSteps.from_box(form.theta_d, rho, chosen.penalty)
    iterations = AdmmIterations(
        chosen.iteration_settings(), problem, form, splitting, ConstraintResiduals.from_bounds(bounds, rho)
    )

    def search() -> Search:
        for iterations.iteration in range(ITERATIONS):
            yield from iterations.run_iteration()
            states.append(iterations.state)

    def evaluate(request: Request) -> Trial:
        values = dict(request.configuration)
        z = {stage: int(str(values.pop(stage))[1:]) for stage in WAYS}
        if is_broken(z, values, often):  # type: ignore[arg-type]
            return Trial(request, None, status=Status.ERROR)
        f, g = looked_up(z, values)  # type: ignore[arg-type]
        return Trial(request, f, constraints=(Measurement(BOUND, g),) if bounded else ())

    run_search(search(), InProcess(evaluate), FOREVER)
    schedule = [min(128, i0 + factor * t) for t in range(ITERATIONS)]
    twin = admm_of_few_lines(rho, raw=raw, bounded=bounded, first=first, schedule=schedule, seed=3, often=often)
    moved = {(0, 0, 0)}
    for state, (z, x, delta, lam, u, mu) in zip(states, twin, strict=True):
        taken = [int(state.point.z[block.columns].argmax()) for block in form.blocks]
        assert taken == list(z.values())
        moved.add(tuple(taken))
        assert dict(zip(form.theta_c.names, state.point.theta_c, strict=True)) == pytest.approx(
            {n: x[n] for n in ALL if n not in WHOLE}
        )
        for names, ours in ((x, state.relaxed_integers), (delta, state.delta), (lam, state.multipliers)):
            assert dict(zip(form.theta_d.names, ours, strict=True)) == pytest.approx({n: names[n] for n in WHOLE})
        if bounded:
            assert (*state.slack, *state.mu) == pytest.approx((u, mu))
    assert len(moved) > 1


# ---- toys


def admm(**options: Any) -> Admm:
    """ADMM without models, which are slow."""
    return OPTIMIZERS.configure(Admm, {"theta": "random", **{name: str(value) for name, value in options.items()}})


def started(optimizer: Admm, space: Space, seed: int = 0, **told: Any) -> Search:
    return optimizer.search(Problem(space, 100, np.random.default_rng(seed), **told))


@pytest.mark.takes_turns("conditions")
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
def test_without_hyperparameters_theta_min_has_one_evaluation(conditions: Any) -> None:
    z = InTurn()
    optimizer = replace(admm(conditions=conditions, i0=4, adaptive="false"), z=NestedPlugin("in_turn", z))
    driven = drive_search(started(optimizer, plain_space(2, 3)), hash_loss, 5)
    assert z.seen[0] == 4
    assert len(set(driven.requests)) == len(driven.requests) == 5


def x_of(conditions: Any = "mask") -> Space:
    x = hyperparameter("m.only.x", Grid(0, 5), 0, key="x")
    return make_space("separable", choice("m", branch("only", x)), choice("c", "a", "b", "c"))


def separable_loss(request: Request) -> float:
    values = request.configuration
    return {"a": 0.2, "b": 0.1, "c": 0.4}[str(values["c"])] + (float(str(values["x"])) - 2.3) ** 2 / 10


def least(optimizer: Admm, space: Space, loss: Callable[[Request], float]) -> float:
    """The least loss that is found."""
    losses: list[float] = []

    def evaluate(request: Request) -> Trial:
        losses.append(loss(request))
        return Trial(request, losses[-1])

    with suppress(OverError):
        run_search(started(optimizer, space), InProcess(evaluate), FOREVER)
    return min(losses)


@pytest.mark.takes_turns("conditions")
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
@pytest.mark.parametrize(("rho", "penalty"), [(0.001, "raw"), (0.1, "unit"), (1, "raw"), (1, "unit"), (10, "unit")])
def test_a_separable_loss_is_minimised_within_two_iterations(rho: float, penalty: Any, conditions: Any) -> None:
    optimizer = exact(2, rho=rho, penalty=penalty, conditions=conditions)
    assert least(optimizer, x_of(), separable_loss) == pytest.approx(0.109)


def stuck_loss(request: Request) -> float:
    values = request.configuration
    m = int(str(values["m"])[1:])
    return (0.3, 0.1, 0.5)[m] + {"a": 0.2, "b": 0.0}[str(values["c"])] + (float(str(values[f"x{m}"])) - 2.3) ** 2 / 10


def stuck_space() -> Space:
    ways = [
        branch(f"a{k}", hyperparameter(f"m.a{k}.x", Grid(0, 5), default, key=f"x{k}"))
        for k, default in enumerate((0, 5, 1))
    ]
    return make_space("stuck", choice("m", *ways), choice("c", "a", "b"))


@pytest.mark.full
def test_exact_sub_solvers_go_in_turns_to_a_local_optimum_and_elsewhere_when_nothing_is_new() -> None:
    assert least(exact(6, rho=1, penalty="raw"), stuck_space(), stuck_loss) == pytest.approx(0.309)
    assert least(exact(20, rho=1, penalty="raw", patience=1), stuck_space(), stuck_loss) == pytest.approx(0.109)


def test_it_goes_on_next_to_the_best_with_what_that_was_tuned_to() -> None:
    """Where it stalls one alternative was tuned; the others of its stage are next, among them that of the optimum."""
    assert least(exact(3, rho=1, penalty="raw", patience=1), stuck_space(), stuck_loss) == pytest.approx(0.109)


@pytest.mark.parametrize("patience", [0, -1])
def test_patience_is_an_iteration_at_least(patience: int) -> None:
    with pytest.raises(OptionError, match="patience"):
        Admm(patience=patience)


def test_where_selection_comes_first_it_does_not_leave_what_is_better() -> None:
    seed = next(each for each in range(99) if 0 not in in_turn(3, each)[:2])
    optimizer = replace(admm(first="z", i0=2, adaptive="false"), z=NestedPlugin("in_turn", InTurn(seed)))
    requests = drive_search(
        started(optimizer, x_of()), lambda request: float(request.configuration["c"] != "a"), 4
    ).requests
    assert [each.configuration["c"] for each in requests if each.memo] == ["a"]
    assert len(set(requests)) == 4


SELECTORS = ("cmab", "blds(b=20)", "random", "hyperband(b=20)", "daub(b=20)", "lds", "mlds(b=20)", "enumerate")
BO = "bo(initial=1000)"


def tied() -> Space:
    """A constraint ties an alternative to an integer that another one has: some z has no member at some theta."""
    low = hyperparameter("e.f.low", Grid(0, 3), 0, key="low")
    rule = forbid(And((BranchTest("s", ("scale",)), Compare("<", Reference("e.f.low"), Constant(2)))))
    return make_space("tied", choice("s", "none", "scale"), choice("e", branch("f", low), "g"), constraints=(rule,))


@pytest.mark.takes_turns("conditions")
@pytest.mark.takes_turns("first")
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
@pytest.mark.parametrize("z", [*SELECTORS, BO])
@pytest.mark.parametrize("first", range(3))
def test_all_that_is_evaluated_is_a_member(first: int, z: str, conditions: Any) -> None:
    for space in (*SMALL, stuck_space(), tied())[first::3]:
        optimizer = admm(z=z, conditions=conditions, i0=4, factor=4)
        for request in drive_search(started(optimizer, space), flaky_loss, 60 if IS_FULL else 30).requests:
            assert first_exclusion(space, request.configuration) is None


def test_z_without_a_member_at_the_present_theta_is_as_bad_as_a_failure() -> None:
    """At the default of `low` no pipeline scales before f: it is not evaluated, nor taken for another one."""
    z = InTurn()
    optimizer = replace(admm(i0=8, adaptive="false"), z=NestedPlugin("in_turn", z))
    driven = drive_search(started(optimizer, tied()), hash_loss, 60)
    assert driven.returned
    values = [dict(request.configuration) for request in driven.requests]
    assert {"s": "scale", "e": "f", "low": 2} in values
    assert not any(each.get("low", 2) < 2 and each["s"] == "scale" for each in values)  # type: ignore[operator]


# ---- constraints


def measuring(values: Callable[[Request], float], loss: Callable[[Request], float]) -> InProcess:
    return InProcess(lambda request: Trial(request, loss(request), constraints=(Measurement(BOUND, values(request)),)))


def shares(outcome: Outcome) -> tuple[float, float]:
    """The share of feasible pipelines, and the best feasible loss."""
    trials = [record.trial for record in outcome.records]
    kept = [trial.loss for trial in trials if trial.is_feasible and trial.loss is not None]
    return len(kept) / len(trials), min(kept, default=9.0)


def test_a_constraint_leads_to_what_keeps_to_it() -> None:
    """The best one breaks the bound: with it more keep to it, and the best of these is found."""
    rate = hyperparameter("m.a.r", Real(0.0, 1.0), 0.5, key="r")
    space = make_space("bounded", choice("m", branch("a", rate)), choice("c", *"abcdef"))

    def loss(request: Request) -> float:
        return (float(str(request.configuration["r"])) - 0.9) ** 2 + 0.1 * "fabcde".index(
            str(request.configuration["c"])
        )

    def measured(request: Request) -> float:
        return float(str(request.configuration["r"]))

    def found(bounds: tuple[FunctionBound, ...], seed: int) -> tuple[float, float]:
        search = started(replace(admm(i0=8, factor=0, theta="tpe")), space, seed, bounds=bounds)
        return shares(run_search(search, measuring(measured, loss), 60))

    def alone(request: Request) -> Trial:
        return Trial(request, loss(request))

    bounded = [found((BOUND,), seed) for seed in range(10)]
    free = []
    for seed in range(10):
        outcome = run_search(started(admm(i0=8, factor=0, theta="tpe"), space, seed), InProcess(alone), 60)
        free.append(sum(measured(each.trial.request) <= 0.5 for each in outcome.records) / 60)
    assert median(share for share, _ in bounded) > median(free)
    assert median(best for _, best in bounded) == pytest.approx(0.16, abs=0.03)


@pytest.mark.parametrize("slack", ["exact", "bo"])
def test_a_bound_that_nothing_comes_near_changes_nothing(slack: str) -> None:
    def requests(bounds: tuple[FunctionBound, ...], executor: InProcess) -> list[Request]:
        outcome = run_search(started(admm(i0=8, slack=slack), table_space(), bounds=bounds), executor, 100)
        return [record.trial.request for record in outcome.records]

    free = requests((), InProcess(lambda request: Trial(request, hash_loss(request))))
    bounded = requests((BOUND,), measuring(lambda _: 0.0, hash_loss))
    assert (bounded == free) == (slack == "exact")
    assert len(bounded) == 100


def test_a_margin_tightens_bounds_in_the_search() -> None:
    wide, tight = (Admm(margin=margin)._constraints((BOUND,)) for margin in (0.0, 0.2))
    assert (wide.epsilons.tolist(), tight.epsilons.tolist()) == ([0.5], [0.4])


# ---- the scope of hyperparameters


@dataclass
class Noting(InTurn):
    """z-min that notes how pipelines are configured, and what it is told to forget."""

    configured: list[dict[Pipeline, Configuration]] = field(default_factory=list)
    forgotten: list[Pipeline] = field(default_factory=list)

    def select(self, selection: SelectionProblem, *args: Any) -> SearchCoroutine[Pipeline]:
        self.configured.append({leaf: selection.configuration(leaf) for leaf in selection.tree.iter_leaves()})
        return (yield from super().select(selection, *args))

    def forget(self, pipeline: Pipeline) -> None:
        self.forgotten.append(pipeline)


@pytest.mark.parametrize("scope", ["algorithm", "pipeline"])
def test_who_has_what_was_tuned(scope: str) -> None:
    noting = Noting()
    optimizer = replace(admm(hp_scope=scope, i0=8, first="z"), z=NestedPlugin("noting", noting))
    drive_search(started(optimizer, x_of()), separable_loss, 60)
    for before, after in zip(noting.configured, noting.configured[1:], strict=False):
        changed = {leaf for leaf in before if before[leaf] != after[leaf]}
        assert len(changed) in ({0, 1} if scope == "pipeline" else {0, 3})
        assert changed <= set(noting.forgotten) or scope == "algorithm"
    assert any(a != b for a, b in zip(noting.configured, noting.configured[1:], strict=False))
    assert bool(noting.forgotten) == (scope == "pipeline")


# ---- spaces that have little


def test_a_space_without_hyperparameters_is_selected_from_until_it_is_exhausted() -> None:
    driven = drive_search(started(admm(), plain_space(3, 3, 2)), hash_loss, 1000)
    assert driven.returned
    assert len(driven.trials) == len(set(driven.requests)) == 18


def test_a_single_pipeline_is_tuned() -> None:
    rate = hyperparameter("e.f.rate", Real(0.0, 1.0), 0.5)
    space = make_space("one", choice("e", branch("f", rate)))
    requests = drive_search(started(admm(), space), hash_loss, 50).requests
    assert len(requests) == 50
    assert len(set(requests)) > 45
    assert drive_search(started(admm(), make_space("none", rate)), hash_loss, 50).trials


def test_a_single_configuration_is_evaluated_once() -> None:
    for space in (single_member_space(), plain_space(1), plain_space(1, 1)):
        driven = drive_search(started(admm(), space), hash_loss, 50)
        assert (len(set(driven.requests)), driven.returned) == (1, True)


def test_the_first_given_configuration_is_where_it_begins() -> None:
    space = continuous_space()
    given = Configuration({"s": "scale", "e": "f", "e.f.rate": 0.25})
    driven = drive_search(
        started(admm(), space, initial=(given, Configuration({"s": "none", "e": "g"}))), hash_loss, 20
    )
    assert driven.requests[0] == Request(given)


# ---- z as a tree


@pytest.mark.takes_turns("conditions")
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
@pytest.mark.parametrize("space", [*SMALL, stuck_space(), tied(), table_space()], ids=lambda space: space.name)
def test_pipelines_of_z_come_back(space: Space, conditions: Any) -> None:
    form = Target(conditions).lower(Structures(space)).form
    choosing = PipelineChoiceTree(form)
    for point in form.sample(40, np.random.default_rng(0)):
        pipeline = choosing.pipeline_of(point)
        assert choosing.tree.is_leaf(pipeline)
        back = choosing.point_of(pipeline, point)
        assert (back.z == point.z).all()
    kept = {tuple(choosing.point_of(leaf, form.default).z) for leaf in choosing.tree.iter_leaves()}
    assert len(kept) == choosing.tree.leaf_count
    if conditions == "mask" and space.name == "nested":
        assert choosing.tree.leaf_count == 2 * 3


def permuted() -> Space:
    """Steps in any order, and others within an alternative; a constraint ties an order to an alternative."""
    free = Choice("order", "order", "order", (Branch("a, b", SKIPPED_STEP), Branch("b, a", SKIPPED_STEP)))
    own = Choice("order", "e.f.order", "e.order", (Branch("c, d", SKIPPED_STEP), Branch("d, c", SKIPPED_STEP)))
    low = hyperparameter("e.f.low", Grid(0, 3), 0, key="low")
    inside = Product(
        ProductKind.PERMUTATION, (own, Operator("c", "toy.c", (low,)), Operator("d", "toy.d")), labels=("c", "d")
    )
    steps = Product(ProductKind.PERMUTATION, (free, choice("a", "x", "y"), Operator("b", "toy.b")), labels=("a", "b"))
    rule = forbid(And((BranchTest("order", ("b, a",)), BranchTest("a", ("y",)))))
    return make_space("permuted", steps, choice("e", Branch("f", inside), "g"), constraints=(rule,))  # type: ignore[arg-type]


@pytest.mark.takes_turns("conditions")
@pytest.mark.parametrize("conditions", ["mask", "flatten"])
@pytest.mark.parametrize("z", ["cmab", "blds(b=20)", BO])
def test_orders_of_steps_are_selected(z: str, conditions: Any) -> None:
    space = permuted()
    choosing = PipelineChoiceTree(Target(conditions).lower(Structures(space)).form)
    assert choosing.tree.leaf_count == 3 * (2 + 1)
    driven = drive_search(started(admm(z=z, conditions=conditions, i0=4, factor=4), space), flaky_loss, 5000)
    assert driven.returned
    whole = {request for request in driven.requests if request.fidelity is None}
    assert len(whole) == 3 * (2 * 4 + 1)


@settings(max_examples=8, deadline=None)
@given(
    space=spaces(), conditions=st.sampled_from(["mask", "flatten"]), scope=st.sampled_from(["algorithm", "pipeline"])
)
def test_a_finite_space_is_evaluated_as_a_whole(space: Space, conditions: Any, scope: str) -> None:
    everything = {
        Request(configuration)
        for structure in all_structures(space)
        for configuration in brute_force_members(space, structure)
    }
    optimizer = admm(conditions=conditions, hp_scope=scope, i0=4, factor=0)
    driven = drive_search(started(optimizer, space), flaky_loss, 5000)
    assert driven.returned
    assert set(driven.requests) == everything


# ---- options


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("rho", "0"), ("rho", "-1"), ("rho", "nan"), ("i0", "0"), ("imax", "8"), ("factor", "-1"), ("margin", "1"),
        ("margin", "-0.1"), ("theta", "boo"), ("z", "admm"), ("z", "cmab(f_hat=0)"), ("first", "delta"), ("f_hat", "0"),
    ],
)  # fmt: skip
def test_a_value_out_of_bounds_is_refused(option: str, value: str) -> None:
    with pytest.raises(OptionError) as caught:
        admm(**{option: value})
    assert caught.value.message
    assert caught.value.help


def test_f_hat_is_that_of_who_selects() -> None:
    assert str(admm(f_hat=0.3).z) == str(admm(z="cmab(f_hat=0.3)", f_hat=0.3).z) == "cmab(f_hat=0.3)"
    assert str(admm(z="cmab(f_hat=0.3)").z) == "cmab(f_hat=0.3)"
    assert str(replace(admm(f_hat=0.3), f_hat=0.4).z) == "cmab(f_hat=0.4)"
    for z in ("blds", "cmab(f_hat=0.5)"):
        with pytest.raises(OptionError, match=r"`f_hat` is 0\.3"):
            admm(z=z, f_hat=0.3)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_run(preset: str) -> None:
    chosen = admm(preset=preset, theta="random")
    assert drive_search(
        started(replace(chosen, z=admm(z=BO).z) if chosen.z.name == "bo" else chosen, stuck_space()), stuck_loss, 30
    ).trials


def test_presets_are_those_of_the_papers() -> None:
    blds = OPTIMIZERS.configure(Admm, {"preset": "admm_bo_blds2"})
    assert (blds.first, blds.hp_scope, str(blds.theta), str(blds.z)) == ("z", "pipeline", "bo", "blds(disc=2)")
    assert [blds.iteration_settings().schedule.calls(t) for t in (0, 1, 7, 8)] == [16, 32, 128, 128]
    fixed = OPTIMIZERS.configure(Admm, {"preset": "admm256_bo_ba"})
    assert (str(fixed.z), fixed.first, {fixed.iteration_settings().schedule.calls(t) for t in range(20)}) == (
        "cmab",
        "theta",
        {256},
    )
    growing = OPTIMIZERS.configure(Admm, {"preset": "adadmm_f8_bo_bo"})
    assert (str(growing.z), [growing.iteration_settings().schedule.calls(t) for t in (1, 14)]) == ("bo", [24, 128])


def test_after_tuning_the_selector_knows_all_but_the_tuned_pipeline() -> None:
    """BLDS under ADMM with the scope of a pipeline: what is asked for again is that pipeline's alone."""
    optimizer = admm(preset="admm_bo_blds1", theta="random", z="blds(b=20)", i0=4)
    driven = drive_search(started(optimizer, stuck_space()), stuck_loss, 120)
    tuned = {way(each) for each in driven.requests if each.memo}
    others = [each for each in driven.requests if way(each) not in tuned]
    assert len(set(others)) == len(others) > 0
    assert any(each.fidelity is not None for each in others)


def way(request: Request) -> tuple[object, ...]:
    return request.configuration["m"], request.configuration["c"]


def test_a_bound_below_zero_is_refused() -> None:
    with pytest.raises(OptionError, match="the bound of `low` is negative: -1"):
        next(started(admm(), plain_space(2, 2), bounds=(FunctionBound("low", -1.0),)))


@pytest.mark.parametrize("options", [{}, {"z": BO, "slack": "bo", "hp_scope": "pipeline", "first": "z"}], ids=str)
def test_with_models_it_goes_on_where_it_was_killed(options: dict[str, str]) -> None:
    """A third fails, and failures are worth what was told before them: that is told again, too."""
    chosen = admm(theta="bo", i0=8, factor=4, **options)

    def run(
        crew: InProcess | SimulatedExecutor, journal: MemoryTrialStorage
    ) -> list[tuple[Request, Any, float | None]]:
        search = started(chosen, tied_and_tuned(), bounds=(BOUND,))
        records = run_search(search, crew, 30 if IS_FULL else 20, journal=journal).records
        return [(each.trial.request, each.trial.request.memo, each.trial.loss) for each in records]

    for crew in (InProcess(measured_moodily), SimulatedExecutor(measured_moodily, workers=2)):
        first = MemoryTrialStorage()
        whole = run(crew, first)
        assert any(memo for _, memo, _ in whole)
        for stop in (7, 19) if IS_FULL else (13,):
            resumed = run(InProcess(measured_moodily), first.killed_after(stop))
            assert resumed[:stop] == whole[:stop]
            assert resumed == whole or not isinstance(crew, InProcess)


@pytest.mark.parametrize("scope", ["algorithm", "pipeline"])
def test_what_is_known_of_a_pipeline_is_what_was_evaluated(scope: str) -> None:
    problem = Problem(table_space(), 100, np.random.default_rng(0))
    form = Target().lower(Structures(problem.space)).form
    chosen = admm(hp_scope=scope, i0=3, factor=0)
    iterations = AdmmIterations(
        chosen.iteration_settings(),
        problem,
        form,
        AdmmUpdateSteps.from_box(form.theta_d, chosen.rho),
        ConstraintResiduals.from_bounds((), 1.0),
    )
    drive_search(iterations.run(), flaky_loss, 150)
    choosing, looked_at = PipelineChoiceTree(form), 0
    for pipeline in choosing.tree.iter_leaves():
        point = choosing.point_of(pipeline, form.default)
        cube = ThetaCube.from_mask(form, form.variables_of_selected_alternatives(point))
        for theta, trial in iterations._pipeline_trials.trials_of(pipeline, cube):
            assert nearest_members(form, [cube.copy_with_theta(theta, point)]) == [trial.request.configuration]
            looked_at += 1
    assert looked_at > 100


def measured_moodily(request: Request) -> Trial:
    loss = flaky_loss(request)
    answered = Trial(request, loss, 1.0, Status.ERROR if loss is None else Status.SUCCESS)
    return answered if loss is None else replace(answered, constraints=(Measurement(BOUND, hash_loss(request) + 0.2),))


def tied_and_tuned() -> Space:
    rate = hyperparameter("e.g.rate", Real(1e-3, 1.0, log=True), 0.1, key="rate")
    low = hyperparameter("e.f.low", Grid(0, 30), 10, key="low")
    rule = forbid(And((BranchTest("s", ("scale",)), Compare("<", Reference("e.f.low"), Constant(12)))))
    return make_space(
        "both", choice("s", "none", "scale"), choice("e", branch("f", low), branch("g", rate)), constraints=(rule,)
    )


def test_models_find_what_is_best() -> None:
    """With the options of the paper, BO and CMAB, theta is better tuned than at random."""

    def loss(request: Request) -> float:
        rate = request.configuration.get("e.f.rate")
        return 0.9 if not isinstance(rate, float) else abs(np.log10(rate) + 1.7) / 4

    best = [
        min(t.loss or 0 for t in drive_search(started(Admm(), continuous_space(), seed), loss, 30).trials)
        for seed in range(2)
    ]
    assert max(best) < 0.02
