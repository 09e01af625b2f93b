"""Exact random sampling of configurations as arrays, and the neighbours of a configuration."""
