"""Modules of the target `mosaic`."""
