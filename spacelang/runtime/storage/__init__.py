"""Storage of runs: one SQLite file a run, written trial by trial, which other processes can read meanwhile."""
