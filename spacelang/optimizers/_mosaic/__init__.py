"""The parts of MOSAIC: the search tree, its policy, playouts, the surrogate, and the replay of stored trials."""
