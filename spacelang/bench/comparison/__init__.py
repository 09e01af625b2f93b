"""Runs of several optimizers side by side: incumbents over time, ranks, who leads when; as tables, text and plots."""
