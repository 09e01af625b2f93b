"""What each target makes of each bundled and example space, kept as files: `tests/golden/targets/TARGET/SPACE.txt`.

A file holds the report, the text, the Python source, the JSON document, and how some members are encoded. What is long
is kept as a hash for each run of its lines: so a difference still has a place, and a test that fails writes the whole
new texts to a file, to be compared with those of another commit. `domains.space` and `giants.space` beside this module
have what the other spaces lack; there the targets are tried with other options, too.

After a change that is meant to show here, write the files anew and read every line of the difference:

    UPDATE_GOLDEN=1 python -m pytest tests/golden
"""

import json
import os
from collections.abc import Iterator, Mapping
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
from spacelang.ir.counting import Structures
from spacelang.ir.defaults import default
from spacelang.ir.sampling import Sampler
from spacelang.resources import folder
from spacelang.targets import TARGETS
from spacelang.targets._lowered import Entry, Lowered, RefusedError, WithSource
from spacelang.text import Source

FOLDER = Path(__file__).parent
KEPT = FOLDER / "targets"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
OWN = sorted(FOLDER.glob("*.space"))
PATHS = {
    path.stem: path
    for path in (*sorted(folder("spaces").glob("*.space")), *sorted((FOLDER.parents[1] / "examples").rglob("*.space")))
}
OPTIONS = {
    "admm": {"conditions": "flatten"},
    "boasf": {"arms": "subspaces", "k": "1"},
    "configspace": {"choices": "true"},
    "sklearn": {"search": "grid"},
}
"""What is tried beside the defaults."""
USUAL = {"random": {"n": "20"}}
"""A thousand rows are the same twenty again and again."""

CASES = [
    *((target, name, USUAL.get(target, {})) for target in TARGETS.names() for name in PATHS),
    *((target, path.stem, USUAL.get(target, {})) for target in TARGETS.names() for path in OWN),
    *((target, path.stem, options) for target, options in OPTIONS.items() for path in OWN),
]

LONG = 6_000
"""A text of more characters is kept by the hashes of its lines."""
RUN = 25
"""So many lines have a hash of their own."""
WIDE = 120
"""So wide are the lines of JSON, where there is room."""


def named(case: object) -> str:
    """What a case is called, in the names of tests and of files."""
    if isinstance(case, dict):
        return "-".join(f"{key}={value}" for key, value in case.items())
    return str(case)


@cache
def structures_of(name: str) -> Structures:
    path = PATHS.get(name) or FOLDER / f"{name}.space"
    checked = check(Source(path.name, path.read_text(encoding="utf-8")))
    assert checked.structures is not None
    return checked.structures


@pytest.mark.parametrize(("target", "name", "options"), CASES, ids=named)
def test_is_what_it_was(target: str, name: str, options: Mapping[str, str], tmp_path: Path) -> None:
    whole = sections(target, structures_of(name), options)
    found = "\n".join(f"==== {title}\n{shortened(text)}\n" for title, text in whole.items())
    kept = file_of(target, name, options)
    if UPDATE:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(found, encoding="utf-8")
    assert kept.is_file(), f"{kept.relative_to(FOLDER)} is missing: see the docstring of this module"
    before = kept.read_text(encoding="utf-8")
    if found != before:
        written = tmp_path / f"{kept.stem}.txt"
        written.write_text("\n".join(f"==== {title}\n{text}\n" for title, text in whole.items()), encoding="utf-8")
        lines = unified_diff(before.splitlines(), found.splitlines(), str(kept), "found", n=1, lineterm="")
        pytest.fail("\n".join([*islice(lines, 60), f"all that was found: {written}"]), pytrace=False)


def test_no_file_is_left_over() -> None:
    assert {*KEPT.rglob("*.txt")} == {file_of(*case) for case in CASES}


def file_of(target: str, name: str, options: Mapping[str, str]) -> Path:
    return KEPT / target / f"{'-'.join([name, *([named(options)] if options != USUAL.get(target, {}) else [])])}.txt"


def sections(target: str, structures: Structures, options: Mapping[str, str]) -> dict[str, str]:
    """The texts by their titles; the report alone where the target refuses the space."""
    try:
        form = TARGETS.configure(TARGETS.load(target), dict(options)).lower(structures)
    except RefusedError as error:
        return {"refused": "\n".join(map(shown, error.report))}
    source = form.form.to_python() if isinstance(form.form, WithSource) else ""
    document = {key: value for key, value in form.form.to_json().items() if key != "python"}
    if "rows" in document:
        document = rounded(document)
    return {
        "report": "\n".join(map(shown, form.report)),
        "text": form.form.to_text(),
        **({"python": source} if source else {}),
        "json": "\n".join(lines_of(document)),
        "encodings": "\n".join(encodings(form, structures)),
    }


def shown(entry: Entry) -> str:
    return f"{entry.status.value} {entry.construct} (lines {', '.join(map(str, entry.lines))}): {entry.message}"


def encodings(form: Lowered[Any, Any], structures: Structures) -> Iterator[str]:
    """The default configuration and three that are drawn, each with its encoding."""
    drawn = Sampler(structures).columns(3, np.random.default_rng(0)).configurations()
    for member in (default(structures.space), *drawn):
        yield json.dumps(rounded(member.to_dict()))
        yield from (f"  {line}" for line in lines_of(rounded(form.encode(member))))


def rounded(value: Any) -> Any:
    """A value as JSON has it, what was drawn to nine digits: machines differ in the last ones of a logarithm."""
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
    """JSON whose objects and arrays stand on one line where there is room."""
    text = json.dumps(value)
    if len(indent) + len(text) <= WIDE or not isinstance(value, dict | list):
        yield indent + text
        return
    yield f"{indent}{'{' if isinstance(value, dict) else '['}"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        first, *others = lines_of(inner, f"{indent}  ")
        name = f"{json.dumps(key)}: " if isinstance(value, dict) else ""
        yield from (f"{indent}  {name}{first.lstrip()}", *others)
    yield f"{indent}{'}' if isinstance(value, dict) else ']'}"


def shortened(text: str) -> str:
    """The text, or a hash for each run of its lines where it is long, with the first of them."""
    if len(text) <= LONG:
        return text
    lines = text.splitlines()
    runs = (lines[start : start + RUN] for start in range(0, len(lines), RUN))
    hashes = [f"from line {RUN * place + 1:>5}: {digest(run)}  {run[0].strip()[:60]}" for place, run in enumerate(runs)]
    return "\n".join([f"{len(lines)} lines, {len(text)} characters", *hashes])


def digest(lines: list[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()[:16]
