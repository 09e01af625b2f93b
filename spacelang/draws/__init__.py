"""Draws: many members of a space at once as arrays, drawn exactly, and the neighbours of one."""
