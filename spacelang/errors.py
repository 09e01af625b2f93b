"""Base classes of errors (picklable ones, and user errors with a remedy), and lazy imports of optional libraries."""

import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

QUOTED_OPTIONS_PATTERN: Final = re.compile(r"`(--[a-z][^`]*)`")
"""Matches command-line options in a remedy, separated by spaces."""
OPTION_PATTERN: Final = re.compile(r"--(?P<set>set )?(?P<name>[a-z][a-z_-]*)(?:[ =](?P<value>.*))?")
"""Matches one of these options: its name and its value, if it has one."""
OPTIONS_WITHOUT_VALUE: Final = frozenset({"resume"})


class PicklableError(Exception):
    """An error that pickling preserves, whatever arguments its constructor takes.

    Python would call it with `args`, which raises a TypeError in the receiving process and hides the real cause.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a recipe that rebuilds the error without calling its constructor."""
        return _rebuild, (type(self), self.args, self.__dict__)


class UserError(PicklableError):
    """A mistake in the user's input: `message` says what is wrong, `help` (may be empty) what to do about it.

    In tracebacks Python shows the help below the message as a note. Command-line options in it are rewritten as Python
    arguments (see `remedy_in_python`).
    """

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - the word used in diagnostics
        super().__init__(message)
        self.message = message
        self.help = help
        if help:
            self.add_note(f"help: {remedy_in_python(help)}")


def remedy_in_python(remedy: str, settings: str = "") -> str:
    """Return a remedy text with its command-line options rewritten as Python arguments.

    `--test 0.2` becomes `test=0.2`, `--store` becomes `store=…`, and words are quoted: `optimizer="mosaic"`.

    `--set k=2` becomes `k=2`. If `settings` names an argument that takes a mapping, it becomes an entry of that mapping
    instead: `settings={"k": 2}`. After an optimizer that is `optimizer_options`: `--optimizer a --set k=2` becomes
    `optimizer="a", optimizer_options={"k": 2}`.
    """
    return QUOTED_OPTIONS_PATTERN.sub(lambda quoted: f"`{_arguments(quoted[1], settings)}`", remedy)


def match_command_line_options(options: str) -> list[re.Match[str]]:
    """Return a match of each option in a text of options that are separated by spaces."""
    return [
        match for each in options.split(" --") if (match := OPTION_PATTERN.fullmatch(f"--{each.removeprefix('--')}"))
    ]


def _arguments(options: str, settings: str) -> str:
    if not (found := match_command_line_options(options)):
        return options
    if found[0]["name"] == "optimizer":
        settings = "optimizer_options"
    return ", ".join(_argument(each, settings) for each in found)


def _argument(option: re.Match[str], settings: str) -> str:
    name, given = option["name"].replace("-", "_"), option["value"] or ""
    is_in_mapping = bool(settings and option["set"])
    is_word = given.islower() or (is_in_mapping and given.isidentifier())
    if is_word and given[:1] not in {"'", '"'}:
        value = f'"{given}"'
    else:
        value = given or ("True" if name in OPTIONS_WITHOUT_VALUE else "…")
    if name == "allow":
        value = f"[{value}]"
    return f'{settings}={{"{name}": {value}}}' if is_in_mapping else f"{name}={value}"


def _rebuild(kind: type[PicklableError], args: tuple[object, ...], known: dict[str, object]) -> PicklableError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(known)
    return error


CORE: Final = {
    "sklearn": "scikit-learn",
    **{name: name for name in ("ConfigSpace", "cloudpickle", "hyperopt", "jinja2", "joblib", "numpy")},
    **{name: name for name in ("openml", "pandas", "psutil", "scipy", "threadpoolctl")},
}
"""Dependencies without which the commands that only read spaces work: the distribution by the name of its module."""
LIGHT: Final = ("lark", "rich", "typer")
"""The other dependencies, with which the commands that only read spaces work; `spacelang lsp` needs pygls, too."""
EXTRAS: Final = {
    **{name: name for name in ("nevergrad", "optuna", "ray", "smac")},
    **{"cmaes": "optuna", "matplotlib": "plots", "pygls": "lsp"},
}
"""The extra of this package that installs a library; other libraries are installed by their own name."""


class MissingLibraryError(ImportError):
    """An error raised where a library is needed that is not installed; `help` says how to install it."""

    def __init__(self, library: str) -> None:
        self.message = f"the package `{CORE.get(library, library)}` is not installed"
        if library in CORE:
            self.help = "`pip install spacelang` installs it; without it, only commands that read spaces work"
        elif library in EXTRAS:
            self.help = f'`pip install "spacelang[{EXTRAS[library]}]"`'
        else:
            self.help = f"`pip install {library}`"
        super().__init__(f"{self.message}: {self.help}")


def import_optional(name: str, module: str | None = None) -> Any:
    """Import the optional library `name`, and return it, or its submodule `module` if that is given.

    Raise MissingLibraryError if the library is not installed.
    """
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise MissingLibraryError(name) from None
        raise
    return import_module(module or name)


EQUIVALENT_DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {"xgboost": ("xgboost-cpu",)}
"""Other distributions that provide the same package, by distribution."""


def installed_version(distribution: str) -> str | None:
    """Return the installed version of a distribution, or None if it is not installed.

    Without it, a distribution that provides the same package counts: `xgboost-cpu` for `xgboost`.
    """
    versions = map(_version, (distribution, *EQUIVALENT_DISTRIBUTIONS.get(distribution, ())))
    return next((version for version in versions if version is not None), None)


def _version(distribution: str) -> str | None:
    found = _version_in_folders(distribution)
    if found is not None:
        return found
    # Imported late: it imports the `email` package, which takes longer than everything else in a check.
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version_in_folders(distribution: str) -> str | None:
    """Return the version in the name of the `.dist-info` folder of a distribution on `sys.path`, or None without one.

    This is faster than reading the metadata.
    """
    prefix = distribution.replace("-", "_").lower() + "-"
    for folder in sys.path:
        try:
            with os.scandir(folder or os.curdir) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            continue
        for name in names:
            if name.lower().startswith(prefix) and name.endswith(".dist-info"):
                return name[len(prefix) : -len(".dist-info")]
    return None
