"""The parts of the target `mosaic`."""
