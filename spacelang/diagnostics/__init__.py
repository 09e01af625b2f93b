"""Diagnostics: the problems that the compiler finds in a text, as data, and their rendering."""
