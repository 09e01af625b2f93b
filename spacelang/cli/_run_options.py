"""The options of runs on the command line, made of the entries in `spacelang.api.run_options`."""

from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spacelang.api.option_checks_and_signatures import RunOption, run_options_by_name
from spacelang.api.run_options import CompareOptions, ReadingOptions, RunOptions
from spacelang.cli._options import parse_bindings
from spacelang.cli._output import parse_settings

if TYPE_CHECKING:
    from spacelang.runtime.data.read_options import ReadOptions

READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "text": lambda value: value,
    "names": lambda listed: _names(listed or ""),
    "texts": lambda texts: texts or [],
    "settings": parse_settings,
    "numbers": parse_bindings,
}
"""The function of each form that reads the value of an option; None is the value of one that is not given."""


def command_parameters(group: Any, command: str) -> Iterator[Parameter]:
    """Yield the parameters of a command for a group of options; options that exist only in Python are left out."""
    annotated: Any = Annotated  # because a type checker accepts no values as types
    for name, option in run_options_by_name(group).items():
        if option.help:
            kind = _command_type(option, group.__annotations__[name].__origin__)
            default = option.default if option.form == "text" else None
            typed = annotated[kind, make_typer_parameter(name, option, command)]
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=typed)


def make_typer_parameter(name: str, option: RunOption, command: str = "") -> Any:
    """Return the parameter of typer for an option."""
    return typer.Option(
        *filter(None, (option.short, option.command_line_flag(name))),
        metavar=option.metavar,
        min=option.least,
        autocompletion=option.complete,
        help=option.variants.get(command, option.help),
    )


def _command_type(option: RunOption, kind: Any) -> Any:
    if option.command is not None:
        return option.command
    if option.form != "text":
        return str | None if option.form == "names" else list[str] | None
    return kind if kind in (int, bool, int | None) else str | None


def pop_option_values(group: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of a group from the arguments of a command; return their values as in Python."""
    return {name: READERS[each.form](given.pop(name)) for name, each in run_options_by_name(group).items() if each.help}


def _names(listed: str) -> list[str]:
    import csv

    rows = csv.reader([listed], skipinitialspace=True)
    return [name.strip() for name in next(rows, []) if name.strip()]


def parse_read_options(reading: ReadingOptions) -> "ReadOptions | None":
    """Return the read options, or None if none is given. Raises ReadOptionsError if an option is invalid."""
    from spacelang.runtime.data.read_options import select_read_options

    return select_read_options(reading) if any(each not in (None, []) for each in reading.values()) else None


# ---- single options of other commands

SeedOption = Annotated[int, make_typer_parameter("seed", run_options_by_name(RunOptions)["seed"], "sample")]
SetOption = Annotated[
    list[str] | None, make_typer_parameter("set", run_options_by_name(RunOptions)["optimizer_options"], "compile")
]
AllowOption = Annotated[list[str] | None, make_typer_parameter("allow", run_options_by_name(RunOptions)["allow"])]
TargetColumnsOption = Annotated[
    list[str] | None, make_typer_parameter("target_column", run_options_by_name(CompareOptions)["target_column"])
]
