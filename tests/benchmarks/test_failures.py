"""Tests of the benchmark `failures.py`: its output, and its time limit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("failures.py")

REDUCED = """\
space reduced
stage reducer = TruncatedSVD { n_components : int[1, min(200, n_features)] }
stage estimator = GaussianNB
"""

ENDLESS = """\
space endless
stage estimator = MLPClassifier { alpha : float[0.1, 1], max_iter = 1_000_000, tol = 0.0, n_iter_no_change = 1_000_000 }
"""


def run_script(folder: Path, *arguments: str) -> tuple[dict[str, list[str]], str]:
    """Return the columns of each line of the table by space, and the text after the table."""
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, cwd=folder)
    head, _, rest = done.stdout.partition("\n\n")
    lines = [re.split(r"\s{2,}", line) for line in head.splitlines()]
    assert lines[0] == ["space", "data", "drawn failed timeouts seconds"]
    return {line[0]: " ".join(line[1:]).split() for line in lines[1:]}, rest


@pytest.mark.full
def test_without_bounds_most_configurations_fail(tmp_path: Path) -> None:
    (tmp_path / "reduced.space").write_text(REDUCED, encoding="utf-8")
    lines, reasons = run_script(tmp_path, "reduced.space", "-n", "8", "--data", "iris")
    bounded, unbounded = lines["reduced.space"], lines["reduced.space without bounds"]
    assert bounded[:4] == ["iris", "8", "0", "0"]
    assert unbounded[:2] == ["iris", "8"]
    assert int(unbounded[2]) >= 6
    assert unbounded[3] == "0"
    assert reasons.startswith(
        f"reduced.space without bounds, iris:\n{int(unbounded[2]):5} ValueError: n_components(N) must"
    )


@pytest.mark.full
def test_a_fit_over_the_limit_is_a_timeout(tmp_path: Path) -> None:
    (tmp_path / "endless.space").write_text(ENDLESS, encoding="utf-8")
    lines, reasons = run_script(
        tmp_path, "endless.space", "-n", "2", "--data", "iris", "--limit", "0.5", "--no-control"
    )
    assert lines["endless.space"][:4] == ["iris", "2", "0", "2"]
    assert reasons.endswith("2 timeout: MLPClassifier\n")
