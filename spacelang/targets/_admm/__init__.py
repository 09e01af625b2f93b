"""The parts of the target `admm`."""
