"""The parts of the target `boasf`."""
