"""A space in another domain: operators that no library has, and any Python function as the objective."""

from typing import Any

import spacelang as sl

space = sl.parse("""
space bakery

abstract Sourdough { hours : int[8, 48] = 24, hydration : float[0.6, 0.9] = 0.75 }
abstract Yeast     { grams : float[1, 10] log = 5, hydration : float[0.5, 0.75] = 0.65 }
abstract Oven {
  celsius : int[180, 260] step 5 = 230
  minutes : int[20, 60] = 40
  require celsius * minutes <= 11000
}

stage dough = Sourdough | Yeast
stage oven = Oven
""")


def rate_bread(bread: dict[str, Any]) -> float:
    """Return the distance from a good bread: wrong heat, wrong hydration, and hours of waiting."""
    heat: int = bread["oven.celsius"] * bread["oven.minutes"]
    hours: int = bread.get("dough.hours", 2)  # only sourdough has them
    hydration: float = bread["dough.hydration"]
    return abs(heat - 9500) / 9500 + abs(hydration - 0.72) + hours / 1000


result = sl.search(space, objective=rate_bread, optimizer="tpe", trials=50, workers=0, seed=0)
print(result)
print(result.incumbent)
