"""Modules of the target `boasf`."""
