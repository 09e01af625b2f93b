"""The intermediate representation: a space as a tree of decisions, and everything that can be asked of it."""
