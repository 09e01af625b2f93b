"""The test command: linters, types, import layers, tests. Stops with status 1 if one fails.

`python tests/run.py` runs everything, slow tests in their reduced form; `--full` runs slow tests at full size and
measures branch coverage, which takes twice as long.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sys.executable).parent
STEPS = {
    "lint": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy"],
    "layers": [str(SCRIPTS / "lint-imports")],
    "tests": ["-m", "pytest", "-n", "auto"],
}
COVERAGE = ["--cov", "--cov-report=term"]


def main() -> int:
    """Run every step, also after one has failed, so that one run shows all there is to mend."""
    is_full = "--full" in sys.argv[1:]
    environment = {**os.environ, "SPACELANG_FULL": "1" if is_full else ""}
    failed = []
    for name, arguments in STEPS.items():
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        more = COVERAGE if is_full and name == "tests" else []
        if subprocess.run([sys.executable, *arguments, *more], cwd=ROOT, env=environment, check=False).returncode:
            failed.append(name)
        print(f"== {name}: {time.perf_counter() - started:.0f} s\n", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
