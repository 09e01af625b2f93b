"""The parts of the target `configspace`."""
