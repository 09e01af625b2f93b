"""Pipelines: from a configuration to estimators, with what the data needs before them."""
