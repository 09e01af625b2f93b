"""Where operators stand: what the addresses and the keys of their hyperparameters begin with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """The beginning of addresses (unique in the space) and of keys (as configurations print them)."""

    address: str
    key: str

    def inside(self, name: str) -> "Place":
        """The place of a parameter of the operator."""
        return Place(f"{self.address}.{name}", f"{self.key}.{name}")

    def alternative(self, name: str) -> "Place":
        """The place of an alternative of the decision: the address says which, the key does not."""
        return Place(f"{self.address}.{name}", self.key)
