"""Pipelines: from configurations to scikit-learn estimators, with the preparation that the data needs."""
