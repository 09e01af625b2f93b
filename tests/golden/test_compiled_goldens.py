"""Compiled files and encodings that earlier code has written: `tests/golden/compiled/SPACE-TARGET.json`.

They are in the hands of users, so that UPDATE_GOLDEN=1 writes what is missing, and nothing anew: the space is loaded of
the file as of its text, and each encoding beside it, `SPACE-TARGET.members.json`, is decoded by the target.
"""

import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from goldens import FOLDER, UPDATE, rounded, structures_of

import spacelang as sl
from spacelang.cli import main
from spacelang.ir.configuration import Configuration
from spacelang.sampling.sampler import Sampler
from spacelang.solver.defaults import default_configuration
from spacelang.targets import TARGETS
from spacelang.targets._lowering import LoweringResult

KEPT = FOLDER / "compiled"
OPTIONS = {"random": {"n": "20"}}
CASES = [*(("domains", target) for target in TARGETS.names()), ("small", "blds")]
MEMBERS = 10


@pytest.mark.parametrize(("space", "target"), CASES)
def test_a_file_is_the_space_of_its_text(space: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)  # a definition says in which file it was read
    kept = KEPT / f"{space}-{target}.json"
    if UPDATE and not kept.exists():
        KEPT.mkdir(exist_ok=True)
        options = [f"--set={name}={text}" for name, text in OPTIONS.get(target, {}).items()]
        with pytest.raises(SystemExit):
            main(("compile", f"{space}.space", "-t", target, *options, "-f", "json", "-o", str(kept)))
    assert kept.is_file(), f"{kept.name} is missing: UPDATE_GOLDEN=1 writes it"
    assert sl.load(kept).checked == sl.load(f"{space}.space").checked


@pytest.mark.parametrize(("space", "target"), CASES)
def test_an_encoding_is_decoded(space: str, target: str) -> None:
    kept = KEPT / f"{space}-{target}.members.json"
    lowered = TARGETS.configure(TARGETS.load(target), OPTIONS.get(target, {})).lower(structures_of(space))
    if UPDATE and not kept.exists():
        kept.write_text("".join(f"{line}\n" for line in encoded(lowered, space)), encoding="utf-8")
    assert kept.is_file(), f"{kept.name} is missing: UPDATE_GOLDEN=1 writes it"
    members = list(map(json.loads, kept.read_text(encoding="utf-8").splitlines()))
    assert len(members) == MEMBERS
    template = lowered.encode(default_configuration(structures_of(space).space))
    for member in members:
        found = lowered.decode(read(member["encoding"], template))
        assert rounded(found.to_dict()) == rounded(member["configuration"])


def test_no_file_is_left_over() -> None:
    names = {f"{space}-{target}" for space, target in CASES}
    assert {path.name for path in KEPT.iterdir()} == {
        f"{name}{end}" for name in names for end in (".json", ".members.json")
    }


def encoded(lowered: LoweringResult[Any, Any], space: str) -> list[str]:
    """Some members as JSON, each with its encoding to the last digit."""
    drawn = Sampler(structures_of(space)).configurations(MEMBERS - 1, np.random.default_rng(0))
    asked = (default_configuration(structures_of(space).space), *drawn)
    members = [lowered.decode(lowered.encode(each)) for each in asked]
    return [json.dumps({"configuration": each.to_dict(), "encoding": plain(lowered.encode(each))}) for each in members]


def plain(value: Any) -> Any:
    """An encoding as JSON has it."""
    match value:
        case np.ndarray() | np.generic():
            return value.tolist()
        case Configuration():
            return value.to_dict()
        case tuple():
            return [*map(plain, value)]
        case _ if is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            return value


def read(value: Any, like: Any) -> Any:
    """The encoding that `plain` has made JSON of, of the type of another one of the target."""
    match like:
        case np.ndarray():
            return np.array(value, like.dtype)
        case Configuration():
            return Configuration(value)
        case tuple() if len(like) == len(value):
            return tuple(map(read, value, like))
        case tuple():
            return tuple(tuple(each) if isinstance(each, list) else each for each in value)
        case _ if is_dataclass(like):
            return type(like)(**{name: read(each, getattr(like, name)) for name, each in value.items()})
        case _:
            return value
