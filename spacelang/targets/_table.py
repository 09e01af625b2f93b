"""What each target makes of each construct, as a page; `python -m spacelang.targets._table` writes it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from spacelang.grouping import grouped
from spacelang.plugins import Plugins
from spacelang.targets import TARGETS
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import Preservation, Verdict

PAGE: Final = Path(__file__).with_name("README.md")
SIGNS: Final = {
    Preservation.EXACT: "exact",
    Preservation.REWRITTEN: "rewritten",
    Preservation.APPROXIMATED: "*approximated*",
    Preservation.REFUSED: "**refused**",
}
HEAD: Final = """# Targets

`spacelang compile SPACE --target T` hands a space to an optimizer or a tool in the form that it takes. No construct of
a space is lost in silence: every compilation reports what became of each, with its lines, and `--strict` makes an error
of all that is not *exact* or *rewritten*.

| target | form |
| --- | --- |
| `blds` | the tree of limited discrepancy search (BLDS, AAAI 2022) |
| `mosaic` | the structural tree of Monte-Carlo tree search with a vector for its surrogate (MOSAIC, IJCAI 2019) |
| `admm` | one-hot blocks z and continuous and discrete blocks theta, as NumPy arrays (ADMM, AAAI 2020) |
| `boasf` | arms, each a space of its own: one an algorithm, or the k^n parts of a partition (BOASF) |
| `configspace` `hyperopt` `optuna` `sklearn` | the tool's own objects, and source that makes them |
| `random` | arrays of random configurations, for anybody |

`compile` prints them as text, JSON, dot or Python. Compiled JSON holds the whole space: `spacelang run compiled.json …`
needs no text any more. What became of a construct is one of these:

- exact: kept as it stands;
- rewritten: kept by other means, nothing is lost;
- approximated: the form has no configurations that the space does not have, but does not search all of them, or what
  the author advises (a default, a prior, a weight) is lost;
- refused: the form cannot say it, and so the space is not compiled; the message stands on the space's own line.

`space.compile(T).form.native` is what the tool itself takes:

| target | `form.native` |
| --- | --- |
| `configspace` | a `ConfigurationSpace`, for SMAC and all that takes one |
| `hyperopt` | a dictionary of `hp.choice` and the like, for `fmin` |
| `optuna` | a function that a trial is given to, and that returns its configuration, for objectives |
| `sklearn` | a list of dictionaries, for `RandomizedSearchCV` and, with `search=grid`, `GridSearchCV` |

`spacelang compile SPACE --target optuna --format python` writes such as a module that needs no spacelang, with `decode`
from what the tool found to a configuration and `build` from that to a pipeline; that of `sklearn` has `Estimator`, too,
which searches take.

What `compile` returns is pickled as the space and its target, and compiled again where it arrives.

The tables below are made from what the targets declare (`python -m spacelang.targets._table`). Where there are several
words, it depends on the place: the report of the compilation says which.
"""


def page() -> str:
    """The whole page in Markdown, with a line end at its end."""
    targets = {name: TARGETS.load(name) for name in TARGETS.names()}
    return "\n".join([HEAD, *_table(targets), "", *_details(targets)]).rstrip("\n") + "\n"


def _table(targets: dict[str, Any]) -> Iterator[str]:
    yield "| construct | " + " | ".join(f"`{name}`" for name in targets) + " |"
    yield "| --- " * (len(targets) + 1) + "|"
    for construct in Construct:
        yield "| ".join([f"| {construct.value} ", *(f"{_cell(t.keeps[construct])} " for t in targets.values())]) + "|"


def _cell(verdicts: tuple[Verdict, ...]) -> str:
    return ", ".join(dict.fromkeys(SIGNS[verdict.status] for verdict in verdicts))


def _details(targets: dict[str, Any]) -> Iterator[str]:
    for name, target in targets.items():
        yield f"## `{name}`"
        yield ""
        yield (target.__doc__ or "").strip().splitlines()[0]
        yield ""
        for option in Plugins.options(target):
            default = str(option.default).lower() if isinstance(option.default, bool) else option.default
            yield f"- `--set {option.name}={default}` ({option.type}): {option.doc}"
        if Plugins.options(target):
            yield ""
        for verdict, constructs in _by_verdict(target).items():
            yield f"- {', '.join(constructs)}: {SIGNS[verdict.status]}: {verdict.message}"
        yield ""


def _by_verdict(target: Any) -> dict[Verdict, list[str]]:
    return grouped((verdict, construct.value) for construct in Construct for verdict in target.keeps[construct])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
