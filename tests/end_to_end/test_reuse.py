"""Spaces in several files, and spaces that no library builds, by the command line."""

from pathlib import Path

from commands import document, spacelang

ABSTRACT = "abstract net { layers : int[1, 3] }\nstage scaler = none | StandardScaler\nstage e = GaussianNB | net\n"


def test_mistakes_are_told_by_the_file_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "knn.space").write_text("params knn {\n  p : int[2, 1]\n}\n", encoding="utf-8")
    text = 'import "shared/knn.space"\nstage e = KNeighborsClassifier { include knn.knn }\n'
    (tmp_path / "main.space").write_text(text, encoding="utf-8")
    (found,) = document(spacelang("check", "main.space", "--json", folder=tmp_path), 1)["spaces"][0]["diagnostics"]
    assert (found["code"], found["line"], found["column"]) == ("SL403", 2, 7)
    assert Path(found["file"]) == Path("shared/knn.space")
    (related,) = found["related"]
    assert (related["file"], related["line"]) == ("main.space", 2)


def test_a_space_with_abstract_operators_is_counted_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "net.space").write_text(ABSTRACT, encoding="utf-8")
    counted = document(spacelang("stats", "net.space", "--json", folder=tmp_path))
    assert counted["structures"] == 4
    ended = spacelang("run", "net.space", "--data", "sklearn:iris", "--trials", "1", folder=tmp_path)
    assert ended.returncode == 1
    assert "`net`, used in line 3 of `net.space`" in ended.stderr
    assert ended.stdout == ""
