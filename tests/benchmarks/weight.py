"""What an installation weighs: run it with the Python of a fresh environment that has spacelang and no extras.

    python3 -m venv fresh && fresh/bin/pip install . && fresh/bin/python tests/benchmarks/weight.py

Prints MB on disk, bytecode included, of spacelang and of each dependency with all that nothing else here asks for.
"""

import os
import re
from importlib.metadata import Distribution, distribution


def needed(name: str) -> set[str]:
    """What a distribution requires without extras, as it is installed."""
    texts = distribution(name).requires or []
    found = {_plain(re.split(r"[^\w.-]", text)[0]) for text in texts if "extra ==" not in text}
    return {each for each in found if _is_installed(each)}


def all_needed(name: str, without: str = "") -> set[str]:
    """A distribution with all that comes with it, but for one and what only that brings."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in found and each != without:
            found.add(each)
            waiting.extend(needed(each))
    return found


def weight(names: set[str]) -> float:
    """MB of all files of some distributions."""
    return sum(_bytes(distribution(name)) for name in names) / 1e6


def _bytes(found: Distribution) -> int:
    paths = (str(found.locate_file(file)) for file in found.files or ())
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))  # noqa: PTH110, PTH202


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_installed(name: str) -> bool:
    try:
        return distribution(name) is not None
    except ModuleNotFoundError:
        return False


def main() -> None:
    """Print the table, the heaviest first."""
    everything = all_needed("spacelang")
    alone = {name: everything - all_needed("spacelang", without=name) for name in needed("spacelang")}
    print(f"{weight(everything):7.1f}  in all\n{weight({'spacelang'}):7.1f}  spacelang")
    for name, brought in sorted(alone.items(), key=lambda each: -weight(each[1])):
        others = ", ".join(sorted(brought - {name}))
        print(f"{weight(brought):7.1f}  {name}{f' with {others}' if others else ''}")


if __name__ == "__main__":
    main()
