"""The tutorial of the documentation site runs as it is printed, from its first block to its last."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from commands import spacelang

TUTORIAL = Path(__file__).parents[2] / "examples" / "documentation" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_session(text: str, folder: Path) -> None:
    """Run each command, which must print the lines below it; `…` stands for any text."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "spacelang"
        ended = spacelang(*arguments, folder=folder)
        is_refused = printed.startswith(("error", "no:"))
        assert ended.returncode == (1 if is_refused else 0), ended.stderr
        pattern = ".*".join(map(re.escape, printed.strip().split("…")))
        assert re.fullmatch(pattern, (ended.stdout + ended.stderr).strip(), re.DOTALL), (command, ended.stdout)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("quick_zygotes")
def test_every_block_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = set()
    for kind, title, text in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
        kinds.add(kind)
        match kind:
            case "space":
                (tmp_path / title).write_text(text, encoding="utf-8")
            case "console":
                run_session(text, tmp_path)
            case "python":
                (tmp_path / "script.py").write_text(text, encoding="utf-8")
                monkeypatch.chdir(tmp_path)
                runpy.run_path("script.py", run_name="__main__")
            case _:
                pytest.fail(f"no test runs the blocks of kind {kind}")
    assert kinds == {"space", "console", "python"}
    compile((tmp_path / "pipeline.py").read_text(encoding="utf-8"), "pipeline.py", "exec")
