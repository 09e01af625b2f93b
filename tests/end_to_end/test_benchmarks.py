"""The benchmark of sampling runs, in small sizes; what it prints depends on the machine."""

import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "sampling.py"


def test_the_benchmark_of_sampling_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runpy.run_path(str(BENCHMARK))["main"](["--quick", "--pcs", str(tmp_path / "none.pcs")])
    printed = capsys.readouterr().out
    for line in ("admm_table_a2: 6776 structures", "columns", "60 neighbours", "the imported MOSAIC space is left out"):
        assert line in printed
    assert "20 conditional children" in printed
    assert "30 pairs: counted in" in printed
