"""Lazy imports of libraries that may be missing, with an error that says how to install them."""

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
EXTRAS: Final = {
    **{name: name for name in ("nevergrad", "optuna", "ray", "smac")},
    **{"cmaes": "optuna", "matplotlib": "plots", "pygls": "lsp"},
}
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
