"""`spacelang import` as a user calls it."""

import subprocess
from pathlib import Path

import pytest
from commands import spacelang

PCS = """\
model:__choice__ categorical {svm, lda} [svm]
model:svm:C real [0.1, 10] [1] log
model:svm:C | model:__choice__ == svm
"""

AS_SPACE = """\
# Imported from {}.
space models

# model:__choice__
stage model = svm | lda

abstract svm {{ C : float[0.1, 10] log = 1 }}
abstract lda
"""

JSON = """\
{"name": "models", "hyperparameters": [
  {"type": "categorical", "name": "model:__choice__", "choices": ["svm", "lda"], "default_value": "svm"},
  {"type": "uniform_float", "name": "model:svm:C", "lower": 0.1, "upper": 10.0, "default_value": 1.0, "log": true}],
 "conditions": [{"type": "EQ", "child": "model:svm:C", "parent": "model:__choice__", "value": "svm"}],
 "forbiddens": [], "python_module_version": "1.2.0", "format_version": 0.4}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("models.pcs", PCS), ("models.json", JSON), ("models.PCS_NEW", PCS), ("wrong.pcs", "C [1\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def layout(text: str) -> str:
    return " ".join(text.replace("= |", "=").split())


@pytest.mark.parametrize("name", ["models.pcs", "models.json", "models.PCS_NEW"])
def test_prints_the_space(folder: Path, name: str) -> None:
    ended = spacelang("import", name, folder=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert layout(ended.stdout.replace("| svm", "svm")) == layout(AS_SPACE.format(name))


def test_writes_a_space_that_can_be_used(folder: Path) -> None:
    (folder / "models.space").write_text("an older one", encoding="utf-8")
    ended = spacelang("import", "models.pcs", "-o", "models.space", folder=folder)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert spacelang("check", "models.space", folder=folder).stdout == "models.space: no problems\n"
    assert spacelang("fmt", "--check", "models.space", folder=folder).returncode == 0
    assert spacelang("sample", "models.space", "-n", "3", folder=folder).stdout.count("model") >= 3
    assert spacelang("compile", "models.space", "--target", "blds", folder=folder).returncode == 0


def test_a_file_with_mistakes_is_reported_by_line_and_writes_nothing(folder: Path) -> None:
    ended = spacelang("import", "wrong.pcs", "-o", "wrong.space", folder=folder)
    assert ended.returncode == 1
    assert "error[SL012]" in ended.stderr
    assert "--> wrong.pcs:1:1" in ended.stderr
    assert not (folder / "wrong.space").exists()


@pytest.mark.parametrize("name", ["models.yaml", "absent.pcs", "."])
def test_what_cannot_be_imported(folder: Path, name: str) -> None:
    (folder / "models.yaml").write_text("name: models\n", encoding="utf-8")
    ended = spacelang("import", name, folder=folder)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error[SL0")
    assert "`.space` file or the name" not in ended.stderr


def test_the_imported_file_is_not_overwritten(folder: Path) -> None:
    ended = spacelang("import", "models.pcs", "-o", "./models.pcs", folder=folder)
    assert ended.returncode == 2
    assert "is the imported file itself" in ended.stderr
    assert (folder / "models.pcs").read_text(encoding="utf-8") == PCS


def test_a_folder_that_is_not_there(folder: Path) -> None:
    ended: subprocess.CompletedProcess[str] = spacelang("import", "models.pcs", "-o", "none/a.space", folder=folder)
    assert ended.returncode == 2
    assert "cannot write" in ended.stderr
