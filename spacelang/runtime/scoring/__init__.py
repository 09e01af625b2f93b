"""Scoring of fitted pipelines: losses, metrics, bounds and confidence intervals."""
