"""The command-line application: all commands with their groups, their options, and the messages for errors."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any, Final, is_typeddict

import typer
from typer.core import TyperGroup

from spacelang import __version__
from spacelang.cli._output import exit_with_diagnostics, exit_with_error, print_error
from spacelang.cli._process import BAD_INPUT, COMPLETION_VARIABLE, WRONG_USAGE

_MODULES: Final = {
    word.rstrip("_").replace("_", "-"): each.name
    for each in iter_modules([str(Path(__file__).parent)])
    if each.name[0] != "_"
    for word in each.name.split("_and_")
}
"""The module of each command: its name with `_` for `-`, and a final `_` after a Python keyword; `A_and_B` has two."""
COMMANDS: Final = tuple(sorted(_MODULES))
HEADINGS: Final = (
    "Write a space",
    "Inspect a space",
    "Compile a space",
    "Search a space",
    "Use a run",
    "Compare optimizers",
    "The shell",
)
"""The headings of the help, in the order in which users need them. A command has its heading and place in `GROUP`."""

# The exception that the option parser raises for wrong usage. It is a class of click, or of the copy of click inside
# newer versions of typer. The only public name in both is its subclass `BadParameter`.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return the exit status.

    Only the module of the named command is imported. All modules are imported if all commands are listed, or if the
    name is unknown and a similar one is looked for.
    """
    if COMPLETION_VARIABLE in os.environ:
        from spacelang.cli.completion import print_completions

        return print_completions(typer.main.get_command(_build_app(COMMANDS)))
    # Other modules are imported only to list all commands, or to suggest one for a misspelled name.
    named = [name for name in arguments[:1] if name in COMMANDS]
    command = typer.main.get_command(_build_app(named or COMMANDS))
    try:
        with command.make_context("spacelang", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except UsageError as error:
        _report_usage_error(error)
        return WRONG_USAGE
    except _snapshot_error() as error:
        print_error(str(error), "rebuild the catalogue: `spacelang catalogue --refresh`")
        return BAD_INPUT
    return 0


def _build_app(names: Iterable[str]) -> typer.Typer:
    app = typer.Typer(
        name="spacelang",
        cls=_GroupedCommands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        # Without rich, help and errors look the same on a terminal and in a log, and the start is faster.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_version)
    for name in names:
        module = _module(name)
        command = getattr(module, f"{name.replace('-', '_')}_command", None) or module.command
        app.command(name=name, help=_help(command))(expand_option_groups(command, name))
    return app


def _module(name: str) -> Any:
    return import_module(f"spacelang.cli.{_MODULES[name]}")


class _GroupedCommands(TyperGroup):
    """The top-level command group, which lists each command below the heading that its module names."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - overrides a method of click
        """Write the commands of each group below the group's heading."""
        width = max(map(len, self.commands))
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        places = {name: place for place, name in enumerate(_MODULES)}
        for name in sorted(self.commands, key=lambda name: (_module(name).GROUP[1], places[name])):
            row = (f"{name:<{width}}", self.commands[name].get_short_help_str(formatter.width - 6 - width))
            groups.setdefault(_module(name).GROUP[0], []).append(row)
        for heading, rows in groups.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _help(command: Callable[..., None]) -> str:
    """Return the help text of a command: its docstring, with the example on a line of its own that can be copied."""
    text, mark, example = cleandoc(command.__doc__ or "").partition("\n\nExample: `")
    return f"{text}\n\n\b\nExample:\n  {' '.join(example.removesuffix('`').split())}" if mark else text


def _snapshot_error() -> type[Exception]:
    """Import and return the class `SnapshotError`, for the expression of an `except` clause.

    Python evaluates that expression only after an exception, so the module is not imported otherwise.
    """
    from spacelang.catalog.snapshot import SnapshotError

    return SnapshotError


def _report_usage_error(error: Any) -> None:
    message = str(error.format_message())
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message, err=True)
        return
    path = error.ctx.command_path if error.ctx is not None else "spacelang"
    near = _nearest_name(error)
    print_error(_reword(message), f"did you mean `{near}`?" if near else f"see `{path} --help`")


def _reword(message: str) -> str:
    """Return a message of the option parser in lowercase, with backticks, without what the help line says."""
    message = re.sub(r"[. ]*(\(Possible|\(?Did you).*", "", message)
    message = re.sub(r"'([^']*)'", r"`\1`", message).replace("Value error, ", "")
    message = re.sub(r"is not a valid int\w*( range)?|Input should be a valid int.*", "is not a whole number", message)
    return re.sub(r"(^|: )([A-Z])(?=[a-z])", lambda match: match[1] + match[2].lower(), message).rstrip(".")


def _nearest_name(error: Any) -> str | None:
    """Return the option or command that is spelled most like the unknown one, or None if none is similar."""
    from spacelang.spelling_suggestions import nearest_name

    if error.ctx is None:
        return None
    unknown = re.fullmatch(r"No such (?:command|option):? '?([^'\s]+)'?\.?(?: .*)?", str(error.message))
    if unknown is None:
        return None
    known = list(getattr(error.ctx.command, "commands", ()))
    known += [name for parameter in error.ctx.command.params for name in parameter.opts if name.startswith("-")]
    return nearest_name(unknown[1], known)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spacelang {__version__}")
        raise typer.Exit


def _version(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Describe a space of pipelines once, then check it, count it, and search it with any optimizer."""


def expand_option_groups(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Return the command as the option parser calls it, with every option of its groups as a parameter of its own.

    Errors that the user can fix end the program with a message, so that commands need not catch them.
    """
    known = signature(command).parameters.values()
    groups = {each.name: _option_group(each.annotation, name) for each in known}
    options = [
        option.replace(kind=Parameter.KEYWORD_ONLY) for each in known for option in groups[each.name][0] or (each,)
    ]

    @wraps(command)
    def call(**given: Any) -> None:
        values = {**given}
        try:
            for group, (expanded, collect) in groups.items():
                if expanded:
                    values[group] = collect(values)
            command(**values)
        except Exception as error:
            as_json = given.get("json") or given.get("format_") == "json"
            _exit_for_user_error(error, given.get("store") or given.get("run"), as_json=bool(as_json))
            raise

    call.__signature__ = Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in options}
    return call


def _option_group(group: Any, command: str) -> tuple[list[Parameter], Callable[[dict[str, Any]], Any]]:
    """Return the parameters of a group of options, and a function that takes its value out of all arguments.

    A group is a data class, or a `TypedDict` of options of runs. Other annotations have no parameters.
    """
    if is_dataclass(group):
        kind: Any = group
        names = [each.name for each in fields(kind)]
        return [*signature(kind).parameters.values()], lambda values: kind(**{each: values.pop(each) for each in names})
    if not is_typeddict(group):
        return [], lambda _: None
    from spacelang.cli._run_options import command_parameters, pop_option_values

    return [*command_parameters(group, command)], partial(pop_option_values, group)


def _exit_for_missing_library(error: ImportError) -> None:
    """End the program with a message if an ImportError is about a library that is not installed; else return.

    It imports nothing that may need the library, too.
    """
    from spacelang.errors import CORE, MissingLibraryError

    missing = (
        MissingLibraryError(error.name) if isinstance(error, ModuleNotFoundError) and error.name in CORE else error
    )
    if isinstance(missing, MissingLibraryError):
        exit_with_error(missing.message, missing.help, status=BAD_INPUT)


def _exit_for_user_error(error: Exception, store: Path | None, *, as_json: bool) -> None:
    """End the program if the user can fix the error, with a message; return for all other errors.

    `store` is the file that the command was given for the run. The message names it if it holds another run.
    """
    if isinstance(error, ImportError):
        _exit_for_missing_library(error)
        return
    from spacelang.analysis.diagnostic_collector import BindingError
    from spacelang.api.compilation import CompilationError
    from spacelang.api.space import SpaceError
    from spacelang.plugins import OptionError, UnknownPluginError
    from spacelang.runtime.data.read_options import ReadOptionsError
    from spacelang.runtime.errors import InputError, MetricError
    from spacelang.runtime.storage.store_errors import StoreError

    match error:
        case SpaceError() | CompilationError():
            exit_with_diagnostics(error.diagnostics, as_json=as_json)
        case BindingError() | UnknownPluginError() | OptionError() | MetricError() | ReadOptionsError():
            exit_with_error(error.message, error.help, status=WRONG_USAGE)
        case StoreError(differences=(_, _, *_)) if store is not None:
            exit_with_error(
                f"`{store}` contains a run with other settings", error.help, status=BAD_INPUT, notes=error.differences
            )
        case StoreError() if store is None:
            exit_with_error(error.message, error.help, status=BAD_INPUT, notes=error.differences)
        case InputError():
            exit_with_error(error.message, error.help, status=BAD_INPUT)
        case _:
            return
