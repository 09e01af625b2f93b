"""Archives of earlier runs: distances, what is suggested, the file, and what a run has to keep for them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from archives import archive, row, small, target, tree

from spacelang.api import parse
from spacelang.ir.configuration import Configuration
from spacelang.runtime.archives import DistanceNorm
from spacelang.runtime.archives.archive import (
    ArchiveError,
    identify_space,
    meta_feature_distances,
    read_archive,
    suggest_from_archive,
    write_archive,
)

SPACE = small()

# ---- distances


def test_three_rows_of_known_distances_give_their_order() -> None:
    """Scaled by the rows: 0 to 100 instances, 2 to 6 classes; the target is at 0.5 and 0.25."""
    near = {"NumberOfInstances": 60.0, "NumberOfClasses": 3.0}
    far = {"NumberOfInstances": 100.0, "NumberOfClasses": 6.0}
    low = {"NumberOfInstances": 0.0, "NumberOfClasses": 2.0}
    aim = {"NumberOfInstances": 50.0, "NumberOfClasses": 3.0}
    assert meta_feature_distances(aim, [far, low, near]) == pytest.approx([0.5 + 0.75, 0.5 + 0.25, 0.1])
    rows = [row(name, depth, space=SPACE, **each) for name, depth, each in (("far", 1, far), ("low", 2, low))]
    found = suggest_from_archive(archive(*rows, row("near", 3, space=SPACE, **near)), target(SPACE, **aim))
    assert found.configurations == (tree(3), tree(2), tree(1))
    assert found.messages == ()


def test_the_norms_differ_where_one_gap_is_large() -> None:
    aim = {"a": 0.0, "b": 0.0, "c": 0.0}
    one, many = {"a": 0.9, "b": 0.0, "c": 0.0}, {"a": 0.4, "b": 0.4, "c": 0.4}
    edges = [{"a": 0.0, "b": 0.0, "c": 0.0}, {"a": 1.0, "b": 1.0, "c": 1.0}]
    by_sum, by_square = (
        meta_feature_distances(aim, [one, many, *edges], norm) for norm in (DistanceNorm.L1, DistanceNorm.L2)
    )
    assert by_sum[:2] == pytest.approx([0.9, 1.2])
    assert by_square[:2] == pytest.approx([0.9, 0.4 * 3**0.5])
    assert np.argsort(by_sum)[1] == 0
    assert np.argsort(by_square)[1] == 1


def test_what_is_missing_is_the_mean_and_what_is_equal_counts_for_nothing() -> None:
    rows = [{"a": 0.0, "same": 7.0}, {"a": 10.0, "same": 7.0}, {"same": 7.0}]
    assert meta_feature_distances({"a": 2.0, "same": 100.0}, rows) == pytest.approx([0.2, 0.8, 0.3])
    assert meta_feature_distances({"a": 2.0, "same": float("nan")}, rows) == pytest.approx([0.2, 0.8, 0.3])
    assert meta_feature_distances({"a": float("inf"), "unheard": 1.0}, rows) == pytest.approx([0, 0, 0])
    assert len(meta_feature_distances({"a": 1.0}, [])) == 0


def test_numbers_beyond_every_float_are_infinitely_far() -> None:
    huge, rows = 1.7e308, [{"a": 0.0}, {"a": 5e-324}]
    for norm in DistanceNorm:
        assert meta_feature_distances({"a": 1.0}, rows, norm).tolist() == [np.inf, np.inf]
        assert not np.isnan(meta_feature_distances({"a": -huge}, [{"a": huge}, {"a": -huge}, {}], norm)).any()


# ---- what is suggested


def test_duplicates_are_taken_once_and_no_more_than_asked_for() -> None:
    rows = [row(f"d{place}", 1 + place // 2, space=SPACE, NumberOfInstances=place) for place in range(18)]
    found = suggest_from_archive(archive(*rows), target(SPACE, NumberOfInstances=0.25))
    assert found.configurations == tuple(map(tree, range(1, 10)))
    assert suggest_from_archive(archive(*rows), target(SPACE, NumberOfInstances=0.25), most=4).configurations == tuple(
        map(tree, range(1, 5))
    )


def test_ties_are_in_the_order_of_the_rows() -> None:
    rows = [row(f"d{depth}", depth, space=SPACE, NumberOfInstances=5.0) for depth in (4, 2, 9)]
    assert suggest_from_archive(archive(*rows), target(SPACE, NumberOfInstances=1.0)).configurations == (
        tree(4),
        tree(2),
        tree(9),
    )


@pytest.mark.parametrize(
    ("same", "reason"),
    [
        ({"data": "folder/Mine.CSV.gz"}, "the same name"),
        ({"data": "sklearn:mine"}, "the same name"),
        ({"fingerprint": "f" * 64}, "the same content"),
        ({"NumberOfInstances": 50.0 + 2e-5}, "the same meta-features"),
    ],
)
def test_the_data_set_under_examination_is_left_out(same: dict[str, object], reason: str) -> None:
    given = {"data": "other", "NumberOfInstances": 51.0} | same
    name = str(given.pop("data"))
    held = archive(row(name, 1, space=SPACE, **given), row("another", 2, space=SPACE, NumberOfInstances=9.0))
    found = suggest_from_archive(held, target(SPACE, NumberOfInstances=50.0))
    assert found.configurations == (tree(2),)
    assert found.left_out == ((name, reason),)
    assert found.messages == (f"not used from `a.json`, because it may be the same data: `{name}` ({reason})",)


def test_an_archive_of_nothing_but_this_data_suggests_nothing() -> None:
    held = archive(row("mine", 1, space=SPACE, NumberOfInstances=9.0))
    found = suggest_from_archive(held, target(SPACE, NumberOfInstances=50.0))
    assert found.configurations == ()
    assert found.messages[-1] == "`a.json` suggests no initial configurations"


def test_data_without_a_name_is_not_left_out_by_it() -> None:
    held = archive(row("data", 1, space=SPACE, NumberOfInstances=9.0))
    assert suggest_from_archive(held, target(SPACE, "data", NumberOfInstances=5.0)).configurations == (tree(1),)


def test_meta_features_that_do_not_count_change_no_order() -> None:
    rows = [
        row("d1", 1, space=SPACE, NumberOfInstances=1.0, SymbolsMax=99.0),
        row("d2", 2, space=SPACE, NumberOfInstances=4.0, SymbolsMax=1.0),
    ]
    found = suggest_from_archive(archive(*rows), target(SPACE, NumberOfInstances=2.0, SymbolsMax=1.0))
    assert found.configurations == (tree(1), tree(2))


def test_what_is_no_member_is_counted_and_the_next_one_taken() -> None:
    rows = [row(f"d{depth}", depth, space=SPACE, NumberOfInstances=depth) for depth in (12, 11, 3)]
    found = suggest_from_archive(archive(*rows), target(SPACE, NumberOfInstances=12.5), most=1)
    assert found.configurations == (tree(3),)
    assert found.messages == (
        "skipped 2 configurations of `a.json`: not in the space for this data "
        "(the first one: `12` is not a value of `estimator.max_depth`: int[1, 9])",
    )


def test_rows_of_other_spaces_and_losses_are_passed_over_and_counted() -> None:
    other = parse("space other\nstage estimator = GaussianNB | LogisticRegression\n").checked
    rows = [
        row("d1", 1, space=other, NumberOfInstances=1.0),
        row("d2", 2, space=SPACE, NumberOfInstances=2.0, metric="1 - accuracy"),
        row("d3", 3, space=SPACE, NumberOfInstances=3.0),
    ]
    found = suggest_from_archive(archive(*rows), target(SPACE, NumberOfInstances=9.0))
    assert found.configurations == (tree(3),)
    assert found.messages == ("not used from `a.json`: 2 rows for another space or loss",)
    with pytest.raises(ArchiveError, match="an archive for another space: its configurations are for `other`, whose"):
        suggest_from_archive(archive(rows[0]), target(SPACE))
    with pytest.raises(
        ArchiveError, match=r"has configurations that minimize `1 - accuracy`, but none for 1 - roc_auc"
    ):
        suggest_from_archive(archive(rows[1]), target(SPACE))
    with pytest.raises(ArchiveError, match=r"the archive `a.json` has no rows"):
        suggest_from_archive(archive(), target(SPACE))


def test_ranges_and_constraints_are_no_words_of_a_space() -> None:
    """They may depend on the data: a space that is bound is the same one to an archive."""
    text = "space s\nstage estimator = KNeighborsClassifier { n_neighbors : int[1, min(50, n_samples)] = 1 }\n"
    free = parse(text)
    assert identify_space(free.checked) == identify_space(free.bind(n_samples=9).checked)
    more = parse(text.replace("= 1 }", "= 1, weights : {uniform, distance} = uniform }"))
    assert identify_space(free.checked).vocabulary != identify_space(more.checked).vocabulary


# ---- the file


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    values = Configuration({"scaler": "none", "layers": (3, (4, None)), "C": 0.1, "flag": True})
    held = archive(replace(row("d1", 1, space=SPACE, NumberOfInstances=1e-300), configuration=values))
    write_archive(held, path)
    assert read_archive(path) == replace(held, name=str(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "run"}, "`archive.kind` is `run`, but must be `archive`"),
        ({"version": 2}, "`archive.version` is 2, but this version of spacelang reads only version 1"),
        ({"rows": {}}, "`archive.rows` is an object, expected a list"),
        ({"row": []}, "`archive` has an unknown key `row`"),
        ({"rows": [{"loss": "low"}]}, "`archive.rows[1].loss` is a string, expected a number"),
        ({"rows": [{"loss": float("nan")}]}, "`archive.rows[1].loss` is not a finite number"),
        ({"rows": [{"data": 7}]}, "`archive.rows[1].data` is a number, expected a string"),
        ({"rows": [{"space": "small"}]}, "`archive.rows[1].space` is a string, expected an object"),
        ({"rows": [{"configuration": {"a": {}}}]}, "`archive.rows[1].configuration.a` is an object, expected a value"),
        ({"rows": [{"meta_features": {"a": None}}]}, "`archive.rows[1].meta_features.a` is null, expected a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "a.json"
    write_archive(archive(row("d1", 1, space=SPACE, NumberOfInstances=1.0)), path)
    document = json.loads(path.read_text())
    sound = document["rows"][0]
    if isinstance(change.get("rows"), list):
        change = {"rows": [sound, *(sound | each for each in change["rows"])]}  # type: ignore[attr-defined]
    path.write_text(json.dumps(document | change))
    with pytest.raises(ArchiveError) as raised:
        read_archive(path)
    assert message in raised.value.message
    assert raised.value.help


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "archive",\n "version": }', "is not JSON: expecting value at line 2, column 13"),
        ("", "is empty"),
        ("[" * 100_000, "is nested too deeply"),
        ("\0", "is a binary file"),
        ("[]", "`archive` is an empty list, expected an object"),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ArchiveError) as raised:
        read_archive(path)
    assert message in raised.value.message
    with pytest.raises(ArchiveError, match="cannot be read"):
        read_archive(tmp_path / "nowhere.json")
    with pytest.raises(ArchiveError, match="cannot be written"):
        write_archive(archive(), tmp_path / "nowhere" / "a.json")
