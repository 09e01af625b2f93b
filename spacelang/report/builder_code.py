"""Write the pipelines of a space as Python code: a function `build(configuration)` without spacelang.

The code needs only the libraries of the space's operators. `pipeline_code` writes the functions of the decisions; this
module adds the rest of the Python module around them.
"""

import ast
from dataclasses import dataclass
from typing import Final

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.ir.space import Space
from spacelang.report.code_writer import CodeWriter
from spacelang.report.copied_functions import BUILD, ESTIMATOR
from spacelang.report.pipeline_code import PipelineCode, source_code_of
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines import configured
from spacelang.runtime.pipelines.catalogue_access import CODES_ONLY, task_kind
from spacelang.targets._exports.python_nodes import ListNode, expression_source, literal_source

MODULE_NAMES: Final = frozenset(
    {"Step", "TAKEN", "TEXT_VALUES", "STRINGS", "READERS", "Any", "Iterable", "Mapping", "Sequence"}
)
"""Names of values and types that every module defines."""
SKLEARN_NAMES: Final = frozenset(
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
"""Names of scikit-learn that the copied source code uses."""


@dataclass(frozen=True, slots=True)
class BuilderCode:
    """The code that builds the pipelines of a space: the imports, and the functions, of which `build` is the last."""

    imports: str
    functions: str


def module_with_builder(form: str, space: Space, *, is_estimator: bool = False) -> str:
    """Return the Python module of a compiled space with `build(configuration)`, or with the reason why it has none.

    `form` is the code of the compiled space. The module needs only the target's library and the libraries of the
    space's operators. If `is_estimator`, it also has the class `Estimator`, whose parameter is a configuration.
    """
    classes = _estimator_code(space) if is_estimator else ()
    try:
        found = builder_code(space, "\n\n".join([form, *classes]))
    except BuildError as error:
        return f"{form}\n\n\n# This module has no `build(configuration)`: {make_visible(error.message)}."
    lines = form.split("\n")
    end = ast.parse(form).body[0].end_lineno or 0
    parts = ["\n".join([*lines[:end], "", found.imports, *lines[end:]]), found.functions]
    return "\n\n\n".join([*parts, *classes])


def _estimator_code(space: Space) -> tuple[str, str]:
    """Return the code of the class `Estimator`, preceded by that of its base class."""
    base = source_code_of(configured).split('"""', 2)[2].strip()
    try:
        kind = task_kind(space.root)
    except BuildError:
        kind = None
    return base, ESTIMATOR.format(kind=literal_source(kind)).rstrip()


def builder_code(space: Space, beside: str = "") -> BuilderCode:
    """Return the code that builds the pipelines of a space.

    `beside` is the other code of the module. Raises BuildError for an abstract operator, and for an operator whose name
    clashes with another name in the module.
    """
    writer = PipelineCode()
    steps = expression_source(ListNode(tuple(writer.steps(space.root))), 4, 18)
    body = BUILD.format(steps=steps)
    functions = [*writer.helpers(space), *writer.functions, body]
    codes = sorted(CODES_ONLY & {name for _, name in writer.writer.members.values()})
    note = (
        [f"# The classes must be 0, 1, … for {' and '.join(codes)}: encode other labels with a LabelEncoder."]
        if codes
        else []
    )
    text = "\n\n\n".join([*note, *(each.rstrip("\n") for each in functions)])
    _check_names(writer.writer, f"{beside}\n\n{text}")
    return BuilderCode(writer.imports, text)


def _check_names(writer: CodeWriter, code: str) -> None:
    """Raise BuildError if the class of an operator has the same name as something that the code defines or uses."""
    defined = {
        each.name for each in ast.parse(code).body if isinstance(each, ast.ClassDef | ast.FunctionDef)
    } | MODULE_NAMES
    for here, (package, name) in writer.members.items():
        if here in defined or (here in SKLEARN_NAMES and not package.startswith("sklearn")):
            raise BuildError(
                f"`{name}` of {package} has the same name as something that the module defines", "rename the class"
            )
