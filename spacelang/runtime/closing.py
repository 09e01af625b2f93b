"""What has an end."""

from typing import Self


class Closing:
    """Something that `close` puts an end to, as does the end of a `with`."""

    def close(self) -> None:
        """Let go of all that it holds."""

    def __enter__(self) -> Self:
        """The thing itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
