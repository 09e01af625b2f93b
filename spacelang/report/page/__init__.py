"""Stored runs as one HTML page that opens offline, in any browser, without a script.

`material` reads a run once; a module a section says what is to be seen of it as plain facts; `rendering` gives these to
the templates, which escape every text that they write.
"""
