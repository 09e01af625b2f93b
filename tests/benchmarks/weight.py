"""Measure the size of an installation; run it in a new environment that has spacelang without extras.

    python3 -m venv fresh && fresh/bin/pip install . && fresh/bin/python tests/benchmarks/weight.py

The script prints MB on disk, including bytecode, of spacelang and of each dependency with all packages that only this
dependency needs.
"""

import os
import re
from importlib.metadata import Distribution, distribution


def find_requirements(name: str) -> set[str]:
    """Return the installed requirements of a distribution, without extras."""
    texts = distribution(name).requires or []
    found = {_normalize(re.split(r"[^\w.-]", text)[0]) for text in texts if "extra ==" not in text}
    return {each for each in found if _is_installed(each)}


def find_all_requirements(name: str, without: str = "") -> set[str]:
    """Return a distribution with all its requirements, without one of them and what only that one needs."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in found and each != without:
            found.add(each)
            waiting.extend(find_requirements(each))
    return found


def measure_size(names: set[str]) -> float:
    """Return the MB of all files of some distributions."""
    return sum(_count_bytes(distribution(name)) for name in names) / 1e6


def _count_bytes(found: Distribution) -> int:
    paths = (str(found.locate_file(file)) for file in found.files or ())
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))  # noqa: PTH110, PTH202


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_installed(name: str) -> bool:
    try:
        return distribution(name) is not None
    except ModuleNotFoundError:
        return False


def main() -> None:
    """Print the table, the largest first."""
    all_packages = find_all_requirements("spacelang")
    own = {
        name: all_packages - find_all_requirements("spacelang", without=name) for name in find_requirements("spacelang")
    }
    print(f"{measure_size(all_packages):7.1f}  in total\n{measure_size({'spacelang'}):7.1f}  spacelang")
    for name, packages in sorted(own.items(), key=lambda each: -measure_size(each[1])):
        others = ", ".join(sorted(packages - {name}))
        print(f"{measure_size(packages):7.1f}  {name}{f' with {others}' if others else ''}")


if __name__ == "__main__":
    main()
