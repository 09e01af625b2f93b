"""Stored runs as one HTML page that opens offline, in any browser, without a script.

`run_data` reads a run once. There is a module for each section of the page, which computes its content as plain data.
`rendering` passes this data to the templates, which escape every text.
"""
