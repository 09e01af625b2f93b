"""The parts of comparisons: who competes, where, how runs are made and kept."""
