"""The parts of BOASF: arms are pulled, rounds divide what there is, and scores say who stays."""
