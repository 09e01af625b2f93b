"""The artificial black box of the ADMM paper (appendix 15): a deterministic formula over any space.

The chosen alternatives are modules that run one after the other. Each module has random weights w for its
hyperparameters theta and random numbers xi_1 to xi_n. One seed determines all of them. Starting from f_0 = 0, module i
computes

    v_i = |w_i . theta_i / sum(theta_i)|        f_i = max over m of |f_{i-1} + v_i xi_m|

and the loss is the value of the last module. It is 0 or more, and can be well above 1.

See spacelang/optimizers/README.md, section "Artificial objective".
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, sha256
from operator import mul
from typing import Any, Final, assert_never

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, ProductKind, Space
from spacelang.ir.trial import Request, Trial
from spacelang.ir.walk import operator_and_fixed_operators
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX, BlackBoxObjective
from spacelang.runtime.errors import DataError
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.sampling.value_codes import part_index_and_code

DRAWS_PER_MODULE: Final = 10  # The number n of random numbers xi of a module
ZERO_SUM: Final = 1e-12  # A sum of hyperparameters below this counts as 0
VERSION: Final = 1  # The version of the losses of a seed. Increase it whenever these change
CACHE_SIZE: Final = 1 << 16  # The number of weights, and of modules, whose random numbers are cached


@dataclass(frozen=True, slots=True)
class ChosenAlternative:
    """A chosen alternative: its name, unique in the space, and its active hyperparameters as numbers by address."""

    name: str
    values: Mapping[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class ArtificialObjective(BlackBoxObjective):
    """The artificial losses of a seed over a space. `make_artificial_objective` creates it."""

    space: Space
    seed: int

    def evaluate(self, request: Request) -> Trial:
        """Return the trial of a configuration. Its cost is the time that the computation took."""
        started = time.perf_counter()
        loss = 0.0
        for module in iter_chosen_alternatives(self.space.root, request.configuration):
            weights = [_weight(self.seed, address) for address in module.values]
            share = absolute_weighted_mean(weights, [*module.values.values()])
            loss = largest_absolute_shifted_value(loss, share, _draws(self.seed, module.name))
        return Trial(request, loss, time.perf_counter() - started)


def make_artificial_objective(space: Space, seed: int) -> ArtificialObjective:
    """Create the artificial objective of a seed over a space; raise DataError if the task has a bound."""
    name = f"{ARTIFICIAL_PREFIX}{seed}"
    bounds = () if space.task is None else space.task.bounds
    if bounds:
        message = f"the task of the space bounds `{bounds[0].name}`, but the objective `{name}` does not measure it"
        raise DataError(message, "use a space without `subject to`, or give data")
    facts = DataFacts(name, 0, 0, sha256(f"{name} version {VERSION}".encode()).hexdigest())
    return ArtificialObjective(facts=facts, is_cheap=True, space=space, seed=seed)


def parse_seed(reference: str) -> int:
    """Return the seed in `artificial:SEED`; raise DataError if there is none."""
    text = reference.removeprefix(ARTIFICIAL_PREFIX)
    if not (text.isascii() and text.isdecimal()):
        raise DataError(f"`{reference}` has no seed", f"append a whole number, at least 0: `{ARTIFICIAL_PREFIX}7`")
    return int(text)


def absolute_weighted_mean(weights: Sequence[float], theta: Sequence[float]) -> float:
    """Return v = |weights . theta / sum(theta)|, for any unit of theta, or 0 if theta sums to 0."""
    if abs(math.fsum(theta)) < ZERO_SUM:
        return 0.0
    # Divided by the largest value, so that no sum overflows.
    largest = max(map(abs, theta))
    parts = [value / largest for value in theta]
    return abs(math.fsum(map(mul, weights, parts)) / math.fsum(parts))


def largest_absolute_shifted_value(before: float, share: float, draws: Sequence[float]) -> float:
    """Return the output of a module: the largest |before + share * draw| over its draws."""
    return max((abs(before + share * each) for each in draws), default=abs(before))


@lru_cache(maxsize=CACHE_SIZE)
def _weight(seed: int, address: str) -> float:
    """Return the weight w of a hyperparameter, which depends only on the address and the seed."""
    return float(_generator(seed, "weight", address).standard_normal())


@lru_cache(maxsize=CACHE_SIZE)
def _draws(seed: int, module: str) -> tuple[float, ...]:
    """Return the numbers xi_1 to xi_n of a module."""
    return tuple(_generator(seed, "draws", module).standard_normal(DRAWS_PER_MODULE).tolist())


def _generator(*words: object) -> np.random.Generator:
    digest = blake2b(repr(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest))


def iter_chosen_alternatives(node: Node, configuration: Configuration, name: str = "") -> Iterator[ChosenAlternative]:
    """Yield the chosen alternatives of a configuration in pipeline order.

    An alternative is named after the decision that chooses it (`ADDRESS=CHOICE`), and the steps in a sequence after
    their positions in it (`/0`). `name` is the name of `node` itself if it is no decision.
    """
    match node:
        case Choice():
            taken = str(configuration[node.key])
            branch = node.branches[node.branch_indices[taken]].node
            yield from iter_chosen_alternatives(branch, configuration, f"{node.address}={taken}")
        case Product():
            places = {id(child): place for place, child in enumerate(node.children)}
            for child in _steps(node, configuration):
                yield from iter_chosen_alternatives(child, configuration, f"{name}/{places[id(child)]}")
        case Operator() | Hyperparameter():
            own: list[Any] = [node]
            if isinstance(node, Operator):
                own = [child for each in operator_and_fixed_operators(node) for child in each.children]
            numbers = [each for each in own if isinstance(each, Hyperparameter) and each.key in configuration]
            # A value counts as itself in a range, and as its index from 0 in a set.
            values = {
                each.address: float(part_index_and_code(each.domain, configuration[each.key])[1]) for each in numbers
            }
            yield ChosenAlternative(name, values)
            for each in own:
                if isinstance(each, Choice):
                    yield from iter_chosen_alternatives(each, configuration)
        case _:
            assert_never(node)


def _steps(product: Product, configuration: Configuration) -> tuple[Node, ...]:
    if product.kind is ProductKind.PERMUTATION and isinstance(order := product.children[0], Choice):
        return product.steps_in_order(str(configuration[order.key]))
    return product.children
