"""The parts of the target `random`."""
