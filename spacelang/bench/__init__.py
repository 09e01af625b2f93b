"""The bench: optimizers are compared, and searched on tables of known losses instead of trials, in simulated time."""

from spacelang.bench.comparing import Comparison, compare
from spacelang.bench.tabulating import search_table

__all__ = ["Comparison", "compare", "search_table"]
