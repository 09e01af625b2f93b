"""Ensembles of what a run has tried: which pipelines vote, how often each, and the estimator that they are together."""
