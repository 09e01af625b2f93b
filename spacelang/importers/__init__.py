"""Importers that convert files of other tools to `.space` files and map configurations in both directions.

Every module without a leading underscore is one format, named after its file extension.
"""

from typing import Final

from spacelang.plugins import PluginRegistry

IMPORTERS: Final = PluginRegistry("spacelang.importers", "spacelang.importers")
