"""A base class for objects with a `close` method that can be used in a `with` statement."""

from typing import Self


class Closeable:
    """A context manager that calls `close` at the end of the `with` block."""

    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the object."""
        self.close()
