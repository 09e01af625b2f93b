"""Lazy imports of libraries that may be missing, with an error that says how to install them, and their versions."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

CORE: Final = {
    "sklearn": "scikit-learn",
    **{name: name for name in ("ConfigSpace", "cloudpickle", "hyperopt", "jinja2", "joblib", "numpy")},
    **{name: name for name in ("openml", "pandas", "psutil", "scipy", "threadpoolctl")},
}
"""Dependencies without which the commands that only read spaces work: the distribution by the name of its module."""
LIGHT: Final = ("lark", "rich", "typer")
"""The other dependencies, with which the commands that only read spaces work; `spacelang lsp` needs pygls, too."""
EXTRAS: Final = {"cmaes": "optuna", "matplotlib": "plots", "optuna": "optuna", "pygls": "lsp", "smac": "smac"}
"""The extra of this package that installs a library; other libraries are installed by their own name."""


class MissingLibraryError(ImportError):
    """A library that is not installed, an optional one or one of `CORE`; `help` says how to install it."""

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
    """Import and return `module` (None: itself) of an optional library, or raise MissingLibraryError."""
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
    """Return the version of a distribution, or of one with the same package, from its metadata; None if missing."""
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
    """Return the version in the name of a `.dist-info` folder on the search path, which is fast to find."""
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
