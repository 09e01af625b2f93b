"""Where texts come from."""

from pathlib import Path

import pytest

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.syntax.sources import ImportLocation, bundled_names, find_import, read_import, read_source
from spacelang.text import Source, Span


def source(path: Path, text: str = "stage e = GaussianNB\n") -> Source:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    found = read_source(str(path))
    assert isinstance(found, Source)
    return found


def found(reference: str, importer: Source) -> ImportLocation | Diagnostic:
    return find_import(reference, importer, Span(importer, 0, 0))


@pytest.mark.parametrize("reference", ["b.space", "./b.space", "inner/../b.space"])
def test_an_import_is_looked_for_beside_its_file(reference: str, tmp_path: Path) -> None:
    importer = source(tmp_path / "a.space")
    source(tmp_path / "b.space")
    place = found(reference, importer)
    if ".." in reference:
        assert isinstance(place, Diagnostic)
        return
    assert isinstance(place, ImportLocation)
    assert place.name == str(tmp_path / "b.space")
    assert place.origin.path == (tmp_path / "b.space").resolve()
    read = read_import(place, reference, Span(importer, 0, 0))
    assert isinstance(read, Source)
    assert read.text == importer.text


def test_the_root_is_the_folder_of_the_first_file(tmp_path: Path) -> None:
    first, inner = source(tmp_path / "a.space"), source(tmp_path / "d" / "b.space")
    place = found("d/b.space", first)
    assert isinstance(place, ImportLocation)
    read = read_import(place, "d/b.space", Span(first, 0, 0))
    assert isinstance(read, Source)
    assert read.origin is not None
    assert read.origin.root == tmp_path.resolve()
    assert inner.origin is not None
    assert inner.origin.root == (tmp_path / "d").resolve()


def test_bundled_names_are_known_everywhere(tmp_path: Path) -> None:
    for importer in (source(tmp_path / "a.space"), Source("<text>", "")):
        for name in bundled_names():
            place = found(name, importer)
            assert isinstance(place, ImportLocation)
            assert isinstance(read_import(place, name, Span(importer, 0, 0)), Source)


def test_near_files_are_suggested_as_they_have_to_be_written(tmp_path: Path) -> None:
    importer = source(tmp_path / "a.space")
    source(tmp_path / "inner" / "trees.space")
    missing = found("inner/tree.space", importer)
    assert isinstance(missing, Diagnostic)
    assert missing.fix is not None
    assert missing.fix.text == '"inner/trees.space"'
