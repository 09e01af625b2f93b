"""Targets: compilers from a space to the form of an optimizer or library, with decoders and reports."""

from spacelang.plugins import PluginRegistry

TARGETS = PluginRegistry("spacelang.targets", "spacelang.targets")
"""Every target by its name; each loads to a class that fits `_lowering.Target`."""
