"""The tree of a run of MOSAIC: as text, as a picture, and what is said of other runs."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from storing import header, stored

import spacelang as sl
from spacelang.cli import runs_and_show
from spacelang.ir.trial import UNIT_SCALE, LossScale, describe_scale, parse_scale
from spacelang.report.page.tree_tables import SearchTreeLine, SearchTreeListing, search_tree_listing
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.store import Store

SPACE = """
space twigs
abstract A { x : float[0, 1] = 0.5 }
abstract B
abstract C
stage step = B | C
stage last = A | B
"""
OPTIONS = {"trees": 2, "n_s": 3, "n_r": 12, "kappa": 1}


def loss(configuration: dict[str, object]) -> float:
    """The best is A with a small number."""
    if configuration["step"] == "C" and configuration["last"] == "B":
        raise ValueError("no such thing")
    return next((value for value in configuration.values() if isinstance(value, float)), 0.9)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.db"
    sl.search(
        sl.parse(SPACE), objective=loss, optimizer="mosaic", optimizer_options=OPTIONS, trials=30, store=path, workers=0
    )
    return path


def test_visits_and_medians_of_all_nodes(store: Path) -> None:
    with Store.read(store) as run:
        found = search_tree_listing(run)
        memos = [each.trial.request.memo for each in run.records()]
    root, *below = found.rows
    backed_up = sum(json.loads(str(text))[1] is not None for memo in memos for text in memo[3:])
    visits = sum(not memo or memo[1] == 1 for memo in memos) + backed_up
    assert (root.depth, root.label, root.visits) == (0, "all", visits)
    first = {row.label.removesuffix(" (exhausted)"): row for row in below if row.depth == 1}
    assert {*first} == {"last = A", "last = B"}
    assert sum(row.visits for row in first.values()) == root.visits
    assert first["last = A"].reward > first["last = B"].reward  # type: ignore[operator]
    lines = found.to_text().splitlines()
    assert lines[0].startswith(f"twigs: {root.visits} visits of ")
    assert len(lines) == len(found.rows) + 3
    assert any("   step = C" in line for line in lines)


def test_the_picture_has_a_disc_for_each_node(store: Path) -> None:
    with Store.read(store) as run:
        found = search_tree_listing(run)
    picture = ElementTree.fromstring(found.to_svg())
    discs = [each for each in picture.iter() if each.tag.endswith("circle")]
    assert len(discs) == sum(row.reward is not None for row in found.rows)
    assert float(discs[0].attrib["r"]) == max(float(each.attrib["r"]) for each in discs)


def test_what_was_hardly_visited_is_counted() -> None:
    rows = (
        SearchTreeLine(0, "all", 500, 0.5),
        SearchTreeLine(1, "a = <b> & c", 497, 0.6),
        SearchTreeLine(1, "2 others", 3),
    )
    text = SearchTreeListing("t", rows).to_text()
    assert "     3" in text
    assert "2 others" in text
    assert "&lt;b&gt; &amp; c" in SearchTreeListing("t", rows).to_svg()


def test_runs_of_others_have_no_tree(tmp_path: Path) -> None:
    stored(tmp_path / "other.db")
    with (
        Store.read(tmp_path / "other.db") as run,
        pytest.raises(InputError, match="`blds`, which has no search"),
    ):
        search_tree_listing(run)
    assert header().optimizer == "blds"


def test_the_command_writes_and_prints_it(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = store.read_bytes()
    runs_and_show.runs_command([store], tree=Path("-"))
    assert "last = A" in capsys.readouterr().out
    runs_and_show.runs_command([store], tree=tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8").startswith("<svg")
    for name, telling in ((store, "unknown file type"), (tmp_path / "none" / "tree.txt", "cannot write")):
        with pytest.raises(typer.Exit):
            runs_and_show.runs_command([store], tree=name)
        assert telling in capsys.readouterr().err
    assert store.read_bytes() == kept


@pytest.mark.parametrize(
    "scale", [None, UNIT_SCALE, LossScale(0.0, 0.25), LossScale(-1.5, 3.0), LossScale.centered_on(1e-7)]
)
def test_a_scale_is_read_as_it_was_described(scale: LossScale | None) -> None:
    assert parse_scale(describe_scale(scale)) == scale


def test_other_texts_are_no_scales() -> None:
    with pytest.raises(ValueError, match="is not a loss scale"):
        parse_scale("around noon")
