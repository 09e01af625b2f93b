"""The parts of the executor `processes`: the zygote, its workers, connections between them, and the kernel."""
