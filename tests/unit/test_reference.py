"""The language reference: every code block in it is an example that is run, and its table of codes is complete.

A `space` block checks without a word, a `space-error CODE` or `space-note CODE` block gives that error or note, and a
`json` block is a configuration of the space above it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

import pytest

from spacelang.analysis import CheckResult, check
from spacelang.diagnostics.diagnostic import Severity
from spacelang.diagnostics.registry import KINDS
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.files import resource_folder
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.text import Source

REFERENCE = (resource_folder("grammars") / "REFERENCE.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int
    kind: str
    text: str

    def checked(self) -> CheckResult:
        return check(Source(f"REFERENCE.md, line {self.line}", self.text))


BLOCKS = [
    Block(REFERENCE[: found.start()].count("\n") + 1, found["kind"], found["text"])
    for found in FENCE.finditer(REFERENCE)
]
CLEAN = [block for block in BLOCKS if block.kind == "space"]
WRONG = [block for block in BLOCKS if block.kind.startswith(("space-error ", "space-note "))]
CONFIGURATIONS = [(before, block) for before, block in pairwise(BLOCKS) if block.kind == "json"]


def line_of(block: object) -> str:
    return f"line {block.line}" if isinstance(block, Block) else ""


@pytest.mark.parametrize("block", CLEAN, ids=line_of)
def test_an_example_checks_without_a_word(block: Block) -> None:
    found = block.checked()
    assert not found.diagnostics, render_diagnostics(found.diagnostics, color=False)


@pytest.mark.parametrize("block", WRONG, ids=line_of)
def test_a_wrong_example_gives_its_error_and_no_other(block: Block) -> None:
    found = block.checked()
    severity, code = block.kind.removeprefix("space-").split()
    assert {each.code for each in found.diagnostics} == {code}, render_diagnostics(found.diagnostics, color=False)
    assert KINDS[code].severity is Severity(severity)


@pytest.mark.parametrize(("before", "block"), CONFIGURATIONS, ids=line_of)
def test_a_configuration_belongs_to_the_space_above_it(before: Block, block: Block) -> None:
    space = before.checked().space
    assert space is not None
    assert first_exclusion(space, Configuration.from_json(block.text)) is None


def test_every_block_is_run() -> None:
    assert len(CLEAN) + len(WRONG) + len(CONFIGURATIONS) == len(BLOCKS)
    assert len(CLEAN) >= 10
    assert len(WRONG) > 5
    assert CONFIGURATIONS


def test_the_table_of_codes_is_complete() -> None:
    rows = re.findall(r"^\| (SL\d{3}) \| (\w+) \| .+ \|$", REFERENCE, re.MULTILINE)
    assert rows == [(code, str(kind.severity)) for code, kind in KINDS.items()]


def test_no_sentence_names_a_code_that_does_not_exist() -> None:
    assert set(re.findall(r"SL\d{3}", REFERENCE)) <= set(KINDS)
