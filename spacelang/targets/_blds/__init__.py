"""Modules of the target `blds`."""
