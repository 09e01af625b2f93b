"""What canonical text looks like."""

import pytest

from spacelang.syntax.printer import WIDTH, format_file
from spacelang.syntax.spelling import spell_number
from tests.laws.example import EXAMPLE
from tests.unit.syntax.reading import read


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-4, "1e-4"), (1e4, "1e4"), (3.0517578125e-05, "3.0517578125e-5"), (0.001, "0.001"), (32768.0, "32768.0"),
        (0.5, "0.5"), (10_000, "10000"), (1e300, "1e300"), (-2.5e-7, "-2.5e-7"), (0.0, "0.0"), (-3, "-3"),
        (12345.0, "12345.0"), (100.0, "100.0"), (5e-324, "5e-324"),
    ],
)  # fmt: skip
def test_numbers_are_short_and_faithful(value: float, text: str) -> None:
    assert spell_number(value) == text
    assert float(text) == value


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("stage s=A|B", "stage s =\n  | A\n  | B\n"),
        ("stage s = A {x:bool}", "stage s = A { x : bool }\n"),
        ("stage s = A {x:bool,y=1}", "stage s = A {\n  x : bool\n  y = 1\n}\n"),
        ("stage s = A|B {x:bool,y=1}@w", "stage s =\n  | A\n  | B {\n      x : bool\n      y = 1\n    } @w\n"),
        ("forbid ((a and b)) or (not (c==1))", "forbid a and b or not c == 1\n"),
        ("forbid (a or b) and (a - (b - c)) > 2", "forbid (a or b) and a - (b - c) > 2\n"),
        ('params p { x : {none, "none", "a"} }', 'params p {\n  x : {none, "none", "a"}\n}\n'),
        ("use a use b forbid c", "use a\nuse b\n\nforbid c\n"),
        ("", ""),
    ],
)
def test_canonical_text(written: str, canonical: str) -> None:
    parsed = read(written)
    assert not parsed.diagnostics
    assert format_file(parsed.file) == canonical


def test_long_pipelines_and_rules_are_broken() -> None:
    steps = " -> ".join(f"VeryLongOperatorName{place} {{ n = {place} }}" for place in range(6))
    rule = " and ".join(f"stage_number_{place} is Operator{place}" for place in range(6))
    text = format_file(read(f"pipeline = columns(numeric: {steps}) -> (A | B)\nforbid {rule}").file)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert format_file(read(text).file) == text


def test_the_example_fits() -> None:
    assert max(map(len, format_file(read(EXAMPLE).file).splitlines())) <= WIDTH
