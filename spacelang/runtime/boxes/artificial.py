"""The artificial black box of ADMM's appendix 15, over any space: deterministic, without data.

The taken alternatives are modules, one behind the other, each with random weights w for its hyperparameters theta and
random numbers xi_1 to xi_n of its own, all fixed by one seed. From f_0 = 0 on, a module makes of what came before

    v_i = |w_i . theta_i / sum(theta_i)|        f_i = max over m of |f_{i-1} + v_i xi_m|

and the loss is what the last one makes. It is 0 or more, and may well be above 1.

See spacelang/optimizers/README.md, section "Artificial objective".
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, sha256
from operator import mul
from typing import Final, assert_never

import numpy as np

from spacelang.draws.codes import code_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain
from spacelang.ir.space import Choice, Hyperparameter, Kind, Node, Operator, Product, Space, bodies
from spacelang.ir.trial import Request, Trial
from spacelang.ir.value import Value
from spacelang.runtime.boxes import ARTIFICIAL, BlackBox
from spacelang.runtime.errors import DataError
from spacelang.runtime.storing.header import DataFacts

DRAWS: Final = 10
"""So many numbers xi a module has."""

NOTHING: Final = 1e-12
"""Hyperparameters whose sum is no larger do nothing."""

VERSION: Final = 1
"""Of what the losses of a seed are: they are other ones where this is another number."""

KEPT: Final = 1 << 16
"""So many weights and modules are drawn once."""


@dataclass(frozen=True, slots=True)
class TakenAlternative:
    """An alternative that is taken, by a name that is unique in the space.

    `values` are those of its active hyperparameters by their addresses, as numbers.
    """

    name: str
    values: Mapping[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class ArtificialObjective(BlackBox):
    """The losses of a seed over a space; `artificial` makes it."""

    space: Space
    seed: int
    clock: Callable[[], float] = time.perf_counter

    def evaluate(self, request: Request) -> Trial:
        """The loss of a configuration; its cost is the time that reckoning it has taken."""
        started = self.clock()
        loss = 0.0
        for module in modules(self.space.root, request.configuration):
            weights = [_weight(self.seed, address) for address in module.values]
            share = share_of(weights, [*module.values.values()])
            loss = passed(loss, share, _draws(self.seed, module.name))
        return Trial(request, loss, self.clock() - started)


def artificial(space: Space, seed: int, *, clock: Callable[[], float] = time.perf_counter) -> ArtificialObjective:
    """The box of a seed over a space; raises DataError where the task of the space bounds what a box has not."""
    name = f"{ARTIFICIAL}{seed}"
    bounds = () if space.task is None else space.task.bounds
    if bounds:
        message = f"the space bounds `{bounds[0].name}`, which `{name}` does not have"
        raise DataError(message, "take a space without `subject to`, or data")
    facts = DataFacts(name, 0, 0, sha256(f"{name} version {VERSION}".encode()).hexdigest())
    return ArtificialObjective(facts=facts, is_cheap=True, space=space, seed=seed, clock=clock)


def seed_of(reference: str) -> int:
    """The seed in `artificial:SEED`; raises DataError where there is none."""
    text = reference.removeprefix(ARTIFICIAL)
    if not (text.isascii() and text.isdecimal()):
        raise DataError(f"`{reference}` has no seed", f"take a whole number from 0 on: `{ARTIFICIAL}7`")
    return int(text)


# ---- the formula


def share_of(weights: Sequence[float], theta: Sequence[float]) -> float:
    """v: how much of the hyperparameters their weights leave, whatever their unit; 0 where they come to nothing."""
    if abs(math.fsum(theta)) < NOTHING:
        return 0.0
    # As shares of the largest one, no sum is beyond all floats.
    largest = max(map(abs, theta))
    parts = [value / largest for value in theta]
    return abs(math.fsum(map(mul, weights, parts)) / math.fsum(parts))


def passed(before: float, share: float, draws: Sequence[float]) -> float:
    """What a module makes of what came before: the farthest from 0 that any of its draws leads to."""
    return max((abs(before + share * each) for each in draws), default=abs(before))


@lru_cache(maxsize=KEPT)
def _weight(seed: int, address: str) -> float:
    """w of a hyperparameter, which depends on nothing but its address and the seed."""
    return float(_chance(seed, "weight", address).standard_normal())


@lru_cache(maxsize=KEPT)
def _draws(seed: int, module: str) -> tuple[float, ...]:
    """xi_1 to xi_n of a module."""
    return tuple(_chance(seed, "draws", module).standard_normal(DRAWS).tolist())


def _chance(*words: object) -> np.random.Generator:
    digest = blake2b(repr(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest))


# ---- the modules of a configuration


def modules(node: Node, configuration: Configuration, name: str = "") -> Iterator[TakenAlternative]:
    """The modules of a member in the order in which a pipeline has them; those inside of another one follow it.

    `name` is that of the module that a step belongs to without any decision: it stands in none of its own.
    """
    match node:
        case Choice():
            taken = str(configuration[node.key])
            branch = node.branches[node.places[taken]].node
            yield from modules(branch, configuration, f"{node.address}={taken}")
        case Product():
            places = {id(child): place for place, child in enumerate(node.children)}
            for child in _steps(node, configuration):
                yield from modules(child, configuration, f"{name}/{places[id(child)]}")
        case Operator() | Hyperparameter():
            own = [node] if isinstance(node, Hyperparameter) else [c for each in bodies(node) for c in each.children]
            numbers = [each for each in own if isinstance(each, Hyperparameter) and each.key in configuration]
            yield TakenAlternative(
                name, {each.address: number_of(each.domain, configuration[each.key]) for each in numbers}
            )
            for each in own:
                if isinstance(each, Choice):
                    yield from modules(each, configuration)
        case _:
            assert_never(node)


def _steps(product: Product, configuration: Configuration) -> tuple[Node, ...]:
    """The parts of a product in their order."""
    match product:
        case Product(kind=Kind.PERMUTATION, children=(Choice() as order, *_)):
            return product.ordered(str(configuration[order.key]))
        case _:
            return product.children


def number_of(domain: Domain, value: Value) -> float:
    """A value as a number: itself in a range, its place, from 0, in a set."""
    return float(code_of(domain, value)[1])
