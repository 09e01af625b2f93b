"""The parts of the optimizer ADMM: values and functions of them; who asks for trials drives them."""
