"""Lazy imports of optional libraries, with an error that says how to install a missing one."""

from importlib import import_module
from typing import Any, Final

EXTRAS: Final = {"cmaes": "optuna", "matplotlib": "plots", "optuna": "optuna", "pygls": "lsp", "smac": "smac"}
"""The extra of this package that installs a library; other libraries are installed by their own name."""


class MissingLibraryError(ImportError):
    """An optional library that is not installed; `help` says how to install it."""

    def __init__(self, library: str) -> None:
        self.message = f"the package `{library}` is not installed"
        self.help = f'`pip install "spacelang[{EXTRAS[library]}]"`' if library in EXTRAS else f"`pip install {library}`"
        super().__init__(f"{self.message}: {self.help}")


def import_optional(name: str, module: str | None = None) -> Any:
    """Import and return `module` (None: itself) of an optional library, or raise MissingLibraryError."""
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise MissingLibraryError(name) from None
        raise
    return import_module(module or name)
