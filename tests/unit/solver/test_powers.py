"""Comparisons of powers with constants over continuous and very large ranges: exact at the last digit."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

import spacelang as sl
from spacelang.analysis import check
from spacelang.ir.membership import first_exclusion
from spacelang.text import Source


def space_of(domain: str, *rules: str) -> sl.Space:
    lines = "\n".join(f"  {rule}" for rule in rules)
    return sl.parse(f"abstract made\nstage e = made {{\n  x : {domain}\n{lines}\n}}")


@pytest.mark.parametrize(
    ("domain", "rule", "holds"),
    [
        ("float[0.1, 1] = 0.2", "require x ** 2 <= 0.5", lambda x: x**2 <= Fraction(1, 2)),
        ("float[-2, 2] = 0", "forbid x ** 2 > 2", lambda x: x**2 <= 2),
        ("float[-2, 2] = -2", "require x ** 3 < -3", lambda x: x**3 < -3),
        ("float[0, 9] = 9", "require 4 <= x ** 2", lambda x: x**2 >= 4),
        ("int[1, 1000000000] = 1", "require x ** 3 <= 10 ** 9", lambda x: x**3 <= 10**9),
    ],
)
def test_draws_and_membership_agree_with_exact_powers(
    domain: str, rule: str, holds: Callable[[Fraction], bool]
) -> None:
    space = space_of(domain, rule)
    drawn = [configuration["e.x"] for configuration in space.sample(200, seed=0)]
    assert all(holds(Fraction(repr(value))) for value in drawn)
    for root in (math.sqrt(0.5), math.sqrt(2), -math.sqrt(2), -(3 ** (1 / 3)), 2.0):
        for value in (math.nextafter(root, -9), root, math.nextafter(root, 9)):
            node = space.checked.hyperparameters[0]
            if domain.startswith("float") and node.domain.find(value) == value:
                configuration = sl.Configuration({"e": "made", "e.x": value})
                is_member = first_exclusion(space.checked, configuration) is None
                assert is_member == holds(Fraction(repr(value)))


def test_integers_beyond_enumeration_are_counted() -> None:
    assert space_of("int[1, 1000000000] = 1", "require x ** 2 <= 2 * 10 ** 9").counted.configuration_count == 44_721


def test_what_always_holds_is_reported() -> None:
    text = "abstract made\nstage e = made { x : float[0.1, 1], require x ** 2 <= 1 }"
    assert [found.code for found in check(Source("powers.space", text)).diagnostics] == ["SL502"]
