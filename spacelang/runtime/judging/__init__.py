"""Judging: what is asked of a fitted pipeline on rows that it has not seen."""
