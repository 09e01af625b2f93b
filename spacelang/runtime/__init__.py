"""Running a search: data, the objective that builds, fits and scores a pipeline, budgets and the loop.

Importing this package imports neither scikit-learn nor pandas; its modules that need them are imported by a run only.
"""
