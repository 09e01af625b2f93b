"""The intermediate representation: a space as a tree of decisions, its members, and what trials say of them."""
