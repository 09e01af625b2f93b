"""The parts of MOSAIC."""
