"""Benchmarks: compare optimizers, and search tables of precomputed losses in simulated time."""

from spacelang.bench.comparing import Comparison, compare
from spacelang.bench.tabulating import search_table

__all__ = ["Comparison", "compare", "search_table"]
