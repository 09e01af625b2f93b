"""The bundled spaces for everyday work, which a run takes where none is named.

They are made of the same stages as a space to start from; `python -m spacelang.starting.tabular` writes them.
"""

from collections.abc import Iterable
from math import inf
from typing import Final, get_args

from spacelang.ir.task import Kind
from spacelang.resources import folder
from spacelang.starting import parts
from spacelang.starting.learners import NEIGHBOUR_ROWS, learners
from spacelang.starting.stages import remark
from spacelang.syntax.printer import format_text

PIPELINE: Final = """\
pipeline = columns(numeric: imputer -> scaler, categorical: encoder, text: reader, datetime: calendar)
           -> selector -> estimator
"""


def name_of(kind: Kind) -> str:
    """The name of the bundled space for a kind of task."""
    return f"tabular_{kind}"


def packages_of(kind: Kind, allowed: Iterable[str]) -> tuple[str, ...]:
    """Those of the packages that a caller allows that have a learner for such a task."""
    among = {*allowed}
    return tuple(each.package for each in learners(kind) if each.package in among)


def tabular_space(kind: Kind, packages: Iterable[str] = ()) -> str:
    """The text of the bundled space for a kind of task, with the learners of these packages beside its own."""
    wanted = {"", *packages}
    # What is worth its time with few rows only is for spaces that are made for their data.
    among = [each for each in learners(kind) if each.package in wanted and (each.most_rows or inf) >= NEIGHBOUR_ROWS]
    uses = "".join(f"use {each.package}\n" for each in among if each.package)
    said = (
        (HEAD, f'space {name_of(kind)} "Tables with columns of all kinds, for {kind}"\n\n{uses}'),
        ("Numbers: what is missing is filled in.", parts.IMPUTER),
        ("They are brought to one scale.", parts.SCALER),
        ("Categories: rare ones are joined to one.", parts.encoder(kind, parts.CATEGORIES)),
        ("Free text, each column by itself.", parts.READER),
        (f"Dates: {parts.OF_DATES}", parts.CALENDAR),
        ("Fewer columns: the best by themselves, or combinations of them.", parts.selector(kind)),
        ("", parts.estimator(among, weighs=kind == "classification")),
        ("Columns of each type go their own way, and side by side into what follows.", PIPELINE),
        ("Distances and gradients want columns of one size.", parts.constraint(among)),
    )
    return format_text("\n".join(f"{remark(comment) if comment else ''}{text}" for comment, text in said))


HEAD: Final = (
    "For everyday work with tables: missing values, categories, text and dates. `spacelang run` takes it where no "
    "space is named. It is made of what `spacelang init` picks from, by `python -m spacelang.starting.tabular`."
)


def main() -> None:
    """Write the bundled spaces."""
    for kind in get_args(Kind):
        (folder("spaces") / f"{name_of(kind)}.space").write_text(tabular_space(kind), encoding="utf-8")


if __name__ == "__main__":
    main()
