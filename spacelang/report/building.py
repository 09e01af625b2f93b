"""The pipelines of a space as code: a function `build(configuration)` that needs the libraries of its operators alone.

`pipeline_code` writes the functions of decisions; here is what stands around them in a module.
"""

import ast
from dataclasses import dataclass
from typing import Final

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.diagnostics.cells import visible
from spacelang.ir.space import Space
from spacelang.report.code import CodeWriter
from spacelang.report.functions import BUILD, ESTIMATOR
from spacelang.report.pipeline_code import PipelineCode, source
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines import configured
from spacelang.runtime.pipelines.library import CODES_ONLY, task_kind
from spacelang.targets._exports.python import Listed, expression, text

VALUES: Final = frozenset(
    {"Step", "TAKEN", "TEXT_VALUES", "STRINGS", "READERS", "Any", "Iterable", "Mapping", "Sequence"}
)
"""Names of values and types in every module."""
STANDS_ON: Final = frozenset(
    each.__name__
    for each in (
        Pipeline,
        FeatureUnion,
        ColumnTransformer,
        BaseEstimator,
        TransformerMixin,
        clone,
        make_column_selector,
    )
)
"""What code that is taken word by word has of scikit-learn, under these names."""


@dataclass(frozen=True, slots=True)
class Building:
    """The code of a space's pipelines: what it imports, and the functions, `build` last."""

    imports: str
    functions: str


def module(form: str, space: Space, *, is_estimator: bool = False) -> str:
    """The module of a form with `build(configuration)`, or with the reason why it has none.

    It needs the tool of the form and the libraries of the space's operators. One that `is_estimator` has the class
    `Estimator` as well, whose parameters are configurations.
    """
    classes = _estimator(space) if is_estimator else ()
    try:
        found = building(space, "\n\n".join([form, *classes]))
    except BuildError as error:
        return f"{form}\n\n\n# There is no `build(configuration)` here: {visible(error.message)}."
    lines = form.split("\n")
    end = ast.parse(form).body[0].end_lineno or 0
    parts = ["\n".join([*lines[:end], "", found.imports, *lines[end:]]), found.functions]
    return "\n\n\n".join([*parts, *classes])


def _estimator(space: Space) -> tuple[str, str]:
    """The class `Estimator`, and what it stands on."""
    base = source(configured).split('"""', 2)[2].strip()
    try:
        kind = task_kind(space.root)
    except BuildError:
        kind = None
    return base, ESTIMATOR.format(kind=text(kind)).rstrip()


def building(space: Space, beside: str = "") -> Building:
    """The code that builds the pipelines of a space, and stands with what is `beside` it in a module.

    Raises BuildError for an abstract operator, and for one that is called like something else in the module.
    """
    writer = PipelineCode()
    steps = expression(Listed(tuple(writer.steps(space.root))), 4, 18)
    body = BUILD.format(steps=steps)
    functions = [*writer.helpers(space), *writer.functions, body]
    codes = sorted(CODES_ONLY & {name for _, name in writer.writer.members.values()})
    note = (
        [f"# The classes must be 0, 1, … for {' and '.join(codes)}: code other labels with a LabelEncoder."]
        if codes
        else []
    )
    text = "\n\n\n".join([*note, *(each.rstrip("\n") for each in functions)])
    _check_names(writer.writer, f"{beside}\n\n{text}")
    return Building(writer.imports, text)


def _check_names(writer: CodeWriter, code: str) -> None:
    """Raise BuildError where an operator's class would hide, or be hidden by, what the code defines or stands on."""
    defined = {each.name for each in ast.parse(code).body if isinstance(each, ast.ClassDef | ast.FunctionDef)} | VALUES
    for here, (package, name) in writer.members.items():
        if here in defined or (here in STANDS_ON and not package.startswith("sklearn")):
            raise BuildError(f"`{name}` of {package} is called like something that modules have", "rename the class")
