"""Values near the defaults that satisfy constraints which the solver cannot decide, found by trying."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import exp, log
from random import Random
from typing import Final

from spacelang.ir.domain import Domain, Grid, NotFound, Real, members, parts
from spacelang.ir.domain_questions import nearest_value
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, are_same

MAX_LISTED: Final = 40  # Up to this size, all values of a range are tried
POINTS: Final = 33  # The number of values of a larger range that are tried
TRIES: Final = 10_000  # The maximum number of joint random values that are tried


def find_near_defaults(
    nodes: Sequence[Hyperparameter], holds: Callable[[Mapping[str, Value]], bool]
) -> dict[str, Value] | None:
    """Return values by address that satisfy `holds`, with as few and as small changes of defaults as were found.

    One hyperparameter is changed, then two, then all of them at random. None if nothing is found.
    """
    options = {
        node.address: [value for value in _tried(node.domain) if not are_same(value, node.default)] for node in nodes
    }
    for changed in _changes(options, {node.address: node.default for node in nodes}):
        if holds(changed):
            return changed
    return None


def _changes(options: Mapping[str, Sequence[Value]], defaults: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    yield dict(defaults)
    for number in (1, 2):
        for names in combinations(options, number):
            ordered = [_by_distance(options[name], defaults[name]) for name in names]
            for values in product(*ordered):
                yield {**defaults, **dict(zip(names, values, strict=True))}
    random = Random(0)
    every = {name: [defaults[name], *values] for name, values in options.items()}
    for _ in range(TRIES):
        yield {name: random.choice(values) for name, values in every.items()}


def _by_distance(values: Sequence[Value], default: Value) -> list[Value]:
    """Return values, the numbers by their distance from the default first."""
    if isinstance(default, bool) or not isinstance(default, int | float):
        return [*values]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    others = [v for v in values if isinstance(v, bool) or not isinstance(v, int | float)]
    return [*sorted(numbers, key=lambda value: abs(value - default)), *others]


def _tried(domain: Domain) -> list[Value]:
    found: list[Value] = []
    for part in parts(domain):
        if isinstance(part, Real | Grid) and not (part.size is not None and part.size <= MAX_LISTED):
            near = (nearest_value(each, part) for each in _points(part))
            found += dict.fromkeys(value for value in near if not isinstance(value, NotFound))
        else:
            found += members(part)
    return found


def _points(part: Real | Grid) -> Iterator[float]:
    lower, upper = float(part.lower), float(part.upper)
    for place in range(POINTS):
        share = place / (POINTS - 1)
        if part.log:
            yield exp(log(lower) + share * (log(upper) - log(lower)))
        else:
            yield lower + share * (upper - lower)
