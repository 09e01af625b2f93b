"""Values near the defaults that satisfy constraints which the solver cannot decide, found by trying."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from math import exp, log
from random import Random
from typing import Final

from spacelang.ir.domain import Domain, Grid, NotFound, Real, members, parts
from spacelang.ir.domain_questions import nearest_value
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, are_same

MAX_LISTED: Final = 40  # Up to this size, all values of a range are tried
POINTS: Final = 33  # The number of values of a larger range that are tried
MAX_PAIRS: Final = 20_000  # The maximum number of joint values of two hyperparameters that are tried
MAX_RANDOM: Final = 100_000  # The maximum number of joint random values that are tried


def find_near_defaults(
    nodes: Sequence[Hyperparameter], holds: Callable[[Mapping[str, Value]], bool]
) -> dict[str, Value] | None:
    """Return values by address that satisfy `holds`, with as few and as small changes of defaults as were found.

    One hyperparameter is changed, then two, then all of them at random; of random values, those that can keep their
    defaults do. None if nothing is found; `check` admits a space only if one of 10,000 random values satisfies it.
    """
    defaults = {node.address: node.default for node in nodes}
    options = {
        node.address: [value for value in _tried(node.domain) if not are_same(value, node.default)] for node in nodes
    }
    found = next(filter(holds, _few_changes(options, defaults)), None)
    if found is None:
        random = Random(0)
        drawn = ({node.address: _draw(node.domain, random) for node in nodes} for _ in range(MAX_RANDOM))
        found = next(filter(holds, drawn), None)
        for address, value in defaults.items() if found is not None else ():
            found = changed if holds(changed := {**found, address: value}) else found
    return found


def _few_changes(options: Mapping[str, Sequence[Value]], defaults: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    yield dict(defaults)
    yield from _changes_of(1, options, defaults)
    yield from islice(_changes_of(2, options, defaults), MAX_PAIRS)


def _changes_of(
    number: int, options: Mapping[str, Sequence[Value]], defaults: Mapping[str, Value]
) -> Iterator[dict[str, Value]]:
    for names in combinations(options, number):
        ordered = [_by_distance(options[name], defaults[name]) for name in names]
        for values in product(*ordered):
            yield {**defaults, **dict(zip(names, values, strict=True))}


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
            found += dict.fromkeys(_member_at(place / (POINTS - 1), part) for place in range(POINTS))
        else:
            found += members(part)
    return found


def _draw(domain: Domain, random: Random) -> Value:
    """Return a random value of a domain: of a random part, uniform or log-uniform."""
    part = random.choice(parts(domain))
    if not isinstance(part, Real | Grid):
        return random.choice(part.values)
    return _member_at(random.random(), part)


def _member_at(share: float, part: Real | Grid) -> Value:
    """Return the member nearest to a share of the length of a range, on the logarithmic scale under `log`."""
    lower, upper = float(part.lower), float(part.upper)
    number = exp(log(lower) + share * (log(upper) - log(lower))) if part.log else lower + share * (upper - lower)
    found = part.find(number)
    if isinstance(found, NotFound):
        found = nearest_value(number, part)
    return part.representative if isinstance(found, NotFound) else found
