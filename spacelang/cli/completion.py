"""`spacelang completion`: complete commands, options, bundled spaces, targets and optimizers in a shell."""

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from spacelang.cli._process import COMPLETION_VARIABLE

GROUP = ("The shell", 1)


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="`bash`, `zsh` or `fish`.")]) -> None:
    """Print a script by which a shell completes commands.

    To have it in every new shell, put the example into `~/.bashrc`. For zsh put the same with `zsh` into `~/.zshrc`,
    after `compinit`. For fish write the output to `~/.config/fish/completions/spacelang.fish`.

    Example: `eval "$(spacelang completion bash)"`
    """
    raise typer.Exit(_run_completion(None, f"source_{shell}"))


def print_completions(commands: Any) -> int:
    """Print the completions of the command line that a shell has put into the environment; return the exit status."""
    return _run_completion(commands, os.environ[COMPLETION_VARIABLE])


def _run_completion(commands: Any, instruction: str) -> int:
    from typer._completion_classes import completion_init  # registers the shells; there is no public name for it
    from typer.completion import shell_complete

    completion_init()
    return shell_complete(commands, {}, "spacelang", COMPLETION_VARIABLE, instruction)
