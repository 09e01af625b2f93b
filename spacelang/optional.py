"""Optional libraries: imported when they are asked for, and one that is missing is named with its remedy."""

from importlib import import_module
from typing import Any, Final

EXTRAS: Final = {"cmaes": "optuna", "optuna": "optuna", "smac": "smac"}
"""The extra that installs a library; all others come with the package, or are named as they are."""


class MissingLibraryError(ImportError):
    """A library that is not installed; `help` says what brings it."""

    def __init__(self, library: str) -> None:
        self.message = f"the package `{library}` is not installed"
        self.help = f'`pip install "spacelang[{EXTRAS[library]}]"`' if library in EXTRAS else f"`pip install {library}`"
        super().__init__(f"{self.message}: {self.help}")


def library(name: str, module: str | None = None) -> Any:
    """A module of an optional library, the library itself where none is named; raises MissingLibraryError."""
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise MissingLibraryError(name) from None
        raise
    return import_module(module or name)
