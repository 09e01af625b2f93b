"""Storing: one file a run, written trial by trial, read by whoever asks."""
