"""The test command: linters, types, import layers, pages in a browser, tests. Stops with status 1 if one fails.

`python tests/run.py` runs everything, slow tests in their reduced form; `--full` runs slow tests at full size and
measures branch coverage, which takes twice as long. Linters, type checks and the page tests run at the same time as the
other tests, and their results are printed at the end. Without Chromium on the path the page tests fail.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sys.executable).parent
BACKGROUND_STEPS = {
    "lint": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy"],
    "layers": [str(SCRIPTS / "lint-imports")],
    "browser": ["-m", "pytest", "tests/browser"],
}
# `worksteal` gives each worker neighbouring tests, which share the fixtures of their module.
TESTS = ["-m", "pytest", "-n", "auto", "--dist", "worksteal", "--ignore=tests/browser"]
COVERAGE = ["--cov", "--cov-report=term"]


@dataclass(frozen=True)
class Step:
    """A finished step: its exit status, its duration, and its output unless that was shown while it ran."""

    name: str
    status: int
    seconds: float
    output: str

    def show(self) -> None:
        print(f"== {self.name}\n{self.output}== {self.name}: {self.seconds:.0f} s\n", flush=True)


def main() -> int:
    """Run every step, also after one has failed, and return the exit status."""
    is_full = "--full" in sys.argv[1:]
    environment = {**os.environ, "SPACELANG_FULL": "1" if is_full else ""}
    # Tests start hundreds of processes; with bytecode files the package is compiled only once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(name: str, arguments: list[str], *, is_shown: bool) -> Step:
        started = time.perf_counter()
        output = None if is_shown else subprocess.PIPE
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            check=False,
            stdout=output,
            stderr=None if is_shown else subprocess.STDOUT,
            text=True,
        )
        return Step(name, ended.returncode, time.perf_counter() - started, ended.stdout or "")

    with ThreadPoolExecutor(1) as executor:
        others = [executor.submit(run, name, arguments, is_shown=False) for name, arguments in BACKGROUND_STEPS.items()]
        tested = run("tests", [*TESTS, *(COVERAGE if is_full else [])], is_shown=True)
        steps = [tested, *(each.result() for each in others)]
    for step in steps:
        step.show()
    failed = [step.name for step in steps if step.status]
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
