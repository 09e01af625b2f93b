"""Every optimizer with a model is ahead of random search on cheap functions (`tests/benchmark_functions.py`).

Both search with the same seed; the smaller regret after 100 trials is ahead. In the full form an optimizer must be
ahead for at least 8 of 10 seeds, with noise for at least 6. In the reduced form it must be ahead for at least 2 of 3,
and functions with noise are left out. In both its median regret must be smaller. A new optimizer takes part by itself,
unless it is listed in `WITHOUT_MODEL`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Final

import pytest
from benchmark_functions import BOWL, CONDITIONAL, NOISY, PIPELINES, BenchmarkFunction, regret
from trying import IS_FULL

from spacelang.optimizers import OPTIMIZERS

SEEDS: Final = 10 if IS_FULL else 3

FUNCTIONS: Final[Mapping[str, BenchmarkFunction]] = {
    "bowl": BOWL,
    "conditional": CONDITIONAL,
    "noisy": NOISY,
    "pipelines": PIPELINES,
}
USUAL: Final = ("bowl", "conditional", "noisy") if IS_FULL else ("bowl", "conditional")
"""The functions for an optimizer that searches whole spaces."""

WITHOUT_MODEL: Final = frozenset(
    ("blds", "cmab", "daub", "enumerate", "hyperband", "lds", "mlds", "random", "select_best", "successive_halving")
)
"""Optimizers that propose without a model of the loss."""

PARTIAL: Final[Mapping[str, tuple[str, ...]]] = {"bo": ("pipelines",), "random_forest_tpe": ("bowl",)}
"""The functions for optimizers that search a part of a space only."""

VARIANTS: Final[Mapping[str, tuple[dict[str, str], ...]]] = {
    "mosaic": ({}, {"rewards": "rescaled"}, {"rewards": "rescaled", "backup": "best"}),
    "smac": ({},) if IS_FULL else ({"retrain_after": "8", "challengers": "1000"},),
    "tpe": ({}, {"library": "optuna"}),
}
"""The options with which an optimizer takes part; the others take part with their defaults."""


@dataclass(frozen=True)
class Case:
    """An optimizer with options on a function."""

    optimizer: str
    options: tuple[tuple[str, str], ...]
    function: str

    def __str__(self) -> str:
        return "-".join([self.optimizer, *(f"{name}={value}" for name, value in self.options), self.function])

    @property
    def ahead(self) -> int:
        """The number of seeds for which the optimizer is ahead of random search."""
        pairs = zip(regrets(self), regrets(Case("random", (), self.function)), strict=True)
        return sum(own < other for own, other in pairs)

    @property
    def needed(self) -> int:
        """The number of seeds for which the optimizer must be ahead."""
        if not IS_FULL:
            return 2
        return 6 if self.function == "noisy" else 8


EXCEPTIONS: Final = frozenset({
    Case("admm", (), "conditional"),
    Case("bohb", (), "bowl"),
    Case("mosaic", (), "conditional"),
})  # fmt: skip
"""What spacelang/optimizers/README.md explains, section "Cheap functions"."""


def cases() -> Iterator[Case]:
    for name in OPTIMIZERS.names():
        if name not in WITHOUT_MODEL:
            for options in VARIANTS.get(name, ({},)):
                for function in PARTIAL.get(name, USUAL):
                    yield Case(name, tuple(options.items()), function)


@cache
def regrets(case: Case) -> tuple[float, ...]:
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(case.optimizer), dict(case.options))
    return tuple(regret(optimizer, FUNCTIONS[case.function], seed) for seed in range(SEEDS))


@pytest.mark.parametrize("case", [each for each in cases() if each not in EXCEPTIONS], ids=str)
def test_an_optimizer_with_a_model_is_ahead_of_random_search(case: Case) -> None:
    assert case.ahead >= case.needed, regrets(case)
    assert median(regrets(case)) < median(regrets(Case("random", (), case.function)))


@pytest.mark.full
@pytest.mark.parametrize("case", sorted(EXCEPTIONS, key=str), ids=str)
def test_an_exception_is_still_one(case: Case) -> None:
    assert case.ahead < case.needed, "remove it from the exceptions and from the README"


def test_every_listed_optimizer_exists() -> None:
    listed = {*WITHOUT_MODEL, *PARTIAL, *VARIANTS, *(each.optimizer for each in EXCEPTIONS)}
    assert listed <= set(OPTIMIZERS.names())
