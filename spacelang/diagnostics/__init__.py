"""Diagnostics: what the compiler has to say about a text, as data, and how it is shown."""
