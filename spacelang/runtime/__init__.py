"""Running a search: data, the objective that builds, fits and scores a pipeline, budgets and the loop.

Importing this package imports neither scikit-learn nor pandas. Only modules that a run imports need them.
"""
