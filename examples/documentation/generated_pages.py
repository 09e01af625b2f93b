"""Pages that are made of code: the help of all commands, the public names of Python, and the scripts of the tour."""

import ast
import os
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import spacelang
from spacelang.cli._app import COMMANDS, run_command_line


def commands_page() -> str:
    """Return the page of the command line: the help of each command as the command prints it."""
    names = [line.split()[0] for line in _help().splitlines() if line.startswith("  ") and line[2].isalpha()]
    commands = [name for name in names if name in COMMANDS]
    parts = ["# Command line\n\nEach command prints this text for `--help`.\n", f"```text\n{_help()}```\n"]
    parts += [f"## {name}\n\n```text\n{_help(name)}```\n" for name in commands]
    return "\n".join(parts)


def _help(*command: str) -> str:
    printed = StringIO()
    with patch.dict(os.environ, {"COLUMNS": "80"}), redirect_stdout(printed):
        run_command_line([*command, "--help"])
    return printed.getvalue()


def python_page() -> str:
    """Return the page of the public Python names, from which mkdocstrings makes the reference."""
    parts = ["# Python reference\n\n`import spacelang as sl` has these names.\n"]
    for name in dir(spacelang):
        if name.startswith("_"):
            continue
        value = getattr(spacelang, name)
        parts.append(f"::: {value.__module__}.{value.__qualname__}\n")
    return "\n".join(parts)


def plugin_page() -> str:
    """Return the page of the names that plug-ins import."""
    contracts = import_module("spacelang.contracts")
    parts = [f"# Interfaces for plug-ins\n\n{contracts.__doc__}\n"]
    for name in sorted(contracts.__all__):
        value = getattr(contracts, name)
        module, qualified = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
        if module.startswith("spacelang.") and qualified == name:
            parts.append(f"::: {module}.{name}\n")
    return "\n".join(parts)


def how_to_page(tour: Path) -> str:
    """Return one page with all scripts of the tour, each below the sentence that its docstring begins with."""
    parts = ["# How to …\n\nScripts that run as they stand, on data that scikit-learn includes.\n"]
    for path in sorted(tour.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text)) or path.stem
        title = path.stem.replace("_", " ").capitalize()
        parts.append(f'## {title}\n\n{docstring}\n\n```python title="{path.name}"\n{text}```\n')
        space = path.with_suffix(".space")
        if space.exists():
            parts.append(f'```space title="{space.name}"\n{space.read_text(encoding="utf-8")}```\n')
    return "\n".join(parts)
