"""The solver: how many configurations a space has, which are near, which number each has, and what is left of them."""
