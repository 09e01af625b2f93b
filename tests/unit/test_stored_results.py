"""The tables of measurements on the pages are those that the scripts print for the stored results."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("folder", "module", "arguments", "page"),
    [
        ("examples", "default.analysis", ["examples/default/results.csv"], "examples/default/README.md"),
        ("tests/benchmarks", "fidelity", ["--table"], "spacelang/targets/README.md"),
        ("tests/torture", "torture", ["--table"], "spacelang/runtime/README.md"),
        ("tests/torture", "soak", ["--table"], "spacelang/runtime/README.md"),
    ],
)
def test_a_page_has_the_printed_tables(
    folder: str,
    module: str,
    arguments: list[str],
    page: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT / folder), *sys.path])
    import_module(module).main(arguments)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) > 5
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [row for row in rows if row not in text] == []


def test_the_first_page_has_the_differences_of_the_benchmark_with_all_seeds() -> None:
    page = (ROOT / "examples/default/README.md").read_text(encoding="utf-8")
    with_all_seeds, _, _ = page.partition("### Other tools, one seed")
    verdicts = (" | ahead |", " | within noise |", " | behind |")
    rows = [line.split(" | ") for line in with_all_seeds.splitlines() if line.endswith(verdicts)]
    assert len(rows) == 10
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [difference for _, difference, *_ in rows if f"| {difference} |" not in text] == []
