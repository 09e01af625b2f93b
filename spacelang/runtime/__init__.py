"""Running a search. Importing this package imports neither scikit-learn nor pandas; only what a run needs does."""
