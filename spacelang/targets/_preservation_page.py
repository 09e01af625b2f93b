"""The README of the targets, generated from their verdicts by `python -m spacelang.targets._preservation_page`."""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from spacelang.grouping import group_by_key
from spacelang.plugins import PluginRegistry
from spacelang.targets import TARGETS
from spacelang.targets._lowering import ALWAYS, Construct, Preservation, Verdict
from spacelang.targets._random_draws import DISTRIBUTION

PAGE: Final = Path(__file__).with_name("README.md")
STATUS_MARKDOWN: Final = {
    Preservation.EXACT: "exact",
    Preservation.REWRITTEN: "rewritten",
    Preservation.APPROXIMATED: "*approximated*",
    Preservation.REFUSED: "**refused**",
}
HEAD: Final = """# Targets

`spacelang compile SPACE --target T` compiles a space to the form that an optimizer or a library needs. No construct of
a space is dropped silently: every compilation reports what happened to each construct, with its lines. With `--strict`,
everything that is not *exact* or *rewritten* is an error.

| target | compiled space |
| --- | --- |
{TARGETS}

`compile` prints the compiled space as text, JSON, dot or Python. Compiled JSON contains the whole space:
`spacelang run compiled.json …` does not need the text. Each construct gets one of these verdicts:

- exact: preserved as written;
- rewritten: preserved by other means, nothing is lost;
- approximated: every configuration of the compiled space is one of the space, but not all of them are searched, or
  guidance of the author (a default, a prior, a weight) is lost;
- refused: the target cannot represent the construct, and the space is not compiled; the error points to the line.

`space.compile(T).form.native` is the object of the library:

| target | `form.native` |
| --- | --- |
| `configspace` | a `ConfigurationSpace`, for SMAC and other tools that use ConfigSpace |
| `hyperopt` | a dictionary of `hp.choice` and other `hp` expressions, for `fmin` |
| `nevergrad` | a `ng.p.Dict`, the `parametrization` of an optimizer |
| `optuna` | a function that takes a trial and returns its configuration, to be called by an objective |
| `ray` | a flat dictionary of `tune.choice` and other distributions, for `param_space` of a `Tuner` |
| `sklearn` | a list of dictionaries, for `RandomizedSearchCV` and, with `search=grid`, `GridSearchCV` |

`spacelang compile SPACE --target optuna --format python` writes a Python module that does not need spacelang. Its
function `decode` turns a result of the library into a configuration, and `build` turns a configuration into a pipeline.
The module for `sklearn` also has an `Estimator` for the searches of scikit-learn, and that for hyperopt has
`trials(points)`, which `fmin` evaluates first.

Nevergrad and Ray Tune get one flat dictionary of parameters, because their search algorithms need all parameters in
every trial (Ray Tune's `OptunaSearch` does not resolve nested choices). `decode` reads only the active ones, and tests
conditions on their values. `default` of a module has values for all parameters: suggest it with
`optimizer.suggest(default)`, respectively with `points_to_evaluate=[default]`. On a log scale, Nevergrad returns it up
to the 12th digit. The extra `ray` installs Ray Tune; `tests/benchmarks/ray_spaces.py` tries its search algorithms.

`spacelang compile SPACE --target irace -o parameters.txt` writes a file for irace 4. Before irace 4, put the lines
below `[forbidden]` into a file of their own (`forbiddenFile`) and `digits` into the scenario, and remove both sections.
Constraints are forbidden combinations if at least a tenth of irace's draws satisfy them; otherwise, additional
categorical parameters choose among the allowed cases. `decode` takes a configuration of irace, also with numbers as
text. Parameters, conditions and forbidden combinations were tested with irace 3.5
(`tests/benchmarks/irace_files.py`). The sections, which only irace 4 reads, were not.

The result of `compile` is pickled as the space and its target, and compiled again when it is unpickled.

The report says whether random draws of the library follow the distribution of the space's random draws
([REFERENCE](../../grammars/REFERENCE.md#random-draws), the advised one), without the priors and weights that the form
ignores. If not, it names the variables, and the reason that the target declares (`random_draws`). With
`compile --draws 3000`, or by `space.compile(T).measure_draw_distances()`, the library draws, and the report states the
largest difference of a share; the JSON has the differences of all variables (`random_draws`). `spacelang verify` draws,
too, and fails if a share differs by more than .05 without a declared reason: values that no constraint connects must be
distributed like those of the space.

## Relations

A relation is a constraint that compares hyperparameters with each other, such as `lo <= hi`, `hi : int[lo, 100]` or a
limit on a sum. `--set relations=…` chooses how a target expresses it, and the report says what was done:

- `native`: by means of the tool. In Optuna, later ranges have bounds that depend on earlier values, like
  `trial.suggest_int("hi", lo, 100)`; this is possible for comparisons of floats, differences of integers such as
  `lo <= hi - 2`, and limits on one sum of ranges.
- `quantiles`: each related range is a number in [0, 1], the quantile of its value in the conditional distribution given
  the ranges before it (Rosenblatt, 1952). `decode` turns independent uniform numbers into values with the distribution
  of the space's random draws, without priors; where conditions decide which ranges are active, into values with the
  conditional distribution given the active ranges. Rounding changes floats by a tiny part of their range. Possible for
  comparisons of two ranges that connect ranges like a tree, and for limits on one sum.
- `rejection`: all values are drawn from whole ranges, sets and decisions, and a trial that violates a constraint of any
  kind is pruned before it is trained. `form.ask(study)` asks for trials until one is a member. Optuna 5 gets the
  amounts of violations by `set_constraint`; in Optuna 4 they are the user attribute `constraints`. Possible for
  comparisons of sums, and of values with constants, if at least one draw in 10,000 is a member.
- `cases`: choices are nested so that only valid configurations remain, with a name for each case. Possible for all
  constraints that connect few values.
- `auto`, the default: the first of those in the last column that can express the space; what it cannot express is
  expressed by cases.

| target | `native` | `quantiles` | `rejection` | `cases` | `auto` |
| --- | --- | --- | --- | --- | --- |
| `optuna` | bounds that depend on earlier values | yes | yes | yes | `native`, `quantiles` |
| `configspace` | relations and forbidden clauses | yes | no | where clauses cannot express it | `native`, `quantiles` |
| `irace` | forbidden combinations, if a tenth of the draws are valid | yes | no | yes | `native`, `quantiles` |
| `hyperopt` | no | yes, decoded by `configuration` | no | yes | `quantiles` |
| `nevergrad`, `ray` | no | yes | no | yes | `quantiles` |
| `sklearn` | no | yes, decoded by `decode` | no | yes | `cases` |

With `native` and `cases`, values that constraints connect are drawn one after the other, so that the draws of Optuna
and hyperopt do not follow the distribution of the space's random draws. With `quantiles` they do, unless conditions
decide which of the related ranges are active, and each hyperparameter has one name. A constraint that the chosen
lowering cannot express is refused.

The entry `names` of a report has the number of names that the tool sees, and the number of decisions, hyperparameters
and further parts of unions. Optuna does not accept different choices under one name. So where a constraint narrows a
decision or a set, as `forbid scaler is none and estimator is SVC` does, there is a second name for the shorter list,
here `estimator#2`; in the bundled spaces, only `mosaic` has such names (131 for 126). With `--set relations=rejection`
there is one name with all choices (125 for 126 in `mosaic`), but a quarter of its random draws are pruned. In `credit`,
both are searched equally well: with 30 seeds, rejection differs from the hand-written form with two names by -0.0001
[-0.0101, +0.0100], not counting the pruned trials.

## Compared with forms written by hand

Forms should be searched as well as what an expert writes for the tool. `tests/benchmarks/fidelity.py` measures this:
each tool searches eight spaces by the compiled and by the hand-written form, with the same seeds. The losses are cheap
formulas between 0 and 1, and 0 at the optimum. The table has the mean smallest loss after 80 or 100 trials, the mean
paired difference (compiled less hand-written) with a 95 % bootstrap interval, and the smallest difference that as many
pairs detect with a power of 80 %. The interval should end below 0.02. `b675031` is a commit whose forms had a name for
each case and split numbers at conditions: the benchmark detects that they are searched worse. Rows with few pairs are
not finished yet; the script continues where it was interrupted.

30 pairs were planned for hyperopt. For `mlp`, they gave +0.0071 [-0.0080, +0.0203], which misses the limit. The 70
further pairs of `mlp` and of `conditions` (30 pairs: +0.0069 [-0.0057, +0.0197]) were added after these results had
been seen. The forms differ in one node only: by hand, `hp.uniformint` draws both ends of the number of layers half as
often as the numbers between them, of which one is the optimum.

10 pairs were planned for SMAC. For `conditions`, they gave +0.0006 [-0.0270, +0.0304] and detect differences from 0.044
on only, so further pairs were added after these results had been seen. The two forms are equal but for the names of
hyperparameters (a test compares them): earlier ones had a constant for the only alternative of the stage, which is
left out now. What is left is the noise of SMAC, whose searches with one seed differ between processes: the order of
start points depends on Python's hashes of strings.

{MEASURED}

The tables below are generated from the declarations of the targets (`python -m spacelang.targets._preservation_page`).
Where a construct has several verdicts, they depend on the place; the report of the compilation says which one applies.
"""


def render_page() -> str:
    """Return the whole README in Markdown, with a final newline."""
    targets = {name: TARGETS.load(name) for name in TARGETS.names()}
    rows = "\n".join(f"| `{name}` | {_summary(target)} |" for name, target in targets.items())
    table = ["| construct | " + " | ".join(f"`{name}`" for name in targets) + " |", "| --- " * (len(targets) + 1) + "|"]
    for construct in Construct:
        statuses_by_target = (
            dict.fromkeys(STATUS_MARKDOWN[v.status] for v in _verdicts(t, construct)) for t in targets.values()
        )
        table.append(
            "| ".join([f"| {construct.value} ", *(f"{', '.join(statuses)} " for statuses in statuses_by_target)]) + "|"
        )
    head = HEAD.replace("{TARGETS}", rows).replace("{MEASURED}", _measured_table())
    return "\n".join([head, *table, "", *_details(targets)]).rstrip("\n") + "\n"


def _measured_table() -> str:
    """Return the table of measurements in the present README: `tests/benchmarks/fidelity.py --table` prints it."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("| tool | space |"))
    return "\n".join(takewhile(bool, lines[first:]))


def _verdicts(target: type[Any], construct: Construct) -> tuple[Verdict, ...]:
    found: tuple[Verdict, ...] = {**ALWAYS, **target.preserves}[construct]
    return found


def _summary(target: type[Any]) -> str:
    return (target.__doc__ or "").strip().splitlines()[0]


def _details(targets: dict[str, Any]) -> Iterator[str]:
    for name, target in targets.items():
        yield from (f"## `{name}`", "", _summary(target), "")
        for option in PluginRegistry.options(target):
            default = str(option.default).lower() if isinstance(option.default, bool) else option.default
            yield f"- `--set {option.name}={default}` ({option.type}): {option.doc}"
        if PluginRegistry.options(target):
            yield ""
        verdicts = ((v, construct.value) for construct in Construct for v in _verdicts(target, construct))
        for verdict, constructs in group_by_key(verdicts).items():
            yield f"- {', '.join(constructs)}: {STATUS_MARKDOWN[verdict.status]}: {verdict.message}"
        if (draws := getattr(target, "random_draws", None)) is not None:
            reasons = "; ".join(each.reason for each in draws.deviations)
            follow = "may not follow" if reasons else "follow"
            because = f": {reasons}" if reasons else ""
            yield f"- draws of {draws.library} {follow} {DISTRIBUTION}{because}"
        yield ""


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
