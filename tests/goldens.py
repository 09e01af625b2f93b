"""Goldens: what was found once, kept as text in files to be compared with what is found now.

Texts are kept whole, so that a difference can be read; of what optimizers request, which would be 15 MB of JSON, the
first requests as short lines (`short_requests.py`), and hashes of the others. Floats that were drawn or computed are
kept to nine digits, as machines differ in the last ones of a logarithm. After a change that is meant to show here,
write the files anew and read every line of the difference:

    UPDATE_GOLDEN=1 python -m pytest tests/golden
"""

import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import unified_diff
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacelang.analysis import check
from spacelang.files import resource_folder
from spacelang.solver.counting import Structures
from spacelang.text import Source

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
IS_FULL = UPDATE or bool(os.environ.get("SPACELANG_FULL"))
"""Whether all of what is kept is found again, or what is cheap to find of it."""

LOSSY: frozenset[str] = frozenset()
"""The targets of the package that cut ranges to grids or draw logarithms, and so do not give every member back."""
OWN = sorted(FOLDER.glob("*.space"))
"""Spaces that have what the others lack."""
PATHS = {
    path.stem: path
    for path in (*sorted(resource_folder("spaces").glob("*.space")), *sorted((ROOT / "examples").rglob("*.space")))
    if path.parent.name != "tour"
}
"""The bundled spaces and those of the examples, but for the tour's: these are small, and one needs a caller's leave."""

WIDE = 120
"""So wide are the lines of JSON, where there is room."""
SHOWN = 60
"""So many lines of a difference are shown."""


@cache
def structures_of(name: str) -> Structures:
    """The structures of a space that is bundled, of an example, or beside the goldens."""
    path = path_of(name)
    checked = check(Source(path.name, path.read_text(encoding="utf-8")))
    assert checked.structures is not None
    return checked.structures


def path_of(name: str) -> Path:
    """Where a space is."""
    return PATHS.get(name) or FOLDER / f"{name}.space"


def must_be_kept(kept: Path, found: str, place: Path, *, is_whole: bool = True) -> None:
    """Fail with a short difference unless the file has what was found; write it if files are to be written anew.

    What is not whole is the beginning of what is kept. A failing test leaves what was found in a folder.
    """
    if UPDATE:
        kept.parent.mkdir(parents=True, exist_ok=True)
        rest = kept.read_text(encoding="utf-8").splitlines(keepends=True) if kept.exists() and not is_whole else []
        kept.write_text(found + "".join(rest[len(found.splitlines()) :]), encoding="utf-8")
    assert kept.is_file(), f"{kept.relative_to(FOLDER)} is missing: UPDATE_GOLDEN=1 writes it"
    before = kept.read_text(encoding="utf-8")
    if not is_whole:
        before = "".join(before.splitlines(keepends=True)[: len(found.splitlines())])
    must_equal(before, found, kept, place)


def must_equal(
    before: str,
    found: str,
    kept: Path,
    place: Path,
    *,
    whole: str | None = None,
    note: Callable[[int], str] = lambda _: "",
) -> None:
    """Fail with a short difference unless what was found is what the file had; leave it in a folder.

    `whole` is what is left there, if that is more. `note` says more of the first line that differs, which it is given
    by its index.
    """
    if found == before:
        return
    written = place / f"{kept.stem}.txt"
    written.write_text(found if whole is None else whole, encoding="utf-8")
    old, new = before.splitlines(), found.splitlines()
    lines = unified_diff(old, new, str(kept), "found", n=1, lineterm="")
    told = [line[: 2 * WIDE] for line in islice(lines, SHOWN)]
    more = f"... and {count} more lines\n" if (count := sum(1 for _ in lines)) else ""
    first = next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(new))
    pytest.fail("\n".join([*told, f"{more}{note(first)}all that was found: {written}"]), pytrace=False)


def rounded(value: Any) -> Any:
    """A value as JSON has it, its floats to nine digits."""
    if is_dataclass(value):
        return {field.name: rounded(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): rounded(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def lines_of(value: Any, indent: str = "") -> Iterator[str]:
    """JSON whose objects, arrays and texts of several lines stand on one line where there is room."""
    text = json.dumps(value)
    if isinstance(value, str) and len(indent) + len(text) > WIDE and "\n" in value:
        yield from (f'{indent}"""', *(f"{indent}{line}".rstrip() for line in value.splitlines()), f'{indent}"""')
        return
    if len(indent) + len(text) <= WIDE or not isinstance(value, dict | list):
        yield indent + text
        return
    yield f"{indent}{'{' if isinstance(value, dict) else '['}"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        first, *others = lines_of(inner, f"{indent}  ")
        name = f"{json.dumps(key)}: " if isinstance(value, dict) else ""
        yield from (f"{indent}  {name}{first.lstrip()}", *others)
    yield f"{indent}{'}' if isinstance(value, dict) else ']'}"


def digest(lines: Iterable[str]) -> str:
    """What tells lines from others."""
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


@cache
def machine() -> str:
    """Return what decides the last bits of floats: the kernels of BLAS, the widest vectors of NumPy, the C library."""
    import scipy.linalg  # noqa: F401 - what is not loaded is not listed
    from threadpoolctl import threadpool_info

    blas = [each for each in threadpool_info() if each["user_api"] == "blas"]  # others come with other tests
    kernels = {f"{each['internal_api']} {each.get('architecture', '')}" for each in blas}
    vectors = np.show_config(mode="dicts")["SIMD Extensions"]
    widest = [*vectors.get("baseline", []), *vectors.get("found", [])][-1:]
    return " ".join([*sorted(kernels), *widest, *platform.libc_ver(), platform.machine()])
