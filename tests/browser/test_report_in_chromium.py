"""The page of `report` in a browser: on a phone and a screen, light and dark, asking for nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chromium import WIDTHS, opened, served
from pages import full, hostile
from storing import stored

from spacelang.report.page.rendering import render_page
from spacelang.runtime.storage.store import Store

PAGES = ("run.html", "hostile.html", "several.html", "empty.html")

BAD = """\
<!doctype html><title>bad</title>
<style>body { background: #fff } p { width: 900px; color: #bbb; font-size: 9px }</style>
<main><p>wide</p><img src="none.png"><img src="http://cdn.test/a.png"><img src="https://cdn.test/a.png"></main>
<script>pwned = 1; console.error("wrong")</script>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    stores = {"run": full(made / "run.db"), "hostile": hostile(made / "hostile.db"), "empty": made / "empty.db"}
    stored(stores["empty"], 0)
    for name, path in stores.items():
        written(made / f"{name}.html", [path])
    written(made / "several.html", [stores["run"], full(made / "other.db", count=30), stores["hostile"]])
    return made


def written(path: Path, stores: Sequence[Path]) -> None:
    runs = [Store.read(each) for each in stores]
    path.write_text(render_page(runs), encoding="utf-8")
    for each in runs:
        each.close()


def must_be_well(found: list[dict[str, Any]], count: int) -> None:
    assert len(found) == count * len(WIDTHS)
    for each in found:
        assert each["overflow"] == 0, each
        assert each["outside"] == [], each
        assert not each["attacked"]
        assert each["shown"] > 20
        assert each["size"] >= 11, "texts are large enough to be read, in pictures, too"
        assert each["contrast"][0] >= 4.5, each["contrast"]  # WCAG 2.2, 1.4.3


def test_in_the_dark_as_files(folder: Path) -> None:
    found, console = opened(folder, PAGES[:2])
    assert console == []
    must_be_well(found, 2)
    assert {each["ground"] for each in found} == {"rgb(20, 23, 27)"}


def test_in_the_light_nothing_is_asked_for_and_what_is_wrong_is_noticed(folder: Path) -> None:
    (folder / "bad.html").write_text(BAD, encoding="utf-8")
    found, asked = served(folder, [*PAGES, "bad.html"])
    assert {*asked} == {"http://pages.test/none.png", "http://cdn.test/a.png", "cdn.test:443"}
    good, bad = ([each for each in found if (each["page"] == "bad.html") is kind] for kind in (False, True))
    must_be_well(good, len(PAGES))
    assert {each["ground"] for each in good} == {"rgb(253, 253, 252)"}
    small = next(each for each in bad if each["width"] == 375)
    assert small["overflow"] > 0
    assert small["outside"]
    assert small["size"] == 9
    assert small["contrast"][0] < 2
    assert small["attacked"]
