"""Write a fitted pipeline as an ONNX model, and check that the model predicts what the pipeline predicts.

ONNX computes with 32-bit floats, and its converters do not cover every operator. So the model is compared with the
pipeline on rows of the run, both on the same 32-bit inputs, and refused if they differ.
"""

import copy
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.report.pipeline_module import AS_CODE
from spacelang.runtime.errors import BuildError, InputError, describe_exception

MAX_ROWS: Final = 2_000  # The most rows on which a model is checked: some operators are slow in ONNX
TOLERANCE: Final = 1e-5
"""The largest difference of probabilities, and of numbers as a share of the largest one."""
EQUAL_SHARE: Final = 0.999  # The least share of rows that the model must predict as the pipeline does
MATRIX: Final = "features"  # The name of the input that has all columns, if the pipeline takes an array


def check_onnx_installed() -> None:
    """Raise InputError if the packages that write and check ONNX models are not installed."""
    lacking = [name for name in ("skl2onnx", "onnxruntime") if find_spec(name) is None]
    if lacking:
        message = f"writing a `.onnx` file needs the package `{lacking[0]}`"
        raise InputError(message, f"install `spacelang[onnx]`, or {AS_CODE}")


def convert_to_onnx(fitted: Any, features: Any, provenance: Iterable[str]) -> tuple[bytes, list[str]]:
    """Return the content of an ONNX file that predicts as a fitted pipeline, and a description of each of its inputs.

    `features` are the rows on which the pipeline was fitted. If it starts with a step for each kind of columns, every
    column is an input of its own (numbers are 32-bit floats); otherwise one matrix has all columns. Class probabilities
    are one matrix. Raises BuildError, which names the step that ONNX does not cover, or the column that it cannot take.
    """
    if not isinstance(features, pd.DataFrame):
        raise BuildError("the features are sparse, and an ONNX model takes dense rows", AS_CODE)
    inputs = _make_inputs(fitted, features)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _convert(fitted, inputs)
            difference = _difference(fitted, model, inputs)
            reason = describe_prediction_difference(*difference) if difference[0] > 1 - EQUAL_SHARE else ""
    except Exception as error:  # noqa: BLE001 - converters raise errors of many kinds for what they do not cover
        reason = _reason(error)
    if reason:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step = first_step_not_converted_exactly(fitted, inputs)
        what = f"ONNX does not cover the step {replace_unprintable(step)}: {replace_unprintable(reason)}"
        raise BuildError(what, f"choose another pipeline, such as `--rank 2`, or {AS_CODE}")
    return _with_notes(model, [*features.columns], provenance), inputs.describe(model)


@dataclass(frozen=True)
class _Inputs:
    """Rows as 32-bit floats: as the arrays of a model, with their names and ONNX types, and as the table `rows`."""

    arrays: Sequence[npt.NDArray[Any]]
    types: Sequence[tuple[str, Any]]
    rows: pd.DataFrame

    def feed(self, model_inputs: Iterable[Any]) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by the names of a model's inputs, which may differ: `a b` becomes `a_b`."""
        return {each.name: array for each, array in zip(model_inputs, self.arrays, strict=True)}

    def describe(self, model: Any) -> list[str]:
        """Return a text for each input of the model: its name, type and shape."""
        words = (type(kind).__name__.removesuffix("TensorType").lower() for _, kind in self.types)
        sizes = ((name, array.shape[1]) for name, array in self.feed(model.graph.input).items())
        return [f"{name} ({word}, n x {width})" for (name, width), word in zip(sizes, words, strict=True)]


def _make_inputs(fitted: Any, features: pd.DataFrame) -> _Inputs:
    from skl2onnx.common.data_types import BooleanTensorType, FloatTensorType, StringTensorType

    chosen = np.unique(np.linspace(0, len(features) - 1, MAX_ROWS).astype(int))
    rows = features.iloc[chosen].reset_index(drop=True)
    is_number = {name: pd.api.types.is_numeric_dtype(rows[name]) for name in rows.columns}
    is_truth = {name: pd.api.types.is_bool_dtype(rows[name]) for name in rows.columns}
    numbers = [name for name in rows.columns if is_number[name] and not is_truth[name]]
    rows = rows.astype(dict.fromkeys(numbers, np.float32))
    if not _selects_columns(fitted) and len(numbers) == len(rows.columns):
        matrix = rows.to_numpy(dtype=np.float32, na_value=np.nan)
        return _Inputs([matrix], [(MATRIX, FloatTensorType([None, matrix.shape[1]]))], rows)
    arrays, types = [], []
    for name in rows.columns:
        if name in numbers:
            kind, values = FloatTensorType, rows[name].to_numpy(dtype=np.float32, na_value=np.nan)
        elif is_truth[name]:
            kind, values = BooleanTensorType, rows[name].to_numpy()
        else:
            _check_texts(features[name])
            kind, values = StringTensorType, rows[name].to_numpy(dtype=object)
        arrays.append(values.reshape(-1, 1))
        types.append((name, kind([None, 1])))
    return _Inputs(arrays, types, rows)


def _selects_columns(fitted: Any) -> bool:
    """Return True if a pipeline, or a member of a vote, starts with a step that selects columns by name."""
    if _is_vote(fitted):
        return any(map(_selects_columns, fitted.estimators_))
    return hasattr(fitted.steps[0][1] if hasattr(fitted, "steps") else fitted, "transformers_")


def _check_texts(column: "pd.Series[Any]") -> None:
    """Raise BuildError for a column with missing values, or with values that are not text."""
    if column.isna().any():
        raise BuildError(
            f"the column `{column.name}` has missing values, and a text of ONNX cannot be missing", AS_CODE
        )
    if not all(isinstance(value, str) for value in column.unique()):
        raise BuildError(f"the column `{column.name}` holds neither numbers nor text, which ONNX cannot take", AS_CODE)


def _is_vote(estimator: Any) -> bool:
    return type(estimator).__name__ in {"VotingClassifier", "VotingRegressor"}


def _convert(fitted: Any, inputs: _Inputs) -> Any:
    """Return the ONNX model of a fitted estimator; raise what the converters raise."""
    from skl2onnx import convert_sklearn

    ready = copy.deepcopy(fitted)
    for part in _parts(ready):
        if hasattr(part, "flatten_transform"):
            part.flatten_transform = False  # its converter refuses True, which matters for `transform` only
        for predictors in getattr(part, "_predictors", ()):
            for each in predictors:
                # A 32-bit number is at most the threshold if and only if it is at most this 32-bit number.
                each.nodes["num_threshold"] = _round_down(each.nodes["num_threshold"])
    options = {id(ready): {"zipmap": False}} if hasattr(ready, "classes_") else None
    return convert_sklearn(ready, initial_types=[*inputs.types], options=options)


def _parts(estimator: Any) -> Iterable[Any]:
    """Yield a fitted estimator, and recursively the steps of a pipeline or the members of an ensemble in it."""
    yield estimator
    inner: Any = [part for _, part in getattr(estimator, "steps", ())] or getattr(estimator, "estimators_", None)
    for part in inner if isinstance(inner, list) else ():
        yield from _parts(part)


def _round_down(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the largest numbers that 32-bit floats can represent and that are at most `numbers`, as 64-bit floats."""
    near = numbers.astype(np.float32)
    lower = np.where(near.astype(np.float64) > numbers, np.nextafter(near, np.float32(-np.inf)), near)
    return lower.astype(np.float64)


def _difference(fitted: Any, model: Any, inputs: _Inputs) -> tuple[float, float]:
    """Compare an ONNX model with the estimator; return the share of rows that differ, and the largest difference.

    A classifier is compared by labels and probabilities, a regressor by predictions, a transformer by its output.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    first, *others = session.run(None, inputs.feed(session.get_inputs()))
    if not hasattr(fitted, "predict"):
        return _compare(first, fitted.transform(inputs.rows))
    if not hasattr(fitted, "classes_"):
        return _compare(first, fitted.predict(inputs.rows))
    expected = np.asarray(fitted.predict(inputs.rows))
    differs = np.asarray(first).reshape(-1).astype(str) != expected.astype(str)
    distance = 0.0
    if hasattr(fitted, "predict_proba"):
        shares = np.asarray(fitted.predict_proba(inputs.rows))
        far = np.abs(np.asarray(others[0], np.float64) - shares).max(axis=1)
        differs, distance = differs | ~(far <= TOLERANCE), float(far.max())
    return float(differs.mean()), distance


def _compare(found: Any, expected: Any) -> tuple[float, float]:
    """Return the share of rows that differ, and the largest difference relative to the largest number of its column."""
    wanted = np.asarray(expected.toarray() if issparse(expected) else expected, np.float64)
    wanted = wanted.reshape(len(wanted), -1)
    given = np.asarray(found, np.float64).reshape(wanted.shape)
    scale = np.maximum(np.nanmax(np.abs(wanted), axis=0, initial=0.0), np.finfo(np.float32).tiny)
    far = np.abs(given - wanted) / scale
    far[np.isnan(given) & np.isnan(wanted)] = 0.0
    most = far.max(axis=1, initial=0.0)
    return float((~(most <= TOLERANCE)).mean()), float(most.max(initial=0.0))


def describe_prediction_difference(share: float, distance: float) -> str:
    """Describe the difference in words: the `share` of rows predicted differently, and the largest `distance`."""
    return (
        f"on the same 32-bit inputs, the ONNX model predicts {share:.2%} of the rows differently from the pipeline, "
        f"by up to {distance:.2g} (at most {1 - EQUAL_SHARE:.1%} of the rows may differ by more than {TOLERANCE:g})"
    )


def first_step_not_converted_exactly(fitted: Any, inputs: _Inputs) -> str:
    """Return the first step of a pipeline that cannot be converted to ONNX, or whose model differs from it, as text.

    In a vote, the steps of its members are searched.
    """
    if _is_vote(fitted):
        members = zip((name for name, _ in fitted.estimators), fitted.estimators_, strict=True)
        bad = next(((name, each) for name, each in members if not _is_covered(each, inputs)), None)
        return (
            f"`{type(fitted).__name__}`"
            if bad is None
            else f"{first_step_not_converted_exactly(bad[1], inputs)} of `{bad[0]}`"
        )
    if not hasattr(fitted, "steps"):
        return f"`{type(fitted).__name__}`"
    count = next((n for n in range(1, len(fitted.steps)) if not _is_covered(fitted[:n], inputs)), len(fitted.steps))
    name, step = fitted.steps[count - 1]
    return f"`{name}` (`{type(step).__name__}`)"


def _is_covered(fitted: Any, inputs: _Inputs) -> bool:
    try:
        return _difference(fitted, _convert(fitted, inputs), inputs)[0] <= 1 - EQUAL_SHARE
    except Exception:  # noqa: BLE001 - as above
        return False


def _reason(error: BaseException) -> str:
    """Return one line for the innermost cause of an error (`__cause__`), or for the error itself."""
    return describe_exception(error) if error.__cause__ is None else _reason(error.__cause__)


def _with_notes(model: Any, columns: list[str], provenance: Iterable[str]) -> bytes:
    """Return the serialized model with metadata: the columns as JSON, and the lines `provenance` on its origin."""
    from onnx.helper import set_model_props

    set_model_props(
        model, {"columns": json.dumps(columns), "provenance": "\n".join(map(replace_unprintable, provenance))}
    )
    content: bytes = model.SerializeToString()
    return content
