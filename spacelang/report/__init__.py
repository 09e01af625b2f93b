"""Texts, pages and code about a run: its progress, its summary, HTML reports and the best pipeline as Python code."""
