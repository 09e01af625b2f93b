"""Importers of other tools' files and configurations; each module is one format, named after its file extension."""

from typing import Final

from spacelang.plugins import PluginRegistry

IMPORTERS: Final = PluginRegistry("spacelang.importers", "spacelang.importers")
