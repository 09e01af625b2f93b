"""Benchmarks: compare optimizers, and search tables of precomputed losses in simulated time."""

from spacelang.bench.run_comparison import Comparison, compare
from spacelang.bench.table_search import search_table

__all__ = ["Comparison", "compare", "search_table"]
