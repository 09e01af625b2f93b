"""Laws of archives: files keep everything, no data set is its own neighbour, and columns have no order."""

from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from archives import archive, row, small, target, tree
from hypothesis import given
from hypothesis import strategies as st

from spacelang.runtime.archives import DistanceNorm
from spacelang.runtime.archives.archive import (
    Archive,
    ArchiveRow,
    UpcomingRun,
    meta_feature_distances,
    read_archive,
    suggest_from_archive,
    write_archive,
)
from spacelang.runtime.archives.meta_features import COMPARABLE, compute_meta_features

from .settings import LAW

SPACE = small()
NAMES = COMPARABLE[:4]

numbers = st.floats(-1e6, 1e6, allow_nan=False)
features = st.dictionaries(st.sampled_from(NAMES), numbers, min_size=1)


@st.composite
def rows(draw: st.DrawFn) -> ArchiveRow:
    name = draw(st.sampled_from(["wine.csv", "iris", "mine.csv", "Größe 7", "x/y", "a\x1b\u202e\udcff"]))
    fingerprint = draw(st.sampled_from(["", "a" * 64, "f" * 64]))
    return row(name, draw(st.integers(1, 12)), space=SPACE, fingerprint=fingerprint, **draw(features))


archives = st.lists(rows(), min_size=1, max_size=12).map(lambda given: archive(*given))


@LAW
@given(archives)
def test_a_file_keeps_everything(drawn: Archive) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        write_archive(drawn, path)
        assert read_archive(path).rows == drawn.rows


@LAW
@given(archives, features, st.sampled_from(DistanceNorm))
def test_what_is_suggested(drawn: Archive, aim: dict[str, float], norm: DistanceNorm) -> None:
    """Members, none twice, each the best of a data set that is another one, nearest first."""
    wanted = target(SPACE, **aim)
    found = suggest_from_archive(drawn, wanted, norm)
    others = [each for each in drawn.rows if not may_be(each, wanted)]
    assert len(found.left_out) == len(drawn.rows) - len(others)
    order = np.argsort(meta_feature_distances(aim, [each.meta_features for each in others], norm), kind="stable")
    members = {tree(depth) for depth in range(1, 10)}
    walk = dict.fromkeys(others[place].configuration for place in order)
    assert found.configurations == tuple(each for each in walk if each in members)
    assert len(found.non_members) == len({*walk} - members)


def may_be(row: ArchiveRow, wanted: UpcomingRun) -> bool:
    """Whether a row may be about the data under examination."""
    shared = [name for name in row.meta_features if name in wanted.meta_features]
    agree = [
        isclose(row.meta_features[name], wanted.meta_features[name], rel_tol=1e-6, abs_tol=1e-6) for name in shared
    ]
    return row.data == "mine.csv" or row.fingerprint == wanted.data.fingerprint or (bool(agree) and all(agree))


@LAW
@given(archives, features, st.randoms(use_true_random=False))
def test_the_order_of_meta_features_means_nothing(drawn: Archive, aim: dict[str, float], chance: object) -> None:
    def shuffled(given: dict[str, float]) -> dict[str, float]:
        names = list(given)
        chance.shuffle(names)  # type: ignore[attr-defined]
        return {name: given[name] for name in names}

    known = [each.meta_features for each in drawn.rows]
    for norm in DistanceNorm:
        before = meta_feature_distances(aim, known, norm)
        assert (
            meta_feature_distances(shuffled(aim), [shuffled(dict(each)) for each in known], norm).tolist()
            == before.tolist()
        )
        assert (before >= 0).all()


@LAW
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_columns_of_the_data_means_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 40))
    table = pd.DataFrame(
        {
            "number": rng.exponential(size=count),
            "gaps": np.where(rng.random(count) < 0.3, np.nan, rng.normal(size=count)),
            "word": rng.choice(["a", "b", "c"], count),
            "rare": rng.choice(["u", None], count),
        }
    )
    labels = pd.Series(rng.integers(0, 3, count))
    places, columns = rng.permutation(count), rng.permutation(list(table.columns))
    before = compute_meta_features(table, labels, is_classification=True)
    after = compute_meta_features(table.loc[places, columns], labels[places], is_classification=True)
    assert after == pytest.approx(before, rel=1e-9, abs=1e-9)
    assert all(np.isfinite(value) for value in before.values())
