"""What the command line says of itself: its groups, an example for each command, and how a shell completes a line."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from commands import TIMEOUT, TOY, environment

from spacelang.cli._app import COMMANDS, HEADINGS, _build_app, run_command_line

BASH = """
eval "$(spacelang completion bash)"
while read -ra COMP_WORDS; do
    [ "${COMP_WORDS[-1]}" = "''" ] && COMP_WORDS[-1]=""
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _spacelang_completion spacelang
    echo "${COMPREPLY[*]}"
done
"""
"""What bash does for each line that it reads, of which the last word is being typed; `''` is none yet."""

LINES = {
    "spacelang ru": "run runs",
    "spacelang check --js": "--json",
    "spacelang stats bl": "blds_table1 blds_table1_hpo",
    "spacelang fmt my": "my.space",
    "spacelang diff my.space inner/": "inner/other.space",
    "spacelang compile my.space --target m": "mosaic",
    "spacelang run my.space --optimizer bo": "bo boasf bohb",
    "spacelang compare my.space --optimizers random,hy": "random,hyperband",
    "spacelang completion ''": "bash zsh fish",
}
"""Lines and how their last words may go on."""


def test_every_command_is_in_one_group_with_a_whole_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run_command_line(["--help"]) == 0
    listed = capsys.readouterr().out
    assert "..." not in listed.partition("\nOptions:\n")[2]
    assert [title for title in HEADINGS if f"\n{title}:\n" not in listed] == []
    assert [name for name in COMMANDS if listed.count(f"\n  {name} ") != 1] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_the_command_takes(name: str) -> None:
    command = typer.main.get_command(_build_app([name])).commands[name]  # type: ignore[attr-defined]
    found = re.search(r"\n\n  Example:\n    (\S.+)\n", command.get_help(typer.Context(command)))
    assert found
    words = shlex.split(re.sub(r"\beval \"\$\((.*)\)\"", r"\1", found[1]))
    assert words[:2] == ["spacelang", name]
    command.make_context(name, words[2:])


def test_bash_completes_lines(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for path in ("my.space", "inner/other.space"):
        (tmp_path / path).write_text(TOY, encoding="utf-8")
    ended = subprocess.run(
        ["bash", "-c", BASH],
        cwd=tmp_path,
        env=environment(PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"),
        input="\n".join([*LINES, ""]),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert ended.stderr == ""
    assert dict(zip(LINES, ended.stdout.splitlines(), strict=True)) == LINES


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["completion", shell]) == 0
    assert f"_SPACELANG_COMPLETE=complete_{shell}" in capsys.readouterr().out
