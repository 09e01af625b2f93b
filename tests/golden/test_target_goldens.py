"""What each target makes of each bundled and example space, kept as files: `tests/golden/targets/TARGET/SPACE.txt`.

A file holds the report, the text, the Python source, the JSON document, and how some members are encoded. `domains`,
`giants` and `small.space` beside this module have what the other spaces lack; there the targets are tried with other
options, too.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from goldens import FOLDER, OWN, PATHS, lines_of, must_be_kept, rounded, structures_of

from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration
from spacelang.targets import TARGETS
from spacelang.targets._lowering import LoweringResult, RefusedError, ReportEntry, SourceForm

KEPT = FOLDER / "targets"
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


def named(case: object) -> str:
    """What a case is called, in the names of tests and of files."""
    if isinstance(case, dict):
        return "-".join(f"{key}={value}" for key, value in case.items())
    return str(case)


@pytest.mark.parametrize(("target", "name", "options"), CASES, ids=named)
def test_is_what_it_was(target: str, name: str, options: Mapping[str, str], tmp_path: Path) -> None:
    found = sections(target, structures_of(name), options)
    text = "\n".join(f"==== {title}\n{text}\n" for title, text in found.items())
    must_be_kept(file_of(target, name, options), text, tmp_path)


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
    source = form.form.to_python() if isinstance(form.form, SourceForm) else ""
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


def shown(entry: ReportEntry) -> str:
    return f"{entry.status.value} {entry.construct} (lines {', '.join(map(str, entry.lines))}): {entry.message}"


def encodings(form: LoweringResult[Any, Any], structures: Structures) -> Iterator[str]:
    """The default configuration and three that are drawn, each with its encoding."""
    drawn = Sampler(structures).batch(3, np.random.default_rng(0)).configurations()
    for member in (default_configuration(structures.space), *drawn):
        yield from lines_of(rounded(member.to_dict()))
        yield from (f"  {line}" for line in lines_of(rounded(form.encode(member))))
