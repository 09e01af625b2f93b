"""What canonical text looks like."""

from pathlib import Path

import pytest

from spacelang.files import resource_folder
from spacelang.syntax.inline_printer import spell_file, spell_number
from spacelang.syntax.pretty_printing import WIDTH
from spacelang.syntax.printer import format_file, format_text
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
        ("stage s=|A|B", "stage s = A | B\n"),
        ("stage s = A {x:bool}", "stage s = A { x : bool }\n"),
        ("stage s = A {x:bool,y=1}", "stage s = A { x : bool, y = 1 }\n"),
        ("stage s = A|B {x:bool,yy:bool}@w", "stage s =\n  | A\n  | B {\n      x  : bool\n      yy : bool\n    } @w\n"),
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


COMMENTS = """\
# what it is

# of the space
space a    # its name
stage s =  # why
  | none          # nothing
  # before it
  | SVC {
      # inside, first
      C : float[0.1, 1]     # one
                            # and more of it
      tol = 1e-3            # fixed

      kernel : {a,b}   # apart
      # inside, last
    }
  # | PCA

# of the pipeline
pipeline = s   # the end


# behind everything
"""
LAID_OUT = """\
# what it is

# of the space
space a  # its name

stage s =  # why
  | none  # nothing
  # before it
  | SVC {
      # inside, first
      C   : float[0.1, 1]  # one
                           # and more of it
      tol = 1e-3           # fixed

      kernel : {a, b}  # apart
      # inside, last
    }
  # | PCA

# of the pipeline
pipeline = s  # the end

# behind everything
"""


def test_comments_stay_where_they_are() -> None:
    assert format_text(COMMENTS) == LAID_OUT
    assert format_text(LAID_OUT) == LAID_OUT


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("stage s = A, # x\n B", None),
        ("params p { a = 1, # x\n b = 2 }", "params p {\n  a = 1  # x\n  b = 2\n}\n"),
        ("params p { a = 1 # x\n , b = 2 }", "params p {\n  a = 1  # x\n  b = 2\n}\n"),
        ("params p { a : {x, # y\n z} }", "params p {\n  a : {\n    x,  # y\n    z\n  }\n}\n"),
        ("stage s = # x\n A", "stage s =  # x\n    A\n"),
        ("# x\n" + "stage s = " + "|".join(["VeryLongNameOfAnOperator"] * 4), None),
        ("\ufeffstage s = A\r\n# x\rstage t = B", "stage s = A\n# x\nstage t = B\n"),
        ("stage s = A\n\n\n\nstage t = B", "stage s = A\n\nstage t = B\n"),
        ("stage s = A\nstage t = (B)?->C", "stage s = A\nstage t = (B)? -> C\n"),
        ("forbid ((a)) and(b)", "forbid ((a)) and (b)\n"),
        ("params p { x : float[10_000,1e+5]log step -2 = - 3 when -y<- 2-1 }", None),
        (
            "params p { a = 1, log = 2, pipeline = 3, b = 4 }",
            "params p {\n  a        = 1,\n  log      = 2,\n  pipeline = 3\n  b        = 4\n}\n",
        ),
        (
            "task t{minimize 1-a subject   to b<=1us validate cv(5)}",
            "task t {\n  minimize   1 - a\n  subject to b <= 1us\n  validate   cv(5)\n}\n",
        ),
    ],
)
def test_canonical_layout(written: str, canonical: str | None) -> None:
    if read(written).diagnostics:
        with pytest.raises(ValueError, match="syntax errors"):
            format_text(written)
        return
    found = format_text(written)
    assert canonical is None or found == canonical
    assert format_text(found) == found
    assert max(map(len, found.splitlines())) <= WIDTH


def test_numbers_and_parentheses_stay_as_they_are_written() -> None:
    text = "params p {\n  x : float[10_000, 1e+5] log step -2 = -3 when (-y < -2 - 1)\n}\n"
    assert format_text(text) == text


@pytest.mark.parametrize("path", sorted(resource_folder("spaces").glob("*.space")), ids=lambda path: path.stem)
def test_bundled_spaces_are_laid_out(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text) == text, f"run `spacelang fmt spaces/{path.name}`"


def test_long_pipelines_and_rules_are_broken() -> None:
    steps = " -> ".join(f"VeryLongOperatorName{place} {{ n = {place} }}" for place in range(6))
    rule = " and ".join(f"stage_number_{place} is Operator{place}" for place in range(6))
    text = format_file(read(f"pipeline = columns(numeric: {steps}) -> (A | B)\nforbid {rule}").file)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert format_file(read(text).file) == text


def test_the_example_fits() -> None:
    assert max(map(len, format_file(read(EXAMPLE).file).splitlines())) <= WIDTH


def test_an_empty_body_is_written() -> None:
    text = "stage estimator = TransformedTargetRegressor { regressor = MLPRegressor {} }"
    assert spell_file(read(text).file).strip() == text
