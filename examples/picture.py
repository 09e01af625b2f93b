"""The picture of the first page: a space as text, facts about it before anything runs, and its targets.

    python examples/picture.py

This writes `picture.svg` into the folder of this file. Its content comes from the space of the tour's Optuna script and
from the package. The colours follow the light or dark mode of the reader.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

import spacelang as sl
from spacelang.syntax.parser_tables import highlight
from spacelang.targets import TARGETS

HERE: Final = Path(__file__).parent
SPACE: Final = HERE / "tour" / "optuna_study.space"
PICTURE: Final = HERE / "picture.svg"

WIDTH, HEIGHT = 980, 330
LINE: Final = 19
LABELS: Final = {
    "admm": "ADMM",
    "blds": "limited discrepancy search",
    "boasf": "bandit over arms",
    "configspace": "ConfigSpace, SMAC",
    "hyperopt": "hyperopt",
    "irace": "irace",
    "mosaic": "Monte Carlo tree search",
    "nevergrad": "Nevergrad",
    "optuna": "Optuna",
    "random": "arrays, for any code",
    "ray": "Ray Tune",
    "sklearn": "scikit-learn's searches",
}
"""The labels of targets in the picture; one without a label has its name."""

STYLE: Final = """
.page { fill: #ffffff } .box { fill: #f4f6f8; stroke: #d0d7de } .sheet { fill: #fffdf5; stroke: #d8cfa8 }
text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 } .dim { fill: #59636e }
.code { font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre }
.head { font-weight: 600 } .keyword { fill: #8250df; font-weight: 600 } .number { fill: #0550ae }
.line { stroke: #59636e; fill: none } .tip { fill: #59636e }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } .box { fill: #161b22; stroke: #3d444d } .sheet { fill: #1b1a14; stroke: #57522f }
  text { fill: #f0f6fc } .dim { fill: #9198a1 } .keyword { fill: #d2a8ff } .number { fill: #79c0ff }
  .line { stroke: #9198a1 } .tip { fill: #9198a1 }
}
"""


def draw_picture() -> str:
    """Return the picture as SVG."""
    space = sl.load(SPACE)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    title = "One text, checked and counted before anything runs, compiled for any optimizer"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">',
            f"<title>{title}</title><style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            *_draw_text(16, 48, SPACE.read_text(encoding="utf-8")),
            *_draw_arrow(428, 464),
            *_draw_facts(space, 476, 48),
            *_draw_arrow(704, 740),
            *_draw_targets(752, 48),
            "</svg>\n",
        ]
    )


def _draw_text(x: int, y: int, text: str) -> Iterator[str]:
    """Yield the space's text with coloured keywords and numbers, without the comment at the top."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    yield _text(x, y - 12, f"{SPACE.name}: the space", "head")
    yield f'<rect class="sheet" x="{x}" y="{y}" width="406" height="{LINE * len(lines) + 20}" rx="6"/>'
    for place, line in enumerate(lines, 1):
        at = f'x="{x + 14}" y="{y + 6 + LINE * place}"'
        yield f'<text class="code" xml:space="preserve" {at}>{_highlight_line(line)}</text>'


def _highlight_line(line: str) -> str:
    return "".join(
        f'<tspan class="{kind}">{escape(piece)}</tspan>' if kind else escape(piece) for kind, piece in highlight(line)
    )


def _draw_facts(space: sl.Space, x: int, y: int) -> Iterator[str]:
    """Yield facts about the space that are known before anything runs."""
    compiled = space.checked
    facts = (
        "every name and range checked",
        f"{space.structures} pipelines, counted exactly",
        f"{len(compiled.hyperparameters)} hyperparameters",
        f"{len(compiled.conditions)} condition and {len(compiled.constraints)} constraint",
        "a default; all samples are valid",
    )
    yield _text(x, y - 12, "known before anything runs", "head")
    for place, line in enumerate(facts, 1):
        yield _text(x, y + 8 + 26 * place, line, "dim")


def _draw_targets(x: int, y: int) -> Iterator[str]:
    """Yield a box for every target."""
    yield _text(x, y - 12, "compiled for any optimizer", "head")
    step = min(27, (HEIGHT - y - 6) // len(TARGETS.names()))
    for place, name in enumerate(TARGETS.names()):
        top = y + step * place
        yield f'<rect class="box" x="{x}" y="{top}" width="212" height="{step - 4}" rx="{step // 2 - 2}"/>'
        yield _text(x + 12, top + step - 11, LABELS.get(name, name))


def _draw_arrow(left: int, right: int) -> Iterator[str]:
    middle = 48 + 120
    yield f'<path class="line" d="M{left} {middle}H{right - 7}"/>'
    yield f'<path class="tip" d="M{right - 8} {middle - 5}l8 5-8 5z"/>'


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw_picture(), encoding="utf-8")
