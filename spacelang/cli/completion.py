"""`spacelang completion`: how a shell completes commands, options, bundled spaces, targets and optimizers."""

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from spacelang.cli._shell import COMPLETE


class Shell(StrEnum):
    """The shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="`bash`, `zsh` or `fish`.")]) -> None:
    """Print what a shell reads to complete commands, options, bundled spaces, targets and optimizers.

    For every new shell put the example into `~/.bashrc`, or the same with `zsh` into `~/.zshrc`, behind `compinit`;
    for fish write what is printed to `~/.config/fish/completions/spacelang.fish`.

    Example: `eval "$(spacelang completion bash)"`
    """
    raise typer.Exit(_answer(None, f"source_{shell}"))


def complete(commands: Any) -> int:
    """Print how the line goes on that a shell asks about in its environment; the status is the command's."""
    return _answer(commands, os.environ[COMPLETE])


def _answer(commands: Any, instruction: str) -> int:
    from typer._completion_classes import completion_init  # no public name makes the shells known
    from typer.completion import shell_complete

    completion_init()
    return shell_complete(commands, {}, "spacelang", COMPLETE, instruction)
