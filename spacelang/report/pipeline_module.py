"""Write a pipeline as a Python module that needs scikit-learn, but not spacelang, and reproduces a trial.

The module also contains what a trial does around its pipeline: the columns and their types, the conversion of labels,
and the seed for steps without a random state.
"""

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.space import Space
from spacelang.report.code_writer import (
    BUILD,
    ESTIMATOR,
    CodeWriter,
    literal_expression,
    module_source_to_copy,
    pipeline_module_source,
)
from spacelang.report.pipeline_code import PipelineCodeWriter
from spacelang.runtime.errors import BuildError, InputError, describe_exception
from spacelang.runtime.pipelines import configuration_estimator
from spacelang.runtime.pipelines.catalogue_access import CODES_ONLY, task_kind
from spacelang.runtime.pipelines.input_conversion import columns_cast_to_float
from spacelang.targets._exports.python_expression_tree import ListNode, expression_source, literal_source

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.objective import DataObjective


# Python reads the encoding of a file from its first two lines, so no foreign name may be written there.
HEAD: Final = '''"""A scikit-learn pipeline that was found by spacelang, and that does not need spacelang.

    fitted = fit(table, table[LABEL]{weights})   # a pandas DataFrame with labels{and_weights}
    fitted.predict(take(new))           # a DataFrame of new rows
"""
'''
IMPORTS: Final = """\
import random

import numpy
from sklearn.base import clone
from threadpoolctl import threadpool_limits
"""
BUILD_CLONE: Final = '''\

def build():
    """Return the unfitted pipeline."""
    return clone(pipeline)
'''
TAKE: Final = '''\

def take(table):
    """Return the columns of the table that the pipeline takes, in their order."""
    return table[FEATURES]
'''
TAKE_FLOATS: Final = '''\

def take(table):
    """Return the columns that the pipeline takes, in their order, with all numbers as floats."""
    return table[FEATURES].astype(dict.fromkeys(COUNTS, float))
'''
TAKE_SPARSE: Final = '''\

def take(features):
    """Return the sparse matrix unchanged: the pipeline takes all columns."""
    return features
'''
FIT: Final = '''\

def fit({arguments}):
    """Return the pipeline, fitted as a trial fits it: the same rows give the same predictions."""
    random.seed(SEED)
    numpy.random.seed(SEED)  # for steps that use the global random state
    with threadpool_limits(limits=1):  # more threads would add numbers in another order
        return build().fit(take(features), {labels}{weights})
'''


def pipeline_module_text(pipeline: Any, objective: "DataObjective", provenance: Iterable[str]) -> str:
    """Return the text of a module that builds and fits the unfitted pipeline, or vote, of an objective.

    It defines `pipeline` (unfitted), `build()`, `take(table)` and `fit(table, labels)`, and the constants `FEATURES`,
    `LABEL` (a list for several targets), `SEED` and `CLASSES` (in the order of probabilities). After a run with sample
    weights, `fit` also takes those of its rows. The lines of
    `provenance` become comments; they may contain foreign text. Raises TypeError and BuildError as
    `pipeline_module_source` does.
    """
    data = objective.dataset
    comments = "".join(f"# {replace_unprintable(line)}\n" for line in provenance)
    names = data.target_columns
    facts: dict[str, object] = {"LABEL": [*names] if len(names) > 1 else names[0], "SEED": objective.random_state}
    take = TAKE_SPARSE
    if isinstance(data.features, pd.DataFrame):
        facts["FEATURES"] = [*data.features.columns]
        counts = columns_cast_to_float(data.features, objective.preparation)
        take = TAKE_FLOATS if counts else TAKE
        facts |= {"COUNTS": counts} if counts else {}
    if data.classes:
        facts["CLASSES"] = [*data.classes]
    constants = "".join(f"{name} = {literal_expression(value)}\n" for name, value in facts.items())
    number = "int" if data.kind == "classification" else "float"
    labels = "numpy.asarray([*labels])" if data.classes else f"numpy.asarray(labels, dtype={number})"
    arguments, weights = "features, labels", ""
    if data.weights is not None:
        if not hasattr(pipeline, "steps"):
            raise TypeError("scikit-learn cannot fit a vote of pipelines with sample weights")
        option = literal_expression(f"{pipeline.steps[-1][0]}__sample_weight")
        arguments = f"{arguments}, sample_weight"
        weights = f", **{{{option}: numpy.asarray(sample_weight, dtype=float)}}"
    parts = (constants, BUILD_CLONE, take, FIT.format(arguments=arguments, labels=labels, weights=weights))
    given = {"weights": ", weights", "and_weights": ", and a weight for each row"}
    head = HEAD.format(**(given if data.weights is not None else dict.fromkeys(given, "")))
    return f"{head}\n{comments}\n{IMPORTS}{pipeline_module_source(pipeline)}\n" + "\n".join(parts)


AS_CODE = "write the pipeline as Python code, to a file that ends in `.py`"


def check_skops_installed() -> None:
    """Raise InputError if skops is not installed."""
    if find_spec("skops") is None:
        message = "writing a `.skops` file needs the package `skops`"
        raise InputError(message, f"install `spacelang[skops]`, or {AS_CODE}")


def dump_skops_model(fitted: Any) -> tuple[bytes, list[str]]:
    """Return the content of a skops file (tested by reading) and the types to trust; raise BuildError without one."""
    from skops.io import dumps, get_untrusted_types, loads

    try:
        content = dumps(fitted)
        types = sorted(get_untrusted_types(data=content))
        loads(content, trusted=types)
    except Exception as error:  # a foreign class may raise anything when it is serialized
        raise BuildError(f"skops cannot hold the pipeline: {describe_exception(error)}", AS_CODE) from error
    if own := [name for name in types if name.partition(".")[0] == "spacelang"]:
        part = own[0].rpartition(".")[2]
        raise BuildError(f"the pipeline has a part that is defined in spacelang only: `{part}`", AS_CODE)
    return content, types


MANY_BLANK_LINES: Final = re.compile(r"\n{4,}")
MODULE_NAMES: Final = frozenset(
    {"Step", "TAKEN", "TEXT_VALUES", "STRINGS", "READERS", "Any", "Iterable", "Mapping", "Sequence"}
)
"""Names of values and types that every module defines."""
SKLEARN_NAMES: Final = frozenset({
    "BaseEstimator", "ColumnTransformer", "FeatureUnion", "Pipeline", "TransformerMixin",
    "clone", "make_column_selector",
})  # fmt: skip
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
        note = f"# This module has no `build(configuration)`: {replace_unprintable(error.message)}."
        return with_imports_on_top(f"{form}\n\n\n{note}")
    return with_imports_on_top("\n\n\n".join([form, found.functions, *classes]), found.imports.split("\n"))


def with_imports_on_top(source: str, further: Iterable[str] = ()) -> str:
    """Return a module with all its imports, and `further` ones, below its docstring, in the order of isort.

    The module must begin with a docstring, and `further` are statements of one line each.
    """
    lines, body = source.split("\n"), ast.parse(source).body
    imports = [each for each in further if each]
    left = [*lines]
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            place = slice(node.lineno - 1, node.end_lineno)
            imports.append("\n".join(lines[place]))
            left[place] = [""] * len(lines[place])
    if not imports:
        return source
    end = body[0].end_lineno or 0
    rest = MANY_BLANK_LINES.sub("\n\n\n", "\n".join(left[end:])).strip("\n")
    gap = "\n\n\n" if rest.startswith(("def ", "class ", "@")) else "\n\n"
    head = "\n".join([*left[:end], "", _sorted_imports(imports)])
    return f"{head}{gap}{rest}" if rest else head


def _sorted_imports(statements: Iterable[str]) -> str:
    """Return import statements in two groups: those of the standard library, and others.

    Statements about one module are joined, except those with a comment.
    """
    names: dict[tuple[str, str], set[str]] = {}
    for text in statements:
        (node,) = ast.parse(text).body
        start, _, comment = text.partition("  #")
        module = node.module or "" if isinstance(node, ast.ImportFrom) else start.removeprefix("import ")
        own = {ast.unparse(each) for each in node.names} if isinstance(node, ast.ImportFrom) else set()
        names.setdefault((module, comment), set()).update(own)
    found: tuple[list[str], list[str]] = [], []
    for (module, comment), own in sorted(names.items(), key=lambda each: (bool(each[1]), each[0][0].lower())):
        line = f"from {module} import {', '.join(sorted(own))}" if own else f"import {module}"
        is_foreign = module.partition(".")[0].partition(" ")[0] not in sys.stdlib_module_names
        found[is_foreign].append(f"{line}  #{comment}" if comment else line)
    return "\n\n".join("\n".join(each) for each in found if each)


def _estimator_code(space: Space) -> tuple[str, str]:
    base = module_source_to_copy(configuration_estimator)
    try:
        kind = task_kind(space.root)
    except BuildError:
        kind = None
    return base, ESTIMATOR.format(kind=literal_source(kind)).rstrip()


def builder_code(space: Space, other_code: str = "") -> BuilderCode:
    """Return the code that builds the pipelines of a space, to be put into a module next to `other_code`.

    Raises BuildError for abstract operators, and for names that clash with those of `other_code`.
    """
    writer = PipelineCodeWriter(space)
    steps = expression_source(ListNode(tuple(writer.steps(space.root))), 4, 18)
    functions = [*writer.helper_functions(space, steps), *writer.functions, BUILD.format(steps=steps)]
    codes = sorted(CODES_ONLY & {name for _, name in writer.writer.members.values()})
    note = f"# The classes must be 0, 1, … for {' and '.join(codes)}: encode other labels with a LabelEncoder."
    text = "\n\n\n".join([*[note] * bool(codes), *(each.rstrip("\n") for each in functions)])
    _check_names(writer.writer, f"{other_code}\n\n{text}")
    return BuilderCode(writer.import_statements, text)


def _check_names(writer: CodeWriter, code: str) -> None:
    statements = ast.parse(code).body
    defined = {each.name for each in statements if isinstance(each, ast.ClassDef | ast.FunctionDef)} | MODULE_NAMES
    for here, (package, name) in writer.members.items():
        if here in defined or (here in SKLEARN_NAMES and not package.startswith("sklearn")):
            message = f"`{name}` of {package} has the name of a function or class that the written module defines"
            raise BuildError(message, "rename the class")
