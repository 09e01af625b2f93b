"""Importers: files of other tools to `.space` files, with the way between their configurations and ours.

One file is one format, called like the ending of its files' names.
"""

from typing import Final

from spacelang.plugins import Plugins

IMPORTERS: Final = Plugins("spacelang.importers", "spacelang.importers")
