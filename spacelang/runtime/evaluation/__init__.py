"""Evaluation of trials on data: build, fit and score pipelines, with a cache of shared first steps."""
