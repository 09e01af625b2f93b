"""Serialization of spaces: JSON definitions, text of the language, and differences between two spaces."""
