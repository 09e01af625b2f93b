"""Evaluation: from a request to a fitted pipeline and what came of it, sharing what trials have in common."""
