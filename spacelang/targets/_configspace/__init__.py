"""Modules of the target `configspace`."""
