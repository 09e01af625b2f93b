"""Columns that are known by name are those that are found when a pipeline is fitted: what they become is the same."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

import spacelang as sl
from spacelang.runtime.data import tables
from spacelang.runtime.errors import DataError
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.runtime.pipelines.preparation import plan_preparation

from .settings import LAW

ROWS = 12
TABLE = pd.DataFrame(
    {
        "number": np.arange(ROWS, dtype=float) ** 2,
        "none": [None, 1.0, 2.0] * 4,
        "flag": [True, False, False] * 4,
        "town": ["Rome", "Oslo", "Oslo"] * 4,
        "name": [None, "Ann", "Bob"] * 4,
        "note": [f"word {place} of {place % 3} words" for place in range(ROWS)],
        "tale": [None if place == 4 else f"tale {place} of {place % 4} tales" for place in range(ROWS)],
        "kind": pd.Categorical([f"kind {place}" for place in range(ROWS)]),
    }
)
TARGET = [0, 1, 1] * 4

READER = st.sampled_from(["TfidfVectorizer", "(CountVectorizer & TfidfVectorizer)", "TfidfVectorizer -> TruncatedSVD"])
ENCODER = st.sampled_from(["OneHotEncoder", "OrdinalEncoder -> SimpleImputer"])
PARTS = {
    "numeric": st.sampled_from(["SimpleImputer", "none", "SimpleImputer -> PCA { n_components = 1 }"]),
    "categorical": ENCODER,
    "text": READER,
    '"^n[ao]"': st.one_of(READER, ENCODER),
    '"e"': st.just("columns(text: TfidfVectorizer, categorical: OneHotEncoder, numeric: SimpleImputer)"),
    "rest": st.one_of(READER, ENCODER),
}


@st.composite
def pipelines(draw: st.DrawFn) -> str:
    chosen = draw(st.lists(st.sampled_from(sorted(PARTS)), min_size=1, unique=True))
    return f"pipeline = columns({', '.join(f'{each}: {draw(PARTS[each])}' for each in chosen)}) -> LogisticRegression"


@pytest.fixture(autouse=True, scope="module")
def few_values_are_text() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TEXT_VALUES", 6)
        yield


@settings(LAW)
@given(pipelines(), st.sets(st.sampled_from([*TABLE.columns]), min_size=1).map(sorted))
def test_known_columns_become_what_found_ones_become(text: str, chosen: list[str]) -> None:
    space, features = sl.parse(text), TABLE[chosen]
    try:
        preparation = plan_preparation(space.checked, features)
    except DataError:
        assume(False)
    transformer = preparation.make_transformer()
    prepared = features if transformer is None else transformer.fit_transform(features)
    known, found = (
        build_pipeline(space.checked, space.default(), table=table, random_state=0)
        for table in (preparation.table, None)
    )
    assert made(known[0], prepared) == made(found[0], prepared)


def made(transformer: Any, features: pd.DataFrame) -> Any:
    """What a transformer makes of features, rounded; None where it refuses them."""
    try:
        result = transformer.fit_transform(features, TARGET)
    except Exception:  # noqa: BLE001 - whatever an operator says of columns that it does not take
        return None
    dense = result.toarray() if sparse.issparse(result) else np.asarray(result)
    return [[_rounded(value) for value in row] for row in dense.tolist()]


def _rounded(value: Any) -> Any:
    return f"{value:.6f}" if isinstance(value, float) else value
