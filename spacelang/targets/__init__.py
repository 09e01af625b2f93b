"""Targets: the forms that a space is compiled to, each with the way back and a report of what it could not keep."""

from spacelang.plugins import Plugins

TARGETS = Plugins("spacelang.targets", "spacelang.targets")
"""Every target by its name; each loads to a class that fits `_lowered.Target`."""
