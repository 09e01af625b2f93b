"""Stored runs as one HTML page that opens offline without a script; each module is the data of a section."""
