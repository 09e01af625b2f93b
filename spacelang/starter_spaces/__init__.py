"""Generators of commented starter spaces: for a user's data, and for tables in general."""
