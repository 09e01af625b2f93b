"""Libraries that a form is for and that need not be installed."""

from importlib import import_module
from typing import Any


class MissingLibraryError(ImportError):
    """A library that is not installed; `help` names the extra that brings it."""

    def __init__(self, library: str) -> None:
        self.message = f"the package `{library}` is not installed"
        self.help = f'`pip install "spacelang[{library}]"`'
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
