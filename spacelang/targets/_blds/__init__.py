"""The parts of the target `blds`."""
