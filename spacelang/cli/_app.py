"""All commands together, and how their wrong usage is told."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from spacelang import __version__
from spacelang.cli._command import parsed
from spacelang.cli._shared import report
from spacelang.cli._shell import BAD_INPUT, COMPLETE, WRONG_USAGE

_MODULES: Final = sorted(each.name for each in iter_modules([str(Path(__file__).parent)]) if each.name[0] != "_")
COMMANDS: Final = tuple(name.rstrip("_").replace("_", "-") for name in _MODULES)
"""Every command; each is the module of its name, with `_` for `-`, and behind what is a word of Python."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Write a space": ("init", "check", "explain", "fmt", "import", "spaces", "catalogue"),
    "Ask what is in it": ("stats", "default", "sample", "contains", "why-not", "diff"),
    "Hand it to a tool": ("targets", "compile", "verify"),
    "Search it": ("optimizers", "run", "archive"),
    "Use a run": ("runs", "show", "report", "watch", "export", "predict", "migrate"),
    "Compare optimizers": ("tabulate", "compare"),
    "The shell": ("completion",),
}
"""What users do, in the order in which they do it, and the commands for that: each in one group."""

# What the option parser raises for wrong usage: the class of click, or of the copy of click that newer versions of
# typer bring along. The one public name that both have is this subclass.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run(arguments: Sequence[str]) -> int:
    """Run one command and return the exit status."""
    if COMPLETE in os.environ:
        from spacelang.cli.completion import complete

        return complete(typer.main.get_command(_command_line(COMMANDS)))
    # The others are only read where they are to be listed, or where one is looked for that was misspelled.
    named = [name for name in arguments[:1] if name in COMMANDS]
    command = typer.main.get_command(_command_line(named or COMMANDS))
    try:
        with command.make_context("spacelang", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except UsageError as error:
        _tell(error)
        return WRONG_USAGE
    except _damaged_catalogue() as error:
        report(str(error), "make it anew: `spacelang catalogue --refresh`")
        return BAD_INPUT
    return 0


def _command_line(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(
        name="spacelang",
        cls=_Grouped,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        # Without rich's boxes help and errors read alike on a terminal and in a log, and start-up does without rich.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_version)
    for name in names:
        word = name.replace("-", "_")
        module = import_module(f"spacelang.cli.{word}_" if iskeyword(word) else f"spacelang.cli.{word}")
        app.command(name=name, help=_help(module.command))(parsed(module.command))
    return app


class _Grouped(TyperGroup):
    """All commands, listed by what users do with them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as it is called
        """Write each group below its heading."""
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            listed = [self.commands[name] for name in names if name in self.commands]
            rows = [(f"{each.name:<{width}}", each.get_short_help_str(formatter.width - 6 - width)) for each in listed]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _help(command: Callable[..., None]) -> str:
    """The docstring of a command, its example on a line of its own, to be copied whole."""
    text, mark, example = cleandoc(command.__doc__ or "").partition("\n\nExample: `")
    return f"{text}\n\n\b\nExample:\n  {' '.join(example.removesuffix('`').split())}" if mark else text


def _damaged_catalogue() -> type[Exception]:
    # Python asks for the class only where something was raised: a command that needs no catalogue imports none.
    from spacelang.catalog.snapshot import SnapshotError

    return SnapshotError


def _tell(error: Any) -> None:
    """Wrong usage in the words of our own diagnostics."""
    message = str(error.format_message())
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message, err=True)
        return
    path = error.ctx.command_path if error.ctx is not None else "spacelang"
    near = _nearest(error)
    report(_reworded(message), f"did you mean `{near}`?" if near else f"see `{path} --help`")


def _reworded(message: str) -> str:
    """A message of the option parser: lowercase, names in backticks, without what the help says."""
    message = re.sub(r"[. ]*(\(Possible|\(?Did you).*", "", message)
    message = re.sub(r"'([^']*)'", r"`\1`", message).replace("Value error, ", "")
    message = re.sub(r"is not a valid int\w*( range)?|Input should be a valid int.*", "is not a whole number", message)
    return re.sub(r"(^|: )([A-Z])(?=[a-z])", lambda match: match[1] + match[2].lower(), message).rstrip(".")


def _nearest(error: Any) -> str | None:
    """The option or command that somebody may have meant."""
    from spacelang.suggest import nearest

    if error.ctx is None:
        return None
    unknown = re.fullmatch(r"No such (?:command|option):? '?([^'\s]+)'?\.?(?: .*)?", str(error.message))
    if unknown is None:
        return None
    known = list(getattr(error.ctx.command, "commands", ()))
    known += [name for parameter in error.ctx.command.params for name in parameter.opts if name.startswith("-")]
    return nearest(unknown[1], known)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spacelang {__version__}")
        raise typer.Exit


def _version(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Describe which pipelines may be tried, once; check it, count it, and hand it to any optimizer."""
