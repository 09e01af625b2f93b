"""Every optimizer with a model is ahead of random search on cheap functions (`tests/benchmark_functions.py`).

Both search with the same seed; the one with the smaller regret is ahead. Runs depend on the seed alone.

In the full form an optimizer has 100 trials and must be ahead for at least 8 of 10 seeds, on a noisy function for at
least 5. In the reduced form it must be ahead for at least 2 of 3 seeds. `REDUCED` holds optimizers that take long: they
search fewer functions, with fewer trials or a smaller model. Its cases are ahead for all 3 seeds where they were
chosen, so that another processor may lose one. In both forms the median regret must be smaller than that of random
search.

A new optimizer takes part by itself, with 100 trials on the bowl and on the conditional function, unless it is listed
in `WITHOUT_MODEL`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Final, TypeAlias

import pytest
from benchmark_functions import FUNCTIONS, TRIALS, regret
from trying import IS_FULL

from spacelang.optimizers import OPTIMIZERS

SEEDS: Final = 10 if IS_FULL else 3
NEEDED: Final[Mapping[str, int]] = {"noisy": 5}
"""The number of 10 seeds for which an optimizer must be ahead, by function."""
USUALLY_NEEDED: Final = 8
NEEDED_IF_REDUCED: Final = 2

USUAL: Final = ("bowl", "conditional")
"""The functions for an optimizer that searches whole spaces; in the full form also `noisy`."""
PARTIAL: Final[Mapping[str, tuple[str, ...]]] = {
    "bo": ("pipelines",),
    "cmab": ("pipelines",),
    "random_forest_tpe": ("bowl",),
}
"""The functions for optimizers that search a part of a space only."""

WITHOUT_MODEL: Final = frozenset(
    ("blds", "daub", "enumerate", "hyperband", "lds", "mlds", "random", "select_best", "successive_halving")
)
"""Optimizers that propose without a model of the loss; `daub` has one of learning curves, which need growing data."""

Options: TypeAlias = tuple[tuple[str, str], ...]
BEST_OF_MOSAIC: Final[Options] = (("backup", "best"), ("rewards", "rescaled"))
VARIANTS: Final[Mapping[str, tuple[Options, ...]]] = {
    "mosaic": ((), BEST_OF_MOSAIC),
    "tpe": ((), (("library", "optuna"),)),
}
"""The options with which an optimizer takes part; the others take part with their defaults."""


@dataclass(frozen=True)
class Case:
    """An optimizer with options on a function."""

    optimizer: str
    function: str
    options: Options = ()
    trials: int = TRIALS

    def __str__(self) -> str:
        return "-".join([self.optimizer, *(f"{name}={value}" for name, value in self.options), self.function])

    @property
    def ahead(self) -> int:
        """The number of seeds for which the optimizer is ahead of random search."""
        return sum(own < other for own, other in zip(regrets(self), regrets(self.baseline), strict=True))

    @property
    def needed(self) -> int:
        """The number of seeds for which the optimizer must be ahead."""
        return NEEDED.get(self.function, USUALLY_NEEDED) if IS_FULL else NEEDED_IF_REDUCED

    @property
    def baseline(self) -> "Case":
        """Random search on the same function."""
        return replace(self, optimizer="random", options=())


REDUCED: Final[Mapping[str, tuple[Case, ...]]] = {
    "admm": (Case("admm", "bowl", trials=20),),
    "auto": (Case("auto", "bowl", trials=40),),
    "bo": (Case("bo", "pipelines", trials=40),),
    "boasf": (Case("boasf", "conditional"),),
    "jopt": (Case("jopt", "bowl", trials=30),),
    "mosaic": (Case("mosaic", "bowl", (("n_r", "100"), ("n_s", "10"), ("trees", "10")), trials=60),),
    "optuna": (Case("optuna", "bowl", trials=40),),
    "random_forest_tpe": (Case("random_forest_tpe", "bowl", trials=40),),
    "smac": (),
    "tpe": (
        Case("tpe", "bowl", trials=40),
        Case("tpe", "conditional", trials=40),
        Case("tpe", "conditional", (("library", "optuna"),), trials=40),
    ),
}
"""The cases of the reduced form, for optimizers that take long; `smac` takes too long."""

EXCEPTIONS: Final = frozenset(
    (
        Case("admm", "conditional"),
        Case("bohb", "bowl"),
        Case("mosaic", "conditional"),
        Case("mosaic", "noisy"),
        Case("mosaic", "noisy", BEST_OF_MOSAIC),
    )
)
"""The cases in which an optimizer is not ahead: spacelang/optimizers/README.md, section "Cheap functions", says why."""


def cases() -> Iterator[Case]:
    for name in OPTIMIZERS.names():
        if name in REDUCED and not IS_FULL:
            yield from REDUCED[name]
        elif name not in WITHOUT_MODEL:
            usual = (*USUAL, "noisy") if IS_FULL else USUAL
            for options in VARIANTS.get(name, ((),)):
                yield from (Case(name, function, options) for function in PARTIAL.get(name, usual))


@cache
def regrets(case: Case) -> tuple[float, ...]:
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(case.optimizer), dict(case.options))
    return tuple(regret(optimizer, FUNCTIONS[case.function], seed, case.trials) for seed in range(SEEDS))


@pytest.mark.parametrize("case", [each for each in cases() if each not in EXCEPTIONS], ids=str)
def test_an_optimizer_with_a_model_is_ahead_of_random_search(case: Case) -> None:
    assert case.ahead >= case.needed, regrets(case)
    assert median(regrets(case)) < median(regrets(case.baseline))


@pytest.mark.full
@pytest.mark.parametrize("case", sorted(EXCEPTIONS, key=str), ids=str)
def test_an_exception_is_still_one(case: Case) -> None:
    assert case.ahead < case.needed, "remove it from the exceptions and from the README"


def test_every_listed_optimizer_exists() -> None:
    listed = {*WITHOUT_MODEL, *PARTIAL, *VARIANTS, *REDUCED, *(each.optimizer for each in EXCEPTIONS)}
    assert listed <= set(OPTIMIZERS.names())
