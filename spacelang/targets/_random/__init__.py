"""Modules of the target `random`."""
